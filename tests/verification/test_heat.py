"""The columns of history.csv that diagnostics add are true: heat is kept or accounted for, in numbers that a hand can
check, and the histogram counts every cell once.
And decks of inputs/ with sources: the heat that they give is the heat that they name."""

import csv
import json
import re

import h5py
import numpy as np
import pytest

from program import isotherm, ran
import runs

COPPER = {"conductivity": 400, "density": 8960, "heat_capacity": 385}
EPSILON = 2.0**-52


def run(folder, deck, *overrides, ranks=0):
    """The rows of history.csv, as dicts of text; the run must end in success."""
    (folder / "deck.yaml").write_text(json.dumps(deck))
    ran("run", "deck.yaml", "--progress=off", "output.directory=out", "output.overwrite=true",
        *overrides, ranks=ranks, cwd=folder, OMP_NUM_THREADS="1")
    with open(folder / "out" / "history.csv", newline="") as file:
        return list(csv.DictReader(file))


def diagnosed(rows):
    """Columns as arrays, of the lines that hold diagnostics of a sweep."""
    lines = [row for row in rows if row["mean_K"] and row.get("balance_W", "0")]
    return {name: np.array([float(row[name] or "nan") for row in lines]) for name in lines[0]}


def slab(left, right, **more):
    return {
        "grid": {"cells": [40, 3, 5], "lengths": [0.2, 0.03, 0.05]},
        "material": dict(COPPER),
        "boundaries": {"x_min": left, "x_max": right},
        "initial": [{"shape": "constant", "value": 300}],
        "problem": {"steps": 600, "check_interval": 200},
        "output": {"diagnostics": 50, "snapshots": False},
        **more,
    }


def temperature(value):
    return {"kind": "temperature", "value": value}


def test_an_insulated_body_keeps_its_heat(tmp_path):
    deck = slab("insulated", "insulated")
    deck["initial"] = [{"shape": "formula", "formula": "300 + 50*sin(40*x) + 1000*y*z"}]
    rows = run(tmp_path, deck)
    heat = np.array([float(row["heat_J"]) for row in rows if row["heat_J"]])
    assert len(heat) == 13
    assert np.abs(heat / heat[0] - 1).max() < 600 * EPSILON  # a rounding a sweep at most
    columns = diagnosed(rows)
    for face in ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max"):
        assert (columns[f"wall_{face}_W"] == 0).all()
    assert columns["max_K"][-1] - columns["min_K"][-1] < columns["max_K"][0] - columns["min_K"][0]


def test_a_slab_between_two_temperatures(tmp_path):
    columns = diagnosed(run(tmp_path, slab(temperature(400), temperature(300)), "problem.steps=12000",
                            "output.diagnostics=1000"))
    through = columns["wall_x_min_W"] + columns["wall_x_max_W"]
    magnitude = np.abs(columns["wall_x_min_W"]) + np.abs(columns["wall_x_max_W"]) + np.abs(columns["rate_W"])
    assert (np.abs(columns["rate_W"] - through) <= 1e-12 * magnitude).all()
    assert (columns["relative_balance"] <= 1e-12).all()
    # At rest: k A (T1 - T2) / L, in at one wall and out at the other.
    assert columns["wall_x_min_W"][-1] == pytest.approx(400 * 0.03 * 0.05 * 100 / 0.2, rel=1e-6)
    assert columns["wall_x_max_W"][-1] == pytest.approx(-columns["wall_x_min_W"][-1], rel=1e-6)
    assert columns["mean_K"][-1] == pytest.approx(350, rel=1e-8)


# In fp64. A sweep may round each temperature by a unit of its last place, so what is not accounted for is at most that
# share of the body's heat in each step; where the source moves much heat, below 1e-12 of all that moves.
WALLS = {
    "convection": {"kind": "convection", "ambient": 350, "coefficient": 5000},
    "flux": {"kind": "flux", "value": 2e5},
    "flux in place": {"kind": "flux", "value": "2e5*sin(50*y) + 1e6*z"},
    "temperature in time": temperature("320 + 30*sin(3*t) + 5*t"),
    "convection in time": {"kind": "convection", "ambient": "400 - 4*t + 100*y", "coefficient": 2000},
    "periodic": None,
}


