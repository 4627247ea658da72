"""The residual over the sweeps of a run, or columns of its diagnostics."""

import numpy as np
from matplotlib import pyplot

from isotherm_tools import figures
from isotherm_tools.program import DATA, Failure, add_subcommand
from isotherm_tools.run import Run
from isotherm_tools.text import quantity, time_unit, titled


def add(subcommands):
    subcommand = add_subcommand(subcommands, "history", draw_history, "draw the residual, or columns of the diagnostics, over sweeps",
                    "Draws the residual over sweeps, or columns of history.csv.")
    subcommand.add_argument("--columns", metavar="NAME,NAME", help="of history.csv, e.g. min_K,mean_K,max_K,balance_W")
    subcommand.add_argument("--out", metavar="FILE", help=figures.OUT_HELP)


def draw_history(options):
    run = Run(options.run)
    columns = options.columns.split(",") if options.columns else []
    path = options.out or run.path / f"{run.name}_{'diagnostics' if columns else 'history'}.png"
    figures.check_format(path)
    for column in columns or ["residual"]:
        if len(run.history.due(column)[0]) == 0:
            why = f"values of {column} (the run ended before it was due)" if columns else \
                "residuals (the run ended before its first check)"
            raise Failure(DATA, f"{run.history.path} holds no {why}")
    figures.draw(path, *([columns_figure, run.name, run.history, columns] if columns else
                         [history_figure, run.name, run.history]))
    return path


def history_figure(name, history):
    figure, panel = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    sweep, time, residual = history.due("residual")
    marker = "." if len(sweep) < 50 else ""  # single checks show, long histories stay a line
    panel.plot(sweep, residual, color="#b5367a", linewidth=1.5, marker=marker)
    if np.any(residual > 0):
        panel.set_yscale("log", nonpositive="mask")
    panel.set(xlabel="sweep", ylabel="residual [K]")
    panel.grid(which="major", color="0.9")
    panel.set_title(f"{figures.plain(name)}: residual history", loc="left")
    add_time_axis(panel, sweep, time)
    return figure


def columns_figure(name, history, columns):
    """All columns of one quantity share a panel; the panels stand above each other."""
    by_axis = {}
    for column in columns:
        what = quantity(column)
        by_axis.setdefault((what.axis, what.unit), []).append((what, history.due(column)))
    figure, panels = pyplot.subplots(len(by_axis), sharex=True, squeeze=False, layout="constrained",
                                     figsize=(7, 1 + 3.2 * len(by_axis)))
    for panel, (axis, curves) in zip(panels[:, 0], by_axis.items()):
        for what, (sweep, _, value) in curves:
            panel.plot(sweep, value, linewidth=1.5, marker="." if len(sweep) < 50 else "", label=what.short)
        panel.set_ylabel(titled(*axis) if len(curves) > 1 else str(curves[0][0]))
        panel.grid(which="major", color="0.9")
        figures.name_curves(panel)
    panels[-1, 0].set_xlabel("sweep")
    panels[0, 0].set_title(f"{figures.plain(name)}: diagnostics", loc="left")
    add_time_axis(panels[0, 0], *history.due(columns[0])[:2])
    return figure


def add_time_axis(panel, sweeps, times):
    """Above the sweeps, the time they reached; steady runs have none."""
    if len(sweeps) < 2 or not np.all(np.diff(sweeps) > 0) or not times[-1] > times[0]:
        return
    unit = time_unit(times[-1])
    seconds_a_sweep = (times[-1] - times[0]) / (sweeps[-1] - sweeps[0])
    start = times[0] - seconds_a_sweep * sweeps[0]
    above = panel.secondary_xaxis("top", functions=(lambda sweep: (start + seconds_a_sweep * sweep) / unit.si,
                                                    lambda time: (time * unit.si - start) / seconds_a_sweep))
    above.set_xlabel(f"time [{unit.name}]")
