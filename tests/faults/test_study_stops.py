"""A study that is killed or stopped resumes later, together with its cases, with the same bits."""

import os
import re
import signal
import time

import pytest

from job import Background, wait_until_gone
from program import family_of, finished_run, is_running, kill_all, LAUNCHER, ran, ranks_of, write_script
from runs import checkpoints, expect_same_answer, record
from studies import BASE, rows, started, states, write_study

# The second case takes seconds; a slice shows that it sweeps, long before history.csv is flushed.
SWEEPS = "long_slice_z1_00010000.hdf"
LONG = BASE.replace("diagnostics: 2", "diagnostics: 1000, slices: [{axis: z, cell: 1, every_steps: 10000}]").replace(
    "steps: 4", "steps: 4, check_interval: 1000")
CASES = "  list: [{name: short}, {name: long, problem.steps: 200000}, {name: after, precision: fp32}]\n"


def started_study(folder, name, *words):
    """A study one of whose cases has written this file."""
    job = Background(folder, "study", "deck.yaml", *words)
    job.wait_for(name)
    return job


def sweeping(folder):
    """A study whose second case is sweeping."""
    write_study(folder, CASES, LONG)
    return started_study(folder, f"long/{SWEEPS}")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The directory of the second case as an uninterrupted run."""
    return finished_run(tmp_path_factory.mktemp("whole"), LONG.replace("steps: 4,", "steps: 200000,"), "long", "output.directory=runs/long")


def expect_all_done_as_without_a_stop(folder, whole):
    """Only unfinished cases run again."""
    first = started(folder / "out" / "short")
    ran("study", "deck.yaml", cwd=folder)
    assert states(folder / "out") == {"short": "done", "long": "done", "after": "done"}
    assert started(folder / "out" / "short") == first
    assert record(folder / "out" / "long")["continuation"]["restarted_from"] is not None
    expect_same_answer(whole, folder / "out" / "long")
    assert rows(folder / "out")["long"]["sweeps"] == "200000"
    assert float(rows(folder / "out")["long"]["wall_s"]) > record(folder / "out" / "long")["phases_s"]["total"]["max"], "of both parts"


def test_a_study_that_comes_at_once_waits_for_the_orphan(tmp_path, whole):
    """SIGTERM ends the orphan, which may still be writing its checkpoint; both must not write to one folder."""
    job = sweeping(tmp_path)
    os.kill(job.process.pid, signal.SIGKILL)
    job.process.wait()
    expect_all_done_as_without_a_stop(tmp_path, whole)
    job.end()


def test_after_kill_9_of_study_and_case(tmp_path):
    """No checkpoint: the case starts again."""
    job = sweeping(tmp_path)
    kill_all(job.process.pid)
    job.end()
    assert checkpoints(tmp_path / "out" / "long") == []
    ran("study", "deck.yaml", cwd=tmp_path)
    assert states(tmp_path / "out") == {"short": "done", "long": "done", "after": "done"}
    assert record(tmp_path / "out" / "long")["continuation"]["restarted_from"] is None


def test_a_case_that_is_killed_has_failed(tmp_path):
    """It neither ends the study nor counts as stopped: the next run might be killed for the same reason."""
    job = sweeping(tmp_path)
    case, = [pid for pid in ranks_of(job.process.pid) if pid != job.process.pid]
    os.kill(case, signal.SIGKILL)
    code, out, _ = job.end()
    assert code == 70
    assert "long: failed (signal 9) after" in out
    assert states(tmp_path / "out") == {"short": "done", "long": "failed", "after": "done"}
    ran("study", "deck.yaml", "--retry", cwd=tmp_path)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_directory_has_one_study_which_a_signal_stops_with_checkpoints(tmp_path, whole, name):
    job = sweeping(tmp_path)
    second = ran("study", "deck.yaml", cwd=tmp_path, code=73)
    assert f"cannot use 'out' as run directory (process {job.process.pid} on " in second.stderr
    job.process.send_signal(getattr(signal, name))
    code, out, err = job.end()
    assert code == 75
    said = [line for line in err.splitlines() if not re.match("warning: .* is more than the 4 steps of the run; ", line)]
    assert said == [f"stopped by {name} with 1 of 3 cases finished; resume with: isotherm study deck.yaml"]
    assert f"{name}: 1 case still running; each stops with a checkpoint" in out
    assert states(tmp_path / "out") == {"short": "done", "long": "stopped", "after": "not started"}
    assert record(tmp_path / "out" / "long")["exit_code"] == 75
    expect_all_done_as_without_a_stop(tmp_path, whole)


def test_ranks_stop_with_checkpoints_too(tmp_path):
    """Through a launcher that kills them on SIGINT, as all launchers do sooner or later."""
    launcher = write_script(tmp_path / "impatient.sh", """#!/bin/sh
