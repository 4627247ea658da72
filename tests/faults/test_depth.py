"""solver.halo_width: auto: what is taken follows from what was measured, and neither the field nor `check` depends on it."""

import re

import pytest

from program import isotherm, write_deck
import runs

DECK = """\
grid: {cells: [12, 16, 24], lengths: 1}
material: {diffusivity: 1}
boundaries: {x_min: {kind: temperature, value: "300 + 10*y"}}
initial: [{shape: formula, formula: "300 + 50*x + 7*y + 3*z*z"}]
problem: {steps: 40, check_interval: 20}
output: {snapshots: false}
"""
CPU = "parallel.device=cpu"


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, DECK)
    return tmp_path


def run(folder, ranks, *arguments):
    done = isotherm("run", "deck.yaml", CPU, "output.overwrite=true", *arguments, ranks=ranks, cwd=folder)
    assert done.returncode == 0, done.stderr
    return runs.record(folder / "runs/deck"), done.stdout


@pytest.fixture
def alone(folder):
    return run(folder, 1)[0]


def test_one_rank_has_nothing_to_weigh(alone):
    assert alone["method"]["depth"] == 1
    assert alone["method"]["depth_choice"] == {
        "automatic": True, "why": "no other rank to exchange with", "costs": None, "weighed": []}


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_depth_follows_from_what_was_measured(folder, alone, ranks):
    record, out = run(folder, ranks)
    depth, choice = record["method"]["depth"], record["method"]["depth_choice"]
    assert [each["depth"] for each in choice["weighed"]] == list(range(1, len(choice["weighed"]) + 1))
    assert len(choice["weighed"]) == 8
    cheap = [each["depth"] for each in choice["weighed"]
             if each["sweep_s"] <= 1.05 * min(each["sweep_s"] for each in choice["weighed"])]
    assert depth == cheap[0]
    costs = choice["costs"]
    assert costs["transport"] == "host" and min(costs["bandwidth_bytes_per_s"], costs["cell_s"], costs["trial_s"]) > 0
    assert costs["exchange_s"] + costs["message_s"] > 0
    assert f"halo_width: {depth}\n" in record["deck"]["resolved"]
    assert re.search(rf"^  depth +{depth} \(auto\): .* a sweep by estimate \(.* messages, .* cells\), .* at depth \d .*; "
                     r".* an exchange, .* a message, .* GB/s, .* ns a cell by host, measured in ", out, re.MULTILINE)
    assert record["fingerprint"] == alone["fingerprint"]


def test_one_rank_fuses_sweeps_as_a_trial_or_the_deck_says(folder, alone):
    record, out = run(folder, 1, "solver.kernel=temporal_openmp", "solver.tile=2rows")
    method = record["method"]
    fastest = min((t for t in method["tuning"]["trials"] if t["row"] == "temporal_openmp"), key=lambda t: t["seconds_s"])
    assert method["depth"] == 1 and method["fused"] == fastest["fused"]
    assert {1, 4} <= {t["fused"] for t in method["tuning"]["trials"]} <= set(range(1, 9))
    assert "halo_width: auto\n" in record["deck"]["resolved"]
    named, out = run(folder, 1, "solver.kernel=temporal_openmp", "solver.tile=2rows", "solver.reduction=fused",
                     "solver.halo_width=3")
    assert named["method"]["fused"] in (1, 2, 3) and named["method"]["depth"] == 3
    single, out = run(folder, 1, "solver.kernel=temporal_openmp", "boundaries.y_max={kind: temperature, value: 300 + 5*t}")
    assert (single["method"]["fused"], single["method"]["why_single"]) == (1, "walls vary in time")
    assert "depth 1, single sweeps (walls vary in time), " in out
    assert record["fingerprint"] == named["fingerprint"] == alone["fingerprint"]


LONG = "problem={kind: steady, max_sweeps: 100000000, tolerance: 0.5, criterion: absolute}"  # it converges soon, which nobody knows


def test_one_rank_around_a_periodic_axis_weighs_what_fused_sweeps_need(folder):
    around = ["boundaries={x_min: {kind: temperature, value: 310}, y_min: {kind: periodic}, y_max: {kind: periodic}}"]
    record, out = run(folder, 1, LONG, *around)
    method, choice = record["method"], record["method"]["depth_choice"]
    assert [each["depth"] for each in choice["weighed"]] == list(range(1, 9))
    assert method["depth"] == next(each["depth"] for each in choice["weighed"]
                                   if each["sweep_s"] <= 1.05 * min(e["sweep_s"] for e in choice["weighed"]))
    assert {each["messages"] for each in choice["weighed"]} == {0} and choice["costs"]["bandwidth_bytes_per_s"] > 0
    assert re.search(rf"^  depth +{method['depth']} \(auto\): ", out, re.MULTILINE)
    assert method["fused"] <= max(t["fused"] for t in method["tuning"]["trials"]) <= method["depth"]
    plain, _ = run(folder, 1, LONG, *around, "solver.kernel=reference", "solver.halo_width=1")
    deep, _ = run(folder, 1, LONG, *around, "solver.kernel=temporal_openmp", "solver.halo_width=4")
    assert record["fingerprint"] == plain["fingerprint"] == deep["fingerprint"]


def test_a_depth_of_the_deck_is_not_weighed(folder, alone):
    record, out = run(folder, 2, "solver.halo_width=3")
    assert record["method"]["depth"] == 3
    assert record["method"]["depth_choice"] == {"automatic": False, "why": None, "costs": None, "weighed": []}
    assert "(auto)" not in out
    assert record["fingerprint"] == alone["fingerprint"]


@pytest.mark.parametrize("change, why", [
    ("problem.check_interval=1", "something is due after every sweep"),
    ("output.diagnostics=1", "something is due after every sweep"),
    ("grid.cells=[1, 2, 2]", "blocks are one cell thin"),
])
def test_nothing_is_measured_where_only_one_depth_can_be(folder, change, why):
    record, out = run(folder, 2, change)
    assert record["method"]["depth"] == 1
    assert record["method"]["depth_choice"]["why"] == why and record["method"]["depth_choice"]["costs"] is None
    assert f"1 (auto): {why}\n" in out


def check(folder, *arguments):
    done = isotherm("check", "deck.yaml", CPU, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_check_leaves_open_what_only_a_run_can_measure(folder):
    out = check(folder, "--ranks", 2, "--resolved")
    assert "  halo_width: auto\n" in out
    assert re.search(r"^depth +auto: 1 to 8, by what exchanges and cells are measured to cost when the run starts; all "
                     "else here is of depth 1$", out, re.MULTILINE)
    assert re.search(r"^memory .* a rank of host memory \(.* at depth 8\), ", out, re.MULTILINE)


@pytest.mark.parametrize("arguments, depth", [([], "auto"), (["--ranks", 2, "solver.halo_width=3"], 3),
                                              (["--ranks", 2, "problem.check_interval=1"], 1)])
def test_check_settles_what_needs_no_measurement(folder, arguments, depth):
    out = check(folder, "--resolved", *arguments)
    assert f"  halo_width: {depth}\n" in out
    assert "\ndepth " not in out and "at depth" not in out


def test_check_tells_memory_of_deep_halos(folder):
    """Large enough that fields, not the measurement of bandwidth, are what a rank needs most of."""
    out = check(folder, "--ranks", 2, "grid.cells=[512, 512, 128]")
    shallow, deep = re.search(r"^memory +(\S+) MiB a rank of host memory \((\S+) MiB at depth 8\)", out,
                              re.MULTILINE).groups()
    assert float(shallow) < float(deep)
