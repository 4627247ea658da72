"""Methods for steady problems: their cost and their end, and that they give the same field for all rank counts and stops."""

import functools

import numpy as np
import pytest

import bodies
import runs
from bodies import expect_the_same_bits_after_a_restart, field
from program import ran
from random_decks import FACES

CUBE = {
    "grid": {"cells": 32, "lengths": 1},
    "material": {"conductivity": 1},
    "boundaries": dict.fromkeys(FACES, {"kind": "temperature", "value": 300}),
    "sources": [{"shape": "constant", "value": 1}],
    "problem": {"kind": "steady", "method": "chebyshev", "norm": "l2", "tolerance": 1e-8},
}
run = functools.partial(bodies.run, code=[0])


def test_cycles_that_a_cube_needs(tmp_path):
    """As the modes predict: 195 sweeps in one cycle, 224 in cycles that leave 1 % each; Jacobi needs 3,790."""
    record = run(tmp_path, CUBE)
    assert (record["method"]["name"], record["method"]["cycle"]) == ("chebyshev", 64)
    assert (record["performance"]["cycles"], record["performance"]["sweeps"]) == (4, 256)
    assert [int(row["sweep"]) for row in runs.history(tmp_path / "out")] == [0, 64, 128, 192, 256]


@pytest.mark.parametrize("method", ["multigrid", "chebyshev", "jacobi"])
def test_an_error_in_kelvin_ends_a_run(tmp_path, method):
    """The error is below its estimate, and not far below: it is mostly the slowest mode."""
    deck = {**CUBE, "problem": {"kind": "steady", "norm": "l2", "error": 1e-5}}
    residual = run(tmp_path, deck, f"problem.method={method}")["residual"]
    run(tmp_path, deck, "problem.method=chebyshev", "problem.error=1e-12", name="exact")
    error = np.sqrt(np.mean((field(tmp_path / "out") - field(tmp_path / "exact"))**2))
    assert residual["criterion"] == "error" and 0.1 * residual["error_K"] < error < residual["error_K"] <= 1e-5
    at_once = run(tmp_path, deck, f"problem.method={method}", "problem.error=1e5")["performance"]
    assert at_once["cycles"] == 1  # one cycle has changed the initial field


HELD, INSULATED, PERIODIC = {"kind": "temperature", "value": 0}, "insulated", "periodic"
ROUGH = "100*sin(91*x+1)*sin(67*y+2)*sin(83*z+3) + sin(3*x)*y"


def convection(coefficient):
    return {"kind": "convection", "coefficient": coefficient, "ambient": 0}


def multigrid_deck(cells, spacing, faces, **problem):
    return {
        **CUBE,
        "grid": {"cells": cells, "spacing": spacing},
        "boundaries": dict(zip(FACES, faces)),
        "initial": [{"shape": "constant", "value": 0}],
        "sources": [{"shape": "formula", "formula": ROUGH}],
        "problem": {"kind": "steady", "method": "multigrid", "norm": "l2", "tolerance": 1e-8, "max_cycles": 20, **problem},
    }


# Factors of the residual per cycle, from experiments in numpy on grids of 48 cells per axis.
@pytest.mark.parametrize("cells, spacing, faces, rate", [
    ([48] * 3, [1 / 48] * 3, [HELD] * 6, 0.065),
    ([45, 37, 51], [1 / 50] * 3, [HELD] * 6, 0.065),
    ([48] * 3, [1 / 48] * 3, [INSULATED] * 4 + [HELD] * 2, 0.065),
    ([48] * 3, [1 / 48] * 3, [convection(0.1)] * 6, 0.065),
    ([47] * 3, [1 / 47] * 3, [convection(1000)] * 6, 0.065),
    ([45] * 3, [1 / 45] * 3, [PERIODIC] * 4 + [HELD, INSULATED], 0.065),
    ([48] * 3, [1 / 48, 1 / 48, 1 / 480], [HELD] * 6, 0.03),
    ([64, 64, 16], [1 / 64, 1 / 64, 1 / 64000], [HELD] * 4 + [INSULATED, convection(5)], 0.03),
    ([64, 64, 1], [1 / 64, 1 / 64, 1e-3], [HELD] * 4 + [INSULATED] * 2, 0.05),
    ([61, 1, 1], [1 / 61, 1, 1], [HELD] * 2 + [INSULATED] * 4, 0.03)])
def test_rate_of_multigrid(tmp_path, cells, spacing, faces, rate):
    assert run(tmp_path, multigrid_deck(cells, spacing, faces))["performance"]["cycles"] <= 8
    residuals = [float(row["relative_residual"]) for row in runs.history(tmp_path / "out")]
    assert residuals[-1] / residuals[-2] < rate + 0.02


