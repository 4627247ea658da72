"""Runs of one problem on different numbers of ranks, and what the model says beside them.

Speed-up is the rate over that of one rank of the run on fewest ranks; efficiency is the speed-up over the number of
ranks, for strong and weak scaling alike. What is predicted is compared with the prediction for that run."""

import re
from math import prod
from pathlib import Path
from statistics import median
from typing import NamedTuple, Optional

from isotherm_tools import scaling_model as model
from isotherm_tools.failure import COMMAND_LINE, DATA, Failure
from isotherm_tools.json_record import read_record
from isotherm_tools.scaling_model import SURFACE, Weights, process_grid
from isotherm_tools.text import counted

VALUE_BYTES = {"fp32": 4, "fp64": 8}
STRONG, WEAK = "strong", "weak"
EVEN = 1.05  # cells per rank of a weak series differ by a rounding of its grids at most


class Link(NamedTuple):
    """Measured between a rank and one of its neighbours."""

    same_host: bool
    bandwidth: float  # bytes/s
    latency: float  # s


class RunRecord:
    """What a run measured. Times are those of the slowest rank, over the whole run, but `least_reduction`: of the rank
    that waited least."""

    def __init__(self, run, content=None, name=""):
        """`run`: its directory, or the file itself. `content`, `name`: of a study, which holds the records of its
        runs."""
        path = Path(run)
        self.path = path / "run.json" if path.is_dir() and content is None else path
        if content is None:
            content = read_record(self.path, "isotherm-run", "run record", "name the directory of a finished run")
        try:
            self._read(content)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise Failure(DATA, f"{self.path} is no run record of isotherm ({error!r})") from error
        self.name = name or content["name"]

    def _read(self, content):
        performance, method, phases, split = (content[key]
                                              for key in ("performance", "method", "phases_s", "decomposition"))
        if performance["step_s"] is None:
            raise Failure(DATA, f"{self.path} holds no measured sweeps (the run ended before its first)")
        self.cells = tuple(map(int, content["grid"]["cells"]))
        self.precision = content["grid"]["precision"]
        self.value_bytes = VALUE_BYTES[self.precision]
        self.parts = tuple(map(int, split["process_grid"]))
        self.rank_cells = int(split["largest_rank_cells"])
        self.weights = weights_of(split["weights"]) if split.get("weights") else None  # None: the record does not tell
        # Of a resolved deck, in which a boundary is a line; where one side is periodic the other is too.
        self.periodic = tuple(bool(re.search(rf"^ +{axis}_min: *{{kind: periodic\b", content["deck"]["resolved"],
                                             re.MULTILINE))
                              for axis in "xyz")
        self.hosts = [rank["host"] for rank in content["ranks"]]
        self.ranks, self.ranks_a_host = len(self.hosts), max(map(self.hosts.count, set(self.hosts)), default=0)
        self.devices = sorted({rank["device"] for rank in content["ranks"]})
        self.on_gpu = content["ranks"][0]["backend"] == "cuda"

        self.problem = method["problem"]
        self.kernel = " ".join(word for word in (method["kernel"], method["tile"]) if word not in (None, "-"))
        self.halo_width = int(method["halo_width"])
        self.overlap = method["overlap"] in ("on", "in_kernel")
        self.fused_norm = method["reduction"] == "fused"

        self.sweeps = int(performance["sweeps"])
        self.step = float(performance["step_s"])  # s a sweep
        self.rate = float(performance["points_per_s"])
        self.bytes_a_point = float(performance["bytes_per_point"])
        self.copy_bandwidth = performance["copy_bandwidth_bytes_per_s"]  # of all ranks, bytes/s; None: not measured
        self.checks = int(content["residual"]["checks"])
        self.sweeping = float(phases["sweeps"]["max"])
        self.waiting = float(phases["halo"]["max"])
        self.least_reduction = float(phases["reduction"]["min"])

        halo = content.get("halo") or {}
        self.links = [Link(self.hosts[link["rank"]] == self.hosts[link["peer"]], link["bandwidth_bytes_per_s"],
                           link["latency_s"])
                      for link in halo.get("links", []) if link["bandwidth_bytes_per_s"]
                      and link["latency_s"] is not None]
        hidden = halo.get("hidden_percent")
        self.hidden = None if hidden is None else hidden / 100  # of the communication, 0 to 1; None: not measured


def weights_of(found):
    """What `process_grid: auto` weighs on this run's devices."""
    return Weights(int(found["cell_bytes"]), float(found["memory_bytes_per_s"]), int(found["sector_bytes"]),
                   int(found["touches"]),
                   float(found["wire_bytes_per_s"]), int(found["wire_sector_bytes"]), float(found["message_s"]),
                   int(found["tile_columns"]), int(found["tile_rows"]), float(found.get("message_across_xz_s", 0)))


# What the model is fed with: figures of the command line first, then those that the runs measured.


class Wishes(NamedTuple):
    """Of the command line, in SI units; None: as measured."""

    kind: Optional[str] = None  # weak or strong
    ranks: tuple = tuple(2**i for i in range(3, 13))  # to predict, beside the measured ones
    ranks_a_host: Optional[int] = None
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


