"""A real Slurm, of one node: its signals, cancellation, time limit, requeue and arrays. What goes on has the same bits."""

import os
import time

import pytest

from job import ENDLESS
from program import isotherm, write_deck
from runs import checkpoints, expect_same_answer, record
from slurm import slurm  # noqa: F401  (a fixture)

SRUN = f"srun --mpi=pmix --ntasks=2 {os.environ['ISOTHERM']} run deck.yaml output.directory=out"


def wait_for(out, name, seconds=60):
    deadline = time.monotonic() + seconds
    while not list(out.glob(name)):
        assert time.monotonic() < deadline, f"no {name}"
        time.sleep(0.1)


def newest(out):
    return int(checkpoints(out)[-1].split("_")[1].split(".")[0])


def expect_to_go_on(folder):
    """From the newest checkpoint, with the bits of a run that was never stopped."""
    end = f"problem.steps={newest(folder / 'out') + 7}"
    for words in (["output.directory=out", "--restart", "latest"], ["output.directory=whole"]):
        done = isotherm("run", "deck.yaml", end, *words, cwd=folder)
        assert done.returncode == 0, done.stderr
    expect_same_answer(folder / "whole", folder / "out")


def test_a_signal_before_the_limit(slurm, tmp_path):
    write_deck(tmp_path, ENDLESS)
    job = slurm.submit(tmp_path, f"{SRUN}\necho $? >code\n", "--ntasks=2", "--time=1", "--signal=USR1@55")
    slurm.wait(job)
    assert (tmp_path / "code").read_text() == "75\n", (tmp_path / f"{job}.txt").read_text()
    assert "stopped by SIGUSR1 at sweep" in (tmp_path / f"{job}.txt").read_text()
    expect_to_go_on(tmp_path)


def test_scancel(slurm, tmp_path):
    """What is printed after it reaches nobody; the record and the checkpoint are there."""
    write_deck(tmp_path, ENDLESS)
    job = slurm.submit(tmp_path, SRUN, "--ntasks=2", "--time=5")
    wait_for(tmp_path / "out", "history.csv")
    time.sleep(1)
    slurm.ask("scancel", job)
    slurm.wait(job)
    assert record(tmp_path / "out")["exit_code"] == 75
    assert record(tmp_path / "out")["continuation"]["stopped_by"] == "SIGTERM"
    expect_to_go_on(tmp_path)


def test_the_time_limit(slurm, tmp_path):
    write_deck(tmp_path, ENDLESS)
    job = slurm.submit(tmp_path, SRUN, "--ntasks=2", "--time=1")
    slurm.wait(job, 180)
    assert record(tmp_path / "out")["exit_code"] == 75
    assert record(tmp_path / "out")["continuation"]["stopped_by"] in ("the wall time", "SIGTERM")
    expect_to_go_on(tmp_path)


def test_requeue(slurm, tmp_path):
    """The words of the README. The job ends itself the second time."""
    write_deck(tmp_path, ENDLESS)
    job = slurm.submit(tmp_path, f"[ -e out/latest ] && end=problem.steps=$(cat end)\n{SRUN} $end $([ -e out/latest ] && "
                       "echo --restart latest)\necho $? >code\n", "--ntasks=2", "--time=5", "--requeue")
    wait_for(tmp_path / "out", "history.csv")
    time.sleep(1)
    slurm.ask("scontrol", "requeue", job)
    wait_for(tmp_path / "out", "latest")
    end = newest(tmp_path / "out") + 5000
    (tmp_path / "end").write_text(f"{end}\n")
    slurm.wait(job, 200)
    said = (tmp_path / f"{job}.txt").read_text()
    assert (tmp_path / "code").read_text() == "0\n", said
    assert "going on from out/deck_" in said
    done = isotherm("run", "deck.yaml", f"problem.steps={end}", "output.directory=whole", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expect_same_answer(tmp_path / "whole", tmp_path / "out")


def test_a_member_of_an_array_that_fails_is_alone(slurm, tmp_path):
    write_deck(tmp_path, ENDLESS)
    line = SRUN.replace("=out", "=out_$SLURM_ARRAY_TASK_ID") + " problem.steps=$((50 * (1 - SLURM_ARRAY_TASK_ID % 2 * 2)))"
    job = slurm.submit(tmp_path, f"{line}\necho $? >code_$SLURM_ARRAY_TASK_ID\n", "--array=0-2", "--ntasks=2", "--time=5")
    slurm.wait(job)
    assert [(tmp_path / f"code_{member}").read_text() for member in range(3)] == ["0\n", "65\n", "0\n"]
    assert record(tmp_path / "out_0")["fingerprint"] == record(tmp_path / "out_2")["fingerprint"]
    assert "problem.steps: -50 is out of range" in (tmp_path / f"{job}_1.txt").read_text()
