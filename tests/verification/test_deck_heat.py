"""The heat of a run is that of its deck, on any grid; temperatures stay between those of their surroundings."""

import json
import re

import h5py
import pytest
from program import isotherm

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


def run(folder, deck, *arguments, ranks=0, code=0):
    (folder / "deck.yaml").write_text(json.dumps(deck))
    done = isotherm("run", "deck.yaml", "--progress=off", "output.directory=out", "output.overwrite=true", *arguments,
                    ranks=ranks, cwd=folder, OMP_NUM_THREADS="1")
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("cells", ([7, 7, 3], [20, 20, 4], [33, 31, 13]))
@pytest.mark.parametrize("source", ({"power": 16}, {"value": 16 / (0.005 * 0.004 * 0.0007)}))
def test_a_box_of_16_watts_has_16_watts_on_any_grid(tmp_path, cells, source):
    deck = chip(cells, **source)
    done = run(tmp_path, deck)
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
        run(tmp_path, deck, f"parallel.process_grid={grid}", ranks=ranks)
        fingerprints.add(json.loads((tmp_path / "out" / "run.json").read_text())["fingerprint"])
    assert len(fingerprints) == 1


def test_a_source_outside_the_domain_is_refused_and_one_partly_outside_told(tmp_path):
    deck = chip([10, 10, 4], power=16)
    deck["sources"][0]["from"], deck["sources"][0]["to"] = [0.019, 0.01, 0], [0.021, 0.02, 0.004]
    done = run(tmp_path, deck)
    assert "only 50 % of its heat is inside the domain" in done.stderr
    assert json.loads((tmp_path / "out" / "run.json").read_text())["sources"]["power_W"] == pytest.approx(8)
    deck["sources"][0]["from"][0], deck["sources"][0]["to"][0] = 0.03, 0.04
    assert "sources.0: lies outside the domain" in run(tmp_path, deck, code=65).stderr


def test_the_banner_says_how_large_the_domain_is(tmp_path):
    assert "domain       20 x 20 x 4 mm, cells of 2 x 2 x 1 mm" in run(tmp_path, chip([10, 10, 4], power=1)).stdout


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
    run(tmp_path, deck)
    rows = [line.split(",") for line in (tmp_path / "out" / "history.csv").read_text().splitlines()]
    low, high = rows[0].index("min_K"), rows[0].index("max_K")
    for row in rows[1:]:
        assert float(row[low]) >= 300 * (1 - 1e-14) and float(row[high]) <= 400 * (1 + 1e-14)


def test_a_boundary_formula_below_0_kelvin_is_refused_with_cell_and_time(tmp_path):
    deck = chip([8, 8, 4], power=1)
    deck["boundaries"] = {"z_max": {"kind": "temperature", "value": "300 - 1e9*t*x"}}
    stopped = run(tmp_path, deck, code=65)
    assert "boundaries.z_max.value" in stopped.stderr and "below absolute zero" in stopped.stderr


def test_dt_auto_meets_the_times_of_files(tmp_path):
    deck = chip([8, 8, 4], power=1)
    deck["problem"] = {"end_time": 3}
    deck["output"] = {"every_time": 0.375}
    run(tmp_path, deck)
    times = sorted(float(h5py.File(file)["isotherm"].attrs["time"])
                   for file in (tmp_path / "out").glob("deck_*.hdf") if "checkpoint" not in file.name)
    assert times == pytest.approx([0.375 * i for i in range(9)], rel=1e-12)
