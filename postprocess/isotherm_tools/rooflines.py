"""The roofline of stencil rows (Williams, Waterman and Patterson, Communications of the ACM 52-4, 2009).

A sweep is counted as 8 floating-point operations a point, the usual count of a 7-point stencil, whatever the
instructions are. The intensity is by least traffic; the slanted roof is the copy bandwidth of the same run. No
arithmetic ceiling was measured, and none is drawn."""

import math

import numpy as np
from matplotlib import pyplot
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from isotherm_tools import figures
from isotherm_tools.failure import DATA, Failure
from isotherm_tools.ladders import COLOURS

FLOPS_A_POINT = 8
MARKERS = "osD^vP*X<>h"  # a row each
FILLS = ("full", "none", "left", "top")  # a grid each
ENTRIES_A_COLUMN = 24  # of the legend, at the figure's height


def draw_roofline(record, path):
    if record.subject != "stencil":
        raise Failure(DATA, f"{record.path} holds bench {record.subject}; a roofline is drawn of bench stencil")
    with pyplot.style.context(["default", figures.STYLE]):
        figures.save(roofline_figure(record), path)


def roofline_figure(record, narrow=False):
    """`narrow`: with the legend below, for a page that a phone shows too."""
    figure, panel = pyplot.subplots(figsize=(5.6, 5.5) if narrow else (8, 5.5), layout="constrained")
    draw_roof(panel, [rung for ladder in record.ladders for rung in ladder.rungs])
    markers = dealt_out(MARKERS, [rung.label for ladder in record.ladders for rung in ladder.rungs])
    fills = dealt_out(FILLS, [ladder.cells for ladder in record.ladders])
    for ladder in record.ladders:
        for rung in ladder.rungs:
            panel.plot(intensity(rung), gigaflops(rung), linestyle="none", marker=markers[rung.label],
                       color=COLOURS[ladder.precision], fillstyle=fills[ladder.cells], markersize=7)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    plain_ticks(panel.yaxis)
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panel.set_xlabel("flop per byte of least traffic")
    panel.set_ylabel("GFlop/s")
    points = panel.secondary_yaxis(
        "right", functions=(lambda flops: flops / FLOPS_A_POINT, lambda points: points * FLOPS_A_POINT)
    )
    points.set_ylabel("GPts/s")
    plain_ticks(points.yaxis)
    panel.grid(which="major", color="0.9")
    panel.set_title(f"roofline of bench stencil on {record.device}", loc="left")
    entries = [line for line in panel.get_lines() if not line.get_label().startswith("_")]
    entries += [dot(marker, "0.3", "full", label) for label, marker in markers.items()]
    entries += [dot("o", COLOURS[ladder.precision], fills[ladder.cells], ladder.title) for ladder in record.ladders]
    if narrow:
        figure.set_figheight(4.6 + 0.17 * math.ceil(len(entries) / 2))
        panel.legend(handles=entries, ncols=2, fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    else:
        panel.legend(handles=entries, ncols=math.ceil(len(entries) / ENTRIES_A_COLUMN), fontsize=8, frameon=False,
                     loc="center left", bbox_to_anchor=(1.16, 0.5))
    return figure


def plain_ticks(axis):
    """1, 2, 5, 10: a range of less than a decade has labels too."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())


def dealt_out(looks, names):
    """A look for each name, in the order of their first appearance; the looks repeat where names are many."""
    return {name: looks[number % len(looks)] for number, name in enumerate(dict.fromkeys(names))}


def dot(marker, colour, fill, label):
    return Line2D([], [], linestyle="none", marker=marker, color=colour, fillstyle=fill, markersize=7, label=label)


def draw_roof(panel, rungs):
    """The median of the copies beside all rows; the band holds every row's own."""
    copies = [rung.copy for rung in rungs if rung.copy]
    if not copies:
        return
    ends = np.array([min(map(intensity, rungs)) / 2, max(map(intensity, rungs)) * 2])
    middle = float(np.median(copies))
    panel.plot(ends, ends * middle / 1e9, color="black", label=f"copy: {middle / 1e9:.4g} GB/s")
    panel.fill_between(ends, ends * min(copies) / 1e9, ends * max(copies) / 1e9, color="0.85", linewidth=0)


def intensity(rung):
    return FLOPS_A_POINT * rung.points / rung.moved


def gigaflops(rung):
    return FLOPS_A_POINT * rung.points / rung.launch / 1e9
