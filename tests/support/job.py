"""A run in the background that ends only when it is told to."""

import os
import subprocess
import time

from program import command, kill_all, write_deck
from small_block import SMALL_BLOCK

ENDLESS = SMALL_BLOCK + """\
problem: {kind: transient, steps: 1000000000000, check_interval: 1000}
solver: {reduction: reproducible}
parallel: {device: cpu}
output: {snapshots: false}
"""


class Job:
    """A run in the background, in a session of its own."""

    def __init__(self, folder, *words, ranks=0, **environment):
        write_deck(folder, ENDLESS)
        self.out = folder / "out"
        self.process = subprocess.Popen(
            command("run", "deck.yaml", "output.directory=out", *words, ranks=ranks), cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env={**os.environ, **environment})

    def wait_for(self, name):
        """Until a file is there: history.csv, that of a run that is about to sweep."""
        deadline = time.monotonic() + 60
        while not list(self.out.glob(name)):
            assert time.monotonic() < deadline and self.process.poll() is None, f"no {name}"
            time.sleep(0.01)

    def send(self, number, to=None):
        os.kill(to or self.process.pid, number)

    def end(self):
        try:
            out, err = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            kill_all(self.process.pid)
            raise
        return self.process.returncode, out, err


def end_by_the_clock(folder, start, in_time=lambda err: "at sweep 0 " not in err):
    """Ends `start(folder, seconds)`, a job with so much time; with more, where that was over before the run had got so far: a
    machine that others use may take long to start ranks. Each ends as a stopped run does, soon after its time."""
    for seconds in (4, 12, 36):
        place = folder / str(seconds)
        place.mkdir()
        begun = time.monotonic()
        job = start(place, seconds)
        code, out, err = job.end()
        assert code == 75, err
        assert time.monotonic() - begun < seconds + 17
        if in_time(err):
            break
    return job, seconds, out, err
