"""Bits that flip in the memory of a run: a value that no heat problem has is found when the residual is next checked, and
no checkpoint holds it: one that is hit while it is written is found when it is read back. (A flip that leaves a temperature
of the right size is no fault that a solver could see.)"""

import re
import struct
import time

import numpy as np
import pytest

from job import Job
from program import HANGS, isotherm, kill_all, ranks_of
from runs import cells, checkpoints

KELVIN = 300.0


def flipped(value, bit):
    return struct.unpack("d", struct.pack("Q", struct.unpack("Q", struct.pack("d", value))[0] ^ (1 << bit)))[0]


VALUES = {"NaN": float("nan"), "1e308": 1e308, "a bit of the exponent": flipped(KELVIN, 61)}


def fields_in(memory, maps):
    """Addresses of a cell in the middle of each array of many temperatures."""
    found = []
    for line in maps.splitlines():
        area, rights, *_, name = (line + " -").split(maxsplit=5)
        low, high = (int(text, 16) for text in area.split("-"))
        if rights[:2] != "rw" or high - low > 1 << 28 or name.strip() not in ("-", "[heap] -"):
            continue
        memory.seek(low)
        try:
            values = np.frombuffer(memory.read((high - low) // 8 * 8), dtype=np.float64)
        except OSError:
            continue
        with np.errstate(invalid="ignore"):
            (at,) = np.nonzero(np.abs(values - KELVIN) < 1)
        if at.size > 20000:
            found += [low + 8 * int(at[at.size * part // 8]) for part in range(1, 8)]
    return found


def expect_place(err):
    said = re.search(r"diverged: cell \((\d+), (\d+), (\d+)\) (is not finite|has reached \S+ K) after sweep (\d+) "
                     r"\(residuals are checked every 50 sweeps\)", err)
    assert said and all(int(i) < 32 for i in said.groups()[:3]), err


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_no_body_has(tmp_path, name):
    job = Job(tmp_path, "grid.cells=32", "boundaries={}", f"initial=[{{shape: constant, value: {KELVIN}}}]",
              "problem.check_interval=50", "output.checkpoint={every_steps: 10000, keep: 2}")
    job.wait_for("*.checkpoint.hdf")
    (rank,) = ranks_of(job.process.pid)
    try:
        with open(f"/proc/{rank}/mem", "r+b", buffering=0) as memory:
            places = fields_in(memory, open(f"/proc/{rank}/maps", encoding="utf-8").read())
            assert places, "the fields were not found"
            deadline = time.monotonic() + HANGS
            while job.process.poll() is None and time.monotonic() < deadline:  # what is overwritten just then is no fault
                for place in places:
                    try:
                        memory.seek(place)
                        memory.write(struct.pack("d", VALUES[name]))
                    except OSError:
                        break  # it has ended
                time.sleep(0.01)
    except PermissionError:
        kill_all(job.process.pid)
        pytest.skip("no right to write into the memory of a process")
    code, _, err = job.end()
    if code == 74:  # while a checkpoint was written, which is read back
        assert ".checkpoint.hdf.part: the file does not hold what was written" in err, err
    else:
        assert code == 76, err
        expect_place(err)
    assert checkpoints(job.out)
    for file in checkpoints(job.out):
        assert isotherm("info", job.out / file).returncode == 0
        assert np.abs(cells(job.out / file) - KELVIN).max() < 1, "a checkpoint holds the fault"
