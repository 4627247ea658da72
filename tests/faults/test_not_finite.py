"""Formulas that are sound as formulas and not finite in some cell: 65, with key, cell, place and value."""

import os

import pytest
from cli import BASE_DECK

from program import isotherm, write_deck

# A grid of 8 x 9 x 10 cells in a cube of 1 m: centres at (i + 1/2)/8, (j + 1/2)/9, (k + 1/2)/10.
GIVE = "; give a value that every cell can hold"
FIRST = "x = 0.0625 m, y = 0.05555555555555555 m, z = 0.05 m, t = 0 s)"
CASES = [
    ("initial, division by zero", ['initial=[{shape: formula, formula: "1/(x-0.0625)"}]'],
     f"initial.0.formula: 1/(x-0.0625) is not finite at cell (0, 0, 0) (it is inf at {FIRST}"),
    ("initial, nan", ['initial=[{shape: formula, formula: "sqrt(z-0.3)"}]'],
     f"initial.0.formula: sqrt(z-0.3) is not finite at cell (0, 0, 0) (it is nan at {FIRST}"),
    ("initial, in the last cell only", ['initial=[{shape: formula, formula: "sqrt(2.8-x-y-z)"}]'],
     "initial.0.formula: sqrt(2.8-x-y-z) is not finite at cell (7, 8, 9) (it is nan at x = 0.9375 m, "
     "y = 0.9444444444444444 m, z = 0.9500000000000001 m, t = 0 s)"),
    ("initial, second entry",
     ['initial=[{shape: constant, value: 300}, {shape: formula, mode: add, formula: "log(x-0.0625)"}]'],
     f"initial.1.formula: log(x-0.0625) is not finite at cell (0, 0, 0) (it is -inf at {FIRST}"),
    ("initial, beyond fp32", ['initial=[{shape: formula, formula: "1e40*(1+x)"}]', "precision=fp32"],
     f"initial.0.formula: 1e40*(1+x) is too large for the precision at cell (0, 0, 0) (it is 1.0625e+40 at {FIRST}"),
    ("source", ['sources=[{shape: formula, formula: "1/(y-0.5)"}]', "material.conductivity=1"],
     "sources.0.formula: 1/(y-0.5) is not finite at cell (0, 4, 0) (it is inf at x = 0.0625 m, y = 0.5 m, z = 0.05 m, "
     "t = 0 s)"),
    ("wall", ['boundaries.x_max={kind: temperature, value: "300 + 1/(y-0.5)"}'],
     "boundaries.x_max.value: 300 + 1/(y-0.5) is not finite at cell (7, 4, 0) (it is inf at x = 1 m, y = 0.5 m, z = 0.05 m, "
     "t = 0 s)"),
    ("ambient", ['boundaries.z_min={kind: convection, coefficient: 3, ambient: "sqrt(x-0.3)"}',
                 "material.conductivity=1"],
     "boundaries.z_min.ambient: sqrt(x-0.3) is not finite at cell (0, 0, 0) (it is nan at x = 0.0625 m, "
     "y = 0.05555555555555555 m, z = 0 m, t = 0 s)"),
]


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, BASE_DECK)
    return tmp_path


@pytest.mark.parametrize("ranks", [0, 4])
@pytest.mark.parametrize("name, overrides, line", CASES, ids=[name for name, _, _ in CASES])
def test_a_value_that_is_not_finite(folder, name, overrides, line, ranks):
    done = isotherm("run", "deck.yaml", *overrides, ranks=ranks, cwd=folder)
    assert done.returncode == 65, done.stderr
    said = f"argument 3: {line}{GIVE}\n"
    assert done.stderr.startswith(said) and done.stderr.count(said) == 1
    assert "MPI_ABORT" not in done.stderr
    assert not list(folder.glob("**/*.hdf"))


@pytest.mark.parametrize("name, overrides, line", CASES, ids=[name for name, _, _ in CASES])
def test_a_field_that_is_not_finite_makes_no_file(folder, name, overrides, line):
    assert isotherm("run", "deck.yaml", *overrides, cwd=folder).returncode == 65
    assert os.listdir(folder) == ["deck.yaml"]


def test_a_field_that_is_not_finite_keeps_the_earlier_run(folder):
    assert isotherm("run", "deck.yaml", "output.directory=out", cwd=folder).returncode == 0
    assert (folder / "out" / "deck_00000010.hdf").exists()
    done = isotherm("run", "deck.yaml", CASES[0][1][0], "output.directory=out", "output.overwrite=true", cwd=folder)
    assert done.returncode == 65
    assert (folder / "out" / "deck_00000010.hdf").exists()


def test_a_wall_that_fails_in_time_ends_the_run(folder):
    """A formula of t is evaluated as time goes: found at its step, whole files stay."""
    done = isotherm("run", "deck.yaml", 'boundaries.x_min={kind: temperature, value: "300 + sqrt(0.005-t)"}',
                    "output.directory=out", "output.every_steps=1", cwd=folder)
    assert done.returncode == 65
    assert done.stderr.startswith("argument 3: boundaries.x_min.value: 300 + sqrt(0.005-t) is not finite at cell (0, 0, 0) "
                                  "(it is nan at x = 0 m, y = 0.05555555555555555 m, z = 0.05 m, t = 0.005")
    for path in (folder / "out").glob("*.hdf"):
        assert isotherm("info", path).returncode == 0
