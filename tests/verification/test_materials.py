"""Bodies of several materials: exact if layers end at cell faces, the same bits on every kernel and rank count, and those of the uniform
code if all materials are the same."""

import copy
import random
import re

import h5py
import numpy as np
import pytest

from bodies import (BOARD, CORE, CORE_AND_BOARD, check, expect_one_answer, expect_the_same_bits_after_a_restart, field, run,
                    slab)
from program import isotherm
from random_bodies import METHODS, SEEDS, random_body
import runs

@pytest.mark.parametrize("axis", "xz")
def test_a_conductivity_of_many_classes_is_of_second_order(tmp_path, axis):
    """Manufactured: each layer of cells has the conductivity exp(2 sin(3 x)) of its centre, T = 300 + 30 sin(2 x) + 5 x^2."""
    errors = []
    for cells in (50, 100, 200):
        at, names = (np.arange(cells) + 0.5) / cells, [f"m{i}" for i in range(cells)]
        heat = "-exp(2*sin(3*x))*(6*cos(3*x)*(60*cos(2*x) + 10*x) - 120*sin(2*x) + 10)"
        run(tmp_path, {
            "grid": {"cells": [cells if each == axis else 2 for each in "xyz"], "lengths": [1 if each == axis else 0.1 for each in "xyz"]},
            "materials": {name: {"conductivity": float(np.exp(2 * np.sin(3 * x)))} for name, x in zip(names, at)},
            "regions": [{"layers": [{"material": name, "thickness": 1 / cells} for name in names[:-1]], "axis": axis}],
            "material": {"default": names[-1]},
            "boundaries": {f"{axis}_min": {"kind": "temperature", "value": 300},
                           f"{axis}_max": {"kind": "temperature", "value": 305 + 30 * float(np.sin(2))}},
            "sources": [{"shape": "formula", "formula": heat.replace("x)", f"{axis})").replace("*x", f"*{axis}")}],
            "problem": {"kind": "steady", "tolerance": 1e-11}})
        found = np.moveaxis(field(tmp_path / "out"), 2 - "xyz".index(axis), 0)
        exact = 300 + 30 * np.sin(2 * at) + 5 * at**2
        errors.append(((found - exact[:, None, None])**2).mean() ** 0.5)
    assert -np.diff(np.log2(errors)) == pytest.approx([2, 2], abs=0.2) and errors[-1] > 1e-8, errors


@pytest.mark.parametrize("problem", [{"steps": 30}, {"kind": "steady"}], ids=["euler", "multigrid"])
def test_two_names_of_one_material_are_one_body(tmp_path, problem):
    body = {**slab(0, problem), "sources": [{"shape": "constant", "value": 1e6}]}
    uniform = {**body, "material": CORE}
    for key in ("materials", "regions", "contacts"):
        del uniform[key]
    two = {**body, "material": {"default": "core"}, "materials": {"core": CORE, "same": CORE}, "contacts": [],
           "regions": [box("same", [0, 0, 0], [0.004, 0.002, 0.002])]}
    wanted = run(tmp_path, uniform)["fingerprint"]
    assert run(tmp_path, two)["fingerprint"] == wanted
    two["materials"]["bare"] = BOARD  # no cell has it, so its contact has no effect
    two["contacts"] = [{"between": ["core", "bare"], "resistance": 1}]
    assert run(tmp_path, two)["fingerprint"] == wanted


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_one_answer(tmp_path, seed, method):
    expect_one_answer(tmp_path, random_body(seed, method))


