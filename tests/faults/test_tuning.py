"""solver.kernel: auto and solver.tuning_file: what is tried is reported, kept, and taken from the file."""

import json

import pytest
from cli import BASE_DECK, isotherm

import runs


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deck.yaml").write_text(BASE_DECK)
    return tmp_path


def run(folder, *overrides, code=0):
    result = isotherm("run", "deck.yaml", "output.overwrite=true", *overrides, cwd=folder)
    assert result.code == code, result.err
    return result, runs.record(folder / "runs/deck")


def test_a_trial_is_reported(folder):
    result, record = run(folder, "parallel.device=cpu")
    method = record["method"]
    tuning = method["tuning"]
    assert tuning["source"] == "trial" and tuning["file"] is None
    assert tuning["trial_cells"] == [8, 9, 10] and 0 < tuning["trial_s"] < 30
    tried = [(t["row"], t["policy"]) for t in tuning["trials"]]
    assert (method["kernel"], method["policy"]) in tried and (method["reduction"], None) in tried
    sweeps = [t for t in tuning["trials"] if t["policy"]]
    assert min(sweeps, key=lambda t: t["seconds_s"])["policy"] == method["policy"]
    assert f"{method['kernel']} {method['policy']}" in result.out
    assert f"fastest of {len(tried)} tried in " in result.out


LONG = "problem={kind: steady, max_sweeps: 100000000, tolerance: 0.5, criterion: absolute}"  # it converges soon, which nobody knows
HELD = "boundaries={x_min: {kind: temperature, value: 400}}"


def test_long_runs_try_launches_that_fuse_sweeps(folder):
    """What is taken is the fastest of what was measured, with its policy and its sweeps a launch."""
    result, record = run(folder, "parallel.device=cpu", LONG, HELD)
    method = record["method"]
    sweeps = [t for t in method["tuning"]["trials"] if t["policy"]]
    fastest = min(sweeps, key=lambda t: t["seconds_s"])
    assert {key: fastest[key] for key in ("row", "policy", "fused")} == {
        "row": method["kernel"], "policy": method["policy"], "fused": method["fused"]}
    assert {t["fused"] for t in sweeps if t["row"] == "openmp"} == {1}
    assert {4} <= {t["fused"] for t in sweeps if t["row"] == "temporal_openmp"} <= set(range(2, 9))  # there is a limit of time
    assert len({(t["row"], t["policy"], t["fused"]) for t in sweeps}) == len(sweeps)
    assert all(t["kernel"] is None for t in sweeps)
    assert method["why_single"] == (None if method["fused"] > 1 else "the fastest by trial")
    how = f"{method['fused']} sweeps a launch" if method["fused"] > 1 else "single sweeps (the fastest by trial)"
    assert f", {how}, " in result.out and " a sweep fused, " in result.out
    _, plain = run(folder, "parallel.device=cpu", LONG, HELD, "solver.kernel=reference")
    assert record["fingerprint"] == plain["fingerprint"]


def test_a_short_run_says_that_it_tries_single_sweeps_alone(folder):
    result, record = run(folder, "parallel.device=cpu")
    assert record["method"]["why_single"] == "the run is too short to try others"
    assert {t["fused"] for t in record["method"]["tuning"]["trials"]} == {1}
    assert ", single sweeps (the run is too short to try others), " in result.out


def test_a_long_run_tries_what_a_short_one_did_not(folder):
    arguments = ["solver.tuning_file=tuning.json", "parallel.device=cpu", HELD]
    entry = lambda: json.loads((folder / "tuning.json").read_text())["entries"][0]["choice"]  # noqa: E731
    short = "problem={kind: steady, max_sweeps: 10, tolerance: 1e-30}"
    run(folder, *arguments, short, code=10)
    assert entry()["single"] is True
    assert run(folder, *arguments, short, code=10)[1]["method"]["tuning"]["source"] == "file"
    method = run(folder, *arguments, LONG)[1]["method"]
    assert method["tuning"]["source"] == "trial" and entry()["single"] is False
    assert (entry()["kernel"], entry()["policy"], entry()["fused"]) == (method["kernel"], method["policy"], method["fused"])
    for problem, code in ((LONG, 0), (short, 10)):
        again = run(folder, *arguments, problem, code=code)[1]["method"]
        assert again["tuning"]["source"] == "file" and again["fused"] == method["fused"]


def test_what_the_deck_names_is_not_tried(folder):
    words = ["solver.kernel=openmp", "solver.tile=1plane", "solver.reduction=openmp"]
    result, record = run(folder, *words)
    assert record["method"]["tuning"]["source"] == "deck" and record["method"]["tuning"]["trials"] == []
    assert (record["method"]["kernel"], record["method"]["policy"]) == ("openmp", "1plane")
    assert "tried" not in result.out


