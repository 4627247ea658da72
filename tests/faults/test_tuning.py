"""The autotuner in a run: its steps are steps of the run; its results are reported, stored, and taken from the file; neither the field
nor `check` depends on it."""

import json
import re
import signal

import h5py
import numpy as np
import pytest

from job import Background
import program
import runs

CPU = "parallel.device=cpu"
HELD = "boundaries={x_min: {kind: temperature, value: 400}}"
STEADY = "problem={kind: steady, method: jacobi, max_sweeps: 300, check_interval: 100, tolerance: 1e-30}"
ENDLESS = "problem={kind: steady, method: jacobi, max_sweeps: 1000000000000, check_interval: 10000, tolerance: 0}"
TAKEN = ("kernel", "tile", "time_block", "halo_width")  # in run.json and in each candidate


def run(folder, *overrides, code=0, ranks=0):
    done = program.ran("run", "deck.yaml", CPU, "output.overwrite=true", *overrides, ranks=ranks, cwd=folder, code=code)
    return done, runs.record(folder / "runs/deck")


def run_until_tuned(folder, *overrides, ranks=0):
    """The output of a run that is stopped by a signal once the autotuner has finished; and its record."""
    words = ["output.directory=out", "solver.tuning_budget=1000", CPU, ENDLESS, HELD]
    job = Background(folder, "run", "deck.yaml", *words, *overrides, ranks=ranks)
    job.wait_for("run.log")
    job.wait_until(lambda: "fastest of" in (job.out / "run.log").read_text(encoding="utf-8"), "not tuned")
    job.send(signal.SIGUSR1)  # launchers forward it
    code, out, _ = job.end()
    assert code == 75
    return out, runs.record(job.out)


@pytest.mark.parametrize("ranks", [0, 2])
def test_a_candidate_is_taken(folder, ranks):
    out, record = run_until_tuned(folder, "grid.cells=[24, 20, 32]", ranks=ranks)
    method, tuning = record["method"], record["method"]["tuning"]
    assert tuning["source"] == "measurement" and tuning["file"] is None and tuning["complete"]
    assert 0 < tuning["measured_s"] and 0 < tuning["sweeps"] <= record["performance"]["sweeps"]
    assert tuning["planes"] == 32 // (ranks or 1)
    steps = [c for c in tuning["candidates"] if not c["reduction"]]  # without a norm
    # The fastest one depends on when each was measured; tests/mpi/test_autotuner.cpp tests the choice with a simulated clock.
    assert [method[key] for key in TAKEN] in [[c[key] for key in TAKEN] for c in steps]
    assert {c["time_block"] for c in steps if c["kernel"] == "openmp"} == {1}
    assert {4} <= {c["time_block"] for c in steps if c["kernel"] == "temporal_openmp"} <= set(range(2, 9))
    assert {c["halo_width"] for c in steps} >= ({1, 2, 4, 8} if ranks else {1})
    assert all(c["time_block"] <= c["halo_width"] if ranks else c["halo_width"] == 1 for c in steps)
    assert f"fastest of {len(tuning['candidates'])} measured in " in out and " per sweep in time blocks, " in out
    assert method["why_single"] == (None if method["time_block"] > 1 else "the fastest measured")


def test_a_short_run_takes_the_kernel_that_it_had_time_to_measure(folder):
    result, record = run(folder)
    tuning = record["method"]["tuning"]
    assert not tuning["complete"] and tuning["measured_s"] < 1
    assert record["method"]["kernel"] == "openmp" and record["method"]["why_single"] == "no time to measure others"


@pytest.mark.parametrize("overrides, source", [
    (["solver.tuning_budget=0"], "defaults"),
    (["problem.check_interval=1"], "defaults"),  # every sweep has a norm
    (["solver.kernel=openmp", "solver.tile=1plane", "solver.reduction=openmp"], "deck"),
])
def test_nothing_is_measured(folder, overrides, source):
    result, record = run(folder, *overrides)
    assert record["method"]["tuning"]["source"] == source and record["method"]["tuning"]["candidates"] == []
    assert "measured" not in result.stdout


def test_regions_of_a_dataset_are_not_measured_on_fewer_planes(folder):
    """Long steps are, but a dataset has the cells of the whole grid."""
    with h5py.File(folder / "ids.h5", "w") as file:
        file["ids"] = np.ones((64, 40, 40), np.int32)
    _, record = run(folder, "material={default: a}", "materials={a: {conductivity: 1, density: 1, heat_capacity: 1}, "
                    "b: {conductivity: 2, density: 1, heat_capacity: 1}}", "grid.cells=[40, 40, 64]", "solver.tuning_budget=5e-5",
                    "regions=[{shape: dataset, file: ids.h5, dataset: ids, map: {1: b}}]", "problem.steps=300")
    tuning = record["method"]["tuning"]
    assert tuning["source"] == "measurement" and tuning["planes"] == 64


