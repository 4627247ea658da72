"""Snapshots in other readers: h5py finds every cell at its place, `isotherm info` is correct."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from program import DECK, finished_run, isotherm, ran, write_deck
from runs import cells, fingerprint

CELLS = (17, 23, 31)
ORIGIN = (-1, 2, 0.5)
SPACING = (0.01, 0.02, 0.03)
CENTRE = [o + h / 2 for o, h in zip(ORIGIN, SPACING)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """mpi/test_snapshot.cpp tests every number of ranks, and fp32."""
    return finished_run(tmp_path_factory.mktemp("run"), DECK, ranks=3)


@pytest.fixture
def whole(run):
    return run / "deck_00000040.hdf"


@pytest.fixture
def snapshot(whole, tmp_path):
    """A copy that a test may spoil."""
    return shutil.copy(whole, tmp_path / "copy.hdf")


def test_every_cell_at_its_place(run):
    values = cells(run / "deck_00000000.hdf")
    assert values.shape == CELLS[::-1] and values.dtype == np.float64
    z, y, x = np.meshgrid(*(CENTRE[a] + SPACING[a] * np.arange(CELLS[a]) for a in (2, 1, 0)), indexing="ij")
    np.testing.assert_allclose(values, 300 + 50 * x + 7 * y + 3 * z * z, rtol=1e-14)


def test_vtk_finds_what_it_needs(run):
    with h5py.File(run / "deck_00000020.hdf") as file:
        vtk = file["VTKHDF"]
        assert list(vtk.attrs["Version"]) == [1, 0] and vtk.attrs["Version"].dtype == np.int64
        kind = vtk.attrs.get_id("Type").get_type()
        assert not kind.is_variable_str() and kind.get_cset() == h5py.h5t.CSET_ASCII
        assert vtk.attrs["Type"] == b"ImageData"
        assert list(vtk.attrs["WholeExtent"]) == [0, 16, 0, 22, 0, 30]
        np.testing.assert_allclose(vtk.attrs["Origin"], CENTRE, rtol=1e-15)
        np.testing.assert_allclose(vtk.attrs["Spacing"], SPACING, rtol=1e-15)
        assert list(vtk.attrs["Direction"]) == [1, 0, 0, 0, 1, 0, 0, 0, 1]
        assert "FieldData" not in vtk
        assert list(vtk["PointData"]) == ["temperature"] and vtk["PointData/temperature"] == file["temperature"]
        assert file["temperature"].chunks is None
        assert file["temperature"].attrs["units"] == b"K"


def test_the_file_knows_its_run(run, whole):
    with h5py.File(whole) as file:
        own, values = file["isotherm"], file["temperature"][:]
        assert own.attrs["sweep"] == 40 and own.attrs["format_version"] == 2 and own.attrs["time"] > 0
        assert own["deck"][()].decode() == (run / "deck.yaml").read_text() == DECK
        assert "# run: \"deck\"\n" + own["resolved_deck"][()].decode() == (run / "deck.resolved.yaml").read_text()
        assert int(own.attrs["fingerprint"]) == int(own.attrs["fingerprint_hex"], 16) == fingerprint(values)
    assert f"{fingerprint(values):016x}" == json.loads((run / "run.json").read_text())["fingerprint"]


def test_info_tells_what_it_is(snapshot):
    done = ran("info", snapshot)
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert lines["cells"] == "17 x 23 x 31 = 12121 (x y z)"
    assert lines["spacing"] == "0.01 x 0.02 x 0.03 m"
    assert lines["origin"].startswith("(-1, 2, 0.5) m")
    assert lines["sweep"] == "40" and lines["precision"] == "fp64"
    assert lines["fingerprint"].endswith("(recomputed from the cells in the file)")
    assert isotherm("info", snapshot, "--deck").stdout == DECK


def test_info_finds_one_changed_bit(snapshot):
    with h5py.File(snapshot, "r+") as file:
        cells = file["temperature"]
        plane = cells[30].view(np.uint64)
        plane[22, 16] ^= np.uint64(1)
        cells[30] = plane.view(np.float64)
    done = ran("info", snapshot, code=65)
    assert "a value was changed after it was written" in done.stderr
    assert "NOT that of the cells" in done.stdout


def link_elsewhere(file):
    del file["isotherm"]
    file["isotherm"] = h5py.ExternalLink("/etc/passwd", "/")


@pytest.mark.parametrize("spoil, message", [
    (lambda file: file["isotherm"].attrs.modify("format_version", np.int64(3)), "format version 3 (this isotherm reads 1 to 2)"),
    (lambda file: file["isotherm"].attrs.pop("sweep"), "no valid 'sweep'"),
    (lambda file: file["isotherm"].attrs.create("cells", "many"), "no valid 'cells'"),
    (lambda file: file.pop("isotherm"), "no group /isotherm"), (link_elsewhere, "no group /isotherm")])
def test_info_refuses_other_files(snapshot, spoil, message):
    with h5py.File(snapshot, "r+") as file:
        spoil(file)
    done = isotherm("info", snapshot)
    assert (done.returncode, done.stdout) == (65, "")
    assert message in done.stderr and done.stderr.count("\n") == 1
    snapshot.write_text("not HDF5")
    for name, code in ((snapshot, 65), ("none.hdf", 66), (".", 66)):
        ran("info", name, cwd=snapshot.parent, code=code)


def with_dataset(file, dataset="/temperature"):
    head, tail = DECK.split("initial:\n")[0], DECK.split("problem:")[1]
    return f"{head}initial:\n  - {{shape: dataset, file: {file}, dataset: {dataset}}}\nproblem:{tail}"


@pytest.mark.parametrize("name", ["/temperature", "temperature", "/VTKHDF/PointData/temperature", "/VTKHDF/PointData/T", "VTKHDF/PointData/T"])
def test_a_deck_names_the_temperature_as_it_was_or_is(whole, tmp_path, name):
    """Decks must outlive file formats: each name of the cells works in files of each format."""
    kept = Path(__file__).with_name("fixtures") / "0.1" / "kept_00000030.hdf"
    small = "grid: {cells: [7, 6, 5], lengths: [0.7, 0.6, 0.5], origin: [-1, 2, 0.5]}\n"
    files = [(whole, DECK.split("material")[0], "temperature"), (kept, small, "VTKHDF/PointData/T")]
    for index, (file, head, place) in enumerate(files):
        text = head + "material" + with_dataset(file, name).split("material", 1)[1]
        ran("run", write_deck(tmp_path, text, f"deck{index}.yaml"), "output.directory=.", "output.overwrite=true", "problem.steps=0",
            ranks=4 if file == whole else 0, cwd=tmp_path)
        with h5py.File(file) as old:
            assert np.array_equal(old[place][:], cells(tmp_path / f"deck{index}_00000000.hdf"))


def test_names_of_the_temperature_are_nothing_special_in_files_of_others(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["VTKHDF/PointData/T"] = np.full((31, 23, 17), 300.0)
    done = ran("run", write_deck(tmp_path, with_dataset(tmp_path / "data.h5")), "output.directory=out", cwd=tmp_path, code=65)
    assert "data.h5:/temperature: no such dataset (the file's root holds 'VTKHDF')" in done.stderr


@pytest.mark.parametrize("values, message", [
    (np.zeros((17, 23, 31)), "expected shape (nz, ny, nx) = (31, 23, 17), found (17, 23, 31) (the axes are reversed)"),
    (None, "data.h5: cannot be read (No such file or directory)")])
def test_a_dataset_that_does_not_fit_is_refused(tmp_path, values, message):
    """unit/test_dataset_reader.cpp tests all reasons."""
    if values is not None:
        with h5py.File(tmp_path / "data.h5", "w") as file:
            file["T"] = values
    deck = write_deck(tmp_path, with_dataset(tmp_path / "data.h5", "T"))
    done = ran("run", deck, "output.directory=out", ranks=2, cwd=tmp_path, code=66 if values is None else 65)
    assert message in done.stderr
    assert not list(tmp_path.glob("out/*.hdf"))
