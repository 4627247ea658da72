"""`animate`: a frame a time, in their order, of one scale; whole or not at all."""

import os
import shutil

import numpy as np
import pytest
from PIL import Image, ImageSequence

from isotherm_tools import animations
from isotherm_tools.cli import main
from isotherm_tools.run_directory import RunDirectory
from program import finished_run

DECK = """
grid: {cells: [20, 10, 4], spacing: 1e-3}
material: {conductivity: 20, density: 8000, heat_capacity: 500}
boundaries: {x_min: {kind: temperature, value: 400}}
initial: [{shape: constant, value: 300}]
problem: {kind: transient, steps: 60}
solver: {kernel: reference, reduction: reference, halo_width: 1}
output: {every_steps: 10, slices: [{axis: y, cell: 2, every_steps: 30}]}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("film"), DECK, "bar")


def brightness(path):
    """Of each frame, in its middle, where the field is."""
    with Image.open(path) as film:
        frames = [np.asarray(frame.convert("L"), dtype=float) for frame in ImageSequence.Iterator(film)]
    rows, columns = frames[0].shape
    return [frame[rows // 4:3 * rows // 4, columns // 8:columns // 2].mean() for frame in frames]


def test_a_frame_a_time_gets_brighter_as_the_bar_gets_hotter(run, tmp_path, capsys):
    out = tmp_path / "film.gif"
    assert main(["animate", str(run), "--rate", "20", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n" and list(tmp_path.iterdir()) == [out]
    bright = brightness(out)
    assert len(bright) == 7 and np.all(np.diff(bright) > 0), bright
    with Image.open(out) as film:
        assert film.info["duration"] == 50 and film.info["loop"] == 0


def test_frames_are_spread_over_the_run_and_series_are_films(run, tmp_path):
    assert main(["animate", str(run), "--frames", "3", "--axis", "x", "--position", "10%", "--out", str(tmp_path / "a.gif")]) == 0
    assert len(brightness(tmp_path / "a.gif")) == 3
    assert main(["animate", str(run), "--series", "bar_slice_y2"]) == 0
    assert len(brightness(run / "bar_slice_y2_y.gif")) == 3
    (run / "bar_slice_y2_y.gif").unlink()


def test_frames_share_colours_and_titles_tell_the_time(run):
    frames = RunDirectory(run).snapshots()
    figure, drawn = animations.film("bar", frames, 2, 1)
    panel = figure.axes[0]
    ranges, titles = set(), []
    for frame in drawn:
        assert np.array_equal(panel.images[0].get_array(), frame.plane(2, 1))
        ranges.add(panel.images[0].get_clim())
        titles.append(panel.get_title(loc="left"))
    planes = np.array([frame.plane(2, 1) for frame in frames])
    assert ranges == {(planes.min(), planes.max())}
    assert titles[0] == "bar, plane z = 1.5 mm, t = 0 s" and len(set(titles)) == len(frames)


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
def test_mp4(run, tmp_path):
    assert main(["animate", str(run), "--out", str(tmp_path / "film.mp4")]) == 0
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("script", [None, "exit 3", "cat >/dev/null; echo half >film.mp4.part; exit 3"])
def test_without_an_ffmpeg_that_works_it_is_69(run, tmp_path, monkeypatch, capsys, script):
    folder = tmp_path / "bin"
    folder.mkdir()
    if script:
        (folder / "ffmpeg").write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        (folder / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert main(["animate", str(run), "--out", "film.mp4"]) == 69
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "end the name in .gif" in err
    assert os.listdir(".") == []


@pytest.mark.parametrize("code, arguments", [(2, ["--out", "film.avi"]), (2, ["--frames", "1"]), (2, ["--position", "7"]),
                                             (2, ["--series", "none"]), (73, ["--out", "no/film.gif"])])
def test_what_cannot_be_is_refused(run, tmp_path, monkeypatch, capsys, code, arguments):
    monkeypatch.chdir(tmp_path)
    assert main(["animate", str(run), *arguments]) == code
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and list(tmp_path.iterdir()) == []


def test_one_snapshot_is_no_film(run, tmp_path, capsys):
    shutil.copy(run / "bar_00000000.hdf", tmp_path)
    assert main(["animate", str(tmp_path)]) == 65
    assert capsys.readouterr().err.endswith("holds one snapshot of bar; a film needs two\n")


def test_a_file_in_place_of_a_folder_is_73(run, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["animate", str(run), "--out", str(tmp_path / "file" / "film.gif")]) == 73
    assert capsys.readouterr().err.count("\n") == 1
