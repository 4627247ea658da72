"""A real Slurm of one node: signals, cancellation, time limit, requeue and arrays, of jobs and of a study.
Resumed runs have the same bits."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from documentation import TOP, blocks
from job import ENDLESS, expect_to_resume, wait_until
from program import HANGS, command, finished, ran, write_deck, write_script
from runs import checkpoints, expect_same_answer, record, sweep_of
from studies import BASE, folders, rows, started, states

CONF = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
MpiDefault=pmix
ReturnToService=2
KillWait=10
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NEEDED = ["munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "squeue"]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


class Slurm:
    """All its files are in this folder."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        host = socket.gethostname().split(".")[0]
        (folder / "slurm.conf").write_text(CONF.format(host=host, ports=free_ports(2), folder=folder))
        (folder / "munge.key").write_bytes(os.urandom(128))
        os.chmod(folder / "munge.key", 0o400)
        for name in ("state", "spool"):
            (folder / name).mkdir()

    def start(self):
        own = [f"--{name}={self.folder}/munge.{name.split('-')[0]}" for name in ("key-file", "socket", "pid-file", "log-file",
                                                                               "seed-file")]
        self.daemon("munged", "--foreground", "--force", *own)
        self.daemon("slurmctld", "-D", "-f", self.environment["SLURM_CONF"])
        self.daemon("slurmd", "-D", "-f", self.environment["SLURM_CONF"])
        deadline = time.monotonic() + 120
        while "idle" not in self.ask("sinfo", "-h", "-o", "%T"):
            if time.monotonic() > deadline or any(each.poll() is not None for each in self.daemons):
                texts = [path.read_text(errors="replace")[-500:] for path in self.folder.glob("*.log")]
                pytest.skip("Slurm does not start here: " + " | ".join(" ".join(text.split()) for text in texts))
            time.sleep(0.2)

    def daemon(self, name, *words):
        with open(self.folder / f"{name}.out.log", "wb") as log:
            self.daemons.append(subprocess.Popen([shutil.which(name), *words], env=self.environment, stdout=log,
                                                 stderr=subprocess.STDOUT, start_new_session=True))

    def ask(self, *words):
        return subprocess.run(words, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=HANGS, check=False).stdout.strip()

    def wait(self, job):
        def has_ended():
            said = self.ask("squeue", "-h", "-j", job, "-o", "%T")
            return not said or "slurm_load_jobs" in said  # which no longer knows the job

        wait_until(has_ended, f"job {job} does not end", 0.3)

    def stop(self):
        self.ask("scancel", "--signal=KILL", "--full", "--user=root")
        for each in reversed(self.daemons):
            each.terminate()
        for each in reversed(self.daemons):
            try:
                each.wait(timeout=15)
            except subprocess.TimeoutExpired:
                each.kill()


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        pytest.skip(f"no {', '.join(missing)} (Debian, Ubuntu: apt install slurm-wlm munge)")
    if os.getuid() != 0:
        pytest.skip("slurmd needs root")
    one = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        one.start()
        yield one
    finally:
        one.stop()


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
    return f"[ -e out/latest ] && end=problem.steps=$(until grep -s . end; do sleep 1; done)\n{script}"


# The script of each job, and its options for sbatch.
JOBS = {
    "cancelled": (SRUN, "--time=5"),
    "limited": (SRUN, "--time=5"),
    # The text of docs/cluster.md. The job ends by itself the second time.
    "documented": (documented(), "--nodes=1", "--time=5", "--signal=USR1@10", "--requeue"),
    "requeued": (f"[ -e out/latest ] && end=problem.steps=$(cat end)\n{SRUN} $end $([ -e out/latest ] && "
                 "echo --restart latest)\necho $? >code\n", "--time=5", "--requeue"),
    "array": (SRUN.replace("=out", "=out_$SLURM_ARRAY_TASK_ID") + " problem.steps=$((50 * (1 - SLURM_ARRAY_TASK_ID % 2 * 2)))\n"
              "echo $? >code_$SLURM_ARRAY_TASK_ID\n", "--array=0-2", "--output=%A_%a.txt", "--time=5"),
}


class Submitted:
    def __init__(self, slurm, folder, shim, script, *options):
        self.folder = folder
        self.out = folder / "out"
        write_deck(folder, ENDLESS)
        job = write_script(folder / "job.sh", f"#!/bin/bash\nSHIM={shim}\n{script}")
        common = ["--parsable", f"--chdir={folder}", "--output=%j.txt", "--open-mode=append", "--ntasks=2"]
        self.number = slurm.ask("sbatch", *common, *options, job)
        assert self.number.isdigit(), self.number

    def said(self, member=""):
        return (self.folder / f"{self.number}{member}.txt").read_text()

    def code(self, member=""):
        return (self.folder / f"code{member}").read_text()

    def wait_for(self, name):
        wait_until(lambda: list(self.out.glob(name)), f"no {name}")

    def limit(self, slurm, minutes):
        slurm.ask("scontrol", "update", f"JobId={self.number}", f"TimeLimit={minutes}")


@pytest.fixture(scope="module")
def jobs(slurm, rank_shim, tmp_path_factory):
    """All jobs run at the same time, as Slurm counts in minutes. Limits are set once ranks sweep, however long the start took: signals
    arrive up to half a minute early, time limits up to half a minute late."""
    found = {name: Submitted(slurm, tmp_path_factory.mktemp(name), rank_shim, *job) for name, job in JOBS.items()}
    for name in ("documented", "limited"):
        found[name].wait_for("history.csv")
        found[name].limit(slurm, 1)
    return found


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


