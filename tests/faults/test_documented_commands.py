"""The command lines of all pages are command lines, and what docs/cluster.md names of the program is there: keys, figures,
lines of the output, messages. Its job script stops, is requeued and goes on."""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
import yaml

from documentation import TOP, blocks, name_of, pages, shell_lines, ticked
from job import ENDLESS
from program import DECK, HANGS, isotherm, write_deck
from runs import expect_same_answer, record

CLUSTER = TOP / "docs" / "cluster.md"
# The program, however it is started, up to the end of the words for it.
CALL = re.compile(r"(?:^|[\s'])isotherm ((?:-|[a-z]+\b)[^;|]*)")


def calls(page):
    """Words behind `isotherm`, and the ranks of each call."""
    found = []
    for line in shell_lines(page):
        match = CALL.search(re.sub(r"\$\(.*echo (.*?)\)", r"\1", line))
        if match:
            ranks = [int(number) for number in re.findall(r"(?:-n|--nodes=|--ntasks(?:-per-node)?=) ?(\d+)", line)]
            found.append((shlex.split(match[1].removesuffix("'")), functools.reduce(int.__mul__, ranks, 1)))
    return found


RECORD = TOP / "tests/faults/fixtures/records/run_2026-11-20.json"

# Those of the README and of the tour are typed, by test_tour.py.
TYPED = (TOP / "README.md", TOP / "docs" / "tour.md")
CALLS = [(page, words, ranks) for page in pages() if page not in TYPED for words, ranks in calls(page)]
OF_DECKS = [call for call in CALLS if len(call[1]) > 1 and call[1][1].endswith(".yaml")]
BRIEF = [call for call in CALLS if call[1][0] in ("run", "check", "bench") or call not in OF_DECKS]


def each(calls):
    return pytest.mark.parametrize("page, words, ranks", calls, ids=[f"{name_of(page)}: {' '.join(words)}" for page, words, _ in calls])


def test_pages_have_calls():
    counts = {name_of(page): sum(page == each for each, _, _ in CALLS) for page in pages()}
    assert counts["docs/cluster.md"] >= 12 and counts["docs/studies.md"] >= 10 and counts["kernels/README.md"] >= 5
    verbs = {words[0] for page, words, _ in CALLS if page == CLUSTER}
    assert verbs == {"--version", "run", "check", "list", "bench", "study"}


def without_option(words, *options):
    """Options with a value, as `--name value`."""
    kept = list(words)
    for option in options:
        if option in kept:
            del kept[kept.index(option):kept.index(option) + 2]
    return kept


def run_briefly(words, ranks, folder):
    """The call itself, made small: a benchmark of a few cells, a deck that is looked at but not run."""
    if words[0] == "bench":
        words = without_option(words, "--sizes", "--seconds", "--rows")
        (folder / "runs").mkdir()
        small = ["--sizes", "8"] + (["--repeats", "1"] if words[1] == "io" else ["--seconds", "0.001"])
        return isotherm(*words, *small, ranks=2 if ranks > 1 else 0, cwd=folder)
    if words[0] in ("run", "check"):
        deck = next((path for path in (TOP / words[1], TOP / "inputs" / "scaling" / words[1]) if path.is_file()), None)
        overrides = without_option(words[2:], "--restart", "--progress", "--ranks")
        overrides = [word for word in overrides if word != "--profile"]
        planned = words[words.index("--ranks") + 1] if "--ranks" in words else max(ranks, 2)
        return isotherm("check", deck or write_deck(folder), "--ranks", planned, *overrides, cwd=folder)
    if words[0] == "baseline":
        for name in words[1:3]:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(RECORD, folder / name)
    return isotherm(*words, cwd=folder)


