"""How runs of solvable and unsolvable problems end: exit code, message, record and files; and the end report: extremes, their cells and
times, and heat flows. It is the same for all ranks and kernels, with and without diagnostics, without a step, or converged.
test_signals.py tests it for stopped runs. Steady runs that do not reach their tolerance end at rounding (0), or
with a checkpoint and advice (10)."""

import json
import os
import re
import shlex

import numpy as np
import pytest

from documentation import TOP
from program import BASE_DECK, ran, STEADY_BODY
import runs
from runs import cells

INPUTS = sorted((TOP / "inputs").glob("*.yaml")) + sorted((TOP / "inputs/validation").glob("*.yaml"))
STEADY = BASE_DECK.replace("steps: 10", "kind: steady\n  max_sweeps: 20000").replace("diffusivity: 1", "conductivity: 2")
MEAN = "problem.mean_temperature=321.5"
IN_BY_X = "boundaries.x_min={kind: flux, value: 100}"
OUT_BY_X = "boundaries.x_max={kind: flux, value: -200*y}"
DIVERGENT = ["problem.dt=0.00612", "problem.allow_unstable=true", "problem.steps=2000",
             'initial=[{shape: formula, formula: "300 + sin(500*x) + cos(700*y) + sin(900*z)"}]']


def run(folder, *words, deck=BASE_DECK, **options):
    """The finished process, and the record of its run."""
    return runs.recorded(folder, deck, "--progress=off", *words, **options)


def snapshots(folder):
    return sorted(path.name for path in (folder / "out").glob("*.hdf"))


@pytest.mark.parametrize("deck", INPUTS or ["no deck"], ids=lambda path: path.name)
def test_every_deck_of_inputs_passes_check(tmp_path, deck):
    """So do the runs that its header shows, one after another: none in the directory of another."""
    shown = re.findall(r"^#   .*?(?:mpirun -n (\d+) )?isotherm run \S+ ?(.*?)(?:  .*)?$", deck.read_text(encoding="utf-8"), re.MULTILINE)
    for ranks, words in shown or [("", "")]:
        done = ran("check", deck, *shlex.split(words), *(["--ranks", ranks] if ranks else []), cwd=tmp_path)
        assert done.stderr == "" and "\nwarning: " not in done.stdout  # except about the machine
    directories = [re.findall(r"output\.directory=\S+", words) for _, words in shown]
    assert all(directories.count(each) == 1 for each in directories), directories
    assert os.listdir(tmp_path) == []


def test_an_interval_beyond_the_end_writes_the_first_and_the_last_state(tmp_path):
    done, record = run(tmp_path, "output.every_steps=100")
    assert snapshots(tmp_path) == record["files"] == ["deck_00000000.hdf", "deck_00000010.hdf"]
    assert done.stderr.startswith("warning: argument 5: output.every_steps: 100 is more than the 10 steps of the ")


def test_intervals_beyond_the_end_are_warned_of(folder):
    steps = [f"output.{key}" for key in ("diagnostics", "checkpoint.every_steps", "region.every_steps")]
    times = [f"output.{key}" for key in ("every_time", "slices.0.every_time")]
    done = ran("check", "deck.yaml", "problem={dt: 0.002, end_time: 0.01}", "output.slices.0.cell=3", "output.region={from: [0, 0, 0], to: [1, 1, 0.5]}",
               *(f"{key}=100" for key in steps + times), cwd=folder)
    for key, last in [*((key, "5 steps") for key in steps), *((key, "0.01 s") for key in times)]:
        assert f" {key}: 100 is more than the {last} of the run; at most the first and the last are written\n" in done.stdout, key


def test_a_steady_problem_without_a_solution_or_with_many(tmp_path):
    done, _ = run(tmp_path, MEAN, IN_BY_X, deck=STEADY, code=65)
    assert done.stderr.startswith("argument 6: boundaries: the steady problem has no solution (")
    done, _ = run(tmp_path, IN_BY_X, OUT_BY_X, deck=STEADY, code=65)
    assert "has no unique solution" in done.stderr