def test_a_body_whose_mean_is_given(tmp_path):
    """Heat flux in and out, cells of two sizes: the field is linear in each layer, and its mean over the volume is that of the deck."""
    deck = {
        "grid": {"cells": [None, 3, 2], "spacing": [[[6, 1e-3], [4, 2e-3]], 1e-3, 1e-3]},
        **CORE_AND_BOARD,
        "regions": [box("board", [0, 0, 0], [6e-3, 1, 1])],
        "boundaries": {"x_min": {"kind": "flux", "value": 5000}, "x_max": {"kind": "flux", "value": -5000}},
        "initial": [{"shape": "formula", "formula": "300 + 1e4*x*y"}],
        "problem": {"kind": "steady", "mean_temperature": 350, "tolerance": 1e-13},
    }
    assert run(tmp_path, deck)["fingerprint"] == run(tmp_path, deck, ranks=2)["fingerprint"]
    assert "slow" not in check(tmp_path, deck)
    sizes = np.array([1e-3] * 6 + [2e-3] * 4)
    of_cell = np.where(np.arange(10) < 6, sizes / BOARD["conductivity"][0], sizes / CORE["conductivity"])
    exact = -5000 * (np.cumsum(of_cell) - of_cell / 2)
    exact += 350 - np.average(exact, weights=sizes)
    assert field(tmp_path / "out") == pytest.approx(np.broadcast_to(exact, (2, 3, 10)), abs=1e-9)
    parts = copy.deepcopy(deck)
    parts["regions"].append(box("void", [4e-3, 0, 0], [5e-3, 1, 1]))
    del parts["boundaries"]
    assert "nothing holds the temperature of the part" in check(tmp_path, parts, code=65)


def test_the_error_of_a_body_is_below_the_requested_one(tmp_path):
    deck = jumps([24, 24, 24], blocks(3))
    deck["output"] = {}
    deck["problem"] = {"kind": "steady", "tolerance": 1e-14}
    run(tmp_path, deck)
    exact = field(tmp_path / "out")
    deck["problem"] = {"kind": "steady", "error": 1e-3}
    residual = run(tmp_path, deck)["residual"]
    assert np.abs(field(tmp_path / "out") - exact).max() <= residual["error_K"] <= 1e-3


def test_a_restart_within_coefficients_of_time_ends_in_the_same_field(tmp_path):
    """Coarse grids do not depend on earlier steps. The axis of a single cell is its own neighbour."""
    air = {"kind": "convection", "ambient": 350}
    deck = {
        "grid": {"cells": [12, 1, 13], "spacing": 1e-3},
        **CORE_AND_BOARD,
        "regions": [box("board", [0, 0, 0], [5e-3, 1, 6e-3])],
        "boundaries": {"x_max": {**air, "coefficient": "400 + 300*sin(0.1*t)"}, "y_min": "periodic", "y_max": "periodic",
                       "z_max": {**air, "coefficient": "4000 + 3000*sin(0.2*t)"}},
        "problem": {"method": "implicit", "steps": 6, "dt": 100},
    }
    expect_the_same_bits_after_a_restart(tmp_path, deck, "problem.steps=3")


def box(material, lower, upper):
    return {"material": material, "shape": "box", "from": [*lower], "to": [*upper]}


def cubes(parts, is_good):
    """The cubes of the good material, of `parts` cubes along each axis."""
    return [box("good", [i / parts for i in at], [(i + 1) / parts for i in at])
            for at in np.ndindex(parts, parts, parts) if is_good(at)]


def blocks(parts):
    """A checkerboard."""
    return cubes(parts, lambda at: sum(at) % 2)


def jumps(cells, regions, lengths=(1, 1, 1)):
    """1000 W/(m K) in 1 W/(m K), heated throughout, between cold faces across z."""
    return {
        "grid": {"cells": cells, "lengths": [*lengths]},
        "materials": {"poor": {"conductivity": 1}, "good": {"conductivity": 1000}, "fibre": {"conductivity": [1, 30, 0.2]}},
        "material": {"default": "poor"},
        "regions": regions,
        "boundaries": {face: {"kind": "temperature", "value": 300} for face in ("z_min", "z_max")},
        "sources": [{"shape": "constant", "value": 1e4}],
        "problem": {"kind": "steady", "method": "multigrid", "norm": "l2", "tolerance": 1e-8},
        "output": {"snapshots": False},
    }


def layers(*ends):
    """Layers of the good material, in units of 1/32."""
    return [box("good", [-1, -1, lower / 32], [2, 2, upper / 32]) for lower, upper in ends]


