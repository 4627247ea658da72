"""run.sh and test.sh with stand-ins for system commands; and README.md and docs/tour.md typed line by line in a fresh checkout: the
output that they show is printed, except for numbers."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from checkout import Checkout
from documentation import BLOCK, blocks, TOP
from program import finished
from terminal import OnTerminal


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.mark.parametrize("script", ["run.sh", "test.sh"])
def test_no_network_when_all_packages_are_there(checkout, script):
    checkout.program()
    result = checkout.call(script)
    assert result.stderr == "" and "missing" not in result.stdout
    assert checkout.called("dpkg-query") and not checkout.called("apt-get")


def test_missing_packages_are_named_then_installed(checkout):
    lacking = "case \"${!#}\" in cmake | libfmt-dev) printf 'not-installed ' ;; *) printf 'installed ' ;; esac"
    checkout.stand_in("dpkg-query", lacking)
    checkout.program()
    result = checkout.call("run.sh")
    assert result.stdout.startswith("missing system packages: cmake libfmt-dev\n")
    update, install = checkout.called("apt-get")
    assert update.endswith(" update")
    assert install.endswith(" install -y --no-install-recommends cmake libfmt-dev")


@pytest.mark.parametrize("command, body, step", [
    ("apt-get", "echo all is lost; exit 100", "installing packages"), ("cmake", "echo all is lost; exit 100", "configuring (cpu)"),
    ("cmake", "[[ $1 == --build ]] || exit 0; echo '[1/2] all is lost'; exit 1", "building (cpu)")])
def test_failed_step_is_named_in_one_line(checkout, command, body, step):
    """The message of a failed build follows its output."""
    if command == "apt-get":
        checkout.stand_in("dpkg-query", "exit 1")
    checkout.stand_in(command, body)
    result = checkout.call("run.sh", code=1)
    before, log = result.stderr.removesuffix("\n").split("; its log is ")
    assert before == f"run.sh: {step} failed" and "all is lost" in Path(log).read_text()


@pytest.mark.parametrize("variable, value, code", [("ISOTHERM_INSTALL", "NO", 2), ("ISOTHERM_PYTHON", "venv/none", 69)])
def test_a_setting_that_cannot_be_used_is_named_before_any_work(checkout, variable, value, code):
    result = checkout.call("run.sh", code=code, **{variable: value})
    assert result.stderr.startswith(f"run.sh: {variable}") and value in result.stderr and checkout.calls.read_text() == ""


def test_nothing_is_installed_if_the_user_forbids_it(checkout):
    checkout.stand_in("dpkg-query", "exit 1")
    checkout.program()
    checkout.call("run.sh", ISOTHERM_INSTALL="no")
    assert not checkout.called("apt-get")


@pytest.mark.parametrize("deck", ["missing.yaml", ".", "inputs"])
def test_missing_deck_is_66_before_any_work(checkout, deck):
    result = checkout.call("run.sh", deck, code=66)
    assert result.stdout == "" and result.stderr.startswith("run.sh: deck ") and result.stderr.count("\n") == 1
    assert checkout.calls.read_text() == ""


def test_own_deck_runs_in_the_folder_of_the_user_and_the_quickstart_in_the_checkout(checkout):
    """The quickstart replaces its last run, in a folder other than that of the tour, which starts with the same deck."""
    checkout.program("mkdir -p runs/mine; echo '  deck         mine.yaml -> runs/mine'")
    (checkout.user / "mine.yaml").write_text("grid: {}\n")

    def ran(*words):
        result = checkout.call("run.sh", *words)
        assert result.stderr == ""
        return checkout.called("isotherm")[-1], result.stdout

    called, said = ran("mine.yaml", "a.b=[1, 2]")
    assert called == "isotherm run mine.yaml a.b=[1, 2]" and f"everything is in  {checkout.user}/runs/mine\n" in said
    called, said = ran("precision=fp32")
    assert called == "isotherm run inputs/quickstart.yaml output.overwrite=true precision=fp32 output.directory=runs/first_run"
    assert f"everything is in  {checkout.folder}/runs/mine\n" in said
    assert ran("output.directory=mine")[0] == "isotherm run inputs/quickstart.yaml output.overwrite=true output.directory=mine"


@pytest.mark.parametrize("code", [2, 10, 65, 76])
def test_exit_codes_of_program_and_tests_are_kept(checkout, code):
    checkout.program(f"exit {code}")
    checkout.stand_in("ctest", "exit 8")
    result = checkout.call("run.sh", code=code)
    assert result.stderr.startswith(f"run.sh: running inputs/quickstart.yaml failed with exit code {code} ")
    result = checkout.call("test.sh", "-L", "unit", code=8)
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
    assert "SKIPPED [2] faults/test_disk_full.py:9: no tmpfs can be mounted\n" in result.stdout
    assert "SKIPPED [2] GoogleTest cases" in result.stdout


H200 = "GPU 0: NVIDIA H200 (UUID: GPU-0)"


@pytest.mark.parametrize("preset, gpu, release, built", [
    ("", H200, "13.0", "cuda"), ("", "", "13.0", "cpu"), ("", "No devices found.", "13.0", "cpu"), ("cuda", "", "13.0", "cuda"),
    ("cpu", H200, "13.0", "cpu"), ("ci", "", "13.0", "ci"), ("", H200, "12.4", "cpu")])
@pytest.mark.parametrize("script", ["run.sh", "test.sh"])
def test_cuda_is_built_for_a_gpu_that_answers_or_when_asked_for(checkout, script, preset, gpu, release, built):
    """And only if the toolkit is not too old."""
    checkout.stand_in("nvcc", f"echo 'Cuda compilation tools, release {release}, V{release}.48'")
    checkout.stand_in("nvidia-smi", f"echo '{gpu}'")
    checkout.program(preset=built)
    result = checkout.call(script, ISOTHERM_PRESET=preset)
    assert checkout.called("cmake")[-1].startswith(f"cmake --build {checkout.folder}/build/{built} ")
    assert ("no GPU answers here, so CUDA is not built" in result.stdout) == (built == "cpu" and not preset and gpu != H200)


NINJA = "for i in {1..40}; do echo \"[$i/40] Building CXX object $i\"; done"
MAKE = "for i in 3 50 100; do echo \"[${i:+ }$i%] Building CXX object $i\"; done"


@pytest.mark.parametrize("build, shown, lines", [
    (NINJA, [f"{built} of 40 files" for built in range(4, 40, 4)], 40), (MAKE, ["50 %"], 3)])
def test_a_build_shows_how_far_it_is(checkout, build, shown, lines):
    """About ten lines in a pipe, for any number of files; its log has the whole output."""
    checkout.program()
    checkout.stand_in("cmake", build)
    *progress, end = checkout.call("run.sh").stdout.splitlines()[:len(shown) + 1]
    assert progress == [f"building (cpu) ... {each}" for each in shown]
    assert end.startswith("building (cpu) ... ") and end.endswith(" s")
    assert len((checkout.folder / "build/cpu/log/build.log").read_text().splitlines()) == lines


def test_on_a_terminal_the_progress_of_a_build_is_one_line(checkout):
    checkout.program()
    checkout.stand_in("cmake", NINJA)
    shown = OnTerminal([checkout.folder / "run.sh"], checkout.user, **checkout.environment())
    shown.read_until(lambda text: "record " in text)
    line, = [line for line in shown.text.split("\n") if "building (cpu)" in line]
    steps = line.split("\r")
    assert [step for step in steps if "files" in step] == [f"building (cpu) ... {built} of 40 files ... " for built in range(1, 40)] + [
        steps[40]]
    assert steps[40].startswith("building (cpu) ... 40 of 40 files ... ") and steps[40].endswith(" s")
    assert shown.end() == 0


def type_in(checkout, *lines, **environment):
    """In a user's shell whose first python3 has no packages."""
    checkout.stand_in("python3", "echo this python3 has no packages; exit 1")
    return finished(["bash", "-ec", "\n".join(lines)], 0, cwd=checkout.folder, env=checkout.environment(**environment))


