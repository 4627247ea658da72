"""`scaling RUN ...` and `scaling STUDY`: runs of one problem on different numbers of ranks, with the predictions of
a model, as table, CSV, JSON and picture.

Speed-up is the rate over that of one rank of the run on fewest ranks; efficiency is the speed-up over the number of
ranks, for strong and weak scaling alike. Predictions are relative to the prediction for that run."""

import json
import math
import re
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import NamedTuple, Optional

from matplotlib import pyplot
from matplotlib.ticker import NullLocator, PercentFormatter

from isotherm_tools import figures
from isotherm_tools import scaling_model as model
from isotherm_tools.program import (
    COMMAND_LINE, DATA, UNAVAILABLE, Failure, Program, add_subcommand, check_outputs, content_of, in_present_form,
    number_from, raise_error, read_record, write_text)
from isotherm_tools.studies import Study, is_study
from isotherm_tools.text import aligned, counted, csv_text, format_time, groups

VALUE_BYTES = {"fp32": 4, "fp64": 8, "mixed": 8}
STRONG, WEAK = "strong", "weak"
EVEN = 1.05  # the cells per rank of a weak series may differ by the rounding of its grids


class RunRecord:
    """The measurements of a run. Times are those of the slowest rank over the whole run, except `least_reduction`, which is that of the
    rank that waited least."""

    def __init__(self, run, content=None, name=""):
        """`run`: its directory or run.json. `content`, `name`: from a study, which holds the records of its runs."""
        path = Path(run)
        self.path = path / "run.json" if path.is_dir() and content is None else path
        with content_of(self.path, "run record"):
            content = in_present_form(content) if content is not None else read_record(
                self.path, "isotherm-run", "run record", "name the directory of a finished run")
            self.name = name or content["name"]
            performance, method, phases, split = (content[key] for key in ("performance", "method", "phases_s", "decomposition"))
            if performance["step_s"] is None:
                raise Failure(DATA, f"{self.path} holds no measured sweeps (the run ended before its first)")
            self.cells, self.parts = tuple(map(int, content["grid"]["cells"])), tuple(map(int, split["process_grid"]))
            self.precision, self.rank_cells = content["grid"]["precision"], int(split["largest_rank_cells"])
            self.value_bytes = VALUE_BYTES[self.precision]
            # In a resolved deck a boundary is one line; if one side is periodic, so is the opposite one.
            deck = content["deck"]["resolved"]
            self.periodic = tuple(bool(re.search(rf"(?m)^ +{axis}_min: *{{kind: periodic\b", deck)) for axis in "xyz")
            self.layout = model.Layout(self.cells, self.parts, self.periodic)
            self.hosts = [rank["host"] for rank in content["ranks"]]
            self.ranks, self.ranks_per_host = len(self.hosts), max(map(self.hosts.count, set(self.hosts)), default=0)
            self.devices = sorted({rank["device"] for rank in content["ranks"]})
            self.backend = content["ranks"][0]["backend"]

            self.problem = method["problem"]
            self.kernel = " ".join(word for word in (method["kernel"], method["tile"]) if word not in (None, "-"))
            self.halo_width = int(method["halo_width"])
            self.overlap = method["overlap"] in ("on", "in_kernel")
            self.fused_norm = method["reduction"] == "fused"

            self.sweeps, self.checks = int(performance["sweeps"]), int(content["residual"]["checks"])
            self.step, self.rate, self.bytes_per_point = (  # s per sweep, cell updates per second
                float(performance[key]) for key in ("step_s", "points_per_s", "bytes_per_point"))
            self.copy_bandwidth = performance["copy_bandwidth_bytes_per_s"]  # of all ranks, bytes/s; None: not measured
            self.sweeping, self.waiting, self.least_reduction = (
                float(phases[phase][key]) for phase, key in (("sweeps", "max"), ("halo", "max"), ("reduction", "min")))

            self.timed = round(float(phases["stepping"]["max"]) / self.step)  # sweeps that the phases contain: not the autotuner's
            halo = content.get("halo") or {}
            # Measured between a rank and one of its neighbours: (on one host?, wire).
            self.links = [
                (self.hosts[link["rank"]] == self.hosts[link["peer"]], model.Wire(link["latency_s"], link["bandwidth_bytes_per_s"]))
                for link in halo.get("links", []) if link["bandwidth_bytes_per_s"] and link["latency_s"] is not None]
            hidden = halo.get("hidden_percent")
            self.hidden = None if hidden is None else hidden / 100  # share of the communication, 0 to 1; None: not measured