def layout_of(record):
    return model.Layout(record.cells, record.parts, record.periodic)


def method_of(record, wishes):
    """Where the run had nothing to overlap, being one rank, more ranks do what the program does unasked: on GPUs."""
    measured = model.Method(record.value_bytes, record.halo_width, record.overlap if record.ranks > 1 else record.on_gpu,
                            record.sweeps / record.checks if record.checks else model.Method().check_interval)
    wanted = {name: getattr(wishes, name) for name in ("halo_width", "overlap", "check_interval")}
    return measured._replace(**{name: value for name, value in wanted.items() if value is not None})


def machine_of(records, wishes):
    return model.Machine(wishes.ranks_a_host or max(record.ranks_a_host for record in records),
                         wire(records, True, wishes.inside_latency, wishes.inside_bandwidth),
                         wire(records, False, wishes.between_latency, wishes.between_bandwidth), wishes.overhead)


def wire(records, same_host, latency, bandwidth):
    """The median of the links of the run on most ranks that has such; None where one of the two figures is unknown."""
    by_ranks = sorted(records, key=lambda record: record.ranks)
    found = [[link for link in record.links if link.same_host == same_host] for record in by_ranks]
    links = next((links for links in reversed(found) if links), [])
    if links:
        latency = median(link.latency for link in links) if latency is None else latency
        bandwidth = median(link.bandwidth for link in links) if bandwidth is None else bandwidth
    return None if latency is None or bandwidth is None else model.Wire(latency, bandwidth)


def costs_of(record, wishes):
    """Of the run on fewest ranks. On one rank what it spent on ghosts is boundaries and local copies, a part of its sweeps;
    on several ranks the norm holds some of the all-reduce."""
    swept = record.sweeping + (record.waiting if record.ranks == 1 else 0.0)
    if wishes.cell_time == "copy":
        if not record.copy_bandwidth:
            raise Failure(DATA, f"{record.path} holds no copy bandwidth; leave out --cell-time copy")
        cell = record.bytes_a_point * record.ranks / record.copy_bandwidth
    else:
        # Of the rank with most cells, those included that its neighbour computes too.
        shares = model.shares(model.Method(halo_width=record.halo_width), model.Machine(record.ranks), layout_of(record))
        cells = max(model.computed_cells(record.halo_width, share) for share in shares) / record.halo_width
        cell = (swept / record.sweeps - wishes.launch) / cells
    if not cell > 0:
        raise Failure(DATA, f"{record.path} leaves no time for the cells of a sweep (it took "
                            f"{1e6 * swept / record.sweeps:.4g} us, the launch {1e6 * wishes.launch:.4g} us)")
    check = record.least_reduction / record.checks if record.checks else 0.0
    return model.Costs(cell, wishes.launch, *((check, 0.0) if record.fused_norm else (0.0, check / record.rank_cells)))


class Figures(NamedTuple):
    step: float  # s a sweep
    rate: float  # cell updates per second
    speedup: float
    efficiency: float
    hidden: Optional[float]  # share of the communication


class Row(NamedTuple):
    ranks: int
    cells: tuple  # of the whole grid
    parts: tuple  # the process grid
    rank_cells: int  # of the largest rank
    run: Optional[str]  # its record's path
    measured: Optional[Figures]
    predicted: Optional[Figures]


class Series(NamedTuple):
    kind: str
    base: object  # the run that all is compared with
    method: model.Method  # of what is only predicted
    costs: model.Costs
    machine: model.Machine
    rows: list
    notes: list


class Job(NamedTuple):
    """One row before its figures."""

    record: Optional[object]  # None: not measured
    ranks: int
    layout: Optional[model.Layout]  # None: there is none that fits
    method: model.Method

    def fits(self):
        return self.layout is not None and model.fits(self.layout, self.method.halo_width)

    def predict(self, costs, machine):
        if not self.fits() or model.unknown_wires(machine, self.ranks):
            return None
        return model.predict(costs, self.method, machine, self.layout)


def scaling_series(records, wishes):
    records = sorted(records, key=lambda record: (record.ranks, record.step))
    check_mixtures(records)
    kind = wishes.kind or kind_of(records)
    base = records[0]
    costs, machine = costs_of(base, wishes), machine_of(records, wishes)
    jobs = [Job(record, record.ranks, layout_of(record), method_of(record, wishes)) for record in records]
    # What was not measured is done as by the fastest run on most ranks.
    method = method_of(next(record for record in records if record.ranks == records[-1].ranks), wishes)
    jobs += [Job(None, ranks, layout_for(kind, base, ranks, method.halo_width), method)
             for ranks in sorted(set(wishes.ranks) - {record.ranks for record in records})]

    predictions = [job.predict(costs, machine) for job in jobs]
    reference = predictions[0] and prod(base.cells) / predictions[0].step / base.ranks
    rows = [row(job, base, prediction, reference) for job, prediction in zip(jobs, predictions)
            if job.record or reference and prediction]
    rows.sort(key=lambda each: each.ranks)
    notes = []
    if len(records) == 1 and any(each.predicted and not each.measured for each in rows):
        notes.append(f"the prediction is from one run ({counted(base.ranks, 'rank')}): no other run tests it")
    notes += differences(records, wishes)
    thin = [job for job in jobs if not job.fits()]
    if thin:
        notes.append(f"no prediction for {listed(sorted({job.ranks for job in thin}))} ranks (their blocks are thinner "
                     f"than the halo, {counted(thin[0].method.halo_width, 'cell')})")
    return Series(kind, base, jobs[-1].method, costs, machine, rows, notes + lacks(machine, jobs))


