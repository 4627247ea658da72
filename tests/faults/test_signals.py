"""A signal or the clock ends a run with a checkpoint and code 75, and a run that resumes from it has the bits of an uninterrupted one. A
second signal ends it at once. Jumping clocks and long uptimes change nothing: the tests move the clocks of the program
(conftest.py)."""

import os
import re
import signal
import time

import pytest

from job import Background, Job, expect_to_resume
from program import kill_all, ran, ranks_of
from runs import cells, checkpoints, expect_whole_files, record, sweep_of

STOPPED = re.compile(r"stopped by (.+) at sweep (\d+); resume with: isotherm run deck\.yaml.* --restart out\n")


def started(folder, *words, ranks=0, **environment):
    """A job that is about to sweep."""
    job = Job(folder, *words, ranks=ranks, **environment)
    job.wait_for("history.csv")
    return job


@pytest.mark.parametrize("name, words", [
    ("SIGTERM", []), ("SIGINT", ["precision=fp32"]),
    ("SIGUSR1", ["problem.check=asynchronous", "problem.check_interval=1000000"]), ("SIGUSR2", ["solver.halo_width=3"])])
def test_each_signal_ends_a_run_with_a_checkpoint(tmp_path, name, words):
    job = started(tmp_path, *words)
    if name == "SIGTERM":  # timeout(1) signals its child and their group: two signals within a moment count as one
        job.send(signal.SIGTERM)
    out, err = job.stopped(getattr(signal, name))
    assert STOPPED.search(err)[1] == name and out.endswith("RESULT: STOPPED\n") and "\n  highest " in out
    checkpoint, = checkpoints(job.out)
    written, field = record(job.out), cells(job.out / checkpoint)
    assert written["continuation"]["stopped_by"] == name and written["exit_code"] == 75
    assert [written["end_state"][end]["temperature_K"] for end in ("highest", "lowest")] == [field.max(), field.min()]
    expect_to_resume(tmp_path, words)


@pytest.mark.parametrize("to_one_rank", [False, True])
def test_ranks_stop_at_one_sweep(tmp_path, to_one_rank):
    job = Job(tmp_path, "problem.check=asynchronous", ranks=3)
    job.wait_for_sweeps()
    job.send(signal.SIGUSR1, ranks_of(job.process.pid)[-1] if to_one_rank else None)
    assert job.stopped()[1].count("stopped by SIGUSR1 at sweep") == 1
    expect_to_resume(tmp_path, ["problem.check=asynchronous"], ranks=2)


@pytest.mark.parametrize("ranks", [0, 2])
def test_within_a_step_of_many_parts_the_state_before_it_is_kept(tmp_path, ranks):
    """The second step has 65 536 parts, as its boundary value oscillates."""
    job = Job(tmp_path, "boundaries={x_min: {kind: temperature, value: 'if(t > 1e5, 300 + sin(t), 300)'}}", "sources=[]",
              "initial=[{shape: constant, value: 300}]", "problem={method: implicit, dt: 1e5, steps: 2, tolerance: 1e-9}",
              "output.snapshots=true", "output.every_steps=1", ranks=ranks)
    job.wait_for("deck_00000048.hdf")
    time.sleep(0.5)
    job.stopped(signal.SIGUSR1)
    checkpoint, = checkpoints(job.out)
    assert (cells(job.out / checkpoint) == 300).all() and sweep_of(checkpoint) == 48


def test_a_second_signal_ends_a_run_at_once(io_shim, tmp_path):
    """The first signal's checkpoint never finishes, as its write stalls."""
    job = started(tmp_path, LD_PRELOAD=str(io_shim), ISOTHERM_SHIM="fsync:1:stall")
    job.send(signal.SIGINT)
    job.wait_for("*.part")
    time.sleep(0.6)
    job.send(signal.SIGINT)
    assert job.end()[0] == -signal.SIGINT
    assert not checkpoints(job.out)


def test_while_the_deck_is_read_the_first_signal_ends_the_run(tmp_path):
    os.mkfifo(tmp_path / "deck.yaml")
    job = Background(tmp_path, "run", "deck.yaml")
    with open(tmp_path / "deck.yaml", "wb"):  # waits for the reader
        job.send(signal.SIGINT)
        job.wait_until(lambda: job.process.poll() is not None, "it waits for the deck")
    assert job.end()[0] == -signal.SIGINT


@pytest.mark.parametrize("delay", (0.0, 0.02, 0.1, 0.2, 0.3, 0.4, 0.6))
def test_signals_during_the_start_or_a_checkpoint(tmp_path, delay):
    """At any time: before the handler is installed the signal ends the process, afterwards the run."""
    job = Job(tmp_path, "output.checkpoint={every_steps: 20, keep: 3}")
    time.sleep(delay)
    job.send(signal.SIGUSR1)
    code, _, err = job.end()
    assert code in (75, -signal.SIGUSR1), err
    if code != 75:
        assert not checkpoints(job.out)
        return
    assert sweep_of(checkpoints(job.out)[-1]) == int(STOPPED.search(err)[2]) and not list(job.out.glob("*.part"))
    expect_whole_files(job.out)


