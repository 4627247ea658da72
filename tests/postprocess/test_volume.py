"""`volume`: which isotherms are drawn of which cells; without PyVista a line that says so."""

import importlib.util
import sys

import h5py
import matplotlib.image
import numpy as np
import pytest

from isotherm_tools import volumes
from isotherm_tools.cli import main
from isotherm_tools.failure import Failure
from isotherm_tools.run_directory import RunDirectory
from program import DECK, finished_run

SLICED = "{every_steps: 20, slices: [{axis: z, cell: 11, every_steps: 20}]}"
needs_pyvista = pytest.mark.skipif(not importlib.util.find_spec("pyvista"), reason="PyVista is not installed")


def write(folder, field, name="demo"):
    with h5py.File(folder / f"{name}_00000010.hdf", "w") as file:
        file["temperature"] = field
        file.create_group("isotherm").attrs.update({"origin": [0.0, 0.0, 0.0], "spacing": [1e-3, 2e-3, 3e-3], "time": 2.5})
    return folder


@needs_pyvista
def test_pyvista_opens_what_a_run_has_written(tmp_path):
    """The .xmf: the cells in their box, with a value at each end of it. The .hdf: the same values at the centres."""
    import pyvista

    out = finished_run(tmp_path, DECK.replace("{every_steps: 20}", SLICED), "deck")
    for name in ("deck", "deck_slice_z11"):
        with h5py.File(out / f"{name}_00000020.hdf") as file:
            field, low, spacing, time = (file["temperature"][:], *(file["isotherm"].attrs[key] for key in ("origin", "spacing", "time")))
        reader = pyvista.XdmfReader(out / f"{name}.xmf")
        assert len(reader.time_values) == 3
        reader.set_active_time_value(time)
        mesh = reader.read()
        assert np.array_equal(mesh.cell_data["temperature [K]"], field.ravel())
        high = low + spacing * field.shape[::-1]
        np.testing.assert_allclose(np.array(mesh.bounds).reshape(3, 2), np.array([low, high]).T, rtol=2e-7)
        ends = pyvista.PolyData(np.array([low, high], dtype=np.float32)).sample(mesh)
        assert list(ends["temperature [K]"]) == [field[0, 0, 0], field[-1, -1, -1]]
    image = pyvista.read(out / "deck_00000040.hdf")
    with h5py.File(out / "deck_00000040.hdf") as file:
        assert image.point_data.keys() == ["temperature"]
        assert np.array_equal(image.point_data["temperature"], file["temperature"][:].ravel())


@pytest.fixture
def run(tmp_path):
    """Hot in a corner: x high, y low, z high."""
    z, y, x = np.meshgrid(np.arange(10), np.arange(12), np.arange(16), indexing="ij")
    return write(tmp_path, 300 + 100 * np.exp(-((x - 14) ** 2 + (y - 1) ** 2 + (z - 8) ** 2) / 20))


def test_without_pyvista_it_is_69(run, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyvista", None)
    assert main(["volume", str(run)]) == 69
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "pip install pyvista" in err
    assert [path.name for path in run.iterdir()] == ["demo_00000010.hdf"]


def test_isotherms_are_round_and_within_the_field(run):
    field = RunDirectory(run).snapshots()[0].every(1)
    levels = volumes.levels_of(field, None, "a.hdf")
    assert len(levels) >= 4 and all(field.min() < level < field.max() and level == round(level) for level in levels)
    assert volumes.levels_of(field, "310,350,900", "a.hdf") == [310, 350]
    for wish, code in (("900", 65), ("warm", 2)):
        with pytest.raises(Failure) as caught:
            volumes.levels_of(field, wish, "a.hdf")
        assert caught.value.code == code
    with pytest.raises(Failure, match="holds no such isotherm; it has 300 K to 300 K"):
        volumes.levels_of(np.full((3, 3, 3), 300.0), None, "a.hdf")


def test_large_fields_are_thinned(run, monkeypatch):
    snapshot = RunDirectory(run).snapshots()[0]
    assert volumes.stride_of(snapshot) == 1
    monkeypatch.setattr(volumes, "MOST_CELLS", 10 * 12 * 16 // 8)
    assert volumes.stride_of(snapshot) == 2
    assert np.array_equal(snapshot.every(2), snapshot.T[::2, ::2, ::2])


@needs_pyvista
def test_the_hot_corner_is_where_it_is(run, capsys):
    assert main(["volume", str(run), "--isotherms", "390"]) == 0
    assert capsys.readouterr().out == f"{run}/demo_volume.png\n"
    pixels = matplotlib.image.imread(run / "demo_volume.png")[:, :1100, :3]  # not the colours' bar
    coloured = np.argwhere(pixels.max(axis=2) - pixels.min(axis=2) > 0.3)
    assert len(coloured) > 100
    row, column = np.median(coloured, axis=0)
    assert column > 0.5 * 1100 and row < 0.6 * len(pixels)


@needs_pyvista
def test_what_cannot_be_is_refused(run, tmp_path, capsys):
    for code, arguments in ((2, ["--out", "a.svg"]), (2, ["--time", "9"]), (2, ["--series", "none"]), (65, ["--isotherms", "9"]),
                            (73, ["--out", str(tmp_path / "no" / "a.png")])):
        assert main(["volume", str(run), *arguments]) == code, arguments
    flat = tmp_path / "flat"
    flat.mkdir()
    assert main(["volume", str(write(flat, np.ones((1, 4, 4))))]) == 65
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 6
