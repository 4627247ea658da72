"""Runs of one problem on different numbers of ranks, and what the model says beside them.

Speed-up is the rate over that of one rank of the run on fewest ranks; efficiency is the speed-up over the number of
ranks, for strong and weak scaling alike. What is predicted is compared with the prediction for that run."""

from math import prod
from typing import NamedTuple, Optional

from isotherm_tools import scaling_fit
from isotherm_tools import scaling_model as model
from isotherm_tools.failure import COMMAND_LINE, DATA, Failure
from isotherm_tools.process_grids import SURFACE, process_grid
from isotherm_tools.study.text import counted

STRONG, WEAK = "strong", "weak"
EVEN = 1.05  # cells a rank of a weak series differ by a rounding of its grids at most


class Figures(NamedTuple):
    step: float  # s a sweep
    rate: float  # cell updates a second
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


def scaling_series(records, wishes):
    records = sorted(records, key=lambda record: (record.ranks, record.step))
    refuse_mixtures(records)
    kind = wishes.kind or kind_of(records)
    base = records[0]
    costs = scaling_fit.costs_of(base, wishes)
    machine = scaling_fit.machine_of(records, wishes)
    jobs = measured_jobs(records, wishes) + more_jobs(kind, records, wishes)

    predictions = [predict(costs, machine, job) for job in jobs]
    reference = predictions[0] and prod(base.cells) / predictions[0].step / base.ranks
    rows = [row(job, base, prediction, reference) for job, prediction in zip(jobs, predictions)
            if job.record or reference and prediction]
    rows.sort(key=lambda each: each.ranks)
    notes = single_point(rows, records) + differences(records, wishes) + too_thin(jobs) + lacks(machine, jobs)
    return Series(kind, base, jobs[-1].method, costs, machine, rows, notes)


def measured_jobs(records, wishes):
    return [Job(record, record.ranks, scaling_fit.layout_of(record), scaling_fit.method_of(record, wishes))
            for record in records]


def more_jobs(kind, records, wishes):
    """What was not measured is done as by the fastest run on most ranks."""
    leader = next(record for record in records if record.ranks == records[-1].ranks)
    method = scaling_fit.method_of(leader, wishes)
    counts = sorted(set(wishes.ranks) - {record.ranks for record in records})
    return [Job(None, ranks, layout_for(kind, records[0], ranks, method.depth), method) for ranks in counts]


def refuse_mixtures(records):
    for what, value in (("problem", lambda r: r.problem), ("precision", lambda r: r.precision),
                        ("devices", lambda r: ", ".join(r.devices))):
        if len(set(map(value, records))) > 1:
            other = next(record for record in records if value(record) != value(records[0]))
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
    raise Failure(DATA, f"the runs have neither one grid nor the same cells a rank ({grids}); leave some out, or say "
                        "--kind")


def single_point(rows, records):
    if len(records) > 1 or not any(each.predicted and not each.measured for each in rows):
        return []
    return [f"the prediction is from one run ({counted(records[0].ranks, 'rank')}): no other run tests it"]


def differences(records, wishes):
    """What a reader has to know who compares these runs, and the model with them."""
    notes = []
    for what, value in (("kernel", lambda r: r.kernel), ("depth", lambda r: str(r.depth))):
        ranks = {}
        for record in records:
            ranks.setdefault(value(record), []).append(record.ranks)
        if len(ranks) > 1:
            notes.append(f"{what} differs: {'; '.join(f'{name} on {listed(on)}' for name, on in ranks.items())}")
    if records[0].weights is None and wishes.ranks:
        notes.append(f"process grids of least surface are predicted ({records[0].path} does not tell what the program "
                     "weighs)")
    if wishes.depth not in (None, *(record.depth for record in records)):
        notes.append(f"predicted for depth {wishes.depth}, measured at {records[-1].depth}")
    return notes


def layout_for(kind, base, ranks, depth):
    """Strong: the grid of the run on fewest ranks. Weak: its blocks, one a rank, put together as a cube is cut. Who has
    which cells of it is for the program's rule."""
    cells = base.cells
    if kind == WEAK:
        blocks = [-(-n // p) for n, p in zip(base.cells, base.parts)]
        cells = tuple(n * count for n, count in zip(blocks, process_grid(ranks)))
    parts = process_grid(ranks, cells, depth, base.periodic, base.weights or SURFACE)
    return parts and model.Layout(cells, parts, base.periodic)


def too_thin(jobs):
    thin = [job for job in jobs if not fits(job)]
    if not thin:
        return []
    return [f"no prediction for {listed(sorted({job.ranks for job in thin}))} ranks (their blocks are thinner than the "
            f"halo, {counted(thin[0].method.depth, 'cell')})"]


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


def fits(job):
    return job.layout is not None and model.fits(job.layout, job.method.depth)


def predict(costs, machine, job):
    if not fits(job) or model.unknown_wires(machine, job.ranks):
        return None
    return model.predict(costs, job.method, machine, job.layout)


def row(job, base, prediction, reference):
    """`reference`: the predicted rate of one rank of `base`."""
    record, measured, predicted = job.record, None, None
    cells, parts = job.layout.cells, job.layout.parts
    if record:
        measured = figures(record.step, record.rate, base.rate / base.ranks, job.ranks, record.hidden)
    if reference and prediction:
        rate = prod(cells) / prediction.step
        predicted = figures(prediction.step, rate, reference, job.ranks, prediction.hidden)
    rank_cells = prod(-(-n // p) for n, p in zip(cells, parts))
    return Row(job.ranks, cells, parts, rank_cells, record and str(record.path), measured, predicted)


def figures(step, rate, rate_of_one, ranks, hidden):
    speedup = rate / rate_of_one
    return Figures(step, rate, speedup, speedup / ranks, hidden)


def times(cells):
    return "x".join(map(str, cells))


def listed(numbers):
    return ", ".join(map(str, numbers))