@pytest.mark.parametrize("precision, exact", [("fp64", 1e-9), ("fp32", 1e-3)])
def test_a_balanced_steady_problem_keeps_the_mean(tmp_path, precision, exact):
    done, record = run(tmp_path, MEAN, IN_BY_X, OUT_BY_X, f"precision={precision}", "problem.tolerance=1e-3", deck=STEADY)
    assert done.stderr == ""
    solution = cells(tmp_path / "out" / record["files"][-1]).astype(np.float64)
    assert abs(solution.mean() - 321.5) < exact
    rise = solution[:, :, 0].mean() - solution[:, :, -1].mean()  # 100 W/m^2 over 7/8 m of 2 W/(m K)
    assert abs(rise - 100 / 2 * 7 / 8) < 0.5


def test_divergence_names_cell_and_sweep_and_leaves_the_field(tmp_path):
    """A checkerboard grows by |1 - 4 * 3| = 11 per step at three times the limit: beyond any temperature within 100 steps."""
    done, record = run(tmp_path, *DIVERGENT, code=76)
    limit = 1 / (2 * (8**2 + 9**2 + 10**2))
    assert 0.00612 > 2.9 * limit
    found = re.fullmatch(r"diverged: cell \((\d+), (\d+), (\d+)\) has reached \S+ K after sweep 100 \(.*; keep problem\.dt below the "
                         r"stability limit " + re.escape(f"{limit:.6g}") + r" s .* in deck_00000100\.diverged\.hdf\n", done.stderr)
    assert found, done.stderr
    x, y, z = map(int, found.groups())
    assert (record["exit_code"], record["result"], record["message"]) == (76, "FAILED", done.stderr.rstrip("\n"))
    assert snapshots(tmp_path) == record["files"] == ["deck_00000100.diverged.hdf"] and record["end_state"] is None
    assert not (tmp_path / "out" / "deck.hdf.series").exists()
    field = cells(tmp_path / "out" / "deck_00000100.diverged.hdf")
    assert abs(field[z, y, x]) == np.abs(field).max() > 1e9
    ran("info", "out/deck_00000100.diverged.hdf", cwd=tmp_path)
    done, _ = run(tmp_path, *DIVERGENT, "output.snapshots=false", "output.overwrite=true", code=76)
    assert done.stderr.endswith("look at boundaries and sources\n") and snapshots(tmp_path) == []


@pytest.mark.parametrize("word, key", [
    ("boundaries.x_min={kind: temperature, value: 1e11}", r"argument 5: boundaries\.x_min\.value is 1e\+11"),
    ("sources=[{shape: constant, value: 1e16}]", r"argument 5: sources\.0\.value is 1e\+16")])
def test_an_impossible_value_is_named_and_a_stable_step_is_not_blamed(tmp_path, word, key):
    done, _ = run(tmp_path, word, deck=BASE_DECK.replace("diffusivity: 1", "diffusivity: 1\n  conductivity: 1"), code=76)
    assert re.fullmatch(r"diverged: cell \(\d, \d, \d\) has reached \S+ K after sweep 1 .* problem\.dt is stable \(.*"
                        r"look at the values of the deck: " + key + r", and at the field in \S+\n", done.stderr), done.stderr


HEATED = """
grid: {cells: [24, 16, 12], spacing: [1e-3, 2e-3, 3e-3], origin: [0.1, -0.2, 0]}
material: {conductivity: 20, density: 8000, heat_capacity: 500}
boundaries:
  x_min: {kind: temperature, value: "350 + 1000*y"}
  x_max: {kind: convection, ambient: 290, coefficient: 200}
  y_min: {kind: flux, value: 3e4}
initial: [{shape: formula, formula: "300 + 100*sin(300*x)*cos(80*y + 40*z)"}]
sources: [{shape: box, from: [0.11, -0.19, 0.01], to: [0.115, -0.18, 0.02], value: 1e7}]
problem: {kind: transient, steps: 60, check_interval: 20}
"""
TO_REST = HEATED.replace("kind: transient, steps: 60, check_interval: 20",
                         "kind: steady, tolerance: 1e-12, criterion: relative, check_interval: 100")


def last_field(folder):
    return cells(max((folder / "out").glob("*.hdf")))