def test_env_sh_is_named_and_puts_program_and_tools_on_the_path(checkout):
    (checkout.folder / "postprocess").symlink_to(TOP / "postprocess")
    checkout.program()
    result = checkout.call("run.sh", ISOTHERM_PYTHON=os.path.relpath(sys.executable, checkout.user))
    line, = [line for line in result.stdout.splitlines() if "source " in line]
    source = line[line.index("source "):]
    done = type_in(checkout, "cd ..", source, "isotherm list", "python3 -m isotherm_tools slice --help", "isotherm-slice --help",
                   "python3 -c 'import sys; print(sys.executable)'", "echo $ISOTHERM_PYTHON", PYTHONDONTWRITEBYTECODE="1")
    assert done.stderr == "" and checkout.called("isotherm")[-1] == "isotherm list"
    assert done.stdout.count("usage: isotherm slice") == 2 and done.stdout.splitlines()[-2:] == [sys.executable] * 2


def test_in_a_sourced_shell_run_sh_works_again_and_root_may_start_ranks(checkout):
    """With ISOTHERM_PYTHON=python3, which is then the script in build/bin: it must not start itself for ever."""
    checkout.program()
    checkout.call("run.sh", ISOTHERM_PYTHON=sys.executable)
    done = type_in(checkout, "source build/env.sh", "ISOTHERM_PYTHON=python3 ./run.sh", "python3 -c 'import sys; print(sys.executable)'",
                   "echo ${OMPI_ALLOW_RUN_AS_ROOT-no}${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM-no}")
    assert done.stdout.splitlines()[-2:] == [sys.executable, "11" if os.geteuid() == 0 else "nono"]


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_scripts_are_clean():
    names = ["run.sh", "test.sh", ".ci/run", "cmake/setup.sh", "tests/busy.sh", *sorted(TOP.glob("inputs/scaling/*.sh"))]
    finished(["shellcheck", "-x", *names], 0, cwd=TOP)


