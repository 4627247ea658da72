"""Draws a run: planes of cells through the box, at one time or several side by side; films as GIF, or as MP4 if ffmpeg is installed;
isotherms as surfaces, by PyVista, which no other subcommand needs; residuals and diagnostics over the sweeps."""

import math
import subprocess
import sys
from contextlib import closing

import numpy as np
from matplotlib import animation, cm, colors, pyplot
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import BboxTransformFrom
from PIL import Image

from isotherm_tools import figures
from isotherm_tools.program import COMMAND_LINE, DATA, UNAVAILABLE, Failure, add_subcommand, failing, number_from, write_whole
from isotherm_tools.run import Run
from isotherm_tools.text import counted, format_length, format_time, groups, length_unit, quantity, time_unit, titled

AXES = "xyz"
MOST_PANELS = 9


def add(subcommands):
    plane = add_subcommand(subcommands, "slice", draw_slice,
                           "draw the temperature in a plane of cells, with isotherms, at one time or several")
    film = add_subcommand(subcommands, "animate", animate, "draw a plane of cells over the run's times, as GIF or MP4",
                          out="gif or, with ffmpeg, mp4 by its ending (default: a gif in that directory)")
    volume = add_subcommand(subcommands, "volume", draw_volume, "draw isotherms as surfaces in the box (needs PyVista)",
                            out="png (default: in that directory)")
    history = add_subcommand(subcommands, "history", draw_history, "draw the residual, or columns of history.csv, over sweeps")
    for each in (plane, film):
        each.add_argument("--series", metavar="NAME", help="files of a part of the cells, e.g. demo_slice_z12, demo_coarse")
        each.add_argument("--axis", choices=tuple(AXES), help="the plane's normal (default: z; of a slice, its own)")
        each.add_argument("--position", metavar="METRES|SHARE",
                          help="where on that axis, e.g. 0.01 or 25%% (default: the hottest cell at the end of the run, if "
                               "run.json has it; else 50%%)")
    volume.add_argument("--series", metavar="NAME", help="the region or the coarse field, e.g. demo_coarse")
    for each in (plane, volume):
        when = each.add_mutually_exclusive_group()
        when.add_argument("--time", default="last", metavar="first|last|SECONDS", help="the snapshot nearest to it (default: last)")
        when.add_argument("--index", type=int, help="the snapshot by number from 0; -1 is the last")
        if each is plane:
            when.add_argument("--all-times", action="store_true", help=f"up to {MOST_PANELS} snapshots, evenly over the run")
    film.add_argument("--rate", type=number_from(1), default=10, metavar="N", help="frames per second (default: 10)")
    film.add_argument("--frames", type=number_from(1), default=120, metavar="N", help="at most this many, evenly over the run (default: 120)")
    volume.add_argument("--isotherms", metavar="K,K", help=f"their temperatures (default: about {SURFACES} round ones)")
    history.add_argument("--columns", metavar="NAME,NAME", help="of history.csv, e.g. min_K,mean_K,max_K,balance_W")


def draw_slice(options):
    run = Run(options.run)
    snapshots, axis = chosen_series(run, options)
    kind = "slices" if options.all_times else "slice"
    path = figures.check_format(options.out or run.path / f"{options.series or run.name}_{kind}_{AXES[axis]}.png")
    chosen = spread(snapshots) if options.all_times else [chosen_snapshot(snapshots, options)]
    index = plane_index(chosen[0], axis, options.position, run.hottest_place())
    planes = [each.plane(axis, index) for each in chosen]
    if not any(np.isfinite(plane).any() for plane in planes):
        raise no_body(chosen[0], axis, index)
    # One panel per snapshot, with one colour scale, so that panels can be compared.
    return figures.draw(path, slice_figure, run.name, chosen, axis, index, planes)


def no_body(snapshot, axis, index):
    return Failure(DATA, f"{snapshot.path} holds no body in the plane {AXES[axis]} = {snapshot.centres(axis)[index]:.6g} m, where "
                         "no cell has a temperature; choose another --position or --series")


def chosen_series(run, options):
    snapshots = run.series(options.series)
    return snapshots, AXES.index(options.axis or snapshots[0].thin_axis or "z")