AROUND = {"boundaries": {"x_min": "periodic", "x_max": "periodic",
                         "y_max": {"kind": "convection", "coefficient": 20, "ambient": 300}},
          "contacts": [{"between": ["good", "poor"], "resistance": 1e-2}]}


@pytest.mark.parametrize("cells, regions, more, most", [
    ([32, 32, 32], layers((8, 16), (24, 32)), {}, 10),
    ([32, 32, 32], layers((5, 12), (21, 23)), {}, 10),
    ([32, 32, 32], [box("good", [0.28] * 3, [0.72] * 3)], {}, 10),
    ([32, 32, 32], blocks(8), {}, 10),
    ([33, 25, 19], [box("good", [0.3] * 3, [0.6] * 3)], AROUND, 10),
    ([33, 25, 19], [box("fibre", [0.2, 0, 0.1], [0.9, 0.7, 0.6]), box("good", [0.3] * 3, [0.6] * 3)], AROUND, 15),
    ([64, 1, 40], [box("good", [0.28, -1, 0.28], [0.72, 2, 0.72])], {}, 10),
    ([20, 20, 7], [{"material": "good", "shape": "sphere", "centre": [0.5] * 3, "radius": 0.3}], AROUND, 10)],
                         ids=["layers", "layers_off_coarse_faces", "inclusion", "checkerboard", "odd", "strongest_axes_that_differ", "thin", "contact"])
def test_multigrid_takes_few_cycles_where_conductivity_jumps(tmp_path, cells, regions, more, most):
    residual = run(tmp_path, {**jumps(cells, regions), **more})["residual"]
    assert residual["last_K"] <= 1e-8 * residual["first_K"] and residual["last_sweep"] <= 8 * most, residual


@pytest.mark.parametrize("more", [
    {"regions": [box("good", [3 / 12] * 3, [9 / 12] * 3)], "contacts": [{"between": ["poor", "good"], "resistance": 1}]},
    {"regions": [box("insulation", [2 / 12] * 3, [10 / 12] * 3), box("good", [3 / 12] * 3, [9 / 12] * 3)]}], ids=["contact", "shell"])
def test_chebyshev_damps_the_mode_of_a_nearly_insulated_part(tmp_path, more):
    """No line of cells through the body shows how slowly its inside cools: a cycle reduces that mode to 1 %, too."""
    deck = {**jumps([12] * 3, []), **more}
    deck["materials"]["insulation"] = {"conductivity": 1e-3}
    deck["problem"] = {"kind": "steady", "method": "chebyshev", "tolerance": 1e-8}
    record = run(tmp_path, deck, code={0})
    assert record["residual"]["convergence"] == "reached"
    assert record["performance"]["cycles"] <= 10, record["performance"]


@pytest.mark.parametrize("problem", [{"kind": "steady"}, {"kind": "steady", "method": "jacobi", "max_sweeps": 200},
                                     {"method": "implicit", "dt": 1000, "steps": 1}], ids=["multigrid", "jacobi", "implicit"])
def test_fp32_says_what_error_it_may_hide(tmp_path, problem):
    deck = jumps([8] * 3, [box("good", [0.25] * 3, [0.75] * 3)])
    weak = {"kind": "convection", "ambient": 300, "coefficient": 1e-4}
    deck |= {"boundaries": {"z_min": weak}, "problem": problem, "precision": "fp32"}
    for material in deck["materials"].values():
        material |= {"density": 1000, "heat_capacity": 1000}

    def hidden(deck, *words):
        said = str(run(tmp_path, deck, *words)["warnings"])
        return [float(error) for error in re.findall(r"fp32 may hide an error of up to (\S+) K", said)]

    assert hidden(deck)[0] > 1
    assert not hidden(deck, "precision=fp64")
    assert not hidden(jumps([8] * 3, blocks(2)) | {"precision": "fp32"})


