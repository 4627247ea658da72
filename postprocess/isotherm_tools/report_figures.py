"""The figures that only a report has: three planes of a field, where the time went, a run under its roof."""

import numpy as np
from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator

from isotherm_tools import figures
from isotherm_tools.dark_figures import stays
from isotherm_tools.slices import AXES, colour_range, label_isotherms, isotherm_colour, round_levels
from isotherm_tools.units import length_unit, split_unit, time_unit

WIDTH, HEIGHT = 5.6, 4.6  # inches, at most: what a phone shows of it can still be read
DRAWING = 3.9  # inches, of the planes' longer side together
LEFT, RIGHT, BOTTOM, TOP, GAP = 0.75, 0.95, 0.55, 0.2, 0.15  # inches
ISOTHERMS = 8  # about, between the coldest and the hottest
SLIVER = 1 / 6  # of the longest side: thinner ones are stretched to it
MOST_CONTOUR_CELLS = 400  # along a side
LEAST_SHARE = 0.0005  # of the time, for a bar
PHASES = {  # of run.json, from the bottom up; `stepping` and `total` are sums of others
    "sweeps": "#3a6ea5", "halo": "#b5367a", "reduction": "#e08e2b", "diagnostics": "#5b8c5a", "output": "#7b6ca8",
    "setup": "#8a8f98",
}


class Scale:
    """Colours and isotherms that several pictures share."""

    def __init__(self, planes):
        self.low, self.high = colour_range(planes)
        values = np.concatenate([plane.ravel() for plane in planes])
        uniform = np.nanmin(values) == np.nanmax(values) if np.isfinite(values).any() else True
        self.isotherms = [] if uniform else round_levels(self.low, self.high, ISOTHERMS)

    @property
    def distance(self):
        """Kelvin from one isotherm to the next; None where there are not two."""
        return self.isotherms[1] - self.isotherms[0] if len(self.isotherms) > 1 else None

    def colour_of(self, level):
        return isotherm_colour(level, self.low, self.high)


def planes_through(snapshot, cell):
    """Kelvin in the planes across x, y and z that hold this cell."""
    return [snapshot.plane(axis, cell[axis]) for axis in range(3)]


def field_figure(snapshot, planes, scale):
    """As in a technical drawing, to scale: the plane across z; above it the one across y, beside it the one across x."""
    low, high = snapshot.bounds
    unit = length_unit(max(high - low))
    low, high = low / unit.si, high / unit.si
    lengths = np.maximum(high - low, SLIVER * max(high - low))
    lengths *= DRAWING / max(lengths[0] + lengths[2], lengths[1] + lengths[2])
    wide, high_, deep = lengths
    size = (LEFT + wide + GAP + deep + RIGHT, BOTTOM + high_ + GAP + deep + TOP)
    figure = pyplot.figure(figsize=size)

    def panel(across, up, left, bottom, plane):
        box = (left / size[0], bottom / size[1], lengths[across] / size[0], lengths[up] / size[1])
        axes = figure.add_axes(box)
        extent = (low[across], high[across], low[up], high[up])
        image = axes.imshow(plane, origin="lower", extent=extent, aspect="auto", cmap="inferno", vmin=scale.low,
                            vmax=scale.high)
        draw_isotherms(axes, plane, extent, scale)
        axes.xaxis.set_major_locator(MaxNLocator(max(2, int(2 * lengths[across])), prune="upper"))
        axes.yaxis.set_major_locator(MaxNLocator(max(2, int(2 * lengths[up])), prune="upper"))
        axes.set_xlabel(f"{AXES[across]} [{unit.name}]")
        axes.set_ylabel(f"{AXES[up]} [{unit.name}]")
        for side in ("top", "right"):
            axes.spines[side].set_visible(True)
        return axes, image

    _, image = panel(0, 1, LEFT, BOTTOM, planes[2])
    above, _ = panel(0, 2, LEFT, BOTTOM + high_ + GAP, planes[1])
    beside, _ = panel(2, 1, LEFT + wide + GAP, BOTTOM, planes[0].T)
    above.set_xlabel("")
    above.tick_params(labelbottom=False)
    beside.set_ylabel("")
    beside.tick_params(labelleft=False)
    bar = figure.add_axes(((size[0] - RIGHT + 0.12) / size[0], BOTTOM / size[1], 0.14 / size[0], 1 - (BOTTOM + TOP) / size[1]))
    colours = figure.colorbar(image, cax=bar, label="temperature [K]")
    if scale.isotherms:
        colours.set_ticks(scale.isotherms)
        for level in scale.isotherms:
            stays(bar.axhline(level, color=scale.colour_of(level), linewidth=0.8))
    return figure


