"""A run that was stopped and resumed equals an uninterrupted one: the same bits, history, end and files. Also on another rank count,
process grid, kernel and halo width."""

import json
import shutil

import numpy as np
import pytest

from program import BASE_DECK, DECK, finished_run, ran, STEADY_BODY, write_deck
from runs import (
    cells, checkpoints, expect_same_answer, expect_same_run, history, record, recorded, stopped_at, sweep_of)

TRANSIENT = """\
grid: {cells: [17, 13, 15], lengths: [0.17, 0.26, 0.45], origin: [-1, 2, 0.5]}  # no two axes alike
material: {diffusivity: 1.0e-5, conductivity: 10}
boundaries:
  x_min: {kind: temperature, value: "300 + 10*y + t/100"}
  x_max: {kind: flux, value: 1000}
  y_max: {kind: convection, ambient: 280, coefficient: 30}
  z_min: periodic
  z_max: periodic
initial:
  - {shape: formula, formula: "300 + 50*x + 7*y + 3*z*z"}
sources:
  - {shape: box, from: [-0.95, 2, 0.5], to: [-0.9, 2.1, 0.7], value: 1e5}
problem: {kind: transient, steps: 60, check_interval: 7}
solver: {reduction: reproducible}
output: {every_steps: 20, diagnostics: 5, histogram: {bins: 4}, checkpoint: {every_steps: 9, keep: 100}}
"""
STEADY = STEADY_BODY.replace("[16, 12, 20]", "[12, 11, 13]") + """\
problem: {kind: steady, method: jacobi, tolerance: 1e-3, check_interval: 30, max_sweeps: 2000}
solver: {reduction: reproducible}
output: {checkpoint: {every_steps: 25, keep: 100}}
"""


def run(folder, *words, ranks=0, code=0):
    return ran("run", "deck.yaml", "parallel.device=cpu", *words, ranks=ranks, cwd=folder, code=code)


