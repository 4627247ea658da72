"""Files of a run other than whole snapshots, read by other programs."""

import json
import re
import shutil
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest

from program import DECK, finished_run, ran, write_deck
from runs import cells, record

CELLS = (17, 23, 31)
ORIGIN = np.array([-1, 2, 0.5])
SPACING = np.array([0.01, 0.02, 0.03])

PARTS = DECK.replace("output: {every_steps: 20}\n", """\
output:
  every_steps: 20
  slices:
    - {axis: z, position: 0.83, every_steps: 10}
    - {axis: x, cell: 16, name: hot-side}
  region: {from: [-0.955, 2.11, 0.53], to: [-0.9, 2.2, 0.59], every_steps: 20}
  coarse: {factor: [17, 23, 1], every_time: 50}
  probes:
    points: [[-0.9, 2.2, 1], {at: [-0.995, 2.46, 1.415], name: edge}, {at: [-1, 2.21, 0.6], name: wall}]
    every_steps: 4
""")


def attributes_of(path):
    """Its own attributes and, for a VTKHDF file, those of that format."""
    with h5py.File(path) as file:
        return dict(file["isotherm"].attrs), dict(file["VTKHDF"].attrs) if "VTKHDF" in file else None


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("run"), PARTS, ranks=3)


@pytest.mark.parametrize("part, first, last, sweeps", [
    ("slice_z11", (0, 0, 11), (16, 22, 11), (0, 10, 20, 30, 40)), ("slice_hot-side", (16, 0, 0), (16, 22, 30), (40,)),
    ("region", (4, 5, 1), (9, 9, 2), (0, 20, 40))])
def test_a_part_holds_the_cells_of_the_snapshot_at_their_place(run, part, first, last, sweeps):
    names = [f"deck_{part}_{sweep:08d}.hdf" for sweep in sweeps]
    assert sorted(path.name for path in run.glob(f"deck_{part}_*.hdf")) == names
    series = json.loads((run / f"deck_{part}.hdf.series").read_text())["files"]
    assert [entry["name"] for entry in series] == names
    cut = tuple(slice(a, b + 1) for a, b in zip(first[::-1], last[::-1]))
    for name, sweep, entry in zip(names, sweeps, series):
        own, vtk = attributes_of(run / name)
        assert own["time"] == entry["time"] and own["sweep"] == sweep
        assert list(own["first_cell"]) == list(first) and list(own["grid_cells"]) == list(CELLS)
        np.testing.assert_allclose(own["origin"], ORIGIN + np.array(first) * SPACING, rtol=1e-14)
        np.testing.assert_allclose(own["spacing"], SPACING, rtol=1e-15)
        extent = [edge for a, b in zip(first, last) for edge in (0, b - a)]
        assert (vtk is None) == any(a == b for a, b in zip(first, last))  # ParaView 5.11 hangs or crashes on one layer
        if vtk:
            assert list(vtk["WholeExtent"]) == extent and vtk["Type"] == b"ImageData"
            np.testing.assert_allclose(vtk["Origin"], ORIGIN + (np.array(first) + 0.5) * SPACING, rtol=1e-14)
            np.testing.assert_allclose(vtk["Spacing"], SPACING, rtol=1e-15)
        if sweep % 20 == 0:
            assert np.array_equal(cells(run / name), cells(run / f"deck_{sweep:08d}.hdf")[cut])


def test_the_coarse_field_is_the_mean_of_its_cells(run):
    names = sorted(path.name for path in run.glob("deck_coarse_*.hdf"))
    sweeps = [int(name[-12:-4]) for name in names]
    assert len(sweeps) == 4 and sweeps[0] == 0 and sweeps[-1] == 40  # at 0, 50, 100 and about 132 s
    for name, sweep in zip(names, sweeps):
        own, vtk = attributes_of(run / name)
        assert own["format"] == b"isotherm coarse" and list(own["factor"]) == [17, 23, 1]
        assert vtk is None and list(own["cells"]) == [1, 1, 31]
        np.testing.assert_allclose(own["spacing"], SPACING * [17, 23, 1], rtol=1e-15)
        np.testing.assert_allclose(own["origin"], ORIGIN, rtol=1e-15)
        if sweep % 20 == 0:
            means = cells(run / f"deck_{sweep:08d}.hdf").mean(axis=(1, 2))
            np.testing.assert_allclose(cells(run / name)[:, 0, 0], means, rtol=1e-14)


