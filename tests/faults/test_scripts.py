"""run.sh and test.sh with stand-ins for the system's commands; and README.md and docs/tour.md typed line by line in a fresh checkout:
what they show of the output is what is printed, all but the numbers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import Checkout, real_checkout
from documentation import BLOCK, blocks, TOP
from terminal import OnTerminal


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.mark.parametrize("script", ["run.sh", "test.sh"])
def test_no_network_when_all_packages_are_there(checkout, script):
    checkout.program("echo '  deck         a -> .'")
    result = checkout.call(script)
    assert (result.returncode, result.stderr) == (0, "")
    assert "missing" not in result.stdout
    assert checkout.called("dpkg-query") and not checkout.called("apt-get")


def test_missing_packages_are_named_then_installed(checkout):
    lacking = "case \"${!#}\" in cmake | libfmt-dev) printf 'not-installed ' ;; *) printf 'installed ' ;; esac"
    checkout.stand_in("dpkg-query", lacking)
    checkout.program("echo '  deck         a -> .'")
    result = checkout.call("run.sh")
    assert result.returncode == 0
    assert result.stdout.startswith("missing system packages: cmake libfmt-dev\n")
    update, install = checkout.called("apt-get")
    assert update.endswith(" update")
    assert install.endswith(" install -y --no-install-recommends cmake libfmt-dev")


@pytest.mark.parametrize("command, step", [("apt-get", "installing packages"), ("cmake", "configuring (cpu)")])
def test_failed_step_is_named_in_one_line(checkout, command, step):
    if command == "apt-get":
        checkout.stand_in("dpkg-query", "exit 1")
    checkout.stand_in(command, "echo all is lost; exit 100")
    result = checkout.call("run.sh")
    assert result.returncode == 1
    before, log = result.stderr.removesuffix("\n").split("; its log is ")
    assert before == f"run.sh: {step} failed"
    assert "all is lost" in Path(log).read_text()


def test_nothing_is_installed_where_that_is_not_wanted(checkout):
    checkout.stand_in("dpkg-query", "exit 1")
    checkout.program("echo '  deck         a -> .'")
    setup = checkout.folder / "cmake" / "setup.sh"
    setup.write_text("ISOTHERM_INSTALL=no\n" + setup.read_text())
    assert checkout.call("run.sh").returncode == 0
    assert not checkout.called("apt-get")


@pytest.mark.parametrize("deck", ["missing.yaml", ".", "inputs"])
def test_missing_deck_is_66_before_any_work(checkout, deck):
    result = checkout.call("run.sh", deck)
    assert (result.returncode, result.stdout) == (66, "")
    assert result.stderr.startswith("run.sh: deck ") and result.stderr.count("\n") == 1
    assert checkout.calls.read_text() == ""


def test_own_deck_runs_in_the_folder_of_the_user(checkout):
    checkout.program("mkdir -p runs/mine; echo '  deck         mine.yaml -> runs/mine'")
    (checkout.user / "mine.yaml").write_text("grid: {}\n")
    result = checkout.call("run.sh", "mine.yaml", "a.b=[1, 2]")
    assert (result.returncode, result.stderr) == (0, "")
    assert checkout.called("isotherm") == ["isotherm run mine.yaml a.b=[1, 2]"]
    assert f"everything is in  {checkout.user}/runs/mine\n" in result.stdout


def test_quickstart_runs_in_the_checkout_and_replaces_its_last_run(checkout):
    """In a folder that the tour, which begins with the same deck, leaves alone."""
    checkout.program("mkdir -p runs/first_run; echo '  deck         x -> runs/first_run'")
    result = checkout.call("run.sh", "precision=fp32")
    assert (result.returncode, result.stderr) == (0, "")
    assert checkout.called("isotherm") == [
        "isotherm run inputs/quickstart.yaml output.overwrite=true precision=fp32 output.directory=runs/first_run"]
    assert f"everything is in  {checkout.folder}/runs/first_run\n" in result.stdout
    checkout.call("run.sh", "output.directory=mine")
    assert checkout.called("isotherm")[-1] == "isotherm run inputs/quickstart.yaml output.overwrite=true output.directory=mine"


@pytest.mark.parametrize("code", [2, 10, 65, 76])
def test_exit_code_of_the_program_is_kept(checkout, code):
    checkout.program(f"exit {code}")
    result = checkout.call("run.sh")
    assert result.returncode == code
    assert result.stderr.startswith(f"run.sh: running inputs/quickstart.yaml failed with exit code {code} ")


def test_exit_code_of_the_tests_is_kept(checkout):
    checkout.stand_in("ctest", "exit 8")
    result = checkout.call("test.sh", "-L", "unit")
    assert result.returncode == 8
    assert result.stderr.startswith("test.sh: tests failed (exit code 8 of ctest); ")
    assert checkout.called("ctest")[0].endswith(" -L unit")


def test_skipped_cases_are_listed(checkout):
    log = checkout.folder / "build/cpu/Testing/Temporary/LastTest.log"
    log.parent.mkdir(parents=True)
    log.write_text(
        "SKIPPED [2] faults/test_disk_full.py:9: no tmpfs can be mounted\n"
        "[  SKIPPED ] Rows/Naive.Cuda/0 (0 ms)\n[  SKIPPED ] Rows/Naive.Cuda/1 (0 ms)\n"
        "[  SKIPPED ] 2 tests, listed below:\n[  SKIPPED ] Rows/Naive.Cuda/0\n[  SKIPPED ] Rows/Naive.Cuda/1\n"
    )
    result = checkout.call("test.sh")
    assert result.returncode == 0
    assert "SKIPPED [2] faults/test_disk_full.py:9: no tmpfs can be mounted\n" in result.stdout
    assert "SKIPPED [2] GoogleTest cases" in result.stdout


NVCC = "echo 'Cuda compilation tools, release 13.0, V13.0.48'"


@pytest.mark.parametrize("preset, gpu, built", [
    ("", "GPU 0: NVIDIA H200 (UUID: GPU-0)", "cuda"), ("", "", "cpu"), ("", "No devices found.", "cpu"), ("cuda", "", "cuda"),
    ("cpu", "GPU 0: NVIDIA H200 (UUID: GPU-0)", "cpu"), ("ci", "", "ci")])
@pytest.mark.parametrize("script", ["run.sh", "test.sh"])
def test_cuda_is_built_for_a_gpu_that_answers_or_when_asked_for(checkout, script, preset, gpu, built):
    checkout.stand_in("nvcc", NVCC)
    checkout.stand_in("nvidia-smi", f"echo '{gpu}'")
    checkout.program("echo '  deck         a -> .'", built)
    result = checkout.call(script, ISOTHERM_PRESET=preset)
    assert result.returncode == 0, result.stderr
    assert checkout.called("cmake")[-1].startswith(f"cmake --build {checkout.folder}/build/{built} ")
    left_out = "no GPU answers here, so CUDA is not built; ISOTHERM_PRESET=cuda builds it all the same\n"
    assert (left_out in result.stdout) == (built == "cpu" and not preset)


def test_an_old_toolkit_builds_nothing_for_a_gpu(checkout):
    checkout.stand_in("nvcc", NVCC.replace("13.0", "12.4"))
    checkout.stand_in("nvidia-smi", "echo 'GPU 0: NVIDIA H200 (UUID: GPU-0)'")
    checkout.program("echo '  deck         a -> .'")
    assert checkout.call("run.sh", ISOTHERM_PRESET="").returncode == 0


NINJA = "for i in {1..40}; do echo \"[$i/40] Building CXX object $i\"; done"
MAKE = "for i in 3 50 100; do echo \"[${i:+ }$i%] Building CXX object $i\"; done"


def test_a_build_shows_how_far_it_is(checkout):
    """In a pipe by lines, about ten of them however many files there are, and all that it prints is in its log."""
    checkout.program("echo '  deck         a -> .'")
    checkout.stand_in("cmake", NINJA)
    lines = checkout.call("run.sh").stdout.splitlines()
    assert lines[:9] == [f"building (cpu) ... {built} of 40 files" for built in range(4, 40, 4)]
    assert lines[9].startswith("building (cpu) ... ") and lines[9].endswith(" s")
    assert len((checkout.folder / "build/cpu/log/build.log").read_text().splitlines()) == 40
    checkout.stand_in("cmake", MAKE)
    assert checkout.call("run.sh").stdout.splitlines()[0] == "building (cpu) ... 50 %"


def test_on_a_terminal_that_is_one_line(checkout):
    checkout.program("echo '  deck         a -> .'")
    checkout.stand_in("cmake", NINJA)
    shown = OnTerminal([checkout.folder / "run.sh"], checkout.user, **checkout.environment())
    shown.read_until(lambda text: "record " in text)
    line, = [line for line in shown.text.split("\n") if "building (cpu)" in line]
    steps = line.split("\r")
    assert [step for step in steps if "files" in step] == [f"building (cpu) ... {built} of 40 files ... " for built in range(1, 40)] + [
        steps[40]]
    assert steps[40].startswith("building (cpu) ... 40 of 40 files ... ") and steps[40].endswith(" s")
    assert shown.end() == 0


def test_a_failed_build_is_told_behind_what_it_has_shown(checkout):
    checkout.program("")
    checkout.stand_in("cmake", "echo '[1/2] Building'; exit 1")
    result = checkout.call("run.sh")
    assert result.returncode == 1 and result.stderr.startswith("run.sh: building (cpu) failed; its log is ")


# The file to source


def type_in(checkout, *lines, **environment):
    """In a shell of the user's, whose first python3 has no packages."""
    checkout.stand_in("python3", "echo this python3 has no packages; exit 1")
    return subprocess.run(["bash", "-ec", "\n".join(lines)], cwd=checkout.folder, env=checkout.environment(**environment),
                          capture_output=True, text=True, check=False)