class ModelInputs(NamedTuple):
    """Values given on the command line, in SI units. They have priority over those measured by the runs; None: use the measured value."""

    kind: Optional[str] = None  # weak or strong
    ranks: tuple = tuple(2**i for i in range(3, 13))  # counts to predict in addition to the measured ones
    ranks_per_host: Optional[int] = None
    inside_bandwidth: Optional[float] = None
    inside_latency: Optional[float] = None
    between_bandwidth: Optional[float] = None
    between_latency: Optional[float] = None
    overhead: float = 0.0
    launch: float = 0.0
    halo_width: Optional[int] = None
    overlap: Optional[bool] = None
    check_interval: Optional[float] = None
    cell_time: str = "sweeps"  # or copy: the least traffic at copy bandwidth


def method_of(record, inputs):
    """The method of the run. One rank has no exchange to overlap: more ranks are then assumed to overlap on GPUs, as by default."""
    measured = model.Method(record.value_bytes, record.halo_width, record.overlap if record.ranks > 1 else record.backend == "cuda",
                            record.sweeps / record.checks if record.checks else model.Method().check_interval)
    wanted = {name: value for name in ("halo_width", "overlap", "check_interval") if (value := getattr(inputs, name)) is not None}
    return measured._replace(**wanted)


def machine_of(records, inputs):
    return model.Machine(inputs.ranks_per_host or max(record.ranks_per_host for record in records),
                         wire(records, True, inputs.inside_latency, inputs.inside_bandwidth),
                         wire(records, False, inputs.between_latency, inputs.between_bandwidth), inputs.overhead)


def wire(records, same_host, latency, bandwidth):
    """The median over the links of the run on most ranks that measured such links; None if latency or bandwidth is unknown."""
    by_ranks = sorted(records, key=lambda record: record.ranks)
    found = [[wire for on_one_host, wire in record.links if on_one_host == same_host] for record in by_ranks]
    if wires := next(filter(None, reversed(found)), None):
        latency = median(wire.latency for wire in wires) if latency is None else latency
        bandwidth = median(wire.bandwidth for wire in wires) if bandwidth is None else bandwidth
    return None if latency is None or bandwidth is None else model.Wire(latency, bandwidth)


def costs_of(record, inputs):
    """Costs from the run on fewest ranks. On one rank its halo time is that of boundaries and local copies, and counts as sweeps; on
    several ranks the time of the norm contains a part of the all-reduce."""
    swept = record.sweeping + (record.waiting if record.ranks == 1 else 0.0)
    if inputs.cell_time == "copy":
        if not record.copy_bandwidth:
            raise Failure(DATA, f"{record.path} holds no copy bandwidth; leave out --cell-time copy")
        cell = record.bytes_per_point * record.ranks / record.copy_bandwidth
    else:
        # Cells of the largest rank, including those that its neighbour computes too.
        shares = model.shares(model.Method(halo_width=record.halo_width), model.Machine(record.ranks), record.layout)
        cells = max(model.computed_cells(record.halo_width, share) for share in shares) / record.halo_width
        cell = (swept / record.timed - inputs.launch) / cells
    if not cell > 0:
        raise Failure(DATA, f"{record.path} leaves no time for the cells of a sweep (it took "
                            f"{1e6 * swept / record.timed:.4g} us, the launch {1e6 * inputs.launch:.4g} us)")
    check = record.least_reduction / record.checks if record.checks else 0.0
    return model.Costs(cell, inputs.launch, *((check, 0.0) if record.fused_norm else (0.0, check / record.rank_cells)))