def test_a_tuning_file_is_reused_and_a_longer_run_adds_measurements(folder):
    """unit/test_dataset_reader.cpp tests which runs share an entry."""
    file, path = "solver.tuning_file=tuning.json", folder / "tuning.json"

    def again():
        """The output, fingerprint and method of one more short run."""
        result, record = run(folder, file, HELD, STEADY, code=10)
        return result.stdout, record["fingerprint"], record["method"]

    again()
    assert json.loads(path.read_text())["entries"][0]["choice"]["complete"] is False
    assert again()[2]["tuning"]["source"] == "file"
    first = run_until_tuned(folder, file)[1]["method"]["tuning"]
    assert (first["source"], first["file"]) == ("measurement", "tuning.json")
    kept = json.loads(path.read_text())
    entry, = kept["entries"]
    assert (entry["key"]["cells"], entry["choice"]["complete"]) == ([8, 9, 10], True)
    # The file decides, whatever a measurement would find.
    entry["choice"].update(kernel="openmp", tile="1plane", time_block=1, reduction="openmp")
    path.write_text(json.dumps(kept))
    said, fingerprint, method = again()
    assert method["tuning"]["source"] == "file" and method["tuning"]["candidates"] == []
    assert (method["kernel"], method["tile"], method["reduction"]) == ("openmp", "1plane", "openmp")
    assert "as tuning.json says" in said
    assert fingerprint == run(folder, HELD, STEADY, "solver.kernel=reference", code=10)[1]["fingerprint"]
    # A kernel that this program lacks is ignored.
    entry["choice"]["kernel"] = "gone"
    path.write_text(json.dumps(kept))
    assert again()[2]["tuning"]["source"] == "measurement"


def test_a_file_that_cannot_be_kept_is_a_warning(folder):
    """`check` and the start of a run give it. A run that takes its settings from the file does not write the file."""
    file, early = "solver.tuning_file=no/such/folder/t.json", "argument 4: solver.tuning_file: 'no/such/folder' takes no file ("
    assert f"warning: {early}" in program.ran("check", "deck.yaml", CPU, file, cwd=folder).stdout
    assert early[3:] not in program.ran("check", "deck.yaml", CPU, "solver.tuning_file=t.json", cwd=folder).stdout
    result, record = run(folder, file)
    assert "takes no file (" in result.stderr.splitlines()[0]
    assert "the tuning is not kept: " in result.stderr
    assert any("the tuning is not kept" in w for w in record["warnings"])


@pytest.mark.parametrize("overrides, line", [
    (["solver.tuning_file=deck.yaml"], "'deck.yaml' is no tuning file of this version ("),
    (["solver.tuning_file=/dev/zero"], "'/dev/zero' is no tuning file of this version (it is no regular file); "),
    (["solver.tile=1plane"], "argument 3: solver.tile: '1plane' is a tile of one kernel (solver.kernel is auto); "),
    (["solver.tile=9planes", "solver.kernel=openmp"], "argument 3: solver.tile: '9planes' is no tile of kernel openmp; "),
    (["initial=[{shape: formula, formula: 1/(x-0.0625)}]", "solver.tuning_file=tuning.json"], "argument 3: initial.0.formula: ")])
def test_a_wrong_deck_or_file_is_refused_before_work(folder, overrides, line):
    """No tuning file is written before the deck is fully checked."""
    for command in ["run"] + ["check"] * ("no tuning file" in line):
        program.expect_rejected(folder, program.isotherm(command, "deck.yaml", *overrides, CPU, cwd=folder), 65, line)


def test_check_knows_that_values_which_vary_allow_no_graphs(folder):
    """Also for a GPU that is not here."""
    words = ["check", "deck.yaml", "solver.cuda_graph=true", "parallel.device=cuda"]
    assert program.ran(*words, cwd=folder).stderr == ""
    result = program.isotherm(*words, "boundaries={x_min: {kind: temperature, value: 300 + t}}", cwd=folder)
    program.expect_rejected(folder, result, 65, "argument 3: solver.cuda_graph: sweeps cannot be queued as graphs here (boundaries or ")


def test_sums_that_decide_are_always_those_of_one_kernel(folder):
    """Sums of two kernels differ in their last digits: the faster kernel of the day must not decide when a run stops."""
    for norm in ("l1", "l2"):
        problem = f"problem={{kind: steady, method: jacobi, norm: {norm}, max_sweeps: 3, tolerance: 1e-30}}"
        _, record = run(folder, problem, HELD, code=10)
        assert record["method"]["reduction"] == "openmp"


def test_check_reports_settings_left_to_the_autotuner(folder):
    out = program.ran("check", "deck.yaml", CPU, "--ranks", "2", "--resolved", "grid.cells=24", cwd=folder).stdout
    assert "  halo_width: auto\n" in out
    assert re.search(r"^halo width +auto: 1 to 8 layers, ", out, re.MULTILINE)
    for change in ("solver.halo_width=3", "problem.check_interval=1"):
        assert "\nhalo width " not in program.ran("check", "deck.yaml", CPU, "--ranks", "2", change, "grid.cells=24", cwd=folder).stdout
