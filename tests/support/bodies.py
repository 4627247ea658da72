"""Bodies of several materials, with voids and cells of several sizes: decks as dicts, and properties that all of them must have."""

import json

import numpy as np

import runs
from program import isotherm, write_deck

CORE = {"conductivity": 7, "density": 2000, "heat_capacity": 800}
BOARD = {"conductivity": [3, 2, 0.5], "density": 1500, "heat_capacity": 1000}
CORE_AND_BOARD = {"materials": {"core": CORE, "board": BOARD}, "material": {"default": "core"}}
RESISTANCE, HEAT_TRANSFER = 4e-4, 500  # of contacts, of the boundary of a slab
UNIFORM = [[5, 1e-3], [4, 1e-3], [3, 1e-3]]  # zones of a slab: core, board, core

# For each method, as much work as is needed to show a difference in bits.
PROBLEMS = {"euler": {"steps": 40}, "rkl": {"method": "rkl", "steps": 2},
            "jacobi": {"kind": "steady", "method": "jacobi", "tolerance": 0, "max_sweeps": 60, "check_interval": 20},
            "chebyshev": {"kind": "steady", "method": "chebyshev", "tolerance": 0, "cycle": 32, "max_cycles": 2},
            "multigrid": {"kind": "steady", "method": "multigrid", "tolerance": 0, "max_cycles": 3}}
# As much work as brings a slab to its steady state, but for rounding.
TO_ROUNDING = {"jacobi": {"kind": "steady", "method": "jacobi", "tolerance": 0, "max_sweeps": 100000},
               "chebyshev": {"kind": "steady", "method": "chebyshev", "tolerance": 0, "max_cycles": 60},
               "multigrid": {"kind": "steady", "method": "multigrid", "tolerance": 0, "max_cycles": 6},
               "euler": {"end_time": 800}, "rkl": {"method": "rkl", "end_time": 800, "dt": 1},
               "implicit": {"method": "implicit", "end_time": 3000, "dt": 100}}


def write_body(folder, deck):
    """The file of a deck; one without an initial field starts at 300 K."""
    return write_deck(folder, json.dumps({"initial": [{"shape": "constant", "value": 300}], **deck}, indent=0))


def run(folder, deck, *words, ranks=0, name="out", code=frozenset({0, 10})):
    """The record of the run, or its stderr if another exit code is expected."""
    write_body(folder, deck)
    done = isotherm("run", "deck.yaml", "--progress=off", f"output.directory={name}", "output.overwrite=true", *words,
                    cwd=folder, ranks=ranks, code=set(code), OMP_NUM_THREADS="1")
    return runs.record(folder / name) if done.returncode in (0, 10) else done.stderr


def check(folder, deck, code=0):
    """The output of `isotherm check`."""
    write_body(folder, deck)
    done = isotherm("check", "deck.yaml", cwd=folder, code=code)
    return done.stdout + done.stderr


def field(folder, name="deck"):
    """The last field of a run."""
    return runs.cells(sorted(folder.glob(f"{name}_{'[0-9]' * 8}.hdf"))[-1])


def sizes(zones):
    return np.repeat([size for _, size in zones], [count for count, _ in zones])


def slab(axis, problem, zones=UNIFORM, names=("core", "board", "core")):
    """Layers of these materials across `axis`, a zone of cells each: 400 K below, convection to 300 K above. If
    graded along this axis, then along the others too."""
    graded = len(set(sizes(zones))) > 1
    spacing, cells = [[[2, 1e-3], [1, 3e-3]] if graded else 1e-3] * 3, [3, 3, 3]
    spacing[axis], cells[axis] = zones if graded else 1e-3, sum(count for count, _ in zones)
    letter = "xyz"[axis]
    layers = [{"material": name, "thickness": count * size} for name, (count, size) in zip(names, zones)]
    return {
        "grid": {"cells": cells, "spacing": spacing},
        "materials": CORE_AND_BOARD["materials"],
        "regions": [{"layers": layers, "axis": letter}],
        "contacts": [{"between": ["core", "board"], "resistance": RESISTANCE}],
        "boundaries": {f"{letter}_min": {"kind": "temperature", "value": 400},
                       f"{letter}_max": {"kind": "convection", "ambient": 300, "coefficient": HEAT_TRANSFER}},
        "initial": [{"shape": "constant", "value": 350}],
        "problem": problem,
        "output": {"diagnostics": 1000},
    }


def expect_one_answer(folder, deck):
    """Runs other kernels and rank counts; compares the history too, in which sums of residuals may differ in their last digits. Steps in
    fp64 are balanced. Returns the record of the run by the reference kernel, whose directory is `first`."""
    def lines(name):
        return [{key: text for key, text in line.items() if "residual" not in key} for line in runs.history(folder / name)]

    first = run(folder, deck, "solver.kernel=reference", name="first")
    for count, words in ((0, ["solver.kernel=openmp"]), (2, ["solver.kernel=temporal_openmp", "solver.halo_width=3"]), (3, [])):
        again = run(folder, deck, *words, ranks=count)
        assert [again.get(key) for key in ("fingerprint", "materials")] == [first.get(key) for key in ("fingerprint", "materials")], words
        assert lines("out") == lines("first"), words
    if deck.get("precision") != "fp32" and "kind" not in deck["problem"]:
        assert first["end_state"]["heat"]["relative_balance"] <= 1e-9, first["end_state"]["heat"]
    return first


def expect_the_same_bits_after_a_restart(folder, deck, stop, *words):
    """Stops by the setting `stop` on two ranks and resumes on three. Returns the records of the whole run and of the resumed one."""
    whole = run(folder, deck, *words, name="whole")
    final = [] if deck["problem"].get("kind") == "steady" else ["output.checkpoint.final=true"]  # steady: also by default
    run(folder, deck, stop, *final, *words, ranks=2)
    resumed = run(folder, deck, "--restart", "latest", *words, ranks=3)
    assert resumed["fingerprint"] == whole["fingerprint"] and resumed["continuation"]["restarted_from"]
    return whole, resumed
