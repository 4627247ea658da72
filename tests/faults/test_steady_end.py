"""The end of steady runs that do not reach their tolerance: at rounding (0), or with a checkpoint and advice (10)."""

import re
import shlex

import pytest

from program import ran, STEADY_BODY
from runs import checkpoints, expect_same_answer, history, record, recorded, stopped_at

DECK = STEADY_BODY + """\
precision: fp32
problem: {kind: steady, method: jacobi, tolerance: 1e-12, check_interval: 50, max_sweeps: 60000}
solver: {reduction: reproducible}
output: {snapshots: false}
"""
LAST_DIGIT = {"fp32": 2**-15, "fp64": 2**-44}  # of temperatures from 256 to 512 K


def run(folder, name, *words, deck=DECK, **options):
    """The finished process and the record of a run in the directory `name`."""
    return recorded(folder, deck, "parallel.device=cpu", *words, out=name, **options)


@pytest.mark.parametrize("precision, norm, check", [
    ("fp32", "max", "asynchronous"), ("fp32", "l2", "immediate"), ("fp64", "max", "immediate"),
    ("fp64", "l1", "asynchronous")])
def test_a_residual_that_stops_falling_at_rounding_ends_the_run(tmp_path, precision, norm, check):
    """In this deck the last digits of coupled cells change cyclically for ever."""
    words = [f"precision={precision}", f"problem.norm={norm}", f"problem.check={check}", "problem.tolerance=1e-18"]
    done, found = run(tmp_path, "one", *words)
    assert (found["exit_code"], found["residual"]["convergence"]) == (0, "stagnated")
    assert found["performance"]["sweeps"] < 30000
    assert 0 < found["residual"]["last_K"] < 4 * LAST_DIGIT[precision]
    assert "not reached: it stopped falling at rounding" in done.stdout
    assert any(f"the last digit of {precision} is" in text for text in found["warnings"])
    assert ("fp64" in done.stderr.split("use ")[-1]) == (precision == "fp32")
    run(tmp_path, "other", *words, "solver.kernel=reference", "parallel.process_grid=[1, 3, 1]", ranks=3)
    expect_same_answer(tmp_path / "one", tmp_path / "other")


@pytest.mark.parametrize("check", ["immediate", "asynchronous"])
def test_a_restart_ends_where_the_run_would_have(tmp_path, check):
    words = [f"problem.check={check}", "output.checkpoint={every_steps: 700, keep: 1000}"]
    _, whole = run(tmp_path, "whole", *words)
    for sweep in (700, 2800, 3500):
        rest = stopped_at(sweep, tmp_path / "whole", tmp_path / f"rest_{sweep}")
        _, found = run(tmp_path, rest.name, *words, "--restart", "latest", ranks=2)
        expect_same_answer(tmp_path / "whole", rest)
        assert found["continuation"]["newest_checkpoint"] == whole["continuation"]["newest_checkpoint"]
    again, _ = run(tmp_path, "whole", *words, "--restart", "latest")
    assert again.stdout.startswith("nothing to do") and "stopped falling at rounding" in again.stdout


def test_a_run_that_still_falls_goes_on(tmp_path):
    """Decays to a tenth in a thousand sweeps and is checked after each: most residuals are hardly lower than the previous one. With a
    tolerance of 0 all sweeps are executed."""
    _, found = run(
        tmp_path, "slow", "precision=fp64", "grid.cells=[60, 1, 1]", "boundaries={x_min: {kind: temperature, value: 300}}",
        "problem.check_interval=1", "problem.tolerance=1e-6", "initial=[{shape: constant, value: 400}]")
    assert found["residual"]["convergence"] == "reached"
    assert len(history(tmp_path / "slow")) > 6000
    done, found = run(tmp_path, "all", "problem.tolerance=0", "problem.max_sweeps=20000", code=10)
    assert found["performance"]["sweeps"] == 20000
    assert done.stderr == "" and checkpoints(tmp_path / "all") == []


@pytest.mark.parametrize("given", [[], ["problem.max_sweeps=300"]])
def test_an_unconverged_run_says_how_to_go_on(tmp_path, given):
    """The command that it prints is executed, and suffices."""
    deck = DECK.replace("60000", "60000" if given else "300").replace("1e-12", "1e-6").replace("fp32", "fp64")
    done, written = run(tmp_path, "parts", *given, deck=deck, code=10)
    assert checkpoints(tmp_path / "parts") == ["deck_00000300.checkpoint.hdf"]
    assert (written["exit_code"], written["residual"]["convergence"]) == (10, "not_reached")
    text, = [text for text in written["warnings"] if "not converged" in text]
    assert text in done.stderr and done.stdout.endswith("RESULT: NOT CONVERGED\n")
    resume = re.search(r"after 300 sweeps .*; about (\d+) more are likely to be needed: resume with: isotherm (run .*)$", text)
    ran(*shlex.split(resume[2]), cwd=tmp_path)
    needed = record(tmp_path / "parts")["performance"]["sweeps"]
    assert 0.8 * needed < int(resume[1]) < 2 * needed
    run(tmp_path, "whole", "problem.max_sweeps=60000", deck=deck)
    expect_same_answer(tmp_path / "whole", tmp_path / "parts")


