"""For all tests of this folder."""

import os
import sys
from pathlib import Path

import pytest
from program import finished_run

RAMP = """
grid: {cells: [12, 7, 5], spacing: [1e-3, 2e-3, 4e-3], origin: [0.1, -0.2, 0]}
material: {diffusivity: 1e-4}
initial: [{shape: formula, formula: 300 + 1000*x + 100*y + 10*z}]
problem: {kind: transient, steps: 20, check_interval: 5}
solver: {kernel: reference, reduction: reference, halo_width: 1}
output:
  every_steps: 10
  diagnostics: 4
  histogram: {bins: 3}
  precision: fp32
  slices: [{axis: y, cell: 3, every_steps: 5}]
  region: {first_cell: [1, 2, 3], last_cell: [6, 5, 4], every_steps: 20}
  probes: {points: [[0.105, -0.19, 0.01], {at: [0.11, -0.19, 0.01], name: right}], every_steps: 10}
"""


# Here the tools find the program if it did not start them.
os.environ["PATH"] = f"{Path(os.environ['ISOTHERM']).parent}:{os.environ['PATH']}"


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def refused(capsys):
    """Calls a command that must fail with this exit code and one line on stderr, which has this text."""
    from isotherm_tools.__main__ import main  # not in tests that check which modules are loaded

    def call(code, text, *arguments):
        capsys.readouterr()
        found = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert (found, out, err.count("\n")) == (code, "", 1), err
        assert err.startswith(f"isotherm {arguments[0]}: ") and text in err, err

    return call


@pytest.fixture(scope="session")
def ramp(tmp_path_factory):
    """The directory of a run whose temperature rises along all axes, with all kinds of files."""
    return finished_run(tmp_path_factory.mktemp("run"), RAMP, "ramp")
