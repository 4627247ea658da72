"""Pictures of made-up snapshots and of a real run. `slice` and `history`; `animate`: one frame per time, in order,
with one scale; `volume`: which isotherms are drawn for which cells. All or nothing."""

import importlib.util
import os
import shutil
import sys
from types import SimpleNamespace

import h5py
import matplotlib.image
import numpy as np
import pytest
from failures import expect_failure
from isotherm_tools import figures, pictures
from isotherm_tools.__main__ import main
from isotherm_tools.run import Run, Snapshot, Table
from isotherm_tools.text import format_time, length_unit
from PIL import Image, ImageSequence
from program import write_script
from runs import write_snapshot


def coded(nx, ny, nz):
    """Every cell value encodes its indices: x + 100 y + 10000 z."""
    z, y, x = np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij")
    return x + 100.0 * y + 10000.0 * z


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for sweep, time in ((0, 0.0), (40, 2.0), (90, 4.5), (100, 5.0)):
        write_snapshot(folder, coded(12, 7, 5) + sweep, sweep, time)  # all different, so that swapped axes are detected
    lines = [f"{sweep},{sweep * 0.05},{10.0 ** (-sweep / 20)}" for sweep in range(10, 101, 10)]
    (folder / "history.csv").write_text("sweep,time_s,residual\n" + "\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("axis, position, index", [  # on the faces, and within
    ("x", "0.1", 0), ("x", "0.10099", 0), ("x", "0.112", 11), ("y", "-0.1899", 5), ("x", "0%", 0), ("y", "50%", 3), ("z", "100%", 4)])
def test_position_picks_the_cell_that_holds_it(run, axis, position, index):
    assert pictures.plane_index(Run(run).snapshots[0], "xyz".index(axis), position) == index


def test_a_position_within_rounding_of_a_face_is_that_face():
    """As in the program's own slices: 0.7 / 0.1 is less than 7."""
    box = SimpleNamespace(bounds=((0.0,) * 3, (1.0,) * 3), cells=(10, 10, 10), edges=[0.1 * np.arange(11)])
    assert [pictures.plane_index(box, 0, f"0.{k}") for k in range(10)] == list(range(10))


@pytest.mark.parametrize("time, sweep", [("first", 0), ("last", 100), ("2", 40), ("3.2", 40), ("3.3", 90), ("5", 100)])
def test_time_picks_the_nearest_snapshot(run, time, sweep):
    assert pictures.chosen_snapshot(Run(run).snapshots, SimpleNamespace(time=time, index=None)).sweep == sweep


def test_snapshots_come_in_order_of_sweeps_beyond_eight_digits(tmp_path):
    for sweep in (123456789, 99999999, 5):
        write_snapshot(tmp_path, coded(2, 2, 2), sweep)
    (tmp_path / "demo_00000007.hdf.part").write_bytes(b"half a file")
    assert [snapshot.sweep for snapshot in Run(tmp_path).snapshots] == [5, 99999999, 123456789]


def test_spread_keeps_first_and_last():
    assert pictures.spread(list(range(5)), 9) == list(range(5))
    chosen = pictures.spread(list(range(101)), 9)
    assert len(chosen) == 9 and chosen[0] == 0 and chosen[-1] == 100
    assert set(np.diff(chosen)) <= {12, 13}


@pytest.mark.parametrize("axis, names, edges, place", [
    (0, "yz", [-200, -186, 0, 20], "x = 102.5 mm"), (1, "xz", [100, 112, 0, 20], "y = -195 mm"),
    (2, "xy", [100, 112, -200, -186], "z = 10 mm")])
def test_axes_are_physical(run, monkeypatch, axis, names, edges, place):
    """The outer edges of cells are half a cell beyond the outer centres; in a suitable unit, to scale. No axis is inverted."""
    snapshot, drawn = Run(run).snapshots[0], []
    monkeypatch.setattr(pictures.figures, "draw", lambda path, figure, *what: drawn.append(figure(*what)) or path)
    assert main(["slice", str(run), "--index", "0", "--axis", "xyz"[axis], "--position", str(snapshot.centres(axis)[2])]) == 0
    panel, colours = drawn[0].axes
    assert [panel.get_xlabel(), panel.get_ylabel()] == [f"{name} [mm]" for name in names]
    assert colours.get_ylabel() == "temperature [K]"
    image, = panel.images
    assert np.array_equal(image.get_array(), snapshot.plane(axis, 2)) and image.origin == "lower" and image.get_cmap().name == "inferno"
    assert image.get_extent() == pytest.approx(edges) == [*panel.get_xlim(), *panel.get_ylim()]
    assert panel.get_aspect() == 1
    assert panel.get_title(loc="left") == f"demo, plane {place}, t = 0 s"


