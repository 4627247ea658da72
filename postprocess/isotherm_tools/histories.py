"""The residual over the sweeps of a run, or columns of its diagnostics."""

import numpy as np
from matplotlib import pyplot

from isotherm_tools import figures
from isotherm_tools.failure import DATA, Failure
from isotherm_tools.quantities import quantity, titled
from isotherm_tools.units import time_unit


def draw_history(name, history, path):
    if len(history.sweep) == 0:
        raise Failure(DATA, f"{history.path} holds no residuals (the run ended before its first check)")
    with pyplot.style.context(["default", figures.STYLE]):
        figures.save(history_figure(name, history), path)


def history_figure(name, history):
    figure, panel = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    marker = "." if len(history.sweep) < 50 else ""  # single checks show, long histories stay a line
    panel.plot(history.sweep, history.residual, color="#b5367a", linewidth=1.5, marker=marker)
    if np.any(history.residual > 0):
        panel.set_yscale("log", nonpositive="mask")
    panel.set_xlabel("sweep")
    panel.set_ylabel("residual [K]")
    panel.grid(which="major", color="0.9")
    panel.set_title(f"{figures.plain(name)}: residual history", loc="left")
    add_time_axis(panel, history.sweep, history.time)
    return figure


def draw_columns(name, history, columns, path):
    for column in columns:
        if len(history.column(column)[0]) == 0:
            raise Failure(DATA, f"{history.path} holds no values of {column} (the run ended before it was due)")
    with pyplot.style.context(["default", figures.STYLE]):
        figures.save(columns_figure(name, history, columns), path)


def columns_figure(name, history, columns):
    """All columns of one quantity share a panel; the panels stand above each other."""
    by_axis = {}
    for column in columns:
        what = quantity(column)
        by_axis.setdefault((what.axis, what.unit), []).append((what, history.column(column)))
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
    sweep, time, _ = history.column(columns[0])
    add_time_axis(panels[0, 0], sweep, time)
    return figure


def add_time_axis(panel, sweeps, times):
    """Above the sweeps, the time they reached; steady runs have none."""
    sweeps_rise = len(sweeps) > 1 and np.all(np.diff(sweeps) > 0)
    if not sweeps_rise or not times[-1] > times[0]:
        return
    unit = time_unit(times[-1])
    seconds_a_sweep = (times[-1] - times[0]) / (sweeps[-1] - sweeps[0])
    start = times[0] - seconds_a_sweep * sweeps[0]
    above = panel.secondary_xaxis(
        "top",
        functions=(
            lambda sweep: (start + seconds_a_sweep * sweep) / unit.si,
            lambda time: (time * unit.si - start) / seconds_a_sweep,
        ),
    )
    above.set_xlabel(f"time [{unit.name}]")
