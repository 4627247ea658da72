"""`scaling RUN ...` and `scaling STUDY`: options, table, CSV, JSON and picture of a scaling series."""

import argparse
import csv
import io
import json
import math
from typing import Callable, NamedTuple

from matplotlib import pyplot
from matplotlib.ticker import NullLocator, PercentFormatter

from isotherm_tools import figures
from isotherm_tools.failure import COMMAND_LINE, DATA, Failure
from isotherm_tools.program import add_subcommand, whole
from isotherm_tools.scaling import STRONG, WEAK, RunRecord, Wishes, modelled, scaling_series, times
from isotherm_tools.studies import Study, is_study
from isotherm_tools.text import Table, counted, format_time
from isotherm_tools.whole_file import write_text

GB, MICRO = 1e9, 1e-6
MEASURED, PREDICTED = "#b5367a", "#3a6ea5"


def add(subcommands):
    subcommand = add_subcommand(subcommands, "scaling", scaling, "runs on several rank counts: measured beside predicted",
                    "Speed-up and efficiency of runs of one problem, and a model's beside them.", None)
    subcommand.add_argument("runs", nargs="+", metavar="RUN",
                      help="run directory, or its run.json; or the directory of one study of a deck with scaling:")
    subcommand.add_argument("--series", metavar="LABEL",
                      help="of a study with several, by its label: \"solver.kernel openmp\"")
    subcommand.add_argument("--kind", choices=(STRONG, WEAK), help="default: by the grids of the runs")
    subcommand.add_argument("--ranks", type=lambda text: tuple(map(whole, text.split(","))), default=Wishes().ranks,
                      metavar="N,N",
                      help="predict these too (default: powers of two from 8 to 4096)")

    machine = subcommand.add_argument_group(
        "the machine", "Nothing is assumed: what neither the runs measured nor is given here is not predicted.")
    machine.add_argument("--gpus-per-node", type=whole, metavar="N",
                         help="ranks a host (default: the most that a run had)")
    machine.add_argument("--intra-bandwidth", type=quantity(GB, False), metavar="GB/S",
                         help="of a GPU within a host, each way (default: as measured)")
    machine.add_argument("--intra-latency", type=quantity(MICRO), metavar="US", help="likewise (default: as measured)")
    machine.add_argument("--network-bandwidth", type=quantity(GB, False), metavar="GB/S",
                         help="of a GPU between hosts, each way (default: as measured)")
    machine.add_argument("--network-latency", type=quantity(MICRO), metavar="US",
                         help="likewise (default: as measured)")
    machine.add_argument("--message-overhead", type=quantity(MICRO), default=0.0, metavar="US",
                         help="what a message costs before the next one starts (default: 0)")

    program = subcommand.add_argument_group("the program", "Instead of what the runs did.")
    program.add_argument("--halo-width", type=whole, metavar="N", help="sweeps for one exchange")
    program.add_argument("--overlap", choices=("on", "off"), help="hide the exchange behind the interior")
    program.add_argument("--check-interval", type=whole, metavar="N", help="sweeps for one norm")
    program.add_argument("--launch-latency", type=quantity(MICRO), default=0.0, metavar="US",
                         help="the part of a sweep that does not shrink with the block (default: 0)")
    program.add_argument("--cell-time", choices=("sweeps", "copy"), default="sweeps",
                         help="from the sweeps of the run on fewest ranks, or from the least traffic at its copy "
                              "bandwidth (default: sweeps)")
    subcommand.add_argument("--json", metavar="FILE", help="write everything to this file")
    subcommand.add_argument("--csv", metavar="FILE", help="write the table to this file")
    subcommand.add_argument("--out", metavar="FILE",
                      help="draw time per sweep and efficiency into this file: png, pdf or svg by its ending")


def quantity(unit, zero_too=True):
    def parse(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if value > 0 or (zero_too and value == 0):
            return value * unit
        raise argparse.ArgumentTypeError(f"{text} is no number {'from 0 on' if zero_too else 'above 0'}")

    return parse


def scaling(options):
    if options.out:
        figures.check_format(options.out)
    found = read_series(options)
    if len(found) > 1:
        if options.json or options.csv or options.out:
            raise Failure(COMMAND_LINE, f"a file holds one series, and {options.runs[0]} has {len(found)}; name one with --series")
        return "\n\n".join(map(text_or_why, found))
    series = found[0]()
    for path, text in ((options.json, as_json), (options.csv, as_csv)):
        if path:
            write_text(path, text(series))
    if options.out:
        figures.draw(options.out, scaling_figure, series)
    return as_text(series)


def read_series(options):
    """What makes each series; of runs there is one."""
    wishes = Wishes(
        options.kind, options.ranks, options.gpus_per_node, options.intra_bandwidth, options.intra_latency,
        options.network_bandwidth,
        options.network_latency, options.message_overhead, options.launch_latency, options.halo_width,
        options.overlap and options.overlap == "on", options.check_interval, options.cell_time)
    studies = [run for run in options.runs if is_study(run)]
    if not studies:
        if options.series is not None:
            raise Failure(COMMAND_LINE, "--series is of a study; runs make one series")
        return [lambda: scaling_series([RunRecord(run) for run in options.runs], wishes)]
    if len(options.runs) > 1:
        raise Failure(COMMAND_LINE, f"{studies[0]} is a study; name it alone")
    study = Study(studies[0])
    if not study.scaling:
        raise Failure(DATA, f"{study.path} is no scaling study (its deck has no section scaling); name directories of its runs")
    found = [each for each in study.scaling if options.series in (None, each.label)]
    if not found:
        raise Failure(COMMAND_LINE, f"{study.path} has no series {options.series!r}; use one of "
                                    f"{', '.join(repr(each.label) for each in study.scaling)}")
    return [lambda each=each: modelled(study, each, wishes) for each in found]


def text_or_why(make):
    """One series that cannot be made leaves the others."""
    try:
        return as_text(make())
    except Failure as failure:
        return f"note: {failure}"


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
    Column("cells per rank", "cells_per_rank", lambda row: row.rank_cells, str, False),
    Column("a sweep", "step_s", lambda found: found.step, format_time),
    Column("GPts/s", "points_per_s", lambda found: found.rate, lambda rate: f"{rate / 1e9:.4g}"),
    Column("speed-up", "speedup", lambda found: found.speedup, lambda value: f"{value:.4g}"),
    Column("efficiency", "efficiency", lambda found: found.efficiency, share),
    Column("hidden", "hidden_share", lambda found: found.hidden, share),
]


