"""What a run says at its end: how hot, where, when, and where the heat goes. The same on any ranks and kernels, and whether or not
the run was asked for diagnostics; of the run that was stopped, that makes no step, or that has converged."""

import json
import signal

import numpy as np
import pytest

from job import Job
from program import ran, write_deck
import runs

DECK = """
grid: {cells: [24, 16, 12], spacing: [1e-3, 2e-3, 3e-3], origin: [0.1, -0.2, 0]}
material: {conductivity: 20, density: 8000, heat_capacity: 500}
boundaries:
  x_min: {kind: temperature, value: "350 + 1000*y"}
  x_max: {kind: convection, ambient: 290, coefficient: 200}
  y_min: {kind: flux, value: 3e4}
initial: [{shape: formula, formula: "300 + 100*sin(300*x)*cos(80*y + 40*z)"}]
sources: [{shape: box, from: [0.11, -0.19, 0.01], to: [0.115, -0.18, 0.02], value: 1e7}]
problem: {kind: transient, steps: 60, check_interval: 20}
"""
STEADY = DECK.replace("problem: {kind: transient, steps: 60, check_interval: 20}",
                      "problem: {kind: steady, tolerance: 1e-12, criterion: relative, check_interval: 100}")


def run(folder, *overrides, deck=DECK, ranks=0, code=0):
    folder.mkdir(exist_ok=True)
    done = ran("run", write_deck(folder, deck), "output.directory=out", *overrides, ranks=ranks, cwd=folder, code=code)
    return done, runs.record(folder / "out")


def expect_extremes(end, field):
    """Of the cells of a file: the values, the first cells that have them, and their centres."""
    for name, value in (("highest", field.max()), ("lowest", field.min())):
        z, y, x = np.unravel_index(np.flatnonzero(field == value)[0], field.shape)
        assert end[name]["temperature_K"] == value and end[name]["cell"] == [x, y, z]
        assert end[name]["position_m"] == pytest.approx([0.1 + 1e-3 * (x + 0.5), -0.2 + 2e-3 * (y + 0.5), 3e-3 * (z + 0.5)])


def test_extremes_are_those_of_the_last_field_and_heat_that_of_history(tmp_path):
    done, record = run(tmp_path, "output.diagnostics=20")
    end, last = record["end_state"], runs.history(tmp_path / "out")[-1]
    expect_extremes(end, runs.cells(tmp_path / "out/deck_00000060.hdf"))
    assert (end["sweep"], end["time_s"], end["nan_cells"]) == (60, record["time_s"], 0)
    assert {name: float(last[f"wall_{name}_W"]) for name in end["heat"]["faces_W"]} == end["heat"]["faces_W"]
    assert (float(last["source_W"]), float(last["rate_W"]), float(last["balance_W"])) == (
        end["heat"]["sources_W"], end["heat"]["stored_W"], end["heat"]["balance_W"])
    assert end["heat"]["faces_W"]["y_min"] == pytest.approx(3e4 * 0.024 * 0.036) and end["heat"]["relative_balance"] < 1e-12
    lines = done.stdout.splitlines()
    assert lines[-1] == "RESULT: DONE" and lines[-2].startswith("  balance ") and lines[-7].startswith("  at the end ")
    hot = end["highest"]
    assert lines[-6].startswith(f"  highest      {hot['temperature_K']:.6g} K at (") and lines[-6].endswith(
        f"cell ({', '.join(map(str, hot['cell']))})")
    assert f"y_min {end['heat']['faces_W']['y_min']:.6g} W" in lines[-4]


@pytest.mark.parametrize("ranks, overrides", [
    (1, ["solver.kernel=temporal_openmp", "solver.reduction=fused"]),
    (1, ["solver.kernel=temporal_openmp", "solver.reduction=fused", "problem.check=asynchronous"]),
    (1, ["solver.kernel=reference", "output.diagnostics=7", "output.snapshots=false"]),
    (3, ["solver.kernel=openmp", "solver.halo_width=2"]),
    (2, ["solver.kernel=temporal_openmp", "solver.halo_width=3", "parallel.overlap=true"])])
def test_it_is_the_same_by_any_way(tmp_path, ranks, overrides):
    _, plain = run(tmp_path / "plain", "solver.kernel=reference", "solver.reduction=reference")
    _, other = run(tmp_path / "other", *overrides, ranks=ranks)
    assert other["fingerprint"] == plain["fingerprint"] and other["end_state"] == plain["end_state"]
    assert plain["end_state"]["heat"] is not None


