"""What runs of right and of unsolvable problems end in: exit code, message, record and files."""

import os
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from cli import BASE_DECK, isotherm

import runs

INPUTS = sorted((Path(__file__).parents[2] / "inputs").glob("*.yaml"))
FIXED = {"deck.yaml", "deck.resolved.yaml", "history.csv", "run.json", "run.log"}
STEADY = BASE_DECK.replace("steps: 10", "kind: steady\n  max_sweeps: 20000").replace(
    "diffusivity: 1", "conductivity: 2")
MEAN = "problem.mean_temperature=321.5"
IN_BY_X = "boundaries.x_min={kind: flux, value: 100}"


@pytest.fixture
def run(tmp_path):
    def run_deck(deck, *overrides):
        (tmp_path / "deck.yaml").write_text(deck)
        return isotherm("run", "deck.yaml", "--progress=off", "output.directory=out", *overrides, cwd=tmp_path)

    return run_deck


def record(folder):
    return runs.record(folder / "out")


def snapshots(folder):
    return sorted(path.name for path in (folder / "out").glob("*.hdf"))


def field(path):
    with h5py.File(path) as file:
        return file["temperature"][...]


def test_there_are_decks():
    assert INPUTS


@pytest.mark.parametrize("deck", INPUTS, ids=lambda path: path.name)
def test_every_deck_of_inputs_passes_check(tmp_path, deck):
    result = isotherm("check", str(deck), cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    assert os.listdir(tmp_path) == []


def test_no_steps_write_the_initial_state(run, tmp_path):
    assert run(BASE_DECK, "problem.steps=0").code == 0
    assert snapshots(tmp_path) == ["deck_00000000.hdf"]
    assert (field(tmp_path / "out" / "deck_00000000.hdf") == 300).all()
    assert record(tmp_path)["performance"]["sweeps"] == 0


def test_an_interval_beyond_the_end_writes_initial_and_final_state(run, tmp_path):
    result = run(BASE_DECK, "output.every_steps=100")
    assert (result.code, result.err) == (
        0, "warning: argument 5: output.every_steps: 100 is more than the 10 steps of the run; only the first and the "
           "last are written\n")
    assert snapshots(tmp_path) == ["deck_00000000.hdf", "deck_00000010.hdf"]


def test_no_snapshots_on_request(run, tmp_path):
    assert run(BASE_DECK, "output.snapshots=false").code == 0
    assert set(os.listdir(tmp_path / "out")) == FIXED
    assert record(tmp_path)["files"] == []


def test_a_steady_problem_without_a_unique_solution(run, tmp_path):
    result = run(STEADY)
    assert (result.code, result.err) == (
        65, "deck.yaml:8:1: problem: a steady problem with no temperature or convection wall has no unique solution "
            "(any constant may be added); give a wall a temperature, or set problem.mean_temperature\n")
    assert os.listdir(tmp_path) == ["deck.yaml"]


@pytest.mark.parametrize("flux, line", [
    ("100", "and 100 W more heat enters the body through sources and fluxes than leaves)"),
    ("-0.25", "and 0.25 W more heat leaves the body through sources and fluxes than enters)")])
def test_an_unbalanced_steady_problem(run, flux, line):
    result = run(STEADY, MEAN, f"boundaries.x_min={{kind: flux, value: {flux}}}")
    assert (result.code, result.err) == (
        65, "argument 6: boundaries: the steady problem has no solution (no wall fixes the temperature, "
            f"{line}; balance them, or make one wall temperature or convection\n")


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_a_balanced_steady_problem_keeps_the_mean(run, tmp_path, precision):
    result = run(STEADY, MEAN, IN_BY_X, "boundaries.x_max={kind: flux, value: -100}", f"precision={precision}",
                 "problem.tolerance=1e-3")
    assert (result.code, result.err) == (0, "")
    solution = field(tmp_path / "out" / record(tmp_path)["files"][-1]).astype(np.float64)
    assert abs(solution.mean() - 321.5) < (1e-9 if precision == "fp64" else 1e-3)
    rise = solution[:, :, 0].mean() - solution[:, :, -1].mean()  # 100 W/m^2 over 7/8 m of 2 W/(m K)
    assert abs(rise - 100 / 2 * 7 / 8) < 0.5


def test_a_balanced_steady_problem_without_a_mean(run):
    result = run(STEADY, IN_BY_X, "boundaries.x_max={kind: flux, value: -100}")
    assert result.code == 65
    assert "has no unique solution" in result.err


def test_divergence_names_cell_and_sweep_and_leaves_the_field(run, tmp_path):
    """A checkerboard grows by |1 - 4 * 3| = 11 a step at three times the limit: beyond all heat within 100 steps."""
    result = run(BASE_DECK, "problem.dt=0.00612", "problem.allow_unstable=true", "problem.steps=2000",
                 "initial=[{shape: formula, formula: \"300 + sin(500*x) + cos(700*y) + sin(900*z)\"}]")
    assert result.code == 76
    limit = 1 / (2 * (8**2 + 9**2 + 10**2))
    assert 0.00612 > 2.9 * limit
    text = result.err
    assert text.count("\n") == 1
    found = re.fullmatch(r"diverged: cell \((\d+), (\d+), (\d+)\) has reached \S+ K after sweep 100 \(residuals are checked "
                         r"every 100 sweeps\); keep problem\.dt below the stability limit " + re.escape(f"{limit:.6g}") +
                         r" s and look at walls and sources, and at the field in deck_00000100\.diverged\.hdf\n", text)
    assert found, text
    assert all(int(i) < n for i, n in zip(found.groups(), (8, 9, 10)))
    written = record(tmp_path)
    assert (written["exit_code"], written["result"], written["message"]) == (76, "FAILED", text.rstrip("\n"))
    assert snapshots(tmp_path) == written["files"] == ["deck_00000100.diverged.hdf"]
    assert not (tmp_path / "out" / "deck.hdf.series").exists()
    cells = field(tmp_path / "out" / "deck_00000100.diverged.hdf")
    x, y, z = map(int, found.groups())
    assert abs(cells[z, y, x]) == np.abs(cells).max() > 1e9
    assert isotherm("info", "out/deck_00000100.diverged.hdf", cwd=tmp_path).code == 0


@pytest.mark.parametrize("word, key", [
    ("boundaries.x_min={kind: temperature, value: 1e11}", r"argument 5: boundaries\.x_min\.value is 1e\+11"),
    ("sources=[{shape: constant, value: 1e16}]", r"argument 5: sources\.0\.value is 1e\+16")])
def test_a_value_beyond_all_heat_is_named_and_no_stable_step_is_blamed(run, word, key):
    result = run(BASE_DECK.replace("diffusivity: 1", "diffusivity: 1\n  conductivity: 1"), word)
    assert result.code == 76
    assert re.fullmatch(r"diverged: cell \(\d, \d, \d\) has reached \S+ K after sweep 1 \(residuals are checked every 100 "
                        r"sweeps\); it changed by \S+ K in a sweep, more than 1e9 K; problem\.dt is stable \(at most \S+ s\); "
                        r"look at the values of the deck: " + key + r", and at the field in \S+\n", result.err), result.err


def test_init_and_a_run_agree_on_which_states_are_written(run, tmp_path):
    assert run(BASE_DECK).code == 0
    assert snapshots(tmp_path) == ["deck_00000010.hdf"]
    told = isotherm("init", cwd=tmp_path).out
    assert "default only the last state\n#  every_steps: 100\n" in told and "the first and the last" not in told


def test_rint_rounds_halves_to_even(run, tmp_path):
    assert run(BASE_DECK.replace("cells: [8, 9, 10]", "cells: [8, 1, 1]"), "problem.steps=0",
               "initial=[{shape: formula, formula: \"300 + rint(8*x - 2)\"}]").code == 0
    found = field(tmp_path / "out" / "deck_00000000.hdf").ravel() - 300  # of -1.5, -0.5, ... 5.5
    assert found.tolist() == [-2, 0, 0, 2, 2, 4, 4, 6]


def test_nothing_is_left_of_divergence_where_no_field_is_written(run, tmp_path):
    result = run(BASE_DECK, "problem.dt=0.00612", "problem.allow_unstable=true", "problem.steps=2000",
                 "initial=[{shape: formula, formula: \"300 + sin(500*x) + cos(700*y) + sin(900*z)\"}]",
                 "output.snapshots=false")
    assert result.code == 76 and result.err.endswith("look at walls and sources\n")
    assert snapshots(tmp_path) == []


def test_a_steady_problem_that_does_not_converge(run, tmp_path):
    result = run(STEADY, "problem.max_sweeps=20", "boundaries.x_min={kind: temperature, value: 400}")
    assert result.code == 10 and result.err.startswith("warning: not converged: after 20 sweeps the residual is ")
    assert result.out.endswith("RESULT: NOT CONVERGED\n")
    written = record(tmp_path)
    assert (written["exit_code"], written["residual"]["convergence"]) == (10, "not_reached")
    assert len(written["files"]) == 1


def test_a_failed_verification(run, tmp_path):
    deck = next(path for path in INPUTS if path.name == "decaying_mode.yaml").read_text()
    result = run(deck, "grid.cells=[12, 10, 8]", "problem.end_time=0.5", "verify.tolerance=1e-6")
    assert (result.code, result.err) == (76, "")
    assert result.out.endswith("RESULT: FAILED\n")
    written = record(tmp_path)
    assert (written["exit_code"], written["verification"]["verdict"]) == (76, "failed")
    assert written["verification"]["max_error_K"] > 1e-6
