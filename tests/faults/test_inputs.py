"""How runs of solvable and unsolvable problems end: exit code, message, record and files; and the end report: extremes, their cells and
times, and heat flows. It is the same for all ranks and kernels, with and without diagnostics, without a step, or converged.
test_signals.py tests it for stopped runs."""

import json
import os
import re
import shlex

import numpy as np
import pytest

from documentation import TOP
from program import BASE_DECK, ran
import runs
from runs import cells

INPUTS = sorted((TOP / "inputs").glob("*.yaml")) + sorted((TOP / "inputs/validation").glob("*.yaml"))
STEADY = BASE_DECK.replace("steps: 10", "kind: steady\n  max_sweeps: 20000").replace("diffusivity: 1", "conductivity: 2")
MEAN = "problem.mean_temperature=321.5"
IN_BY_X, OUT_BY_X = "boundaries.x_min={kind: flux, value: 100}", "boundaries.x_max={kind: flux, value: -100}"
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


def test_no_steps_write_the_initial_state(tmp_path):
    _, record = run(tmp_path, "problem.steps=0", 'initial=[{shape: formula, formula: "300 + 8*x"}]')
    assert snapshots(tmp_path) == ["deck_00000000.hdf"] and record["performance"]["sweeps"] == 0
    assert (cells(tmp_path / "out" / "deck_00000000.hdf") == 300.5 + np.arange(8)).all()


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
def test_a_value_beyond_all_heat_is_named_and_no_stable_step_is_blamed(tmp_path, word, key):
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
def test_why_heat_is_not_known(tmp_path, words, why):
    done, record = run(tmp_path, *words, deck=HEATED)
    end = record["end_state"]
    assert (end["heat"], end["why_no_heat"]) == (None, why) and f"  heat         not known: {why}\n" in done.stdout
    assert end["lowest"]["temperature_K"] == last_field(tmp_path).min()


def test_of_a_series_it_is_the_last_grid(tmp_path):
    deck = HEATED.replace("cells: [24, 16, 12], spacing: [1e-3, 2e-3, 3e-3]", "cells: [8, 8, 8], lengths: [0.024, 0.032, 0.036]")
    _, record = run(tmp_path, "verify={solution: formula, formula: '300', order: [8, 12, 16], order_tolerance: 16}", "problem={end_time: 20}", deck=deck)
    assert record["grid"]["cells"] == [16, 16, 16] and record["result"] == "VERIFIED"
    field = last_field(tmp_path)
    assert field.shape == (16, 16, 16) and record["end_state"]["highest"]["temperature_K"] == field.max()


def test_info_says_it_of_a_file(tmp_path):
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