def test_extremes_are_those_of_the_last_field_and_heat_that_of_history(tmp_path):
    done, record = run(tmp_path, "output.diagnostics=20", deck=HEATED)
    end, last = record["end_state"], runs.history(tmp_path / "out")[-1]
    field = last_field(tmp_path)
    for name, value in (("highest", field.max()), ("lowest", field.min())):
        z, y, x = np.unravel_index(np.flatnonzero(field == value)[0], field.shape)  # the first such cell
        centre = [0.1 + 1e-3 * (x + 0.5), -0.2 + 2e-3 * (y + 0.5), 3e-3 * (z + 0.5)]
        assert end[name] == {"temperature_K": value, "cell": [x, y, z], "position_m": pytest.approx(centre)}
    assert (end["sweep"], end["time_s"], end["nan_cells"]) == (60, record["time_s"], 0)
    assert {name: float(last[f"wall_{name}_W"]) for name in end["heat"]["faces_W"]} == end["heat"]["faces_W"]
    assert [float(last[name]) for name in ("source_W", "rate_W", "balance_W")] == [
        end["heat"][name] for name in ("sources_W", "stored_W", "balance_W")]
    assert end["heat"]["faces_W"]["y_min"] == pytest.approx(3e4 * 0.024 * 0.036) and end["heat"]["relative_balance"] < 1e-12
    title, hot, cold, *_, balance, result = done.stdout.splitlines()[-7:]  # unit/test_run_record.cpp tests their texts
    assert [line.split()[0] for line in (title, hot, cold, balance, result)] == ["at", "highest", "lowest", "balance", "RESULT:"]


def test_a_steady_run_stores_nothing(tmp_path):
    """Its heat flows are those of the last field, also after sweeps of a time block, which keep no previous field."""
    done, record = run(tmp_path, "solver.kernel=reference", deck=TO_REST)
    end = record["end_state"]
    assert record["result"] == "CONVERGED" and done.stdout.endswith("; 0 in the steady state\nRESULT: CONVERGED\n")
    assert end["heat"]["stored_W"] is None and end["time_s"] == 0 and end["heat"]["relative_balance"] < 1e-6
    assert end["highest"]["temperature_K"] == last_field(tmp_path).max()
    words = ["solver.kernel=temporal_openmp", "solver.reduction=openmp"]
    _, other = run(tmp_path, *words, deck=TO_REST, out="other")
    assert other["end_state"] == end


@pytest.mark.parametrize("ambient, flows", [(321.5, False), (321.5001, True)])
def test_in_equilibrium_nothing_but_rounding_flows(tmp_path, ambient, flows):
    held = "boundaries.x_min={kind: temperature, value: 321.5}", f"boundaries.x_max={{kind: convection, coefficient: 40, ambient: {ambient}}}"
    done, _ = run(tmp_path, *held, "problem.tolerance=1e-14", deck=STEADY)
    assert ("beyond rounding" in done.stdout, "% of what flows" in done.stdout) == (not flows, flows)


@pytest.mark.parametrize("words, why", [
    (["problem.steps=0"], "no step was made"),
    (["material={diffusivity: 5e-6}", "boundaries={}", "sources=[]"],
     "the deck does not give material.conductivity, density and heat_capacity")])
def test_the_reason_is_given_if_heat_is_not_known(tmp_path, words, why):
    done, record = run(tmp_path, *words, deck=HEATED)
    end = record["end_state"]
    assert (end["heat"], end["why_no_heat"]) == (None, why) and f"  heat         not known: {why}\n" in done.stdout
    assert end["lowest"]["temperature_K"] == last_field(tmp_path).min()


def test_info_reports_extremes_and_heat_of_a_file(tmp_path):
    """Extremes from the cells; heat flows if run.json in the same folder is of the same field."""
    done, _ = run(tmp_path, "output.slices=[{axis: z, cell: 5}]", "output.coarse.factor=2", "output.every_steps=30", deck=HEATED)
    said = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line.startswith("  ") and len(line.split()) > 1)
    out = tmp_path / "out"

    def info(name):
        done = ran("info", out / name)
        return {line[:14].strip(): line[14:] for line in done.stdout.splitlines() if line[:14].strip()}

    last, middle = info("deck_00000060.hdf"), info("deck_00000030.hdf")
    assert (last["highest"], last["lowest"], last["balance"]) == (said["highest"], said["lowest"], said["balance"])
    assert "balance" not in middle and middle["highest"] != last["highest"]
    plane = cells(out / "deck_slice_z5_00000060.hdf")
    _, y, x = np.unravel_index(plane.argmax(), plane.shape)
    assert info("deck_slice_z5_00000060.hdf")["highest"].endswith(f", cell ({x}, {y}, 5)")
    assert info("deck_coarse_00000060.hdf")["highest"].endswith("and on (the mean of a coarse cell)")
    for text in ("", "{", "[]", json.dumps({"fingerprint": None})):
        (out / "run.json").write_text(text)
        assert "balance" not in info("deck_00000060.hdf")


