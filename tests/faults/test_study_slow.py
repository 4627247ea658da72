"""As many cases as a sweep of parameters has: 500 of 16^3 (ISOTHERM_STUDY_CASES changes it), within minutes.

A case is a process that starts MPI, measures its roof and leaves a whole run: a sixth of a second of a core. Its policy is named, as
trials of others would take a fifth more."""

import os

from program import HANGS, isotherm
from studies import rows, write_study

CASES = int(os.environ.get("ISOTHERM_STUDY_CASES", "500"))
BASE = """\
grid: {cells: 16, lengths: 1}
material: {diffusivity: 1}
boundaries: {x_min: {kind: temperature, value: 400}}
initial: [{shape: constant, value: 300}]
problem: {steps: 100}
parallel: {device: cpu}
solver: {kernel: openmp, tile: 3planes, reduction: openmp}
output: {directory: out, snapshots: false, diagnostics: 100}
"""


def test_many_cases(tmp_path):
    values = ", ".join(str(300 + n) for n in range(CASES))
    write_study(tmp_path, f"  matrix: {{initial.0.value: [{values}]}}\n  limit: {CASES}\n  sort: max_K\n", BASE)
    done = isotherm("study", "deck.yaml", "--jobs", "2", cwd=tmp_path, timeout=4 * HANGS)
    assert done.returncode == 0, done.stderr
    table = rows(tmp_path / "out")
    assert len(table) == CASES and {row["state"] for row in table.values()} == {"done"}
    # Each has the answer of its own value, not of a neighbour's: the mean lies between it and the wall's.
    for n, row in enumerate(table.values()):
        assert min(300 + n, 400) <= float(row["mean_K"]) <= max(300 + n, 400)
    assert len({row["fingerprint"] for row in table.values()}) == CASES
    again = isotherm("study", "deck.yaml", cwd=tmp_path)
    assert again.returncode == 0 and f"{CASES} finished before, 0 to run" in again.stdout
