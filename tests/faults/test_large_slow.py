"""Tests that need a large machine or much time: 64 ranks, blocks beyond an earlier limit of MPI-IO calls, and
a study of 100 cases (ISOTHERM_STUDY_CASES changes the number). A case starts MPI, measures the copy bandwidth
and writes a whole run: a sixth of a core-second."""

import os
import shutil

import pytest

from program import HANGS, ran
from runs import record
from studies import rows, write_study
import test_ranks

GIB = 1 << 30


def test_64_ranks_on_any_number_of_cores(folder):
    test_ranks.test_odd_numbers_of_ranks(folder, "[4, 4, 4]", 64)


def test_a_block_of_more_than_2_gib(folder):
    """In a file of one rank, read back and verified: a checkpoint, which is written like a snapshot."""
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if memory < 6 * GIB or shutil.disk_usage(folder).free < 6 * GIB:
        pytest.skip("needs 6 GiB of memory and of disk")
    words = ["grid.cells=[850, 830, 820]", "precision=fp32", "problem.steps=1", "output.directory=out",
             'initial=[{shape: formula, formula: "300 + 50*x + 7*y"}]', "output.snapshots=false",
             "output.checkpoint={every_steps: 1}", "solver.kernel=openmp"]
    ran("run", "deck.yaml", *words, ranks=1, cwd=folder, timeout=2 * HANGS)
    out = folder / "out"
    checkpoint = out / "deck_00000001.checkpoint.hdf"
    assert checkpoint.stat().st_size > 2 * GIB
    assert record(out)["fingerprint"] in ran("info", checkpoint).stdout


CASES = int(os.environ.get("ISOTHERM_STUDY_CASES", "100"))


def test_many_cases(tmp_path):
    values = ", ".join(str(300 + n) for n in range(CASES))
    write_study(tmp_path, f"  matrix: {{boundaries.x_min.value: [{values}]}}\n  limit: {CASES}\n  sort: max_K\n")
    ran("study", "deck.yaml", "--jobs", "2", cwd=tmp_path, timeout=4 * HANGS)
    table = rows(tmp_path / "out")
    assert {row["state"] for row in table.values()} == {"done"}
    means = [float(row["mean_K"]) for row in table.values()]
    assert len(means) == CASES and means == sorted(set(means)), "each has the answer of its own boundary"
    assert f"{CASES} finished before, 0 to run" in ran("study", "deck.yaml", cwd=tmp_path).stdout
