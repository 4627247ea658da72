"""Clocks that jump, and machines that are up for very long: durations come from the monotonic clock, in 64 bits. The tests
move the clocks of the program (support/clock.py)."""

import time

from clock import clock, clock_library  # noqa: F401  (fixtures)
from job import Job
from program import isotherm
from runs import checkpoints, record

DAYS_49 = 2**32 / 1000  # s: the milliseconds of an uptime no longer fit 32 bits


class TimedJob(Job):
    """That notes what its own clock has been moved by, and how long it was there."""

    def __init__(self, folder, clock, *words, uptime=-1, **environment):
        self.clock, self.moved, self.begun = clock, 0, time.monotonic()
        super().__init__(folder, "output.checkpoint.every_wall=600", *words, **clock.environment(uptime=uptime), **environment)

    def move(self, seconds):
        """While it sweeps, so that no file seems to take that time."""
        self.wait_for_sweeps()
        self.clock.move(seconds)
        self.moved += seconds

    def expect_to_be_stopped(self):
        """By its wall time, with checkpoints by the clock before; it has taken the time that it took."""
        code, _, err = self.end()
        assert code == 75 and "stopped by the wall time" in err, err
        took = time.monotonic() - self.begun
        written = record(self.out)
        assert self.moved <= written["phases_s"]["total"]["max"] <= self.moved + took
        assert written["continuation"]["checkpoints"] >= 2
        for name in checkpoints(self.out):
            assert isotherm("info", self.out / name).returncode == 0
        walls = [float(line.split(",")[-1]) for line in (self.out / "history.csv").read_text().splitlines()[1:]]
        assert walls == sorted(walls) and 0 <= walls[0] and walls[-1] <= self.moved + took


def test_a_wall_clock_that_jumps_back_moves_nothing(clock, tmp_path):
    """In the middle of a Slurm job, whose end is read once."""
    job = TimedJob(tmp_path, clock, ranks=2, SLURM_JOB_END_TIME=str(int(time.time()) + 7200))
    job.move(1000)
    job.wait_for("*.checkpoint.hdf")
    clock.move_wall(-3600)
    newest = checkpoints(job.out)[-1]
    job.move(1000)
    job.wait_until(lambda: checkpoints(job.out)[-1] > newest, "no checkpoint more")
    job.move(5200)
    job.expect_to_be_stopped()


def test_an_uptime_that_passes_32_bits_of_milliseconds(clock, tmp_path):
    job = TimedJob(tmp_path, clock, "solver.walltime=7200", uptime=DAYS_49 - 500)
    job.move(1000)
    job.wait_for("*.checkpoint.hdf")
    job.move(6200)
    job.expect_to_be_stopped()