def profile_figure(snapshots, labels):
    """Of cells in a row: temperature along it, a line each time."""
    axis = int(np.argmax(snapshots[0].cells))
    low, high = snapshots[0].bounds
    unit = length_unit(high[axis] - low[axis])
    figure, panel = pyplot.subplots(figsize=(WIDTH, 3.4), layout="constrained")
    for snapshot, label in zip(snapshots, labels):
        panel.plot((snapshot.x, snapshot.y, snapshot.z)[axis] / unit.si, snapshot.T.ravel(), linewidth=1.5, label=label)
    panel.set_xlabel(f"{AXES[axis]} [{unit.name}]")
    panel.set_ylabel("temperature [K]")
    panel.grid(which="major", color="0.9")
    figures.name_curves(panel)
    return figure


def draw_isotherms(axes, plane, extent, scale):
    levels = [level for level in scale.isotherms if np.nanmin(plane) < level < np.nanmax(plane)]
    if min(plane.shape) < 2 or not levels:
        return
    steps = [-(-count // MOST_CONTOUR_CELLS) for count in plane.shape]
    up, across = (low + (high - low) * (np.arange(count) + 0.5) / count
                  for low, high, count in zip(extent[2::-2], extent[3::-2], plane.shape))
    lines = axes.contour(across[::steps[1]], up[::steps[0]], plane[::steps[0], ::steps[1]], levels=levels,
                         colors=[scale.colour_of(level) for level in levels], linewidths=0.7, alpha=0.75)
    label_isotherms(axes, lines)


def stretched_axes(snapshot):
    """Axes that are drawn longer than they are."""
    low, high = snapshot.bounds
    return [AXES[axis] for axis in range(3) if (high - low)[axis] < SLIVER * max(high - low) * (1 - 1e-9)]


def phases_figure(phases):
    """Mean over ranks as a bar, least and most as a whisker; none of a phase whose share would be told as 0.0 %."""
    whole = phases["total"]["mean"]
    names = [name for name in PHASES if name in phases and phases[name]["mean"] >= LEAST_SHARE * whole > 0][::-1]
    unit = time_unit(phases["total"]["max"])
    figure, panel = pyplot.subplots(figsize=(WIDTH, 0.9 + 0.36 * len(names)), layout="constrained")
    for place, name in enumerate(names):
        spread = {key: phases[name][key] / unit.si for key in ("min", "mean", "max")}
        whisker = [[max(0.0, spread["mean"] - spread["min"])], [max(0.0, spread["max"] - spread["mean"])]]
        panel.barh(place, spread["mean"], color=PHASES[name], height=0.7, xerr=whisker, ecolor="0.25", capsize=2)
        share = phases[name]["mean"] / whole
        panel.annotate(f"{share:.1%}", (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    panel.set_yticks(range(len(names)), names)
    panel.set_xlim(left=0)
    panel.set_xlabel(f"time [{unit.name}], mean of the ranks; least and most of one")
    panel.grid(axis="x", color="0.9")
    panel.set_axisbelow(True)
    return figure


def roof_figure(effective, copy):
    """Bytes a second of the sweeps under those of a copy, which no sweep of large blocks can pass."""
    figure, panel = pyplot.subplots(figsize=(WIDTH, 1.35), layout="constrained")
    panel.barh(0, effective / 1e9, color="#b5367a", height=0.6)
    panel.axvline(copy / 1e9, color="black", linewidth=2)
    panel.annotate(f"{effective / copy:.1%} of the roof", (effective / 1e9, 0), xytext=(5, 0), textcoords="offset points",
                   va="center", ha="left", fontsize=9,
                   bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1})
    panel.set_yticks([0], ["this run"])
    panel.set_ylim(-0.6, 0.6)
    panel.set_xlim(0, 1.25 * max(copy, effective) / 1e9)
    panel.set_xlabel("bandwidth of least traffic [GB/s]; the upright line is that of a copy")
    return figure


def probes_figure(probes):
    """Temperatures at points over time, or over sweeps where there is no time."""
    unit = time_unit(probes["time_s"][-1])
    steady = not np.any(probes["time_s"])
    along = probes["sweep"] if steady else probes["time_s"] / unit.si
    figure, panel = pyplot.subplots(figsize=(WIDTH, 3.4), layout="constrained")
    for name in list(probes)[2:]:
        panel.plot(along, probes[name], linewidth=1.5, label=split_unit(name)[0])
    panel.set_xlabel("sweep" if steady else f"time [{unit.name}]")
    panel.set_ylabel("temperature [K]")
    panel.grid(which="major", color="0.9")
    if len(probes) <= 14:
        figures.name_curves(panel)
    return figure
