"""Work concurrent with the sweeps. Asynchronous files equal those written synchronously, with any disk and MPI. problem.check:
asynchronous has the residuals of a run that waits for each; the run ends later, and reports it."""

import h5py
import numpy as np
import pytest

from program import DECK, ran, STEADY_BODY, write_deck
from runs import expect_same_run, expect_whole_files, history, recorded, snapshots

# At sweep 20 all outputs are due at once; the slice may be due while the previous snapshot is still being written.
CROWDED = DECK.replace("output: {every_steps: 20}\n", """\
output:
  every_steps: 5
  slices: [{axis: z, cell: 7, every_steps: 2}]
  region: {first_cell: [2, 3, 4], last_cell: [12, 20, 25], every_steps: 4}
  coarse: {factor: [17, 23, 1], every_steps: 10}
  checkpoint: {every_steps: 4, keep: 100}
""")


def attributes(path):
    """All attributes by their groups, without those that differ between decks or runs."""
    found = {}

    def keep(name, item):
        found[name] = {key: np.asarray(value).tobytes() for key, value in item.attrs.items()
                       if key not in ("wall", "header_xxh3")}

    with h5py.File(path) as file:
        file.visititems(keep)
    return found


def expect_same_files(one, other):
    """Checkpoints have the same cells as they have the same fingerprint."""
    expect_same_run(one, other)
    expect_whole_files(one)
    here, there = ({path.name: attributes(path) for path in folder.glob("*.hdf")} for folder in (one, other))
    assert here == there and not list(one.glob("*.part"))


@pytest.fixture(scope="module")
def in_step(tmp_path_factory):
    """The directory of a run, the finished process, and the record."""
    folder = tmp_path_factory.mktemp("in_step")
    return folder / "out", *recorded(folder, CROWDED, "output.asynchronous=false")


@pytest.mark.parametrize("ranks", [1, 3])
def test_the_files_are_those_of_a_run_in_step(in_step, tmp_path, ranks):
    _, record = recorded(tmp_path, CROWDED, ranks=ranks)
    folder = tmp_path / "out"
    expect_same_files(folder, in_step[0])
    assert record["snapshots"]["mode"] == "asynchronous" and record["snapshots"]["why_in_step"] is None
    files = snapshots(folder)
    assert record["snapshots"]["files"] == len(files) == 9 + 21 + 11 + 5
    assert record["snapshots"]["bytes"] == sum((folder / name).stat().st_size for name in files)
    assert record["answer"] == in_step[2]["answer"]


def test_files_in_step_hide_no_time_and_an_mpi_without_threads_writes_in_step(rank_shim, in_step, tmp_path):
    out, done, record = in_step
    assert (record["snapshots"]["mode"], record["snapshots"]["why_in_step"]) == ("in_step", "output.asynchronous is false")
    assert record["snapshots"]["exposed_s"] > 0 and "in step (output.asynchronous is false)" in done.stdout
    done, record = recorded(tmp_path, CROWDED, ranks=2, LD_PRELOAD=str(rank_shim), ISOTHERM_THREAD_LEVEL="1")
    why = "this MPI gives no MPI_THREAD_MULTIPLE"
    assert f"files of the field are written in step: {why}\n" in done.stdout
    assert record["snapshots"]["mode"] == "in_step" and record["snapshots"]["why_in_step"] == why
    expect_same_files(tmp_path / "out", out)


# The run waits for a slow disk: copies do not accumulate.
def test_a_slow_disk_slows_the_sweeps_and_takes_no_memory(io_shim, tmp_path):
    peaks = []
    for snapshots in (2, 16):
        words = ["grid.cells=80", "problem.steps=64", f"output.every_steps={64 // snapshots}"]
        _, record = recorded(tmp_path, DECK, *words, out=str(snapshots),
                             LD_PRELOAD=str(io_shim), ISOTHERM_SHIM="fsync:1:slow")
        assert len(list((tmp_path / str(snapshots)).glob("*.hdf"))) == snapshots + 1
        assert record["snapshots"]["mode"] == "asynchronous"
        peaks.append(record["memory"]["host_peak_bytes"])
    assert record["snapshots"]["exposed_s"] > 0
    assert peaks[1] - peaks[0] < 4 * 8 * 80**3  # 14 files more


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_error_during_the_sweeps_ends_the_run(io_shim, tmp_path, ranks):
    """Even if the run is far ahead; no later file is written."""
    done, record = recorded(tmp_path, DECK, "problem.steps=100000000", "output.every_steps=50000000",
                            ranks=ranks, code=74, LD_PRELOAD=str(io_shim), ISOTHERM_SHIM="rename:1:5")
    assert "deck_00000000.hdf: renaming failed (Input/output error)" in done.stderr
    assert not list((tmp_path / "out").glob("*.hdf*")) and record["exit_code"] == 74


# Checks of the residual