def check_mixtures(records):
    for what, value in (("problem", lambda r: r.problem), ("precision", lambda r: r.precision),
                        ("devices", lambda r: ", ".join(r.devices))):
        other = next((record for record in records if value(record) != value(records[0])), None)
        if other:
            raise Failure(DATA, f"runs of different {what} make no series ({records[0].path}: {value(records[0])}, "
                                f"{other.path}: {value(other)})")


def kind_of(records):
    if records[0].ranks == records[-1].ranks:
        raise Failure(COMMAND_LINE, f"runs of one rank count ({records[0].ranks}) are neither weak nor strong; add "
                                    "runs, or say --kind")
    if len({record.cells for record in records}) == 1:
        return STRONG
    shares = [record.rank_cells for record in records]
    if max(shares) <= EVEN * min(shares):
        return WEAK
    grids = ", ".join(f"{times(record.cells)} on {record.ranks}" for record in records)
    raise Failure(DATA, f"the runs have neither one grid nor the same cells per rank ({grids}); leave some out, or say "
                        "--kind")


def differences(records, wishes):
    """What a reader has to know who compares these runs, and the model with them."""
    notes = []
    for what, value in (("kernel", lambda r: r.kernel), ("halo width", lambda r: str(r.halo_width))):
        ranks = {}
        for record in records:
            ranks.setdefault(value(record), []).append(record.ranks)
        if len(ranks) > 1:
            notes.append(f"{what} differs: {'; '.join(f'{name} on {listed(on)}' for name, on in ranks.items())}")
    if records[0].weights is None and wishes.ranks:
        notes.append(f"process grids of least surface are predicted ({records[0].path} does not tell what the program "
                     "weighs)")
    if wishes.halo_width not in (None, *(record.halo_width for record in records)):
        notes.append(f"predicted for halo width {wishes.halo_width}, measured at {records[-1].halo_width}")
    return notes


def layout_for(kind, base, ranks, halo_width):
    """Strong: the grid of the run on fewest ranks. Weak: its blocks, one per rank, put together as a cube is cut. Who has
    which cells of it is for the program's rule."""
    cells = base.cells
    if kind == WEAK:
        cells = tuple(-(-n // p) * count for n, p, count in zip(base.cells, base.parts, process_grid(ranks)))
    parts = process_grid(ranks, cells, halo_width, base.periodic, base.weights or SURFACE)
    return parts and model.Layout(cells, parts, base.periodic)


def lacks(machine, jobs):
    """Of the machine's wires; the first job is the run that all is compared with."""
    notes = []
    for wire, names in ((model.INSIDE, "--intra-bandwidth and --intra-latency"),
                        (model.BETWEEN, "--network-bandwidth and --network-latency")):
        without = [job.ranks for job in jobs if wire in model.unknown_wires(machine, job.ranks)]
        why = f"(the wires {wire} are unknown); give {names}"
        if jobs[0].ranks in without:
            return [f"no prediction, for the run that all is compared with has none {why}"]
        if without:
            notes.append(f"no prediction from {min(without)} ranks on {why}")
    return notes


def row(job, base, prediction, reference):
    """`reference`: the predicted rate of one rank of `base`."""
    record, measured, predicted = job.record, None, None
    cells, parts = job.layout.cells, job.layout.parts
    if record:
        measured = figures(record.step, record.rate, base.rate / base.ranks, job.ranks, record.hidden)
    if reference and prediction:
        predicted = figures(prediction.step, prod(cells) / prediction.step, reference, job.ranks, prediction.hidden)
    rank_cells = prod(-(-n // p) for n, p in zip(cells, parts))
    return Row(job.ranks, cells, parts, rank_cells, record and str(record.path), measured, predicted)


def figures(step, rate, rate_of_one, ranks, hidden):
    speedup = rate / rate_of_one
    return Figures(step, rate, speedup, speedup / ranks, hidden)


def times(cells):
    return "x".join(map(str, cells))


def listed(numbers):
    return ", ".join(map(str, numbers))


def modelled(study, scaled, wishes):
    """A series of a study whose deck has `scaling:`: of each count the run that the study counts."""
    title = f"{study.name} ({scaled.label})" if scaled.label else study.name
    if scaled.rows[0].case is None:
        raise Failure(DATA, f"{study.path}: {title} has nothing to be compared with ({scaled.base})")
    runs = {case.name: case.run for case in study.cases}
    records = [RunRecord(study.path / row.case, runs[row.case], title) for row in scaled.rows if row.case is not None]
    return scaling_series(records, wishes._replace(kind=wishes.kind or scaled.kind))
