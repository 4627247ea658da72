"""A floor plan equals the boxes in its file, and errors are reported with file and line."""

import pytest

from bodies import check, expect_the_same_bits_after_a_restart, run

LOW, HIGH = [1e-3, 1e-3, 2e-3], [9e-3, 9e-3, 3e-3]
PLAN = """\
name,power,x,y,width,height
  # edges on no grid; B gives no heat
"A, left",3,0,0,2.5e-3,8e-3
B,0,2.5e-3,0,1e-3,8e-3
C, -2 ,3.5e-3,0.25e-3,1e-3,1e-3
"""
BEFORE, AFTER = ({"shape": "constant", "value": 1e4}, {"shape": "box", "from": [0, 0, 0], "to": [1e-3] * 3, "power": 1})


def deck(*sources):
    return {"grid": {"cells": [10, 10, 4], "spacing": 1e-3}, "material": {"conductivity": 10},
            "boundaries": {"z_min": {"kind": "convection", "coefficient": 100, "ambient": 300}},
            "sources": list(sources), "problem": {"kind": "steady"}}


def planned(**more):
    return {"shape": "box", "from": LOW, "to": HIGH, "power": {"floorplan": "plan.csv"}, **more}


def block(x, y, width, height, power):
    """The box of a block whose lower corner is at x, y of the plan."""
    low = [LOW[0] + x, LOW[1] + y, LOW[2]]
    high = [low[0] + width, low[1] + height, HIGH[2]]
    return {"shape": "box", "from": low, "to": high, "power": power, "mode": "add"}


def fingerprint(folder, sources, name):
    return run(folder, deck(*sources), name=name)["fingerprint"]


def test_a_floor_plan_is_its_boxes(tmp_path):
    (tmp_path / "plan.csv").write_text(PLAN)
    boxes = [block(0, 0, 2.5e-3, 8e-3, 3), block(3.5e-3, 0.25e-3, 1e-3, 1e-3, -2)]
    found = fingerprint(tmp_path, [BEFORE, planned(), AFTER], "plan")
    assert found == fingerprint(tmp_path, [BEFORE, *boxes, AFTER], "boxes")
    assert found != fingerprint(tmp_path, [BEFORE, AFTER], "none")
    (tmp_path / "plan.csv").write_text("\ufeff" + PLAN, encoding="utf-8")  # a byte order mark
    assert found == fingerprint(tmp_path, [BEFORE, planned(), AFTER], "marked")


def test_messages_name_the_sources_of_the_deck(tmp_path):
    (tmp_path / "plan.csv").write_text(PLAN)
    half_out = {"from": [*LOW[:2], 3e-3], "to": [*HIGH[:2], 5e-3]}
    said = check(tmp_path, deck(planned(**half_out), {**AFTER, "from": [9e-3, 0, 0], "to": [11e-3, 1e-3, 1e-3]}))
    assert "sources.0 (block C): only 50 %" in said and "sources.1: only 50 %" in said, said


TRACE = """\
time,spare,p0,p1
0,1,2,4
10,x,6,0
30,1,6,8
"""
TRACED = PLAN.replace("B,0,", "B,p1,").replace("C, -2 ,", "C,p0,")


def traced(method="implicit", **more):
    return {**deck(planned(power={"floorplan": "plan.csv", "trace": "trace.csv", **more})),
            "material": {"conductivity": 10, "density": 2000, "heat_capacity": 800},
            "problem": {"method": method, "steps": 20, "dt": 2 if method == "implicit" else 0.02}}


@pytest.mark.parametrize("interpolation", ["linear", "step"])
def test_blocks_take_columns_of_a_trace(tmp_path, interpolation):
    (tmp_path / "plan.csv").write_text(TRACED)
    (tmp_path / "trace.csv").write_text(TRACE.replace("time", "t_s"))
    more = {"time": "t_s", "interpolation": interpolation}
    body = traced(**more)
    record = run(tmp_path, body)
    assert record["sources"]["power_W"] == pytest.approx(3 + 2 + 4, rel=1e-12)
    assert record["end_state"]["heat"]["sources_W"] == pytest.approx(3 + 6 + 8, rel=1e-12)
    assert record["end_state"]["heat"]["relative_balance"] <= 1e-9
    table = {"table": "trace.csv", **more}
    body["sources"] = [block(0, 0, 2.5e-3, 8e-3, 3), block(2.5e-3, 0, 1e-3, 8e-3, {**table, "column": "p1"}),
                       block(3.5e-3, 0.25e-3, 1e-3, 1e-3, {**table, "column": "p0"})]
    assert run(tmp_path, body, name="tables")["fingerprint"] == record["fingerprint"]


