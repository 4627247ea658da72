"""Random decks: a seed always gives the same deck. Formulas use no function but sqrt, so that the bits of a field do not depend on the
math library (those of a gaussian do, by exp and erf)."""

import random

FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")


def number(draw, low, high):
    return float(f"{draw.uniform(low, high):.5g}")


def rounded(values):
    return [float(f"{value:.5g}") for value in values]


def boundary(draw, face, in_time):
    one, other = (axis for axis in "xyz" if axis != face[0])
    time = " + t/1000" if in_time else ""
    kelvin = draw.choice([number(draw, 280, 400), f"{number(draw, 290, 350)} + 20*{one} + 10*{one}*{other}{time}"])
    kind = draw.choice(["temperature", "flux", "convection", "insulated"])
    if kind == "temperature":
        return {"kind": kind, "value": kelvin}
    if kind == "flux":
        return {"kind": kind, "value": f"{number(draw, -800, 800)} + 100*{other}{time}"}
    if kind == "convection":
        return {"kind": kind, "ambient": kelvin, "coefficient": number(draw, 0, 500)}
    return kind


def boundaries(draw, in_time, holds):
    """`holds`: one of them fixes the temperature at least."""
    found = {}
    for low, high in zip(FACES[::2], FACES[1::2]):
        if draw.random() < 0.15:
            found[low] = found[high] = "periodic"
        else:
            found[low], found[high] = boundary(draw, low, in_time), boundary(draw, high, in_time)
    if holds and not any(law["kind"] in ("temperature", "convection") for law in found.values() if isinstance(law, dict)):
        found["y_min"], found["y_max"] = {"kind": "temperature", "value": 310}, "insulated"
    return found


def shape(draw, lengths, value):
    """A shape that is at least partly in the box. `value`: its key and its number."""
    centre = [draw.uniform(0.2, 0.8) * length for length in lengths]
    size = min(lengths)
    kind = draw.choice(["box", "sphere", "cylinder", "gaussian"])
    if kind == "box":
        low = [draw.uniform(0, 0.6) * length for length in lengths]
        high = [at + draw.uniform(0.1, 0.4) * length for at, length in zip(low, lengths)]
        return {"shape": kind, "mode": draw.choice(["set", "add"]), "from": rounded(low), "to": rounded(high), **value}
    found = {"shape": kind, "centre": rounded(centre), **value}
    if kind == "cylinder":
        return {**found, "mode": "add", "axis": draw.choice("xyz"), "radius": number(draw, 0.2 * size, 0.5 * size),
                "length": number(draw, 0.3 * size, size)}
    return {**found, "radius" if kind == "sphere" else "width": number(draw, 0.2 * size, 0.5 * size)}


def problem(draw, steady):
    if steady:
        found = {"kind": "steady", "method": "jacobi", "max_sweeps": draw.randint(20, 400),
                 "tolerance": draw.choice([1e-2, 1e-3, 1e-9]), "norm": draw.choice(["max", "l2", "l1"]),
                 "weight": draw.choice([0.99, 0.8, 1])}
    else:
        found = {"steps": draw.randint(1, 150), "dt_fraction": draw.choice([0.9, 0.4, 1])}
    return {**found, "check_interval": draw.choice([1, 7, 20, 50]), "check": draw.choice(["immediate", "asynchronous"])}


def solver(draw, in_time, ranks, cells):
    found = {"kernel": draw.choice(["reference", "openmp", "temporal_openmp", "auto"]), "reduction": "reproducible"}
    if not in_time and (ranks == 1 or min(cells) >= 12) and draw.random() < 0.5:
        found["halo_width"] = draw.randint(1, 4)
    return found


def random_deck(seed):
    """A deck, and the number of ranks to run it on."""
    draw = random.Random(seed)
    ranks = draw.choice([2, 3, 4]) if draw.random() < 0.06 else 1
    cells = [draw.randint(1, 24) if ranks == 1 else draw.randint(6, 24) for _ in range(3)]
    if draw.random() < 0.1:
        cells[0] = draw.randint(64, 150)
    lengths = [n * draw.uniform(0.005, 0.02) for n in cells]
    steady, in_time = draw.random() < 0.5, draw.random() < 0.3
    return {
        "boundaries": boundaries(draw, in_time and not steady, steady),
        "grid": {"cells": cells, "lengths": rounded(lengths), "origin": [0, 0, 0]},
        "material": {"conductivity": number(draw, 0.5, 400), "density": number(draw, 500, 9000),
                     "heat_capacity": number(draw, 100, 2000)},
        "precision": draw.choice(["fp32", "fp64"]),
        "initial": [{"shape": "constant", "value": number(draw, 290, 330)},
                    {"shape": "formula", "mode": "add", "formula": f"{number(draw, -30, 30)}*x + 9*sqrt(y*y + z) + 3*x*z"},
                    *(shape(draw, lengths, {"value": number(draw, 5, 80)}) for _ in range(draw.randint(0, 2)))],
        "sources": [shape(draw, lengths, draw.choice([{"value": number(draw, 1e3, 1e6)}, {"power": number(draw, 0.1, 50)}]))
                    for _ in range(draw.randint(0, 3))],
        "problem": problem(draw, steady),
        "solver": solver(draw, in_time and not steady, ranks, cells),
        "parallel": {"device": "cpu", "overlap": draw.choice([True, False])},
        "output": {"snapshots": False},
    }, ranks