UNLIKE = [HELD, convection(3), INSULATED, HELD, PERIODIC, PERIODIC]


def test_cycles_in_fp32_reach_what_fp64_does(tmp_path):
    """The same residuals, down to 1e-12 of the first; in fp32 alone they end at rounding."""
    deck = multigrid_deck([48, 45, 40], 1 / 48, UNLIKE, tolerance=1e-12)
    histories = {}
    for precision in ("fp64", "mixed"):
        record = run(tmp_path, deck, f"precision={precision}", name=precision)
        assert record["grid"]["precision"] == precision
        histories[precision] = np.array([float(row["relative_residual"]) for row in runs.history(tmp_path / precision)])
    fp64, mixed = histories.values()
    assert len(fp64) == len(mixed) and np.allclose(fp64[2:-1], mixed[2:-1], rtol=0.05)


@pytest.mark.parametrize("precision", ["fp64", "mixed"])
def test_multigrid_without_a_fixed_mean(tmp_path, precision):
    """Odd numbers of cells, for which interpolation does not keep the mean."""
    fluxes = [{"kind": "flux", "value": value} for value in (5, -5)]
    deck = multigrid_deck([45, 37, 33], [1 / 45, 1 / 37, 1 / 33], fluxes, mean_temperature=310, tolerance=1e-10)
    record = run(tmp_path, {**deck, "sources": []}, "output.diagnostics=1", f"precision={precision}")
    assert record["performance"]["cycles"] <= 9
    assert abs(float(runs.history(tmp_path / "out")[-1]["mean_K"]) - 310) < 1e-9


@pytest.mark.parametrize("method, precision", [("chebyshev", "fp64"), ("multigrid", "fp64"), ("multigrid", "mixed")])
def test_one_answer_of_cycles(tmp_path, method, precision):
    """Continued by a checkpoint between cycles on other ranks."""
    deck = {**multigrid_deck([41, 29, 24], 1 / 41, UNLIKE, method=method), "precision": precision,
            "solver": {"reduction": "reproducible"}}
    whole, resumed = expect_the_same_bits_after_a_restart(tmp_path, deck, "problem.max_cycles=3")
    assert resumed["residual"]["last_K"] == whole["residual"]["last_K"]
    assert resumed["performance"]["cycles"] + 3 == whole["performance"]["cycles"]


# The decaying field is smooth, so that errors in time are those of the method.
TRANSIENT = {
    "grid": {"cells": [24, 20, 12], "spacing": 0.04},
    "material": {"conductivity": 1, "density": 1, "heat_capacity": 1},
    "boundaries": {"x_min": {"kind": "temperature", "value": 300},
                   "x_max": {"kind": "convection", "ambient": 300, "coefficient": 3}},
    "initial": [{"shape": "formula", "formula": "300 + 10*sin(2.1*x)*(1 + cos(pi*y/0.8))"}],
    "sources": [{"shape": "constant", "value": 50}],
    "problem": {"method": "rkl", "end_time": 0.2},
}


def field_of_steps(folder, deck, steps, *settings):
    assert run(folder, deck, f"problem.dt={0.2 / steps}", *settings)["performance"]["cycles"] == steps
    return field(folder / "out")


LONG_STEPS = [["problem.method=rkl"], ["problem.method=implicit"]]


@pytest.mark.parametrize("coefficient", ["3", "3 + 40*sin(20*t)*sin(20*t)"])
def test_implicit_follows_boundaries_to_second_order(tmp_path, coefficient):
    """It evaluates boundaries at the times of its stages. The initial state is steady, so that nothing else changes."""
    deck = {**TRANSIENT, "initial": [{"shape": "constant", "value": 300}], "sources": [], "boundaries": {
        "x_min": {"kind": "temperature", "value": "300 + 20*sin(20*t)*sin(20*t)"},
        "x_max": {"kind": "convection", "ambient": "300 - 20*sin(10*t)", "coefficient": coefficient}}}
    fields = [field_of_steps(tmp_path, deck, steps, *LONG_STEPS[1]) for steps in (32, 64, 128)]
    differences = [np.abs(a - b).max() for a, b in zip(fields, fields[1:])]
    assert 3.5 < differences[0] / differences[1] < 5


@pytest.mark.parametrize("coefficient", [0.01, 1, 1e6])
@pytest.mark.parametrize("before", ["0", "1e6"])
def test_a_stage_is_solved_with_the_coefficient_of_its_time(tmp_path, coefficient, before):
    """For any earlier coefficient: all grids act as with a constant one."""
    fields = []
    for each in (coefficient, f"{before} + ({coefficient} - {before})*(t > 0)"):
        run(tmp_path, TRANSIENT, f"boundaries.x_max.coefficient={each}",
            "problem={method: implicit, scheme: backward_euler, dt: 10, end_time: 10}")
        fields.append(field(tmp_path / "out"))
    assert np.abs(fields[1] - fields[0]).max() < 2e-5