# Steady runs

STAGNANT = STEADY_BODY + """\
precision: fp32
problem: {kind: steady, method: jacobi, tolerance: 1e-12, check_interval: 50, max_sweeps: 60000}
solver: {reduction: reproducible}
output: {snapshots: false}
"""
LAST_DIGIT = {"fp32": 2**-15, "fp64": 2**-44}  # of temperatures from 256 to 512 K


def steady(folder, name, *words, deck=STAGNANT, **options):
    """The finished process and the record of a run in the directory `name`."""
    return runs.recorded(folder, deck, "parallel.device=cpu", *words, out=name, **options)


@pytest.mark.parametrize("precision, norm, check", [
    ("fp32", "max", "asynchronous"), ("fp32", "l2", "immediate"), ("fp64", "max", "immediate"),
    ("fp64", "l1", "asynchronous")])
def test_a_residual_that_stops_falling_at_rounding_ends_the_run(tmp_path, precision, norm, check):
    """In this deck the last digits of coupled cells change cyclically for ever."""
    words = [f"precision={precision}", f"problem.norm={norm}", f"problem.check={check}", "problem.tolerance=1e-18"]
    done, found = steady(tmp_path, "one", *words)
    assert (found["exit_code"], found["residual"]["convergence"]) == (0, "stagnated")
    assert found["performance"]["sweeps"] < 30000
    assert 0 < found["residual"]["last_K"] < 4 * LAST_DIGIT[precision]
    assert "not reached: it stopped falling at rounding" in done.stdout
    assert any(f"the last digit of {precision} is" in text for text in found["warnings"])
    assert ("fp64" in done.stderr.split("use ")[-1]) == (precision == "fp32")
    steady(tmp_path, "other", *words, "solver.kernel=reference", "parallel.process_grid=[1, 3, 1]", ranks=3)
    runs.expect_same_answer(tmp_path / "one", tmp_path / "other")


@pytest.mark.parametrize("check", ["immediate", "asynchronous"])
def test_a_restart_ends_where_the_run_would_have(tmp_path, check):
    words = [f"problem.check={check}", "output.checkpoint={every_steps: 700, keep: 1000}"]
    _, whole = steady(tmp_path, "whole", *words)
    for sweep in (700, 2800, 3500):
        rest = runs.stopped_at(sweep, tmp_path / "whole", tmp_path / f"rest_{sweep}")
        _, found = steady(tmp_path, rest.name, *words, "--restart", "latest", ranks=2)
        runs.expect_same_answer(tmp_path / "whole", rest)
        assert found["continuation"]["newest_checkpoint"] == whole["continuation"]["newest_checkpoint"]
    again, _ = steady(tmp_path, "whole", *words, "--restart", "latest")
    assert again.stdout.startswith("nothing to do") and "stopped falling at rounding" in again.stdout


@pytest.mark.parametrize("given", [[], ["problem.max_sweeps=300"]])
def test_an_unconverged_run_says_how_to_continue(tmp_path, given):
    """The command that it prints is executed, and suffices."""
    deck = STAGNANT.replace("60000", "60000" if given else "300").replace("1e-12", "1e-6").replace("fp32", "fp64")
    done, written = steady(tmp_path, "parts", *given, deck=deck, code=10)
    assert runs.checkpoints(tmp_path / "parts") == ["deck_00000300.checkpoint.hdf"]
    assert (written["exit_code"], written["residual"]["convergence"]) == (10, "not_reached")
    text, = [text for text in written["warnings"] if "not converged" in text]
    assert text in done.stderr and done.stdout.endswith("RESULT: NOT CONVERGED\n")
    resume = re.search(r"after 300 sweeps .*; about (\d+) more are likely to be needed: resume with: isotherm (run .*)$", text)
    ran(*shlex.split(resume[2]), cwd=tmp_path)
    needed = runs.record(tmp_path / "parts")["performance"]["sweeps"]
    assert 0.8 * needed < int(resume[1]) < 2 * needed
    steady(tmp_path, "whole", "problem.max_sweeps=60000", deck=deck)
    runs.expect_same_answer(tmp_path / "whole", tmp_path / "parts")


