"""run.sh and test.sh with stand-ins for the system's commands: what they install, say and return."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


class Checkout:
    """The scripts in a folder of their own. Every stand-in notes its call and answers as told."""

    def __init__(self, folder):
        self.folder = folder / "check out"  # a blank in the path must not matter
        self.commands = folder / "bin"
        self.calls = folder / "calls"
        self.user = folder / "user"
        for path in (self.folder / "cmake", self.folder / "inputs", self.commands, self.user):
            path.mkdir(parents=True)
        for name in ("run.sh", "test.sh", "cmake/setup.sh"):
            shutil.copy(TOP / name, self.folder / name)
        (self.folder / "inputs" / "quickstart.yaml").write_text("grid: {}\n")
        self.calls.write_text("")
        self.stand_in("dpkg-query", "printf 'installed '")
        self.stand_in("apt-get", "")
        self.stand_in("sudo", 'exec "$@"')
        self.stand_in("cmake", "")
        self.stand_in("ctest", "")

    def stand_in(self, name, body):
        path = self.commands / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.calls}"\n{body}\n')
        path.chmod(0o755)

    def program(self, body):
        """What the build would have left behind."""
        build = self.folder / "build" / "cpu"
        build.mkdir(parents=True)
        (build / "build.ninja").touch()
        path = build / "isotherm"
        path.write_text(f'#!/bin/bash\necho "isotherm $*" >>"{self.calls}"\n{body}\n')
        path.chmod(0o755)

    def call(self, script, *arguments):
        environment = {"PATH": f"{self.commands}:/usr/bin:/bin", "HOME": str(self.user), "ISOTHERM_PRESET": "cpu"}
        return subprocess.run(
            [self.folder / script, *arguments],
            cwd=self.user,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def called(self, name):
        return [line for line in self.calls.read_text().splitlines() if line.startswith(f"{name} ")]


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
    checkout.program("mkdir -p runs/quickstart; echo '  deck         x -> runs/quickstart'")
    result = checkout.call("run.sh", "precision=fp32")
    assert (result.returncode, result.stderr) == (0, "")
    assert checkout.called("isotherm") == ["isotherm run inputs/quickstart.yaml output.overwrite=true precision=fp32"]
    assert f"everything is in  {checkout.folder}/runs/quickstart\n" in result.stdout


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


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_scripts_are_clean():
    names = ["run.sh", "test.sh", ".ci/run", "cmake/setup.sh", *sorted(TOP.glob("inputs/scaling/*.sh"))]
    subprocess.run(["shellcheck", "-x", *names], cwd=TOP, check=True, env=os.environ)