def test_neighbouring_planes_far_from_the_origin_have_titles_of_their_own(tmp_path):
    snapshot = Snapshot(write_snapshot(tmp_path, coded(3, 3, 3), spacing=(1e-3, 1e-3, 5e-4), origin=(0, 0, 2)), 10)
    titles = [pictures.slice_figure("demo", [snapshot], 2, z, [snapshot.plane(2, z)]).axes[0].get_title(loc="left") for z in range(3)]
    assert [title.split(", ")[1] for title in titles] == [f"plane z = {place} mm" for place in (2000.25, 2000.75, 2001.25)]


def test_panels_share_one_scale(run):
    snapshots = Run(run).snapshots
    figure = pictures.slice_figure("demo", snapshots, 2, 0, [snapshot.plane(2, 0) for snapshot in snapshots])
    panels = [panel for panel in figure.axes if panel.images]
    assert [panel.get_title(loc="left") for panel in panels] == ["t = 0 s", "t = 2 s", "t = 4.5 s", "t = 5 s"]
    assert {panel.images[0].get_clim() for panel in panels} == {(0.0, 711.0)}


@pytest.mark.parametrize("aspect, count", [(0.2, 1), (2, 3), (1, 5), (0.6, 2), (0.6, 3)])
def test_no_word_of_a_picture_is_cut_off(tmp_path, aspect, count):
    for sweep in range(count):
        write_snapshot(tmp_path, coded(1, 10, 10), sweep, float(sweep), "a_wall_of_bricks", spacing=(0.01, 0.05 * aspect, 0.05))
    assert main(["slice", str(tmp_path), "--axis", "x", "--all-times", "--out", str(tmp_path / "a.png")]) == 0
    pixels = matplotlib.image.imread(tmp_path / "a.png")[:, :, :3]
    pixels[8:-8, 8:-8] = 1
    assert np.all(pixels == 1), "the margin is white"


@pytest.mark.parametrize("arguments, ending", [(["slice"], "png"), (["slice", "--all-times"], "pdf"), (["slice", "--index", "1"], "svg"),
                                               (["history"], "pdf"), (["history"], "svg")])
