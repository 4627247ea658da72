"""The pages of the documentation: command lines are command lines, links lead somewhere, README.md is a front page, figures say what
they were measured with, the row of kernels/README.md is a row, and what docs/cluster.md names of the program is there: keys,
figures, lines of the output, messages. Its job script stops, is requeued and goes on."""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
import yaml

from documentation import BLOCK, blocks, name_of, pages, shell_lines, ticked, TOP
from job import ENDLESS
from program import DECK, HANGS, isotherm, ran, write_deck
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
def last_run(tmp_path_factory):
    """The output and record of a run on two ranks that writes snapshots and diagnostics."""
    folder = tmp_path_factory.mktemp("ran")
    write_deck(folder, DECK.replace("{diffusivity: 1.0e-5}", "{diffusivity: 1.0e-5, conductivity: 2}"))
    done = ran("run", "deck.yaml", "output.every_steps=5", "output.diagnostics=10", ranks=2, cwd=folder)
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
        ran("check", write_deck(tmp_path), *words, cwd=tmp_path)


def test_symptoms_are_told_by_what_a_run_leaves(last_run):
    """The second column: paths in run.json, titles of lines, figures of merit, calls."""
    text, written = last_run
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
    ran("run", "deck.yaml", "output.directory=whole", cwd=tmp_path)
    expect_same_answer(tmp_path / "whole", out)


README = TOP / "README.md"
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")


def anchors(page):
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ +(.*)", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


def test_the_readme_is_a_front_page():
    text = README.read_text(encoding="utf-8")
    assert text.count("\n") <= 130
    linked = {(README.parent / target).resolve() for target, _ in LINK.findall(text)}
    assert linked >= {page for page in pages("docs")} | {TOP / "ARCHITECTURE.md"} | {TOP / folder / "README.md" for folder in ("kernels", "postprocess", "tests")}


@pytest.mark.parametrize("lack", ["several materials", "radiation", "curved geometry", "time-dependent sources", "adaptive grids"])
def test_the_readme_says_what_it_cannot_do(lack):
    section = README.read_text(encoding="utf-8").split("## What it cannot do\n")[1].split("\n## ")[0]
    assert lack in " ".join(section.split())


def facts():
    section = README.read_text(encoding="utf-8").split("## Four facts\n")[1].split("\n## ")[0]
    return re.split(r"^\d\. ", BLOCK.sub("", section), flags=re.MULTILINE)[1:]


def test_a_figure_of_a_fact_names_what_it_was_measured_with():
    assert len(facts()) == 4
    measured = [fact for fact in facts() if "H200" in fact]
    assert measured and any("740 " in fact for fact in measured)
    for fact in measured:
        for what in (r"driver [\d.]+", r"CUDA [\d.]+", r"commit [0-9a-f]{7}", r"fp(32|64)", r"\d+\^3", r"`[^`]*isotherm (run|bench) "):
            assert re.search(what, fact), (what, fact)


WRONG = """\
grid: {cells: 128, lengths: 0.1}
material: {diffusivity: 1.0e-6}
initial:
  - {shape: constant, value: 300}
problem: {steps: 10, dt: 50}
solver:
  kernal: naive
"""


