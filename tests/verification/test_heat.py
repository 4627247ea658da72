"""The columns of history.csv that diagnostics add are correct: heat is balanced, with numbers that can be checked by hand, and the
histogram counts every cell once (mpi/test_heat_balance.cpp: on every rank and backend). Sources supply the heat in the deck."""

import re

import pytest

from bodies import write_body
from program import ran
import runs

COPPER = {"conductivity": 400, "density": 8960, "heat_capacity": 385}
STEEL = {"conductivity": 16, "density": 8000, "heat_capacity": 500}


def run(folder, deck, *words, code=0):
    """The finished process, and the rows of history.csv as dicts of text."""
    done = ran("run", write_body(folder, deck), "--progress=off", *words, "output.directory=out", "output.overwrite=true", cwd=folder,
               OMP_NUM_THREADS="1", code=code)
    return done, [] if code else runs.history(folder / "out")


def temperature(value):
    return {"kind": "temperature", "value": value}


def convection(ambient, coefficient):
    return {"kind": "convection", "ambient": ambient, "coefficient": coefficient}


def slab(left, right, **more):
    return {
        "grid": {"cells": [40, 3, 5], "lengths": [0.2, 0.03, 0.05]},
        "material": dict(COPPER),
        "boundaries": {"x_min": left, "x_max": right},
        "problem": {"steps": 600, "check_interval": 200},
        "output": {"diagnostics": 50, "snapshots": False},
        **more,
    }


def test_rows_have_the_values_that_are_due_and_known(tmp_path):
    deck = slab(temperature(350), "insulated")
    _, rows = run(tmp_path, deck, "problem.steps=100", "problem.check_interval=40", "output.diagnostics=30", "output.histogram.bins=3")
    assert [(row["sweep"], bool(row["residual"]), bool(row["mean_K"]), bool(row["balance_W"]), bool(row["hist_0"]))
            for row in rows] == [
        ("0", False, True, False, True), ("1", True, False, False, False), ("30", False, True, True, True),
        ("40", True, False, False, False), ("60", False, True, True, True), ("80", True, False, False, False),
        ("90", False, True, True, True), ("100", True, True, True, True)]
    walls = {name for name in rows[0] if name.startswith("wall_")}
    assert walls == {f"wall_{axis}_{end}_W" for axis in "xyz" for end in ("min", "max")}
    around = run(tmp_path, deck, "boundaries={x_min: periodic, x_max: periodic}", "output.diagnostics=50")[1]
    assert walls - set(around[0]) == {"wall_x_min_W", "wall_x_max_W"}
    plain = ["sweep", "time_s", "residual", "relative_residual"]
    assert list(run(tmp_path, deck, "output={snapshots: false}")[1][0]) == plain
    assert list(run(tmp_path, deck, "material={diffusivity: 1e-4}")[1][0]) == plain + ["min_K", "max_K", "mean_K", "nan_cells"]


def test_the_history_of_a_diverged_run_counts_nan_cells(tmp_path):
    deck = slab(temperature(400), temperature(250), problem={"steps": 600, "dt": 10, "allow_unstable": True, "check_interval": 600})
    run(tmp_path, deck, "output.histogram.bins=2", code=76)
    last = runs.history(tmp_path / "out")[-1]
    assert (last["sweep"], last["residual"], last["mean_K"], last["balance_W"]) == ("600", "", "nan", "nan")
    counts = [int(last[name]) for name in ("hist_under", "hist_0", "hist_1", "hist_over", "nan_cells")]
    assert sum(counts) == 600 and counts[-1] > 0


PLAN = "name, x, y, width, height, power\ncore, 0, 0, 0.011, 0.013, 7\ncache, 0.011, 0.002, 0.007, 0.009, 2\n"


def whole_body(problem):
    """With everything that exchanges heat: orthotropic layers with contacts, voids, cells of many sizes, pads, sums and fractions of
    boundary conditions on faces cut by voids, coefficients and powers that are formulas, a floor plan."""
    of_time = "" if problem.get("kind") == "steady" else " + 0.01*t"
    patch = {"from": [0.003, 0.0133], "to": [0.031, 0.0301]}
    return {
        "grid": {"spacing": [[[9, 2e-3], [11, 1e-3], [5, 4e-3]], [[8, 2e-3], [8, 3e-3]], [[6, 1e-3], [6, 3e-3], [7, 1e-3]]]},
        "materials": {"steel": STEEL, "board": {**COPPER, "conductivity": [30, 20, 0.5]}, "air": {"ambient": 290, "coefficient": 40}},
        "material": {"default": "steel"},
        "regions": [{"material": "board", "shape": "box", "from": [0, 0, 0.008], "to": [1, 1, 0.014]},
                    {"material": "void", "shape": "sphere", "centre": [0.02, 0.02, 0.011], "radius": 0.006},
                    {"material": "air", "shape": "box", "from": [0.029, 0, 0.02], "to": [1, 0.02, 1]}],
        "contacts": [{"between": ["steel", "board"], "resistance": 1e-4}],
        "boundaries": {
            "x_min": [{**convection(300, f"50 + 900*y{of_time}"), "where": {"from": [0, 0], "to": [0.021, 0.0142]}},
                      {"kind": "flux", "value": f"2e3*(1 + y){of_time}"}],
            "x_max": [convection(f"310{of_time}", 80), {"kind": "flux", "value": -500}],
            "y_min": {**convection("300 + 400*x", "20 + 90*z"), "where": {"from": [0.004, 0.003], "to": [0.04, 0.023]},
                      "else": {"kind": "flux", "value": 300}},
            "z_min": [{**temperature(f"320{of_time}"), "where": patch}, convection(280, 25),
                      {**temperature("340 + 50*x"), "where": {"from": [0.033, 0], "to": [0.049, 0.04]}}],
            "z_max": [{"kind": "flux", "value": 4e3, "where": patch}, convection(295, 15)]},
        "initial": [{"shape": "formula", "formula": "300 + 400*x + 20*sin(300*z)"}],
        "sources": [{"shape": "box", "from": [0.005, 0.004, 0.0085], "to": [0.023, 0.017, 0.0095], "power": {"floorplan": "plan.csv"}},
                    {"shape": "gaussian", "centre": [0.03, 0.03, 0.01], "width": 0.003, "power": f"3{of_time}"}],
        "problem": problem,
        "output": {"diagnostics": 10, "snapshots": False},
    }


