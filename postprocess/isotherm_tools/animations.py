"""A plane of cells as a film: GIF, or MP4 where there is ffmpeg. All frames have one scale of colours."""

import argparse
import subprocess
from pathlib import Path

import numpy as np
from matplotlib import animation, pyplot
from PIL import Image

from isotherm_tools import figures, slices
from isotherm_tools.failure import COMMAND_LINE, DATA, UNAVAILABLE, Failure
from isotherm_tools.run_directory import RunDirectory
from isotherm_tools.units import length_unit
from isotherm_tools.whole_file import write_whole

MOST_FRAMES = 120
RATE = 10  # frames a second
DPI = 110


def add(verbs):
    verb = verbs.add_parser("animate", help="a plane of cells over the run's times, as GIF or MP4",
                              description="Makes a film of a plane of cells, with one scale of colours.")
    verb.set_defaults(action=animate)
    verb.add_argument("run", metavar="RUN_DIRECTORY")
    slices.add_plane_options(verb)
    verb.add_argument("--rate", type=positive, default=RATE, metavar="N", help=f"frames a second (default: {RATE})")
    verb.add_argument("--frames", type=positive, default=MOST_FRAMES, metavar="N",
                      help=f"at most so many, evenly over the run (default: {MOST_FRAMES})")
    verb.add_argument("--out", metavar="FILE",
                      help="gif or, with ffmpeg, mp4 by its ending (default: a gif in the run directory)")


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 on")
    return int(text)


def animate(options):
    run = RunDirectory(options.run)
    snapshots, axis = slices.chosen_series(run, options)
    name = options.series or run.name
    path = Path(options.out or run.path / f"{name}_{axis}.gif")
    write = writer_for(path)
    if options.frames < 2:
        raise Failure(COMMAND_LINE, "--frames 1 is a picture; slice draws it")
    if len(snapshots) < 2:
        raise Failure(DATA, f"{run.path} holds one snapshot of {name}; a film needs two")
    frames = slices.spread(snapshots, options.frames)
    number = slices.AXES.index(axis)
    index = slices.plane_index(frames[0], number, slices.chosen_position(run, frames[0], number, options))
    with pyplot.style.context(["default", figures.STYLE, {"figure.dpi": DPI}]):
        figure, drawn = film(name, frames, slices.AXES.index(axis), index)
        try:
            write_whole(path, lambda part: write(part, figure, drawn, options.rate))
        finally:
            pyplot.close(figure)
    return path


def writer_for(path):
    writers = {".gif": write_gif, ".mp4": write_mp4}
    if path.suffix.lower() not in writers:
        raise Failure(COMMAND_LINE, f"{path}: unknown film format; end the name in one of {', '.join(writers)}")
    write = writers[path.suffix.lower()]
    if write is write_mp4 and not animation.FFMpegWriter.isAvailable():
        raise Failure(UNAVAILABLE, f"{path} needs ffmpeg, which is not on PATH; install it, or end the name in .gif")
    return write


def film(name, frames, axis, index):
    """A figure, and a generator that draws one frame after the other into it. Planes are read twice, and never all held."""
    span = slices.colour_range([extremes(frame.plane(axis, index)) for frame in frames])
    figure = slices.slice_figure(name, frames[:1], axis, index, [frames[0].plane(axis, index)], span)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # as it is now: frames must not jump
    return figure, draw_frames(figure, name, frames, axis, index, span)


def extremes(plane):
    """Of what is finite, as an array; an empty one of nothing."""
    finite = plane[np.isfinite(plane)]
    return np.array([finite.min(), finite.max()]) if finite.size else finite


def draw_frames(figure, name, frames, axis, index, span):
    panel = figure.axes[0]
    image = panel.images[0]
    low, high = frames[0].bounds
    across, up = (other for other in range(3) if other != axis)
    title = slices.plane_title(name, frames[0], axis, index, length_unit(max((high - low)[[across, up]])))
    label = slices.sweep_label if slices.is_steady(frames) else slices.time_label
    for frame in frames:
        plane = frame.plane(axis, index)
        image.set_data(plane)
        for drawn in [*panel.collections, *panel.texts]:
            drawn.remove()
        slices.draw_contours(panel, plane, image.get_extent(), *span, values=False)
        panel.set_title(f"{title}, {label(frame)}", loc="left")
        yield frame


def write_gif(path, figure, frames, rate):
    pictures = []
    for _ in frames:
        figure.canvas.draw()
        pixels = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
        pictures.append(pixels.quantize(256, dither=Image.Dither.NONE))
    pictures[0].save(path, format="GIF", save_all=True, append_images=pictures[1:], duration=round(1000 / rate), loop=0)


def write_mp4(path, figure, frames, rate):
    """H.264, which browsers and telephones play. The name does not end in what it is, so that ffmpeg must be told."""
    film_writer = animation.FFMpegWriter(fps=rate, codec="h264", extra_args=["-f", "mp4"])
    try:
        with film_writer.saving(figure, path, DPI):
            for _ in frames:
                film_writer.grab_frame(facecolor="white")
    except (subprocess.CalledProcessError, BrokenPipeError) as error:
        raise Failure(UNAVAILABLE, f"ffmpeg makes no H.264 here ({error}); end the name in .gif") from error
