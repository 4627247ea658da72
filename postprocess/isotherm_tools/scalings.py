"""A scaling series as a picture: time a sweep, and efficiency, over the number of ranks."""

from matplotlib import pyplot
from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter, StrMethodFormatter

from isotherm_tools import figures
from isotherm_tools.scaling_series import STRONG

MEASURED, PREDICTED = "#b5367a", "#3a6ea5"


def draw_scaling(series, path):
    with pyplot.style.context(["default", figures.STYLE]):
        figures.save(scaling_figure(series), path)


def scaling_figure(series):
    figure, (above, below) = pyplot.subplots(2, sharex=True, figsize=(7, 7), layout="constrained")
    ranks = sorted({row.ranks for row in series.rows})
    base = series.base
    ideal = [base.step * (base.ranks / n if series.kind == STRONG else 1) for n in ranks]
    above.plot(ranks, [1e3 * step for step in ideal], color="0.6", linestyle=":", label="ideal")
    below.plot(ranks, [1] * len(ranks), color="0.6", linestyle=":")
    for panel, value in ((above, lambda row: 1e3 * row.step), (below, lambda row: row.efficiency)):
        draw(panel, series.rows, value)
        panel.grid(which="major", color="0.9")
    above.set_xscale("log", base=2)
    above.set_xticks(ranks, list(map(str, ranks)), rotation=45 if len(ranks) > 9 else 0)
    above.xaxis.set_minor_locator(NullLocator())
    above.set_yscale("log")
    above.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    above.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    above.yaxis.set_minor_locator(NullLocator())
    above.set_ylabel("time a sweep [ms]")
    above.set_title(f"{figures.plain(base.name)}: {series.kind} scaling on {', '.join(base.devices)}", loc="left")
    figures.name_curves(above)
    below.set_ylim(bottom=0)
    below.yaxis.set_major_formatter(PercentFormatter(1))
    below.set_ylabel("efficiency")
    below.set_xlabel("ranks")
    return figure


def draw(panel, rows, value):
    """All runs as dots. Where several have as many ranks, the line goes through the fastest prediction."""
    measured = [(row.ranks, value(row.measured)) for row in rows if row.measured]
    panel.plot(*zip(*measured), color=MEASURED, linestyle="none", marker="o", zorder=3, label="measured")
    fastest = {}
    for row in rows:
        if row.predicted:
            fastest[row.ranks] = max(fastest.get(row.ranks, row.predicted), row.predicted, key=lambda each: each.rate)
    if fastest:
        panel.plot(list(fastest), list(map(value, fastest.values())), color=PREDICTED, marker=".", label="predicted")
