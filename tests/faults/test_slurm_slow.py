"""A real Slurm of one node: signals, cancellation, time limit, requeue and arrays. Resumed runs have the same bits."""

import os
import time

import pytest

from documentation import TOP, blocks
from job import ENDLESS, expect_to_go_on, wait_until
from program import ran, write_deck
from runs import checkpoints, expect_same_answer, record, sweep_of
from slurm import slurm  # noqa: F401  (a fixture)

# Ranks that sleep between sweeps leave cores to other tests, and have few sweeps to repeat from the start.
SRUN = (f"srun --mpi=pmix --ntasks=2 env LD_PRELOAD=$SHIM ISOTHERM_HALO_FAULT=-1:late {os.environ['ISOTHERM']} run deck.yaml "
        "output.directory=out")


def documented():
    """The job script of docs/cluster.md, adapted to one node without GPUs. The job ends by itself the second time."""
    script, = [text for text in blocks(TOP / "docs" / "cluster.md", "sh") if "#SBATCH" in text]
    program = f"env LD_PRELOAD=$SHIM ISOTHERM_HALO_FAULT=-1:late {os.environ['ISOTHERM']} run deck.yaml output.directory=out $end"
    for theirs, ours in [("isotherm run deck.yaml", program), ("runs/deck", "out"), ("--cpus-per-task=16", "--cpus-per-task=1"),
                         ("#SBATCH --signal=USR1@", "#"), ("#SBATCH --requeue", "#")]:
        assert theirs in script, theirs
        script = script.replace(theirs, ours)
    script = script.replace("code=$?", "code=$?; echo $code >>code")
    return f"[ -e out/latest ] && end=problem.steps=$(cat end)\n{script}"


# The script of each job, and its options for sbatch.
JOBS = {
    "cancelled": (SRUN, "--time=5"),
    "limited": (SRUN, "--time=5"),
    # The text of docs/cluster.md. The job ends by itself the second time.
    "documented": (documented(), "--nodes=1", "--time=5", "--signal=USR1@10", "--requeue"),
    "requeued": (f"[ -e out/latest ] && end=problem.steps=$(cat end)\n{SRUN} $end $([ -e out/latest ] && "
                 "echo --restart latest)\necho $? >code\n", "--time=5", "--requeue"),
    "array": (SRUN.replace("=out", "=out_$SLURM_ARRAY_TASK_ID") + " problem.steps=$((50 * (1 - SLURM_ARRAY_TASK_ID % 2 * 2)))\n"
              "echo $? >code_$SLURM_ARRAY_TASK_ID\n", "--array=0-2", "--time=5"),
}


class Submitted:
    def __init__(self, slurm, folder, shim, script, *options):
        self.folder = folder
        self.out = folder / "out"
        write_deck(folder, ENDLESS)
        self.number = slurm.submit(folder, f"SHIM={shim}\n{script}", "--ntasks=2", *options)

    def said(self, member=""):
        return (self.folder / f"{self.number}{member}.txt").read_text()

    def code(self, member=""):
        return (self.folder / f"code{member}").read_text()

    def wait_for(self, name):
        wait_until(lambda: list(self.out.glob(name)), f"no {name}")

    def limit(self, slurm, minutes):
        slurm.ask("scontrol", "update", f"JobId={self.number}", f"TimeLimit={minutes}")


@pytest.fixture(scope="module")
def jobs(slurm, halo_shim, tmp_path_factory):
    """All jobs at the same time, as Slurm counts in minutes. Limits are set once ranks sweep, whatever their start took: signals arrive
    up to half a minute early, time limits as much late."""
    found = {name: Submitted(slurm, tmp_path_factory.mktemp(name), halo_shim, *job) for name, job in JOBS.items()}
    for name in ("documented", "limited"):
        found[name].wait_for("history.csv")
        found[name].limit(slurm, 1)
    return found


def test_scancel(slurm, jobs):
    """Later output is lost; the record and the checkpoint exist."""
    job = jobs["cancelled"]
    job.wait_for("history.csv")
    time.sleep(1)
    slurm.ask("scancel", job.number)
    slurm.wait(job.number)
    written = record(job.out)
    assert (written["exit_code"], written["continuation"]["stopped_by"]) == (75, "SIGTERM")
    expect_to_go_on(job.folder)


def expect_to_end_as_if_never_stopped(slurm, job, codes):
    """Once it has a checkpoint, the test sets its end."""
    job.wait_for("latest")
    job.limit(slurm, 5)
    end = sweep_of(checkpoints(job.out)[-1]) + 500
    (job.folder / "end").write_text(f"{end}\n")
    slurm.wait(job.number)
    assert job.code() == codes and "resuming from out/deck_" in job.said(), job.said()
    ran("run", "deck.yaml", f"problem.steps={end}", "output.directory=whole", cwd=job.folder)
    expect_same_answer(job.folder / "whole", job.out)


def test_requeue(slurm, jobs):
    job = jobs["requeued"]
    job.wait_for("history.csv")
    time.sleep(1)
    slurm.ask("scontrol", "requeue", job.number)
    expect_to_end_as_if_never_stopped(slurm, job, "0\n")


def test_the_documented_job(slurm, jobs):
    """A signal before its end stops it; it requeues itself and resumes."""
    expect_to_end_as_if_never_stopped(slurm, jobs["documented"], "75\n0\n")
    assert "stopped by SIGUSR1 at sweep" in jobs["documented"].said()


def test_a_member_of_an_array_that_fails_is_alone(slurm, jobs):
    job = jobs["array"]
    slurm.wait(job.number)
    assert [job.code(f"_{member}") for member in range(3)] == ["0\n", "65\n", "0\n"]
    assert record(job.folder / "out_0")["fingerprint"] == record(job.folder / "out_2")["fingerprint"]
    assert "problem.steps: -50 is out of range" in job.said("_1")


def test_the_time_limit(slurm, jobs):
    job = jobs["limited"]
    slurm.wait(job.number)
    assert record(job.out)["exit_code"] == 75
    assert record(job.out)["continuation"]["stopped_by"] == "SIGTERM"
    expect_to_go_on(job.folder)