def test_conjugate_gradients_are_for_multigrid_and_implicit_only(tmp_path):
    deck = jumps([12] * 3, blocks(3))
    wanted = run(tmp_path, deck)["fingerprint"]
    del deck["problem"]["method"]
    for acceleration in ("cg", "none"):
        deck["problem"]["accelerate"] = acceleration
        assert (run(tmp_path, deck)["fingerprint"] == wanted) == (acceleration == "cg")
    for problem in ({"kind": "steady", "method": "chebyshev"}, {"steps": 1}):
        deck["problem"] = {**problem, "accelerate": "cg"}
        assert "problem.accelerate: cg is for multigrid and implicit" in run(tmp_path, deck, code={65})


def test_v_cycles_continue_alone_while_they_converge(tmp_path):
    """An implicit step with and without conjugate gradients: the same bits if V cycles converge alone."""
    for conductivity, converge in ((2, True), (1000, False)):
        deck = jumps([12] * 3, blocks(3)) | {"problem": {"method": "implicit", "dt": 1e6, "steps": 2}}
        deck["materials"] = {name: {"conductivity": k, "density": 1, "heat_capacity": 1} for name, k in (("poor", 1), ("good", conductivity))}
        assert (run(tmp_path, deck)["fingerprint"] == run(tmp_path, deck, "problem.accelerate=none")["fingerprint"]) == converge


def test_single_cells_that_differ_need_conjugate_gradients(tmp_path):
    """Coarse grids represent the finest one poorly, and plain V cycles stall."""
    draw = random.Random(1)
    deck = jumps([12, 12, 12], cubes(12, lambda at: draw.random() < 0.3))
    record = run(tmp_path, deck)
    residual, sweeps = record["residual"], record["performance"]["sweeps"]
    assert residual["last_K"] <= 1e-8 * residual["first_K"] and residual["last_sweep"] < sweeps
    done = isotherm("run", "deck.yaml", "--progress=off", "output.directory=plain", "problem.accelerate=none", cwd=tmp_path, code=10)
    assert "single cells may differ too much for multigrid" in done.stderr
    said = check(tmp_path, deck)
    assert "multigrid is slow for this body" in said
    likely = int(re.search(r"likely (\d+)", said)[1])
    assert sweeps / 2 <= likely <= 2 * sweeps, said
    said = isotherm("check", "deck.yaml", "problem.accelerate=none", cwd=tmp_path).stdout
    assert "likely more than" in said and "\nsweeps          more than" in said, said


@pytest.mark.parametrize("n", [24, 96])
def test_check_predicts_the_cycles_of_datasets(tmp_path, n):
    """Predicts the cycles of the same checkerboard made of boxes; for 96 cells along an axis, from a sample of 48."""
    parts = np.arange(n) // (n // 3)
    with h5py.File(tmp_path / "ids.h5", "w") as file:
        file["ids"] = (parts[:, None, None] + parts[:, None] + parts) % 2
    dataset = {"shape": "dataset", "file": "ids.h5", "dataset": "/ids", "map": {1: "good"}}
    said = []
    for regions in (blocks(3), [dataset]):
        said.append(check(tmp_path, jumps([n] * 3, regions)))
    likely = [re.search(r"likely .*", each)[0] for each in said]
    assert likely[0] == likely[1] and f"as {min(n, 48)} x" in likely[1], likely


def test_check_does_not_predict_without_a_patch_that_holds(tmp_path):
    """A coarse sample has no cell centre in the patch."""
    pad = {"kind": "temperature", "value": 300, "where": {"from": [0, 61 / 130], "to": [1, 62 / 130]}}
    said = check(tmp_path, jumps([2, 2, 130], [box("good", [0, 0, 0.4], [1, 1, 1])]) | {"boundaries": {"x_min": pad}})
    assert "of this body take" not in said and "slow" not in said, said


