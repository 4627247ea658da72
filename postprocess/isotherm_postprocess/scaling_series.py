"""Runs of one problem on different numbers of ranks, and what the model says beside them.

Speed-up is the rate over that of one rank of the run on fewest ranks; efficiency is the speed-up over the number of
ranks, for strong and weak scaling alike. What is predicted is compared with the prediction for that run."""

from math import prod
from typing import NamedTuple, Optional

from isotherm_postprocess import scaling_fit
from isotherm_postprocess import scaling_model as model
from isotherm_postprocess.failure import COMMAND_LINE, DATA, Failure

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


def scaling_series(records, wishes):
    records = sorted(records, key=lambda record: (record.ranks, record.step))
    refuse_mixtures(records)
    kind = wishes.kind or kind_of(records)
    base = records[0]
    leader = next(record for record in records if record.ranks == records[-1].ranks)
    machine = scaling_fit.machine_of(records, wishes)
    costs = scaling_fit.costs_of(base, wishes)
    method = scaling_fit.method_of(leader, wishes)
    notes = differences(records, wishes)

    jobs = [(record, scaling_fit.layout_of(record), scaling_fit.method_of(record, wishes)) for record in records]
    more = sorted(set(wishes.ranks) - {record.ranks for record in records})
    layouts = {ranks: layout_for(kind, base, ranks, method.depth) for ranks in more}
    jobs += [(None, layout, method) for layout in layouts.values() if layout]
    thin = [ranks for ranks, layout in layouts.items() if layout is None]
    thin += [layout.ranks for _, layout, use in jobs if not model.fits(layout, use.depth)]
    if thin:
        notes.append(f"no prediction for {listed(sorted(set(thin)))} ranks (their blocks are thinner than the halo, "
                     f"{counted(method.depth, 'cell')})")
    notes += lacks(machine, base.ranks, [layout.ranks for _, layout, _ in jobs])

    steps = [predict(costs, use, machine, layout) for _, layout, use in jobs]
    reference = steps[0] and prod(base.cells) / steps[0].step / base.ranks
    rows = [row(record, layout, base, reference and step and predicted_figures(layout, step, reference))
            for (record, layout, _), step in zip(jobs, steps)]
    rows = sorted((each for each in rows if each.measured or each.predicted), key=lambda each: each.ranks)
    return Series(kind, base, method, costs, machine, rows, notes)


def refuse_mixtures(records):
    for what, value in (("problem", lambda r: r.problem), ("precision", lambda r: r.precision),
                        ("devices", lambda r: ", ".join(r.devices))):
        if len(set(map(value, records))) > 1:
            other = next(record for record in records if value(record) != value(records[0]))
            raise Failure(DATA, f"runs of different {what} make no series ({records[0].path}: {value(records[0])}, "
                                f"{other.path}: {value(other)})")


def kind_of(records):
    if records[0].ranks == records[-1].ranks:
        raise Failure(COMMAND_LINE, f"runs of one rank count ({records[0].ranks}) are neither weak nor strong; add runs, or "
                                    "say --kind")
    if len({record.cells for record in records}) == 1:
        return STRONG
    shares = [record.rank_cells for record in records]
    if max(shares) <= EVEN * min(shares):
        return WEAK
    raise Failure(DATA, "the runs have neither one grid nor the same cells a rank "
                        f"({'; '.join(f'{r.ranks} ranks: {times(r.cells)}' for r in records)}); leave some out, or say --kind")


def differences(records, wishes):
    """What a reader has to know who compares these runs, and the model with them."""
    notes = []
    for what, value in (("kernel", lambda r: r.kernel), ("depth", lambda r: str(r.depth))):
        ranks = {}
        for record in records:
            ranks.setdefault(value(record), []).append(record.ranks)
        if len(ranks) > 1:
            notes.append(f"{what} differs: {'; '.join(f'{name} on {listed(on)}' for name, on in ranks.items())}")
    if wishes.depth not in (None, *(record.depth for record in records)):
        notes.append(f"predicted for depth {wishes.depth}, measured at {records[-1].depth}")
    return notes


def layout_for(kind, base, ranks, depth):
    """Strong: the grid of the run on fewest ranks. Weak: as many of its blocks as ranks, in the most cubic arrangement."""
    if kind == STRONG:
        parts = model.process_grid(ranks, base.cells, depth)
        return parts and model.Layout(base.cells, parts, base.periodic)
    block = [-(-n // p) for n, p in zip(base.cells, base.parts)]
    parts = model.process_grid(ranks)
    return model.Layout(tuple(n * p for n, p in zip(block, parts)), parts, base.periodic)


def lacks(machine, base_ranks, counts):
    notes = []
    for wire, names in ((model.INSIDE, "--intra-bandwidth and --intra-latency"),
                        (model.BETWEEN, "--network-bandwidth and --network-latency")):
        why = f"(the wires {wire} are unknown); give {names}"
        if wire in model.unknown_wires(machine, base_ranks):
            return [f"no prediction, for the run that all is compared with has none {why}"]
        without = [ranks for ranks in counts if wire in model.unknown_wires(machine, ranks)]
        if without:
            notes.append(f"no prediction from {min(without)} ranks on {why}")
    return notes


def predict(costs, method, machine, layout):
    if model.unknown_wires(machine, layout.ranks) or not model.fits(layout, method.depth):
        return None
    return model.predict(costs, method, machine, layout)


def predicted_figures(layout, prediction, rate_of_one):
    rate = prod(layout.cells) / prediction.step
    return figures(prediction.step, rate, rate_of_one, layout.ranks, prediction.hidden)


def row(record, layout, base, predicted):
    rank_cells = prod(-(-n // p) for n, p in zip(layout.cells, layout.parts))
    if record is None:
        return Row(layout.ranks, layout.cells, layout.parts, rank_cells, None, None, predicted)
    measured = figures(record.step, record.rate, base.rate / base.ranks, record.ranks, record.hidden)
    return Row(record.ranks, record.cells, record.parts, rank_cells, str(record.path), measured, predicted)


def figures(step, rate, rate_of_one, ranks, hidden):
    speedup = rate / rate_of_one
    return Figures(step, rate, speedup, speedup / ranks, hidden)


def times(cells):
    return "x".join(map(str, cells))


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(numbers):
    return ", ".join(map(str, numbers))