def test_the_documented_job(slurm, jobs):
    """A signal before its end stops it; it requeues itself, and resumes once its end is set."""
    expect_to_end_as_if_never_stopped(slurm, jobs["documented"], "75\n0\n")
    assert "stopped by SIGUSR1 at sweep" in jobs["documented"].said()


@pytest.mark.parametrize("name", ["cancelled", "limited"])
def test_scancel_and_the_time_limit(slurm, jobs, name):
    """Later output is lost; the record and the checkpoint exist."""
    job = jobs[name]
    job.wait_for("history.csv")
    if name == "cancelled":
        time.sleep(1)
        slurm.ask("scancel", job.number)
    slurm.wait(job.number)
    written = record(job.out)
    assert (written["exit_code"], written["continuation"]["stopped_by"]) == (75, "SIGTERM")
    expect_to_resume(job.folder)


def test_requeue(slurm, jobs):
    job = jobs["requeued"]
    job.wait_for("history.csv")
    time.sleep(1)
    slurm.ask("scontrol", "requeue", job.number)
    expect_to_end_as_if_never_stopped(slurm, job, "0\n")


def test_a_failed_member_of_an_array_does_not_affect_the_others(slurm, jobs):
    job = jobs["array"]
    slurm.wait(job.number)
    assert [job.code(f"_{member}") for member in range(3)] == ["0\n", "65\n", "0\n"]
    assert record(job.folder / "out_0")["fingerprint"] == record(job.folder / "out_2")["fingerprint"]
    assert "problem.steps: -50 is out of range" in job.said("_1")


# Studies

LONG = BASE.replace("diagnostics: 2", "diagnostics: 100").replace("steps: 4", "steps: 4, check_interval: 10").replace(
    "reduction: reference", "reduction: reproducible, halo_width: 1")
# With late messages and sums the long cases take most of a minute, otherwise a second or two. `grows` exceeds the stable step.
CASES = """\
  list:
    - {name: short, precision: fp32}
    - {name: grows, problem.dt: 10, problem.allow_unstable: true, problem.steps: 20000}
    - {name: alone, problem.steps: 40000}
    - {name: requeued, problem.steps: 30000}
    - {name: cancelled, problem.steps: 20000, ranks: 2}
    - {name: signalled, problem.steps: 30000, ranks: 2}
"""
RANKS = "srun --mpi=pmix --overlap --ntasks={ranks}"


def test_a_study_runs_in_arrays_and_resumes_after_a_stop(slurm, tmp_path, rank_shim):
    out = tmp_path / "out"
    write_deck(tmp_path, LONG + "study:\n" + CASES)

    def submit(**environment):
        """The output, and the numbers of the jobs, which also have this environment."""
        done = finished(command("study", "deck.yaml", "--slurm", f"study.launcher={RANKS}"), 0, cwd=tmp_path,
                        env={**slurm.environment, **environment})
        return done.stdout, re.findall(r"^job (\d+):", done.stdout, re.MULTILINE)

    def output_of_tasks():
        return "\n".join(path.read_text() for path in sorted(out.glob("slurm_*.txt")))

    said, jobs = submit(LD_PRELOAD=str(rank_shim), ISOTHERM_HALO_FAULT="-1:late")
    assert "6 cases, 6 to submit" in said and len(jobs) == 3
    one, two, last = jobs
    for case in ("alone", "requeued", "cancelled", "signalled"):  # which write this file before their first sweep
        wait_until((out / case / "history.csv").exists, f"{case} does not start")
    time.sleep(0.5)
    slurm.ask("scontrol", "requeue", f"{one}_4")
    again, none = submit()
    assert none == [] and re.search(r"[3-5] in the queue, 0 to submit", again), again
    slurm.ask("scancel", f"{one}_3", f"{two}_5")
    slurm.ask("scancel", "--batch", "--signal=USR1", f"{two}_6")
    slurm.wait(last)

    # The last job has collected the results.
    assert states(out) == {"short": "done", "grows": "failed", "alone": "stopped", "requeued": "done",
                           "cancelled": "stopped", "signalled": "stopped"}, output_of_tasks()
    assert rows(out)["grows"]["exit_code"] == "76"
    for case in ("alone", "cancelled", "signalled"):
        assert record(out / case)["exit_code"] == 75 and len(checkpoints(out / case)) == 1
    assert len(record(out / "cancelled")["ranks"]) == 2
    assert "signalled: stopped after" in output_of_tasks()
    first = started(out / "short")

    said, jobs = submit()
    assert "6 cases, 2 finished before, 1 failed before (--retry submits them again), 3 to submit" in said
    slurm.wait(jobs[-1])
    assert states(out) == {"short": "done", "grows": "failed", "alone": "done", "requeued": "done",
                           "cancelled": "done", "signalled": "done"}, output_of_tasks()
    assert started(out / "short") == first and len(folders(out)) == 6
    assert record(out / "alone")["continuation"]["restarted_from"] is not None
    for case in ("requeued", "cancelled", "signalled"):
        assert record(out / case)["continuation"]["restarted_from"] is not None
        ran("run", out / case / f"{case}.yaml", f"output.directory=whole_{case}", cwd=tmp_path)
        expect_same_answer(tmp_path / f"whole_{case}", out / case)

    assert "5 finished before, 1 failed before" in ran("study", "deck.yaml", cwd=tmp_path, code=76).stdout
