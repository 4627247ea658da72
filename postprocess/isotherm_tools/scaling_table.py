"""A scaling series as text for people, as CSV and as JSON."""

import csv
import io
import json
import math
from typing import Callable, NamedTuple

from isotherm_tools.scaling_series import STRONG, times
from isotherm_tools.study.text import Table, counted
from isotherm_tools.units import format_time


class Column(NamedTuple):
    """`value` of a figure is taken of what was measured, then of what was predicted."""

    heading: str
    key: str  # in CSV; figures get `measured_` or `predicted_` before it
    value: Callable
    text: Callable
    of_figures: bool = True


def share(value):
    return f"{100 * value:.1f} %"


COLUMNS = [
    Column("ranks", "ranks", lambda row: row.ranks, str, False),
    Column("grid", "cells", lambda row: row.cells, times, False),
    Column("processes", "process_grid", lambda row: row.parts, times, False),
    Column("cells a rank", "cells_per_rank", lambda row: row.rank_cells, str, False),
    Column("a sweep", "step_s", lambda figures: figures.step, format_time),
    Column("GPts/s", "points_per_s", lambda figures: figures.rate, lambda rate: f"{rate / 1e9:.4g}"),
    Column("speed-up", "speedup", lambda figures: figures.speedup, lambda value: f"{value:.4g}"),
    Column("efficiency", "efficiency", lambda figures: figures.efficiency, share),
    Column("hidden", "hidden_share", lambda figures: figures.hidden, share),
]


def cells_of(row):
    """(column, source, value) along a row; None where there is nothing."""
    for column in COLUMNS:
        if not column.of_figures:
            yield column, "", column.value(row)
            continue
        for source in ("measured", "predicted"):
            figures = getattr(row, source)
            yield column, source, figures and column.value(figures)


def as_text(series):
    lines = [*head(series), ""]
    first = list(cells_of(series.rows[0]))
    table = [[column.heading if source != "predicted" else "" for column, source, _ in first],
             [source for _, source, _ in first]]
    for row in series.rows:
        table.append(["-" if value is None else column.text(value) for column, _, value in cells_of(row)])
    lines += Table("r" * len(first), table).text().splitlines()
    if series.notes:
        lines += ["", *(f"note: {note}" for note in series.notes)]
    return "\n".join(lines)


def head(series):
    base, method = series.base, series.method
    size = f"{times(base.cells)} cells" if series.kind == STRONG else f"{base.rank_cells} cells a rank"
    check = f"a norm every {method.check_interval:.4g} sweeps" if math.isfinite(method.check_interval) else "no norms"
    return [
        f"{series.kind} scaling of {base.name}: {size}, {base.precision}, on {', '.join(base.devices)}",
        f"efficiency against {counted(base.ranks, 'rank')} ({base.path})",
        f"model: {format_time(series.costs.cell)} a cell, {format_time(series.costs.launch)} a launch, depth "
        f"{method.depth}, overlap {'on' if method.overlap else 'off'}, {check}",
        f"       {counted(series.machine.ranks_a_host, 'rank')} a host; within a host {wire(series.machine.inside)}, "
        f"between hosts {wire(series.machine.between)}, {format_time(series.machine.overhead)} a message",
    ]


def wire(known):
    return f"{known.bandwidth / 1e9:.4g} GB/s and {format_time(known.latency)}" if known else "unknown"


def as_csv(series):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["_".join(filter(None, (source, column.key))) for column, source, _ in cells_of(series.rows[0])])
    for row in series.rows:
        writer.writerow([
            "" if value is None else times(value) if isinstance(value, tuple) else value
            for _, _, value in cells_of(row)
        ])
    return text.getvalue()


def as_json(series):
    method, machine = series.method, series.machine
    content = {
        "schema": "isotherm-scaling",
        "schema_version": 1,
        "kind": series.kind,
        "base": {"run": str(series.base.path), "ranks": series.base.ranks},
        "precision": series.base.precision,
        "devices": series.base.devices,
        "model": {
            "cell_s": series.costs.cell,
            "launch_s": series.costs.launch,
            "check_s": series.costs.check,
            "check_cell_s": series.costs.check_cell,
            "depth": method.depth,
            "overlap": method.overlap,
            "check_interval": method.check_interval if math.isfinite(method.check_interval) else None,
            "ranks_per_host": machine.ranks_a_host,
            "message_overhead_s": machine.overhead,
            "within_host": wire_json(machine.inside),
            "between_hosts": wire_json(machine.between),
        },
        "rows": [row_json(row) for row in series.rows],
        "notes": series.notes,
    }
    return json.dumps(content, indent=2) + "\n"


def wire_json(known):
    """A bandwidth without limit is null."""
    if known is None:
        return None
    return {"latency_s": known.latency,
            "bandwidth_bytes_per_s": known.bandwidth if math.isfinite(known.bandwidth) else None}


def row_json(row):
    content = {"run": row.run, "measured": row.measured and {}, "predicted": row.predicted and {}}
    for column, source, value in cells_of(row):
        where = content[source] if source else content
        if where is not None:
            where[column.key] = value
    return content
