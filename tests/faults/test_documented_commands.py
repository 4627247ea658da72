"""Documentation pages: command lines are valid, links have targets, the kernel of docs/developer/add.md works, and
the keys, figures, messages and launcher options named in docs/cluster.md exist. (test_slurm_slow.py tests its job
script.) The site: built with warnings as errors, its reference from the program that is tested."""

import functools
import importlib.util
import json
import os
import re
import shlex
import shutil

import jsonschema
import pytest
import yaml

from documentation import BLOCK, blocks, name_of, pages, shell_lines, SUBCOMMANDS, ticked, TOP
from program import DECK, finished, isotherm, ran, write_deck, write_script
from runs import recorded
from test_fixtures import places
from test_schema import Yaml12
from test_structure import no_lecture

SPECIFICATION = importlib.util.spec_from_file_location("generate", TOP / "docs" / "generate.py")
generate = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(generate)

CLUSTER = TOP / "docs" / "cluster.md"
README = TOP / "README.md"
RECORD = TOP / "tests/faults/fixtures/records/run_2026-11-20.json"
# The program, started in any way, and its arguments.
CALL = re.compile(r"(?:^|[\s'])isotherm ((?:-|[a-z]+\b)[^;|>]*)")


def calls(page):
    """The arguments of each `isotherm` call, and its number of ranks."""
    found = []
    for line in shell_lines(page):
        match = CALL.search(re.sub(r"\$\(.*echo (.*?)\)", r"\1", line))
        if match:
            ranks = [int(number) for number in re.findall(r"(?:-n|--nodes=|--ntasks(?:-per-node)?=) ?(\d+)", line)]
            found.append((shlex.split(match[1].removesuffix("'")), functools.reduce(int.__mul__, ranks, 1)))
    return found


# test_scripts.py types the commands of the README and the tour; test_subcommands.py reads those of tools.
TYPED = (README, TOP / "docs" / "tour.md")
CALLS = [(page, words, ranks) for page in pages() if page not in TYPED for words, ranks in calls(page)
         if words[0] not in SUBCOMMANDS]


def without(words, *options):
    """The words without these options and their values."""
    return [word for before, word in zip(["", *words], words) if word not in options and before not in options]


def brief_forms(words, ranks):
    """Variants of a call that accept the same arguments but do little, with their exit codes: the deck is missing, or replaced by that of
    the page for `check`; a benchmark is rejected for its size after all other checks; records are compared."""
    if words[0] == "bench":  # kernels of other devices may be missing here
        return [(without(words, "--sizes", "--kernels") + ["--sizes", "1048576"], 71, ranks > 1)]
    if words[0] == "baseline":
        return [(["baseline", RECORD, RECORD, *words[3:]], 0, False)]
    if not (len(words) > 1 and words[1].endswith(".yaml")):
        return [(words, 0, False)]
    forms = [([words[0], "missing.yaml", *words[2:]], 66, False)]
    if words[0] in ("run", "check"):
        deck = next((path for path in (TOP / words[1], TOP / "inputs" / "scaling" / words[1]) if path.is_file()), "deck.yaml")
        planned = words[words.index("--ranks") + 1] if "--ranks" in words else str(max(ranks, 2))
        overrides = [word for word in without(words[2:], "--restart", "--progress", "--ranks") if word != "--profile"]
        forms.append((["check", deck, "--ranks", planned, *overrides], 0, False))
    return forms


OF_CLUSTER = {words[0] for page, words, _ in CALLS if page == CLUSTER}
assert len(CALLS) > 25 and OF_CLUSTER == {"--version", "run", "check", "list", "bench", "study"}
FORMS = {tuple(map(str, words)): (code, two, page) for page, said, ranks in CALLS for words, code, two in brief_forms(said, ranks)}


@pytest.mark.parametrize("words", FORMS, ids=lambda words: f"{name_of(FORMS[words][2])}: {' '.join(words)}")
def test_documented_calls_are_valid(tmp_path, words):
    write_deck(tmp_path)
    (tmp_path / "runs").mkdir()
    code, two_ranks, _ = FORMS[words]
    done = isotherm(*words, ranks=2 if two_ranks else 0, cwd=tmp_path)
    lacking = done.returncode == 69 and re.search("no CUDA|cannot be used here", done.stderr)  # on this machine
    assert lacking or done.returncode == code, done.stderr


