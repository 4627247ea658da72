"""The rules of ARCHITECTURE.md that a compiler does not check: include directions, one library in one place, conditional compilation only
in the registries, short files and functions, and the budget of the whole."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from documentation import TOP
from program import finished, write_script

# A folder may include itself and earlier ones; solver and output do not include each other.
ORDER = "core < kernels < config < grid < physics < halo < solver output < tune < app"
RANK = {folder: rank for rank, folders in enumerate(ORDER.split("<")) for folder in folders.split()}

# Headers of a library, and the only places that may include them.
LIBRARIES = {
    r"yaml-cpp/": r"src/config/yaml_tree\.cpp",
    r"xxhash": r"src/core/hash\.cpp",
    r"tao/pegtl": r"src/config/expression\.cpp",
    r"CLI/": r"src/app/command_line\.cpp",
    r"hdf5": r"src/core/hdf5_file\.hpp",
    r"core/hdf5_file\.hpp": r"src/core/hdf5_file\.cpp|src/output/.*|src/physics/dataset_reader\.cpp|src/app/run\.cpp",
    r"mpi\.h": r"src/core/mpi_native\.hpp",
    r"core/mpi_native\.hpp": r"src/core/communicator\.cpp|src/(halo|output)/.*|src/app/bench/hypre\.cpp",
    r"HYPRE": r"src/app/bench/hypre\.cpp",
    r"nccl\.h": r"src/halo/wire_nccl\.cpp",
    r"cuda|cub/|thrust/|cooperative_groups": r"kernels/(cuda|production|lectures)/.*|src/core/(device_cuda\.cpp|cuda_native\.hpp)",
    r"nvtx3/": r"src/core/trace_nvtx\.cpp",
    r"core/cuda_native\.hpp": r"kernels/(cuda|production|lectures)/.*|src/core/device_cuda\.cpp|src/halo/\w+_(nccl|cuda)\.cpp",
}
# The kernel registry, the host-device attribute, and queries of compiler and processor for host kernels.
CONDITIONAL = r"kernels/((registry|host_info)\.cpp|host/(vector|host_kernels)\.hpp)|src/core/host_device\.hpp"
# Clocks that may jump, and code that needs the date: a time stamp, the end of a Slurm job, the age of a file. All other code uses
# core/timer.hpp.
WALL_CLOCK = re.compile(r"system_clock|high_resolution_clock|CLOCK_REALTIME|gettimeofday|std::time\(|MPI_Wtime|omp_get_wtime")
DATED = r"src/core/text\.cpp|src/app/time_loop\.cpp|src/output/run_directory\.cpp"
MOST_LINES = 800
# A lecture is read with one header open; TMA has one more.
MOST_LINES_OF_A_LECTURE, MOST_LINES_OF_THEIR_HEADER = 120, 150
OF_LECTURES = r"kernels/lectures/(lecture|cpu/row)\.hpp|kernels/cuda/hopper\.hpp|kernels/host/update_norm\.hpp"
HEADS = ("Algebra", "Mapping", "Storage", "Traffic")
LAUNCHED_BY_A_LIBRARY = "kernels/lectures/reduction/11_cub.cu"
MOST_LINES_OF_A_FUNCTION = 60
# Known longer functions, by name: they may only get shorter.
LONG_FUNCTIONS = {"tma_pipeline": 114, "__launch_bounds__": 65}  # the second: register_tile, as ctags calls it

# Lines, files and words: the allowed size of the project. A commit that needs more says for which capability.
BUDGET = TOP / "tests" / "budget.json"
WEIGHED = {
    "src": ("src", r".*"),
    "kernels": ("kernels", r".*\.(cpp|hpp|cu)"),
    "tests": ("tests", r".*\.(cpp|hpp|py|c|h)"),
    "postprocess": ("postprocess", r".*\.py"),
    "documents": (".", r".*\.md"),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b", re.MULTILINE)


def sources():
    """Relative path and text of every source file."""
    for path in sorted([*(TOP / "src").rglob("*"), *(TOP / "kernels").rglob("*")]):
        if path.suffix in (".cpp", ".hpp", ".cu", ".cuh"):
            yield path.relative_to(TOP).as_posix(), path.read_text(encoding="utf-8")


def includes(text):
    return [name for _, name in INCLUDE.findall(text)]


def wrong_direction(path, text):
    folder, below, _ = path.removeprefix("src/").partition("/")
    here = folder if below else "app"  # main.cpp counts as part of app
    if here not in RANK:
        return [f"{path} lies in a folder that has no place in the order"]
    others = {there for there in RANK if there != here and RANK[there] >= RANK[here]}
    return [f"{path} includes {name}" for name in includes(text) if name.split("/")[0] in others]


def wrong_library(path, text):
    return [f"{path} includes {name}" for name in includes(text) for library, allowed in LIBRARIES.items()
            if re.match(library, name) and not re.fullmatch(allowed, path)]


def wrong_place(path, text):
    return [f"{path} {fault}" for pattern, allowed, fault in (
        (CONDITION, CONDITIONAL, "compiles conditionally; write an _absent twin that CMake chooses"),
        (WALL_CLOCK, DATED, "asks a clock that may jump; use Timer"),
    ) if pattern.search(text) and not re.fullmatch(allowed, path)]


def too_long(path, text):
    lines = text.count("\n")
    return [f"{path} has {lines} lines"] if lines >= MOST_LINES else []


def no_lecture(path, text):
    """Short, self-contained but for the header of lectures, explained under four heads, and on a GPU launched by <<<>>>."""
    if not path.startswith("kernels/lectures/"):
        return []
    if path.endswith(".hpp"):
        return [f"{path} is too long"] if text.count("\n") > MOST_LINES_OF_THEIR_HEADER else []
    own = [name for mark, name in INCLUDE.findall(text) if mark == '"' and not re.fullmatch(OF_LECTURES, name)]
    lacking = [head for head in HEADS if not re.search(rf"^// {head} ", text, re.MULTILINE)]
    long = [f"{path} is too long"] if text.count("\n") > MOST_LINES_OF_A_LECTURE else []
    if path.endswith(".cu") and path != LAUNCHED_BY_A_LIBRARY and not re.search(r"^[^/\n]*<<<", text, re.MULTILINE):
        lacking.append("launch: kernel<<<grid, block, shared_bytes, stream>>>(...)")
    return long + [f"{path} includes {name}" for name in own] + [f"{path} does not explain its {head}" for head in lacking]


RULES = [wrong_direction, wrong_library, wrong_place, too_long, no_lecture]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_sources_keep_the_rule(rule):
    files = list(sources())
    assert len(files) > 30, "the sources were not found"
    wrong = [line for path, text in files for line in rule(path, text)]
    assert wrong == []


def function_lengths(paths):
    """(lines, path, name) of every function, as universal-ctags finds them."""
    found = finished(["ctags", "--options=NONE", "-L", "-", "--languages=C++", "--map-C++=+.cu", "--kinds-C++=f", "--fields=+ne",
                      "--output-format=json", "-f", "-"], 0, input="\n".join(map(str, paths)), cwd=TOP).stdout
    tags = map(json.loads, found.splitlines())
    return [(tag["end"] - tag["line"] + 1, tag["path"], tag["name"]) for tag in tags if "end" in tag]


def too_long_functions(lengths):
    return [f"{name} of {path} has {lines} lines" for lines, path, name in lengths
            if lines > LONG_FUNCTIONS.get(name, MOST_LINES_OF_A_FUNCTION)]


@pytest.mark.skipif(shutil.which("ctags") is None, reason="no universal-ctags")
def test_functions_are_short(tmp_path):
    lengths = function_lengths(path for path, _ in sources())
    assert len(lengths) > 1000
    assert too_long_functions(lengths) == []
    long = tmp_path / "long.cpp"
    long.write_text("void one() {\n" + "\n" * MOST_LINES_OF_A_FUNCTION + "}\nvoid other() {}\n")
    assert too_long_functions(function_lengths([long])) == [f"one of {long} has {MOST_LINES_OF_A_FUNCTION + 2} lines"]


def files_of(folder):
    """All files except those of builds and runs, and logs that a tool writes while it runs."""
    for where, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not re.match(r"\.git$|\.pytest_cache|build|runs$|__pycache__|.*egg-info", each)]
        yield from (path for path in map(Path(where).joinpath, names) if path.is_file() and path.suffix != ".log")


def weight():
    """The counts that the budget limits; documents without logs, which grow."""
    found = {}
    for name, (folder, pattern) in WEIGHED.items():
        texts = [path.read_text(encoding="utf-8") for path in files_of(TOP / folder)
                 if re.fullmatch(pattern, path.name) and path.name != "CHANGELOG.md" and "tuning-log" not in path.parts]
        found[name] = ({"words": sum(len(text.split()) for text in texts)} if name == "documents" else
                       {"lines": sum(text.count("\n") for text in texts), "files": len(texts)})
    return found


def test_the_project_is_within_its_budget():
    """A budget far above the actual size would limit nothing: a commit that removes much lowers it."""
    now, budget = weight(), json.loads(BUDGET.read_text(encoding="utf-8"))
    print(json.dumps(now))
    assert now.keys() == budget.keys()
    for name, counts in now.items():
        for what, count in counts.items():
            assert 0.98 * budget[name][what] <= count <= budget[name][what], f"{what} of {name}: {count}"


# Each rule rejects these violations, and accepts the others.
@pytest.mark.parametrize("rule, path, text", [
    (wrong_direction, "src/core/box.cpp", '#include "grid/field.hpp"\n'),
    (wrong_direction, "kernels/host/copy.cpp", '#  include "config/config.hpp"\n'),
    (wrong_direction, "src/solver/solver.cpp", '#include "output/snapshot.hpp"\n'),
    (wrong_direction, "src/extras/thing.cpp", ""),
    (wrong_library, "src/config/deck.hpp", "#include <yaml-cpp/yaml.h>\n"),
    (wrong_library, "src/solver/solver.cpp", "#include <mpi.h>\n"),
    (wrong_library, "src/grid/field.cpp", '#include "core/mpi_native.hpp"\n'),
    (wrong_library, "src/halo/exchange.cpp", "#include <cuda_runtime.h>\n"),
    (wrong_place, "src/halo/exchange.cpp", "  # ifdef ISOTHERM_CUDA\n"),
    (wrong_place, "src/app/run.cpp", "const auto now = std::chrono::system_clock::now();\n"),
    (too_long, "src/main.cpp", "\n" * MOST_LINES),
    (no_lecture, "kernels/lectures/stencil/02_shared.cu", "// Algebra  a sum\n"),
    (no_lecture, "kernels/lectures/stencil/02_shared.cu", "".join(f"// {head}  a sum\n" for head in HEADS) + "// <<<1, 1>>>\n"),
    (no_lecture, "kernels/lectures/lecture.hpp", "\n" * (MOST_LINES_OF_THEIR_HEADER + 1)),
])
def test_rule_refuses(rule, path, text):
    assert rule(path, text)
    allowed = '#pragma once\n#include <vector>\n#include "core/box.hpp"\n#include "halo/transport.hpp"\n// #if\n'
    assert rule("src/solver/solver.hpp", allowed) == [] and rule("src/main.cpp", '#include "app/run.hpp"\n') == []


@pytest.mark.parametrize("launch", ["(*copy)<<<1, 2>>>(a);", "copy<<<1, 2>>>;", "copy<<<[] { return 1; }(), 2>>>(a);"])
def test_launches_that_are_not_plain_are_refused(tmp_path, launch):
    (tmp_path / "kernel.cu").write_text(f"int a[] = {{1}};\n{launch}\n")
    done = finished(["cmake", "-D", f"SOURCE={tmp_path}/kernel.cu", "-D", f"RESULT={tmp_path}/kernel.cpp", "-P",
                     TOP / "tests/emulation/TranslateLaunches.cmake"])
    assert f"{tmp_path}/kernel.cu:2: the emulation of CUDA understands" in " ".join(done.stderr.split())


def test_no_file_names_this_machine():
    """Paths of the checkout and of the developer's home folder are meaningless elsewhere."""
    own = [f"{path}/" for path in (TOP, Path.home()) if len(path.parts) > 1]
    found = []
    for path in files_of(TOP):
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path}: {each}" for each in own if each in text]
    assert found == []


