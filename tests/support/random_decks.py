"""Random decks: a seed always gives the same deck. Formulas use no function but sqrt, so that the bits of a field do not depend on the
math library (those of a gaussian do, by exp and erf)."""

import json
import random

FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")


def number(draw, low, high):
    return float(f"{draw.uniform(low, high):.5g}")


def vector(values):
    return "[" + ", ".join(f"{value:.5g}" for value in values) + "]"


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
        return f"{{shape: box, mode: {draw.choice(['set', 'add'])}, from: {vector(low)}, to: {vector(high)}, {value}}}"
    if kind == "sphere":
        return f"{{shape: sphere, centre: {vector(centre)}, radius: {number(draw, 0.2 * size, 0.5 * size)}, {value}}}"
    if kind == "cylinder":
        return (f"{{shape: cylinder, mode: add, axis: {draw.choice('xyz')}, centre: {vector(centre)}, "
                f"radius: {number(draw, 0.2 * size, 0.5 * size)}, length: {number(draw, 0.3 * size, size)}, {value}}}")
    return f"{{shape: gaussian, centre: {vector(centre)}, width: {number(draw, 0.2 * size, 0.5 * size)}, {value}}}"


def problem(draw, steady):
    if steady:
        lines = ["kind: steady", "method: jacobi", f"max_sweeps: {draw.randint(20, 400)}", f"tolerance: {draw.choice(['1e-2', '1e-3', '1e-9'])}",
                 f"norm: {draw.choice(['max', 'l2', 'l1'])}", f"weight: {draw.choice(['0.99', '0.8', '1'])}"]
    else:
        lines = [f"steps: {draw.randint(1, 150)}", f"dt_fraction: {draw.choice(['0.9', '0.4', '1'])}"]
    return lines + [f"check_interval: {draw.choice([1, 7, 20, 50])}", f"check: {draw.choice(['immediate', 'asynchronous'])}"]


def solver(draw, in_time, ranks, cells):
    kernel = draw.choice(["reference", "openmp", "temporal_openmp", "auto"])
    lines = [f"kernel: {kernel}", "reduction: reproducible"]
    if not in_time and (ranks == 1 or min(cells) >= 12) and draw.random() < 0.5:
        lines.append(f"halo_width: {draw.randint(1, 4)}")
    return lines


def random_deck(seed):
    """The text of a deck, and the number of ranks to run it on."""
    draw = random.Random(seed)
    ranks = draw.choice([2, 3, 4]) if draw.random() < 0.06 else 1
    cells = [draw.randint(1, 24) if ranks == 1 else draw.randint(6, 24) for _ in range(3)]
    if draw.random() < 0.1:
        cells[0] = draw.randint(64, 150)
    lengths = [n * draw.uniform(0.005, 0.02) for n in cells]
    steady, in_time = draw.random() < 0.5, draw.random() < 0.3
    walls = boundaries(draw, in_time and not steady, steady)
    lines = [f"grid: {{cells: {cells}, lengths: {vector(lengths)}, origin: [0, 0, 0]}}",
             f"material: {{conductivity: {number(draw, 0.5, 400)}, density: {number(draw, 500, 9000)}, "
             f"heat_capacity: {number(draw, 100, 2000)}}}",
             f"precision: {draw.choice(['fp32', 'fp64'])}",
             "boundaries:", *(f"  {face}: {json.dumps(law)}" for face, law in walls.items()),
             "initial:", f"  - {{shape: constant, value: {number(draw, 290, 330)}}}",
             f'  - {{shape: formula, mode: add, formula: "{number(draw, -30, 30)}*x + 9*sqrt(y*y + z) + 3*x*z"}}']
    lines += [f"  - {shape(draw, lengths, f'value: {number(draw, 5, 80)}')}" for _ in range(draw.randint(0, 2))]
    heated = draw.randint(0, 3)
    lines += ["sources:"] * (heated > 0)
    for _ in range(heated):
        value = draw.choice([f"value: {number(draw, 1e3, 1e6)}", f"power: {number(draw, 0.1, 50)}"])
        lines.append(f"  - {shape(draw, lengths, value)}")
    lines += ["problem:", *(f"  {line}" for line in problem(draw, steady)),
              "solver:", *(f"  {line}" for line in solver(draw, in_time and not steady, ranks, cells)),
              f"parallel: {{device: cpu, overlap: {draw.choice(['true', 'false'])}}}",
              "output: {snapshots: false}"]
    return "\n".join(lines) + "\n", ranks