@pytest.mark.parametrize("source", [False, True], ids=["no source", "source"])
@pytest.mark.parametrize("kind", WALLS)
def test_the_balance_closes(tmp_path, kind, source):
    deck = slab(WALLS[kind], {"kind": "convection", "ambient": 280, "coefficient": 900})
    if kind == "periodic":
        deck["boundaries"] = {"x_min": "periodic", "x_max": "periodic", "z_max": temperature(310)}
    if source:
        deck["sources"] = [{"shape": "box", "from": [0, 0, 0], "to": [0.1, 0.03, 0.05], "value": 3e6}]
    rows = run(tmp_path, deck)
    columns = diagnosed(rows)
    assert len(columns["sweep"]) == 12
    dt = float(rows[1]["time_s"]) / float(rows[1]["sweep"])
    assert (np.abs(columns["balance_W"]) <= EPSILON * columns["heat_J"] / dt).all()
    if source:
        assert (columns["relative_balance"] <= 1e-12).all()
    assert (np.abs(columns["rate_W"]) > 1).any()
    assert columns["source_W"][-1] == pytest.approx(3e6 * 0.1 * 0.03 * 0.05 if source else 0, rel=1e-14)
    assert ("wall_x_min_W" in columns) == (kind != "periodic")
    if kind == "flux":
        assert columns["wall_x_min_W"] == pytest.approx(2e5 * 0.03 * 0.05, rel=1e-12)


def test_a_steady_problem_comes_to_balance(tmp_path):
    deck = slab(temperature(350), {"kind": "convection", "ambient": 280, "coefficient": 900},
                problem={"kind": "steady", "tolerance": 1e-12, "check_interval": 500},
                sources=[{"shape": "box", "from": [0, 0, 0], "to": [0.1, 0.03, 0.05], "value": 3e6}])
    del deck["material"]["density"], deck["material"]["heat_capacity"]
    deck["output"]["diagnostics"] = 700
    rows = run(tmp_path, deck)
    assert "rate_W" not in rows[0] and "heat_J" not in rows[0]
    columns = diagnosed(rows)
    assert rows[-1]["residual"] and rows[-1]["mean_K"], "the last line of a converged run holds both"
    assert columns["relative_balance"][-1] < 1e-9 < columns["relative_balance"][0]
    assert columns["balance_W"][-1] == pytest.approx(
        columns["wall_x_min_W"][-1] + columns["wall_x_max_W"][-1] + columns["source_W"][-1], abs=1e-9)


def test_columns_that_the_material_cannot_fill_are_left_out(tmp_path):
    deck = slab(temperature(350), "insulated", material={"diffusivity": 1e-4})
    rows = run(tmp_path, deck)
    assert list(rows[0]) == ["sweep", "time_s", "residual", "relative_residual", "wall_s", "min_K", "max_K", "mean_K",
                             "nan_cells"]


def test_lines_hold_what_was_due(tmp_path):
    rows = run(tmp_path, slab(temperature(350), "insulated"), "problem.steps=100", "problem.check_interval=40",
               "output.diagnostics=30", "output.histogram.bins=3")
    assert [(row["sweep"], bool(row["residual"]), bool(row["mean_K"]), bool(row["balance_W"]), bool(row["hist_0"]))
            for row in rows] == [
        ("0", False, True, False, True), ("1", True, False, False, False), ("30", False, True, True, True),
        ("40", True, False, False, False), ("60", False, True, True, True), ("80", True, False, False, False),
        ("90", False, True, True, True), ("100", True, True, True, True)]
    plain = run(tmp_path, slab(temperature(350), "insulated", output={"snapshots": False}))
    assert list(plain[0]) == ["sweep", "time_s", "residual", "relative_residual", "wall_s"]