@pytest.mark.parametrize("interval", ["  every_steps: 20\n", "  every_time: 50\n", ""])
def test_without_snapshots_only_the_parts_are_written(tmp_path, interval):
    """All parts are written, whatever the interval of snapshots. Without XDMF only parts that are one cell thick have it, as they are no
    VTKHDF files and could not be opened otherwise."""
    deck = PARTS.replace("  every_steps: 20\n", interval, 1)
    out = finished_run(tmp_path, deck, "deck", "output.snapshots=false", "output.xdmf=false", ranks=2 * (not interval))
    assert not list(out.glob("deck_0*.hdf")) and not (out / "deck.hdf.series").exists()
    assert len(list(out.glob("deck_slice_z11_*.hdf"))) == 5
    assert sorted(path.name for path in out.glob("*.xmf")) == ["deck_coarse.xmf", "deck_slice_hot-side.xmf", "deck_slice_z11.xmf"]


@pytest.mark.parametrize("folder, words, opened", [
    ("out", [], "out/body.xmf"), (".", [], "./body.xmf"), ("out", ["output.xdmf=false"], "out/body.hdf.series"),
    ("out", ["output.snapshots=false"], "out/body_slice_z11.xmf"),
    ("out", ["output.snapshots=false", "output.slices=[]", "output.coarse={}", "output.region={}"], None)])
def test_the_report_says_what_to_open_and_in_which_folder(tmp_path, folder, words, opened):
    """ParaView 5.11 crashes on a path without a folder."""
    done = ran("run", write_deck(tmp_path, PARTS, "body.yaml"), f"output.directory={folder}", *words, cwd=tmp_path)
    lines = [line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("  ParaView ")]
    assert lines == ([opened] if opened else [])
    assert not opened or (tmp_path / opened).is_file()


def test_the_speed_is_that_of_a_sweep_where_steps_have_several(tmp_path):
    deck = DECK.replace("steps: 40", "method: rkl, dt: 20, steps: 2").replace("every_steps: 20", "directory: out")
    said = ran("run", write_deck(tmp_path, deck), cwd=tmp_path).stdout
    written = record(tmp_path / "out")
    sweeps = written["performance"]["sweeps"]
    assert sweeps > 2 and re.search(r"^  speed .*\d \w+ per sweep$", said, re.MULTILINE)
    assert written["performance"]["step_s"] <= written["phases_s"]["stepping"]["max"] / 2 * (1 + 1e-9)
    assert "sweep" in json.loads(ran("schema", "run").stdout)["properties"]["performance"]["properties"]["step_s"]["description"]


def test_every_file_says_how_to_read_it_and_a_slice_which_plane_it_is(run):
    """The record lists all files, and `check` announces them."""
    asked, by_cell = (attributes_of(run / f"deck_slice_{name}.hdf")[0] for name in ("z11_00000010", "hot-side_00000040"))
    assert (asked["format"], asked["slice_axis"], asked["slice_cell"]) == (b"isotherm slice", b"z", 11)
    assert asked["slice_position"] == 0.83 and asked["slice_centre"] == pytest.approx(0.845, rel=1e-14)
    assert by_cell["slice_axis"] == b"x" and "slice_position" not in by_cell
    written = record(run)
    known = {name: written["provenance"][name] for name in ("version", "git_revision", "mpi", "hdf5")}
    known |= {"kernel": written["method"]["kernel"], "device": written["ranks"][0]["device"]}
    files = sorted(path.name for path in run.glob("*.hdf"))
    assert sorted(written["files"]) == files + ["probes.csv"]
    for name in files:
        own = attributes_of(run / name)[0]
        assert own["axes"] == b"datasets of cells are (z, y, x), x fastest; triples are x, y, z"
        assert own["units"] == b"origin and spacing: m; time: s; temperature: K"
        assert {name: own[name].decode() for name in known} == known
        if "_00000040" in name:
            said = ran("info", run / name).stdout
            assert "recomputed from the cells in the file" in said
            assert (", version 2; VTKHDF 1.0\n" in said) == (name in ("deck_00000040.hdf", "deck_region_00000040.hdf"))
    said = ran("check", run.parents[1] / "deck.yaml").stdout
    expected = {line.split()[0]: int(line.split()[1]) for line in said.splitlines() if "_*.hdf" in line}
    parts = [f"deck_{part}_*.hdf" for part in ("slice_z11", "slice_hot-side", "region", "coarse")]
    assert expected == {pattern: len(list(run.glob(pattern))) for pattern in parts} | {"deck_*.hdf": 3}
    assert "  probes.csv                11 lines of 3 probes\n" in said


