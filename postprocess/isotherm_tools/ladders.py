"""The ladder of a benchmark: a bar a row, and beside it the roof that was measured at the same moment."""

import math

from matplotlib import pyplot

from isotherm_tools import figures

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
    add_legend(figure, panels.flat[0])
    return figure


def add_legend(figure, panel):
    """One for all panels, which have the same roofs, in a strip below them."""
    handles, labels = panel.get_legend_handles_labels()
    if handles:
        strip = 0.3 / figure.get_figheight()  # inches
        figure.get_layout_engine().set(rect=(0, strip, 1, 1 - strip))
        figure.legend(handles, labels, loc="lower center", ncols=len(handles), fontsize=8, frameon=False)


def draw_ladder(panel, ladder, subject):
    places = range(len(ladder.rungs))
    end = end_of_axis(ladder, subject)
    rates = [rate(rung, subject) or 0 for rung in ladder.rungs]
    spreads = [spread(rung, subject, end) for rung in ladder.rungs]
    panel.barh(places, rates, color=COLOURS[ladder.precision], xerr=list(zip(*spreads)), ecolor="0.4", height=0.7)
    draw_roof(panel, ladder, subject, "copy", "black")
    if subject == "reduction":
        draw_roof(panel, ladder, subject, "read", "0.5")
    for place, rung in zip(places, ladder.rungs):
        panel.annotate(figure_text(rung, subject, end), (1.01, place), xycoords=("axes fraction", "data"), va="center",
                       fontsize=8)
    panel.set_yticks(places, [rung.label for rung in ladder.rungs])
    panel.invert_yaxis()  # the lowest rung, the first of the table, stands at the top as in the table
    panel.set_xlim(0, end)
    panel.set_xlabel("GPts/s" if subject == "stencil" else "GB/s of least traffic")
    panel.set_title(ladder.title, loc="left")


def end_of_axis(ladder, subject):
    """Chosen by matplotlib; with a difference by the other rungs and the roofs, for its rate knows no bounds."""
    plain = [rung for rung in ladder.rungs if not rung.difference]
    if len(plain) == len(ladder.rungs):
        return None
    roofs = [roof(rung, subject, which) for rung in ladder.rungs for which in ("copy", "read") if getattr(rung, which)]
    return 1.1 * max([*roofs, *(rate(rung, subject) for rung in plain)], default=1)


def spread(rung, subject, end):
    """Of its rate, below and above; a launch of p90 is slow: it is the low end."""
    value = rate(rung, subject)
    if value is None:
        return 0, 0
    fastest = rate(rung, subject, rung.launch_low)
    return value - rate(rung, subject, rung.launch_high), 2 * end if fastest is None else fastest - value


def figure_text(rung, subject, end):
    value = rate(rung, subject)
    if value is None:
        return "not above the noise"
    text = three_digits(value)
    if rung.speedup is not None:
        text += f"  ({rung.speedup:.2f}x)" if rung.speedup < 100 else f"  ({three_digits(rung.speedup)}x)"
    return text + (", cut off" if end is not None and value > end else "")


def three_digits(value):
    """At least; without an exponent where numbers are large."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw_roof(panel, ladder, subject, which, colour):
    """A tick across each bar: what a row would reach that moves its least bytes at that bandwidth."""
    known = [(place, rung) for place, rung in enumerate(ladder.rungs) if getattr(rung, which)]
    if known:
        values = [roof(rung, subject, which) for _, rung in known]
        places = [place for place, _ in known]
        panel.vlines(values, [place - 0.45 for place in places], [place + 0.45 for place in places],
                     color=colour, linewidth=2, label=f"{which} bandwidth beside it")


def work(rung, subject):
    """Of a launch, 1e9 of it a unit: points of sweeps, bytes of what only reads or moves."""
    return (rung.points if subject == "stencil" else rung.moved) / 1e9


def rate(rung, subject, seconds=None):
    """GPts/s of sweeps, GB/s of what only reads or moves; of a difference that is not above its noise, None."""
    seconds = rung.launch if seconds is None else seconds
    return work(rung, subject) / seconds if seconds > 0 else None


def roof(rung, subject, which):
    return work(rung, subject) * getattr(rung, which) / rung.moved