def test_a_trace_restarts_to_the_same_bits(tmp_path):
    (tmp_path / "plan.csv").write_text(TRACED)
    (tmp_path / "trace.csv").write_text(TRACE.replace("10,x", "0.1,1").replace("30,", "0.3,"))
    expect_the_same_bits_after_a_restart(tmp_path, traced("euler", interpolation="step"), "problem.steps=7")


@pytest.mark.parametrize("power, trace, words", [
    ({}, TRACE, ["'p1' is not a number", "plan.csv, line 4, power", "trace"]),
    ({"trace": "trace.csv"}, TRACE.replace("p0", "q0"), ["trace.csv has no column 'p0'", "plan.csv, line 5, power"]),
    ({"trace": "trace.csv"}, TRACE.replace("6,0", "6,?"), ["'?' is not a number", "trace.csv, line 3, p1", "plan.csv, line 4"]),
    ({"trace": "trace.csv"}, TRACE.replace("time", "t_s"), ["no column 'time'"]),
    ({"trace": "none.csv"}, TRACE, ["none.csv cannot be read"]),
    ({"trace": ["trace.csv"]}, TRACE, ["'trace' is no part"])], ids=["none", "column", "number", "time", "file", "list"])
def test_a_wrong_trace_is_named(tmp_path, power, trace, words):
    (tmp_path / "plan.csv").write_text(TRACED)
    (tmp_path / "trace.csv").write_text(trace)
    body = {**traced(), "sources": [planned(power={"floorplan": "plan.csv", **power})]}
    said = run(tmp_path, body, code={65})
    assert all(word in said for word in ["sources.0.power", *words]), said


def test_blocks_that_overlap_are_warned_of(tmp_path):
    (tmp_path / "plan.csv").write_text(PLAN)
    assert "overlap" not in check(tmp_path, deck(planned()))
    (tmp_path / "plan.csv").write_text(PLAN + "D,1,3.4e-3,1e-3,1e-3,1e-3\nE,0,0,0,8e-3,8e-3\n")
    said = check(tmp_path, deck(planned()))
    assert "sources.0.power: blocks 'B' and 'D' overlap (" in said and "plan.csv, line 4" in said and "; 5 more pairs)" in said, said


@pytest.mark.parametrize("plan, more, words", [
    *((f"{PLAN}{line}\n", {}, ["sources.0.power", *words]) for line, words in [
        ("D,1,7.5e-3,0,1e-3,1e-3", ["block 'D' reaches", "plan.csv, line 6"]),
        ("D,1,-1e-3,0,1e-3,1e-3", ["block 'D' reaches", "plan.csv, line 6"]),
        ("D,1,0,0,0,1e-3", ["0 m long along x", "plan.csv, line 6"]),
        ("D,1,0,0", ["plan.csv, line 6 has 4 values"]),
        ("B,1,5e-3,0,1e-3,1e-3", ["block 'B' appears twice", "plan.csv, line 6", "plan.csv, line 4"]),
        ('D,"1,5",0,0,1e-3,1e-3', ["'1,5' is not a number", "plan.csv, line 6, power"]),
        ("D,1,5,0,0,1e-3,1e-3", ["plan.csv, line 6 has more values"]),
        ("D,1 W,0,0,1e-3,1e-3", ["'1 W' is not a number", "plan.csv, line 6, power"])]),
    (None, {}, ["cannot be read"]), ("", {}, ["is empty"]), (PLAN.replace("power", "power,power", 1), {}, ["names column 'power' twice"]), ("name,x,y,width,height\n", {}, ["has no column 'power'"]),
    (PLAN, {"shape": "gaussian"}, ["write shape: box"]), (PLAN, {"from": ["t", 0, 0]}, ["three numbers"]),
    *((head, {}, ["has no column", "UTF-8"]) for head in ("name;x;y\n", "PK\x03\x04\x1b[2J\x07,x\n", "\udcff\udcfen\0a\0m\0e\0,\0\n")),
    (PLAN, {"power": {"floorplan": "x" * 300}}, ["cannot be read"]), (PLAN, {"power": {"table": ""}}, ["write table: FILE"]),
    (PLAN, {"power": {"floorplan": "plan.csv", "scale": 2}}, ["'scale' is no part"])])
def test_a_wrong_plan_is_refused(tmp_path, plan, more, words):
    if plan is not None:
        (tmp_path / "plan.csv").write_text(plan, encoding="utf-8", errors="surrogateescape")
    said = run(tmp_path, deck(planned(**more)), code={65})
    assert all(word in said for word in words) and all(c >= " " or c == "\n" for c in said), said