def probes_of(folder):
    lines = (folder / "probes.csv").read_text().splitlines()
    assert lines[:4] == [
        "# p0: -0.9 2.2 1 m", "# edge: -0.995 2.46 1.415 m", "# wall: -1 2.21 0.6 m", "sweep,time_s,p0_K,edge_K,wall_K",
    ]
    return {int(sweep): [float(value) for value in rest] for sweep, *rest in (line.split(",") for line in lines[4:])}


def test_probes_read_between_the_cells_of_a_snapshot(run):
    probes = probes_of(run)
    assert list(probes) == list(range(0, 41, 4))
    for sweep in (0, 20, 40):
        path = run / f"deck_{sweep:08d}.hdf"
        field, (time, inside, edge, wall) = cells(path), probes[sweep]
        assert time == attributes_of(path)[0]["time"]
        # Half way between cells 9 and 10 along x and y, a sixth of the way from cell 16 to 17 along z.
        low, high = field[16:18, 9:11, 9:11].mean(axis=(1, 2))
        assert inside == pytest.approx(low + (high - low) / 6, rel=1e-13)
        assert edge == field[30, 22, 0]  # on an insulated boundary, at the centres along the other axes
        assert wall == pytest.approx(300 + 10 * 2.21, rel=1e-14)  # x_min has this temperature


def test_a_steady_run_writes_its_last_state_wherever_it_ends(tmp_path):
    steady = PARTS.replace("kind: transient, steps: 40", "kind: steady, tolerance: 1e-1, check_interval: 3")
    out = finished_run(tmp_path, steady.replace("every_time: 50", "every_steps: 50"), ranks=2)
    last = record(out)["residual"]["last_sweep"]
    assert last % 10 != 0 and list(probes_of(out))[-1] == last
    for part in ("", "_slice_z11", "_slice_hot-side", "_region", "_coarse"):
        assert (out / f"deck{part}_{last:08d}.hdf").exists()


def test_fields_are_rounded_to_single_precision(run, tmp_path):
    out = finished_run(tmp_path, PARTS, "deck", "output.precision=fp32")
    for path in out.glob("*.hdf"):
        values = cells(path)
        assert values.dtype == np.float32 and attributes_of(path)[0]["precision"] == b"fp32"
        assert np.array_equal(values, cells(run / path.name).astype(np.float32))  # also means, which are computed from the fp64 cells
    ran("info", out / "deck_coarse_00000040.hdf")
    assert record(run)["fingerprint"] == record(out)["fingerprint"]  # the field itself is unchanged