@pytest.mark.parametrize("along", [0, 1, 2])
@pytest.mark.parametrize("cells, thick, few, loses", [(64, 1, 64, False), (96, 1, 48, True), (96, 2, 48, False)])
def test_check_says_where_few_cells_lose_thin_parts(tmp_path, along, cells, thick, few, loses):
    """Plates of one cell occur in the deck's grid, but not all in the sample of half as many cells; those of two cells occur in both."""
    def vector(across, value):
        return [across] * along + [value] + [across] * (2 - along)

    regions = [box("good", vector(-1, first / cells), vector(2, (first + thick) / cells))
               for first in range(4, cells - 4, 2 * thick + 8)]
    said = check(tmp_path, jumps(vector(8, cells), regions))
    assert f"as {' x '.join(map(str, vector(8, few)))} cells of this body take{' without its thin parts' * loses}\n" in said, said
    assert ("multigrid may be slow for this body" in said) == loses, said


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_an_implicit_step_is_solved_however_cells_differ(tmp_path, share):
    """With fibres of 8000 W/(m K) in 1 W/(m K), one very long step gives the steady field; the heat of a step is exact, too."""
    draw = random.Random(3)
    deck = jumps([10, 10, 10], cubes(10, lambda at: draw.random() < share))
    deck["materials"] = {name: {"conductivity": k, "density": 1e3, "heat_capacity": 1e3}
                         for name, k in (("poor", 1), ("good", 8000))}
    run(tmp_path, {**deck, "problem": {**deck["problem"], "tolerance": 1e-10}}, "output.snapshots=true", code=[0])
    steady = field(tmp_path / "out")
    for scheme in ("backward_euler", "sdirk2"):
        step = {"kind": "transient", "method": "implicit", "scheme": scheme, "dt": 1e12, "steps": 1}
        run(tmp_path, {**deck, "problem": step}, "output.snapshots=true", name=scheme, code=[0])
        assert np.abs(field(tmp_path / scheme) - steady).max() <= 5e-5 * np.ptp(steady)
    # No heat leaves the body: the mean rises by the heat of the source.
    closed = {**deck, "boundaries": {}, "problem": {"method": "implicit", "scheme": "backward_euler", "dt": 1e4, "steps": 2}}
    run(tmp_path, closed, "output.snapshots=true", name="closed", code=[0])
    assert field(tmp_path / "closed").mean() == pytest.approx(300 + 1e4 * 2e4 / 1e6, abs=1e-3)


@pytest.mark.parametrize("method, resistance, published", [
    ("implicit", 0, [82.3721, 82.3721]), ("implicit", 1e-4, [317210, 114474]), ("rkl", 1e-4, [317210, 114474])])
def test_two_half_spaces(tmp_path, method, resistance, published):
    """Copper of 100 K on steel of 0 K, 400 mm each: the temperature between them is constant; with a contact, W/m^2. After 1 s and 10 s."""
    copper, steel, size = 400, 16, 2e-4
    deck = {
        "grid": {"cells": [None, 1, 1], "spacing": [[[70, 5e-3], [40, 1e-3], [50, size], [50, size], [40, 1e-3], [70, 5e-3]], 1, 1]},
        "materials": {"copper": {"conductivity": copper, "density": 3450, "heat_capacity": 1000},
                      "steel": {"conductivity": steel, "density": 3950, "heat_capacity": 1000}},
        "material": {"default": "copper"},
        "regions": [{"material": "steel", "shape": "box", "from": [0.4, 0, 0], "to": [0.8, 1, 1]}],
        "contacts": [{"between": ["copper", "steel"], "resistance": resistance}] if resistance else [],
        "initial": [{"shape": "formula", "formula": "400 - 100*(x > 0.4)"}],
        "problem": {"method": method, "dt": 0.05, "end_time": 10},
        "output": {"probes": {"points": [[0.4, 0.5, 0.5], [0.4 + size / 2, 0.5, 0.5]], "every_time": 1}},
    }
    run(tmp_path, deck, "output.snapshots=false")
    found = runs.probed(tmp_path / "out") - 300  # every second
    for time, exact in zip([1, 10], published):
        hot, cold = found[time]  # the face of the copper, and the first centre in the steel
        assert ((hot - cold) / (resistance + size / 2 / steel) if resistance else hot) == pytest.approx(exact, rel=1e-3 if resistance else 1e-4)
