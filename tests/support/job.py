"""A run in the background that ends only on request."""

import os
import subprocess
import time

from program import command, HANGS, is_running, kill_all, ran, SMALL_BLOCK, write_deck
from runs import expect_same_answer, record, sweep_of

ENDLESS = SMALL_BLOCK + """\
problem: {kind: transient, steps: 1000000000000, check_interval: 1000}
solver: {reduction: reproducible}
parallel: {device: cpu}
output: {snapshots: false}
"""


def wait_until(done, what, pause=0.02):
    deadline = time.monotonic() + HANGS
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(pause)


def wait_until_gone(*pids):
    """Processes must end by themselves after they lose their launcher, a neighbour or their study."""
    wait_until(lambda: not any(map(is_running, pids)), "a process outlives its job")


class Background:
    """A call of the program in a session of its own. `out`: the directory that it writes to."""

    def __init__(self, folder, *words, ranks=0, **environment):
        self.out = folder / "out"
        self.process = subprocess.Popen(
            command(*words, ranks=ranks), cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, env={**os.environ, **environment})

    def wait_until(self, done, what):
        wait_until(lambda: done() or self.process.poll() is not None, what, 0.01)
        if not done():
            raise AssertionError(f"{what}: it has ended with {self.process.returncode}: {self.process.communicate()}")

    def wait_for(self, name):
        """Waits until a file exists; a run writes history.csv just before its first sweep."""
        self.wait_until(lambda: list(self.out.glob(name)), f"no {name}")

    def send(self, number, to=None):
        os.kill(to or self.process.pid, number)

    def end(self):
        try:
            out, err = self.process.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            kill_all(self.process.pid)
            raise
        return self.process.returncode, out, err

    def stopped(self, number=None):
        """Its output, once it has ended with 75, after this signal if one is given."""
        if number:
            self.send(number)
        code, out, err = self.end()
        assert code == 75, out + err
        return out, err


class Job(Background):
    """A run that ends only on request."""

    def __init__(self, folder, *words, ranks=0, **environment):
        write_deck(folder, ENDLESS)
        super().__init__(folder, "run", "deck.yaml", "output.directory=out", *words, ranks=ranks, **environment)

    def wait_for_sweeps(self):
        """Waits until one more residual is written, so that sweeps are running."""
        self.wait_for("history.csv")
        size = (self.out / "history.csv").stat().st_size
        self.wait_until(lambda: (self.out / "history.csv").stat().st_size > size, "no sweeps")


def expect_to_resume(folder, words=(), ranks=0):
    """Resumes from the newest checkpoint of the job in `folder`, to the same end as without a stop."""
    before = record(folder / "out")
    last = before["continuation"]["newest_checkpoint"]
    end = [f"problem.steps={sweep_of(last) + 7}", *words]
    ran("run", "deck.yaml", "output.directory=out", *end, "--restart", "latest", ranks=ranks, cwd=folder)
    assert record(folder / "out")["continuation"]["restarted_from"] == {
        "file": f"out/{last}", "sweep": sweep_of(last), "earlier_wall_s": before["phases_s"]["total"]["max"],
        "earlier_sweeps": before["performance"]["sweeps"]}
    ran("run", "deck.yaml", "output.directory=whole", *end, cwd=folder)
    expect_same_answer(folder / "whole", folder / "out")