def test_the_number_of_slow_cycles_is_predicted(tmp_path):
    """A block in a corner that is nearly insulated takes 57 cycles."""
    block = "{shape: box, from: [0, 0, 0], to: [0.0125, 0.0125, 0.0125], "
    deck = ("grid: {cells: 24, lengths: 0.1}\nmaterials: {a: {conductivity: 100}, b: {conductivity: 101}}\n"
            "material: {default: a}\nregions: [" + block + "material: b}]\ncontacts: [{between: [a, b], resistance: 1}]\n"
            "boundaries: {x_max: {kind: temperature, value: 300}}\nsources: [" + block + "power: 5}]\n"
            "initial: [{shape: constant, value: 350}]\nproblem: {kind: steady, max_cycles: 30}\n")
    done, _ = steady(tmp_path, "out", deck=deck, code=10)
    assert 42 <= int(re.search(r"problem.max_cycles=(\d+)$", done.stderr.strip())[1]) <= 80


def test_checkpoints_that_the_deck_turns_off_are_not_written(tmp_path):
    for number, words in enumerate(["output.checkpoint=false", "output.checkpoint.final=false"]):
        done, _ = steady(tmp_path, f"run_{number}", words, "problem.max_sweeps=300", "problem.tolerance=1e-5", code=10)
        assert runs.checkpoints(tmp_path / f"run_{number}") == []
        assert "more are likely to be needed: start it again: isotherm run " in done.stderr and "--restart" not in done.stderr
    done, _ = steady(tmp_path, "below", words, "problem.max_sweeps=300", code=10)
    assert "below the last digit of the temperatures (3.1e-05 K)" in done.stderr
    done, _ = steady(tmp_path, "all", "problem.tolerance=0", "problem.max_sweeps=300", code=10)
    assert done.stderr == "" and runs.checkpoints(tmp_path / "all") == []


# Heat that is lost in the rounding of fp32.

SWALLOWED = """\
grid: {cells: [8, 8, 8], lengths: 0.1}
material: {conductivity: 400, density: 8960, heat_capacity: 385}
precision: fp32
initial: [{shape: constant, value: 300}]
problem: {steps: 200, dt: 0.1}
output: {snapshots: false}
"""
BOX = "sources=[{shape: box, from: [0.025, 0.025, 0.025], to: [0.0625, 0.0625, 0.0625], value: %g}]"
FLUX = "boundaries.y_max={kind: flux, value: %s}"
RIM = "sources=[{shape: gaussian, value: 1e6, centre: [0.05, 0.05, 0.05], width: 0.01}]"  # does not cause a warning
LOSES = "fp32 loses 100 % of the heat of sources and flux boundaries: a "
# Half the last digit of 300 K is 1.5e-5 K; rho c is 3.45e6 J/(m^3 K), a cell 12.5 mm.
STRONG, WEAK = 2 * 1.53e-5 * 3.45e6 / 0.1, 0.5 * 1.53e-5 * 3.45e6 / 0.1


@pytest.mark.parametrize("word, lost, ranks", [
    (BOX % WEAK, True, 0), (BOX % WEAK, True, 4), (BOX % STRONG, False, 4), (FLUX % (WEAK * 0.0125), True, 4),
    (FLUX % (STRONG * 0.0125), False, 0), (FLUX % f'"{WEAK * 0.0125} + x"', True, 4), ("sources=[]", False, 0), (RIM, False, 4)])
def test_heat_lost_to_rounding_is_a_warning(tmp_path, word, lost, ranks):
    grid = ["parallel.process_grid=[2, 2, 1]"] if ranks else []
    done, found = steady(tmp_path, "run", word, *grid, deck=SWALLOWED, ranks=ranks)
    assert (found["residual"]["first_K"] == 0) == (lost or "[]" in word)
    said = [LOSES] if lost else [] if word in ("sources=[]", RIM) else ["boundaries in the last step"]  # which conduction does not spread
    assert len(found["warnings"]) == len(said) and all(text in warning for text, warning in zip(said, found["warnings"]))
    assert done.stderr.count(LOSES) == lost
    assert ("or a larger problem.dt (the stability limit is 0.22" in done.stderr) == lost
    if not ranks:
        assert steady(tmp_path, "twice", word, "precision=fp64", deck=SWALLOWED)[1]["warnings"] == []


def test_a_steady_run_that_ends_at_once_as_rounding_loses_its_heat_warns(tmp_path):
    deck = SWALLOWED.replace("steps: 200, dt: 0.1", "kind: steady, method: jacobi")
    done, found = steady(tmp_path, "run", BOX % 1, "boundaries.x_min={kind: temperature, value: 300}", deck=deck, code=10)
    assert found["performance"]["sweeps"] == 1
    assert LOSES in done.stderr and done.stderr.endswith("100 % of the heat of sources and flux boundaries is not balanced; use precision: fp64\n")