def test_a_file_remembers(folder):
    _, first = run(folder, "solver.tuning_file=tuning.json", "parallel.device=cpu")
    assert first["method"]["tuning"]["source"] == "trial" and first["method"]["tuning"]["file"] == "tuning.json"
    kept = json.loads((folder / "tuning.json").read_text())
    assert [e["key"]["cells"] for e in kept["entries"]] == [[8, 9, 10]]
    # What the file says is taken, whatever a trial would find.
    kept["entries"][0]["choice"].update(policy="1plane", reduction="openmp")
    (folder / "tuning.json").write_text(json.dumps(kept))
    result, second = run(folder, "solver.tuning_file=tuning.json", "parallel.device=cpu")
    method = second["method"]
    assert method["tuning"]["source"] == "file" and method["tuning"]["trials"] == []
    assert (method["policy"], method["reduction"]) == ("1plane", "openmp")
    assert "as tuning.json says" in result.out
    assert second["fingerprint"] == first["fingerprint"]
    # Another shape is another entry.
    _, third = run(folder, "solver.tuning_file=tuning.json", "grid.cells=12", "parallel.device=cpu")
    assert third["method"]["tuning"]["source"] == "trial"
    assert len(json.loads((folder / "tuning.json").read_text())["entries"]) == 2


def test_a_file_that_names_rows_of_another_program_is_tried_again(folder):
    run(folder, "solver.tuning_file=tuning.json", "parallel.device=cpu")
    kept = json.loads((folder / "tuning.json").read_text())
    kept["entries"][0]["choice"]["kernel"] = "gone"
    (folder / "tuning.json").write_text(json.dumps(kept))
    _, record = run(folder, "solver.tuning_file=tuning.json", "parallel.device=cpu")
    assert record["method"]["tuning"]["source"] == "trial"
    assert json.loads((folder / "tuning.json").read_text())["entries"][0]["choice"]["kernel"] == "openmp"


@pytest.mark.parametrize("text", ["hello", "{}"])
def test_what_is_no_tuning_file_is_refused_before_work(folder, text):
    (folder / "notes.txt").write_text(text)
    result = isotherm("run", "deck.yaml", "solver.tuning_file=notes.txt", "parallel.device=cpu", cwd=folder)
    assert result.code == 65
    assert result.err.startswith("'notes.txt' is no tuning file of this version (")
    assert result.err.endswith("; name another in solver.tuning_file, or remove it\n")
    assert sorted(p.name for p in folder.iterdir()) == ["deck.yaml", "notes.txt"]
    assert (folder / "notes.txt").read_text() == text


def test_a_file_that_cannot_be_kept_is_a_warning(folder):
    result, record = run(folder, "solver.tuning_file=no/such/folder/t.json", "parallel.device=cpu")
    assert "the tuning is not kept: " in result.err
    assert any("the tuning is not kept" in w for w in record["warnings"])


@pytest.mark.parametrize("overrides, line", [
    (["solver.tile=1plane"],
     "argument 3: solver.tile: '1plane' is a tile of one kernel (solver.kernel is auto); name the kernel too, or "
     "use auto"),
    (["solver.tile=9planes", "solver.kernel=openmp"],
     "argument 3: solver.tile: '9planes' is no tile of kernel openmp; use auto or one of: 3planes, 1plane, 4planes_lines"),
])
def test_wrong_policies(folder, overrides, line):
    result = isotherm("run", "deck.yaml", *overrides, cwd=folder)
    assert (result.code, result.err) == (65, line + "\n")
    assert [p.name for p in folder.iterdir()] == ["deck.yaml"]


def test_a_wrong_formula_leaves_no_tuning_file(folder):
    """Nothing is written before all that can be wrong with a deck has been looked at."""
    result = isotherm("run", "deck.yaml", "solver.tuning_file=tuning.json", "parallel.device=cpu",
                      "initial=[{shape: formula, formula: 1/(x-0.0625)}]", cwd=folder)
    assert result.code == 65, result.err
    assert [p.name for p in folder.iterdir()] == ["deck.yaml"]


def test_sums_that_decide_are_always_those_of_one_row(folder):
    """The sums of two rows differ in their last digits: what is faster today must not say when a run stops."""
    for norm in ("l1", "l2"):
        problem = f"problem={{kind: steady, norm: {norm}, max_sweeps: 3, tolerance: 1e-30}}"
        wall = "boundaries={x_min: {kind: temperature, value: 400}}"
        _, record = run(folder, "parallel.device=cpu", problem, wall, code=10)
        assert record["method"]["reduction"] == "openmp"