@pytest.mark.parametrize("method", [*LONG_STEPS, [*LONG_STEPS[1], "precision=mixed"]] + [[*LONG_STEPS[0], "problem.tolerance=0.01"], [*LONG_STEPS[1], "problem.tolerance=0.03"]])
def test_one_answer_of_long_steps(tmp_path, method):
    """With a boundary that changes from step to step; stopped and resumed on other ranks; outputs at their times."""
    settings = ["boundaries.x_min.value=300 + 40*t*y", "output.every_time=0.05", "output.diagnostics=2", "problem.dt=0.01", *method]
    whole, _ = expect_the_same_bits_after_a_restart(tmp_path, TRANSIENT, "problem.end_time=0.08", *settings)
    steps = whole["performance"]["cycles"]
    assert steps == 20 and [float(row["time_s"]) for row in runs.history(tmp_path / "whole")][-1] == 0.2
    assert all(abs(float(row["relative_balance"] or 0)) < 1e-10 for row in runs.history(tmp_path / "whole"))
    assert (whole["performance"]["steps"] > 30) == any("tolerance" in setting for setting in method)


@pytest.mark.parametrize("method", ["rkl", "implicit"])
def test_a_tolerance_halves_steps(tmp_path, method):
    """Mostly at first, as the jump becomes smooth: a tenth of the error needs three times the parts, not ten times."""
    hot = {"shape": "box", "from": [0.2, 0.2, 0], "to": [0.4, 0.4, 0.3], "value": 60, "mode": "add"}
    deck = {**TRANSIENT, "initial": [{"shape": "constant", "value": 300}, hot]}
    exact = field_of_steps(tmp_path, deck, 2000, "problem.method=rkl")
    parts = []
    for tolerance in (1, 0.1, 0.01):
        found = field_of_steps(tmp_path, deck, 10, f"problem.method={method}", f"problem.tolerance={tolerance}")
        performance = runs.record(tmp_path / "out")["performance"]
        assert np.abs(found - exact).max() < tolerance and performance["steps"] >= 10 + 2 * performance["rejected_steps"]
        parts.append(performance["steps"])
    assert 1.5 < parts[1] / parts[0] < 5 and 1.5 < parts[2] / parts[1] < 5


def test_a_steady_run_is_the_start_of_a_transient(tmp_path):
    """By the name of its directory, which also has slices and earlier snapshots; the steady field stays constant."""
    steady = {**TRANSIENT, "problem": {"kind": "steady", "tolerance": 1e-11}}
    record = run(tmp_path, steady, "output.every_steps=1", "output.slices=[{axis: z, position: 0.2}]", name="steady")
    deck = {**TRANSIENT, "initial": [{"shape": "dataset", "file": "steady"}]}
    assert run(tmp_path, deck, "problem.end_time=0")["fingerprint"] == record["fingerprint"]
    assert np.abs(field_of_steps(tmp_path, deck, 4) - field(tmp_path / "steady")).max() < 1e-6
    assert "its cells have other sizes along x" in ran("check", "deck.yaml", "grid.spacing=[0.05, 0.04, 0.04]", cwd=tmp_path, code=65).stderr
    (tmp_path / "steady").rename(tmp_path / "away")
    assert "initial.0.dataset: " in ran("check", "deck.yaml", cwd=tmp_path, code=66).stderr


@pytest.mark.parametrize("setting, said", [
    ("sources=[{shape: constant, value: 1}]", []),
    ("sources=[{shape: constant, power: {table: [[0, 0], [0.01, 5], [0.02, 0]]}}]", ["sources.0: a linear table changes within 0.01 s"]),
    ("sources=[{shape: constant, power: {table: [[0, 0], [1e-300, 5]]}}]", ["use interpolation: step"]),
    ("sources=[{shape: constant, power: {table: [[0, 0], [0.01, 5], [0.02, 0]], interpolation: step}}]", []),
    ("boundaries.x_min.value=300 + t", ["boundaries.x_min: rkl keeps this temperature at that of the middle of a step"]),
    ("boundaries.x_min={kind: convection, coefficient: 100, ambient: 300 + t}", ["boundaries.x_min: rkl keeps this temperature"]),
    ("boundaries.x_min={kind: convection, coefficient: 0.1, ambient: 300 + t}", [])])
