"""What the scaling model is fed with: figures of the command line first, then those that the runs measured."""

from statistics import median
from typing import NamedTuple, Optional

from isotherm_tools import scaling_model as model
from isotherm_tools.failure import DATA, Failure


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
    depth: Optional[int] = None
    overlap: Optional[bool] = None
    check_interval: Optional[float] = None
    cell_time: str = "sweeps"  # or copy: the least traffic at copy bandwidth


def layout_of(record):
    return model.Layout(record.cells, record.parts, record.periodic)


def method_of(record, wishes):
    """Where the run had nothing to overlap, being one rank, more ranks do what the program does unasked: on GPUs."""
    measured = model.Method(
        record.value_bytes,
        record.depth,
        record.overlap if record.ranks > 1 else record.on_gpu,
        record.sweeps / record.checks if record.checks else model.Method().check_interval,
    )
    wanted = {name: getattr(wishes, name) for name in ("depth", "overlap", "check_interval")}
    return measured._replace(**{name: value for name, value in wanted.items() if value is not None})


def machine_of(records, wishes):
    return model.Machine(
        wishes.ranks_a_host or max(record.ranks_a_host for record in records),
        wire(records, True, wishes.inside_latency, wishes.inside_bandwidth),
        wire(records, False, wishes.between_latency, wishes.between_bandwidth),
        wishes.overhead,
    )


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
    """Of the run on fewest ranks. On one rank what it spent on ghosts is walls and local copies, a part of its sweeps;
    on several ranks the norm holds some of the all-reduce."""
    swept = record.sweeping + (record.waiting if record.ranks == 1 else 0.0)
    if wishes.cell_time == "copy":
        cell = copy_time(record)
    else:
        cell = (swept / record.sweeps - wishes.launch) / cells_a_sweep(record)
    if not cell > 0:
        raise Failure(DATA, f"{record.path} leaves no time for the cells of a sweep (it took "
                            f"{1e6 * swept / record.sweeps:.4g} us, the launch {1e6 * wishes.launch:.4g} us)")
    check = record.least_reduction / record.checks if record.checks else 0.0
    if record.fused_norm:
        return model.Costs(cell, wishes.launch, check)
    return model.Costs(cell, wishes.launch, 0.0, check / record.rank_cells)


def cells_a_sweep(record):
    """Of the rank with most, those included that its neighbour computes too."""
    method = model.Method(depth=record.depth)
    shares = model.shares(method, model.Machine(record.ranks), layout_of(record))
    return max(model.computed_cells(record.depth, share) for share in shares) / record.depth


def copy_time(record):
    if not record.copy_bandwidth:
        raise Failure(DATA, f"{record.path} holds no copy bandwidth; leave out --cell-time copy")
    return record.bytes_a_point * record.ranks / record.copy_bandwidth
