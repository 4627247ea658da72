"""The order of accuracy that the built program shows, for each kind of boundary and each mix of kinds.

In space (dt falling with h^2) the order is 2.00 +- 0.02. Every deck here is written so
that its error is neither lost in rounding nor cancelled: the errors of space and time have opposite signs. For a
mode of wave numbers k they cancel at alpha dt/h^2 = (sum k^4) / (6 (sum k^2)^2), which lies between a third of the
stable limit (three equal waves) and the limit itself (one lone wave) and would show order 4.
"""

import itertools
import json
import math
import re

import pytest

import runs
from documentation import TOP
from isotherm_tools import studies
from program import ran, write_deck
from random_decks import FACES

IRON = {"conductivity": 80, "density": 7870, "heat_capacity": 450}
ALPHA = 80 / (7870 * 450)
HELD = {"kind": "temperature", "value": 350}
PAIRS = {
    "temperature": (HELD, HELD),
    "insulated": ("insulated", "insulated"),
    "temperature-insulated": (HELD, "insulated"),
    "insulated-temperature": ("insulated", HELD),
    "periodic": ("periodic", "periodic"),
}


def run(folder, deck, *overrides, code=0):
    """The record of a run of a deck (a dict, or a file of inputs/); for other exit codes, its stderr."""
    path = TOP / "inputs" / deck if isinstance(deck, str) else write_deck(folder, json.dumps(deck))
    done = ran("run", path, "output.directory=run", "output.overwrite=true", *overrides, cwd=folder, code=code)
    return done.stderr if code else runs.record(folder / "run")


def boundaries(mix):
    return dict(zip(FACES, itertools.chain.from_iterable(PAIRS[kind] for kind in mix)))


def stable_dt(spacings):
    return 1 / (2 * ALPHA * sum(1 / h**2 for h in spacings))


# Every pair of kinds on every pair of axes, in 25 mixes (Latin square).
MIXES = [(a, b, list(PAIRS)[(i + j) % 5]) for (i, a), (j, b) in itertools.product(enumerate(PAIRS), repeat=2)]


STEADY = {"kind": "steady", "tolerance": 1e-9, "max_sweeps": 10**6}


def deck_of(grid, walls, problem, verify, initial=350, material=IRON):
    return {
        "grid": grid,
        "material": material,
        "boundaries": walls,
        "initial": [{"shape": "constant", "value": initial} if initial else {"shape": "exact"}],
        "problem": problem,
        "output": {"snapshots": False},
        "verify": verify,
    }


def expect_second_order(record):
    """Also expects an error far above rounding. unit/test_exact.cpp tests that modes of all combinations decay
    by the factor of sweeps, to rounding."""
    assert record["verification"]["order"][-1] == pytest.approx(2, abs=0.02)
    assert record["verification"]["l2_error_K"] > 1e-5


END = {
    "temperature": {"kind": "temperature", "value": 330},
    "flux": {"kind": "flux", "value": 4000},
    "convection": {"kind": "convection", "ambient": 300, "coefficient": 900},
    "insulated": "insulated",
}
ENDS = [(a, b) for a, b in itertools.product(END, repeat=2) if {a, b} & {"temperature", "convection"}]
AXES = {"x": ([8, 1, 1], [8, 16, 32]), "y": ([2, 8, 1], [2, 4, 8]), "z": ([2, 1, 8], [2, 4, 8])}


def profile_deck(low, high, axis="x"):
    cells, series = AXES[axis]
    # The idle axes are thick, so that most heat leaves a cell along the tested axis.
    return deck_of({"cells": cells, "lengths": [0.2 if n == 8 else 4 for n in cells], "origin": [-1, 2, 0.5]},
                   {f"{axis}_min": END[low], f"{axis}_max": END[high]},
                   {**STEADY, "tolerance": 1e-11, "criterion": "absolute"},
                   {"solution": "steady_profile", "order": series}, initial=310, material={"conductivity": 80})


@pytest.mark.parametrize("low, high, axis", [(*pair, "x") for pair in ENDS] + [("flux", "convection", axis) for axis in "yz"])
def test_profiles_are_of_second_order_and_exact_without_a_source(tmp_path, low, high, axis):
    """A straight line has no discretisation error, only rounding."""
    deck = profile_deck(low, high, axis)
    record = run(tmp_path, {**deck, "sources": [{"shape": "constant", "value": 1e6}]})
    assert record["verification"]["order"] == pytest.approx([2, 2], abs=0.001)
    assert record["verification"]["l2_error_K"] > 1e-3
    if axis == "x":
        del deck["verify"]["order"]
        assert run(tmp_path, deck)["verification"]["max_error_K"] < 1e-7


def test_balanced_fluxes_around_a_mean_are_of_second_order(tmp_path):
    deck = profile_deck("flux", "flux")
    deck["boundaries"] = {"x_min": {"kind": "flux", "value": 50000}, "x_max": {"kind": "flux", "value": -250000}}
    deck["sources"] = [{"shape": "constant", "value": 1e6}]  # 200 kW/m^2 over 0.2 m
    deck["problem"]["mean_temperature"] = 400
    assert run(tmp_path, deck)["verification"]["order"] == pytest.approx([2, 2], abs=0.01)


@pytest.mark.parametrize("mix", MIXES[::6] + MIXES[3:5], ids=" ".join)
def test_manufactured_solutions_are_of_second_order(tmp_path, mix):
    problem = STEADY if any("temperature" in kind for kind in mix) else {**STEADY, "mean_temperature": 350}
    deck = deck_of({"cells": [8, 10, 12], "spacing": 1e-2}, boundaries(mix), problem,
                   {"solution": "manufactured", "modes": [1, 1, 1], "amplitude": 100, "order": [8, 16, 32]},
                   material={"conductivity": 80})
    expect_second_order(run(tmp_path, deck))


