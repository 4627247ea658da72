"""Grids with cells of several sizes: exact if the field is linear in each zone, second order otherwise, the same bits on every kernel and
rank count, and those of uniform grids if all zones are equal."""

import h5py
import numpy as np
import pytest

from bodies import (BOARD, CORE_AND_BOARD, HEAT_TRANSFER, PROBLEMS, RESISTANCE, TO_ROUNDING, UNIFORM, expect_one_answer,
                    expect_the_same_bits_after_a_restart, field, run, sizes, slab)
from isotherm_tools.run import Run
from program import isotherm, ran
import runs

ZONES = [[4, 0.5e-3], [3, 2e-3], [6, 0.25e-3]]  # 2 mm, 6 mm, 1.5 mm; core, board, core


@pytest.mark.parametrize("problem", TO_ROUNDING.values(), ids=TO_ROUNDING)
@pytest.mark.parametrize("zones", [UNIFORM, ZONES], ids=["uniform", "zones"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_layered_slab_is_exact(tmp_path, axis, zones, problem):
    """The layers, two contacts, and the air are in series. A probe at a contact reads the layer below it."""
    deck, board, h = slab(axis, problem, zones), BOARD["conductivity"][axis], sizes(zones)
    ends = np.cumsum([0, *(count * size for count, size in zones)])
    probed = [0, *(end + away for end in ends[1:3] for away in (-1e-4, 0, 1e-4, 1.5e-3)), ends[3] - 1e-4, ends[3]]
    deck["output"]["probes"] = {"points": [[at if each == axis else 2.9e-3 for each in range(3)] for at in probed]}
    record = run(tmp_path, deck)
    counts = [count for count, _ in zones]
    of_cell = h / np.repeat([7, board, 7], counts)  # m^2 K/W
    before = np.cumsum(of_cell) - of_cell / 2 + RESISTANCE * np.repeat([0, 1, 2], counts)
    whole = sum(of_cell) + 2 * RESISTANCE + 1 / HEAT_TRANSFER
    exact = 400 - 100 * before / whole
    found = np.moveaxis(field(tmp_path / "out"), 2 - axis, 0)
    assert np.abs(found - exact[:, None, None]).max() <= 1e-11 * 100
    faces, area = record["end_state"]["heat"]["faces_W"], (3e-3 if zones is UNIFORM else 5e-3)**2
    assert faces["xyz"[axis] + "_min"] == pytest.approx(100 / whole * area, rel=1e-10)
    assert faces["xyz"[axis] + "_max"] == pytest.approx(-100 / whole * area, rel=1e-10)
    row = runs.history(tmp_path / "out")[-1]
    assert float(row["mean_K"]) == pytest.approx((exact * h).sum() / sum(h), rel=1e-12)
    capacity = np.repeat([1.6e6, 1.5e6, 1.6e6], counts)
    assert float(row["heat_J"]) == pytest.approx((exact * capacity * h).sum() * area, rel=1e-12)
    layer = np.searchsorted(ends[1:], probed)
    before = np.interp(probed, ends, np.cumsum([0, *(np.diff(ends) / [7, board, 7])])) + RESISTANCE * layer
    assert runs.probed(tmp_path / "out")[-1] == pytest.approx(400 - 100 * before / whole, abs=1e-11 * 100)


def body(problem, spacing):
    """With a sphere of another material, all kinds of sources, a patch and a varying boundary."""
    steady = problem.get("kind") == "steady"
    time = "" if steady else " + t"
    return {
        "grid": {"spacing": spacing, "origin": [0.01, 0, -0.02]},
        **CORE_AND_BOARD,
        "regions": [{"shape": "sphere", "material": "board", "centre": [0.05, 0.04, 0.01], "radius": 0.02}],
        "contacts": [{"between": ["core", "board"], "resistance": 1e-3}],
        "boundaries": {"x_min": {"kind": "temperature", "value": "300 + 100*y" + time},
                       "x_max": {"kind": "convection", "ambient": 280, "coefficient": 50},
                       "y_min": "periodic", "y_max": "periodic",
                       "z_max": {"kind": "flux", "value": 1e3, "where": {"from": [0.02, 0.01], "to": [0.05, 0.033]}}},
        "initial": [{"shape": "formula", "formula": "300 + 40*x*y + 20*sin(30*z)"}],
        "sources": [{"shape": "box", "from": [0.03, 0.02, 0], "to": [0.06, 0.05, 0.02], "power": 20},
                    {"shape": "gaussian", "centre": [0.04, 0.04, 0.0], "width": 0.004, "power": 5},
                    {"shape": "sphere", "centre": [0.05, 0.04, 0.01], "radius": 0.012, "power": 7, "mode": "add"}],
        "problem": problem,
        "output": {"snapshots": False, "diagnostics": 20},
    }


GRADED = [[[9, 2e-3], [11, 4e-3], [5, 1e-3]], [[8, 2e-3], [16, 3e-3]], [[6, 1e-3], [10, 3e-3], [7, 1e-3]]]
MOVING = [{"shape": "gaussian", "centre": ["0.03 + 1e-3*t", 0.04, 0.01], "width": 0.01, "power": 5},
          {"shape": "formula", "formula": "1e5*x*(1 + t)", "mode": "add"}]


def moving_body(method):
    deck = body(PROBLEMS[method], GRADED)
    if method in ("euler", "rkl"):
        deck["sources"] += MOVING
    return deck


@pytest.mark.parametrize("method", PROBLEMS)
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_one_answer(tmp_path, precision, method):
    expect_one_answer(tmp_path, {**moving_body(method), "precision": precision})


def test_sources_have_their_power(tmp_path):
    deck = body({"steps": 1}, GRADED)
    found = run(tmp_path, deck)
    assert found["sources"]["power_W"] == pytest.approx(32, rel=1e-4)  # a little of the gaussian is outside
    del deck["sources"][1]  # the other sources are inside
    assert run(tmp_path, deck)["sources"]["power_W"] == pytest.approx(27, rel=1e-12)
    deck["sources"] = MOVING[1:]
    centres, widths = zip(*[(np.cumsum(h) - h / 2, h) for h in map(sizes, GRADED)])
    x = 0.01 + centres[0]
    power = (1e5 * x * widths[0]).sum() * widths[1].sum() * widths[2].sum()
    heat = run(tmp_path, deck)["end_state"]["heat"]
    assert heat["sources_W"] == pytest.approx(power, rel=1e-12)
    deck["sources"] = [{**MOVING[0], "width": 0.002}]
    assert run(tmp_path, deck)["end_state"]["heat"]["sources_W"] == pytest.approx(5, rel=1e-12)
    deck["boundaries"] = {"z_max": {"kind": "flux", "value": 1e3, "where": {"from": [0.02, 0.01], "to": [0.05, 0.033]}}}
    heat = run(tmp_path, deck)["end_state"]["heat"]
    assert heat["faces_W"]["z_max"] == pytest.approx(1e3 * 0.03 * 0.023, rel=1e-10)


def test_a_restart_on_other_ranks_ends_in_the_same_field(tmp_path):
    expect_the_same_bits_after_a_restart(tmp_path, moving_body("euler"), "problem.steps=17")
    zones = f"grid.spacing={[*GRADED[:2], [[6, 1e-3], [10, 3.5e-3], [7, 1e-3]]]}"
    assert "grid.spacing" in isotherm("run", "deck.yaml", "output.directory=out", zones, "--restart", "latest", cwd=tmp_path, code=65).stderr


def test_an_initial_field_is_of_the_same_cells(tmp_path):
    deck = body({"steps": 1}, GRADED)
    deck["output"] = {}
    run(tmp_path, deck, name="before")
    deck["initial"] = [{"shape": "dataset", "file": "before"}]
    run(tmp_path, deck)
    for spacing in ([GRADED[0], [[8, 1e-3], [16, 3e-3]], GRADED[2]], [1e-3] * 3):
        said = run(tmp_path, {**deck, "grid": {"cells": [25, 24, 23], "spacing": spacing}, "boundaries": {}}, code={65})
        assert "its cells have other sizes along" in said


@pytest.mark.parametrize("method", PROBLEMS)
def test_zones_of_one_size_are_a_uniform_grid(tmp_path, method):
    """Numbers of cells may follow from zones."""
    zones = [[[9, 2e-3], [13, 2e-3]], 3e-3, [[5, 2e-3], [1, 2e-3], [8, 2e-3]]]
    equal = run(tmp_path, body(PROBLEMS[method], zones), "grid.cells=[22, 24, null]")
    uniform = run(tmp_path, body(PROBLEMS[method], [2e-3, 3e-3, 2e-3]), "grid.cells=[22, 24, 14]")
    assert equal["fingerprint"] == uniform["fingerprint"]


def test_a_smooth_solution_is_of_second_order(tmp_path):
    """Zones stay in place while cells are halved."""
    zones = [[4, 0.1], [2, 0.15], [3, 0.1]]  # 1 m
    wave = "sin(pi*x)*cos(pi*y)*sin(pi*z)"
    deck = {
        "grid": {"cells": [9, 9, 9], "spacing": [zones, zones, zones]},
        "material": {"conductivity": 2},
        "boundaries": {f"{axis}_{end}": {"kind": "temperature", "value": 300} for axis in "xz" for end in ("min", "max")},
        "sources": [{"shape": "formula", "formula": f"2*3*pi^2*{wave}"}],
        "problem": {"kind": "steady", "method": "multigrid", "tolerance": 1e-11},
        "verify": {"solution": "formula", "formula": f"300 + {wave}", "order": [9, 18, 36], "expected_order": 2,
                   "order_tolerance": 0.15},
        "output": {"snapshots": False},
    }
    record = run(tmp_path, deck, code=(0,))
    assert record["verification"]["order"][-1] == pytest.approx(2, abs=0.15)


def written_body(tmp_path):
    deck = moving_body("euler")
    deck["output"] = {"slices": [{"axis": "z", "position": 0.001, "name": "cut"}], "coarse": {"factor": [5, 4, 23]},
                      "region": {"from": [0.03, 0.01, 0], "to": [0.05, 0.03, 0.012]}}
    run(tmp_path, deck)
    return Run(tmp_path / "out")


def test_files_have_the_positions_of_cells_and_are_drawn(tmp_path):
    found = written_body(tmp_path)
    whole = found.snapshots[-1]
    for axis, (origin, zones) in enumerate(zip([0.01, 0, -0.02], GRADED)):
        edges = origin + np.append(0, np.cumsum(sizes(zones)))
        assert whole.edges[axis] == pytest.approx(edges, abs=1e-15)
        assert whole.centres(axis) == pytest.approx((edges[1:] + edges[:-1]) / 2, abs=1e-15)
    volumes = np.einsum("z,y,x->zyx", *(sizes(zones) for zones in GRADED[::-1]))
    heat = (whole.T * volumes).reshape(23, 6, 4, 5, 5).sum(axis=(0, 2, 4)) / volumes.reshape(23, 6, 4, 5, 5).sum(axis=(0, 2, 4))
    coarse = found.parts["deck_coarse"][-1]
    assert coarse.T[0] == pytest.approx(heat, rel=1e-14)
    assert coarse.edges[1] == pytest.approx(whole.edges[1][::4])
    cut = found.parts["deck_slice_cut"][-1]
    at = int(np.searchsorted(whole.edges[2], 0.001, side="right")) - 1
    assert (cut.T[0] == whole.T[at]).all() and cut.edges[2] == pytest.approx(whole.edges[2][at:at + 2])
    region = found.parts["deck_region"][-1]
    for axis, (low, high) in enumerate([(0.03, 0.05), (0.01, 0.03), (0, 0.012)]):
        edges = region.edges[axis]
        assert edges[0] <= low + 1e-12 < edges[1] and edges[-2] < high <= edges[-1] + 1e-12
    with h5py.File(whole.path) as file:
        assert "VTKHDF" not in file
    # The tools draw them; postprocess/test_report.py tests where the cells are.
    for words in (["slice", "out"], ["slice", "out", "--series", "deck_coarse"], ["report", "out"]):
        ran(*words, cwd=tmp_path)


def test_xdmf_is_a_rectilinear_grid(tmp_path):
    """Read by VTK's own reader."""
    vtk = pytest.importorskip("vtkmodules.vtkIOXdmf2")
    numpy_support = pytest.importorskip("vtkmodules.util.numpy_support")
    found = written_body(tmp_path)
    reader = vtk.vtkXdmfReader()
    reader.SetFileName(str(tmp_path / "out" / "deck.xmf"))
    reader.Update()
    grid = reader.GetOutputDataObject(0)
    while grid.IsA("vtkMultiBlockDataSet"):
        grid = grid.GetBlock(0)
    assert grid.GetClassName() == "vtkRectilinearGrid"
    whole = found.snapshots[0]
    for axis, name in enumerate("XYZ"):
        there = numpy_support.vtk_to_numpy(getattr(grid, f"Get{name}Coordinates")())
        assert there == pytest.approx(whole.edges[axis], rel=1e-6)
    cells = numpy_support.vtk_to_numpy(grid.GetCellData().GetArray("temperature [K]"))
    assert (cells == whole.T.ravel()).all()


@pytest.mark.parametrize("words, said", [
    (["grid.cells=[25, 24, 22]"], "grid.cells: 22 cells along z are not the 23 of the zones of spacing"),
    (["grid.spacing=[1e-3, 1e-3, [[0, 1e-3]]]"], "grid.spacing.2.0.0: 0 is out of range; write a whole number"),
    (["grid.spacing=[1e-3, 1e-3, [[3, -1e-3]]]"], "out of range"),
    (["grid.spacing=[1e-3, 1e-3, [3, 1e-3]]"], "a zone is no pair of a count and a size"),
    (["sources=[]", "boundaries={}", "verify.solution=decaying_mode"], "decaying_mode is not a solution for a grid whose spacing has zones"),
    ([f"grid.spacing={[[[1, i * 1e-3] for i in range(1, 18)]] * 3}"], "kinds of cells"),
    ([f"grid.spacing={[[[1, 1e-3]], [[1, 1e-3]], [[1, i * 1e-3] for i in range(1, 257)]]}"], "kinds of cells"),
    (["grid={cells: [8, 6, 3], spacing: [1e-3, 1e-3, [[5, 1e-3], [3, 1e-3]]]}"],
     "grid.spacing: its zones have 8 cells along z, and grid.cells 3; write 8, or null")])
def test_what_cannot_be_is_refused(tmp_path, words, said):
    assert said in run(tmp_path, body({"steps": 1}, GRADED), *words, code={65})


def test_multigrid_takes_few_cycles(tmp_path):
    deck = body({"kind": "steady", "method": "multigrid", "norm": "l2", "tolerance": 1e-8}, GRADED)
    residual = run(tmp_path, deck, code=(0,))["residual"]
    assert residual["last_sweep"] <= 8 * 25, residual


def test_the_limit_of_steps_depends_on_where_a_dataset_has_each_material(tmp_path):
    """As for the same body by a box (unit/test_method.cpp). The conducting material has only cells of 25 um: if it were assumed in those
    of 1 um too, steps would be 250 times shorter."""
    ids = np.zeros((36, 6, 5), np.uint8)
    ids[24:32, 2:4] = 1
    with h5py.File(tmp_path / "scan.hdf", "w") as file:
        file["ids"] = ids
    deck = {"grid": {"cells": [5, 6, 36], "spacing": [25e-6, 25e-6, [[20, 1e-6], [16, 25e-6]]]}, "problem": {"dt_fraction": 0.5, "steps": 9},
            "materials": {"foam": {"conductivity": 0.05, "density": 1000, "heat_capacity": 1000},
                          "metal": {"conductivity": 50, "density": 2000, "heat_capacity": 500}},
            "material": {"default": "foam"}, "initial": [{"shape": "formula", "formula": "300 + 1e5*z + 2e5*y"}],
            "regions": [{"shape": "box", "material": "metal", "from": [0, 50e-6, 120e-6], "to": [1, 100e-6, 320e-6]}]}
    wanted = run(tmp_path, deck)
    deck["regions"] = [{"shape": "dataset", "file": "scan.hdf", "dataset": "/ids", "map": {"0": "foam", "1": "metal"}}]
    for ranks in (0, 2, 3):
        record = run(tmp_path, deck, ranks=ranks)
        assert [record["method"]["dt_limit_s"], record["fingerprint"]] == [wanted["method"]["dt_limit_s"], wanted["fingerprint"]]
    above = run(tmp_path, deck, f"problem.dt={1.001 * wanted['method']['dt_limit_s']}", code={65})
    assert "problem.dt" in above and "above the stability limit" in above
