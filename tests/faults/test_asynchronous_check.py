"""problem.check: asynchronous. The residuals are those of a run that waits for each; the run ends later, and says so."""

import csv

import pytest

from program import isotherm, ran, STEADY_BODY, write_deck
import runs

STEADY = STEADY_BODY + """\
problem: {kind: steady, tolerance: 1e-2, check_interval: 30, max_sweeps: 2000}
output: {snapshots: false}
"""
WARMED = """\
grid: {cells: [16, 12, 20], lengths: [0.4, 0.3, 0.5]}
material: {diffusivity: 1e-5}
boundaries:
  x_min: {kind: temperature, value: 350}
initial:
  - {shape: formula, formula: "290 + 60*x*y + 20*z"}
problem: {steps: 100, check_interval: 30}
output: {snapshots: false}
"""
# Four times the limit: the largest update grows by about 7 a step.
UNSTABLE = ["problem.dt=83", "problem.allow_unstable=true"]


@pytest.fixture
def run(tmp_path):
    def run(deck, name, *overrides, ranks=0):
        write_deck(tmp_path, deck)
        done = isotherm("run", "deck.yaml", f"output.directory={name}", *overrides, ranks=ranks, cwd=tmp_path)
        record = runs.record(tmp_path / name)
        with open(tmp_path / name / "history.csv", newline="") as file:
            history = [{key: value for key, value in row.items() if key != "wall_s"} for row in csv.DictReader(file)]
        return done, record, history

    return run


# Every reduction with every norm: mpi/test_residual_check.cpp.
@pytest.mark.parametrize("reduction, norm, ranks", [("fused", "max", 0), ("openmp", "l2", 3), ("reproducible", "l1", 3)])
def test_a_run_to_its_tolerance(run, reduction, norm, ranks):
    words = [f"solver.reduction={reduction}", f"problem.norm={norm}"]
    at_once, before, expected = run(STEADY, "at_once", *words, ranks=ranks)
    late, after, found = run(STEADY, "late", "problem.check=asynchronous", *words, ranks=ranks)
    assert (at_once.returncode, late.returncode) == (0, 0), late.stderr
    assert len(expected) > 3 and found == expected  # of the same sweeps, to the last digit

    ended = int(expected[-1]["sweep"])
    assert ended < 2000 and before["performance"]["sweeps"] == ended
    assert after["performance"]["sweeps"] == ended + 30
    changed = {"check": "asynchronous", "extra_sweeps": 30}
    assert before["residual"]["last_sweep"] == ended
    assert (before["residual"]["check"], before["residual"]["extra_sweeps"]) == ("immediate", 0)
    assert after["residual"] == before["residual"] | changed
    assert f" reached; of sweep {ended}, 30 extra sweeps (asynchronous checks)\n" in late.stdout
    assert "extra sweep" not in at_once.stdout


def test_extra_sweeps_are_few_where_the_end_is_near(run):
    _, record, _ = run(STEADY, "at_once")
    ended = record["residual"]["last_sweep"]
    done, record, _ = run(STEADY, "late", "problem.check=asynchronous", f"problem.max_sweeps={ended + 7}")
    assert done.returncode == 0
    assert record["residual"]["convergence"] == "reached"
    assert (record["residual"]["last_sweep"], record["residual"]["extra_sweeps"]) == (ended, 7)
    assert record["performance"]["sweeps"] == ended + 7


@pytest.mark.parametrize("interval", [30, 7, 1])
def test_the_last_sweep_is_always_checked(run, interval):
    words = ["problem.tolerance=0", "problem.max_sweeps=100", f"problem.check_interval={interval}"]
    at_once, before, expected = run(STEADY, "at_once", *words)
    late, after, found = run(STEADY, "late", "problem.check=asynchronous", *words)
    assert (at_once.returncode, late.returncode) == (10, 10)
    assert found == expected and found[-1]["sweep"] == "100"
    assert after["residual"] == before["residual"] | {"check": "asynchronous"}
    assert after["residual"]["extra_sweeps"] == 0 and after["fingerprint"] == before["fingerprint"]
    assert "NOT reached; of sweep 100, 0 extra sweeps (asynchronous checks)\n" in late.stdout


