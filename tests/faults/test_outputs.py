"""Files of a run in other readers: h5py finds every cell at its place; `isotherm info`, and runs from a file
or a dataset."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest

from program import DECK, finished_run, isotherm, ran, write_deck
from runs import cells, checkpoints, expect_same_run, fingerprint, record, recorded, snapshots

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
    """mpi/test_snapshot.cpp tests every number of ranks, and fp32."""
    return finished_run(tmp_path_factory.mktemp("run"), PARTS, ranks=3)


@pytest.fixture
def snapshot(run, tmp_path):
    """A copy that a test may damage."""
    return shutil.copy(run / "deck_00000040.hdf", tmp_path / "copy.hdf")


def test_every_cell_at_its_place(run):
    values = cells(run / "deck_00000000.hdf")
    assert values.shape == CELLS[::-1] and values.dtype == np.float64
    x, y, z = (o + h * (np.arange(n) + 0.5) for o, h, n in zip(ORIGIN, SPACING, CELLS))
    z, y, x = np.meshgrid(z, y, x, indexing="ij")
    np.testing.assert_allclose(values, 300 + 50 * x + 7 * y + 3 * z * z, rtol=1e-14)


def test_files_have_the_structure_that_vtk_needs(run):
    with h5py.File(run / "deck_00000020.hdf") as file:
        vtk = file["VTKHDF"]
        assert list(vtk.attrs["Version"]) == [1, 0] and vtk.attrs["Version"].dtype == np.int64
        kind = vtk.attrs.get_id("Type").get_type()
        assert not kind.is_variable_str() and kind.get_cset() == h5py.h5t.CSET_ASCII
        assert list(vtk.attrs["Direction"]) == [1, 0, 0, 0, 1, 0, 0, 0, 1]
        assert "FieldData" not in vtk
        assert list(vtk["PointData"]) == ["temperature"] and vtk["PointData/temperature"] == file["temperature"]
        assert file["temperature"].chunks is None
        assert file["temperature"].attrs["units"] == b"K"


def test_the_file_knows_its_run(run):
    with h5py.File(run / "deck_00000040.hdf") as file:
        own, values = file["isotherm"], file["temperature"][:]
        assert own.attrs["sweep"] == 40 and own.attrs["format_version"] == 2 and own.attrs["time"] > 0
        assert own["deck"][()].decode() == (run / "deck.yaml").read_text() == PARTS
        assert "# run: \"deck\"\n" + own["resolved_deck"][()].decode() == (run / "deck.resolved.yaml").read_text()
        assert int(own.attrs["fingerprint"]) == int(own.attrs["fingerprint_hex"], 16) == fingerprint(values)
    assert f"{fingerprint(values):016x}" == record(run)["fingerprint"]


@pytest.mark.parametrize("part, first, last, sweeps", [
    ("", (0, 0, 0), (16, 22, 30), (0, 20, 40)), ("_slice_z11", (0, 0, 11), (16, 22, 11), (0, 10, 20, 30, 40)),
    ("_slice_hot-side", (16, 0, 0), (16, 22, 30), (40,)), ("_region", (4, 5, 1), (9, 9, 2), (0, 20, 40))])
def test_a_file_holds_the_cells_of_the_snapshot_at_their_place(run, part, first, last, sweeps):
    names = [f"deck{part}_{sweep:08d}.hdf" for sweep in sweeps]
    assert sorted(path.name for path in run.glob(f"deck{part}_0*.hdf")) == names
    series = json.loads((run / f"deck{part}.hdf.series").read_text())["files"]
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
            np.testing.assert_allclose(vtk["Origin"], ORIGIN + (np.array(first) + 0.5) * SPACING, rtol=1e-15)
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
    done, written = recorded(tmp_path, DECK, "problem={method: rkl, dt: 20, steps: 2}")
    sweeps = written["performance"]["sweeps"]
    assert sweeps > 2 and re.search(r"^  speed .*\d \w+ per sweep$", done.stdout, re.MULTILINE)
    assert written["performance"]["step_s"] <= written["phases_s"]["stepping"]["max"] / 2 * (1 + 1e-9)


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


def test_overrides_of_the_first_run_apply_and_those_of_the_second_take_precedence(tmp_path):
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


def deck_replaced(text):
    return lambda file: (file.pop("isotherm/resolved_deck"), file.create_dataset("isotherm/resolved_deck", data=np.bytes_(text)))


@pytest.mark.parametrize("spoil, message", [
    (deck_replaced(""), "holds no deck (its /isotherm/resolved_deck is empty); "),
    (deck_replaced("new: 1"), "its deck:1:1: new: unknown key; "),
    (lambda file: file["isotherm"].attrs.create("name", np.bytes_("../deck")), "the run's name '../deck' is no file name (")])
def test_a_file_without_a_deck_is_refused(run, tmp_path, spoil, message):
    copy = shutil.copy(run / "deck_region_00000020.hdf", tmp_path / "copy.hdf")
    with h5py.File(copy, "r+") as file:
        spoil(file)
    done = ran("run", "--from", "copy.hdf", ranks=2, cwd=tmp_path, code=65)
    assert done.stderr.startswith(f"copy.hdf: {message}") and ("(written by isotherm" in done.stderr) == ("unknown" in message)
    assert [path.name for path in tmp_path.iterdir()] == ["copy.hdf"]


def test_files_of_no_run_are_refused(run, tmp_path):
    deck, file = write_deck(tmp_path), run / "deck_00000020.hdf"
    for name, code in (("none.hdf", 66), (".", 66), (deck, 65)):
        for words in (["run", "--from"], ["info"]):
            assert ran(*words, name, cwd=tmp_path, code=code).stdout == ""
    assert "has no '='" in ran("run", "--from", file, deck, cwd=tmp_path, code=2).stderr
    assert "  steps: 7\n" in ran("check", "--from", file, "problem.steps=7", "--resolved", cwd=tmp_path).stdout


def test_info_describes_a_file(snapshot):
    done = ran("info", snapshot)
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert lines["cells"] == "17 x 23 x 31 = 12121 (x y z)"
    assert lines["spacing"] == "0.01 x 0.02 x 0.03 m"
    assert lines["origin"].startswith("(-1, 2, 0.5) m")
    assert lines["sweep"] == "40" and lines["precision"] == "fp64"
    assert lines["fingerprint"].endswith("(recomputed from the cells in the file)")
    assert isotherm("info", snapshot, "--deck").stdout == PARTS


def test_info_finds_one_changed_bit(snapshot):
    with h5py.File(snapshot, "r+") as file:
        plane = file["temperature"][30].view(np.uint64)
        plane[22, 16] ^= np.uint64(1)
        file["temperature"][30] = plane.view(np.float64)
    done = ran("info", snapshot, code=65)
    assert "a value was changed after it was written" in done.stderr
    assert "NOT that of the cells" in done.stdout


@pytest.mark.parametrize("name", ["/temperature", "temperature", "/VTKHDF/PointData/temperature", "/VTKHDF/PointData/T", "VTKHDF/PointData/T"])
def test_a_deck_may_use_the_old_or_the_new_name_of_the_temperature(run, tmp_path, name):
    """Decks must outlive file formats: each name of the cells works in files of each format."""
    whole = run / "deck_00000040.hdf"
    kept = Path(__file__).with_name("fixtures") / "0.1" / "kept_00000030.hdf"
    small = "grid: {cells: [7, 6, 5], lengths: [0.7, 0.6, 0.5], origin: [-1, 2, 0.5]}\n"
    files = [(whole, DECK.split("material")[0], "temperature"), (kept, small, "VTKHDF/PointData/T")]
    for index, (file, grid, place) in enumerate(files):
        text = f"{grid}material: {{diffusivity: 1}}\nproblem: {{steps: 0}}\n"
        text += f"initial: [{{shape: dataset, file: {file}, dataset: {name}}}]\n"
        ran("run", write_deck(tmp_path, text, f"deck{index}.yaml"), "output.directory=.", "output.overwrite=true",
            ranks=4 if file == whole else 0, cwd=tmp_path)
        with h5py.File(file) as old:
            assert np.array_equal(old[place][:], cells(tmp_path / f"deck{index}_00000000.hdf"))


# Compressed files have the same cells as uncompressed ones, for every writer and reader.

# Chunks of 35 x 64 x 64 cells, cut by the subdomains of two and four ranks; each part of the field is one chunk.
LARGE = DECK.replace("[17, 23, 31]", "[70, 64, 64]").replace("output: {every_steps: 20}\n", """\
output:
  every_steps: 20
  slices: [{axis: z, cell: 7, every_steps: 20}]
  region: {first_cell: [2, 3, 4], last_cell: [12, 20, 25]}
  coarse: {factor: [7, 8, 16]}
  checkpoint: {every_steps: 20}