def test_numbers_are_those_of_the_snapshot(tmp_path):
    deck = slab(temperature(400), temperature(250), output={"diagnostics": 600, "histogram": {"bins": 10}})
    last = run(tmp_path, deck)[-1]
    with h5py.File(tmp_path / "out" / "deck_00000600.hdf") as file:
        field = file["temperature"][...]
    assert (float(last["min_K"]), float(last["max_K"])) == (field.min(), field.max())
    assert float(last["mean_K"]) == pytest.approx(np.mean(field, dtype=np.longdouble), rel=1e-15)
    histogram = runs.record(tmp_path / "out")["histogram"]
    assert (histogram["bins"], histogram["low_K"], histogram["high_K"]) == (10, 250, 400)
    counts, _ = np.histogram(field, bins=10, range=(250, 400))
    assert [int(last[f"hist_{i}"]) for i in range(10)] == list(counts)
    assert (last["hist_under"], last["hist_over"], last["nan_cells"]) == ("0", "0", "0")
    narrow = run(tmp_path, deck, "output.histogram.range=[270, 380]")[-1]
    assert int(narrow["hist_under"]) == (field < 270).sum() > 0
    assert int(narrow["hist_over"]) == (field > 380).sum() > 0


def test_ranks_write_the_same_numbers(tmp_path):
    deck = slab(WALLS["temperature in time"], WALLS["convection in time"])
    deck["sources"] = [{"shape": "sphere", "centre": [0.05, 0.01, 0.02], "radius": 0.02, "value": 1e7}]
    deck["output"]["histogram"] = {"bins": 12}

    def numbers(*overrides, ranks=0):
        rows = run(tmp_path, deck, *overrides, ranks=ranks)
        return [{name: value for name, value in row.items() if name != "wall_s"} for row in rows]

    alone = numbers()
    for ranks in (2, 5):
        assert numbers(ranks=ranks) == alone, ranks
    assert numbers("parallel.process_grid=[1, 3, 1]", ranks=3) == alone
    assert numbers("solver.kernel=reference", "solver.histogram=reference") == alone


def test_a_run_that_diverges_says_how_many_cells_it_lost(tmp_path):
    deck = slab(temperature(400), temperature(250))
    deck["problem"] = {"steps": 600, "dt": 10, "allow_unstable": True, "check_interval": 600}
    deck["output"]["histogram"] = {"bins": 2}
    (tmp_path / "deck.yaml").write_text(json.dumps(deck))
    assert isotherm("run", "deck.yaml", "--progress=off", "output.directory=out", cwd=tmp_path).returncode == 76
    with open(tmp_path / "out" / "history.csv", newline="") as file:
        last = list(csv.DictReader(file))[-1]
    assert (last["sweep"], last["residual"], last["mean_K"], last["balance_W"]) == ("600", "", "nan", "nan")
    counts = [int(last[name]) for name in ("hist_under", "hist_0", "hist_1", "hist_over", "nan_cells")]
    assert sum(counts) == 600 and counts[-1] > 0


STEEL = {"conductivity": 16, "density": 8000, "heat_capacity": 500}


def chip(cells, **source):
    """A box of 5 x 4 x 0.7 mm, on a plate whose cells it cuts wherever it can."""
    return {
        "grid": {"cells": cells, "lengths": [0.02, 0.02, 0.004]},
        "material": STEEL,
        "boundaries": {"z_min": {"kind": "temperature", "value": 300}},
        "initial": [{"shape": "constant", "value": 300}],
        "sources": [{"shape": "box", "from": [0.0071, 0.0083, 0.0019], "to": [0.0121, 0.0123, 0.0026], **source}],
        "problem": {"steps": 2},
        "output": {"diagnostics": 1, "snapshots": False},
    }


def run_deck(folder, deck, *arguments, ranks=0, code=0):
    (folder / "deck.yaml").write_text(json.dumps(deck))
    return ran("run", "deck.yaml", "--progress=off", "output.directory=out", "output.overwrite=true", *arguments,
               ranks=ranks, cwd=folder, OMP_NUM_THREADS="1", code=code)


@pytest.mark.parametrize("cells", ([7, 7, 3], [20, 20, 4], [33, 31, 13]))
@pytest.mark.parametrize("source", ({"power": 16}, {"value": 16 / (0.005 * 0.004 * 0.0007)}))
def test_a_box_of_16_watts_has_16_watts_on_any_grid(tmp_path, cells, source):
    deck = chip(cells, **source)
    done = run_deck(tmp_path, deck)
    record = json.loads((tmp_path / "out" / "run.json").read_text())["sources"]
    assert record["power_W"] == pytest.approx(16, rel=1e-12)
    line = f"sources +16 W in {record['cells']} cells"
    assert re.search(line, done.stdout)
    check = isotherm("check", "deck.yaml", cwd=tmp_path)
    assert re.search(line, check.stdout), check.stdout
    history = (tmp_path / "out" / "history.csv").read_text().splitlines()
    columns = dict(zip(history[0].split(","), history[-1].split(",")))
    assert float(columns["source_W"]) == pytest.approx(16, rel=1e-12)


