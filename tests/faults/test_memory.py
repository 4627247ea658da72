"""Memory: what check says is what a run takes, and what does not fit is refused before anything is made."""

import json
import os

import pytest
from cli import BASE_DECK, isotherm


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deck.yaml").write_text(BASE_DECK)
    return tmp_path


def mebibytes(line, words):
    value, unit = line[words:].split()[:2]
    return float(value) * {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}[unit]


@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_grid_that_does_not_fit(folder, verb):
    """8000^3 cells: more than 2^31, and 11.2 TiB in two fields, norms and what is written beside the sweeps."""
    result = isotherm(verb, "deck.yaml", "grid.cells=8000", cwd=folder)
    assert result.code == 71, "this machine has 8 TiB?" + result.err
    first, *table = result.err.splitlines()
    assert first.startswith("the ranks of host ")
    assert first.endswith(" are free; use a smaller grid, fp32 or more hosts. Rank 0 needs:")
    assert " need 11.20 TiB of memory and " in first
    assert [line[:28].rstrip() for line in table if line] == [
        "  fields, ghosts, sources", "  packed halos", "  partial results of norms", "  a file being written",
        "  copies (asynchronous)", "  program and libraries"]
    assert " TiB  host" in table[0]
    assert os.listdir(folder) == ["deck.yaml"]
    assert result.megabytes < 100


@pytest.mark.parametrize("verb", ["check", "run"])
@pytest.mark.parametrize("cells, line", [
    ("1048576", "a block of 1048576 x 1048576 x 1048576 cells has more bytes than 64 bits can count; use a smaller "
                "grid or more ranks"),
    ("2000000", "grid of 2000000x2000000x2000000 cells is too large (their number passes 2^61); use fewer cells"),
    ("1e7", "argument 3: grid.cells: 10000000 x 10000000 x 10000000 cells are too many to count (more than 2^63 - 1); "
            "use fewer"),
    ("[1e12, 1e12, 1]", "argument 3: grid.cells: 1000000000000 x 1000000000000 x 1 cells are too many to count (more "
                        "than 2^63 - 1); use fewer"),
])
def test_a_grid_that_cannot_be_counted(folder, verb, cells, line):
    result = isotherm(verb, "deck.yaml", f"grid.cells={cells}", cwd=folder)
    assert (result.code, result.err) == (65, line + "\n")
    assert os.listdir(folder) == ["deck.yaml"]


@pytest.mark.parametrize("kernel", ["auto", "temporal_openmp"])
@pytest.mark.parametrize("precision, bytes_a_cell", [("fp64", 8), ("fp32", 4)])
def test_a_run_takes_what_check_said(folder, precision, bytes_a_cell, kernel):
    """The queues of a row that fuses sweeps among it: a tenth of the fields on two threads, on many as much as they are."""
    overrides = ["grid.cells=192", f"precision={precision}", "problem.steps=2", f"solver.kernel={kernel}", "output.directory=out"]
    said = isotherm("check", "deck.yaml", *overrides, cwd=folder)
    assert said.code == 0, said.err
    total = mebibytes(next(line for line in said.out.splitlines() if line.startswith("memory")), 6)
    table = {line[2:28].strip(): mebibytes(line, 28) for line in said.out.splitlines()
             if line.endswith("  host") and " B  " not in line}
    fields = table["fields, ghosts, sources"]
    two = 2 * 192**3 * bytes_a_cell / 2**20
    assert two < fields < 1.25 * two
    queues = table.get("queues of fused sweeps", 0)
    assert (queues > 0.5) == (kernel == "temporal_openmp")
    held = fields + table["partial results of norms"] + queues + table["a file being written"] + table["copies (asynchronous)"]
    largest = max(held, table.get("bandwidth, before fields", 0))
    assert total == pytest.approx(largest + table["program and libraries"], abs=0.05)

    done = isotherm("run", "deck.yaml", *overrides, cwd=folder)
    assert done.code == 0, done.err
    memory = json.loads((folder / "out" / "run.json").read_text())["memory"]
    peak = memory["host_peak_bytes"] / 2**20
    assert peak == pytest.approx(memory["estimate_bytes"] / 2**20, rel=0.1)
    assert peak == pytest.approx(total, rel=0.1)
    assert done.megabytes == pytest.approx(peak, rel=0.02)