@pytest.mark.parametrize("flux, lost", [(3e4, True), (3e6, False)])
def test_transient_heat_that_interior_cells_lose_is_a_warning(tmp_path, flux, lost):
    """The cell at the boundary changes by several units in the last place, interior cells, with 1/64 of the heat each, by less than half."""
    deck = SWALLOWED.replace("[8, 8, 8], lengths: 0.1", "[64, 1, 1], spacing: 1e-4").replace("dt: 0.1", "dt: auto")
    done, _ = steady(tmp_path, "run", f"boundaries.x_max={{kind: flux, value: {flux}}}", "problem.steps=20000", deck=deck)
    assert ("of the heat of sources and flux boundaries in the last step" in done.stderr) == lost


STALLS = """\
grid: {cells: [24, 20, 1], lengths: [1, 1, 0.05]}
material: {conductivity: 1}
boundaries:
  x_min: {kind: temperature, value: 301}
  x_max: {kind: temperature, value: 302}
  z_min: {kind: flux, value: "1e12*(1 + x*x/7 + y/3)"}
  z_max: {kind: flux, value: "-1e12*(1 + x*x/7 + y/3)"}
initial: [{shape: constant, value: 301}]
problem: {kind: steady, tolerance: 1e-15}
output: {snapshots: false}
"""


@pytest.mark.parametrize("key", ["tolerance", "error"])
def test_a_residual_that_stalls_above_rounding_is_not_converged(tmp_path, key):
    """Two fluxes that cancel are a million times the temperature: the residual cannot fall below their rounding."""
    deck = STALLS.replace("tolerance: 1e-15", f"{key}: 1e-15")
    done, written = steady(tmp_path, "stalled", deck=deck, code=10)
    assert written["residual"]["convergence"] == "stalled" and written["performance"]["cycles"] < 100
    assert " stalls at " in done.stderr and len(runs.checkpoints(tmp_path / "stalled")) == 1
    enough = re.search(rf"use problem.{key} of (\S+) or more", done.stderr)[1]
    steady(tmp_path, "enough", f"problem.{key}={enough}", deck=deck)


WEAKLY_COOLED = """\
grid: {cells: [12, 10, 8], lengths: [0.01, 0.01, 0.002]}
material: {conductivity: 400}
boundaries: {z_min: {kind: convection, ambient: 300, coefficient: 0.1}}
initial: [{shape: constant, value: 300}]
sources: [{shape: box, from: [0.001, 0.001, 0.001], to: [0.005, 0.009, 0.0015], power: 1e-2}]
problem: {kind: steady}
output: {snapshots: false}
"""


def test_mixed_precision_survives_the_change_of_the_mean(tmp_path):
    """From a uniform guess the residual rises until the mean of this body is right, 1000 K above it."""
    _, found = steady(tmp_path, "out", deck=WEAKLY_COOLED + "precision: mixed\n")
    assert found["residual"]["convergence"] == "reached"
    assert found["end_state"]["lowest"]["temperature_K"] == pytest.approx(1300, abs=1)


@pytest.mark.parametrize("words, remedy", [(["precision=fp32"], "precision: fp64"),
    (["precision=mixed", "boundaries.z_min.coefficient=1e-9"], "boundaries that take up more heat per kelvin")])
def test_heat_that_no_boundary_takes_up_is_not_converged(tmp_path, words, remedy):
    """At the temperature at which the boundary would take up the heat, differences of 1e-5 K are below rounding:
    the residual is only rounding. The message suggests no tolerance with which the run would end before its
    first sweep."""
    done, found = steady(tmp_path, "out", *words, deck=WEAKLY_COOLED, code=10)
    assert found["residual"]["convergence"] == "stalled" and found["end_state"]["heat"]["relative_balance"] > 0.01
    assert "of the heat of sources and flux boundaries is not balanced" in done.stderr and done.stderr.endswith(f"use {remedy}\n")
    assert "problem.tolerance of" not in done.stderr
    done, _ = steady(tmp_path, "no", *words, "problem.tolerance=24", deck=WEAKLY_COOLED, code=65)
    assert "24 of the first residual is reached before the first sweep" in done.stderr
