"""`animate`: one frame per time, in order, with one scale; `volume`: which isotherms are drawn for which cells. All or nothing."""

import importlib.util
import os
import shutil
import sys

import matplotlib.image
import numpy as np
import pytest
from failures import expect_failure
from isotherm_tools import figures, pictures
from isotherm_tools.__main__ import main
from isotherm_tools.run import Run
from PIL import Image, ImageSequence
from program import write_script
from runs import write_snapshot

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
    assert main(["animate", str(run), "--rate", "20", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n" and sorted(tmp_path.iterdir()) == [out, run]
    bright = brightness(out)
    assert len(bright) == 7 and np.all(np.diff(bright) > 0), bright
    with Image.open(out) as film:
        assert film.info["duration"] == 50 and film.info["loop"] == 0


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
def test_mp4(ramp, tmp_path):
    assert main(["animate", str(ramp), "--out", str(tmp_path / "film.mp4")]) == 0
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("script", [None, "exit 3", "cat >/dev/null; echo half >film.mp4.part; exit 3"])
def test_without_an_ffmpeg_that_works_it_is_69(ramp, tmp_path, monkeypatch, capsys, script):
    folder = tmp_path / "bin"
    folder.mkdir()
    if script:
        write_script(folder / "ffmpeg", f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    monkeypatch.setenv("PATH", str(folder))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert main(["animate", str(ramp), "--out", "film.mp4"]) == 69
    assert "end the name in .gif" in capsys.readouterr().err and os.listdir(".") == []


@pytest.mark.parametrize("code, arguments", [
    (2, ["--out", "film.avi"]), (2, ["--frames", "1"]), (2, ["--position", "7"]), (2, ["--series", "none"]),
    (73, ["--frames", "2", "--out", "no/film.gif"]), (73, ["--frames", "2", "--out", "file/film.gif"])])
def test_what_cannot_be_is_refused(ramp, tmp_path, monkeypatch, refused, code, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    refused(code, "", "animate", ramp, *arguments)
    assert os.listdir() == ["file"]


def test_one_snapshot_is_no_film(ramp, tmp_path, refused):
    shutil.copy(ramp / "ramp_00000000.hdf", tmp_path)
    refused(65, "holds one snapshot of ramp; a film needs two\n", "animate", tmp_path)


needs_pyvista = pytest.mark.skipif(not importlib.util.find_spec("pyvista"), reason="PyVista is not installed")


@pytest.fixture
def shown_run(tmp_path):
    """Hot in a corner: x high, y low, z high."""
    z, y, x = np.meshgrid(np.arange(10), np.arange(12), np.arange(16), indexing="ij")
    write_snapshot(tmp_path, 300 + 100 * np.exp(-((x - 14) ** 2 + (y - 1) ** 2 + (z - 8) ** 2) / 20))
    return tmp_path


def test_without_pyvista_it_is_69(shown_run, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyvista", None)
    assert main(["volume", str(shown_run)]) == 69
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "pip install pyvista" in err
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
def test_the_hot_corner_is_where_it_is(shown_run, capsys):
    assert main(["volume", str(shown_run), "--isotherms", "390"]) == 0
    assert capsys.readouterr().out == f"{shown_run}/demo_volume.png\n"
    pixels = matplotlib.image.imread(shown_run / "demo_volume.png")[:, :1100, :3]  # without the colour bar
    coloured = np.argwhere(pixels.max(axis=2) - pixels.min(axis=2) > 0.3)
    assert len(coloured) > 100
    row, column = np.median(coloured, axis=0)
    assert column > 0.5 * 1100 and row < 0.6 * len(pixels)


@needs_pyvista
def test_a_volume_that_cannot_be_is_refused(shown_run, tmp_path, capsys):
    for code, arguments in ((2, ["--out", "a.svg"]), (2, ["--time", "9"]), (2, ["--series", "none"]), (65, ["--isotherms", "9"]),
                            (73, ["--out", str(tmp_path / "no" / "a.png")])):
        assert main(["volume", str(shown_run), *arguments]) == code, arguments
    flat = tmp_path / "flat"
    flat.mkdir()
    write_snapshot(flat, np.ones((1, 4, 4)))
    assert main(["volume", str(flat)]) == 65
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 6