def chosen_snapshot(snapshots, options):
    """The snapshot by number, where negative numbers count from the end, or by time: `first`, `last`, or the snapshot nearest to a
    number of seconds within the run."""
    index, time = options.index, options.time
    if index is not None:
        if not -len(snapshots) <= index < len(snapshots):
            raise Failure(COMMAND_LINE, f"--index {index}: the run has {counted(len(snapshots), 'snapshot')}, numbered from 0")
        return snapshots[index]
    if time in ("first", "last"):
        return snapshots[0 if time == "first" else -1]
    with failing(ValueError, COMMAND_LINE, lambda _: f"--time {time} is no time; give first, last or seconds"):
        seconds = float(time)
    if is_steady(snapshots):
        raise Failure(COMMAND_LINE, f"--time {time}: a steady run has sweeps, no times; use first, last or --index (0 to {len(snapshots) - 1})")
    first, last = snapshots[0].time, snapshots[-1].time
    slack = 1e-9 * (last - first)
    if not first - slack <= seconds <= last + slack:
        raise Failure(COMMAND_LINE, f"--time {time} lies outside the run; it holds {first:.6g} s to {last:.6g} s")
    return snapshots.nearest(seconds)


def plane_index(snapshot, axis, position, hottest=None):
    """Index of the cell at `position`: metres, or "40%" of the length of the axis. None: the cell at the `hottest` place of the run if
    this file contains it, else the middle."""
    low, high = (corner[axis] for corner in snapshot.bounds)
    if position is None:
        position = repr(hottest[axis]) if hottest and low <= hottest[axis] <= high else "50%"
    with failing(ValueError, COMMAND_LINE, lambda _: f"--position {position} is no number; give metres, or a share such as 50%"):
        metres = low + float(position[:-1]) / 100 * (high - low) if position.endswith("%") else float(position)
    slack = 1e-9 * (high - low)
    if not low - slack <= metres <= high + slack:
        raise Failure(COMMAND_LINE, f"--position {position} lies outside the grid; along {AXES[axis]} it runs from "
                                    f"{low:.6g} m to {high:.6g} m")
    # As in the program's slices: an upper face belongs to the cell below it only at the end of the box, and a position within rounding
    # of a face is on this face.
    faces = snapshot.edges[axis]
    index = int(np.searchsorted(faces + 1e-9 * np.append(0, -np.diff(faces)), metres, side="right")) - 1
    return min(max(index, 0), snapshot.cells[axis] - 1)


def spread(snapshots, most=MOST_PANELS):
    """At most `most` snapshots, evenly over the run, including the first and the last."""
    return [snapshots[i] for i in np.linspace(0, len(snapshots) - 1, min(most, len(snapshots))).round().astype(int)]


def places_in(snapshot, axis):
    """The horizontal and the vertical axis of a plane of cells, the positions of the faces along each, and their unit."""
    axes = [other for other in range(3) if other != axis]
    unit = length_unit(max(np.ptp(snapshot.edges[along]) for along in axes))
    return axes, [snapshot.edges[along] / unit.si for along in axes], unit


def slice_figure(name, snapshots, axis, index, planes, scale=None):
    """`scale`: a colour scale to share with other planes."""
    (across, up), places, unit = places_in(snapshots[0], axis)
    scale, steady = scale or Scale(planes), is_steady(snapshots)
    columns, rows, size = arrange(len(planes), np.ptp(places[0]) / np.ptp(places[1]))
    figure, panels = pyplot.subplots(rows, columns, figsize=size, squeeze=False, sharex=True, sharey=True, layout="constrained")
    for panel in panels.flat[len(planes) :]:
        panel.set_visible(False)
    for number, (panel, plane, snapshot) in enumerate(zip(panels.flat, planes, snapshots)):
        panel.set_aspect("equal")
        image = draw_plane(panel, *places, plane, scale)
        panel.set_title(moment(snapshot, steady), loc="left")
        if number % columns == 0:
            panel.set_ylabel(f"{AXES[up]} [{unit.name}]")
        if number + columns >= len(planes):
            panel.set_xlabel(f"{AXES[across]} [{unit.name}]")
            panel.tick_params(labelbottom=True)
    figure.colorbar(image, ax=panels, label="temperature [K]", shrink=0.9, aspect=30, pad=0.02)
    title = f"{figures.plain(name)}, plane {AXES[axis]} = {format_length(snapshots[0].centres(axis)[index], unit)}"
    if len(planes) == 1:
        panels[0, 0].set_title(f"{title}, {moment(snapshots[0], steady)}", loc="left")
    else:
        figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return figure