def cells_of(row):
    """(column, source, value) along a row; None where there is nothing."""
    for column in COLUMNS:
        for source in ("measured", "predicted") if column.of_figures else ("",):
            found = getattr(row, source) if source else row
            yield column, source, found and column.value(found)


def as_text(series):
    base, method, machine = series.base, series.method, series.machine
    size = f"{times(base.cells)} cells" if series.kind == STRONG else f"{base.rank_cells} cells per rank"
    check = f"a norm every {method.check_interval:.4g} sweeps" if math.isfinite(method.check_interval) else "no norms"
    inside, between = (f"{wire.bandwidth / 1e9:.4g} GB/s and {format_time(wire.latency)}" if wire else "unknown"
                       for wire in (machine.inside, machine.between))
    first = list(cells_of(series.rows[0]))
    table = [[column.heading if source != "predicted" else "" for column, source, _ in first],
             [source for _, source, _ in first]]
    for row in series.rows:
        table.append(["-" if value is None else column.text(value) for column, _, value in cells_of(row)])
    return "\n".join([
        f"{series.kind} scaling of {base.name}: {size}, {base.precision}, on {', '.join(base.devices)}",
        f"efficiency against {counted(base.ranks, 'rank')} ({base.path})",
        f"model: {format_time(series.costs.cell)} a cell, {format_time(series.costs.launch)} a launch, halo width "
        f"{method.halo_width}, overlap {'on' if method.overlap else 'off'}, {check}",
        f"       {counted(machine.ranks_a_host, 'rank')} a host; within a host {inside}, between hosts {between}, "
        f"{format_time(machine.overhead)} a message",
        "", *Table("r" * len(first), table).text().splitlines(),
        *(["", *(f"note: {note}" for note in series.notes)] if series.notes else [])])


def as_csv(series):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["_".join(filter(None, (source, column.key))) for column, source, _ in cells_of(series.rows[0])])
    for row in series.rows:
        writer.writerow(["" if value is None else times(value) if isinstance(value, tuple) else value
                         for _, _, value in cells_of(row)])
    return text.getvalue()


def as_json(series):
    """What has no limit is null."""
    method, machine, costs = series.method, series.machine, series.costs

    def finite(value):
        return value if math.isfinite(value) else None

    def wire(known):
        return known and {"latency_s": known.latency, "bandwidth_bytes_per_s": finite(known.bandwidth)}

    content = {
        "schema": "isotherm-scaling", "schema_version": 1, "kind": series.kind,
        "base": {"run": str(series.base.path), "ranks": series.base.ranks},
        "precision": series.base.precision, "devices": series.base.devices,
        "model": {
            "cell_s": costs.cell, "launch_s": costs.launch, "check_s": costs.check, "check_cell_s": costs.check_cell,
            "halo_width": method.halo_width, "overlap": method.overlap, "check_interval": finite(method.check_interval),
            "ranks_per_host": machine.ranks_a_host, "message_overhead_s": machine.overhead,
            "within_host": wire(machine.inside), "between_hosts": wire(machine.between),
        },
        "rows": [row_json(row) for row in series.rows], "notes": series.notes,
    }
    return json.dumps(content, indent=2) + "\n"


def row_json(row):
    content = {"run": row.run, "measured": row.measured and {}, "predicted": row.predicted and {}}
    for column, source, value in cells_of(row):
        where = content[source] if source else content
        if where is not None:
            where[column.key] = value
    return content


def scaling_figure(series):
    """Time per sweep, and efficiency, over the number of ranks."""
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
    figures.plain_ticks(above.yaxis)
    above.set_ylabel("time per sweep [ms]")
    above.set_title(f"{figures.plain(base.name)}: {series.kind} scaling on {', '.join(base.devices)}", loc="left")
    figures.name_curves(above)
    below.set_ylim(bottom=0)
    below.yaxis.set_major_formatter(PercentFormatter(1))
    below.set(xlabel="ranks", ylabel="efficiency")
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