def test_xdmf_points_at_the_same_cells(run):
    """test_paraview_slow.py tests how ParaView reads them; unit tests check that points on the surface stay inside when rounded to single
    precision."""
    assert sorted(path.stem for path in run.glob("*.xmf")) == sorted(
        path.name.removesuffix(".hdf.series") for path in run.glob("*.hdf.series")
    ) == ["deck", "deck_coarse", "deck_region", "deck_slice_hot-side", "deck_slice_z11"]
    for path in run.glob("*.xmf"):
        grids = ElementTree.parse(path).findall("./Domain/Grid/Grid")
        series = json.loads(path.with_suffix(".hdf.series").read_text())["files"]
        assert [(grid.get("Name"), float(grid.find("Time").get("Value"))) for grid in grids] == [
            (entry["name"], entry["time"]) for entry in series
        ]
        for grid in grids:
            assert grid.find("Attribute").attrib == {"Name": "temperature [K]", "AttributeType": "Scalar", "Center": "Cell"}
            item = grid.find("./Attribute/DataItem")
            file, dataset = item.text.split(":")
            with h5py.File(path.with_name(file)) as opened:
                shape, own = opened[dataset].shape, opened["isotherm"].attrs
                assert shape == tuple(map(int, item.get("Dimensions").split()))
                low, spacing = (np.array(item.text.split()[::-1], float) for item in grid.findall("./Geometry/DataItem"))
                edges, box = ([at, at + step * shape[::-1]] for at, step in ((low, spacing), (own["origin"], own["spacing"])))
                np.testing.assert_allclose(edges, box, rtol=2e-7)


@pytest.mark.parametrize("file, ranks", [("deck_00000020.hdf", 0), ("deck_slice_z11_00000030.hdf", 2), ("deck_coarse_00000000.hdf", 0)])
def test_a_file_runs_again_to_the_same_bits(run, tmp_path, file, ranks):
    ran("run", "--from", run / file, "output.directory=again", ranks=ranks, cwd=tmp_path)
    again = tmp_path / "again"
    assert record(again)["fingerprint"] == record(run)["fingerprint"]
    assert (again / "probes.csv").read_text() == (run / "probes.csv").read_text()
    assert sorted(path.name for path in again.iterdir()) == sorted(path.name for path in run.iterdir())


def test_the_overrides_of_the_first_run_count_and_those_of_the_second_more(tmp_path):
    """It replaces the first run only on request."""
    file = finished_run(tmp_path, PARTS, "deck", "problem.steps=30", "precision=fp32", "output.overwrite=true") / "deck_00000020.hdf"
    ran("run", "--from", file, "output.directory=b", "problem.steps=31", "output.region.every_steps=31", cwd=tmp_path)
    written = record(tmp_path / "b")
    assert (written["performance"]["sweeps"], written["grid"]["precision"]) == (31, "fp32")
    assert sorted(path.name for path in (tmp_path / "b").glob("deck_region_*.hdf")) == [
        "deck_region_00000000.hdf", "deck_region_00000031.hdf",
    ]
    done = ran("run", "--from", file, "problem.step=31", cwd=tmp_path, code=65)
    assert done.stderr.splitlines()[0] == "argument 4: problem.step: unknown key; did you mean 'steps'?"
    done = ran("run", "--from", file, ranks=2, cwd=tmp_path, code=73)
    assert "it holds an earlier run" in done.stderr and file.exists()
    ran("run", "--from", file, "output.overwrite=true", cwd=tmp_path)


@pytest.mark.parametrize("spoil, message", [
    (lambda file: (file.pop("isotherm/resolved_deck"), file.create_dataset("isotherm/resolved_deck", data=np.bytes_(""))), "holds no deck (its /isotherm/resolved_deck is empty); "),
    (lambda file: file["isotherm"].attrs.create("name", np.bytes_("../deck")), "the run's name '../deck' is no file name (")])
def test_a_file_without_a_deck_is_refused(run, tmp_path, spoil, message):
    copy = shutil.copy(run / "deck_region_00000020.hdf", tmp_path / "copy.hdf")
    with h5py.File(copy, "r+") as file:
        spoil(file)
    done = ran("run", "--from", "copy.hdf", ranks=2, cwd=tmp_path, code=65)
    assert done.stderr.startswith(f"copy.hdf: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["copy.hdf"]


def test_what_is_no_file_of_a_run_is_refused(run, tmp_path):
    deck, file = write_deck(tmp_path), run / "deck_00000020.hdf"
    for name, code in (("none.hdf", 66), (deck, 65)):
        ran("run", "--from", name, cwd=tmp_path, code=code)
    assert "has no '='" in ran("run", "--from", file, deck, cwd=tmp_path, code=2).stderr
    assert "  steps: 7\n" in ran("check", "--from", file, "problem.steps=7", "--resolved", cwd=tmp_path).stdout