class Scale:
    """The colour scale and round isotherms that planes of cells, or a field, share."""

    def __init__(self, planes, most=9):
        finite = np.concatenate([plane[np.isfinite(plane)] for plane in planes])
        self.low, self.high = map(float, (finite.min(), finite.max()) if finite.size else (0, 0))
        if self.high - self.low > 1e-12 * abs(self.high):
            ticks = MaxNLocator(most + 1, steps=[1, 2, 2.5, 5, 10]).tick_values(self.low, self.high)
            self.isotherms = [float(level) for level in ticks if self.low < level < self.high]
        else:  # a uniform plane: rounding must not be enlarged to a pattern
            self.low, self.high, self.isotherms = self.low - 0.5, self.high + 0.5, []

    def ink(self, level):
        """The colour of an isotherm: the inferno map is dark for low temperatures."""
        return "white" if (level - self.low) < 0.65 * (self.high - self.low) else "black"


def draw_plane(panel, across, up, plane, scale, values=True, most_cells=None, **look):
    """Draws cells and isotherms; returns the image. `across`, `up`: positions of the faces. `values`: label the lines, which films do
    not, as labels would jump between frames. `most_cells`: along a side; with more cells the lines use only every second, third, ...
    cell."""
    image = panel.pcolorfast(across, up, plane, cmap="inferno", vmin=scale.low, vmax=scale.high)
    finite = plane[np.isfinite(plane)]
    levels = [level for level in scale.isotherms if finite.size and finite.min() < level < finite.max()]
    if min(plane.shape) < 2 or not levels:
        return image
    rows, columns = (slice(None, None, -(-count // (most_cells or count))) for count in plane.shape)
    x, y = ((faces[:-1] + faces[1:]) / 2 for faces in (across, up))
    lines = panel.contour(x[columns], y[rows], plane[rows, columns], levels=levels, colors=list(map(scale.ink, levels)),
                          **{"linewidths": 0.5, "alpha": 0.7, **look})
    if values:  # where there is room; on a panel narrower than 0.8 inches on every second line
        inches = panel.get_position().size * panel.figure.get_size_inches()
        texts = panel.clabel(lines, lines.levels[::2 if min(inches) < 0.8 else 1], fmt="%g", fontsize=8, inline_spacing=2)
        figures.stays(*texts, *panel.collections)
    return image


def arrange(count, aspect):
    """Columns, rows and inches of a figure of `count` panels, each `aspect` times as wide as high."""
    longest = figures.WIDTH - 1.9 if count == 1 else 1.5  # three panels and the colour bar are little wider than WIDTH
    width, height = max(longest * min(aspect, 1), 1.2), max(longest / max(aspect, 1), 0.75)
    # The nearest to a page, which is 1.4 times as wide as high.
    columns = min(range(1, count + 1), key=lambda n: abs(math.log(n * width / (math.ceil(count / n) * height * 1.4))))
    rows = math.ceil(count / columns)
    return columns, rows, (columns * (width + 0.3) + 1.6, rows * (height + 0.5) + 0.7)


def is_steady(snapshots):
    """Snapshots of steady runs have no time: their sweep is shown instead."""
    return all(snapshot.time == 0 for snapshot in snapshots) and snapshots[-1].sweep > 0


def moment(snapshot, steady):
    return f"sweep {snapshot.sweep}" if steady else f"t = {format_time(snapshot.time)}"


def animate(options):
    run = Run(options.run)
    snapshots, axis = chosen_series(run, options)
    name = options.series or run.name
    writers = {".gif": write_gif, ".mp4": write_mp4}
    path = figures.check_format(options.out or run.path / f"{name}_{AXES[axis]}.gif", writers)
    write = writers[path.suffix.lower()]
    if write is write_mp4 and not animation.FFMpegWriter.isAvailable():
        raise Failure(UNAVAILABLE, f"{path} needs ffmpeg, which is not on PATH; install it, or end the name in .gif")
    if write is write_gif and options.rate > 50:
        raise Failure(COMMAND_LINE, f"--rate {options.rate}: a GIF has at most 50 frames per second; end the name of --out in .mp4")
    if options.frames < 2:
        raise Failure(COMMAND_LINE, "--frames 1 is a picture; slice draws it")
    if len(snapshots) < 2:
        raise Failure(DATA, f"{run.path} holds one snapshot of {name}; a film needs two")
    frames = spread(snapshots, options.frames)
    index = plane_index(frames[0], axis, options.position, run.hottest_place())
    with figures.look():
        figure, drawn = film(name, frames, axis, index)
        try:
            write_whole(path, lambda part: write(part, figure, drawn, options.rate))
        finally:
            pyplot.close(figure)
    return path


def film(name, frames, axis, index):
    """A figure, and a generator that draws one frame after the other into it. Reads each plane twice, and never holds all of them."""
    finite = (plane[np.isfinite(plane)] for plane in (frame.plane(axis, index) for frame in frames))
    ends = [np.array([each.min(), each.max()]) for each in finite if each.size]
    if not ends:
        raise no_body(frames[0], axis, index)
    scale = Scale(ends)
    steady, places = is_steady(frames), places_in(frames[0], axis)[1]
    longest = max(frames, key=lambda frame: len(moment(frame, steady)))
    figure = slice_figure(name, [longest], axis, index, [longest.plane(axis, index)], scale)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # fixes the layout: frames must not jump
    whole = figure.get_tightbbox().padded(0.1)  # the titles of tall planes are wider than the figure
    to_whole = figure.transFigure.frozen() + BboxTransformFrom(whole.transformed(figure.dpi_scale_trans))
    for axes in figure.axes:
        axes.set_position(to_whole.transform_bbox(axes.get_position(original=True)))
    figure.set_size_inches(whole.size)
    panel = figure.axes[0]
    title = panel.get_title(loc="left").rpartition(", ")[0]

    def drawn():
        for frame in frames:
            for artist in [*panel.images, *panel.collections, *panel.texts]:
                artist.remove()
            draw_plane(panel, *places, frame.plane(axis, index), scale, values=False)
            panel.set_title(f"{title}, {moment(frame, steady)}", loc="left")
            yield frame
    return figure, drawn()


def write_gif(path, figure, frames, rate):
    pictures = []
    for _ in frames:
        figure.canvas.draw()
        pixels = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
        # Uses the palette of the first frame, whose colour bar has all colours: of other frames only changes are stored.
        pictures.append(pixels.quantize(256, palette=pictures[0] if pictures else None, dither=Image.Dither.NONE))
    hundredths = round(100 / rate)  # of a second, which GIF counts
    pictures[0].save(path, format="GIF", save_all=True, append_images=pictures[1:], duration=10 * hundredths, loop=0)


def write_mp4(path, figure, frames, rate):
    """Writes H.264, which browsers and telephones play. The name of the part file does not show the format: ffmpeg needs -f."""
    path.touch()  # reports a folder without write permission before ffmpeg runs
    film_writer = animation.FFMpegWriter(fps=rate, codec="h264", extra_args=["-f", "mp4"])
    with failing((subprocess.CalledProcessError, BrokenPipeError), UNAVAILABLE,
                 lambda error: f"ffmpeg makes no H.264 here ({error}); end the name in .gif"), \
            film_writer.saving(figure, path.absolute(), figure.dpi):  # ffmpeg reads a relative -a as an option, a:b as a protocol
        for _ in frames:
            film_writer.grab_frame(facecolor="white")


MOST_CELLS = 256**3  # limit for surfaces: larger fields use every second, third, ... cell
SURFACES = 7
SIZE = (1600, 1200)  # pixels
VIEW = (-0.45, -1.0, 0.75)  # direction of the camera: x to the right, y away from it, z up
EDGES = ((0, (0.5, 0, 0), (0, -14)), (1, (0, 0.5, 0), (-14, 0)), (2, (1, 0, 0.5), (12, -4)))  # axis, place, label offset in points


def draw_volume(options):
    run = Run(options.run)
    snapshots, name = run.series(options.series), options.series or run.name
    path = figures.check_format(options.out or run.path / f"{name}_volume.png", (".png",))  # surfaces are drawn as pixels
    snapshot = chosen_snapshot(snapshots, options)
    if snapshot.thin_axis:
        raise Failure(DATA, f"{snapshot.path} is one cell thick along {snapshot.thin_axis} and holds no surfaces; slice draws it")
    pyvista, stride = load_pyvista(), stride_of(snapshot)
    if stride > 1:
        print(f"note: of {snapshot.path} one cell in {stride} along each axis is drawn", file=sys.stderr)
    field = snapshot.every(stride)
    scale, levels = Scale([field]), levels_of(field, options.isotherms, snapshot.path)
    return figures.draw(path, volume_figure, f"{name}, {moment(snapshot, is_steady(snapshots))}", snapshot, scale, levels,
                        *surfaces(pyvista, snapshot, stride, field, scale, levels))


def load_pyvista():
    with failing(ImportError, UNAVAILABLE, lambda error: f"needs PyVista, which cannot be loaded ({error}); install "
                 "it with pip install pyvista, or open the run's .xmf in ParaView"):
        import pyvista
        from vtkmodules.vtkCommonCore import vtkLogger
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)  # hides the error that there is no display
    pyvista.OFF_SCREEN = True
    return pyvista


def stride_of(snapshot):
    return max(1, math.ceil((math.prod(snapshot.cells) / MOST_CELLS) ** (1 / 3) - 1e-9))


def levels_of(field, wanted, path):
    """Temperatures of the surfaces: as requested, or round ones between the coldest and the hottest cell."""
    coldest, hottest = np.nanmin(field), np.nanmax(field)
    with failing(ValueError, COMMAND_LINE, lambda _: f"--isotherms {wanted} are no temperatures; give kelvins such as 300,350"):
        levels = Scale([field], SURFACES).isotherms if wanted is None else list(map(float, wanted.split(",")))
    if inside := [level for level in levels if coldest < level < hottest]:
        return inside
    raise Failure(DATA, f"{path} holds no such isotherm; it has {coldest:.6g} K to {hottest:.6g} K")


def surfaces(pyvista, snapshot, stride, field, scale, levels):
    """An image (height, width, 3): the part of the field behind the hottest cell, with isotherms on it, and surfaces in front of it;
    and the pixel positions of the middles of EDGES, counted from below."""
    low, high = snapshot.bounds
    # Extends the centres to the faces of the box, with the temperature of the outermost cells.
    places = [np.concatenate(([low[axis]], snapshot.centres(axis)[::stride], [high[axis]])) / max(high - low) for axis in range(3)]
    field = np.pad(field, 1, mode="edge")
    cut = min(int(np.unravel_index(np.nanargmax(field), field.shape)[1]), field.shape[1] // 2)

    def grid(rows):
        part = pyvista.RectilinearGrid(places[0], places[1][rows], places[2])
        part.point_data["kelvin"] = field[:, rows].ravel()
        if np.isnan(field).any():  # voids: surfaces end at them
            part = part.threshold(tuple(map(float, (np.nanmin(field), np.nanmax(field)))), all_scalars=True)
        return part

    look = {"cmap": "inferno", "clim": (scale.low, scale.high), "show_scalar_bar": False}
    with closing(pyvista.Plotter(off_screen=True, window_size=SIZE)) as plotter:
        plotter.set_background("white")
        plotter.enable_anti_aliasing("ssaa")
        plotter.add_mesh(pyvista.Box([end for each in places for end in each[[0, -1]]]).outline(), color="black", line_width=4)
        body = grid(slice(cut, None))
        plotter.add_mesh(body, lighting=False, **look)
        lines = body.contour(levels).extract_feature_edges(feature_edges=False, non_manifold_edges=False)
        if lines.n_points:
            plotter.add_mesh(lines, color="white", line_width=4, lighting=False)
        before = grid(slice(None, cut + 1)).contour(levels)
        if before.n_points:
            plotter.add_mesh(before, opacity=0.5, smooth_shading=True, **look)
        plotter.view_vector(VIEW, viewup=(0, 0, 1))
        pixels = plotter.screenshot(None, return_img=True)
        middles = []
        for _, shares, _ in EDGES:
            plotter.renderer.SetWorldPoint(*(each[0] + share * (each[-1] - each[0]) for each, share in zip(places, shares)), 1)
            plotter.renderer.WorldToDisplay()
            middles.append(plotter.renderer.GetDisplayPoint()[:2])
        return pixels, middles


def volume_figure(title, snapshot, scale, levels, pixels, middles):
    """The image with the lengths of the edges; the colour bar labels the isotherms."""
    low, high = snapshot.bounds
    unit = length_unit(max(high - low))
    rows, columns = (np.flatnonzero((pixels < 255).any(axis=(axis, 2))) for axis in (1, 0))
    wide, tall = np.ptp(columns), np.ptp(rows)
    figure, panel = pyplot.subplots(dpi=250, figsize=(figures.WIDTH, 0.45 + 4.3 * tall / wide), layout="constrained")
    panel.imshow(pixels, extent=(0, SIZE[0], 0, SIZE[1]), interpolation="antialiased")
    panel.set(xlim=(columns[0] - 0.05 * wide, columns[-1] + 0.05 * wide), ylim=(SIZE[1] - rows[-1] - 0.08 * tall, SIZE[1] - rows[0]))
    panel.axis("off")
    for (axis, _, aside), middle in zip(EDGES, middles):
        panel.annotate(f"{AXES[axis]} {format_length(high[axis] - low[axis], unit)}", middle, xytext=aside, textcoords="offset points",
                       ha=("center", "right", "left")[axis], va="center")
    panel.set_title(figures.plain(title), loc="left")
    colours = figure.colorbar(cm.ScalarMappable(colors.Normalize(scale.low, scale.high), "inferno"), ax=panel, label="isotherms [K]",
                              ticks=levels, shrink=0.9, aspect=25, pad=0.02)
    for level in levels:
        colours.ax.axhline(level, color=scale.ink(level), linewidth=0.8)
    return figure


def draw_history(options):
    run = Run(options.run)
    columns = options.columns.split(",") if options.columns else []
    path = figures.check_format(options.out or run.path / f"{run.name}_{'diagnostics' if columns else 'history'}.png")
    for column in columns or ["residual"]:
        if len(run.history.due(column)[0]) == 0:
            what = f"values of {column}" if columns else "residuals"
            raise Failure(DATA, f"{run.history.path} holds no {what} (the run ended before the first was due)")
    return figures.draw(path, history_figure, run.name, run.history, columns)


def history_figure(name, history, columns=None):
    """The residual, or columns: all columns of one quantity share a panel; the panels are stacked."""
    by_axis = groups([(*quantity(column), history.due(column)) for column in columns or ["residual"]], lambda curve: curve[2:4])
    look = {} if columns else {"color": figures.MEASURED}
    figure, panels = pyplot.subplots(len(by_axis), sharex=True, squeeze=False, layout="constrained",
                                     figsize=(figures.WIDTH, 1 + 2.2 * len(by_axis)))
    for panel, ((axis, unit), curves) in zip(panels[:, 0], by_axis.items()):
        for words, short, _, _, (sweep, _, value) in curves:
            marker = "." if len(sweep) < 50 else ""  # single checks are visible, long histories are a line
            panel.plot(sweep, value, marker=marker, label=short, **look)
            if not columns and np.any(value > 0):
                panel.set_yscale("log", nonpositive="mask")
        panel.set_ylabel(titled(axis if len(curves) > 1 else words, unit))
        panel.grid()
        figures.name_curves(panel)
    panels[-1, 0].set_xlabel("sweep")
    panels[0, 0].set_title(f"{figures.plain(name)}: {'diagnostics' if columns else 'residual history'}", loc="left")
    sweeps, times, _ = history.due(columns[0] if columns else "residual")
    if len(sweeps) > 1 and np.all(np.diff(sweeps) > 0) and times[-1] > times[0]:  # at the top the time, which steady runs lack
        unit = time_unit(times[-1])
        seconds_per_sweep = (times[-1] - times[0]) / (sweeps[-1] - sweeps[0])
        start = times[0] - seconds_per_sweep * sweeps[0]
        above = panels[0, 0].secondary_xaxis("top", functions=(lambda sweep: (start + seconds_per_sweep * sweep) / unit.si,
                                                               lambda time: (time * unit.si - start) / seconds_per_sweep))
        above.set_xlabel(f"time [{unit.name}]")
    return figure
