"""Command lines: wrong ones (code 2, or 65 for errors of the deck; one line with the number of the argument;
no file), the JSON of `isotherm list --json` for scripts, printed commands that can be pasted, and tools."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from documentation import TOP
from job import Background, ENDLESS
from program import command, BASE_DECK, DECK, expect_rejected, finished, isotherm, ran, write_deck, write_script
from runs import checkpoints

WRONG = [  # the start of stderr
    (["frob"], 2, "isotherm: unknown subcommand 'frob'; use one of run, check, list, init, schema, info, bench, animate, "),
    (["--frob"], 2, "isotherm: '--frob' is given where a subcommand is expected; use one of run, "),
    (["my deck.yml", "grid.cells=[8, 8, 8]"], 2,
     "isotherm: 'my deck.yml' is no subcommand; write: isotherm run 'my deck.yml' 'grid.cells=[8, 8, 8]'"),
    (["deck_00000010.hdf"], 2, "isotherm: 'deck_00000010.hdf' is no subcommand; write: isotherm info deck_00000010.hdf"),
    (["run", "deck.yaml", "--restart", ""], 2, "isotherm: --restart: is empty; write latest, a file or a folder; see "),
    (["run", "deck.yaml", "--grid.cells=64"], 2, "isotherm: argument 3: '--grid.cells=64' is no option; write grid.cells=64 "),
    (["check", "--grid.cells", "64", "deck.yaml"], 2, "isotherm: argument 2: '--grid.cells' is no option; write grid.cells=64 "),
    (["study", "deck.yaml", "--precision=fp32"], 2, "isotherm: argument 3: '--precision=fp32' is no option; write precision=fp32 "),
    (["check", "deck.yaml", "--gpu-memory", "80"], 2, "isotherm: --gpu-memory: '80' is no size of a memory; write one as 80GiB"),
    (["bench", "stencil", "--rows", "openmp"], 2, "isotherm: --rows is called --kernels now"),
    (["bench", "halo", "--rows=host"], 2, "isotherm: --rows is called --transports now"),
    (["bench", "stencil", "--walls"], 2, "isotherm: --walls is called --boundaries now"),
    (["run", "deck.yaml", "--baseline", "b.json"], 2,
     "isotherm: --baseline is a command now; write after the run: isotherm baseline b.json RUN_DIRECTORY/run.json"),
    (["bench", "stencil", "--baseline=b.json", "--tolerance", "5"], 2,
     "isotherm: --baseline is a command now; write after the bench: isotherm baseline b.json LATER.json"),
    (["run"], 2, "isotherm: deck is required; see isotherm --help"),
    (["compare"], 2, "isotherm: deck is required; see isotherm compare --help"),
    (["info"], 2, "isotherm: file is required"),
    (["study"], 2, "isotherm: the following arguments are required: deck"),
    (["study", "deck.yaml", "--frob"], 2, "isotherm: unrecognized arguments: --frob; see isotherm study "),
    (["study", "deck.yaml", "--jobs", "0"], 2, "isotherm: argument --jobs: '0' is no number from 1 to 4096"),
    (["study", "deck.yaml", "--collect", "--dry-run"], 2, "isotherm: --collect excludes --dry-run; see "),
    (["study", "deck.yaml", "--case", "c", "--slurm"], 2, "isotherm: --case excludes --slurm; see "),
    (["run", "deck.yaml", "--ranks", "2"], 2, "isotherm: The following argument was not expected: --ranks"),
    (["run", "deck.yaml", "--progress"], 2, "isotherm: --progress: 1 required ENUM:{auto, bar, lines, off} missing"),
    (["run", "deck.yaml", "--progress=fast"], 2, "isotherm: --progress: 'fast' is none of auto, bar, lines, off"),
    (["check", "deck.yaml", "--ranks", "0"], 2, "isotherm: --ranks: '0' is no number from 1 to 16777216"),
    # Arguments are counted as the shell counts them: isotherm is 0.
    (["run", "--progress", "off", "deck.yaml", "a=b"], 65, "argument 5: a: unknown key; use one of grid, material, "),
    (["check", "deck.yaml", "a=b", "--ranks", "2", "a=b"], 2, "argument 6: a: appears twice (first in argument 3); keep one"),
    (["check", "deck.yaml", "grid.cells.1=21", "grid.cells=20"], 2, "argument 4: grid.cells: replaces grid.cells.1 of argument 3; keep one"),
    (["run", "deck.yaml", ""], 2, "argument 3: '' has no '='; write key.path=value"),
    (["run", "deck.yaml", "scaling={kind: strong, ranks: [1]}"], 65, "argument 3: scaling: the deck is of several cases, not of one run; start them "
     "with isotherm study deck.yaml 'scaling={kind: strong, ranks: [1]}'"),
    (["run", "deck.yaml", "%s%n=1"], 65, "argument 3: %s%n: unknown key; use one of grid, material, "),
    (["check", "deck.yaml", "=3"], 2, "argument 3: '=3' names no key before the '='; write "),
    (["check", "deck.yaml", "problem.steps="], 65, "argument 3: problem.steps: has no value; write a whole "),
    (["check", "deck.yaml", "problem.steps=3", "problem.end_time=1"], 65,
     "argument 4: problem.end_time: cannot be combined with steps (in argument 3); keep one"),
    (["check", "deck.yaml", "output.directory={a}"], 65,
     "argument 3: output.directory: a map is given where text is expected; write text with braces in quotes, "),
    (["check", "deck.yaml", "grid.cells=[1,"], 65, "argument 3: grid.cells: not YAML (end of sequence flow "),
    (["check", "deck.yaml", "initial.7.value=3"], 65,
     "argument 3: initial.7.value: '7' is no entry of the list; "),
]


@pytest.mark.parametrize("arguments, code, line", WRONG, ids=[" ".join(arguments) for arguments, _, _ in WRONG])
def test_wrong_command_line(folder, arguments, code, line):
    done = isotherm(*arguments, cwd=folder)
    expect_rejected(folder, done, code, line)
    assert done.stdout == ""


def test_without_arguments_the_help_is_printed_and_names_every_exit_code(tmp_path):
    result = ran(cwd=tmp_path, code=2)  # a script that lost its arguments must not succeed
    assert result.stdout == "" and result.stderr == ran("--help", cwd=tmp_path).stdout
    assert [code for code in (0, 2, 10, 65, 66, 69, 70, 71, 73, 74, 75, 76) if f" {code} " not in result.stderr] == []


def test_a_deck_may_come_from_a_pipe():
    assert finished(command("check", "/dev/stdin"), 0, input=BASE_DECK).stdout.startswith("process grid")


@pytest.mark.parametrize("arguments, start", [
    (["--help"], "isotherm: "), (["run", "--help"], "solve the deck's problem\n"), (["--version"], "isotherm "),
    (["-V"], "isotherm ")])
def test_help_and_version_go_to_standard_output(tmp_path, arguments, start):
    result = ran(*arguments, cwd=tmp_path)
    assert result.stderr == "" and result.stdout.startswith(start) and os.listdir(tmp_path) == []


KERNEL = {"name", "available", "why_not", "description", "automatic", "backend", "purpose"}


def listed():
    done = ran("list", "--json", CUDA_VISIBLE_DEVICES="")
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_keys():
    """Scripts rely on the keys: new ones may be added, none removed. The text tables have the same names."""
    record = listed()
    assert set(record) == {"schema", "schema_version", "version", "kernels", "reductions", "histograms", "transports", "devices",
                           "why_no_gpu"}
    assert (record["schema"], record["schema_version"]) == ("isotherm-list", 1)
    assert record["version"] == isotherm("--version").stdout.split()[1]
    for key, keys in (("kernels", KERNEL | {"max_time_block", "tiles"}), ("reductions", KERNEL), ("histograms", KERNEL),
                      ("transports", KERNEL - {"backend", "automatic", "purpose"}), ("devices", {"backend", "index", "name", "uuid", "description"})):
        assert record[key] and all(set(entry) == keys for entry in record[key]), key
    assert record["devices"][0]["backend"] == "cpu" and record["devices"][0]["index"] is None
    assert len(record["devices"]) == 1 and record["why_no_gpu"]
    text = isotherm("list", CUDA_VISIBLE_DEVICES="").stdout
    for key in ("kernels", "reductions", "histograms", "transports"):
        for entry in record[key]:
            assert f"\n  {entry['name']} " in text and entry["description"] in text, entry


def test_what_is_available_runs(tmp_path):
    write_deck(tmp_path, DECK)
    record = listed()
    for kernel in record["kernels"]:
        assert set(kernel["tiles"]) == {"fp32", "fp64"} and kernel["max_time_block"] >= 1
        assert kernel["available"] == (kernel["backend"] == "cpu") == (kernel["why_not"] is None)
        tile = [f"solver.tile={name}" for name in kernel["tiles"]["fp64"][:kernel["available"]]]
        ran("run", "deck.yaml", f"solver.kernel={kernel['name']}", f"output.directory={kernel['name']}", *tile, cwd=tmp_path,
            code=0 if kernel["available"] else 69, CUDA_VISIBLE_DEVICES="")
    assert {t["name"] for t in record["transports"] if t["available"]} >= {"host", "mock"}
    assert all(t["why_not"] for t in record["transports"] if not t["available"])


NAME = "it's $HOME; a deck.yaml"


def pasted(folder, line):
    """Runs a line in bash with isotherm on the PATH."""
    path = f"{Path(os.environ['ISOTHERM']).parent}:{os.environ['PATH']}"
    finished(["bash", "-c", line], 0, cwd=folder, env={**os.environ, "PATH": path})


def command_after(text, before):
    """The command that follows this text, and its words."""
    command = re.search(rf"{before} ?(isotherm .*)$", text, re.MULTILINE)[1]
    return command, shlex.split(command)


STEPS_2 = "problem={kind: transient, steps: 2}"


def test_a_printed_command_starts_a_run_again(tmp_path):
    write_deck(tmp_path, DECK, NAME)
    words = ["problem={kind: transient, steps: 20}", "output.directory=a 'run' of $HOME", "solver.walltime=0.001"]
    why = r"stopped by the wall time at sweep 0 \(it has left no checkpoint\); start it again:"
    again, typed = command_after(ran("run", NAME, *words, cwd=tmp_path, code=75).stderr, why)
    assert checkpoints(tmp_path / "a 'run' of $HOME") == []
    # With a longer wall time: the given one left no time for a step.
    assert typed[:-1] == ["isotherm", "run", NAME, *words[:-1], "output.overwrite=true"]
    longer = re.fullmatch(r"solver\.walltime=(\d+)", typed[-1])
    assert int(longer[1]) > 2
    pasted(tmp_path, again.replace(longer[0], "solver.walltime=100"))
    pasted(tmp_path, command_after(isotherm(NAME, STEPS_2, cwd=tmp_path).stderr, "write:")[0])  # a file instead of a subcommand


def test_a_printed_command_resumes_a_stopped_run(tmp_path):
    write_deck(tmp_path, ENDLESS, NAME)
    words = [NAME, "output={snapshots: false, directory: 'a {run} of $HOME'}"]
    run = Background(tmp_path, "run", *words)
    run.wait_until((tmp_path / "a {run} of $HOME" / "history.csv").exists, "no sweeps")
    _, err = run.stopped(signal.SIGTERM)
    assert command_after(err, "; resume with:")[1] == ["isotherm", "run", *words, "--restart", "a {run} of $HOME"], err


def test_printed_commands_start_and_resume_a_study(tmp_path):
    write_deck(tmp_path, DECK + "study: {list: [{name: one, ranks: 2}], launcher: 'false {ranks}'}\n", NAME)
    study, typed = command_after(ran("run", NAME, cwd=tmp_path, code=65).stderr, "start them with")
    assert typed == ["isotherm", "study", NAME]
    pasted(tmp_path, study + " --dry-run")
    _, typed = command_after(isotherm("study", NAME, STEPS_2, cwd=tmp_path).stderr, "start again what failed with:")
    assert typed == ["isotherm", "study", NAME, STEPS_2, "--retry"]


# `isotherm NAME` starts the tool isotherm-NAME.
TOOLS = re.findall(r"^isotherm-([a-z-]+) = ", (TOP / "postprocess" / "pyproject.toml").read_text(), re.MULTILINE)


@pytest.fixture
def own(tmp_path):
    """A folder with a user's own tool."""
    folder = tmp_path / "own tools"
    folder.mkdir()
    for name in ("hello", "study"):
        write_script(folder / f"isotherm-{name}", '#!/bin/sh\nprintf "<%s>" "$0" "$@"\nexit 7\n')
    (folder / "isotherm-no-program").write_text("")
    return folder