""")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("plain"), LARGE)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("packed"), LARGE, "deck", "output.compression=4", ranks=2)


def test_compressed_files_are_shuffled_and_deflated_in_chunks_of_the_grid(plain, packed):
    expect_same_run(packed, plain)
    assert len(snapshots(packed)) == 3 + 3 + 1 + 1 and checkpoints(packed) == checkpoints(plain) != []
    assert all((cells(packed / name) == cells(plain / name)).all() for name in checkpoints(plain))
    for path in packed.glob("*.hdf"):
        with h5py.File(path) as file:
            dataset = file["temperature"]
            if "checkpoint" in path.name:
                assert dataset.chunks is None and dataset.compression is None
                continue
            assert (dataset.compression, dataset.compression_opts, dataset.shuffle) == ("gzip", 4, True)
            assert dataset.chunks == ((64, 64, 35) if dataset.shape == (64, 64, 70) else dataset.shape)


def test_the_record_has_the_bytes_before_and_after_compression(plain, packed):
    """`info` and `check` print them too."""
    files = [path for path in packed.glob("*.hdf") if "checkpoint" not in path.name]
    written = record(packed)["snapshots"]
    before = sum(cells(path).nbytes for path in files)
    assert written["bytes"] == sum(path.stat().st_size for path in files)
    assert (written["cell_bytes"], written["compression"]) == (before, 4)
    assert written["compression_ratio"] == pytest.approx(before / written["bytes"]) and written["compression_ratio"] > 1
    assert ", compressed from " in (packed / "run.log").read_text()
    written = record(plain)["snapshots"]
    assert (written["cell_bytes"], written["compression"], written["compression_ratio"]) == (before, 0, None)
    for folder, compressed in ((plain, False), (packed, True)):
        said = ran("info", folder / "deck_00000040.hdf").stdout
        assert "recomputed from the cells in the file" in said and ("\ncompressed    2.19 MiB of cells in " in said) == compressed
    assert " of the field before compression\n" in ran("check", "deck.yaml", "output.compression=4", cwd=plain.parents[1]).stdout


def test_runs_that_start_from_compressed_files_have_the_same_bits(plain, packed, tmp_path):
    """Restarted, run again from a snapshot, and set from one: always the same bits."""
    out = finished_run(tmp_path, LARGE, "deck", "problem.steps=20", ranks=2)
    done = ran("run", "deck.yaml", "output.compression=9", "--restart", "latest", ranks=3, cwd=tmp_path)
    assert "changed: output.compression 0 -> 9" in done.stdout
    assert (cells(out / "deck_00000040.hdf") == cells(packed / "deck_00000040.hdf")).all()
    ran("run", "--from", packed / "deck_00000020.hdf", "output.directory=again", cwd=tmp_path)
    expect_same_run(tmp_path / "again", packed)
    assert record(tmp_path / "again")["snapshots"]["compression"] == 4
    by_dataset = f"[{{shape: dataset, file: {packed}/deck_00000040.hdf, dataset: /VTKHDF/PointData/T}}]"
    ran("run", "deck.yaml", "output.directory=by_dataset", f"initial={by_dataset}", "problem.steps=0", ranks=2, cwd=tmp_path)
    assert {record(folder)["fingerprint"] for folder in (out, tmp_path / "by_dataset")} == {record(plain)["fingerprint"]}


def test_compression_without_the_filter_is_refused_before_any_work(filter_shim, tmp_path):
    """A level that does not exist is rejected too."""
    preload = {"LD_PRELOAD": str(filter_shim)}
    deck = write_deck(tmp_path, DECK.replace("every_steps: 20", "every_steps: 20, compression: 3"))
    for subcommand, ranks in (("check", 0), ("run", 0), ("run", 2)):
        done = ran(subcommand, deck, "output.directory=out", ranks=ranks, cwd=tmp_path, **preload, code=69)
        assert re.search(r": output\.compression: 3 cannot be written \(HDF5 \S+ was built without the filter deflate\); ", done.stderr)
        assert not (tmp_path / "out").exists()
    ran("run", deck, "output={directory: out, compression: 0}", cwd=tmp_path, **preload)
    said = ran("check", deck, "output.compression=10", cwd=tmp_path, code=65).stderr
    assert "output.compression" in said and "0 to 9" in said