def test_documented_keys_and_values_are_valid(tmp_path):
    """In docs/cluster.md, such as `parallel.device=cpu` and `problem.check: asynchronous`."""
    text = ticked(CLUSTER.read_text(encoding="utf-8"))
    keys = {key.path for key in generate.keys_of(ran("init").stdout)}
    sections = "|".join({re.match(r"\w+", key)[0] for key in keys})
    named = set(re.findall(rf"\b((?:{sections})\.[a-z_.]+[a-z_])", "\n".join(text)))
    assert len(named) > 15 and named <= keys
    given = [re.fullmatch(rf"((?:{sections})\.[a-z_.]+)(?:=|: )([a-z0-9_.]+)", each) for each in text]
    given = {f"{match[1]}={match[2]}" for match in given if match}
    assert len(given) >= 8
    deck = write_deck(tmp_path, DECK.replace("output: {every_steps: 20}\n", ""))
    for word in given:
        ran("check", deck, word, "--ranks", 2, cwd=tmp_path, code={0, 69})  # 69: parallel.device=cuda without a GPU


def test_symptoms_refer_to_output_that_a_run_has(tmp_path):
    """The second column of the table: paths in run.json, titles of lines, figures of merit, calls, and messages in
    quotes."""
    done, written = recorded(tmp_path, DECK.replace("{diffusivity: 1.0e-5}", "{diffusivity: 1.0e-5, conductivity: 2}"),
                             "output.every_steps=5", "output.diagnostics=10", ranks=2)
    titles = set(re.findall(r"^  ([a-z]+) {2,}", done.stdout, re.MULTILINE)) | {"gpus"}  # only in runs on GPUs
    section = CLUSTER.read_text(encoding="utf-8").split("## When it is slow")[1]
    column = [line.split("|")[2] for line in section.splitlines() if line.startswith("|")][2:]
    assert len(column) >= 12
    for cell in column:
        names = ticked(cell)
        assert names, cell
        for name in names:
            if name.startswith("FOM "):
                assert f"\n{name}: " in done.stdout, name
            elif not name.startswith(("isotherm ", "parallel.")) and name not in titles:
                functools.reduce(lambda tree, key: (tree[0] if isinstance(tree, list) else tree)[key], name.split("."), written)
    quoted = re.findall(r'"([^"]+)"', " ".join(column))
    assert len(quoted) >= 5
    files = [*(TOP / "src").rglob("*.cpp"), *(TOP / "postprocess" / "isotherm_tools").rglob("*.py")]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert [text for text in quoted if text not in sources] == []


def test_options_of_cmake_are_options():
    text = CLUSTER.read_text()
    known = set(re.findall(r"^(?:option|set)\((ISOTHERM_\w+)", (TOP / "CMakeLists.txt").read_text(), re.MULTILINE))
    assert set(re.findall(r"-D (ISOTHERM_\w+)", text)) <= known
    presets = {each["name"] for each in json.loads((TOP / "CMakePresets.json").read_text())["configurePresets"]}
    assert set(re.findall(r"--preset (\w+)", text)) == {"cuda", "cpu"} <= presets


