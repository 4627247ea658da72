"""Random bodies as decks: a seed always gives the same one. All methods, layers of cells of two sizes, several materials, voids, holes,
contacts, boundary values of place and time, moving sources. Formulas use no function but sqrt (random_decks.py)."""

import random

from random_decks import boundaries

METHODS = ("jacobi", "chebyshev", "multigrid", "euler", "rkl", "implicit")
STEADY = METHODS[:3]
SEEDS = range(4, 12)  # others may cover a material or a source with a later region, which is an error


def axis_of_cells(draw, cells):
    """Cells, their spacing, and the length of an axis."""
    size = draw.uniform(0.3e-3, 2e-3)
    if cells < 5 or draw.random() < 0.7:
        return cells, size, cells * size
    first, other = draw.randint(1, cells - 2), size * draw.uniform(0.5, 2)
    return cells, [[first, size], [cells - first, other]], first * size + (cells - first) * other


def solid(draw, lengths):
    centre, kind = [draw.uniform(0.2, 0.8) * length for length in lengths], draw.choice(["box", "sphere", "cylinder"])
    if kind == "box":
        low = [draw.uniform(0, 0.6) * length for length in lengths]
        return {"shape": kind, "from": low, "to": [at + draw.uniform(0.2, 0.5) * length for at, length in zip(low, lengths)]}
    round_part = {"shape": kind, "centre": centre, "radius": draw.uniform(0.2, 0.6) * min(lengths)}
    return round_part if kind == "sphere" else {**round_part, "axis": draw.choice("xyz"), "length": draw.uniform(0.3, 1) * max(lengths)}


def problem(draw, method):
    return {
        "jacobi": lambda: {"tolerance": 1e-7, "max_sweeps": draw.choice([60, 300]), "check_interval": draw.choice([7, 20])},
        "chebyshev": lambda: {"tolerance": 1e-7, "cycle": draw.choice([32, 64]), "max_cycles": 4},
        "multigrid": lambda: {"tolerance": draw.choice([1e-4, 1e-7]), "norm": draw.choice(["max", "l2", "l1"]), "max_cycles": 10},
        "euler": lambda: {"steps": draw.randint(5, 120)},
        "rkl": lambda: draw.choice([{"steps": 5}, {"end_time": 2, "tolerance": 0.5}]),
        "implicit": lambda: {"end_time": 4, **draw.choice([{"dt": 0.5, "scheme": "backward_euler"}, {"dt": 1, "scheme": "sdirk2"},
                                                            {"tolerance": 5, "scheme": "sdirk2"}])},
    }[method]()


def source(draw, lengths, steady):
    if not steady and draw.random() < 0.3:
        x, y, z = lengths
        return {"shape": "gaussian", "power": 3, "width": 0.3 * min(lengths), "centre": [f"{0.2 * x} + {0.02 * x}*t", y / 2, z / 2]}
    return {**solid(draw, lengths), **draw.choice([{"value": draw.uniform(1e5, 5e7)}, {"power": draw.uniform(0.05, 5)}])}


def random_body(seed, method):
    draw, steady = random.Random(f"{seed} {method}"), method in STEADY
    counts = [draw.choice([1, 3, 5, 8, 13, 24]), draw.choice([3, 8, 13, 24, 31]), draw.choice([24, 31, 40, 70])]
    draw.shuffle(counts)  # one axis is long enough for three ranks
    cells, spacing, lengths = zip(*(axis_of_cells(draw, count) for count in counts))
    names = [f"m{i}" for i in range(draw.randint(2, 5))]
    conductivity = lambda: draw.choice([draw.uniform(0.5, 300), [draw.uniform(1, 300) for _ in "xyz"]])
    materials = {name: {"conductivity": conductivity(), "density": draw.uniform(1000, 9000), "heat_capacity": draw.uniform(200, 2000)}
                 for name in names}
    regions = [{"material": draw.choice(names), **solid(draw, lengths)} for _ in range(draw.randint(1, 4))]
    if draw.random() < 0.3:
        materials["hole"] = {"ambient": 290, "coefficient": 50}
        regions.append({"material": draw.choice(["hole", "void"]), **solid(draw, lengths)})
    initial = [{"shape": "constant", "value": 300}, {"shape": "formula", "mode": "add", "formula": "2e4*x + 9*sqrt(900*y + 800*z)"}]
    return {
        "grid": {"cells": cells, "spacing": spacing},
        "precision": draw.choice(["fp32", "fp64", "mixed" if method in ("multigrid", "implicit") else "fp64"]),
        "materials": materials,
        "material": {"default": names[0]},
        "regions": regions,
        "contacts": [{"between": names[:2], "resistance": draw.uniform(1e-6, 1e-3)}] if draw.random() < 0.5 else [],
        "boundaries": boundaries(draw, not steady and draw.random() < 0.4, holds=True),
        "initial": initial[:draw.randint(1, 2)],
        "sources": [source(draw, lengths, steady) for _ in range(draw.randint(0, 3))],
        "problem": {**({"kind": "steady"} if steady else {}), "method": method, **problem(draw, method)},
        "solver": {"reduction": "reproducible"},
        "output": {"snapshots": False, "diagnostics": draw.choice([1, 50])},
    }