TOUR = TOP / "docs" / "tour.md"
README = TOP / "README.md"
# Changes that make decks small; commands are not changed.
COARSER = {
    "quickstart.yaml": [("cells: [256, 128, 16]", "cells: [192, 96, 12]")],  # also below one millimetre
    "heated_chip.yaml": [("cells: [80, 60, 8]", "cells: [40, 30, 8]")],
    "study_thickness.yaml": [("cells: [40, 30, 4]", "cells: [20, 15, 4]"), ("tolerance: 1e-7", "tolerance: 1e-3")],
    "study_scaling.yaml": [("cells: 64", "cells: 16"), ("repeats: 3", "repeats: 1")],
    "plate.yaml": [("cells: [160, 80, 10]", "cells: [40, 20, 4]")],
}
NUMBER = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?(?: \d{3}\b)*")
MARK = "---- typed"
ROOT_MAY = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")  # not set in a user's shell
TIME = re.compile(r"# (?:[numµ]?s\b|min #? ?s?|h # min)")


def blurred(line):
    """A line without parts that differ between runs: numbers, units of time, widths of columns."""
    return " ".join(TIME.sub("# s", NUMBER.sub("#", line)).split())


def expect_shown(text, printed):
    """Every line shown must be printed; "..." matches anything."""
    all_printed = [blurred(line) for line in printed.splitlines()]
    for line in text.splitlines():
        if line.strip() in ("", "..."):
            continue
        pattern = ".*".join(re.escape(blurred(part)) for part in line.split("..."))
        assert any(re.fullmatch(pattern, each) for each in all_printed), (line, printed)


def coarser(name, text):
    for fine, coarse in COARSER.get(name, []):
        assert text.count(fine) == 1, (name, fine)
        text = text.replace(fine, coarse)
    return text


@pytest.fixture
def fresh_checkout(checkout, tmp_path):
    """The real tools, and the real decks made coarser; the build is the program under test. The user's first
    python3 has no packages."""
    shutil.rmtree(checkout.folder / "inputs")
    shutil.copytree(TOP / "inputs", checkout.folder / "inputs")
    for deck in (checkout.folder / "inputs").glob("*.yaml"):
        deck.write_text(coarser(deck.name, deck.read_text(encoding="utf-8")), encoding="utf-8")
    (checkout.folder / "postprocess").symlink_to(TOP / "postprocess")
    build = checkout.folder / "build" / "cpu"
    checkout.stand_in("cmake", f'mkdir -p "{build}"; touch "{build}/build.ninja"; '
                               f'ln -sfn "{os.environ["ISOTHERM"]}" "{build}/isotherm"')
    finished([sys.executable, "-m", "venv", "--without-pip", tmp_path / "pure"], 0)
    checkout.stand_in("python3", f'exec "{tmp_path}/pure/bin/python3" "$@"')
    return checkout


def test_readme_and_tour_are_typed_word_for_word(fresh_checkout):
    """All shell lines, in one shell and in order, as a reader types them. A deck that a page shows whole is saved under the name in the
    page."""
    deck, = blocks(README, "yaml")
    assert "`plate.yaml`" in README.read_text(encoding="utf-8")
    (fresh_checkout.folder / "plate.yaml").write_text(coarser("plate.yaml", deck), encoding="utf-8")
    script = "".join(f"{text}echo {MARK}\n" for page in (README, TOUR) for text in blocks(page, "sh"))
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", *ROOT_MAY)}
    done = finished(["bash", "-e"], 0, timeout=None, input=script, cwd=fresh_checkout.folder,
                    env={**environment, **fresh_checkout.environment(ISOTHERM_PYTHON=sys.executable)})
    assert all((fresh_checkout.folder / "runs" / name).is_file() for name in ("first_run/picture.png", "plate/run.json"))
    of_tour = iter(done.stdout.split(MARK + "\n")[len(blocks(README, "sh")):-1])
    shown, said = 0, ""
    for kind, text in BLOCK.findall(TOUR.read_text(encoding="utf-8")):
        if kind == "sh":
            said = next(of_tour)
        elif kind == "text":
            expect_shown(text, said)
            shown += 1
    assert shown >= 5


def test_parts_of_decks_in_pages_are_in_the_decks():
    decks = [path.read_text(encoding="utf-8") for path in (TOP / "inputs").glob("*.yaml")]
    pieces = [text for kind, text in BLOCK.findall(TOUR.read_text(encoding="utf-8")) if kind == "yaml"]
    assert pieces and all(any(text in deck for deck in decks) for text in pieces)