class Row:
    """The figures for one count of ranks. `record`: None if nothing was measured; `layout`: None if no layout fits."""

    measured = predicted = None

    def __init__(self, ranks, layout, method, record=None):
        self.ranks, self.layout, self.method, self.record, self.run = ranks, layout, method, record, record and str(record.path)
        if layout:
            self.cells, self.parts = layout.cells, layout.parts  # of the whole grid; the process grid
            self.rank_cells = math.prod(-(-n // p) for n, p in zip(self.cells, self.parts))  # of the largest rank
        self.fits = layout is not None and model.fits(layout, method.halo_width)

    def compared(self, step, rate, rate_of_one, hidden):
        """`step`: s per sweep; `rate`: cell updates per second; `hidden`: share of the communication that was hidden."""
        speedup = rate / rate_of_one
        return SimpleNamespace(step=step, rate=rate, speedup=speedup, efficiency=speedup / self.ranks, hidden=hidden)


def scaling_series(records, inputs):
    """Returns the series. `base`: the run that others are compared with; `method`: that of runs that are only predicted."""
    records = sorted(records, key=lambda record: (record.ranks, record.step))
    for what, value in (("problem", lambda r: r.problem), ("precision", lambda r: r.precision),
                        ("devices", lambda r: ", ".join(r.devices))):
        if len(found := [f"{those[0].path}: {name}" for name, those in groups(records, value).items()]) > 1:
            raise Failure(DATA, f"runs of different {what} make no series ({', '.join(found[:2])})")
    base, kind = records[0], inputs.kind or kind_of(records)
    costs, machine = costs_of(base, inputs), machine_of(records, inputs)
    rows = [Row(record.ranks, record.layout, method_of(record, inputs), record) for record in records]
    # Other counts use the method of the fastest run on most ranks.
    method = next(row.method for row in rows if row.ranks == records[-1].ranks)
    counts, notes = sorted(set(inputs.ranks) - {record.ranks for record in records}), []
    try:
        rows += [Row(ranks, layout, method) for ranks, layout in zip(counts, layouts(kind, base, counts, method.halo_width))]
    except Failure as failure:
        if failure.code != UNAVAILABLE:
            raise
        notes.append(f"no prediction for other counts of ranks: {failure}")
    first = rows[0]
    for row in rows:
        if run := row.record:
            row.measured = row.compared(run.step, run.rate, base.rate / base.ranks, run.hidden)
        if row.fits and not model.unknown_wires(machine, row.ranks) and (first.predicted or row is first):
            found = model.predict(costs, row.method, machine, row.layout)
            rate = math.prod(row.cells) / found.step
            reference = (first.predicted.rate if first.predicted else rate) / base.ranks
            row.predicted = row.compared(found.step, rate, reference, found.hidden)
    if len(records) == 1 and any(row.predicted and not row.measured for row in rows):
        notes.append(f"the prediction is from one run ({counted(base.ranks, 'rank')}): no other run tests it")
    notes += differences(records, inputs)
    if thin := [row for row in rows if not row.fits]:
        notes.append(f"no prediction for {', '.join(sorted({str(row.ranks) for row in thin}, key=int))} ranks (their subdomains are thinner "
                     f"than the halo, {counted(thin[0].method.halo_width, 'cell')})")
    return SimpleNamespace(
        kind=kind, base=base, method=rows[-1].method, costs=costs, machine=machine, notes=notes + lacks(machine, rows),
        rows=sorted((row for row in rows if row.record or row.predicted), key=lambda row: row.ranks))


def kind_of(records):
    if records[0].ranks == records[-1].ranks:
        raise Failure(COMMAND_LINE, f"runs of one rank count ({records[0].ranks}) are neither weak nor strong; add runs, or give --kind")
    if len({record.cells for record in records}) == 1:
        return STRONG
    shares = [record.rank_cells for record in records]
    if max(shares) <= EVEN * min(shares):
        return WEAK
    raise Failure(DATA, f"the runs have neither one grid nor the same cells per rank ({grids_text(records)}); leave some out, or give "
                        "--kind")


def grids_text(records):
    return ", ".join(f"{times(record.cells)} on {record.ranks}" for record in records)


def differences(records, inputs):
    """Notes on differences that matter when these runs are compared with each other and with the model."""
    notes = []
    for what, value in (("kernel", lambda r: r.kernel), ("halo width", lambda r: str(r.halo_width))):
        if len(found := groups(records, value)) > 1:
            on = [f"{name} on {', '.join(str(record.ranks) for record in those)}" for name, those in found.items()]
            notes.append(f"{what} differs: {'; '.join(on)}")
    sizes = [math.prod(record.cells) if inputs.kind == STRONG else record.rank_cells for record in records]
    if inputs.kind and max(sizes) > EVEN * min(sizes):
        notes.append(f"{grids_text(records)} ranks are no {inputs.kind} series: these efficiencies compare runs of other sizes")
    if inputs.halo_width not in (None, *(record.halo_width for record in records)):
        notes.append(f"predicted for halo width {inputs.halo_width}, measured at {records[-1].halo_width}")
    return notes


def layouts(kind, base, counts, halo_width):
    """A layout for each count of ranks, as the program would decompose the grid of `base`, the run on fewest ranks; weak: a grid of as
    many of its subdomains. None if the subdomains would be thinner than the halo."""
    wanted = {"backend": base.backend, "value_bytes": base.value_bytes, "halo_width": halo_width, "periodic": base.periodic,
              "weak": kind == WEAK, "cells": [-(-n // p) for n, p in zip(base.cells, base.parts)] if kind == WEAK else base.cells}
    answers = Program().ask("-", [], [], [{"ranks": ranks, "process_grid": wanted} for ranks in counts]) if counts else []
    for answer in answers:
        if answer.get("error", {}).get("code") != DATA:  # DATA: no grid fits
            raise_error(answer)
    return [None if "error" in answer else model.Layout(tuple(answer["cells"]), tuple(answer["process_grid"]), base.periodic)
            for answer in answers]


def lacks(machine, rows):
    """Notes on unknown wires of the machine; the first row is the run that others are compared with."""
    notes = []
    for wire, names in ((model.INSIDE, "--intra-bandwidth and --intra-latency"),
                        (model.BETWEEN, "--network-bandwidth and --network-latency")):
        without = [row.ranks for row in rows if wire in model.unknown_wires(machine, row.ranks)]
        why = f"(the wires {wire} are unknown); give {names}"
        if rows[0].ranks in without:
            return [f"no prediction, as the run that others are compared with has none {why}"]
        if without:
            notes.append(f"no prediction from {min(without)} ranks on {why}")
    return notes


def times(cells):
    return "x".join(map(str, cells))


def modelled(study, scaled, inputs):
    """A series of a study whose deck has `scaling:`, from the run that the study selects for each count."""
    title = f"{study.name} ({scaled.label})" if scaled.label else study.name
    if scaled.rows[0].case is None:
        raise Failure(DATA, f"{study.path}: {title} has nothing to be compared with ({scaled.base})")
    runs = {case.name: case.run for case in study.cases}
    records = [RunRecord(study.path / row.case, runs[row.case], title) for row in scaled.rows if row.case is not None]
    return scaling_series(records, inputs._replace(kind=inputs.kind or scaled.kind))


def add(subcommands):
    subcommand = add_subcommand(subcommands, "scaling", scaling,
                                "speed-up and efficiency of runs on several rank counts, measured and predicted by a model", None,
                                "draw time per sweep and efficiency into this file: png, pdf or svg by its ending")
    subcommand.add_argument("runs", nargs="+", metavar="RUN",
                            help="run directory, or its run.json; or the directory of one study of a deck with scaling:")
    subcommand.add_argument("--series", metavar="LABEL", help="of a study with several, by its label: \"solver.kernel openmp\"")
    subcommand.add_argument("--kind", choices=(STRONG, WEAK), help="default: by the grids of the runs")
    subcommand.add_argument("--ranks", default=ModelInputs().ranks, type=lambda text: tuple(map(number_from(1), text.split(","))),
                            metavar="N,N", help="predict these too (default: powers of two from 8 to 4096)")

    machine = subcommand.add_argument_group(
        "the machine", "A prediction needs each value from the measurements of the runs or from these options.")
    machine.add_argument("--gpus-per-node", dest="ranks_per_host", type=number_from(1), metavar="N",
                         help="ranks per host (default: the most that a run had)")
    bandwidth, time = number_from(1e-9, kind=float, unit=1e9), number_from(0, kind=float, unit=1e-6)
    for name, wire, what in (("intra", "inside", "within a host"), ("network", "between", "between hosts")):
        machine.add_argument(f"--{name}-bandwidth", dest=f"{wire}_bandwidth", type=bandwidth, metavar="GB/S",
                             help=f"of a GPU {what}, each way (default: as measured)")
        machine.add_argument(f"--{name}-latency", dest=f"{wire}_latency", type=time, metavar="US", help="likewise (default: as measured)")
    machine.add_argument("--message-overhead", dest="overhead", type=time, default=0.0, metavar="US",
                         help="time of a message before the next one starts (default: 0)")

    program = subcommand.add_argument_group("the program", "These options replace the values of the runs.")
    program.add_argument("--halo-width", type=number_from(1), metavar="N", help="sweeps for one exchange")
    program.add_argument("--overlap", choices=("on", "off"), help="hide the exchange behind the interior")
    program.add_argument("--check-interval", type=number_from(1), metavar="N", help="sweeps for one norm")
    program.add_argument("--launch-latency", dest="launch", type=time, default=0.0, metavar="US",
                         help="the part of a sweep that does not shrink with the subdomain (default: 0)")
    program.add_argument("--cell-time", choices=("sweeps", "copy"), default="sweeps",
                         help="from the sweeps of the run on fewest ranks, or from the least traffic at its copy "
                              "bandwidth (default: sweeps)")
    subcommand.add_argument("--json", metavar="FILE", help="write all results to this file")
    subcommand.add_argument("--csv", metavar="FILE", help="write the table to this file")


def scaling(options):
    if options.out:
        figures.check_format(options.out)
    check_outputs((options.json, options.csv, options.out),
                  [Path(run, name) for run in options.runs for name in ("", "run.json", "study.json")])
    found = read_series(options)
    if len(found) > 1:
        if options.json or options.csv or options.out:
            raise Failure(COMMAND_LINE, f"a file holds one series, and {options.runs[0]} has {len(found)}; name one with --series")
        texts = []
        for make in found:
            try:
                texts.append(as_text(make()))
            except Failure as failure:  # a failure of one series does not affect the others
                texts.append(f"note: {failure}")
        return "\n\n".join(texts)
    series = found[0]()
    for path, text in ((options.json, as_json), (options.csv, as_csv)):
        if path:
            write_text(path, text(series))
    if options.out:
        figures.draw(options.out, scaling_figure, series)
    return as_text(series)


def read_series(options):
    """Functions that make the series; runs make one series."""
    inputs = ModelInputs(**{name: getattr(options, name) for name in ModelInputs._fields})
    inputs = inputs._replace(overlap=options.overlap and options.overlap == "on")
    studies = [run for run in options.runs if is_study(run)]
    if not studies:
        if options.series is not None:
            raise Failure(COMMAND_LINE, "--series is of a study; runs make one series")
        return [lambda: scaling_series([RunRecord(run) for run in options.runs], inputs)]
    if len(options.runs) > 1:
        raise Failure(COMMAND_LINE, f"{studies[0]} is a study; name it alone")
    study = Study(studies[0])
    if not study.scaling:
        raise Failure(DATA, f"{study.path} is no scaling study (its deck has no section scaling); name directories of its runs")
    found = [each for each in study.scaling if options.series in (None, each.label)]
    if not found:
        raise Failure(COMMAND_LINE, f"{study.path} has no series {options.series!r}; use one of "
                                    f"{', '.join(repr(each.label) for each in study.scaling)}")
    return [lambda each=each: modelled(study, each, inputs) for each in found]


def share(value):
    return f"{100 * value:.1f} %"


# Heading, key in CSV and JSON, attribute, function for its text: columns of a row; then those measured and predicted.
OF_ROWS = [("ranks", "ranks", "ranks", str), ("grid", "cells", "cells", times), ("processes", "process_grid", "parts", times),
           ("cells per rank", "cells_per_rank", "rank_cells", str)]
OF_FIGURES = [("per sweep", "step_s", "step", format_time), ("GPts/s", "points_per_s", "rate", lambda rate: f"{rate / 1e9:.4g}"),
              ("speed-up", "speedup", "speedup", "{:.4g}".format), ("efficiency", "efficiency", "efficiency", share),
              ("hidden", "hidden_share", "hidden", share)]


def cells_of(row):
    """(heading, key, source, value, text) along a row; value is None if there is none."""
    for columns, sources in ((OF_ROWS, ("",)), (OF_FIGURES, ("measured", "predicted"))):
        for heading, key, name, text in columns:
            for source in sources:
                found = getattr(row, source) if source else row
                value = found and getattr(found, name)
                yield heading, key, source, value, "-" if value is None else text(value)


def as_text(series):
    base, method, machine = series.base, series.method, series.machine
    size = f"{times(base.cells)} cells" if series.kind == STRONG else f"{base.rank_cells} cells per rank"
    check = f"a norm every {method.check_interval:.4g} sweeps" if math.isfinite(method.check_interval) else "no norms"
    inside, between = (f"{wire.bandwidth / 1e9:.4g} GB/s and {format_time(wire.latency)}" if wire else "unknown"
                       for wire in (machine.inside, machine.between))
    first = list(cells_of(series.rows[0]))
    table = [[heading if source != "predicted" else "" for heading, _, source, *_ in first], [source for _, _, source, *_ in first],
             *([text for *_, text in cells_of(row)] for row in series.rows)]
    return "\n".join([
        f"{series.kind} scaling of {base.name}: {size}, {base.precision}, on {', '.join(base.devices)}",
        f"efficiency against {counted(base.ranks, 'rank')} ({base.path})",
        f"model: {format_time(series.costs.cell)} per cell, {format_time(series.costs.launch)} per launch, halo width "
        f"{method.halo_width}, overlap {'on' if method.overlap else 'off'}, {check}",
        f"       {counted(machine.ranks_per_host, 'rank')} per host; within a host {inside}, between hosts {between}, "
        f"{format_time(machine.overhead)} per message",
        "", *aligned("r" * len(first), table).splitlines(),
        *(["", *(f"note: {note}" for note in series.notes)] if series.notes else [])])


def as_csv(series):
    heads = ["_".join(filter(None, (source, key))) for _, key, source, *_ in cells_of(series.rows[0])]
    return csv_text([heads, *([times(value) if isinstance(value, tuple) else value for *_, value, _ in cells_of(row)]
                              for row in series.rows)])


def as_json(series):
    """Values without a limit become null."""
    method, machine, costs = series.method, series.machine, series.costs

    def finite(value):
        return value if math.isfinite(value) else None

    def wire(known):
        return known and {"latency_s": known.latency, "bandwidth_bytes_per_s": finite(known.bandwidth)}

    def values(columns, found):
        return found and {key: getattr(found, name) for _, key, name, _ in columns}

    return json.dumps({
        "schema": "isotherm-scaling", "schema_version": 1, "kind": series.kind,
        "base": {"run": str(series.base.path), "ranks": series.base.ranks},
        "precision": series.base.precision, "devices": series.base.devices,
        "model": {
            "cell_s": costs.cell, "launch_s": costs.launch, "check_s": costs.check, "check_cell_s": costs.check_cell,
            "halo_width": method.halo_width, "overlap": method.overlap, "check_interval": finite(method.check_interval),
            "ranks_per_host": machine.ranks_per_host, "message_overhead_s": machine.overhead,
            "within_host": wire(machine.inside), "between_hosts": wire(machine.between)},
        "rows": [{"run": row.run, **values(OF_ROWS, row), "measured": values(OF_FIGURES, row.measured),
                  "predicted": values(OF_FIGURES, row.predicted)} for row in series.rows],
        "notes": series.notes}, indent=2) + "\n"


def scaling_figure(series):
    figure, (above, below) = pyplot.subplots(2, sharex=True, figsize=(figures.WIDTH, 5.6), layout="constrained")
    ranks = sorted({row.ranks for row in series.rows})
    base = series.base
    ideal = [base.step * (base.ranks / n if series.kind == STRONG else 1) for n in ranks]
    above.plot(ranks, [1e3 * step for step in ideal], color=figures.LESS, linestyle=":", label="ideal")
    below.plot(ranks, [1] * len(ranks), color=figures.LESS, linestyle=":")
    measured, predicted = ([row for row in series.rows if getattr(row, source)] for source in ("measured", "predicted"))
    # All runs as dots. If several runs have the same number of ranks, the line uses the fastest prediction.
    fastest = {ranks: max((row.predicted for row in rows), key=lambda each: each.rate)
               for ranks, rows in groups(predicted, lambda row: row.ranks).items()}
    for panel, value in ((above, lambda row: 1e3 * row.step), (below, lambda row: row.efficiency)):
        panel.plot([row.ranks for row in measured], [value(row.measured) for row in measured], color=figures.MEASURED,
                   linestyle="none", marker="o", zorder=3, label="measured")
        if fastest:
            panel.plot(list(fastest), list(map(value, fastest.values())), color=figures.PREDICTED, marker=".", label="predicted")
        panel.grid()
    above.set_xscale("log", base=2)
    above.set_xticks(ranks, list(map(str, ranks)), rotation=45 if len(ranks) > 9 else 0)
    above.xaxis.set_minor_locator(NullLocator())
    above.set_yscale("log")
    figures.plain_ticks(above.yaxis)
    above.set_ylabel("time per sweep [ms]")
    above.set_title(f"{figures.plain(base.name)}:\n{series.kind} scaling on {', '.join(base.devices)}", loc="left")
    figures.name_curves(above)
    below.set_ylim(bottom=0)
    below.yaxis.set_major_formatter(PercentFormatter(1))
    below.set(xlabel="ranks", ylabel="efficiency")
    return figure