def rows(page):
    """The cells of the table in a page of docs/reliability, without its head."""
    text = (TOP / "docs/reliability" / page).read_text(encoding="utf-8")
    lines = re.findall(r"^\|.*", text, re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def is_a_test(name):
    """A CTest name, such as `signals` or `fuzz_slow`; unit/test_x.cpp below tests/; or tests/... of the checkout."""
    if "/" in name:
        return (TOP / "tests" / name.removeprefix("tests/")).exists()
    return name == "fuzz_slow" or any((TOP / "tests" / folder / f"test_{name}.py").is_file() for folder in ("faults", "verification"))


FAULT_ROWS, PROMISE_ROWS = rows("faults.md"), rows("promises.md")


def test_all_faults_and_promises_are_in_order():
    numbers = [int(row[0]) for row in FAULT_ROWS]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 60 and len(PROMISE_ROWS) >= 12


@pytest.mark.parametrize("row", FAULT_ROWS + PROMISE_ROWS, ids=lambda row: row[0][:30])
def test_a_row_names_tests_that_exist(row):
    named = re.findall(r"`([^`]+)`", row[-1])
    assert named, "no test is named"
    folder = ""
    for name in named:
        if name.startswith("test_"):  # in the folder of the previous one
            name = folder + name
        folder = name.rsplit("/", 1)[0] + "/" if "/" in name else folder
        assert is_a_test(name), name


@pytest.mark.parametrize("passed, others, code", [
    (2, "", 0), (2, "SKIPPED", 0), (0, "SKIPPED", 77), (0, "", 77), (0, "FAILED ", 1), (2, "FAILED ", 1)])
def test_gtest_programs_that_skip_all(tmp_path, passed, others, code):
    """The last lines of GoogleTest 1.12."""
    output = f"[  PASSED  ] {passed} tests.\n"
    output += f"[  {others} ] 3 tests, listed below:\n[  {others} ] A.b\n" if others else ""
    script = f"#!/bin/bash\ncat <<'END'\n{output}END\nexit {int('FAILED' in others)}\n"
    program = write_script(tmp_path / "program", script)
    result = finished([TOP / "tests/support/run_gtest.sh", program])
    assert (result.returncode, result.stdout) == (code, output)


SKIPS = "def test_b(): pytest.skip('no')\n"


@pytest.mark.parametrize("cases, code", [
    ("def test_a(): pass", 0), (SKIPS + "def test_a(): pass", 0), (SKIPS, 77), ("pytest.skip('no', allow_module_level=True)", 77),
    (SKIPS + "def test_c(): assert False", 1), (SKIPS + "@pytest.fixture\ndef broken(): raise OSError\ndef test_c(broken): pass", 1),
    ("", 5)])  # a file without tests is an error
def test_pytest_files_that_skip_all(tmp_path, cases, code):
    (tmp_path / "test_it.py").write_text(f"import pytest\n{cases}\n")
    finished([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "all_skipped", "test_it.py"], code, cwd=tmp_path,
             env={**os.environ, "PYTHONPATH": str(TOP / "tests/support")})
