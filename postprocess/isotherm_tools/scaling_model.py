"""A model of the time of a sweep on P GPUs, from a few measured figures. Pure functions; seconds, bytes, cells.

A subdomain of n_x x n_y x n_z cells exchanges d layers every d sweeps. Sweep j = 1..d of such a period computes it
and d - j layers beyond each side that it shares with another rank, so

    computed = sum over j of the product over axes of (n_a + (d - j) sides_a),     sides_a = 0, 1 or 2
    interior = cells that touch no exchanged ghost = the product of (n_a - sides_a)
    exchange = neighbours overhead + max over wires of (latency + bytes to the neighbours there / bandwidth)

    period   = d launch + cell computed + exchange                                  without overlap
    period   = d launch + cell (computed - interior) + max(cell interior, exchange) with it
    step     = period / d + (check + all-reduce) / k                                a norm every k sweeps
    all-reduce = latency_inside ceil(log2(ranks of a host)) + latency_between ceil(log2(hosts))

The exterior needs the ghosts, so only the interior hides the exchange. The exchange is that of LogGP (Alexandrov, Ionescu,
Schauser and Scheiman, SPAA 1995): messages are sent concurrently, so that a rank waits for one latency and its
messages over one kind of wire share the bandwidth; `overhead` is the time of a message before the next one starts. There
are two kinds of wire, within a host and between hosts, and both are used at once. Ranks are ordered in the process grid
with x fastest and fill one host after another; the slowest rank determines the time. Not modelled: noise, caches that
hold a small subdomain, packing beyond its share in the measured bandwidth.
"""

import math
from collections import Counter
from itertools import product
from typing import NamedTuple, Optional

INSIDE, BETWEEN = "within a host", "between hosts"
FACES = [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
ALL = [direction for direction in product((-1, 0, 1), repeat=3) if any(direction)]


class Costs(NamedTuple):
    """The costs of one rank, as measured."""

    cell: float  # s per cell update
    launch: float = 0.0  # s per sweep, independent of its size
    check: float = 0.0  # s per norm, independent of its size, without the all-reduce
    check_cell: float = 0.0  # s per cell of a norm


class Method(NamedTuple):
    value_bytes: int = 8
    halo_width: int = 1  # sweeps for one exchange
    overlap: bool = True
    check_interval: float = math.inf  # sweeps for one norm


class Wire(NamedTuple):
    latency: float  # s
    bandwidth: float  # bytes/s of one rank, each way


class Machine(NamedTuple):
    ranks_per_host: int
    inside: Optional[Wire] = None
    between: Optional[Wire] = None
    overhead: float = 0.0  # s per neighbour

    def host(self, place, parts):
        """The number of the host of a rank in the process grid."""
        return (place[0] + parts[0] * (place[1] + parts[1] * place[2])) // self.ranks_per_host


class Layout(NamedTuple):
    cells: tuple  # x, y, z of the whole grid
    parts: tuple  # ranks along x, y, z
    periodic: tuple = (False, False, False)


class Prediction(NamedTuple):
    step: float  # s per sweep, in total
    hidden: Optional[float]  # share of the exchange hidden by the interior; None without an exchange


class Share(NamedTuple):  # of one rank
    block: tuple
    sides: tuple  # by axis: how many sides it shares with another rank
    messages: tuple  # (wire, cells) per neighbour


def fits(layout, halo_width):
    """True if every subdomain has all cells that a neighbour needs."""
    axes = zip(layout.cells, layout.parts, layout.periodic)
    return all(n // p >= (halo_width if p > 1 or around else 1) for n, p, around in axes)


def unknown_wires(machine, ranks):
    """The wires that a prediction for this number of ranks needs, and whose figures are unknown."""
    needed = [(INSIDE, machine.inside, min(ranks, machine.ranks_per_host) > 1), (BETWEEN, machine.between, ranks > machine.ranks_per_host)]
    return [name for name, wire, is_used in needed if is_used and wire is None]


def predict(costs, method, machine, layout):
    """The prediction for a layout that fits, on a machine whose needed wires are known."""
    period, wait, covered, slowest = max(period_of(costs, method, machine, share) for share in shares(method, machine, layout))
    # The all-reduce over the ranks of a host, then over hosts: each round doubles the number of ranks summed.
    ranks = math.prod(layout.parts)
    inner, hosts = min(ranks, machine.ranks_per_host), -(-ranks // machine.ranks_per_host)
    rounds = sum((count - 1).bit_length() * wire.latency
                 for count, wire in ((inner, machine.inside), (hosts, machine.between)) if count > 1)
    check = costs.check + costs.check_cell * math.prod(slowest.block) + rounds
    return Prediction(period / method.halo_width + check / method.check_interval, min(1.0, covered / wait) if wait else None)


def period_of(costs, method, machine, share):
    """Returns seconds of the period, of the exchange, and of the interior that may hide it; and the share of the rank."""
    sent = Counter()  # bytes by wire
    for name, cells in share.messages:
        sent[name] += cells * method.value_bytes
    wires = {INSIDE: machine.inside, BETWEEN: machine.between}
    longest = max((wires[name].latency + length / wires[name].bandwidth for name, length in sent.items()), default=0.0)
    wait = len(share.messages) * machine.overhead + longest
    computed = costs.cell * computed_cells(method.halo_width, share)
    interior = math.prod(max(0, n - s) for n, s in zip(share.block, share.sides))
    covered = costs.cell * interior if method.overlap else 0.0
    return method.halo_width * costs.launch + computed - covered + max(covered, wait), wait, covered, share


def computed_cells(halo_width, share):
    """The cells computed in the `halo_width` sweeps between two exchanges."""
    return sum(math.prod(n + layers * s for n, s in zip(share.block, share.sides)) for layers in range(halo_width))


def shares(method, machine, layout):
    """The distinct shares of all ranks."""
    return {share_of(place, method, machine, layout) for place in product(*map(range, layout.parts))}


def share_of(place, method, machine, layout):
    block = tuple(n // p + (i < n % p) for n, p, i in zip(layout.cells, layout.parts, place))
    sides = tuple((i > 0 or around) + (i < p - 1 or around) if p > 1 else 0
                  for i, p, around in zip(place, layout.parts, layout.periodic))
    cells = Counter()  # by neighbour: a rank on two sides gets one message
    for direction in FACES if method.halo_width == 1 else ALL:
        there = [i + step for i, step in zip(place, direction)]
        neighbour = tuple(i % parts for i, parts in zip(there, layout.parts))  # through periodic sides too
        inside = all(0 <= i < parts or periodic for i, parts, periodic in zip(there, layout.parts, layout.periodic))
        if inside and neighbour != place:
            cells[neighbour] += math.prod(method.halo_width if step else n for n, step in zip(block, direction))
    wires = [INSIDE if machine.host(there, layout.parts) == machine.host(place, layout.parts) else BETWEEN for there in cells]
    return Share(block, sides, tuple(sorted(zip(wires, cells.values()))))
