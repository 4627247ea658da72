"""Clocks that jump, and machines that are up for very long: durations come from the monotonic clock, in 64 bits. The clocks
are bent by a preloaded library (clock_shim.c)."""

import time
from pathlib import Path

import pytest

from job import Job, end_by_the_clock
from program import isotherm
from runs import checkpoints, record
from shim import build_shim

DAYS_49 = 2**32 / 1000  # s: the milliseconds of an uptime no longer fit 32 bits


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return build_shim(Path(__file__).with_name("clock_shim.c"), tmp_path_factory.mktemp("shim"))


def expect_a_run_of(seconds, out):
    """That was ended by its wall time, wrote checkpoints by the clock before, and took the time that it took."""
    written = record(out)
    assert seconds / 2 < written["phases_s"]["total"]["max"] < seconds + 20
    assert written["continuation"]["checkpoints"] >= 1
    for name in checkpoints(out):
        assert isotherm("info", out / name).returncode == 0
    walls = [float(line.split(",")[-1]) for line in (out / "history.csv").read_text().splitlines()[1:]]
    assert walls == sorted(walls) and 0 <= walls[0] and walls[-1] < seconds + 20


def test_a_wall_clock_that_jumps_back_moves_nothing(shim, tmp_path):
    """In the middle of a Slurm job, whose end is read once."""
    job = Job(tmp_path, "output.checkpoint.every_wall=0.3", ranks=2, LD_PRELOAD=str(shim),
              ISOTHERM_CLOCK=f"1000:-3600:{tmp_path / 'now'}", SLURM_JOB_END_TIME=str(int(time.time()) + 16))
    job.wait_for("*.checkpoint.hdf")
    (tmp_path / "now").touch()
    code, _, err = job.end()
    assert code == 75 and "stopped by the wall time" in err, err
    expect_a_run_of(15, job.out)


def test_an_uptime_that_passes_32_bits_of_milliseconds(shim, tmp_path):
    job, seconds, _, err = end_by_the_clock(
        tmp_path, lambda folder, seconds: Job(folder, "output.checkpoint.every_wall=0.3", f"solver.walltime={seconds}",
                                              LD_PRELOAD=str(shim), ISOTHERM_CLOCK=f"{DAYS_49 - 2}:0:-"))
    assert "stopped by the wall time" in err, err
    expect_a_run_of(seconds, job.out)
