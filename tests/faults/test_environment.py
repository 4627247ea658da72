"""Odd environments: threads, locale, time zone, home, umask. A run goes on with sane defaults, or says why."""

import os
import stat
import subprocess

import pytest
from cli import BASE_DECK

from program import HANGS, command, isotherm, write_deck

ARGUMENTS = ("run", "deck.yaml", "--progress=off", "output.directory=out")


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, BASE_DECK)
    return tmp_path


@pytest.mark.parametrize("text, problem", [
    ("0", "at least 1 thread is needed"),
    ("-4", "at least 1 thread is needed"),
    ("many", "it is not a whole number"),
    ("2.5", "it is not a whole number"),
    ("", "it is empty"),
    ("99999999999999999999", None),
    ("100000", None),
])
def test_thread_numbers_that_make_no_sense(folder, text, problem):
    done = isotherm(*ARGUMENTS, cwd=folder, OMP_NUM_THREADS=text)
    assert done.returncode == 0, done.stderr
    if problem is None:
        cores = os.cpu_count()
        problem = f"more than {8 * cores} threads on {cores} core{'s' * (cores > 1)}"
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"warning: OMP_NUM_THREADS='{text}' is ignored ({problem}); using ")
    rest = [line for line in done.stderr.splitlines() if line and not line.startswith(("warning: ", "libgomp: "))]
    assert rest == []
    assert warnings[0].removeprefix("warning: ") in (folder / "out" / "run.json").read_text()


@pytest.mark.parametrize("ranks", [1, 2])
def test_more_ranks_than_cores_are_told(folder, ranks):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    *launcher, program = command(ranks=ranks)
    one_core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]  # launchers bind ranks as they see fit
    done = subprocess.run([*launcher, *one_core, program, *ARGUMENTS], cwd=folder, env=environment, timeout=120, text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "take turns" in line]
    assert told == ["warning: 2 ranks share 1 core of this host and take turns; start no more ranks than cores"] * (ranks > 1)


def run_in(folder, environment, **options):
    return subprocess.run(command(*ARGUMENTS), cwd=folder, env=environment, timeout=HANGS, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, **options)


def test_without_time_zone_and_home(folder):
    environment = {name: value for name, value in os.environ.items() if name not in ("TZ", "HOME")}
    done = run_in(folder, environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_time_zone_changes_nothing(folder):
    done = run_in(folder, {**os.environ, "TZ": "Nowhere/Atlantis"})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("umask, file_mode, folder_mode", [(0o077, 0o600, 0o700), (0o022, 0o644, 0o755)])
def test_the_umask_is_obeyed(folder, umask, file_mode, folder_mode):
    done = run_in(folder, dict(os.environ), umask=umask)
    assert (done.returncode, done.stderr) == (0, "")
    out = folder / "out"
    assert stat.S_IMODE(out.stat().st_mode) == folder_mode
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()}
    assert len(modes) == 8
    assert modes == dict.fromkeys(modes, file_mode)


def test_a_locale_with_decimal_commas(folder):
    locales = subprocess.run(["locale", "-a"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    found = [name for name in locales if name.lower() in ("de_de.utf8", "de_de.utf-8", "fr_fr.utf8", "fr_fr.utf-8")]
    if not found:
        pytest.skip("no locale with decimal commas is installed (de_DE.UTF-8 or fr_FR.UTF-8)")
    done = isotherm(*ARGUMENTS, "problem.dt=0.0005", cwd=folder, LC_ALL=found[0])
    assert (done.returncode, done.stderr) == (0, "")
    assert "dt: 0.0005\n" in (folder / "out" / "deck.resolved.yaml").read_text()
    assert "." in (folder / "out" / "history.csv").read_text().splitlines()[-1].split(",")[1]
