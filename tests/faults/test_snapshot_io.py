"""A disk that fails or stalls under a snapshot: code 74, at the latest by the watchdog, and no half file gets its name.

The failures are made by a preloaded library (io_shim.c); kills by hand."""

import errno
import itertools
import os
import random
import subprocess
import time

import pytest

from program import command, HANGS, isotherm, kill_all, ran, write_deck

WATCHDOG = 5  # s


def run_with(io_shim, folder, fault, ranks, watchdog=WATCHDOG):
    return isotherm(
        "run", write_deck(folder), "output.directory=out", ranks=ranks, cwd=folder, LD_PRELOAD=str(io_shim), ISOTHERM_SHIM=fault,
        ISOTHERM_IO_TIMEOUT=str(watchdog),
    )


def stall(clock, io_shim, folder, fault, ranks, *words, **environment):
    """A run whose watchdog has an hour, which passes once a call does not return; exit code and stderr."""
    stalled = folder / "stalled"
    process = subprocess.Popen(
        command("run", "deck.yaml", "output.directory=out", *words, ranks=ranks), cwd=folder, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, **clock.environment(io_shim), "ISOTHERM_SHIM": f"{fault}:stall", "ISOTHERM_SHIM_STALLED": str(stalled),
             "ISOTHERM_IO_TIMEOUT": "3600", **environment})
    deadline = time.monotonic() + HANGS
    while not stalled.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, "it has ended before it was given up"
    clock.move(3600)
    try:
        return process.communicate(timeout=HANGS)[1], process.returncode
    finally:
        kill_all(process.pid)


def expect_whole_files(folder):
    for path in folder.glob("*.hdf"):
        ran("info", path)


@pytest.mark.parametrize("fault, ranks", [
    *itertools.product(["write:1", "write:2", "write:4", "write:9", "fsync:1", "rename:1", "close:1"], [1, 2]),
    ("write:1", 4), ("fsync:1", 4)])
def test_an_io_error_is_74(io_shim, tmp_path, fault, ranks):
    done = run_with(io_shim, tmp_path, f"{fault}:{errno.EIO}", ranks)
    assert done.returncode == 74, done.stdout + done.stderr
    assert ".hdf" in done.stderr
    expect_whole_files(tmp_path / "out")


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("fault", ["write:1", "fsync:1", "rename:1"])
def test_a_stall_is_told_by_phase_and_seconds(clock, io_shim, tmp_path, fault, ranks):
    write_deck(tmp_path)
    err, code = stall(clock, io_shim, tmp_path, fault, ranks)
    assert code == 74, err
    assert " did not finish within 3600 s (the file system stalls" in err
    assert not list((tmp_path / "out").glob("*.hdf"))


# The header, and the cells of what it describes.
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("first, what", [(1, ".checkpoint.hdf: reading the header"),
                                         (24, ".checkpoint.hdf:/temperature: ")])
def test_a_restart_from_a_disk_that_stalls_is_74(clock, io_shim, tmp_path, first, what, ranks):
    deck = write_deck(tmp_path)
    ran("run", deck, "output.directory=out", "output.checkpoint.every_steps=50", cwd=tmp_path)
    err, code = stall(clock, io_shim, tmp_path, f"read:{first}", ranks, "--restart", "latest", ISOTHERM_SHIM_PATH=".hdf")
    assert code == 74 and what in err, err
    assert " did not finish within 3600 s (the file system stalls" in err


def test_without_a_fault_the_shim_changes_nothing(io_shim, tmp_path):
    done = run_with(io_shim, tmp_path, "none:1:5", 2, watchdog=0)
    assert done.returncode == 0, done.stderr


def test_a_kill_at_any_moment_leaves_whole_files(tmp_path):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    found = 0
    for i in range(5):
        folder = tmp_path / str(i)
        folder.mkdir()
        arguments = ["run", write_deck(folder), "problem.steps=4000", "output.every_steps=1", "output.directory=out"]
        process = subprocess.Popen(
            command(*arguments, ranks=2), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + HANGS
        while not list(folder.glob("out/*.hdf")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(draw.uniform(0, 0.3))
        assert process.poll() is None
        kill_all(process.pid)
        process.wait(timeout=HANGS)
        expect_whole_files(folder / "out")
        found += len(list(folder.glob("out/*.hdf")))
    assert found > 0
