"""Methods of steady problems: what they need, where they end, and that they end in the same field whatever the ranks and stops."""

from pathlib import Path

import pytest

import runs
from program import STEADY_BODY, ran, write_deck

CUBE = """\
grid: {cells: [32, 32, 32], lengths: [1, 1, 1]}
material: {conductivity: 1}
boundaries: {x_min: held, x_max: held, y_min: held, y_max: held, z_min: held, z_max: held}
initial: [{shape: constant, value: 300}]
sources: [{shape: constant, value: 1}]
problem: {kind: steady, method: chebyshev, norm: l2, tolerance: 1e-8}
output: {snapshots: false}
""".replace("held", "{kind: temperature, value: 300}")
BODY = STEADY_BODY + "output: {snapshots: false}\nproblem: {kind: steady, method: chebyshev, tolerance: 1e-9"


def run(folder, *settings, ranks=0, code=0):
    ran("run", "deck.yaml", "output.directory=run", *settings, cwd=folder, ranks=ranks, code=code)
    return runs.record(folder / "run")


def test_cycles_that_a_cube_needs(tmp_path):
    """As by its modes: 195 sweeps in one cycle, so two of 128; Jacobi needs 3,790."""
    write_deck(tmp_path, CUBE)
    record = run(tmp_path)
    assert (record["method"]["name"], record["method"]["cycle"]) == ("chebyshev", 128)
    assert (record["performance"]["cycles"], record["performance"]["sweeps"]) == (2, 256)
    assert [int(row["sweep"]) for row in runs.history(tmp_path / "run")] == [0, 128, 256]


@pytest.mark.parametrize("ranks, settings", [(1, ["solver.kernel=reference"]), (2, []), (3, ["solver.halo_width=3"])])
def test_one_answer(tmp_path, ranks, settings):
    write_deck(tmp_path, BODY + ", cycle: 64, max_cycles: 3}\n")
    plain = run(tmp_path, "solver.kernel=openmp", code=10)
    again = run(tmp_path, "output.overwrite=true", *settings, ranks=ranks, code=10)
    assert (again["fingerprint"], again["residual"]["last_K"]) == (plain["fingerprint"], plain["residual"]["last_K"])


def test_a_restart_ends_in_the_same_field(tmp_path):
    write_deck(tmp_path, BODY + ", cycle: 32}\n")
    whole = run(tmp_path)
    stopped = run(tmp_path, "output.overwrite=true", "problem.max_cycles=3", code=10)
    assert stopped["performance"]["sweeps"] == 96
    resumed = run(tmp_path, "--restart", "latest", "problem.max_cycles=1000")
    assert resumed["fingerprint"] == whole["fingerprint"] != stopped["fingerprint"]
    assert resumed["performance"]["cycles"] + 3 == whole["performance"]["cycles"]


def test_the_field_is_that_of_jacobi(tmp_path):
    """The exact profile of inputs/steady_flux_convection.yaml, whose deck bounds the error."""
    deck = Path(__file__).parents[2] / "inputs/steady_flux_convection.yaml"
    ran("run", deck, "output.directory=run", "problem.method=chebyshev", cwd=tmp_path)
    assert runs.record(tmp_path / "run")["verification"]["max_error_K"] < 0.02


@pytest.mark.parametrize("problem, key", [
    (", cycle: 96}\n", "problem.cycle"), (", cycle: 64, method: jacobi}\n", "problem.method"),
    (", max_cycles: 0}\n", "problem.max_cycles")])
def test_refusals(tmp_path, problem, key):
    write_deck(tmp_path, BODY + problem)
    assert f"{key}: " in ran("run", "deck.yaml", cwd=tmp_path, code=65).stderr
