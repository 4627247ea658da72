"""inputs/scaling: decks that a run would accept, and job scripts that need no change but in the lines marked EDIT."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
from cli import isotherm
from program import HANGS

FOLDER = Path(__file__).parents[2] / "inputs" / "scaling"
DECKS = sorted(FOLDER.glob("*.yaml"))
SCRIPTS = sorted(FOLDER.glob("slurm_*.sh"))


def test_all_is_there():
    assert [path.name for path in DECKS] == ["strong_1024.yaml", "strong_512.yaml", "strong_cpu.yaml",
                                             "weak_1024.yaml", "weak_512.yaml", "weak_cpu.yaml"]
    assert [path.name for path in SCRIPTS] == ["slurm_one_node.sh", "slurm_several_nodes.sh"]


GROWN = {2: (1, 1, 2), 4: (1, 2, 2), 8: (2, 2, 2), 512: (8, 8, 8)}


# A plan for more ranks than there are asks for no memory: the decks for GPUs need not fit this machine.
@pytest.mark.parametrize("deck", DECKS, ids=lambda path: path.stem)
def test_every_deck_passes_check_as_its_series_uses_it(tmp_path, deck):
    kind = deck.stem.split("_")[0]
    n = int(re.search(r"^  cells: (\d+)$", deck.read_text(), re.MULTILINE)[1])
    result = isotherm("check", str(deck), f"scaling={{kind: {kind}, ranks: [{', '.join(map(str, GROWN))}]}}", cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    found = re.findall(r"^  ranks-\d+ +(\d+) +(\d+) x (\d+) x (\d+) ", result.out, re.MULTILINE)
    grow = GROWN if kind == "weak" else dict.fromkeys(GROWN, (1, 1, 1))
    assert [tuple(map(int, line)) for line in found] == [(ranks, *(n * f for f in grow[ranks])) for ranks in GROWN]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("deck", [path for path in DECKS if path.stem.startswith("weak")], ids=lambda path: path.stem)
def test_the_grids_that_a_weak_deck_names_are_those_of_its_series(deck):
    text = deck.read_text()
    n = int(re.search(r"^  cells: (\d+)$", text, re.MULTILINE)[1])
    named = re.findall(r"mpirun -n (\d+) .*'grid.cells=\[(\d+),(\d+),(\d+)\]'", text)
    assert named and all([int(c) for c in cells] == [n * f for f in GROWN[int(ranks)]] for ranks, *cells in named)


@pytest.mark.parametrize("deck", ["strong_cpu.yaml", "weak_cpu.yaml"])
def test_the_small_decks_run_on_one_rank_as_they_are(tmp_path, deck):
    assert isotherm("check", str(FOLDER / deck), cwd=tmp_path).code == 0


# srun as far as the scripts use it: the ranks start here, the call is noted, exit codes pass through.
SRUN = """#!/bin/bash
echo "$*" >>"{calls}"
while [[ $1 == --* ]]; do
  case $1 in --ntasks=*) ranks=${{1#*=}} ;; esac
  shift
done
{before}
exec {mpiexec} -n "$ranks" "$@"
"""


class Job:
    """A job script in a folder of its own, edited as a user would."""

    def __init__(self, folder, script):
        self.folder, self.script = folder, script
        self.lines = script.read_text().splitlines()
        self.calls = folder / "calls"
        self.results = folder / "the results"
        self.edit("isotherm=", os.environ["ISOTHERM"])
        self.edit("decks=", f'"{FOLDER}"')
        self.edit("results=", f'"{self.results}"')
        self.edit("repeats=", "1")
        self.edit("overrides=", "(problem.steps=20 problem.check_interval=10)")
        self.srun()

    def edit(self, start, value):
        """Replaces what follows `start` on the only such line, which must be marked."""
        at, = [i for i, line in enumerate(self.lines) if line.startswith(start)]
        assert self.lines[at].endswith("# edited") or "# EDIT" in self.lines[at]
        self.lines[at] = f"{start}{value}  # edited"

    def series(self, *lines):
        at = [i for i, line in enumerate(self.lines) if re.match("series (strong|weak) ", line)]
        assert at and all("# EDIT" in self.lines[i] for i in at)
        self.lines[at[0]:at[-1] + 1] = lines

    def srun(self, before=""):
        path = self.folder / "bin" / "srun"
        path.parent.mkdir(exist_ok=True)
        mpiexec = os.environ.get("MPIEXEC", "mpirun")
        path.write_text(SRUN.format(calls=self.calls, before=before, mpiexec=mpiexec))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(self):
        path = self.folder / "job.sh"
        path.write_text("\n".join(self.lines) + "\n")
        environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        return subprocess.run(["bash", path], cwd=self.folder, env=environment, timeout=HANGS, capture_output=True,
                              text=True, check=False)

    def record(self, name):
        return json.loads((self.results / name / "run.json").read_text())


@pytest.fixture(params=SCRIPTS, ids=lambda path: path.stem)
def job(request, tmp_path):
    return Job(tmp_path, request.param)


def test_what_a_site_must_say_is_marked(job):
    """Of what Slurm is told, only the name of the job, its output and that nodes are not shared need no edit."""
    told = [line for line in job.script.read_text().splitlines() if line.startswith("#SBATCH")]
    unmarked = {line.split()[1].split("=")[0] for line in told if "# EDIT" not in line}
    assert unmarked <= {"--job-name", "--output", "--exclusive", "--nodes"}
    marked = {line.split()[1].split("=")[0] for line in told if "# EDIT" in line}
    assert marked >= {"--gpus-per-node", "--cpus-per-task", "--time", "--partition", "--account"}


def test_series_on_one_and_two_ranks(job):
    job.series("series strong strong_cpu 1,2", "series weak weak_cpu 1,2")
    done = job.run()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout

    names = [f"{deck}/ranks-{ranks}" for deck in ("strong_cpu", "weak_cpu") for ranks in (1, 2)]
    assert sorted(path.parent for path in job.results.rglob("run.json")) == [job.results / name for name in names]
    records = [job.record(name) for name in names]
    assert [len(record["ranks"]) for record in records] == [1, 2, 1, 2]
    assert [record["grid"]["cells"] for record in records] == [[64] * 3, [64] * 3, [48] * 3, [48, 48, 96]]
    assert all(record["result"] == "DONE" for record in records)
    assert all(record["performance"]["sweeps"] == 20 for record in records)
    # One answer; a weak series has as many problems as grids.
    prints = [record["fingerprint"] for record in records]
    assert prints[0] == prints[1] and prints[2] != prints[3]

    calls = job.calls.read_text().splitlines()
    assert [re.search(r"--nodes=(\d+) --ntasks=(\d+) ", call).groups() for call in calls] == [("1", "1"), ("1", "2")] * 2
    found = table(done.stdout)
    assert [(ranks, runs) for ranks, runs, _ in found] == [("1", "1"), ("2", "1")] * 2
    assert (found[0][2], found[2][2]) == ("100.0", "100.0")


def table(text):
    """Ranks, runs and efficiency."""
    return re.findall(r"^ +(\d+) +\d+ x \d+ x \d+ +(\d+) +\S+ +\S+ +([\d.]+) % ", text, re.MULTILINE)


def test_repeats_have_folders_of_their_own(job):
    job.series("series strong strong_cpu 2")
    job.edit("repeats=", "3")
    done = job.run()
    assert done.returncode == 0, done.stderr
    assert sorted(path.parent.name for path in job.results.rglob("run.json")) == [
        f"ranks-2_run-{repeat}" for repeat in (1, 2, 3)]
    assert table(done.stdout) == [("2", "3", "100.0")]


def test_nodes_are_filled_before_the_next(tmp_path):
    job = Job(tmp_path, FOLDER / "slurm_several_nodes.sh")
    job.edit("gpus=", "2")
    job.series("series strong strong_cpu 1,2,3")
    assert job.run().returncode == 0
    calls = job.calls.read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["--nodes=1", "--nodes=1", "--nodes=2"]


def test_a_run_that_fails_is_named_and_the_others_go_on(job):
    job.series("series strong strong_cpu 1,2")
    job.srun(before='[[ $ranks == 1 ]] && exit 69')
    done = job.run()
    assert done.returncode == 1
    assert done.stderr.startswith("1 of 2 cases failed ") and done.stderr.endswith("\nfailed: strong_cpu\n")
    assert "strong scaling, compared with none (ranks-1: failed)\n" in done.stdout
    assert job.record("strong_cpu/ranks-2")["result"] == "DONE"


def test_without_slurm_by_the_launcher_of_mpi(job):
    """The line of the launcher says what to write."""
    instead = next(re.search(r'# EDIT: or "(mpirun -n .*)"', line)[1] for line in job.lines if line.startswith("launcher="))
    job.edit("launcher=", '"' + instead.replace("mpirun", os.environ.get("MPIEXEC", "mpirun")) + '"')
    job.series("series weak weak_cpu 2")
    done = job.run()
    assert done.returncode == 0, done.stderr
    assert not job.calls.exists()
    assert len(job.record("weak_cpu/ranks-2")["ranks"]) == 2
