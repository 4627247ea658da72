"""Odd environments: threads, locale, time zone, home, umask, limits of a process, folders that cannot be written to, streams that
nobody reads. A run goes on with sane defaults, or one line says why; no rank waits for another."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from cli import isotherm as isotherm_as, NOBODY
from program import command, DECK, HANGS, isotherm, ran, write_deck
from runs import record, snapshots

ARGUMENTS = ("run", "deck.yaml", "--progress=off", "output.directory=out")


@pytest.mark.parametrize("text, problem", [
    ("0", "at least 1 thread is needed"), ("-4", "at least 1 thread is needed"), ("many", "it is not a whole number"),
    ("2.5", "it is not a whole number"), ("", "it is empty"), ("99999999999999999999", None), ("100000", None)])
def test_thread_numbers_that_make_no_sense(folder, text, problem):
    done = ran(*ARGUMENTS, cwd=folder, OMP_NUM_THREADS=text)
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
    done = subprocess.run([*launcher, *one_core, program, *ARGUMENTS], cwd=folder, env=environment, timeout=HANGS, text=True,
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


WORKS, LIMITED = 0, {1, 73, 74}  # 1: MPI itself cannot start


def run_under(limit, folder, ranks, *words):
    """The ranks have the limit; the launcher, which cannot live with some, has not."""
    line = command("run", "deck.yaml", "output.directory=out", *words, ranks=ranks)
    line[3:3] = ["sh", "-c", f'ulimit {limit} && exec "$0" "$@"']
    done = subprocess.run(line, cwd=folder, timeout=HANGS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "ISOTHERM_IO_TIMEOUT": "120"}, check=False)
    assert "did not finish within" not in done.stderr, "only the watchdog has ended it"
    for path in (folder / "out").glob("*.hdf"):
        assert isotherm("info", path).returncode == 0
    return done


@pytest.mark.parametrize("limit", ["-n 32", "-s 256", "-v 4000000"])
def test_what_is_enough(folder, limit):
    """File descriptors, KiB of stack, KiB of address space."""
    done = run_under(limit, folder, 2)
    assert done.returncode == WORKS, done.stderr
    assert snapshots(folder / "out")


@pytest.mark.parametrize("files", [16, 18, 19, 20, 22])
def test_too_few_descriptors(folder, files):
    """Whichever call is the first to fail, and on whichever rank: also within MPI-IO, which a rank may then not have."""
    done = run_under(f"-n {files}", folder, 3)
    assert done.returncode in {WORKS} | LIMITED, done.stderr
    if done.returncode in (73, 74):
        assert "Too many open files" in done.stderr and done.stdout.endswith("RESULT: FAILED\n")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_limit_of_file_sizes_is_no_signal(folder, ranks):
    done = run_under("-f 500", folder, ranks, "grid.cells=40")  # KiB or half of it, as the shell counts; 512000 bytes of cells
    assert done.returncode == 74, done.stderr
    assert "no room for the file (File too large: " in done.stderr and " bytes wanted, " in done.stderr
    assert snapshots(folder / "out") == [] and not list((folder / "out").glob("*.part"))


@pytest.fixture
def folder_of_all(folder):
    """Not below pytest's own folder, which every pytest that starts beside this one closes to other users."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(folder / "deck.yaml", name)
        os.chmod(name, 0o755)
        yield Path(name)
        os.chmod(name, 0o755)


def test_a_working_directory_that_cannot_be_written_to(folder_of_all):
    """Is refused where the run would be there, and no matter where it is not."""
    folder = folder_of_all
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    os.chmod(elsewhere, 0o777)
    os.chmod(folder, 0o555)
    user = NOBODY if os.getuid() == 0 else None
    done = isotherm_as("run", "deck.yaml", cwd=folder, user=user)
    assert done.code == 73
    assert done.err == ("cannot use 'runs/deck' as run directory (a folder cannot be made in '.': Permission denied); "
                        "choose another with output.directory=...\n")
    done = isotherm_as("run", "deck.yaml", f"output.directory={elsewhere}/out", cwd=folder, user=user)
    assert (done.code, done.err) == (0, "")


STREAMS = {
    "a pipe that breaks": '"$@" | head -n 1',
    "closed output": '"$@" >&-',
    "all closed": '"$@" <&- >&- 2>&-',
    "a full disk": '"$@" >/dev/full 2>/dev/full',
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_run_goes_on(tmp_path, name):
    if "full" in name and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    write_deck(tmp_path, DECK)
    line = command("run", "deck.yaml", "output.directory=out", "output.every_steps=2")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", STREAMS[name], "bash", *line], cwd=tmp_path, timeout=HANGS,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    assert record(out)["exit_code"] == 0 and len(snapshots(out)) == 21
    assert "RESULT: DONE" in (out / "run.log").read_text()
    assert isotherm("info", out / snapshots(out)[-1]).returncode == 0


PRINTED = [["list"], ["list", "--json"], ["init"], ["init", "--minimal"], ["schema"], ["check", "deck.yaml"],
           ["check", "study.yaml"], ["info", "out/deck_00000040.hdf"], ["info", "--deck", "out/deck_00000040.hdf"]]


@pytest.mark.parametrize("words", PRINTED, ids=" ".join)
def test_what_is_only_printed_fails_with_its_stream(tmp_path, words):
    deck = write_deck(tmp_path, DECK).read_text()
    write_deck(tmp_path, deck + "study: {matrix: {precision: [fp32, fp64]}}\n", "study.yaml")
    if "info" in words:
        assert isotherm("run", "deck.yaml", "output.directory=out", cwd=tmp_path).returncode == 0
    done = subprocess.run(["bash", "-c", '"$@" >/dev/full', "bash", *command(*words)], cwd=tmp_path, timeout=HANGS,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (74, "standard output cannot be written; check where it goes\n")