def test_all_ranks_apply_the_same_sources(tmp_path):
    deck = chip([20, 18, 9], power=16)
    deck["sources"] += [{"shape": shape, "centre": [0.01, 0.012, 0.002], "radius": 0.0013, "power": 2, **more}
                        for shape, more in (("sphere", {}), ("cylinder", {"axis": "y", "length": 0.003}))]
    deck["sources"] += [{"shape": "gaussian", "centre": [0.005, 0.005, 0.002], "width": 0.0003, "power": 1}]
    fingerprints = set()
    for ranks, grid in ((1, "[1, 1, 1]"), (4, "[2, 2, 1]"), (6, "[1, 2, 3]")):
        run_deck(tmp_path, deck, f"parallel.process_grid={grid}", ranks=ranks)
        fingerprints.add(json.loads((tmp_path / "out" / "run.json").read_text())["fingerprint"])
    assert len(fingerprints) == 1


def test_a_source_outside_the_domain_is_refused_and_one_partly_outside_told(tmp_path):
    deck = chip([10, 10, 4], power=16)
    deck["sources"][0]["from"], deck["sources"][0]["to"] = [0.019, 0.01, 0], [0.021, 0.02, 0.004]
    done = run_deck(tmp_path, deck)
    assert "only 50 % of its heat is inside the domain" in done.stderr
    assert json.loads((tmp_path / "out" / "run.json").read_text())["sources"]["power_W"] == pytest.approx(8)
    deck["sources"][0]["from"][0], deck["sources"][0]["to"][0] = 0.03, 0.04
    assert "sources.0: lies outside the domain" in run_deck(tmp_path, deck, code=65).stderr


def test_the_banner_says_how_large_the_domain_is(tmp_path):
    assert "domain       20 x 20 x 4 mm, cells of 2 x 2 x 1 mm" in run_deck(tmp_path, chip([10, 10, 4], power=1)).stdout


# One cell between two held boundaries: 0.9 of the stability limit would take it beyond both.
@pytest.mark.parametrize("boundaries", (
    {"z_min": {"kind": "temperature", "value": 300}, "z_max": {"kind": "temperature", "value": 400}},
    {"z_min": {"kind": "convection", "ambient": 300, "coefficient": 1e6},
     "x_max": {"kind": "temperature", "value": 400}},
))
@pytest.mark.parametrize("cells", ([12, 10, 1], [12, 10, 2], [1, 1, 1]))
def test_no_temperature_leaves_the_range_of_its_surroundings(tmp_path, boundaries, cells):
    deck = chip(cells)
    del deck["sources"]
    deck["boundaries"] = boundaries
    deck["problem"]["steps"] = 40
    run_deck(tmp_path, deck)
    rows = [line.split(",") for line in (tmp_path / "out" / "history.csv").read_text().splitlines()]
    low, high = rows[0].index("min_K"), rows[0].index("max_K")
    for row in rows[1:]:
        assert float(row[low]) >= 300 * (1 - 1e-14) and float(row[high]) <= 400 * (1 + 1e-14)


def test_a_boundary_formula_below_0_kelvin_is_refused_with_cell_and_time(tmp_path):
    deck = chip([8, 8, 4], power=1)
    deck["boundaries"] = {"z_max": {"kind": "temperature", "value": "300 - 1e9*t*x"}}
    stopped = run_deck(tmp_path, deck, code=65)
    assert "boundaries.z_max.value" in stopped.stderr and "below absolute zero" in stopped.stderr


def test_dt_auto_meets_the_times_of_files(tmp_path):
    deck = chip([8, 8, 4], power=1)
    deck["problem"] = {"end_time": 3}
    deck["output"] = {"every_time": 0.375}
    run_deck(tmp_path, deck)
    times = sorted(float(h5py.File(file)["isotherm"].attrs["time"])
                   for file in (tmp_path / "out").glob("deck_*.hdf") if "checkpoint" not in file.name)
    assert times == pytest.approx([0.375 * i for i in range(9)], rel=1e-12)
