"""The residual over the sweeps of a run."""

import numpy as np
from matplotlib import pyplot

from isotherm_postprocess import figures
from isotherm_postprocess.units import time_unit


def draw_history(name, history, path):
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
    panel.set_title(f"{name}: residual history", loc="left")
    add_time_axis(panel, history)
    return figure


def add_time_axis(panel, history):
    """Above the sweeps, the time they reached; steady runs have none."""
    sweeps_rise = len(history.sweep) > 1 and np.all(np.diff(history.sweep) > 0)
    if not sweeps_rise or not history.time[-1] > history.time[0]:
        return
    unit = time_unit(history.time[-1])
    seconds_a_sweep = (history.time[-1] - history.time[0]) / (history.sweep[-1] - history.sweep[0])
    start = history.time[0] - seconds_a_sweep * history.sweep[0]
    above = panel.secondary_xaxis(
        "top",
        functions=(
            lambda sweep: (start + seconds_a_sweep * sweep) / unit.si,
            lambda time: (time * unit.si - start) / seconds_a_sweep,
        ),
    )
    above.set_xlabel(f"time [{unit.name}]")