def path_of(folder):
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_the_help_lists_the_tools_found(own):
    assert sorted(TOOLS) == TOOLS and "study" in TOOLS
    assert f"Tools: {', '.join(TOOLS)} (isotherm NAME --help has more).\n" in isotherm("--help", PATH="/usr/bin").stdout
    listed = isotherm("--help", **path_of(own)).stdout
    assert " hello," in listed and "no-program" not in listed


def test_a_tool_on_path_gets_its_arguments_and_gives_its_exit_code(own):
    done = isotherm("hello", "a b", "--help", "", **path_of(own))
    assert (done.returncode, done.stdout) == (7, f"<{own}/isotherm-hello><a b><--help><>")


def test_tools_of_the_build_precede_those_on_path(own):
    assert isotherm("study", "--help", **path_of(own)).stdout.startswith("usage: isotherm study ")


def test_a_tool_that_is_missing_is_reported_in_one_line(own, tmp_path):
    """By a copy of the program, without its build or installation."""
    alone = shutil.copy(os.environ["ISOTHERM"], tmp_path)
    done = finished([alone, "study", "deck.yaml"], 69, env=os.environ | path_of(tmp_path))
    assert done.stdout == ""
    assert done.stderr.startswith(f"isotherm: the tool isotherm-study is not installed (it is neither next to '{alone}', nor in ")
    finished([alone, "study", "deck.yaml"], 7, env=os.environ | path_of(own))


def test_a_python_or_a_package_that_is_missing_is_reported_in_one_line_and_a_study_needs_none(tmp_path):
    done = ran("study", "deck.yaml", ISOTHERM_PYTHON="/no/python3", code=69)
    assert done.stderr.startswith("isotherm study: there is no /no/python3; install Python 3.9 or newer")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "pure"], check=True)
    pure = {"ISOTHERM_PYTHON": str(tmp_path / "pure/bin/python3")}
    done = ran("slice", "runs/a", **pure, code=69)
    assert done.stderr.count("\n") == 1
    assert "python3 has no numpy, h5py, matplotlib, pillow; " in done.stderr and "set ISOTHERM_PYTHON to" in done.stderr
    write_deck(tmp_path, BASE_DECK + "parallel: {device: cpu}\nstudy: {list: [{name: a}]}\n")
    ran("study", "deck.yaml", cwd=tmp_path, **pure)
