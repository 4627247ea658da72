"""A Slurm of one node, which the tests start and stop, with all its files in a test folder."""

import contextlib
import os
import shutil
import socket
import subprocess
import time

import pytest

from program import HANGS

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

    def submit(self, folder, script, *options):
        """The job's number. Its output is in folder/NUMBER.txt, that of an array's members in NUMBER_MEMBER.txt."""
        (folder / "job.sh").write_text("#!/bin/bash\n" + script)
        said = self.ask("sbatch", "--parsable", f"--chdir={folder}", "--output=%A_%a.txt" if any(
            "--array" in option for option in options) else "--output=%j.txt", "--open-mode=append", *options, str(folder / "job.sh"))
        assert said.isdigit(), said
        return said

    def wait(self, job):
        deadline = time.monotonic() + HANGS
        while self.ask("squeue", "-h", "-j", job, "-o", "%T").split() not in ([], ["Invalid"]):
            assert time.monotonic() < deadline, self.ask("scontrol", "show", "job", job)
            if "slurm_load_jobs" in self.ask("squeue", "-h", "-j", job):
                return  # Slurm no longer knows the job
            time.sleep(0.3)

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
