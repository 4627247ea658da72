"""The process grids that the scaling model predicts with are those that the program takes."""

import json
import re

import pytest

from isotherm_tools.process_grids import CUBE, Weights, process_grid, sweep_cost
from isotherm_tools.run_record import RunRecord
from program import isotherm, write_deck

# What tests/unit/test_process_grid.cpp expects of GPUs.
GPU = Weights(8, 4.2e12, 32, 4, 450e9, 32, 5e-6, 64, 16, 3e-6)


@pytest.mark.parametrize(
    "ranks, cells, parts",
    [
        (1, CUBE, (1, 1, 1)), (2, CUBE, (1, 1, 2)), (4, CUBE, (1, 2, 2)), (8, CUBE, (2, 2, 2)), (16, CUBE, (2, 2, 4)),
        (12, CUBE, (2, 2, 3)), (7, CUBE, (1, 1, 7)), (4096, CUBE, (16, 16, 16)), (8, (512, 64, 64), (8, 1, 1)),
        (8, (64, 64, 4), (2, 4, 1)),
    ],
)
def test_of_least_surface_it_is_compact_and_cuts_z_first(ranks, cells, parts):
    assert process_grid(ranks, cells) == parts


@pytest.mark.parametrize(
    "ranks, cells, parts, periodic, depth",
    [
        (4, (1024, 1024, 1024), (1, 2, 2), "", 1), (8, (1024, 1024, 1024), (1, 4, 2), "", 1),
        (8, (512, 512, 64), (1, 8, 1), "", 1), (8, (512, 64, 512), (1, 1, 8), "", 1),
        (8, (16384, 16, 16), (8, 1, 1), "", 1), (2, (1024, 1024, 1024), (1, 1, 2), "y", 1),
        (2, (1024, 1024, 1024), (1, 2, 1), "xyz", 1), (8, (1024, 1024, 1024), (1, 2, 4), "", 4),
    ],
)
def test_on_gpus_x_is_cut_where_nothing_else_is_left(ranks, cells, parts, periodic, depth):
    assert process_grid(ranks, cells, depth, tuple(axis in periodic for axis in "xyz"), GPU) == parts


def test_blocks_are_no_thinner_than_the_halo():
    assert process_grid(4, (8, 8, 8), 4) == (1, 2, 2)
    assert process_grid(8, (8, 8, 4), 4) is None
    assert process_grid(16, (2, 2, 2)) is None
    assert process_grid(1, (8, 8, 2), 4) == (1, 1, 1)
    assert process_grid(1, (8, 8, 2), 4, (False, False, True)) is None


DECK = """\
grid: {cells: [12, 16, 20], lengths: 1}
material: {diffusivity: 1}
initial: [{shape: constant, value: 300}]
problem: {steps: 2}
output: {snapshots: false}
"""
AROUND = "boundaries={x_min: {kind: periodic}, x_max: {kind: periodic}, z_min: {kind: periodic}, z_max: {kind: periodic}}"
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@pytest.fixture(scope="module", params=["fp64", "fp32"])
def program(request, tmp_path_factory):
    """A folder with a deck, its precision, and the weights that a run of it has written."""
    folder = tmp_path_factory.mktemp("grids")
    write_deck(folder, DECK)
    done = isotherm("run", "deck.yaml", "parallel.device=cpu", f"precision={request.param}", cwd=folder)
    assert done.returncode == 0, done.stderr
    record = RunRecord(folder / "runs/deck")
    assert record.weights.cell_bytes == {"fp64": 8, "fp32": 4}[request.param]
    return folder, request.param, record.weights


@pytest.mark.parametrize("cells", [(256, 256, 256), (1000, 10, 10), (64, 300, 40), (33, 35, 700)])
@pytest.mark.parametrize("ranks", [2, 6, 64, 512])
@pytest.mark.parametrize("depth, around", [(1, False), (1, True), (4, False), (3, True)])
def test_it_is_the_programs_own(program, cells, ranks, depth, around):
    folder, precision, weights = program
    done = isotherm("check", "deck.yaml", "parallel.device=cpu", f"precision={precision}", "--ranks", ranks,
                    f"grid.cells={json.dumps(cells)}", f"solver.halo_width={depth}", *[AROUND] * around, cwd=folder)
    periodic = (around, False, around)
    parts = process_grid(ranks, cells, depth, periodic, weights)
    if parts is None:
        assert done.returncode == 65 and "no process grid of" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    found = re.search(r"^process grid +(\d+) x (\d+) x (\d+) \(", done.stdout, re.MULTILINE)
    assert tuple(map(int, found.groups())) == parts
    number, unit = re.search(r"^  by estimate +(\S+) (\S+) a sweep of", done.stdout, re.MULTILINE).groups()
    assert sweep_cost(cells, parts, depth, periodic, weights) == pytest.approx(float(number) * SECONDS[unit], rel=0.006)
