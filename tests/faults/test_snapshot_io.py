"""A disk that fails or stalls under a snapshot: code 74 within the watchdog's time, and no half file gets its name.

The failures are made by a preloaded library (io_shim.c); kills by hand."""

import errno
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from program import command, isotherm, kill_all, write_deck
from shim import build_shim

WATCHDOG = 5  # s, no less than a sound disk may take
SHORT_WATCHDOG = 2  # for one that will not answer


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return build_shim(Path(__file__).with_name("io_shim.c"), tmp_path_factory.mktemp("shim"))


def run_with(shim, folder, fault, ranks, watchdog=WATCHDOG):
    return isotherm(
        "run", write_deck(folder), "output.directory=out", ranks=ranks, cwd=folder, timeout=60,
        LD_PRELOAD=str(shim), ISOTHERM_SHIM=fault, ISOTHERM_IO_TIMEOUT=str(watchdog),
    )


def expect_whole_files(folder):
    for path in folder.glob("*.hdf"):
        done = isotherm("info", path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("fault", ["write:1", "write:2", "write:4", "write:9", "fsync:1", "rename:1", "close:1"])
def test_an_io_error_is_74(shim, tmp_path, fault, ranks):
    start = time.monotonic()
    done = run_with(shim, tmp_path, f"{fault}:{errno.EIO}", ranks)
    assert done.returncode == 74, done.stdout + done.stderr
    assert time.monotonic() - start < WATCHDOG + 25
    assert ".hdf" in done.stderr
    expect_whole_files(tmp_path / "out")


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("fault", ["write:1", "fsync:1", "rename:1"])
def test_a_stall_is_told_by_phase_and_seconds(shim, tmp_path, fault, ranks):
    start = time.monotonic()
    done = run_with(shim, tmp_path, f"{fault}:stall", ranks, SHORT_WATCHDOG)
    assert done.returncode == 74, done.stdout + done.stderr
    assert SHORT_WATCHDOG < time.monotonic() - start < SHORT_WATCHDOG + 25
    assert f" did not finish within {SHORT_WATCHDOG} s (the file system stalls" in done.stderr
    assert not list((tmp_path / "out").glob("*.hdf"))


# The header, and the cells of what it describes.
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("first, what", [(1, ".checkpoint.hdf: reading the header"),
                                         (24, ".checkpoint.hdf:/temperature: ")])
def test_a_restart_from_a_disk_that_stalls_is_74(shim, tmp_path, first, what, ranks):
    deck = write_deck(tmp_path)
    done = isotherm("run", deck, "output.directory=out", "output.checkpoint.every_steps=50", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = isotherm("run", deck, "output.directory=out", "--restart", "latest", ranks=ranks, cwd=tmp_path, timeout=60,
                    LD_PRELOAD=str(shim), ISOTHERM_SHIM=f"read:{first}:stall", ISOTHERM_SHIM_PATH=".hdf",
                    ISOTHERM_IO_TIMEOUT=str(SHORT_WATCHDOG))
    assert done.returncode == 74, done.stdout + done.stderr
    assert what in done.stderr
    assert f" did not finish within {SHORT_WATCHDOG} s (the file system stalls" in done.stderr


def test_without_a_fault_the_shim_changes_nothing(shim, tmp_path):
    done = run_with(shim, tmp_path, "none:1:5", 2)
    assert done.returncode == 0, done.stderr


def test_a_kill_at_any_moment_leaves_whole_files(tmp_path):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    found = 0
    for i in range(8):
        folder = tmp_path / str(i)
        folder.mkdir()
        arguments = ["run", write_deck(folder), "problem.steps=4000", "output.every_steps=1", "output.directory=out"]
        process = subprocess.Popen(
            command(*arguments, ranks=2), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 30
        while not list(folder.glob("out/*.hdf")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(draw.uniform(0, 0.3))
        assert process.poll() is None
        kill_all(process.pid)
        process.wait(timeout=30)
        expect_whole_files(folder / "out")
        found += len(list(folder.glob("out/*.hdf")))
    assert found > 0