def test_picture_is_written_whole(run, tmp_path, arguments, ending):
    out = tmp_path / f"picture.{ending}"
    assert main([arguments[0], str(run), *arguments[1:], "--out", str(out)]) == 0
    assert [path.name for path in tmp_path.iterdir() if path != run] == [out.name]
    assert out.read_bytes().startswith({"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[ending])


@pytest.mark.parametrize("arguments", [["slice"], ["slice", "--all-times"], ["history"], ["history", "--columns", "min_K"]])
def test_dollar_signs_of_a_name_are_no_formula(tmp_path, arguments):
    for sweep in (0, 20):
        write_snapshot(tmp_path, coded(3, 3, 3), sweep, float(sweep), r"a$\foo$b")
    (tmp_path / "history.csv").write_text(DIAGNOSTICS)
    out = tmp_path / "picture.svg"
    assert main([arguments[0], str(tmp_path), *arguments[1:], "--out", str(out)]) == 0
    assert r"<!-- a$\foo$b" in out.read_text()  # the words that its outlines draw


@pytest.mark.parametrize("field", [np.full((3, 4, 5), 293.15), np.full((1, 1, 1), 300.0), coded(30, 1, 1), coded(1, 2, 40)])
def test_uniform_and_thin_fields_are_drawn(tmp_path, capsys, field):
    write_snapshot(tmp_path, field)
    for axis in "xyz":
        assert main(["slice", str(tmp_path), "--axis", axis]) == 0
        assert capsys.readouterr().out == f"{tmp_path}/demo_slice_{axis}.png\n"


def test_steady_run_has_sweeps_not_times(tmp_path, refused):
    for sweep in (0, 250):
        write_snapshot(tmp_path, coded(3, 3, 3), sweep, 0.0)
    snapshots = Run(tmp_path).snapshots
    figure = pictures.slice_figure("demo", snapshots, 2, 0, [snapshot.plane(2, 0) for snapshot in snapshots])
    assert [panel.get_title(loc="left") for panel in figure.axes if panel.images] == ["sweep 0", "sweep 250"]
    for time in "0", "3":
        for text in (f"--time {time}: a steady run", "--index (0 to 1)"):
            refused(2, text, "slice", tmp_path, "--time", time)


DIAGNOSTICS = """\
wall_s,sweep,residual,time_s,relative_residual,min_K,mean_K,max_K,balance_W,hist_0,nan_cells
0.1,0,,0,,290,300,310,,5,0
0.2,10,0.5,1,1,,,,,,
0.3,20,0.25,2,0.5,291,300,309,nan,5,0
"""


def test_history_with_diagnostics(tmp_path):
    """A line has only the values that were due: the reader of residuals skips lines without one, and so on. Columns may have any order."""
    path = tmp_path / "history.csv"
    path.write_text(DIAGNOSTICS)
    history = Table(path, "")
    assert [list(values) for values in history.due("residual")] == [[10, 20], [1, 2], [0.5, 0.25]]
    assert [list(values) for values in history.due("max_K")] == [[0, 20], [0, 2], [310, 309]]
    path.write_text(DIAGNOSTICS[:-1])  # the last line may lack digits
    assert list(Table(path, "")["sweep"]) == [0, 10]


def test_columns_are_drawn_by_unit(tmp_path):
    (tmp_path / "history.csv").write_text(DIAGNOSTICS)
    figure = pictures.history_figure("demo", Run(tmp_path).history, ["min_K", "balance_W", "max_K"])
    kelvin, watt = [panel for panel in figure.axes if panel.lines]
    assert [line.get_label() for line in kelvin.lines] == ["lowest", "peak"]
    assert [list(line.get_ydata()) for line in kelvin.lines] == [[290, 291], [310, 309]]
    assert (kelvin.get_ylabel(), watt.get_ylabel()) == ("temperature [K]", "heat unaccounted for [W]")
    assert [panel.get_legend() is None for panel in (kelvin, watt)] == [False, True]  # a single curve needs no legend
    assert main(["history", str(tmp_path), "--columns", "min_K,nan_cells"]) == 0
    assert main(["history", str(tmp_path)]) == 0
    assert sorted(os.listdir(tmp_path)) == ["history.csv", f"{tmp_path.name}_diagnostics.png",
                                            f"{tmp_path.name}_history.png"]


def test_an_unknown_column_is_2_and_one_without_values_65(refused, tmp_path):
    """The line of sweep 0 has extremes, but no heat flows, as no sweep came before."""
    history = tmp_path / "history.csv"
    history.write_text("".join(DIAGNOSTICS.splitlines(keepends=True)[:2]))
    for code, columns, why in ((2, "min_K,mood", "has no column mood; it has wall_s, sweep, residual, "),
                               (65, "balance_W", "holds no values of balance_W "),
                               (65, "min_K,balance_W", "holds no values of balance_W ")):
        refused(code, f"history: {history} {why}", "history", tmp_path, "--columns", columns)
    assert os.listdir(tmp_path) == ["history.csv"]
    assert main(["history", str(tmp_path), "--columns", "min_K"]) == 0


@pytest.mark.parametrize("text", ["0,0,0\n", "10,0,1.5\n20,0,0\n", "10,0.1,nan\n20,0.2,1\n", "10,0,1.5\n20,0"])
def test_odd_histories_are_drawn(tmp_path, text):
    (tmp_path / "history.csv").write_text("sweep,time_s,residual\n" + text)
    assert main(["history", str(tmp_path)]) == 0


def test_units_of_lengths_and_times():
    lengths = {1e-9: "nm", 5e-7: "nm", 2e-6: "µm", 1e-3: "mm", 0.3: "mm", 1.0: "m", 900: "m", 4e3: "km"}
    times = {0: "0 s", 2.5e-9: "2.5 ns", 3e-6: "3 µs", 0.0125: "12.5 ms", 90: "90 s", 1800: "30 min", 1e6: "11.57 d"}
    assert {metres: length_unit(metres).name for metres in lengths} == lengths
    assert {seconds: format_time(seconds) for seconds in times} == times


def test_wrong_data_is_65(refused, tmp_path):
    text = tmp_path / "demo_00000001.hdf"
    text.write_text("no HDF5")
    refused(65, f"slice: {text} cannot be read as HDF5 (", "slice", tmp_path)

    write_snapshot(tmp_path, coded(2, 2, 2), 1)
    with h5py.File(text, "r+") as file:
        del file["temperature"]
        file.create_dataset("temperature", data=np.ones((8, 8, 8)), compression=1)
    with h5py.File(text) as file:
        chunk = file["temperature"].id.get_chunk_info(0)
    content = text.read_bytes()
    text.write_bytes(content[:chunk.byte_offset] + bytes(chunk.size) + content[chunk.byte_offset + chunk.size:])
    refused(65, f"slice: {text} cannot be read as HDF5 (", "slice", tmp_path)

    with h5py.File(text, "w") as file:
        file.create_group("isotherm")
    refused(65, f"slice: {text} is no snapshot of isotherm (", "slice", tmp_path)

    write_snapshot(tmp_path, coded(2, 2, 2), 2, name="other")
    refused(65, f"slice: {tmp_path} holds snapshots of several runs (demo, other)\n", "slice", tmp_path)

    history, part = tmp_path / "history.csv", tmp_path / "other_slice_z4_00000000.hdf"
    text.rename(tmp_path / "scan_1.hdf")
    h5py.File(tmp_path / "scan_1.hdf", "w").close()  # of another program
    part.touch()
    assert main(["slice", str(tmp_path)]) == 0 and list(Run(tmp_path).parts) == ["other_slice_z4"]
    refused(65, f"slice: {part} cannot be read as HDF5 (", "slice", tmp_path, "--series", "other_slice_z4")
    for table, why in (("sweep,time_s,residual\n", "holds no residuals"), ("sweep,time_s,residual,min_K\n0,0,,300\n", "holds no residuals"),
                       ("sweep,time_s,residual\n1,0,x\n", "")):
        history.write_text(table)
        refused(65, f"history: {history} {why}", "history", tmp_path)


@pytest.mark.parametrize("arguments, message", [
    (["--position", "0.2"], "lies outside the grid; along z it runs from 0 m to 0.02 m"), (["--position", "101%"], "lies outside the grid"),
    (["--position", "nan"], "lies outside the grid"), (["--position", "middle"], "is no number"), (["--time", "7"], "lies outside the run"),
    (["--time", "now"], "is no time"), (["--index", "4"], "the run has 4 snapshots"), (["--out", "picture.bmp"], "unknown format"),
    (["--out", "missing/picture.png"], "cannot write 'missing/picture.png' (No such file or directory)")])
def test_wrong_arguments_are_2_and_a_picture_that_cannot_be_written_73(refused, run, arguments, message):
    before = sorted(os.listdir(run))
    refused(73 if "missing" in arguments[1] else 2, message, "slice", run, *arguments)
    assert sorted(os.listdir(run)) == before


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("command", ["slice", "animate"])
def test_a_plane_without_a_body_is_refused(refused, tmp_path, command):
    field = coded(3, 4, 2)
    field[1] = np.nan
    for sweep in (1, 2):
        write_snapshot(tmp_path, field, sweep)
    refused(65, "holds no body in the plane z = 0.006 m", command, tmp_path, "--position", "75%")
    for words in (["--position", "25%"], ["--position", "75%", "--axis", "x"]):
        assert main([command, str(tmp_path), *words]) == 0


def test_only_the_plane_is_read(tmp_path):
    """One plane of a terabyte of unwritten (sparse) chunks can be drawn."""
    path = tmp_path / "demo_00000000.hdf"
    with h5py.File(path, "w") as file:
        file.create_dataset("temperature", (1 << 25, 64, 64), "f8", chunks=(1, 64, 64), fillvalue=300.0)
        file.create_group("isotherm").attrs.update({"origin": [0.0, 0.0, 0.0], "spacing": [1.0, 1.0, 1.0], "time": 0.0})
    assert Snapshot(path, 0).plane(2, 1 << 24).shape == (64, 64)


# animate


def brightness(path):
    """The brightness of each frame at its centre, where the field is."""
    with Image.open(path) as film:
        frames = [np.asarray(frame.convert("L"), dtype=float) for frame in ImageSequence.Iterator(film)]
    rows, columns = frames[0].shape
    return [frame[rows // 4:3 * rows // 4, columns // 8:columns // 2].mean() for frame in frames]


def test_a_frame_a_time_gets_brighter_as_the_field_gets_hotter(tmp_path, capsys):
    run, out = tmp_path / "run", tmp_path / "film.gif"
    run.mkdir()
    for sweep in range(7):
        write_snapshot(run, np.full((4, 10, 20), 300.0 + sweep), sweep, float(sweep))
    assert main(["animate", str(run), "--rate", "15", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n" and sorted(tmp_path.iterdir()) == [out, run]
    bright = brightness(out)
    assert len(bright) == 7 and np.all(np.diff(bright) > 0), bright
    with Image.open(out) as film:
        assert film.info["duration"] == 70 and film.info["loop"] == 0


def test_frames_are_spread_over_the_run_and_series_are_films(ramp, tmp_path):
    out = tmp_path / "a.gif"
    assert main(["animate", str(ramp), "--frames", "2", "--axis", "x", "--position", "10%", "--out", str(out)]) == 0
    assert len(brightness(out)) == 2
    assert main(["animate", str(ramp), "--series", "ramp_slice_y3"]) == 0
    assert len(brightness(ramp / "ramp_slice_y3_y.gif")) == 5
    (ramp / "ramp_slice_y3_y.gif").unlink()


def test_frames_share_colours_and_titles_tell_the_time(ramp):
    frames = Run(ramp).snapshots
    figure, drawn = pictures.film("ramp", frames, 2, 1)
    panel = figure.axes[0]
    ranges, titles = set(), []
    for frame in drawn:
        assert np.array_equal(panel.images[0].get_array(), frame.plane(2, 1))
        ranges.add(panel.images[0].get_clim())
        titles.append(panel.get_title(loc="left"))
    planes = np.array([frame.plane(2, 1) for frame in frames])
    assert ranges == {(planes.min(), planes.max())}
    assert titles[0] == "ramp, plane z = 6 mm, t = 0 s" and len(set(titles)) == len(frames)


def test_titles_of_tall_planes_are_within_the_frame(tmp_path):
    for sweep, time in ((0, 0.0), (10, 1234.5)):  # "t = 0 s", "t = 20.57 min"
        write_snapshot(tmp_path, np.full((10, 10, 1), 300.0) + sweep, sweep, time, "a_wall_of_bricks", spacing=(0.01, 0.01, 0.05))
    figure, drawn = pictures.film("a_wall_of_bricks", Run(tmp_path).snapshots, 0, 0)
    wide, high = figure.get_size_inches()
    for _ in drawn:
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        assert min(box.x0, box.y0, wide - box.x1, high - box.y1) > 0, box


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
def test_mp4(ramp, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    for name in ("film.mp4", "-a:b.mp4"):
        assert main(["animate", str(ramp), f"--out={name}"]) == 0
        assert (tmp_path / name).read_bytes()[4:8] == b"ftyp"
    refused(73, "cannot write 'no/film.mp4' (", "animate", ramp, "--out", "no/film.mp4")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("script", [None, "exit 3", "cat >/dev/null; echo half >film.mp4.part; exit 3"])
def test_without_an_ffmpeg_that_works_it_is_69(ramp, tmp_path, monkeypatch, refused, script):
    folder = tmp_path / "bin"
    folder.mkdir()
    if script:
        write_script(folder / "ffmpeg", f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    monkeypatch.setenv("PATH", str(folder))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    refused(69, "end the name in .gif", "animate", ramp, "--out", "film.mp4")
    assert os.listdir(".") == []


@pytest.mark.parametrize("code, arguments", [
    (2, ["--out", "film.avi"]), (2, ["--frames", "1"]), (2, ["--rate", "51"]), (2, ["--position", "7"]), (2, ["--series", "none"]),
    (73, ["--frames", "2", "--out", "no/film.gif"]), (73, ["--frames", "2", "--out", "file/film.gif"])])
def test_what_cannot_be_is_refused(ramp, tmp_path, monkeypatch, refused, code, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    refused(code, "", "animate", ramp, *arguments)
    assert os.listdir() == ["file"]


def test_one_snapshot_is_no_film(ramp, tmp_path, refused):
    shutil.copy(ramp / "ramp_00000000.hdf", tmp_path)
    refused(65, "holds one snapshot of ramp; a film needs two\n", "animate", tmp_path)


# volume

needs_pyvista = pytest.mark.skipif(not importlib.util.find_spec("pyvista"), reason="PyVista is not installed")


@pytest.fixture
def shown_run(tmp_path):
    """Hot in a corner: x high, y low, z high."""
    z, y, x = np.meshgrid(np.arange(10), np.arange(12), np.arange(16), indexing="ij")
    write_snapshot(tmp_path, 300 + 100 * np.exp(-((x - 14) ** 2 + (y - 1) ** 2 + (z - 8) ** 2) / 20))
    return tmp_path


def test_without_pyvista_it_is_69(shown_run, monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "pyvista", None)
    refused(69, "pip install pyvista", "volume", shown_run)
    assert [path.name for path in shown_run.iterdir()] == ["demo_00000010.hdf"]


def test_isotherms_are_round_and_within_the_field(shown_run):
    field = Run(shown_run).snapshots[0].every(1)
    levels = pictures.levels_of(field, None, "a.hdf")
    assert len(levels) >= 4 and all(field.min() < level < field.max() and level == round(level) for level in levels)
    assert pictures.levels_of(field, "310,350,900", "a.hdf") == [310, 350]
    expect_failure(65, "holds no such isotherm", pictures.levels_of, field, "900", "a.hdf")
    expect_failure(2, "--isotherms warm", pictures.levels_of, field, "warm", "a.hdf")
    uniform = np.full((3, 3, 3), 300.0)
    expect_failure(65, "holds no such isotherm; it has 300 K to 300 K", pictures.levels_of, uniform, None, "a.hdf")


def test_large_fields_are_thinned(shown_run, monkeypatch):
    snapshot = Run(shown_run).snapshots[0]
    assert pictures.stride_of(snapshot) == 1
    monkeypatch.setattr(pictures, "MOST_CELLS", 10 * 12 * 16 // 8)
    assert pictures.stride_of(snapshot) == 2
    assert np.array_equal(snapshot.every(2), snapshot.T[::2, ::2, ::2])


def test_the_edges_of_a_volume_have_their_lengths(shown_run):
    pixels = np.zeros((12, 16, 3), dtype=np.uint8)  # surfaces, which PyVista would draw; it may be missing
    figure = pictures.volume_figure("demo", Run(shown_run).snapshots[0], pictures.Scale([np.array([300.0, 400.0])]), [350], pixels, [(1, 1)] * 3)
    assert [text.get_text() for text in figure.axes[0].texts] == ["x 16 mm", "y 24 mm", "z 40 mm"]


@pytest.mark.parametrize("end, title", [(5.0, "demo, t = 0 s"), (0.0, "demo, sweep 0")])
def test_a_volume_has_a_time_or_a_sweep(tmp_path, monkeypatch, capsys, end, title):
    for sweep, time in ((0, 0.0), (10, end)):
        write_snapshot(tmp_path, np.arange(24.0).reshape(2, 3, 4), sweep, time)
    for name in ("load_pyvista", "surfaces"):  # PyVista may be missing
        monkeypatch.setattr(pictures, name, lambda *_: ())
    monkeypatch.setattr(figures, "draw", lambda _path, _make, title, *_: title)
    assert main(["volume", str(tmp_path), "--time", "first"]) == 0 and capsys.readouterr().out == f"{title}\n"


@needs_pyvista
def test_the_hot_corner_is_drawn_in_its_place(shown_run, capsys):
    assert main(["volume", str(shown_run), "--isotherms", "390"]) == 0
    assert capsys.readouterr().out == f"{shown_run}/demo_volume.png\n"
    pixels = matplotlib.image.imread(shown_run / "demo_volume.png")[:, :1100, :3]  # without the colour bar
    coloured = np.argwhere(pixels.max(axis=2) - pixels.min(axis=2) > 0.3)
    assert len(coloured) > 100
    row, column = np.median(coloured, axis=0)
    assert column > 0.5 * 1100 and row < 0.6 * len(pixels)


@needs_pyvista
def test_a_volume_that_cannot_be_is_refused(shown_run, tmp_path, refused):
    for code, arguments in ((2, ["--out", "a.svg"]), (2, ["--time", "9"]), (2, ["--series", "none"]), (65, ["--isotherms", "9"]),
                            (73, ["--out", tmp_path / "no" / "a.png"])):
        refused(code, "", "volume", shown_run, *arguments)
    flat = tmp_path / "flat"
    flat.mkdir()
    write_snapshot(flat, np.ones((1, 4, 4)))
    refused(65, "", "volume", flat)
