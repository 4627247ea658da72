"""Limits of a process and a folder that cannot be written to: it works, or one line says why; no rank waits for another."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from cli import BASE_DECK, NOBODY
from cli import isotherm as isotherm_as

from program import HANGS, command, isotherm, write_deck
from runs import snapshots

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


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, BASE_DECK)
    return tmp_path


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
