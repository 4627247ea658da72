"""Wrong command lines: code 2 (65 where the deck is to blame), one line, the argument's own number, no file."""

import os

import pytest
from cli import BASE_DECK, isotherm

HELP = "; see isotherm --help"
TOOLS = "animate, baseline, compare, depths, history, ladder, report, roofline, scaling, slice, study, study-plot, volume"
VERBS = f"; use one of run, check, list, init, schema, info, bench, {TOOLS}" + HELP
KEYS = ("grid, material, precision, boundaries, initial, sources, problem, solver, parallel, output, verify, study, "
        "scaling")

WRONG = [
    (["frob"], 2, "isotherm: unknown verb 'frob'" + VERBS),
    (["frob", "deck.yaml"], 2, "isotherm: unknown verb 'frob'" + VERBS),
    (["--frob"], 2, "isotherm: '--frob' stands where a verb is wanted" + VERBS),
    (["deck.yaml"], 2, "isotherm: 'deck.yaml' is no verb; write: isotherm run deck.yaml"),
    (["my deck.yml", "grid.cells=[8, 8, 8]"], 2,
     "isotherm: 'my deck.yml' is no verb; write: isotherm run 'my deck.yml' 'grid.cells=[8, 8, 8]'"),
    (["deck_00000010.hdf"], 2, "isotherm: 'deck_00000010.hdf' is no verb; write: isotherm info deck_00000010.hdf"),
    (["run", "deck.yaml", "--grid.cells=64"], 2,
     "isotherm: argument 3: '--grid.cells=64' is no option; write grid.cells=64 without dashes"),
    (["check", "--grid.cells", "64", "deck.yaml"], 2,
     "isotherm: argument 2: '--grid.cells' is no option; write grid.cells=64 without dashes"),
    (["study", "deck.yaml", "--precision=fp32"], 2,
     "isotherm: argument 3: '--precision=fp32' is no option; write precision=fp32 without dashes"),
    (["check", "deck.yaml", "--gpu-memory", "80"], 2,
     "isotherm: --gpu-memory: '80' is no size of a memory; write one as 80GiB, 141GB"),
    (["run"], 2, "isotherm: deck is required" + HELP),
    (["check"], 2, "isotherm: deck is required" + HELP),
    (["compare"], 2, "isotherm: deck is required; see isotherm compare --help"),
    (["info"], 2, "isotherm: file is required" + HELP),
    (["run", "deck.yaml", "--frob"], 2, "isotherm: The following argument was not expected: --frob" + HELP),
    (["run", "deck.yaml", "-x=3"], 2, "isotherm: The following argument was not expected: -x=3" + HELP),
    (["run", "deck.yaml", "--ranks", "2"], 2, "isotherm: The following argument was not expected: --ranks" + HELP),
    (["check", "deck.yaml", "--progress=off"], 2,
     "isotherm: The following argument was not expected: --progress=off" + HELP),
    (["list", "x"], 2, "isotherm: The following argument was not expected: x" + HELP),
    (["run", "deck.yaml", "--progress"], 2, "isotherm: --progress: 1 required ENUM:{auto, bar, lines, off} missing" + HELP),
    (["run", "deck.yaml", "--progress=fast"], 2,
     "isotherm: --progress: 'fast' is none of auto, bar, lines, off" + HELP),
    (["check", "deck.yaml", "--ranks", "0"], 2, "isotherm: --ranks: '0' is no number from 1 to 16777216" + HELP),
    (["check", "deck.yaml", "--ranks", "-3"], 2, "isotherm: --ranks: '-3' is no number from 1 to 16777216" + HELP),
    (["check", "deck.yaml", "--ranks", "two"], 2, "isotherm: --ranks: 'two' is no number from 1 to 16777216" + HELP),
]

NO_EQUALS = "' has no '='; write key.path=value, e.g. problem.steps=100"

# Arguments are counted as the shell counts them: isotherm is 0.
NUMBERED = [
    (["run", "--progress", "off", "deck.yaml", "a=b"], 65, f"argument 5: a: unknown key; use one of {KEYS}"),
    (["run", "deck.yaml", "--progress", "off", "a=b"], 65, f"argument 5: a: unknown key; use one of {KEYS}"),
    (["run", "deck.yaml", "problem.steps=1", "--progress", "off", "a=b"], 65,
     f"argument 6: a: unknown key; use one of {KEYS}"),
    (["run", "deck.yaml", "problem.steps=1", "--progress=off", "problem.steps=2"], 2,
     "argument 5: problem.steps: stands twice (first in argument 3); keep one"),
    (["check", "deck.yaml", "a=b", "--ranks", "2", "a=b"], 2,
     "argument 6: a: stands twice (first in argument 3); keep one"),
    (["run", "deck.yaml", "nonsense"], 2, "argument 3: 'nonsense" + NO_EQUALS),
    (["run", "deck.yaml", ""], 2, "argument 3: '" + NO_EQUALS),
    (["run", "deck.yaml", "run"], 2, "argument 3: 'run" + NO_EQUALS),
    (["run", "deck.yaml", "deck.yaml"], 2, "argument 3: 'deck.yaml" + NO_EQUALS),
    (["run", "deck.yaml", "problem.steps=1", "deck.yaml"], 2, "argument 4: 'deck.yaml" + NO_EQUALS),
    (["run", "deck.yaml", "problem.stepps=1"], 65,
     "argument 3: problem.stepps: unknown key; did you mean 'steps'?"),
    (["run", "deck.yaml", "%s%n=1"], 65, f"argument 3: %s%n: unknown key; use one of {KEYS}"),
]


def ids(cases):
    return [" ".join(arguments) or "nothing" for arguments, _, _ in cases]


@pytest.mark.parametrize("arguments, code, line", WRONG + NUMBERED, ids=ids(WRONG + NUMBERED))
def test_wrong_command_line(tmp_path, arguments, code, line):
    (tmp_path / "deck.yaml").write_text(BASE_DECK)
    result = isotherm(*arguments, cwd=tmp_path)
    assert (result.code, result.err, result.out) == (code, line + "\n", "")
    assert os.listdir(tmp_path) == ["deck.yaml"]


def test_alone_it_prints_the_help(tmp_path):
    result = isotherm(cwd=tmp_path)
    assert (result.code, result.out) == (2, "")  # a script whose words have got lost has not succeeded
    assert result.err == isotherm("--help", cwd=tmp_path).out


def test_v_is_version(tmp_path):
    assert isotherm("-V", cwd=tmp_path).out == isotherm("--version", cwd=tmp_path).out


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"], ["-V"]])
def test_help_and_version_go_to_standard_output(tmp_path, arguments):
    result = isotherm(*arguments, cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    assert "isotherm" in result.out or "deck" in result.out
    assert os.listdir(tmp_path) == []
