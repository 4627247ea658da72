"""`open_run`: cells, coordinates and tables are those of the files, and nothing is read before it is asked for."""

import csv
import json

import h5py
import numpy as np
import pytest

import isotherm_tools
from isotherm_tools import Failure, open_run
from program import finished_run

DECK = """
grid: {cells: [12, 7, 5], spacing: [1e-3, 2e-3, 4e-3], origin: [0.1, -0.2, 0]}
material: {diffusivity: 1e-4}
initial: [{shape: formula, formula: 300 + 1000*x + 100*y + 10*z}]
problem: {kind: transient, steps: 20, check_interval: 5}
solver: {kernel: reference, reduction: reference, halo_width: 1}
output:
  every_steps: 10
  diagnostics: 4
  precision: fp32
  slices: [{axis: y, cell: 3, every_steps: 5}]
  region: {first_cell: [1, 2, 3], last_cell: [6, 5, 4], every_steps: 20}
  probes: {points: [[0.105, -0.19, 0.01], {at: [0.11, -0.19, 0.01], name: right}], every_steps: 10}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("run"), DECK, "ramp")


@pytest.fixture
def run(folder):
    return open_run(folder)


def test_snapshots_have_cells_coordinates_and_times(run):
    assert run.name == "ramp" and len(run.snapshots) == 3 and list(run.snapshots.sweeps) == [0, 10, 20]
    first = run.snapshots[0]
    assert first.T.shape == (5, 7, 12) and first.T.dtype == np.float32
    expected = 300 + 1000 * first.x[None, None, :] + 100 * first.y[None, :, None] + 10 * first.z[:, None, None]
    assert first.T == pytest.approx(expected, rel=1e-7)
    assert (first.x[0], first.y[-1], first.z[0]) == pytest.approx((0.1005, -0.187, 0.002))
    assert run.snapshots[-1].time == pytest.approx(run.record["time_s"]) == run.snapshots.times[-1]
    half = run.snapshots[-1].time / 2
    assert run.snapshots.nearest(1.1 * half).sweep == 10
    assert [snapshot.sweep for snapshot in run.snapshots[1:]] == [10, 20]


def test_parts_are_the_cells_of_the_whole_field(run):
    assert list(run.parts) == ["ramp_region", "ramp_slice_y3"]
    plane, box, whole = run.parts["ramp_slice_y3"], run.parts["ramp_region"], run.snapshots[-1]
    assert list(plane.sweeps) == [0, 5, 10, 15, 20] and plane[-1].T.shape == (5, 1, 12)
    assert np.array_equal(plane[-1].T[:, 0], whole.T[:, 3]) and plane[-1].y == pytest.approx(whole.y[3:4])
    assert np.array_equal(box[-1].T, whole.T[3:5, 2:6, 1:7]) and box[-1].x == pytest.approx(whole.x[1:7])


def test_tables_hold_every_line(run, folder):
    with open(folder / "history.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    history = run.history
    assert list(history) == list(lines[0]) and history["sweep"].dtype == np.int64
    for name, values in history.items():
        assert len(values) == len(lines) > 5
        for line, value in zip(lines, values):
            assert np.isnan(value) if line[name] == "" else value == float(line[name])
    assert [history.units[name] for name in ("sweep", "time_s", "mean_K", "relative_residual")] == ["", "s", "K", ""]
    assert list(run.probes) == ["sweep", "time_s", "p0_K", "right_K"] and list(run.probes["sweep"]) == [0, 10, 20]
    assert run.probe_places == {"p0": (0.105, -0.19, 0.01), "right": (0.11, -0.19, 0.01)}
    assert run.record == json.loads((folder / "run.json").read_text())


def test_nothing_is_read_before_it_is_asked_for(tmp_path):
    for sweep in range(3):
        with h5py.File(tmp_path / f"demo_{sweep:08d}.hdf", "w") as file:
            file.attrs["no"] = "snapshot"
    run = open_run(tmp_path)
    assert len(run.snapshots) == 3 and list(run.snapshots.sweeps) == [0, 1, 2]
    with pytest.raises(Failure, match="demo_00000001.hdf is no snapshot of isotherm"):
        run.snapshots[1].T  # noqa: B018


def test_what_is_missing_is_a_failure_with_a_line(tmp_path):
    with pytest.raises(Failure, match="is no folder; name the run directory"):
        open_run(tmp_path / "nowhere")
    run = open_run(tmp_path)
    for what, line in (("snapshots", "holds no snapshots"), ("history", "history.csv does not exist; was the run made"),
                       ("probes", "was the run made with output.probes"), ("record", "run.json does not exist")):
        with pytest.raises(Failure, match=line) as caught:
            getattr(run, what)
        assert caught.value.code == 66
    assert run.parts == {}
    (tmp_path / "history.csv").write_text("sweep,time_s\n1,x\n")
    (tmp_path / "probes.csv").write_text("# p0: here\nsweep,time_s,p0_K\n1,0.5\n")
    for what in ("history", "probes"):
        with pytest.raises(Failure, match="is no table of isotherm") as caught:
            getattr(open_run(tmp_path), what)
        assert caught.value.code == 65
    assert isotherm_tools.Failure is Failure
