"""isotherm_tools reads what the program itself writes."""

import os
import subprocess

import numpy as np
import pytest

from isotherm_tools.cli import main
from isotherm_tools.run_directory import RunDirectory

DECK = """
grid: {cells: [12, 7, 5], spacing: [1e-3, 2e-3, 4e-3], origin: [0.1, -0.2, 0]}
material: {diffusivity: 1e-4}
initial: [{shape: formula, formula: 300 + 1000*x + 100*y + 10*z}]
problem: {kind: transient, steps: 20, check_interval: 5}
output:
  every_steps: 10
  diagnostics: 4
  histogram: {bins: 3}
  slices: [{axis: y, cell: 3, every_steps: 5}]
  region: {first_cell: [1, 2, 3], last_cell: [6, 5, 4]}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "ramp.yaml").write_text(DECK)
    subprocess.run([os.environ["ISOTHERM"], "run", "ramp.yaml"], cwd=folder, check=True, capture_output=True)
    return folder / "runs" / "ramp"


def test_initial_state_is_read_cell_by_cell(run):
    first = RunDirectory(run).snapshots()[0]
    assert (first.cells, first.sweep, first.time) == ((12, 7, 5), 0, 0.0)
    assert first.bounds == (pytest.approx([0.1, -0.2, 0]), pytest.approx([0.112, -0.186, 0.02]))
    x, y, z = 0.1 + 1e-3 * (np.arange(12) + 0.5), -0.2 + 2e-3 * (np.arange(7) + 0.5), 4e-3 * (np.arange(5) + 0.5)
    expected = 300 + 1000 * x[None, None, :] + 100 * y[None, :, None] + 10 * z[:, None, None]
    for axis in range(3):
        for index in range(first.cells[axis]):
            assert first.plane(axis, index) == pytest.approx(expected.take(index, axis=2 - axis), rel=1e-14)


def test_times_and_history(run):
    directory = RunDirectory(run)
    snapshots = directory.snapshots()
    assert [snapshot.sweep for snapshot in snapshots] == [0, 10, 20]
    history = directory.history()
    assert history.sweep[-1] == 20 and history.time[-1] == pytest.approx(snapshots[-1].time)
    assert np.all(np.isfinite(history.residual)) and np.all(history.residual > 0)


@pytest.mark.parametrize("arguments", [["slice", "--all-times"], ["slice", "--axis", "y"], ["history"],
                                       ["slice", "--series", "ramp_slice_y3", "--all-times"],
                                       ["slice", "--series", "ramp_region", "--axis", "x"],
                                       ["history", "--columns", "min_K,mean_K,max_K,hist_0"]])
def test_pictures_are_made(run, tmp_path, arguments):
    out = tmp_path / "picture.png"
    assert main([arguments[0], str(run), *arguments[1:], "--out", str(out)]) == 0
    assert out.stat().st_size > 10000


def test_parts_are_series_of_their_own(run):
    directory = RunDirectory(run)
    planes = directory.series("ramp_slice_y3")
    assert [plane.sweep for plane in planes] == [0, 5, 10, 15, 20] and planes[0].thin_axis == "y"
    whole = directory.snapshots()
    assert whole[0].thin_axis is None and directory.name == "ramp"
    for plane, snapshot in zip(planes[::2], whole):
        assert np.array_equal(plane.plane(1, 0), snapshot.plane(1, 3))
        assert plane.centre[1] == pytest.approx(snapshot.centre[1] + 3 * snapshot.spacing[1])


def test_an_unknown_series_is_named_with_those_there_are(run, capsys):
    assert main(["slice", str(run), "--series", "ramp_slice_y4"]) == 2
    assert capsys.readouterr().err == (
        f"isotherm_tools: {run} holds no series ramp_slice_y4; it has ramp_region, ramp_slice_y3\n"
    )