@pytest.mark.parametrize("problem", [{"kind": "steady", "tolerance": 1e-13}, {"steps": 40}, {"method": "rkl", "steps": 3},
                                     {"method": "implicit", "steps": 3, "dt": 20}], ids=["multigrid", "euler", "rkl", "implicit"])
def test_all_heat_is_accounted_for_to_rounding(tmp_path, problem):
    (tmp_path / "plan.csv").write_text(PLAN)
    _, rows = run(tmp_path, whole_body(problem))
    heat = runs.record(tmp_path / "out")["end_state"]["heat"]
    assert heat["relative_balance"] <= 1e-12
    assert all(float(row["relative_balance"]) <= 1e-12 for row in rows if row["relative_balance"] and "kind" not in problem)
    flows = [*heat["faces_W"].values(), *(each["watts"] for each in heat["voids_W"]), heat["sources_W"]]
    assert [flow == 0 for flow in flows] == [False, False, False, True, False, False, False, False]  # y_max is insulated


# Sources


def chip(cells, **more):
    """A box of 5 x 4 x 0.7 mm that cuts cells on all sides, on a plate."""
    return {
        "grid": {"cells": cells, "lengths": [0.02, 0.02, 0.004]},
        "material": STEEL,
        "boundaries": {"z_min": temperature(300)},
        "sources": [{"shape": "box", "from": [0.0071, 0.0083, 0.0019], "to": [0.0121, 0.0123, 0.0026], "power": 16}],
        "problem": {"steps": 2},
        "output": {"diagnostics": 1, "snapshots": False},
        **more,
    }


def test_a_box_of_16_watts_has_16_watts(tmp_path):
    """unit/test_region_values.cpp tests other grids, shapes and densities."""
    done, rows = run(tmp_path, chip([7, 7, 3]))
    sources = runs.record(tmp_path / "out")["sources"]
    assert sources["power_W"] == pytest.approx(16, rel=1e-12) == pytest.approx(float(rows[-1]["source_W"]), rel=1e-12)
    line = f"sources +16 W in {sources['cells']} cells"
    assert re.search(line, done.stdout) and re.search(line, ran("check", "deck.yaml", cwd=tmp_path).stdout)


def test_boxes_that_touch_within_a_cell_are_warned_of_unless_they_add(tmp_path):
    deck = chip([10, 10, 4])
    deck["sources"] *= 2
    deck["sources"][1] = {**deck["sources"][0], "from": [0.0121, 0.0083, 0.0019], "to": [0.0171, 0.0123, 0.0026]}
    for mode, warned in ("set", True), ("add", False):
        deck["sources"][1]["mode"] = mode
        done, _ = run(tmp_path, deck)
        power = runs.record(tmp_path / "out")["sources"]["power_W"]
        assert (power == pytest.approx(32, rel=1e-12)) != warned
        for said in done.stderr, ran("check", "deck.yaml", cwd=tmp_path).stdout:
            assert ("warning: sources: their power in the body is " in said and "not 32 W" in said) == warned


def test_a_source_partly_outside_the_domain_and_a_boundary_below_0_kelvin_are_reported(tmp_path):
    deck = chip([10, 10, 4])
    deck["sources"][0] |= {"from": [0.019, 0.01, 0], "to": [0.021, 0.02, 0.004]}
    assert "only 50 % of its heat is inside the domain" in run(tmp_path, deck)[0].stderr
    assert runs.record(tmp_path / "out")["sources"]["power_W"] == pytest.approx(8)
    deck["sources"][0] |= {"from": [0.021, 0.01, 0], "to": [0.022, 0.02, 0.004]}
    assert "sources.0: lies outside the domain" in run(tmp_path, deck, code=65)[0].stderr
    done, _ = run(tmp_path, chip([8, 8, 4], boundaries={"z_max": temperature("300 - 1e9*t*x")}), code=65)
    assert "boundaries.z_max.value" in done.stderr and "below absolute zero" in done.stderr


def test_a_field_below_absolute_zero_is_warned_of(tmp_path):
    done, _ = run(tmp_path, chip([8, 8, 4], sources=[], boundaries={"z_min": temperature(300), "z_max": {"kind": "flux", "value": -2e6}},
                                 problem={"kind": "steady"}))
    assert "the field is below absolute zero, down to " in done.stderr


# One cell between two boundaries of fixed temperature: a step of 0.9 of the stability limit would exceed both temperatures.
@pytest.mark.parametrize("boundaries", (
    {"z_min": temperature(300), "z_max": temperature(400)}, {"z_min": convection(300, 1e6), "x_max": temperature(400)}))
@pytest.mark.parametrize("cells", ([12, 10, 1], [12, 10, 2], [1, 1, 1]))
def test_no_temperature_leaves_the_range_of_its_surroundings(tmp_path, boundaries, cells):
    _, rows = run(tmp_path, chip(cells, boundaries=boundaries, sources=[], problem={"steps": 40}))
    for row in rows:
        assert float(row["min_K"] or 300) >= 300 * (1 - 1e-14) and float(row["max_K"] or 400) <= 400 * (1 + 1e-14)
    assert len(rows) > 40