def test_errors_that_are_shown_are_those_of_the_program(tmp_path):
    """Word for word, from a deck that has them."""
    shown, = blocks(README, "text")
    write_deck(tmp_path, WRONG)
    done = isotherm("run", "deck.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (65, shown)


KERNELS = TOP / "kernels" / "README.md"
FLAGS = ["-std=c++20", "-fopenmp", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
         "-I", TOP / "src", "-I", TOP, "-D", "ISOTHERM_ISA=Baseline", "-D", "ISOTHERM_HAVE_CUDA=0"]
# One sweep of 4 x 3 x 2 cells with a layer of ghosts, and the formula beside it.
MAIN = """
#include <cmath>
#include <vector>
#include "{row}"
using namespace isotherm;
int main() {{
  std::vector<double> in(6 * 5 * 4), out(in.size(), -7), source(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {{ in[i] = std::sin(double(i)); source[i] = std::cos(double(i)); }}
  const auto view = [](std::vector<double>& f) {{ return FieldView<double>{{f.data() + 1 + 6 + 30, 6, 30, {{4, 3, 2}}, 1}}; }};
  StencilKernel<double> row;
  host::stencil_{word}<host::Baseline>(row);
  const Coefficients<double> c{{0.37, 0.11, 0.13, 0.075}};
  row.launch({{view(in), view(out), {{{{0, 0, 0}}, {{4, 3, 2}}}}, c, {{}}, view(source), {{}}}}, {{}}, {{}});
  int wrong = 0;
  for (int i = 0; i < int(in.size()); ++i) {{
    const int x = i % 6, y = i / 6 % 5, z = i / 30;
    double value = -7;
    if (x > 0 && x < 5 && y > 0 && y < 4 && z > 0 && z < 3) {{
      value = std::fma(c.c0, in[i], source[i]);
      value = std::fma(c.cx, in[i - 1] + in[i + 1], value);
      value = std::fma(c.cy, in[i - 6] + in[i + 6], value);
      value = std::fma(c.cz, in[i - 30] + in[i + 30], value);
    }}
    wrong += out[i] != value;
  }}
  return wrong;
}}
"""


@pytest.fixture(scope="module")
def compiler():
    found = shutil.which("g++") or shutil.which("c++")
    return found or pytest.skip("needs a C++ compiler")


def shown():
    """The row, and its line."""
    row, line = [block for block in blocks(KERNELS, "cpp") if "student" in block]
    return row, line


def compiled(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_row_gives_the_bits_of_the_formula(tmp_path, compiler):
    row, line = shown()
    word = re.search(r"HOST\(stencil, (\w+),", line)[1]
    assert f"host/stencil_{word}.cpp" in KERNELS.read_text(encoding="utf-8")
    (tmp_path / "row.cpp").write_text(row)
    (tmp_path / "main.cpp").write_text(MAIN.format(row="row.cpp", word=word))
    compiled(compiler, *FLAGS, "-O1", "-I", tmp_path, tmp_path / "main.cpp", "-o", tmp_path / "main")
    assert subprocess.run([tmp_path / "main"]).returncode == 0, "cells are wrong"


def test_its_line_is_all_that_the_registry_needs(tmp_path, compiler):
    """The table has the row, and asks for its function: nothing but the linker misses that."""
    text = (TOP / "kernels" / "registry.cpp").read_text(encoding="utf-8")
    before = next(line for line in text.splitlines() if line.lstrip().startswith("HOST(stencil, openmp,"))
    (tmp_path / "registry.cpp").write_text(text.replace(before + "\n", before + "\n" + shown()[1]))
    compiled(compiler, *FLAGS, "-O0", "-c", tmp_path / "registry.cpp", "-o", tmp_path / "registry.o")
    symbols = subprocess.run(["nm", "-C", "-u", tmp_path / "registry.o"], capture_output=True, text=True, check=True).stdout
    assert "isotherm::host::stencil_student<isotherm::host::" in symbols


@pytest.mark.parametrize("device, kernel", [("cuda", "tma_pipeline"), ("cpu", "openmp")])
def test_runs_name_their_kernel(tmp_path, device, kernel):
    program = tmp_path / "isotherm"
    program.write_text('#!/bin/bash\necho "$*" >>"$(dirname "$0")/calls"\necho "  kernel  x"\n')
    program.chmod(0o755)
    subprocess.run([TOP / "kernels" / "measure.sh", program, tmp_path / "figures", device, "32,48"], check=True,
                   stdout=subprocess.PIPE)
    calls = (tmp_path / "calls").read_text().splitlines()
    runs = [call for call in calls if call.startswith("run ")]
    assert len(runs) == 4 and len(calls) > 10
    assert all(f" solver.kernel={kernel} " in run and f" parallel.device={device} " in run for run in runs), runs


def test_documented_runs_of_a_kernel_name_it():
    """By the command, or by a deck that has no other."""
    text = "\n".join((TOP / "kernels" / page).read_text() for page in ("README.md", "TUNING.md"))
    commands = re.findall(r"isotherm run\s+(inputs/\S+?\.yaml)([^`]*)", text)
    assert len(commands) > 3
    for deck, words in commands:
        named = re.search(r"^\s+kernel: (?!auto)", (TOP / deck).read_text(), re.MULTILINE)
        assert "solver.kernel=" in words or named or "`auto` takes them" in text[:text.index(deck + words)][-400:], (deck, words)