def test_the_file_to_source_is_named_and_puts_program_and_tools_on_the_path(checkout):
    (checkout.folder / "postprocess").symlink_to(TOP / "postprocess")
    checkout.program("echo '  deck         a -> .'")
    result = checkout.call("run.sh", ISOTHERM_PYTHON=sys.executable)
    assert result.returncode == 0, result.stderr
    line, = [line for line in result.stdout.splitlines() if "source " in line]
    source = line[line.index("source "):]
    done = type_in(checkout, "cd ..", source, "isotherm list", "python3 -m isotherm_tools slice --help", "isotherm-slice --help",
                   "python3 -c 'import sys; print(sys.executable)'", PYTHONDONTWRITEBYTECODE="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert checkout.called("isotherm")[-1] == "isotherm list"
    assert done.stdout.count("usage: isotherm_tools slice") == 2 and done.stdout.splitlines()[-1] == sys.executable


def test_once_sourced_it_is_made_anew_as_well(checkout):
    """With python3 its own: a command that started itself would never end."""
    checkout.program("echo '  deck         a -> .'")
    assert checkout.call("run.sh", ISOTHERM_PYTHON=sys.executable).returncode == 0
    done = type_in(checkout, "source build/env.sh", "./run.sh", "python3 -c 'import sys; print(sys.executable)'",
                   ISOTHERM_PYTHON="python3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == sys.executable


def test_it_lets_root_start_ranks(checkout):
    checkout.program("echo '  deck         a -> .'")
    assert checkout.call("run.sh").returncode == 0
    done = type_in(checkout, "source build/env.sh", "echo ${OMPI_ALLOW_RUN_AS_ROOT-no}${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM-no}")
    assert done.stdout == ("11\n" if os.geteuid() == 0 else "nono\n")


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_scripts_are_clean():
    names = ["run.sh", "test.sh", ".ci/run", "cmake/setup.sh", "tests/busy.sh", *sorted(TOP.glob("inputs/scaling/*.sh"))]
    subprocess.run(["shellcheck", "-x", *names], cwd=TOP, check=True, env=os.environ)


TOUR = TOP / "docs" / "tour.md"
README = TOP / "README.md"
# What makes decks small: they, and nothing of a command, are changed.
COARSER = {
    "quickstart.yaml": [("cells: [160, 80, 10]", "cells: [40, 20, 4]")],
    "heated_chip.yaml": [("cells: [80, 60, 8]", "cells: [40, 30, 8]"), ("tolerance: 1e-9", "tolerance: 1e-3")],
    "study_thickness.yaml": [("cells: [40, 30, 4]", "cells: [20, 15, 4]"), ("tolerance: 1e-7", "tolerance: 1e-3")],
    "study_scaling.yaml": [("cells: 64", "cells: 16"), ("repeats: 3", "repeats: 1")],
    "plate.yaml": [("cells: [160, 80, 10]", "cells: [40, 20, 4]")],
}
NUMBER = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?(?: \d{3}\b)*")
MARK = "---- typed"
ROOT_MAY = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")  # which the shell of a user lacks
TIME = re.compile(r"# (?:[numµ]?s\b|min #? ?s?|h # min)")


def blurred(line):
    """Without what differs from run to run: numbers, units of time, widths of columns."""
    return " ".join(TIME.sub("# s", NUMBER.sub("#", line)).split())


def expect_shown(text, printed):
    """Of each line that is shown, one that is printed; "..." stands for anything."""
    all_printed = [blurred(line) for line in printed.splitlines()]
    for line in text.splitlines():
        if line.strip() in ("", "..."):
            continue
        pattern = ".*".join(re.escape(blurred(part)) for part in line.split("..."))
        assert any(re.fullmatch(pattern, each) for each in all_printed), (line, printed)


def write_coarser(folder, name, text):
    for fine, coarse in COARSER.get(name, []):
        assert text.count(fine) == 1, (name, fine)
        text = text.replace(fine, coarse)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def fresh_checkout(tmp_path):
    """Fresh, with coarser decks, and a user whose first python3 has no packages."""
    fresh_checkout = real_checkout(tmp_path)
    for name in COARSER:
        deck = TOP / "inputs" / name
        if deck.is_file():
            write_coarser(fresh_checkout.folder / "inputs", name, deck.read_text(encoding="utf-8"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "pure"], check=True)
    fresh_checkout.stand_in("python3", f'exec "{tmp_path}/pure/bin/python3" "$@"')
    return fresh_checkout


def type_pages(fresh_checkout, *pages):
    """All lines for a shell, in one shell and in their order; what each block printed."""
    script = "".join(f"{text}echo {MARK}\n" for page in pages for text in blocks(page, "sh"))
    told = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", *ROOT_MAY)}
    done = subprocess.run(["bash", "-e"], input=script, cwd=fresh_checkout.folder, text=True, capture_output=True, check=False,
                          env={**told, **fresh_checkout.environment(ISOTHERM_PYTHON=sys.executable)})
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.split(MARK + "\n")[:-1]


def test_readme_and_tour_are_typed_word_for_word(fresh_checkout):
    """One behind the other, as somebody does who reads on. A deck that a page shows whole is saved by the name that it says."""
    deck, = blocks(README, "yaml")
    assert "`plate.yaml`" in README.read_text(encoding="utf-8")
    write_coarser(fresh_checkout.folder, "plate.yaml", deck)
    printed = type_pages(fresh_checkout, README, TOUR)
    assert (fresh_checkout.folder / "runs/first_run/picture.png").is_file() and (fresh_checkout.folder / "runs/plate/run.json").is_file()
    of_tour = iter(printed[len(blocks(README, "sh")):])
    shown, said = 0, ""
    for kind, text in BLOCK.findall(TOUR.read_text(encoding="utf-8")):
        if kind == "sh":
            said = next(of_tour)
        elif kind == "text":
            expect_shown(text, said)
            shown += 1
    assert shown >= 5


def test_a_folder_without_the_file_to_source_is_told_in_one_line(fresh_checkout):
    """By the first python3: it finds the tools, but not what they need."""
    done = subprocess.run(["python3", "-m", "isotherm_tools", "slice", "runs/quickstart"], cwd=fresh_checkout.folder / "postprocess",
                          env=fresh_checkout.environment(), text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (69, "")
    assert re.fullmatch(r"isotherm_tools: \S+/python3 has no numpy, h5py, matplotlib, pillow; source build/env\.sh, which run\.sh makes, "
                        r"or install the package with what it needs: pip install \./postprocess\n", done.stderr)


def test_pieces_of_decks_stand_in_the_decks():
    decks = [path.read_text(encoding="utf-8") for path in (TOP / "inputs").glob("*.yaml")]
    pieces = [text for kind, text in BLOCK.findall(TOUR.read_text(encoding="utf-8")) if kind == "yaml"]
    assert pieces and all(any(text in deck for deck in decks) for text in pieces)


@pytest.mark.parametrize("line, printed, same", [
    ("  grid   160 x 80 x 10 = 128 000 cells", "  grid         40 x 20 x 4 = 3 200 cells", True),
    ("[1/2] a: done after 1.30 s; ...", "[2/2] a: done after 12 ms; about 1 min 02 s left", True),
    ("[1/2] a: done after 1.30 s", "[2/2] a: failed after 12 ms", False)])
def test_only_numbers_may_differ(line, printed, same):
    if same:
        return expect_shown(line, printed)
    with pytest.raises(AssertionError):
        expect_shown(line, printed)