def test_a_steady_run_stores_nothing(tmp_path):
    """Its heat is that of the last field: the same by fused sweeps, which keep no field of the sweep before."""
    done, record = run(tmp_path / "a", "solver.kernel=reference", deck=STEADY)
    end = record["end_state"]
    assert record["result"] == "CONVERGED" and done.stdout.endswith("; 0 in the steady state\nRESULT: CONVERGED\n")
    assert end["heat"]["stored_W"] is None and end["time_s"] == 0 and end["heat"]["relative_balance"] < 1e-6
    expect_extremes(end, runs.cells(next((tmp_path / "a/out").glob("*.hdf"))))
    _, other = run(tmp_path / "b", "solver.kernel=temporal_openmp", "solver.reduction=openmp", deck=STEADY)
    assert other["end_state"] == end


@pytest.mark.parametrize("overrides, why", [
    (["problem.steps=0"], "no step was made"),
    (["material={diffusivity: 5e-6}", "boundaries={}", "sources=[]"],
     "the deck does not give material.conductivity, density and heat_capacity")])
def test_why_heat_is_not_known(tmp_path, overrides, why):
    done, record = run(tmp_path, *overrides)
    end = record["end_state"]
    assert (end["heat"], end["why_no_heat"]) == (None, why) and f"  heat         not known: {why}\n" in done.stdout
    expect_extremes(end, runs.cells(sorted((tmp_path / "out").glob("*.hdf"))[-1]))


def test_a_diverged_run_has_no_answer(tmp_path):
    _, record = run(tmp_path, "problem.dt=10", "problem.allow_unstable=true", code=76)
    assert record["end_state"] is None and record["result"] == "FAILED"


def test_of_a_series_it_is_the_last_grid(tmp_path):
    deck = DECK.replace("grid: {cells: [24, 16, 12], spacing: [1e-3, 2e-3, 3e-3], origin: [0.1, -0.2, 0]}",
                        "grid: {cells: [8, 8, 8], lengths: [0.024, 0.032, 0.036], origin: [0.1, -0.2, 0]}")
    _, record = run(tmp_path, "verify={solution: formula, formula: '300', order: [8, 12, 16], order_tolerance: 16}", deck=deck)
    assert record["grid"]["cells"] == [16, 16, 16] and record["result"] == "VERIFIED"
    field = runs.cells(sorted((tmp_path / "out").glob("*.hdf"))[-1])
    assert field.shape == (16, 16, 16) and record["end_state"]["highest"]["temperature_K"] == field.max()


def test_of_a_stopped_run_it_is_where_it_stopped(tmp_path):
    job = Job(tmp_path)
    job.wait_for("history.csv")
    job.send(signal.SIGTERM)
    code, out, err = job.end()
    assert code == 75, err
    end = runs.record(job.out)["end_state"]
    field = runs.cells(next(job.out.glob("*.checkpoint.hdf")))
    assert end["highest"]["temperature_K"] == field.max() and end["lowest"]["temperature_K"] == field.min()
    assert f"{end['sweep']:08d}" in next(job.out.glob("*.checkpoint.hdf")).name
    assert out.splitlines()[-1] == "RESULT: STOPPED" and "\n  highest " in out


def test_info_says_it_of_a_file(tmp_path):
    """Extremes from the cells; the heat where run.json beside it is of the same field."""
    done, _ = run(tmp_path, "output.slices=[{axis: z, cell: 5}]", "output.coarse.factor=2", "output.every_steps=30")
    said = {line.split()[0]: line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("  ") and line.split()}
    out = tmp_path / "out"

    def info(name):
        told = ran("info", out / name)
        return {line[:14].strip(): line[14:] for line in told.stdout.splitlines() if line[:14].strip()}

    last, middle = info("deck_00000060.hdf"), info("deck_00000030.hdf")
    assert (last["highest"], last["lowest"], last["balance"]) == (said["highest"], said["lowest"], said["balance"])
    assert "balance" not in middle and middle["highest"] != last["highest"]
    plane = runs.cells(out / "deck_slice_z5_00000060.hdf")
    _, y, x = np.unravel_index(plane.argmax(), plane.shape)
    assert info("deck_slice_z5_00000060.hdf")["highest"].endswith(f", cell ({x}, {y}, 5)")
    assert info("deck_coarse_00000060.hdf")["highest"].endswith("and on (the mean of a coarse cell)")
    for text in ("", "{", "[]", json.dumps({"fingerprint": None})):
        (out / "run.json").write_text(text)
        assert "balance" not in info("deck_00000060.hdf")