@each(OF_DECKS)
def test_a_call_with_a_deck_is_understood(tmp_path, page, words, ranks):
    """By the parser: the deck is missing, but no word is wrong."""
    done = isotherm(words[0], "missing.yaml", *words[2:], cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (66, 1), done.stderr


@each(BRIEF)
def test_a_call_says_what_the_program_takes(tmp_path, page, words, ranks):
    done = run_briefly(words, ranks, tmp_path)
    if done.returncode == 69:  # what this machine lacks
        assert re.search("no CUDA|cannot be used here", done.stderr), done.stderr
    else:
        assert done.returncode == 0, done.stderr


# What docs/cluster.md names


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The output and record of a run on two ranks that writes snapshots and diagnostics."""
    folder = tmp_path_factory.mktemp("ran")
    write_deck(folder, DECK.replace("{diffusivity: 1.0e-5}", "{diffusivity: 1.0e-5, conductivity: 2}"))
    done = isotherm("run", "deck.yaml", "output.every_steps=5", "output.diagnostics=10", ranks=2, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, record(folder / "runs" / "deck")


def symptoms():
    """The cells of the table of what is slow."""
    section = CLUSTER.read_text(encoding="utf-8").split("## When it is slow")[1]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def at(tree, path):
    """Of a list, its first."""
    for name in path.split("."):
        tree = tree[0][name] if isinstance(tree, list) else tree[name]
    return tree


@functools.cache
def schema():
    return json.loads(isotherm("schema").stdout)


def key_of_schema(path):
    """The schema of a key of the deck; KeyError where there is none."""
    tree = schema()
    for name in path.split("."):
        choices = [tree, *tree.get("anyOf", [])]
        tree = next((each["properties"] for each in choices if "properties" in each), {})[name]
    return tree


SECTIONS = "grid|material|boundaries|initial|sources|problem|solver|parallel|output|verify"


def test_every_key_of_the_deck_is_one():
    named = set(re.findall(rf"\b((?:{SECTIONS})\.[a-z_.]+[a-z_])", "\n".join(ticked(CLUSTER.read_text(encoding="utf-8")))))
    assert len(named) > 15
    for path in named:
        key_of_schema(path)
    with pytest.raises(KeyError):
        key_of_schema("output.checkpoint.every_walk")


def test_every_value_that_is_named_may_be_given(tmp_path):
    """`parallel.device=cpu`, `problem.check: asynchronous`: refused by no rule of the deck."""
    given = [re.fullmatch(rf"((?:{SECTIONS})\.[a-z_.]+)(?:=|: )([a-z0-9_.]+)", each) for each in ticked(CLUSTER.read_text())]
    given = {(match[1], match[2]) for match in given if match}
    assert len(given) >= 8
    deck = write_deck(tmp_path, DECK.replace("output: {every_steps: 20}\n", ""))
    for path, value in given:
        done = isotherm("check", deck, f"{path}={value}", "--ranks", 2, cwd=tmp_path)
        assert done.returncode in (0, 69), done.stderr  # 69: parallel.device=cuda where there is none


def test_pieces_of_decks_are_decks(tmp_path):
    pieces = [yaml.safe_load(text) for text in blocks(CLUSTER, "yaml")]
    assert pieces
    for piece in pieces:
        words = [f"{section}={json.dumps(keys)}" for section, keys in piece.items()]
        done = isotherm("check", write_deck(tmp_path), *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_symptoms_are_told_by_what_a_run_leaves(ran):
    """The second column: paths in run.json, titles of lines, figures of merit, calls."""
    text, written = ran
    titles = set(re.findall(r"^  ([a-z]+) {2,}", text, re.MULTILINE)) | {"gpus"}  # of runs on GPUs
    rows = symptoms()
    assert len(rows) >= 12
    for row in rows:
        assert len(row) == 3, row
        names = ticked(row[1])
        assert names, row
        for name in names:
            if name.startswith("FOM "):
                assert f"\n{name}: " in text, name
            elif not name.startswith(("isotherm ", "parallel.")) and name not in titles:
                at(written, name)


def test_gpus_is_a_line_of_the_banner():
    assert 'add(text, i ? "" : "gpus"' in (TOP / "src/output/console/report.cpp").read_text()


def test_messages_that_are_quoted_are_those_of_the_program():
    quoted = [text for row in symptoms() for text in re.findall(r'"([^"]+)"', row[1])]
    assert len(quoted) >= 5
    files = [*(TOP / "src").rglob("*.cpp"), *(TOP / "postprocess" / "isotherm_tools").rglob("*.py")]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in files)
    for text in quoted:
        assert text in sources, text


def test_kernels_and_transports_that_are_named_are_listed():
    listed = isotherm("list").stdout
    for name in ("naive", "reference", "peer", "host"):
        assert name in ticked(CLUSTER.read_text(encoding="utf-8")) and f"\n  {name} " in listed, name


def test_options_of_cmake_are_options():
    text = CLUSTER.read_text()
    known = set(re.findall(r"^(?:option|set)\((ISOTHERM_\w+)", (TOP / "CMakeLists.txt").read_text(), re.MULTILINE))
    assert set(re.findall(r"-D (ISOTHERM_\w+)", text)) <= known
    presets = {each["name"] for each in json.loads((TOP / "CMakePresets.json").read_text())["configurePresets"]}
    assert set(re.findall(r"--preset (\w+)", text)) == {"cuda", "cpu"} <= presets


def test_files_that_are_named_are_there():
    for name in set(re.findall(r"\b(?:inputs/scaling|slurm_\w+\.sh|tests/\S+?\.py)\b", CLUSTER.read_text())):
        assert (TOP / name).exists() or (TOP / "inputs/scaling" / name).exists(), name


# Words that a launcher reads before it is asked for its version or help, which need no cluster.
SLURM = "ClusterName=one\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=all Nodes=ALL\n"


def launcher_words(tool):
    """Of each line that starts with it; of sbatch, what the job script says in its stead."""
    if tool == "sbatch":
        return [re.findall(r"^#SBATCH (\S+)", text, re.MULTILINE) for text in blocks(CLUSTER, "sh") if "#SBATCH" in text]
    starts = [re.match(rf"{tool} ((?:-.*? )*?)(?:isotherm|apptainer|bash) ", line) for line in shell_lines(CLUSTER)]
    return [shlex.split(match[1]) for match in starts if match]


@pytest.mark.parametrize("tool, question", [("srun", "--help"), ("sbatch", "--help"), ("mpirun", "--version")])
def test_words_for_launchers_are_understood(tmp_path, tool, question):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    (tmp_path / "slurm.conf").write_text(SLURM)
    environment = {**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")}
    lines = launcher_words(tool)
    typed = [line for line in shell_lines(CLUSTER) if line.startswith(f"{tool} ")]
    assert len(lines) == (1 if tool == "sbatch" else len(typed))
    for words in lines:
        done = subprocess.run([tool, *words, question], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)


# The job script, with stand-ins for srun and scontrol: two jobs, of which the first is told before its end, as --signal says.

SRUN = """#!/bin/bash
echo "$*" >>calls
while [[ $1 == --* ]]; do shift; done
[[ $1 == isotherm ]] || exit 1
{mpiexec} -n 2 {program} "${{@:2}}" &
if [[ ! -e runs/deck/latest ]]; then
  until [[ -e runs/deck/history.csv ]]; do sleep 0.05; done
  kill -USR1 $!
fi
wait $!
"""


def test_the_job_script_goes_on(tmp_path):
    script, = [text for text in blocks(CLUSTER, "sh") if "#SBATCH" in text]
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "srun").write_text(SRUN.format(mpiexec=os.environ.get("MPIEXEC", "mpirun"), program=os.environ["ISOTHERM"]))
    (commands / "scontrol").write_text('#!/bin/bash\necho "scontrol $*" >>calls\n')
    for path in commands.iterdir():
        path.chmod(0o755)

    def job(deck):
        write_deck(tmp_path, deck)
        environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "SLURM_JOB_ID": "4711"}
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True,
                              timeout=HANGS, check=False)
        return done.returncode, done.stderr, (tmp_path / "calls").read_text().splitlines()

    code, err, called = job(ENDLESS)
    assert (code, called[-1]) == (75, "scontrol requeue 4711"), err
    assert not any("--restart" in call for call in called)
    out = tmp_path / "runs" / "deck"
    stopped = record(out)["performance"]["sweeps"]
    finite = ENDLESS.replace("1000000000000", str(stopped + 5))
    code, err, called = job(finite)
    assert (code, len(called)) == (0, 3) and called[-1].endswith("isotherm run deck.yaml --restart latest"), err
    done = isotherm("run", "deck.yaml", "output.directory=whole", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expect_same_answer(tmp_path / "whole", out)
