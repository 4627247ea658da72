"""Planes of cells through the box as pictures: one time, or several side by side."""

import math

import numpy as np
from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator

from isotherm_tools import figures
from isotherm_tools.dark_figures import stays
from isotherm_tools.failure import COMMAND_LINE, Failure
from isotherm_tools.units import format_length, format_time, length_unit

AXES = "xyz"
MOST_PANELS = 9
CONTOURS = 9
NARROW = 0.8  # inches


def add_plane_options(verb):
    """Which files, and which plane of them."""
    verb.add_argument("--series", metavar="NAME", help="files of a part of the cells, e.g. demo_slice_z12, demo_coarse")
    verb.add_argument("--axis", choices=tuple(AXES), help="the plane's normal (default: z; of a slice, its own)")
    verb.add_argument("--position", metavar="METRES|SHARE",
                      help="where on that axis, e.g. 0.01 or 25%% (default: the hottest cell of the end, where run.json says it; "
                           "else 50%%)")


def add_time_options(verb):
    """Which of the files. They exclude each other, and what is added to the group that is returned."""
    when = verb.add_mutually_exclusive_group()
    when.add_argument("--time", default="last", metavar="first|last|SECONDS",
                      help="the snapshot nearest to it (default: last)")
    when.add_argument("--index", type=int, help="the snapshot by number from 0; -1 is the last")
    return when


def chosen_snapshot(snapshots, options):
    if options.index is not None:
        return choose_index(snapshots, options.index)
    return choose_time(snapshots, options.time)


def chosen_series(run, options):
    """The snapshots, and the axis, that these options choose."""
    snapshots = run.series(options.series) if options.series else run.snapshots()
    return snapshots, options.axis or snapshots[0].thin_axis or "z"


def chosen_position(run, snapshot, axis, options):
    """The one that is asked for; else that of the hottest cell at the end, where this file has it; else the middle."""
    if options.position is not None:
        return options.position
    hottest = run.hottest_place()
    low, high = (corner[axis] for corner in snapshot.bounds)
    return repr(hottest[axis]) if hottest and low <= hottest[axis] <= high else "50%"


def plane_index(snapshot, axis, position):
    """Index of the cell that holds `position`: metres, or "40%" of the way along the axis."""
    low, high = (corner[axis] for corner in snapshot.bounds)
    try:
        if position.endswith("%"):
            metres = low + float(position[:-1]) / 100 * (high - low)
        else:
            metres = float(position)
    except ValueError as error:
        hint = "give metres, or a share such as 50%"
        raise Failure(COMMAND_LINE, f"--position {position} is no number; {hint}") from error
    slack = 1e-9 * (high - low)
    if not low - slack <= metres <= high + slack:
        raise Failure(
            COMMAND_LINE,
            f"--position {position} lies outside the grid; "
            f"along {AXES[axis]} it runs from {low:.6g} m to {high:.6g} m",
        )
    # As the program's own slices: an upper face belongs to the cell below it only at the end of the box, and
    # a place that is a face but for rounding is that face.
    index = math.floor((metres - low) / snapshot.spacing[axis] + 1e-9)
    return min(max(index, 0), snapshot.cells[axis] - 1)


def choose_time(snapshots, time):
    """`first`, `last`, or the snapshot nearest to a number of seconds within the run."""
    if time in ("first", "last"):
        return snapshots[0 if time == "first" else -1]
    try:
        seconds = float(time)
    except ValueError as error:
        raise Failure(COMMAND_LINE, f"--time {time} is no time; give first, last or seconds") from error
    first, last = snapshots[0].time, snapshots[-1].time
    slack = 1e-9 * (last - first)
    if not first - slack <= seconds <= last + slack:
        span = f"it holds {first:.6g} s to {last:.6g} s"
        raise Failure(COMMAND_LINE, f"--time {time} lies outside the run; {span}")
    return snapshots.nearest(seconds)


def choose_index(snapshots, index):
    """By number in the order of the run; negative ones count from the end."""
    if not -len(snapshots) <= index < len(snapshots):
        count = len(snapshots)
        raise Failure(COMMAND_LINE, f"--index {index}: the run has {count} snapshots, numbered from 0")
    return snapshots[index]


def spread(snapshots, most=MOST_PANELS):
    """At most `most` of them, evenly over the run, its first and last among them."""
    if len(snapshots) <= most:
        return snapshots
    return [snapshots[round(i * (len(snapshots) - 1) / (most - 1))] for i in range(most)]


def draw_slices(name, snapshots, axis, position, path):
    """One panel a snapshot, with one scale of colours, so that panels can be compared."""
    index = plane_index(snapshots[0], axis, position)
    planes = [snapshot.plane(axis, index) for snapshot in snapshots]
    with pyplot.style.context(["default", figures.STYLE]):
        figures.save(slice_figure(name, snapshots, axis, index, planes), path)