def contents(folder):
    return {path: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """The directory of a finished run of TRANSIENT."""
    return finished_run(tmp_path_factory.mktemp("whole"), TRANSIENT, "deck", "parallel.device=cpu")


@pytest.fixture
def whole(whole_run, tmp_path):
    """A copy of it, next to its deck."""
    write_deck(tmp_path, TRANSIENT)
    return shutil.copytree(whole_run, tmp_path / "whole")


def test_the_rest_is_the_same_on_other_ranks(whole, tmp_path):
    """In the directory of the checkpoint, as the deck names none. mpi/test_snapshot.cpp tests fp32 too."""
    assert len(checkpoints(whole)) == 7  # 9, 18, ..., 54 and the final one
    for ranks, sweep, words in (
        (0, 9, ["solver.kernel=reference"]),
        (2, 18, ["parallel.process_grid=[2, 1, 1]"]),
        (3, 36, ["parallel.overlap=true"]),
        (4, 54, ["solver.halo_width=2", "parallel.process_grid=[1, 2, 2]"]),
    ):
        folder = stopped_at(sweep, whole, tmp_path / f"rest_{ranks}")
        done = run(tmp_path, *words, "--restart", f"{folder.name}/latest", ranks=ranks)
        assert f"resuming from {folder.name}/deck_{sweep:08}.checkpoint.hdf, sweep {sweep}" in done.stdout
        expect_same_run(whole, folder)
        assert record(folder)["performance"]["sweeps"] == 60 - sweep and not (tmp_path / "runs").exists()


def test_a_finished_run_has_nothing_to_do_and_continues_with_more_steps(whole, tmp_path):
    run(tmp_path, "output.directory=parts", "problem.steps=21")
    before = contents(tmp_path / "parts")
    done = run(tmp_path, "output.directory=parts", "problem.steps=21", "--restart", "latest", ranks=2)
    assert done.stdout.startswith("nothing to do: parts/deck_00000021.checkpoint.hdf is of sweep 21, where the run")
    done = run(tmp_path, "output.directory=parts", "problem.steps=20", "--restart", "latest")
    assert "is of sweep 21, beyond the end of the run (at 20); continue with" in done.stdout and before == contents(tmp_path / "parts")
    done = run(tmp_path, "output.directory=parts", "--restart", "latest")
    assert "  changed: problem.steps 21 -> 60\n" in done.stdout
    assert record(tmp_path / "parts")["fingerprint"] == record(whole)["fingerprint"]


@pytest.mark.parametrize("method", ["euler", "rkl", "implicit"])
def test_a_run_of_0_s_continues_in_any_steps(tmp_path, method):
    write_deck(tmp_path, TRANSIENT.replace("steps: 60", f"method: {method}, end_time: 100.7"))
    run(tmp_path, "output.directory=whole")
    run(tmp_path, "output.directory=parts", "problem.end_time=0")
    assert [row["time_s"] for row in history(tmp_path / "parts")] == ["0"]
    run(tmp_path, "output.directory=parts", "--restart", "latest")
    expect_same_run(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("of_deck", ["euler", "implicit"])
def test_the_end_time_moves_by_whole_steps(tmp_path, of_deck):
    """The message that rejects another end suggests overrides that the program accepts."""
    write_deck(tmp_path, TRANSIENT.replace("steps: 60", f"method: {of_deck}, end_time: 100"))

    def method(*words, code=0):
        done = run(tmp_path, "output.directory=parts", *words, code=code)
        return done.stderr if code else record(tmp_path / "parts")["method"]

    first = method()
    refused = method("problem.end_time=101", "--restart", "latest", code=65)
    assert f"problem.end_time: 101 s is no whole number of the checkpoint's steps of {first['dt_s']} s" in refused
    assert f"problem.dt={first['dt_s']}" in run(tmp_path, "output.directory=parts", "--restart", "latest").stdout
    then = method(*refused.split(" give ")[1].split(" instead")[0].split(), "--restart", "latest")
    assert then["planned_sweeps"] > first["planned_sweeps"] and then["dt_s"] == first["dt_s"]
    # ... and again, from a checkpoint whose deck contains that step although the user's deck says auto.
    for end_time in (200, 1300, 1400):
        then = method(f"problem.end_time={end_time}", "--restart", "latest")
        assert (then["planned_sweeps"], then["dt_s"]) == (end_time / 100 * first["planned_sweeps"], first["dt_s"])


@pytest.mark.parametrize("dt, step, ends", [
    (0.1 / 43, 0.1 / 43, (0.1, 0.7, 1.1)), (0.1, 0.3 / 3, (0.3, 0.4, 0.7)), (0.095, 0.075, (0.3, 0.6, 0.9)),
    (1e-21, 1e-21, (3e-21, 4e-21, 7e-21))])
def test_a_later_end_time_keeps_the_length_of_steps(tmp_path, dt, step, ends):
    """In floating point 1.1/473 is not 0.1/43. end_time shortens steps of 0.1 s in the last digit, and steps of 0.095 s by a
    fifth."""
    timed, steps = TRANSIENT.replace("check_interval", f"dt: {step!r}, check_interval"), round(ends[-1] / step)
    write_deck(tmp_path, timed.replace("steps: 60", f"steps: {steps}"))
    run(tmp_path, "output.directory=whole")
    write_deck(tmp_path, timed.replace("steps: 60", f"end_time: {ends[0]}").replace(f"dt: {step!r}", f"dt: {dt!r}"))
    run(tmp_path, "output.directory=parts")
    for end_time, spelling in zip(ends[1:], ("parts/", "./parts")):
        done = run(tmp_path, f"problem.end_time={end_time}", "--restart", spelling)
        assert "changed: output.directory" not in done.stdout
    assert (f"  changed: problem.dt {step!r} -> {dt!r}, the steps stay as they are\n" in done.stdout) == (step != dt)
    found = record(tmp_path / "parts")
    assert (found["method"]["dt_s"], found["method"]["planned_sweeps"]) == (step, steps)
    assert found["fingerprint"] == record(tmp_path / "whole")["fingerprint"]
    done = run(tmp_path, "output.directory=parts", f"problem.dt={0.9 * step}", "--restart", "latest", code=65)
    assert f", {0.9 * step!r} in the deck\n" in done.stderr


def test_a_failed_verification_stays_failed_after_a_restart(tmp_path):
    words = ["output.checkpoint.final=true", "initial=[{shape: exact}]",
             "verify={solution: decaying_mode, modes: [1, 0, 0], tolerance: 1e-9}"]
    done, written = recorded(tmp_path, BASE_DECK, *words, code=76)
    assert done.stdout.endswith("RESULT: FAILED\n") and written["exit_code"] == 76
    assert written["verification"]["verdict"] == "failed"
    assert written["verification"]["max_error_K"] > 1e-9
    done, _ = recorded(tmp_path, BASE_DECK, *words, "--restart", "latest", code=76)
    assert "is of sweep 10, where the run has ended (at 10) and FAILED its verification (run.json); continue with" in done.stdout
    recorded(tmp_path, BASE_DECK, *words[:-1], words[-1].replace("1e-9", "10"), "--restart", "latest")
    (tmp_path / "out" / "run.json").unlink()  # then the earlier verification is unknown
    run(tmp_path, "output.directory=out", *words, "--restart", "latest")


@pytest.mark.parametrize("end, first, ended", [("problem.tolerance=2e-4", "problem.tolerance=1e-3", "has reached its tolerance"),
                                               ("problem.max_sweeps=2000", "problem.max_sweeps=60", None)])
def test_a_steady_run_continues_to_a_smaller_tolerance_or_with_more_sweeps(tmp_path, end, first, ended):
    write_deck(tmp_path, STEADY)
    run(tmp_path, "output.directory=whole", end)
    code = 0 if ended else 10
    run(tmp_path, "output.directory=parts", first, code=code)
    done = run(tmp_path, "output.directory=parts", first, "--restart", "latest", code=code)
    assert not ended or "nothing to do" in done.stdout and f"where the run {ended}" in done.stdout
    run(tmp_path, "output.directory=parts", end, "--restart", "latest", ranks=2)
    expect_same_answer(tmp_path / "whole", tmp_path / "parts")


def test_a_branch_in_another_directory_leaves_the_first_alone(whole, tmp_path):
    before = contents(whole)
    run(tmp_path, "output.directory=branch", "output.diagnostics=11", "--restart", "whole/deck_00000027.checkpoint.hdf", ranks=2)
    assert before == contents(whole)
    assert record(tmp_path / "branch")["fingerprint"] == record(whole)["fingerprint"]
    assert [row["sweep"] for row in history(tmp_path / "branch")][:3] == ["28", "33", "35"]


def test_a_restart_before_later_checkpoints(whole_run, whole, tmp_path):
    run(tmp_path, "output.directory=whole", "output.checkpoint.every_steps=50", "output.overwrite=true",
        "--restart", "whole/deck_00000027.checkpoint.hdf")
    expect_same_run(whole_run, whole)
    assert checkpoints(whole) == [f"deck_{n:08}.checkpoint.hdf" for n in (9, 18, 27, 50, 60)]
    assert not list(whole.glob("*.aside"))


@pytest.mark.parametrize("change, said", [
    (lambda lines: lines.replace(b"\n", b"\r\n"), ""), (lambda lines: None, "history.csv' is missing"),
    (lambda lines: b"", "empty or damaged"), (lambda lines: lines[:10], "empty or damaged")], ids=["CRLF", "missing", "empty", "cut"])
def test_a_changed_history_is_read_or_warned_of(whole, tmp_path, change, said):
    file = stopped_at(27, whole, tmp_path / "rest") / "history.csv"
    changed = change(file.read_bytes())
    file.unlink()
    if changed is not None:
        file.write_bytes(changed)
    warnings = run(tmp_path, "output.directory=rest", "--restart", "latest").stderr
    assert said in warnings and bool(said) == bool(warnings)
    assert [row["sweep"] for row in history(file.parent) if int(row["sweep"]) > 27 or not said] == [
        row["sweep"] for row in history(whole) if int(row["sweep"]) > 27 or not said]


def test_other_readers_find_all_bits_in_a_checkpoint_where_snapshots_are_rounded(whole_run, whole_parts):
    assert cells(whole_parts / "deck_00000014.checkpoint.hdf").dtype == np.float64
    assert cells(whole_parts / "deck_00000012.hdf").dtype == np.float32
    assert (cells(whole_run / "deck_00000060.checkpoint.hdf") == cells(whole_run / "deck_00000060.hdf")).all()
    assert (whole_run / "latest").read_text() == "deck_00000060.checkpoint.hdf\n"
    assert "isotherm checkpoint, version 2" in ran("info", whole_run / "deck_00000045.checkpoint.hdf").stdout


PARTS = DECK.replace("output: {every_steps: 20}\n", """\
output:
  every_steps: 6
  precision: fp32
  checkpoint: {every_steps: 7, keep: 100}
  slices:
    - {axis: z, cell: 11, name: middle, every_steps: 4}
    - {axis: x, cell: 16}
  region: {first_cell: [1, 2, 3], last_cell: [5, 9, 9], every_steps: 14}
  coarse: {factor: [17, 23, 1], every_steps: 5}
  probes: {points: [[-0.9, 2.2, 1], {at: [-0.995, 2.46, 1.415], name: edge}], every_steps: 3}
""")


def run_parts(folder, *words, ranks=0):
    return ran("run", write_deck(folder, PARTS), *words, ranks=ranks, cwd=folder)


@pytest.fixture(scope="module")
def whole_parts(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("parts"), PARTS)


def spoil_series(out):
    """As after a kill, or worse: a series lacks the newest file, lists a missing one, or is empty."""
    for path in out.glob("*.series"):
        content = json.loads(path.read_text())
        content["files"] = [{"name": "deck_00000001.hdf", "time": 1.0}, *content["files"][:1]]
        path.write_text("" if "region" in path.name else json.dumps(content))
    for path in out.glob("*.xmf"):
        path.unlink()


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("ranks", [1, 3])
def test_series_and_probes_continue_after_a_restart(whole_parts, tmp_path, ranks, killed):
    run_parts(tmp_path, "output.directory=parts", "problem.steps=17")
    if killed:
        spoil_series(tmp_path / "parts")
    run_parts(tmp_path, "output.directory=parts", "--restart", "parts/deck_00000014.checkpoint.hdf", ranks=ranks)
    expect_same_run(whole_parts, tmp_path / "parts")
    viewed = ["deck.xmf", "deck_coarse.xmf", "deck_region.xmf", "deck_slice_middle.xmf", "deck_slice_x16.xmf"]
    assert sorted(path.name for path in whole_parts.glob("*.xmf")) == viewed
    assert len(list(whole_parts.glob("*.series"))) == len(viewed)
    for file in ["probes.csv", *viewed]:
        assert (whole_parts / file).read_text() == (tmp_path / "parts" / file).read_text()


def test_files_of_later_sweeps_than_the_end_are_removed(tmp_path):
    """So are series that list them and that the deck no longer writes."""
    run_parts(tmp_path, "output.directory=parts")
    run_parts(tmp_path, "output.directory=parts", "problem.steps=15", "output.slices=[]", "output.xdmf=false", "--restart",
              "parts/deck_00000014.checkpoint.hdf")
    names = [path.name for path in (tmp_path / "parts").glob("*_0*.hdf*")]
    assert max(name.split("_")[-1] for name in names) == "00000015.hdf" and not list((tmp_path / "parts").glob("*.aside"))
    lists = [path.name for pattern in ("*.series", "*.xmf") for path in sorted((tmp_path / "parts").glob(pattern))]
    assert lists == ["deck.hdf.series", "deck_coarse.hdf.series", "deck_region.hdf.series", "deck_coarse.xmf"]
    run_parts(tmp_path, "output.directory=parts", "problem.steps=16", "--restart", "latest")
    run_parts(tmp_path, "output.directory=parts", "problem.steps=17", "output.xdmf=false", "--restart", "latest")
    assert not (tmp_path / "parts" / "deck.xmf").exists() and (tmp_path / "parts" / "deck_slice_middle.xmf").exists()


def test_another_run_starts_from_the_last_snapshot_not_from_a_part(whole_parts, tmp_path):
    copy = shutil.copytree(whole_parts, tmp_path / "parts")
    words = ["check", write_deck(tmp_path, PARTS), f"initial=[{{shape: dataset, file: {copy}}}]"]
    assert f"{copy}/deck_00000040.hdf" in ran(*words, "--resolved").stdout
    for path in copy.glob("deck_0*[0-9].hdf"):
        path.unlink()
    assert f"{copy}: a folder without a snapshot of a run; " in ran(*words, code=66).stderr


def test_a_file_that_cannot_be_read_is_left_out_of_the_series_with_a_warning(tmp_path):
    run_parts(tmp_path, "output.directory=out", "problem.steps=14")
    (tmp_path / "out" / "deck_00000006.hdf").write_text("not HDF5")
    done = run_parts(tmp_path, "output.directory=out", "--restart", "latest", ranks=2)
    said = "warning: out/deck_00000006.hdf: HDF5 cannot open it ("
    assert done.stderr.count(said) == 1 and "(it is left out of the series)" in done.stderr
    series = json.loads((tmp_path / "out" / "deck.hdf.series").read_text())["files"]
    assert [sweep_of(entry["name"]) for entry in series] == [0, 12, 14, 18, 24, 30, 36, 40]


def test_files_of_other_cells_are_left_out_of_the_series_with_a_warning(tmp_path):
    run_parts(tmp_path, "output.directory=out", "problem.steps=14")
    done = run_parts(tmp_path, "output.directory=out", "output.slices.0.axis=x", "output.coarse.factor=[17, 1, 1]",
                     "output.region.first_cell=[0, 2, 3]", "output.region.last_cell=[4, 9, 9]",
                     "output.probes={points: [[-0.9, 2.2, 1]], every_steps: 7}", "--restart", "latest")
    assert (tmp_path / "out" / "probes.csv.aside").exists()
    assert done.stderr.count("left out of the series") == 3 and "out/deck_region_*.hdf: 2 files" in done.stderr
    for series, first in (("", 0), ("_slice_x16", 14), ("_slice_middle", 16), ("_region", 28), ("_coarse", 15)):
        entries = json.loads((tmp_path / "out" / f"deck{series}.hdf.series").read_text())["files"]
        assert entries[0]["name"] == f"deck{series}_{first:08}.hdf"
        assert (tmp_path / "out" / f"deck{series}.xmf").read_text().count("<Time") == len(entries)