def test_values_of_time_that_steps_follow_roughly_are_warned_of(tmp_path, setting, said):
    deck = bodies.write_body(tmp_path, TRANSIENT)
    warnings = [line for line in ran("check", deck, setting, "problem.dt=0.05", cwd=tmp_path).stdout.splitlines() if "warning" in line]
    assert len(warnings) == len(said) and all(text in warning for text, warning in zip(said, warnings))


@pytest.mark.parametrize("deck, settings, message", [
    (TRANSIENT, ["problem.method=jacobi"], "problem.method: jacobi is for steady problems; use one of euler, rkl, implicit"),
    (TRANSIENT, ["problem.dt=0.6"], "problem.dt: 0.6 s would take more than 64 stages"),
    (TRANSIENT, ["problem.dt=0.1", "precision=fp32"], "more than 16 stages"),
    (TRANSIENT, ["problem={method: implicit, steps: 3}"], "problem.dt: auto needs an end_time"),
    (TRANSIENT, ["problem.scheme=sdirk2"], "problem.scheme: "),
    (TRANSIENT, ["precision=mixed"], "precision: mixed is for the cycles of multigrid and implicit, and the method is rkl"),
    (TRANSIENT, ["problem.method=euler", "problem.tolerance=0.1"], "problem.tolerance: takes two results"),
    (TRANSIENT, ["problem.method=implicit", "problem.scheme=backward_euler", "problem.tolerance=0.1"], "of which backward_euler has one"),
    (CUBE, ["problem.method=rkl"], "problem.method: rkl is for transient problems; use one of jacobi, chebyshev, multigrid"),
    (CUBE, ["problem.cycle=100"], "problem.cycle: "), (CUBE, ["problem.max_cycles=0"], "problem.max_cycles: "),
    *((CUBE, [f"problem.method={name}", "problem.cycle=64"], "problem.cycle: ") for name in ("jacobi", "multigrid"))])
def test_refusals(tmp_path, deck, settings, message):
    """Cycles of jacobi have one sweep, those of multigrid 8."""
    assert message in run(tmp_path, deck, *settings, code=[65])


@pytest.mark.parametrize("scheme", ["backward_euler", "sdirk2"])
def test_a_small_insulated_body_keeps_the_heat_of_long_steps(tmp_path, scheme):
    """A step is 1e8 stable ones, so that all modes except the mean are steady: coarse grids of several cells cannot separate them."""
    deck = {
        "grid": {"cells": [16, 16, 13], "lengths": [0.005, 0.005, 0.004]},
        "material": {"conductivity": 400, "density": 8960, "heat_capacity": 385},
        "sources": [{"shape": "box", "from": [0, 0, 0], "to": [0.004, 0.004, 0.001], "power": 0.01}],
        "problem": {"method": "implicit", "scheme": scheme, "dt": 36000, "end_time": 216000},
        "output": {"diagnostics": 1},
    }
    run(tmp_path, deck)
    rise = 0.01 * 216000 / (8960 * 385 * 0.005 * 0.005 * 0.004)
    assert float(runs.history(tmp_path / "out")[-1]["mean_K"]) - 300 == pytest.approx(rise, rel=1e-5)
    for precision in ("mixed", "fp32"):
        assert "precision: cycles in fp32 cannot tell the mean" in run(tmp_path, deck, f"precision={precision}", code=[65])


@pytest.mark.parametrize("low, high", [(0.006, 0.018), (0.011, 0.013)])
def test_multigrid_and_long_steps_of_a_body_held_at_a_patch(tmp_path, low, high):
    """The patch ends within cells of the coarse grids."""
    deck = {
        "grid": {"cells": 24, "lengths": 0.024},
        "material": {"conductivity": 20, "density": 8000, "heat_capacity": 500},
        "boundaries": {"z_min": {"kind": "temperature", "value": 400, "where": {"from": [low, low], "to": [high, high]}}},
        "sources": [{"shape": "box", "from": [0, 0, 0.012], "to": [0.024, 0.024, 0.024], "power": 1}],
    }
    fields = {}
    for name, problem in {"chebyshev": {"kind": "steady", "method": "chebyshev", "tolerance": 1e-12},
                          "multigrid": {"kind": "steady", "tolerance": 1e-11}, "error": {"kind": "steady", "error": 5},
                          "implicit": {"method": "implicit", "dt": 1e5, "end_time": 1e6}}.items():
        record = run(tmp_path, {**deck, "problem": problem}, name=name)
        fields[name] = field(tmp_path / name)
    assert np.abs(fields["multigrid"] - fields["chebyshev"]).max() < 1e-4
    assert np.abs(fields["implicit"] - fields["chebyshev"]).max() < 1e-3
    assert np.abs(fields["error"] - fields["chebyshev"]).max() < 5
    assert record["result"] == "DONE"