def slice_figure(name, snapshots, axis, index, planes, span=None):
    """`span`: the coldest and the hottest colour's kelvin, where others than these planes are to have them too."""
    across, up = (other for other in range(3) if other != axis)
    low, high = snapshots[0].bounds
    unit = length_unit(max(high[across] - low[across], high[up] - low[up]))
    extent = np.array([low[across], high[across], low[up], high[up]]) / unit.si
    coldest, hottest = span or colour_range(planes)

    label = sweep_label if is_steady(snapshots) else time_label
    columns, rows, size = arrange(len(planes), (extent[1] - extent[0]) / (extent[3] - extent[2]))
    figure, panels = pyplot.subplots(
        rows, columns, figsize=size, squeeze=False, sharex=True, sharey=True, layout="constrained"
    )
    for panel in panels.flat[len(planes) :]:
        panel.set_visible(False)
    for number, (panel, plane, snapshot) in enumerate(zip(panels.flat, planes, snapshots)):
        image = panel.imshow(
            plane, origin="lower", extent=extent, aspect="equal", cmap="inferno", vmin=coldest, vmax=hottest
        )
        draw_contours(panel, plane, extent, coldest, hottest)
        panel.set_title(label(snapshot), loc="left")
        if number % columns == 0:
            panel.set_ylabel(f"{AXES[up]} [{unit.name}]")
        if number + columns >= len(planes):
            panel.set_xlabel(f"{AXES[across]} [{unit.name}]")
            panel.tick_params(labelbottom=True)
    figure.colorbar(image, ax=panels, label="temperature [K]", shrink=0.9, aspect=30, pad=0.02)
    title = plane_title(name, snapshots[0], axis, index, unit)
    if len(planes) == 1:
        panels[0, 0].set_title(f"{title}, {label(snapshots[0])}", loc="left")
    else:
        figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return figure


def plane_title(name, snapshot, axis, index, unit):
    where = format_length(snapshot.centre[axis] + index * snapshot.spacing[axis], unit)
    return f"{figures.plain(name)}, plane {AXES[axis]} = {where}"


def colour_range(planes):
    finite = np.concatenate([plane[np.isfinite(plane)] for plane in planes])
    if not finite.size:
        return 0.0, 1.0
    coldest, hottest = finite.min(), finite.max()
    if hottest - coldest > 1e-12 * abs(hottest):
        return coldest, hottest
    return coldest - 0.5, hottest + 0.5  # a uniform plane: no digits of rounding blown up to a pattern


def round_levels(low, high, most):
    """Isotherms that one can name, between these temperatures."""
    ticks = MaxNLocator(most + 1, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(level) for level in ticks if low < level < high]


def draw_contours(panel, plane, extent, coldest, hottest, values=True):
    """`values`: kelvin stand on the lines; from one picture of a film to the next they would jump."""
    if min(plane.shape) < 2 or np.nanmin(plane) == np.nanmax(plane):
        return
    levels = [level for level in round_levels(coldest, hottest, CONTOURS) if np.nanmin(plane) < level < np.nanmax(plane)]
    if not levels:
        return
    rows, columns = plane.shape
    width, height = (extent[1] - extent[0]) / columns, (extent[3] - extent[2]) / rows
    lines = panel.contour(
        extent[0] + width * (np.arange(columns) + 0.5),
        extent[2] + height * (np.arange(rows) + 0.5),
        plane,
        levels=levels,
        colors=[isotherm_colour(level, coldest, hottest) for level in levels],
        linewidths=0.5,
        alpha=0.7,
    )
    if values:
        label_isotherms(panel, lines)


def isotherm_colour(level, coldest, hottest):
    """The inferno map is dark where it is cold."""
    return "white" if (level - coldest) < 0.65 * (hottest - coldest) else "black"


def label_isotherms(panel, lines):
    """Kelvin on the lines that have room for them; on a narrow panel on every second."""
    inches = panel.get_position().size * panel.figure.get_size_inches()
    for text in panel.clabel(lines, lines.levels[::2 if min(inches) < NARROW else 1], fmt="%g", fontsize=7, inline_spacing=2):
        stays(text)
    for line in panel.collections:
        stays(line)


def arrange(count, aspect):
    """Columns, rows and inches of a figure of `count` panels, each `aspect` times as wide as high."""
    longest = 7.0 if count == 1 else 3.4
    width, height = (longest, longest / aspect) if aspect >= 1 else (longest * aspect, longest)
    width, height = max(width, 1.2), max(height, 1.0)  # room for a title over a sliver

    def distance_from_a_page(columns):
        return abs(math.log(columns * width / (math.ceil(count / columns) * height * 1.4)))

    columns = min(range(1, count + 1), key=distance_from_a_page)
    rows = math.ceil(count / columns)
    return columns, rows, (columns * (width + 0.3) + 1.6, rows * (height + 0.5) + 0.7)


def is_steady(snapshots):
    """Steady runs have no time: there the sweep says how far they were."""
    return all(snapshot.time == 0 for snapshot in snapshots) and snapshots[-1].sweep > 0


def sweep_label(snapshot):
    return f"sweep {snapshot.sweep}"


def time_label(snapshot):
    return f"t = {format_time(snapshot.time)}"
