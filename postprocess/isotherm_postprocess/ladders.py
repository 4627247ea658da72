"""The ladder of a benchmark: a bar a row, and beside it the roof that was measured at the same moment."""

import math

from matplotlib import pyplot

from isotherm_postprocess import figures

COLOURS = {"fp32": "#3a6ea5", "fp64": "#b5367a"}
COLUMNS = 2


def draw_ladders(record, path):
    with pyplot.style.context(["default", figures.STYLE]):
        figures.save(ladder_figure(record), path)


def ladder_figure(record):
    columns = min(COLUMNS, len(record.ladders))
    rows = math.ceil(len(record.ladders) / columns)
    most = max(len(ladder.rungs) for ladder in record.ladders)
    figure, panels = pyplot.subplots(
        rows, columns, squeeze=False, figsize=(6 * columns, rows * (1.2 + 0.38 * most)), layout="constrained"
    )
    figure.suptitle(f"bench {record.subject} on {record.device}")
    for panel in panels.flat[len(record.ladders):]:
        panel.axis("off")
    for panel, ladder in zip(panels.flat, record.ladders):
        draw_ladder(panel, ladder, record.subject)
    return figure


def draw_ladder(panel, ladder, subject):
    places = range(len(ladder.rungs))
    rates = [rate(rung, subject) for rung in ladder.rungs]
    # A launch of p90 is slow: it is the low end of the rate.
    below = [value * (1 - rung.launch / rung.launch_high) for value, rung in zip(rates, ladder.rungs)]
    above = [value * (rung.launch / rung.launch_low - 1) for value, rung in zip(rates, ladder.rungs)]
    panel.barh(places, rates, color=COLOURS[ladder.precision], xerr=(below, above), ecolor="0.4", height=0.7)
    draw_roof(panel, ladder, subject, "copy", "black")
    if subject == "reduction":
        draw_roof(panel, ladder, subject, "read", "0.5")
    for place, value, rung in zip(places, rates, ladder.rungs):
        text = f"{value:.3g}" if rung.speedup is None else f"{value:.3g}  ({rung.speedup:.2f}x)"
        panel.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    panel.set_yticks(places, [rung.label for rung in ladder.rungs])
    panel.invert_yaxis()  # the lowest rung, the first of the table, stands at the top as in the table
    panel.set_xlim(left=0)
    panel.set_xlabel("GPts/s" if subject == "stencil" else "GB/s of least traffic")
    panel.set_title(ladder.title, loc="left")
    if panel.get_legend_handles_labels()[0]:
        panel.legend(loc="lower right", bbox_to_anchor=(1, 1), fontsize=8, frameon=False)


def draw_roof(panel, ladder, subject, which, colour):
    """A tick across each bar: what a row would reach that moves its least bytes at that bandwidth."""
    known = [(place, rung) for place, rung in enumerate(ladder.rungs) if getattr(rung, which)]
    if known:
        values = [rate(rung, subject) * getattr(rung, which) / rung.bandwidth for _, rung in known]
        places = [place for place, _ in known]
        panel.vlines(values, [place - 0.45 for place in places], [place + 0.45 for place in places],
                     color=colour, linewidth=2, label=f"{which} bandwidth beside it")


def rate(rung, subject):
    """GPts/s of sweeps, GB/s of what only reads or moves."""
    return (rung.points if subject == "stencil" else rung.moved) / rung.launch / 1e9