@pytest.mark.parametrize("low, high, axis", [(*pair, "xyz"[number % 3]) for number, pair in enumerate(ENDS)])
def test_slab_series_is_of_second_order(tmp_path, low, high, axis):
    cells, length = 32, 0.1
    end_time = 400 * 0.9 * stable_dt([length / cells, 10, 10])
    grid = {"cells": [cells if each == axis else 1 for each in "xyz"],
            "lengths": [length if each == axis else 10 for each in "xyz"], "origin": [-1, 2, 0.5]}
    deck = deck_of(grid, {f"{axis}_min": END[low], f"{axis}_max": END[high]},
                   {"kind": "transient", "end_time": end_time}, {"solution": "slab_series", "order": [32, 64, 128]}, initial=400)
    expect_second_order(run(tmp_path, deck))


def test_the_deck_of_the_order_passes_and_its_record_is_of_its_last_grid(tmp_path):
    """Except the work and its phases, which cover all grids; the levels say how much each grid contributes."""
    record = run(tmp_path, "verify_order.yaml", "output.snapshots=true")
    assert record["verification"]["verdict"] == "passed" and record["result"] == "VERIFIED"
    expect_second_order(record)
    levels, method = record["verification"]["levels"], record["method"]
    assert record["grid"]["cells"] == levels[-1]["cells"] == [64, 80, 96]
    field = runs.cells(max((tmp_path / "run").glob("*.hdf")))
    assert field.shape == (96, 80, 64) and record["end_state"]["highest"]["temperature_K"] == field.max()
    assert sum(rank["cells"] for rank in record["ranks"]) == record["decomposition"]["largest_rank_cells"] == 64 * 80 * 96
    for level in levels:
        h = 0.08 / level["cells"][0]
        assert level["dt_s"] <= 0.9 * stable_dt([h] * 3) * (1 + 1e-9) and level["dt_s"] * level["sweeps"] == pytest.approx(10)
    assert (method["dt_s"], method["planned_sweeps"]) == (levels[-1]["dt_s"], levels[-1]["sweeps"])
    sweeps = record["performance"]["sweeps"]
    assert sweeps == sum(level["sweeps"] for level in levels)
    assert record["performance"]["points"] == sum(math.prod(level["cells"]) * level["sweeps"] for level in levels)
    log = (tmp_path / "run" / "run.log").read_text().replace("\u202f", "").replace("\u00a0", "")
    timed = round(record["phases_s"]["stepping"]["max"] / record["performance"]["step_s"])  # not the autotuner's
    assert 0 < timed <= sweeps and re.search(rf"  work         3 grids, {timed} sweeps in ", re.sub(r"(?<=\d) (?=\d{3}\b)", "", log))


def mode_deck(cells):
    """A mode that decays along the axes of several cells; only its grids matter."""
    modes = [int(n > 1) for n in cells]
    verify = {"solution": "decaying_mode", "modes": modes, "order": [8, 16, 32], "order_tolerance": 1}
    mix = ["temperature" if mode else "insulated" for mode in modes]
    problem = {"dt_fraction": 0.2, "end_time": 13}
    return deck_of({"cells": cells, "spacing": 0.01}, boundaries(mix), problem, verify, initial=None)


@pytest.mark.parametrize("cells", [[1, 8, 12], [1, 1, 8]])
def test_a_series_of_a_grid_one_cell_thick_in_x_counts_along_the_first_other_axis(tmp_path, cells):
    levels = run(tmp_path, mode_deck(cells))["verification"]["levels"]
    assert [level["cells"] for level in levels] == [[1 if n == 1 else n * factor for n in cells] for factor in (1, 2, 4)]


def test_an_order_that_is_undefined_or_not_reached(tmp_path):
    refused = run(tmp_path, mode_deck([1, 1, 1]), code=65)
    assert "verify.order: a grid of a single cell has no order" in refused
    run(tmp_path, "verify_order.yaml", "verify.expected_order=4", "verify.order=[8,16,32]", code=76)
    assert runs.record(tmp_path / "run")["verification"]["verdict"] == "failed"
    assert ", not 4 within 0.02; FAILED" in (tmp_path / "run/run.log").read_text()


@pytest.mark.parametrize("problem, said", [({}, False), ({"dt": 0.005}, True), ({"method": "implicit"}, True)])
def test_a_series_whose_steps_keep_their_length_is_warned_of(tmp_path, problem, said):
    words = [f"problem.{key}={value}" for key, value in problem.items()]
    out = ran("check", TOP / "inputs" / "slab.yaml", "verify.order=[32,64,128]", *words, cwd=tmp_path).stdout
    assert ("verify.order: dt is" in out) == said


@pytest.mark.parametrize("axis, lines", [("space", {"1x1x1": 2, "2x1x1": 2}), ("time", {"euler": 1, "rkl": 2, "implicit": 2})])
def test_the_pictures_of_docs_theory_show_these_orders(tmp_path, axis, lines):
    ran("study", TOP / f"inputs/study_order_{axis}.yaml", cwd=tmp_path, timeout=None)
    study = studies.Study(tmp_path / "runs" / f"study_order_{axis}")
    panel, = studies.quantities_figure(study, ["l2_error_K"], orders=True).axes
    shown = dict(text.get_text().split(", order ") for text in panel.get_legend().get_texts())
    assert {name: float(order) for name, order in shown.items()} == pytest.approx(lines, abs=0.03)
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
