"""A floor plan is the boxes that its file names, and what is wrong with one is said with file and line."""

import pytest

from bodies import run

LOW, HIGH = [1e-3, 1e-3, 2e-3], [9e-3, 9e-3, 3e-3]
PLAN = """\
name,power,x,y,width,height
# edges on no grid; B gives no heat
"A",3,0,0,2.5e-3,8e-3
B,0,2.5e-3,0,1e-3,8e-3
C, -2 ,3.5e-3,0.25e-3,1e-3,1e-3
"""
BEFORE, AFTER = ({"shape": "constant", "value": 1e4}, {"shape": "box", "from": [0, 0, 0], "to": [1e-3] * 3, "power": 1})


def deck(*sources):
    return {"grid": {"cells": [10, 10, 4], "spacing": 1e-3}, "material": {"conductivity": 10},
            "boundaries": {"z_min": {"kind": "convection", "coefficient": 100, "ambient": 300}},
            "initial": [{"shape": "constant", "value": 300}], "sources": list(sources), "problem": {"kind": "steady"}}


def planned(**more):
    return {"shape": "box", "from": LOW, "to": HIGH, "power": {"floorplan": "plan.csv"}, **more}


def fingerprint(folder, sources, name):
    return run(folder, deck(*sources), name=name)["fingerprint"]


def test_a_floor_plan_is_its_boxes(tmp_path):
    (tmp_path / "plan.csv").write_text(PLAN)
    boxes = [{"shape": "box", "from": LOW, "to": [1e-3 + 2.5e-3, 1e-3 + 8e-3, 3e-3], "power": 3, "mode": "add"},
             {"shape": "box", "from": [1e-3 + 3.5e-3, 1e-3 + 0.25e-3, 2e-3],
              "to": [1e-3 + 3.5e-3 + 1e-3, 1e-3 + 0.25e-3 + 1e-3, 3e-3], "power": -2, "mode": "add"}]
    found = fingerprint(tmp_path, [BEFORE, planned(), AFTER], "plan")
    assert found == fingerprint(tmp_path, [BEFORE, *boxes, AFTER], "boxes")
    assert found != fingerprint(tmp_path, [BEFORE, AFTER], "none")


@pytest.mark.parametrize("line, words", [
    ("D,1,7.5e-3,0,1e-3,1e-3", ["block 'D' reaches", "plan.csv, line 6"]),
    ("D,1,-1e-3,0,1e-3,1e-3", ["block 'D' reaches", "plan.csv, line 6"]),
    ("D,1,0,0,0,1e-3", ["0 m long along x", "plan.csv, line 6"]),
    ("D,1,0,0", ["plan.csv, line 6 has 4 values"]),
    ("D,1 W,0,0,1e-3,1e-3", ["'1 W' is not a number", "plan.csv, line 6, power"])])
def test_a_wrong_line_is_named(tmp_path, line, words):
    (tmp_path / "plan.csv").write_text(PLAN + line + "\n")
    said = run(tmp_path, deck(planned()), code={65})
    assert all(word in said for word in ["sources.0.power", *words])


@pytest.mark.parametrize("more, plan, words", [
    ({}, None, "cannot be read"), ({}, "", "is empty"), ({}, "name,x,y,width,height\n", "has no column 'power'"),
    ({"shape": "gaussian"}, PLAN, "write shape: box"), ({"from": ["t", 0, 0]}, PLAN, "three numbers"),
    ({"power": {"floorplan": "plan.csv", "scale": 2}}, PLAN, "the name of a file and no more")])
def test_a_wrong_plan_is_refused(tmp_path, more, plan, words):
    if plan is not None:
        (tmp_path / "plan.csv").write_text(plan)
    assert words in run(tmp_path, deck(planned(**more)), code={65})