def test_cycles_slower_than_the_method_s_are_foreseen(tmp_path):
    """A block in a corner that is nearly insulated takes 57 cycles."""
    block = "{shape: box, from: [0, 0, 0], to: [0.0125, 0.0125, 0.0125], "
    deck = ("grid: {cells: 24, lengths: 0.1}\nmaterials: {a: {conductivity: 100}, b: {conductivity: 101}}\n"
            "material: {default: a}\nregions: [" + block + "material: b}]\ncontacts: [{between: [a, b], resistance: 1}]\n"
            "boundaries: {x_max: {kind: temperature, value: 300}}\nsources: [" + block + "power: 5}]\n"
            "initial: [{shape: constant, value: 350}]\nproblem: {kind: steady, max_cycles: 30}\n")
    done, _ = run(tmp_path, "out", deck=deck, code=10)
    assert 42 <= int(re.search(r"problem.max_cycles=(\d+)$", done.stderr.strip())[1]) <= 80


def test_checkpoints_that_are_not_wanted_are_not_written(tmp_path):
    for number, words in enumerate(["output.checkpoint=false", "output.checkpoint.final=false"]):
        done, _ = run(tmp_path, f"run_{number}", words, "problem.max_sweeps=300", "problem.tolerance=1e-5", code=10)
        assert checkpoints(tmp_path / f"run_{number}") == []
        assert "more are likely to be needed: start it again: isotherm run " in done.stderr and "--restart" not in done.stderr
    done, _ = run(tmp_path, "below", words, "problem.max_sweeps=300", code=10)
    assert "below the last digit of the temperatures (3.1e-05 K)" in done.stderr


# Heat that is lost in the rounding of fp32.

HEATED = """\
grid: {cells: [8, 8, 8], lengths: 0.1}
material: {conductivity: 400, density: 8960, heat_capacity: 385}
precision: fp32
initial: [{shape: constant, value: 300}]
problem: {steps: 200, dt: 0.1}
output: {snapshots: false}
"""
BOX = "sources=[{shape: box, from: [0.025, 0.025, 0.025], to: [0.0625, 0.0625, 0.0625], value: %g}]"
FLUX = "boundaries.y_max={kind: flux, value: %s}"
RIM = "sources=[{shape: gaussian, value: 1e6, centre: [0.05, 0.05, 0.05], width: 0.01}]"  # does not cause a warning
LOSES = "fp32 loses 100 % of the heat of sources and flux boundaries: what a"
# Half the last digit of 300 K is 1.5e-5 K; rho c is 3.45e6 J/(m^3 K), a cell 12.5 mm.
STRONG, WEAK = 2 * 1.53e-5 * 3.45e6 / 0.1, 0.5 * 1.53e-5 * 3.45e6 / 0.1


@pytest.mark.parametrize("word, lost, ranks", [
    (BOX % WEAK, True, 0), (BOX % WEAK, True, 4), (BOX % STRONG, False, 4), (FLUX % (WEAK * 0.0125), True, 4),
    (FLUX % (STRONG * 0.0125), False, 0), (FLUX % f'"{WEAK * 0.0125} + x"', True, 4), ("sources=[]", False, 0), (RIM, False, 4)])
def test_heat_that_rounding_swallows_is_a_warning(tmp_path, word, lost, ranks):
    grid = ["parallel.process_grid=[2, 2, 1]"] if ranks else []
    done, found = run(tmp_path, "run", word, *grid, deck=HEATED, ranks=ranks)
    assert (found["residual"]["first_K"] == 0) == (lost or "[]" in word)
    said = [LOSES] if lost else [] if word in ("sources=[]", RIM) else ["boundaries in the last step"]  # which conduction does not spread
    assert len(found["warnings"]) == len(said) and all(text in warning for text, warning in zip(said, found["warnings"]))
    assert done.stderr.count(LOSES) == lost
    assert ("or a larger problem.dt (the stability limit is 0.22" in done.stderr) == lost
    if not ranks:
        assert run(tmp_path, "twice", word, "precision=fp64", deck=HEATED)[1]["warnings"] == []