@pytest.mark.parametrize("words, code, why", [
    (["output.checkpoint=false"], 66, "no checkpoint of 'deck' in 'out'"),
    (["verify={solution: decaying_mode, order: [8, 16, 32]}", "initial=[{shape: exact}]", "boundaries={}",
      "grid={cells: 8, lengths: 1}", "problem={end_time: 1e12, check_interval: 1000}"], 65, "a series of grids has no checkpoints")])
def test_without_checkpoints_nothing_is_kept(tmp_path, words, code, why):
    job = started(tmp_path, *words)
    _, err = job.stopped(signal.SIGUSR1)
    assert not checkpoints(job.out) and re.search(r" \(it has left no checkpoint\); start it again: .* output.overwrite=true\n", err)
    again = ["output.directory=out", *words, "--restart", "latest"]
    assert why in ran("run", "deck.yaml", *again, cwd=tmp_path, code=code).stderr


def test_a_signal_after_the_end_changes_nothing(tmp_path):
    job = Job(tmp_path, "problem.steps=1")
    job.wait_for("run.json")
    if job.process.poll() is None:
        job.send(signal.SIGTERM)
    assert job.end()[0] == 0


@pytest.mark.parametrize("moved", [3600 - 30, 2000])
def test_the_wall_time_ends_a_run_in_time(clock, tmp_path, moved):
    """Of an hour, 36 s and twice the time of a checkpoint are reserved for the end, and sweeps that take as long as the last ones must
    end before."""
    job = Job(tmp_path, "solver.walltime=3600", ranks=2, **clock.environment())
    job.wait_for_sweeps()
    clock.move(moved)
    out, err = job.stopped()
    assert "ends before  solver.walltime 3600 s, with a checkpoint" in out and STOPPED.search(err)[1] == "the wall time"
    expect_to_resume(tmp_path)


def test_a_slurm_job_without_an_end(tmp_path):
    job = Job(tmp_path, "problem.steps=3", SLURM_JOB_END_TIME="Unknown")
    code, _, err = job.end()
    assert code == 0 and "warning: SLURM_JOB_END_TIME is 'Unknown' (no number of seconds since 1970)" in err


@pytest.mark.parametrize("killed", [True, False])
def test_one_run_per_directory(tmp_path, killed):
    """A second run is rejected, and accepted once the first has ended. On SIGTERM Open MPI gives its ranks one
    second to end: with or without a final checkpoint, the earlier ones are intact."""
    job = Job(tmp_path, "output.checkpoint.every_wall=0.1", ranks=2)
    job.wait_for("*.checkpoint.hdf")
    for words in (["output.overwrite=true"], ["--restart", "latest"]):
        done = ran("run", "deck.yaml", "output.directory=out", *words, cwd=tmp_path, code=73)
        assert "writes to it); wait for its end, or take the directory with --force" in done.stderr
    kill_all(job.process.pid) if killed else job.send(signal.SIGTERM)
    job.end()
    last = sweep_of(checkpoints(job.out)[-1])
    done = ran("run", "deck.yaml", "output.directory=out", f"problem.steps={last + 3}", "--restart", "latest",
               cwd=tmp_path)
    assert f"sweep {last}\n" in done.stdout and not (job.out / "run.lock").exists()
    assert not killed or "was taken (process " in done.stderr


# The second uptime exceeds 32 bits of milliseconds, 49 days, during the run.
@pytest.mark.parametrize("back, uptime, ranks", [(3600, -1, 2), (0, 2**32 / 1000 - 500, 0)])
def test_clocks_that_jump_change_nothing(clock, tmp_path, back, uptime, ranks):
    """Two checkpoints by the clock, of which the first is removed after the final one; then the end of the
    Slurm job, which is read once. The clock is moved during sweeps, so that no file seems to take that
    time."""
    begun, made = time.monotonic(), []
    job = Job(tmp_path, "output.checkpoint={every_wall: 600, keep: 2}", ranks=ranks,
              SLURM_JOB_END_TIME=str(int(time.time()) + 7200), **clock.environment(uptime=uptime))
    for _ in range(2):
        job.wait_for_sweeps()
        clock.move(1000)
        job.wait_until(lambda: checkpoints(job.out)[-1:] not in ([], made[-1:]), "no checkpoint more")
        made.append(checkpoints(job.out)[-1])
        clock.move(-back, wall_alone=True)
    job.wait_for_sweeps()
    clock.move(5200)
    out, err = job.stopped()
    assert "the Slurm job's end in" in out and STOPPED.search(err)[1] == "the end of the Slurm job"
    warned, = re.findall(r"warning: about \d+ d \d+ h more are needed at the present rate, but the Slurm job's end in (\d+) s leaves ", err)
    assert int(warned) <= 7200
    longest = 7200 + time.monotonic() - begun
    assert 7200 <= record(job.out)["phases_s"]["total"]["max"] <= longest
    walls = [float(line.split(",")[-1]) for line in (job.out / "history.csv").read_text().splitlines()[1:]]
    assert walls == sorted(walls) and 0 <= walls[0] and walls[-1] <= longest
    assert made[0] not in checkpoints(job.out) and len(checkpoints(job.out)) == 2
    assert record(job.out)["continuation"]["checkpoints"] >= 3
    expect_whole_files(job.out)
    expect_to_resume(tmp_path)