# Options that a launcher parses before it prints its version or help, so that no cluster is needed.
@pytest.mark.parametrize("tool, question", [("srun", "--help"), ("sbatch", "--help"), ("mpirun", "--version")])
def test_options_for_launchers_are_valid(tmp_path, tool, question):
    """The options of each line that starts with the tool; for sbatch, those of the job script."""
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    (tmp_path / "slurm.conf").write_text("ClusterName=one\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=all Nodes=ALL\n")
    if tool == "sbatch":
        scripts = [text for text in blocks(CLUSTER, "sh") if "#SBATCH" in text]
        lines = [re.findall(r"^#SBATCH (\S+)", script, re.MULTILINE) for script in scripts]
    else:
        starts = [line for line in shell_lines(CLUSTER) if line.startswith(f"{tool} ")]
        options = re.compile(rf"{tool} ((?:-.*? )*?)(?:isotherm|apptainer|bash) ")
        lines = [shlex.split(options.match(start)[1]) for start in starts]
    assert lines
    for words in lines:
        finished([tool, *words, question], 0, env={**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")})


LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")


def anchors(page):
    """The anchors that GitHub makes from headings."""
    heads = re.findall(r"^#+ +(.*)", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_have_targets(page):
    for target, anchor in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


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
    """Compared literally, for a deck that contains these errors."""
    write_deck(tmp_path, WRONG)
    assert [ran("run", "deck.yaml", cwd=tmp_path, code=65).stderr] == blocks(README, "text")


KERNELS = TOP / "docs" / "developer" / "add.md"
FLAGS = ["-std=c++20", "-fopenmp", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
         "-I", TOP / "src", "-I", TOP, "-D", "ISOTHERM_ISA=Baseline", "-D", "ISOTHERM_HOST_VARIANTS=Baseline", "-D", "ISOTHERM_HAVE_CUDA=0"]
# One sweep of 4 x 3 x 2 cells with one ghost layer, compared with the reference kernel.
MAIN = """
#include <cmath>
#include <vector>
#include "{row}"
using namespace isotherm;
namespace isotherm::host {{
template <class Isa, class T>
void stencil_reference(StencilKernel<T>& kernel);
}}
int main() {{
  std::vector<double> in(6 * 5 * 4), source(in.size()), out(in.size(), -7), expected = out;
  for (std::size_t i = 0; i < in.size(); ++i) {{ in[i] = std::sin(double(i)); source[i] = std::cos(double(i)); }}
  const auto view = [](std::vector<double>& f) {{ return FieldView<double>{{f.data() + 1 + 6 + 30, 6, 30, {{4, 3, 2}}, 1}}; }};
  StencilKernel<double> row, reference;
  host::stencil_{word}<host::Baseline>(row);
  host::stencil_reference<host::Baseline>(reference);
  const Box box{{{{0, 0, 0}}, {{4, 3, 2}}}};
  const Coefficients<double> c{{0.37, 0.11, 0.13, 0.075, 0.83}};
  row.launch({{view(in), view(out), box, c, {{}}, view(source), {{}}}}, {{}}, {{}});
  reference.launch({{view(in), view(expected), box, c, {{}}, view(source), {{}}}}, {{}}, {{}});
  return out != expected;
}}
"""


def compiled(*words):
    compiler = shutil.which("g++") or shutil.which("c++") or pytest.skip("needs a C++ compiler")
    finished([compiler, *FLAGS, *words], 0)


def test_the_kernel_of_the_page_gives_the_bits_of_the_reference_and_needs_its_line_alone(tmp_path):
    """The registry has the kernel and refers to its function: only the linker reports that it is missing."""
    kernel, line = [block for block in blocks(KERNELS, "cpp") if "student" in block]
    word = re.search(r"lectures/cpu/05_(\w+)\.cpp", KERNELS.read_text(encoding="utf-8"))[1]
    assert f"HOST(stencil, {word}," in line and no_lecture(f"kernels/lectures/cpu/05_{word}.cpp", kernel) == []
    (tmp_path / "row.cpp").write_text(kernel)
    (tmp_path / "main.cpp").write_text(MAIN.format(row="row.cpp", word=word))
    reference = TOP / "kernels" / "lectures" / "cpu" / "01_reference.cpp"
    compiled("-O1", "-I", tmp_path, tmp_path / "main.cpp", reference, "-o", tmp_path / "main")
    assert finished([tmp_path / "main"]).returncode == 0, "cells are wrong"
    text = (TOP / "kernels" / "registry.cpp").read_text(encoding="utf-8")
    (tmp_path / "registry.cpp").write_text(text.replace("  HOST(stencil, openmp,", f"{line.rstrip()}\n  HOST(stencil, openmp,"))
    compiled("-O0", "-c", tmp_path / "registry.cpp", "-o", tmp_path / "registry.o")
    assert "isotherm::host::stencil_student<isotherm::host::" in finished(["nm", "-C", "-u", tmp_path / "registry.o"], 0).stdout


@pytest.mark.parametrize("device, kernel", [("cuda", "tma_pipeline"), ("cpu", "openmp")])
def test_runs_of_measure_sh_name_their_kernel(tmp_path, device, kernel):
    program = write_script(tmp_path / "isotherm", '#!/bin/bash\necho "$*" >>"$(dirname "$0")/calls"\necho "  kernel  x"\n')
    finished([TOP / "kernels" / "measure.sh", program, tmp_path / "figures", device, "32,48"], 0)
    calls = (tmp_path / "calls").read_text().splitlines()
    of_runs = [call for call in calls if call.startswith("run ")]
    assert len(of_runs) == 4 and len(calls) > 10
    assert all(f" solver.kernel={kernel} " in run and f" parallel.device={device} " in run for run in of_runs), of_runs


def properties(schema):
    """Names of all keys in a schema, at any depth."""
    return {path[-1] for path, _ in places(schema) if path[-2:-1] == ("properties",)}


def test_the_site_is_built_without_a_warning(tmp_path):
    if not shutil.which("mkdocs"):
        pytest.skip("mkdocs is not installed (Debian, Ubuntu: apt install mkdocs-material)")
    done = finished(["mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"], cwd=TOP)
    if "Unrecognised theme name: 'material'" in done.stderr:
        pytest.skip("mkdocs has no theme material (Debian, Ubuntu: apt install mkdocs-material)")
    assert done.returncode == 0, done.stderr
    for page in pages("docs"):
        assert (tmp_path / "site" / page.relative_to(TOP / "docs").with_suffix(".html")).is_file(), page
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="https?://[^"]*"', front) == []  # works from disk, without a network


def test_the_reference_has_every_key_of_decks_and_records():
    deck, record = generate.keys_page(), generate.run_page()
    schema = json.loads(isotherm("schema").stdout)
    keys = {each for name, section in schema["properties"].items() for each in {name, *properties(section)}}
    paths = set(re.findall(r"\w+", " ".join(re.findall(r"^(?:## |\| `)([^` ]+)", deck, re.MULTILINE))))
    others = {"y_min", "y_max", "z_min", "z_max", "x_max",  # like x_min
              "floorplan", "trace", "time", "interpolation"}  # one form of `power`
    assert {each for each in keys if re.fullmatch(r"[a-z_]+", each)} - others - paths == set()
    assert "| `problem.dt` |" in deck and "W/(m K)" in deck and "| `output.probes.points[].at` |" in deck
    assert properties(json.loads(isotherm("schema", "run").stdout)) <= set(re.findall(r"\w+", record))


def test_the_reference_has_every_command_and_exit_code(tmp_path):
    generate.main(str(tmp_path))
    text = (tmp_path / "reference" / "commands.md").read_text(encoding="utf-8")
    for title in ("isotherm run", "isotherm bench halo", "isotherm study", "isotherm report"):
        assert f"\n## {title}\n" in text and (tmp_path / "man1" / f"{title.replace(' ', '-')}.1").is_file()
    assert [code for code, _ in generate.exit_codes()] == "0 2 10 65 66 69 70 71 73 74 75 76".split()


@pytest.mark.parametrize("typed, words", [("isotherm st", {"study", "study-plot"}), ("isotherm run --re", {"--restart"}),
                                          ("isotherm bench ha", {"halo"}), ("isotherm bench halo --gh", {"--ghosts"})])
def test_bash_completes(tmp_path, typed, words):
    (tmp_path / "isotherm.bash").write_text(generate.completion(generate.commands()), encoding="utf-8")
    typed = typed.split()
    script = f"source isotherm.bash; COMP_WORDS=({' '.join(typed)}) COMP_CWORD={len(typed) - 1}; _isotherm; echo ${{COMPREPLY[*]}}"
    assert set(finished(["bash", "-c", script], 0, cwd=tmp_path).stdout.split()) == words


PIECES = [(page, text) for page in (*pages("docs/guide", "docs/theory"), CLUSTER) for text in blocks(page, "yaml")]
assert len(PIECES) > 8


@pytest.mark.parametrize("page, text", PIECES, ids=lambda each: name_of(each) if hasattr(each, "parts") else "")
def test_pieces_of_decks_have_the_keys_of_decks(page, text):
    """Sections may be missing."""
    schema = json.loads(isotherm("schema").stdout)
    for demand in ("required", "anyOf", "allOf", "oneOf"):
        schema.pop(demand, None)
    jsonschema.validate(yaml.load(text, Yaml12), schema)


def test_links_of_pages_become_links_of_the_site():
    page = type("Page", (), {"file": type("File", (), {"src_path": "developer/architecture.md"})})
    files = [type("File", (), {"src_path": path}) for path in ("developer/halos.md", "start.md", "source/run.sh.md")]
    shown = generate.on_page_markdown("[a](docs/developer/halos.md) [b](docs/start.md#x) [c](run.sh) [d](inputs) `[e](no.md)` [f](no.md)",
                                      page, None, files)
    assert shown == "[a](halos.md) [b](../start.md#x) [c](../source/run.sh.md) d (`inputs`) `[e](no.md)` [f](no.md)"