"$@" &
trap 'kill -KILL $!' INT TERM
trap : USR1
while kill -0 $! 2> /dev/null; do wait $!; code=$?; done
exit $code
""")
    write_study(tmp_path, f"  list: [{{name: long, problem.steps: 4000000, ranks: 2}}]\n  launcher: {launcher} {LAUNCHER}\n", LONG)
    job = started_study(tmp_path, f"long/{SWEEPS}")
    job.process.send_signal(signal.SIGINT)
    code, _, err = job.end()
    assert code == 75, err
    assert states(tmp_path / "out") == {"long": "stopped"}
    assert len(checkpoints(tmp_path / "out" / "long")) == 1


def test_a_second_signal_leaves_at_once(tmp_path):
    """A case that does not stop neither delays the study's end nor outlives the study."""
    launcher = write_script(tmp_path / "deaf.sh", "#!/bin/sh\ntrap '' INT USR1\n: > out/deaf/began\nexec sleep 10000\n")
    write_study(tmp_path, f"  list: [{{name: deaf, ranks: 2}}]\n  launcher: {launcher} {{ranks}}\n")
    job = started_study(tmp_path, "deaf/began")
    case, = [pid for pid in family_of(job.process.pid) if pid != job.process.pid]
    job.process.send_signal(signal.SIGINT)
    said = next(line for line in iter(job.process.stdout.readline, "") if "SIGINT" in line)
    time.sleep(0.6)  # within half a second it would count as the same Ctrl-C
    assert job.process.poll() is None and is_running(case)
    job.process.send_signal(signal.SIGINT)
    assert job.end()[0] == -signal.SIGINT
    assert "SIGINT: 1 case still running; each stops with a checkpoint" in said
    wait_until_gone(case)
    ran("study", "deck.yaml", f"study.launcher={LAUNCHER}", cwd=tmp_path)
    assert states(tmp_path / "out") == {"deaf": "done"}


def test_a_retry_that_is_stopped_before_its_run_began_is_resumed_as_a_retry(tmp_path):
    """Its run.json is from the failed run, which has the message of that."""
    launcher = write_script(tmp_path / "slow.sh", "#!/bin/sh\n: > out/grows/began\nexec sleep 10000\n")
    write_study(tmp_path, "  list: [{name: grows, ranks: 2, problem.dt: 10, problem.allow_unstable: true, problem.steps: 20000}]\n"
                          f"  launcher: {LAUNCHER}\n")
    ran("study", "deck.yaml", cwd=tmp_path, code=76)
    job = started_study(tmp_path, "grows/began", f"study.launcher={launcher} {{ranks}}", "--retry")
    job.process.send_signal(signal.SIGTERM)
    code, out, err = job.end()
    assert code == 75 and err.endswith(" --retry\n") and "grows: stopped before it began" in out and "failed (" not in out, out + err


def test_a_case_that_was_stopped_and_then_fails_has_failed(tmp_path):
    """Its run.json is from the stopped run."""
    job = sweeping(tmp_path)
    job.process.send_signal(signal.SIGTERM)
    assert job.end()[0] == 75
    kept = [tmp_path / "out" / "long" / name for name in checkpoints(tmp_path / "out" / "long")]
    assert len(kept) == 1
    kept[0].write_bytes(b"no checkpoint")
    ran("study", "deck.yaml", "--case", "long", cwd=tmp_path, code=65)
    ran("study", "deck.yaml", "--collect", cwd=tmp_path, code=65)
    row = rows(tmp_path / "out")["long"]
    assert row["state"] == "failed" and "checkpoint" in row["message"] and "SIGTERM" not in row["message"]
