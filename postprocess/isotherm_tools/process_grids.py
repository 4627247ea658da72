"""Which process grid a run takes, and what a sweep costs on it by the program's own estimate (`process_grid: auto`).

Of the rank with the largest block and the most neighbours, for n_x x n_y x n_z cells and d layers every d sweeps:

    sweep    = 2 bytes a cell, read and written once, of blocks with 0 .. d - 1 layers beside them, in whole tiles
    copies   = touches of the sectors of exchanged rows, and the dense buffers between them
    wire     = what neighbours send at once, in sectors of the wire
    messages = what each costs however short it is, and more where it is a face across x or z

The last three are shared by d sweeps. Rows of cells run along x: a face across x is a sector a row, others are whole
rows. The weights are the program's: a run writes those it used into its run.json, so that they stand once.
"""

import math
from typing import NamedTuple

CUBE = (1 << 20,) * 3
WALLS = (False, False, False)


class Weights(NamedTuple):
    cell_bytes: int
    memory: float  # bytes/s that sweeps and copies share
    sector: int  # bytes that memory moves at least
    touches: int  # of exchanged sectors
    wire: float  # bytes/s of a rank to all its neighbours, one way
    wire_sector: int  # bytes that the wire carries at least
    message: float  # s
    columns: int  # cells of a tile along x
    rows: int  # along y
    across_xz: float = 0.0  # s more that the message of a face across x or z costs


# Every exchanged cell alike, and nothing else: the grid of least surface.
SURFACE = Weights(8, 1.0, 8, 1, math.inf, 8, 0.0, 1, 1)


def process_grid(ranks, cells=CUBE, depth=1, periodic=WALLS, weights=SURFACE):
    """The cheapest of those whose blocks fill a neighbour's ghosts; of equal ones that with the fewest cuts across x,
    then y. None where there is none."""
    most = [max(n // depth, 0 if around else 1) for n, around in zip(cells, periodic)]
    fitting = [parts for parts in factorisations(ranks) if all(p <= m for p, m in zip(parts, most))]
    return min(fitting, key=lambda parts: (sweep_cost(cells, parts, depth, periodic, weights), parts), default=None)


def factorisations(number):
    divisors = [i for i in range(1, number + 1) if number % i == 0]
    return [(x, y, number // x // y) for x in divisors for y in divisors if number % (x * y) == 0]


def sweep_cost(cells, parts, depth, periodic, weights):
    """Seconds."""
    w = weights
    block = [-(-n // p) for n, p in zip(cells, parts)]
    touched = [2 if around else min(p - 1, 2) for p, around in zip(parts, periodic)]
    local = [sides if p == 1 else 0 for p, sides in zip(parts, touched)]  # copies within the block
    ghosts, own = rows_beyond(block, touched, depth), rows_beyond(block, local, depth)
    sent = [a - b for a, b in zip(ghosts, own)]

    def size(rows, sector):
        across_x, whole = rows
        return across_x * up(depth * w.cell_bytes, sector) + whole * up(block[0] * w.cell_bytes, sector)

    sweep = 2 * w.cell_bytes * tiled_cells(block, touched, depth, w) / w.memory / depth
    copies = (w.touches * size(ghosts, w.sector) + 2 * size(sent, w.cell_bytes)) / w.memory / depth
    wire = size(sent, w.wire_sector) / w.wire / depth
    across_xz = touched[0] - local[0] + touched[2] - local[2]
    starts = (messages(touched, depth) - messages(local, depth)) * w.message + across_xz * w.across_xz
    return sweep + copies + wire + starts / depth


def rows_beyond(block, sides, depth):
    """Rows of cells in the ghosts: pieces as short as these are deep, and pieces as long as the block."""
    _, ny, nz = block
    if depth == 1:
        return sides[0] * ny * nz, sides[1] * nz + sides[2] * ny
    padded = (ny + sides[1] * depth) * (nz + sides[2] * depth)
    return sides[0] * padded, padded - ny * nz


def messages(sides, depth):
    return sum(sides) if depth == 1 else math.prod(1 + n for n in sides) - 1


def tiled_cells(block, sides, depth, weights):
    """Of the sweeps between two exchanges."""
    swept = [[n + layers * s for n, s in zip(block, sides)] for layers in range(depth)]
    return sum(up(x, weights.columns) * up(y, weights.rows) * z for x, y, z in swept)


def up(number, unit):
    return -(-number // unit) * unit