def test_a_steady_run_that_ends_at_once_as_it_swallows_its_heat_warns(tmp_path):
    deck = HEATED.replace("steps: 200, dt: 0.1", "kind: steady, method: jacobi")
    done, found = run(tmp_path, "run", BOX % 1, "boundaries.x_min={kind: temperature, value: 300}", deck=deck, code=10)
    assert found["performance"]["sweeps"] == 1
    assert LOSES in done.stderr and done.stderr.endswith("100 % of the heat of sources and flux boundaries is not balanced; use precision: fp64\n")


@pytest.mark.parametrize("flux, lost", [(3e4, True), (3e6, False)])
def test_transient_heat_that_interior_cells_lose_is_a_warning(tmp_path, flux, lost):
    """The cells at the boundary change by several last digits, but those within the bar, of 1/64 of its heat each, by less than half."""
    deck = HEATED.replace("[8, 8, 8], lengths: 0.1", "[64, 1, 1], spacing: 1e-4").replace("dt: 0.1", "dt: auto")
    done, _ = run(tmp_path, "run", f"boundaries.x_max={{kind: flux, value: {flux}}}", "problem.steps=20000", deck=deck)
    assert ("of the heat of sources and flux boundaries in the last step" in done.stderr) == lost


STALLS = """\
grid: {cells: [24, 20, 1], lengths: [1, 1, 0.05]}
material: {conductivity: 1}
boundaries:
  x_min: {kind: temperature, value: 301}
  x_max: {kind: temperature, value: 302}
  z_min: {kind: flux, value: "1e12*(1 + x*x/7 + y/3)"}
  z_max: {kind: flux, value: "-1e12*(1 + x*x/7 + y/3)"}
initial: [{shape: constant, value: 301}]
problem: {kind: steady, tolerance: 1e-15}
output: {snapshots: false}
"""


def test_a_residual_that_stalls_above_rounding_is_not_converged(tmp_path):
    """Two fluxes that cancel are a million times the temperature: the residual cannot fall below their rounding."""
    done, written = run(tmp_path, "stalled", deck=STALLS, code=10)
    assert written["residual"]["convergence"] == "stalled" and written["performance"]["cycles"] < 100
    assert " stalls at " in done.stderr and len(checkpoints(tmp_path / "stalled")) == 1
    tolerance = re.search(r"use a tolerance of (\S+) or more", done.stderr)[1]
    run(tmp_path, "enough", f"problem.tolerance={tolerance}", deck=STALLS)


WEAKLY_COOLED = """\
grid: {cells: [12, 10, 8], lengths: [0.01, 0.01, 0.002]}
material: {conductivity: 400}
boundaries: {z_min: {kind: convection, ambient: 300, coefficient: 0.1}}
initial: [{shape: constant, value: 300}]
sources: [{shape: box, from: [0.001, 0.001, 0.001], to: [0.005, 0.009, 0.0015], power: 1e-2}]
problem: {kind: steady}
output: {snapshots: false}
"""


def test_mixed_precision_survives_the_change_of_the_mean(tmp_path):
    """From a uniform guess the residual rises until the mean of this body is right, 1000 K above it."""
    _, found = run(tmp_path, "out", deck=WEAKLY_COOLED + "precision: mixed\n")
    assert found["residual"]["convergence"] == "reached"
    assert found["end_state"]["lowest"]["temperature_K"] == pytest.approx(1300, abs=1)


@pytest.mark.parametrize("words, remedy", [(["precision=fp32"], "precision: fp64"),
    (["precision=mixed", "boundaries.z_min.coefficient=1e-9"], "boundaries that take up more heat per kelvin")])
def test_heat_that_no_boundary_takes_up_is_not_converged(tmp_path, words, remedy):
    """The temperature that would lead the heat away is beyond the digits of differences of 1e-5 K: the
    residual is rounding alone. No tolerance is advised with which the run would end before its first
    sweep."""
    done, found = run(tmp_path, "out", *words, deck=WEAKLY_COOLED, code=10)
    assert found["residual"]["convergence"] == "stalled" and found["end_state"]["heat"]["relative_balance"] > 0.01
    assert "of the heat of sources and flux boundaries is not balanced" in done.stderr and done.stderr.endswith(f"use {remedy}\n")
    assert "a tolerance of" not in done.stderr
    done, _ = run(tmp_path, "no", *words, "problem.tolerance=24", deck=WEAKLY_COOLED, code=65)
    assert "24 of the first residual is reached before the first sweep" in done.stderr