@pytest.mark.parametrize("ranks", [0, 4])
def test_divergence_is_found_late_and_says_so(run, ranks):
    at_once, before, expected = run(WARMED, "at_once", *UNSTABLE, ranks=ranks)
    late, after, found = run(WARMED, "late", "problem.check=asynchronous", *UNSTABLE, ranks=ranks)
    assert (at_once.returncode, late.returncode) == (76, 76)
    ended = before["residual"]["last_sweep"]
    assert ended == 30 and found == expected
    assert f" after sweep {ended} (residuals are checked every 30 sweeps); keep " in at_once.stderr
    assert (
        f" after sweep {ended + 30} (residuals are checked every 30 sweeps and looked at late: that of sweep {ended} "
        "told); keep "
    ) in late.stderr
    assert late.stderr.startswith("diverged: cell (") and late.stderr.count("diverged:") == 1
    assert (after["residual"]["last_sweep"], after["residual"]["extra_sweeps"]) == (ended, 30)
    assert after["performance"]["sweeps"] == ended + 30


def test_a_snapshot_is_of_a_field_that_was_checked(run, tmp_path):
    """It waits for the field anyway: a check of its sweep does too, and no snapshot holds what has diverged."""
    words = [*UNSTABLE, "output.snapshots=true", "output.every_steps=60"]
    at_once, before, _ = run(WARMED, "at_once", *words, "problem.check_interval=60")
    late, after, _ = run(WARMED, "late", *words, "problem.check_interval=60", "problem.check=asynchronous")
    assert (at_once.returncode, late.returncode) == (76, 76)
    assert after["files"] == before["files"] == ["deck_00000000.hdf", "deck_00000060.diverged.hdf"]
    assert after["residual"]["extra_sweeps"] == 0
    gain = "problem.check: asynchronous gains nothing (output.every_steps 60 waits for the field at every check)"
    assert any(gain in warning for warning in after["warnings"])


def test_diagnostics_stand_where_they_stand_without(run):
    """Of two checks one meets the diagnostics, and is not asynchronous; rows stay in order of their sweeps."""
    words = ["output.diagnostics=60"]
    _, before, expected = run(WARMED, "at_once", *words)
    late, after, found = run(WARMED, "late", *words, "problem.check=asynchronous")
    assert late.returncode == 0 and found == expected
    assert [row["sweep"] for row in found] == ["0", "1", "30", "60", "90", "100"]
    assert all(row["residual"] for row in found[1:]) and found[3]["mean_K"] and not found[2]["mean_K"]
    assert after["warnings"] == before["warnings"]


def test_diagnostics_at_every_check_leave_nothing_to_lag(run):
    _, record, _ = run(WARMED, "late", "output.diagnostics=15", "problem.check=asynchronous")
    gain = "problem.check: asynchronous gains nothing (output.diagnostics 15 waits for the field at every check); write"
    assert any(gain in warning for warning in record["warnings"])


@pytest.mark.parametrize("ranks", [0, 4])
def test_an_error_of_one_rank_ends_all_with_a_check_under_way(tmp_path, ranks):
    write_deck(tmp_path, WARMED)
    words = ['boundaries.x_min={kind: temperature, value: "300 + sqrt(400 - t)"}', "problem.dt=5"]  # until step 80
    done = ran("run", "deck.yaml", *words, "problem.check=asynchronous", f"parallel.process_grid=[{ranks or 1}, 1, 1]",
               ranks=ranks, cwd=tmp_path, code=65)
    assert done.stderr.count("boundaries.x_min.value: 300 + sqrt(400 - t) is not finite") == 1


def test_a_word_that_it_does_not_know(tmp_path):
    write_deck(tmp_path, WARMED)
    done = ran("check", "deck.yaml", "problem.check=asyncronous", cwd=tmp_path, code=65)
    assert "problem.check: " in done.stderr and "did you mean 'asynchronous'?" in done.stderr