STEADY = STEADY_BODY + """\
problem: {kind: steady, method: jacobi, tolerance: 1e-2, check_interval: 30, max_sweeps: 2000}
output: {snapshots: false}
"""
WARMED = STEADY_BODY.replace("material: {", "material: {diffusivity: 1e-5, ") + """\
problem: {steps: 100, check_interval: 30}
output: {snapshots: false}
"""


def both(folder, deck, *words, **options):
    """The finished process, the record and the history: of a run that waits for each check, and of one that does not."""
    for check in ("immediate", "asynchronous"):
        done, record = recorded(folder, deck, f"problem.check={check}", *words, out=check, **options)
        yield done, record, history(folder / check)


# mpi/test_heat_balance.cpp tests every reduction with every norm.
@pytest.mark.parametrize("reduction, norm, ranks", [("fused", "max", 0), ("openmp", "l2", 3), ("reproducible", "l1", 3)])
def test_a_run_to_its_tolerance(tmp_path, reduction, norm, ranks):
    words = [f"solver.reduction={reduction}", f"problem.norm={norm}"]
    (at_once, before, expected), (late, after, found) = both(tmp_path, STEADY, *words, ranks=ranks)
    assert len(expected) > 3 and found == expected  # of the same sweeps, to the last digit
    ended = int(expected[-1]["sweep"])
    assert ended < 2000 and before["performance"]["sweeps"] == before["residual"]["last_sweep"] == ended
    assert after["performance"]["sweeps"] == ended + 30
    assert (before["residual"]["check"], before["residual"]["extra_sweeps"]) == ("immediate", 0)
    assert after["residual"] == before["residual"] | {"check": "asynchronous", "extra_sweeps": 30}
    assert f" reached; of sweep {ended}, 30 extra sweeps (asynchronous checks)\n" in late.stdout
    assert "extra sweep" not in at_once.stdout
    if not ranks:  # near the end there are few
        words += ["problem.check=asynchronous", f"problem.max_sweeps={ended + 7}"]
        _, record = recorded(tmp_path, STEADY, *words)
        assert record["residual"]["convergence"] == "reached" and record["performance"]["sweeps"] == ended + 7
        assert (record["residual"]["last_sweep"], record["residual"]["extra_sweeps"]) == (ended, 7)


@pytest.mark.parametrize("ranks", [0, 4])
def test_divergence_is_found_late_and_the_message_says_so(tmp_path, ranks):
    words = ["problem.dt=83", "problem.allow_unstable=true"]  # four times the limit: the largest update grows by about 7 per step
    (at_once, before, expected), (late, after, found) = both(tmp_path, WARMED, *words, ranks=ranks, code=76)
    assert before["residual"]["last_sweep"] == 30 and found == expected
    every = "(residuals are checked every 30 sweeps"
    assert f" after sweep 30 {every}); keep " in at_once.stderr
    assert f" after sweep 60 {every} and evaluated late: that of sweep 30 showed it); keep " in late.stderr
    assert late.stderr.startswith("diverged: cell (") and late.stderr.count("diverged:") == 1
    assert (after["residual"]["last_sweep"], after["residual"]["extra_sweeps"], after["performance"]["sweeps"]) == (30, 30, 60)


def test_rows_with_diagnostics_are_those_of_immediate_checks(tmp_path):
    """Every other check coincides with diagnostics, and is not asynchronous; rows stay in order of their sweeps. With diagnostics or
    snapshots at every check no check is asynchronous (unit/test_schedule.cpp)."""
    (_, before, expected), (_, after, found) = both(tmp_path, WARMED, "output.diagnostics=60")
    assert found == expected and [row["sweep"] for row in found] == ["0", "1", "30", "60", "90", "100"]
    assert all(row["residual"] for row in found[1:]) and found[3]["mean_K"] and not found[2]["mean_K"]
    assert after["warnings"] == before["warnings"]
    for key in ("diagnostics", "every_steps"):
        said = ran("check", "deck.yaml", "problem.check=asynchronous", "output.snapshots=true", f"output.{key}=15", cwd=tmp_path).stdout
        assert f"problem.check: asynchronous gains nothing (output.{key} 15 waits for the field at every check); write" in said


@pytest.mark.parametrize("ranks", [0, 4])
def test_an_error_of_one_rank_ends_all_ranks_during_a_check(tmp_path, ranks):
    words = ['boundaries.x_min={kind: temperature, value: "300 + sqrt(400 - t) + 0*y"}', "problem.dt=5"]  # finite until sweep 80
    words += ["problem.check=asynchronous", f"parallel.process_grid=[{ranks or 1}, 1, 1]"]
    done = ran("run", write_deck(tmp_path, WARMED), *words, ranks=ranks, cwd=tmp_path, code=65)
    assert done.stderr.count("boundaries.x_min.value: 300 + sqrt(400 - t) + 0*y is not finite") == 1
