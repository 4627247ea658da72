"""inputs/scaling: decks that a run would accept, and job scripts that need no change but in the lines marked EDIT."""

import json
import os
import re

import pytest

from documentation import TOP
from program import finished, MPIEXEC, ran, write_script

FOLDER = TOP / "inputs" / "scaling"
DECKS = sorted(FOLDER.glob("*.yaml"))
SCRIPTS = sorted(FOLDER.glob("slurm_*.sh"))
assert len(DECKS) >= 6 and len(SCRIPTS) >= 2


GROWN = {2: (1, 1, 2), 4: (1, 2, 2), 8: (2, 2, 2), 512: (8, 8, 8)}


@pytest.mark.parametrize("deck", DECKS, ids=lambda path: path.stem)
def test_every_deck_passes_check_as_its_series_uses_it(tmp_path, deck):
    """A plan for more ranks than this job has needs no memory here: decks for GPUs need not fit this machine. The grids in the comments
    of a weak deck are those of its series."""
    kind, n = deck.stem.split("_")[0], int(re.search(r"^  cells: (\d+)$", deck.read_text(), re.MULTILINE)[1])
    words = [f"scaling={{kind: {kind}, ranks: [{', '.join(map(str, GROWN))}]}}"]
    done = ran("check", deck, *words, cwd=tmp_path)
    found = re.findall(r"^  ranks-\d+ +(\d+) +(\d+) x (\d+) x (\d+) ", done.stdout, re.MULTILINE)
    grow = GROWN if kind == "weak" else dict.fromkeys(GROWN, (1, 1, 1))
    assert [tuple(map(int, line)) for line in found] == [(ranks, *(n * f for f in grow[ranks])) for ranks in GROWN]
    assert done.stderr == "" and os.listdir(tmp_path) == []
    named = re.findall(r"mpirun -n (\d+) .*'grid.cells=\[(\d+),(\d+),(\d+)\]'", deck.read_text())
    assert bool(named) == (kind == "weak")
    assert all([int(c) for c in cells] == [n * f for f in GROWN[int(ranks)]] for ranks, *cells in named)
    if deck.stem.endswith("_cpu"):  # unchanged on one rank
        ran("check", deck, cwd=tmp_path)


# A stand-in for srun: it starts the ranks here, logs the call, and returns the exit code.
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
        for start, value in [("isotherm=", os.environ["ISOTHERM"]), ("decks=", f'"{FOLDER}"'), ("results=", f'"{self.results}"'),
                             ("repeats=", "1"), ("overrides=", "(problem.steps=20 problem.check_interval=10)")]:
            self.edit(start, value)

    def edit(self, start, value):
        """Replaces the text after `start` on the only such line, which must be marked."""
        at, = [i for i, line in enumerate(self.lines) if line.startswith(start)]
        assert self.lines[at].endswith("# edited") or "# EDIT" in self.lines[at]
        self.lines[at] = f"{start}{value}  # edited"

    def run(self, *series, before_srun="", code=0):
        """Runs these series; returns the finished process."""
        at = [i for i, line in enumerate(self.lines) if re.match("series (strong|weak) ", line)]
        assert at and all("# EDIT" in self.lines[i] for i in at)
        self.lines[at[0]:at[-1] + 1] = series
        programs, job = self.folder / "bin", self.folder / "job.sh"
        programs.mkdir()
        write_script(programs / "srun", SRUN.format(calls=self.calls, before=before_srun, mpiexec=MPIEXEC))
        job.write_text("\n".join(self.lines) + "\n")
        return finished(["bash", job], code, cwd=self.folder, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})

    def record(self, name):
        return json.loads((self.results / name / "run.json").read_text())


@pytest.fixture(params=SCRIPTS, ids=lambda path: path.stem)
def job(request, tmp_path):
    return Job(tmp_path, request.param)


def test_what_a_site_must_say_is_marked(job):
    """Of the #SBATCH options only the name of the job, its output, and exclusive nodes need no edit."""
    lines = [line for line in job.script.read_text().splitlines() if line.startswith("#SBATCH")]
    unmarked = {line.split()[1].split("=")[0] for line in lines if "# EDIT" not in line}
    assert unmarked <= {"--job-name", "--output", "--exclusive", "--nodes"}
    marked = {line.split()[1].split("=")[0] for line in lines if "# EDIT" in line}
    assert marked >= {"--gpus-per-node", "--cpus-per-task", "--time", "--partition", "--account"}


def test_series_on_one_and_two_ranks(job):
    done = job.run("series strong strong_cpu 1,2", "series weak weak_cpu 1,2")
    assert done.stderr == ""
    names = [f"{deck}/ranks-{ranks}" for deck in ("strong_cpu", "weak_cpu") for ranks in (1, 2)]
    assert sorted(path.parent for path in job.results.rglob("run.json")) == [job.results / name for name in names]
    records = [job.record(name) for name in names]
    assert [(len(record["ranks"]), record["grid"]["cells"]) for record in records] == [
        (1, [64] * 3), (2, [64] * 3), (1, [48] * 3), (2, [48, 48, 96])]
    assert {(record["result"], record["performance"]["sweeps"]) for record in records} == {("DONE", 20)}
    # One answer; a weak series has a different problem for each grid.
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


def test_repeats_have_folders_of_their_own_and_nodes_are_filled_before_the_next(tmp_path):
    job = Job(tmp_path, FOLDER / "slurm_several_nodes.sh")
    job.edit("repeats=", "2")
    job.edit("gpus=", "2")
    done = job.run("series strong strong_cpu 2,3")
    assert sorted(path.parent.name for path in job.results.rglob("run.json")) == [
        f"ranks-{ranks}_run-{repeat}" for ranks in (2, 3) for repeat in (1, 2)]
    assert [line[:2] for line in table(done.stdout)] == [("2", "2"), ("3", "2")] and table(done.stdout)[0][2] == "100.0"
    calls = {re.match(r"(--nodes=\d+) .*(--ntasks=\d+) ", call).groups() for call in job.calls.read_text().splitlines()}
    assert calls == {("--nodes=1", "--ntasks=2"), ("--nodes=2", "--ntasks=3")}


def test_a_run_that_fails_is_named_and_the_others_go_on(job):
    done = job.run("series strong strong_cpu 1,2", before_srun='[[ $ranks == 1 ]] && exit 69', code=1)
    assert done.stderr.startswith("1 of 2 cases failed ") and done.stderr.endswith("\nfailed: strong_cpu\n")
    assert "strong scaling, compared with none (ranks-1: failed)\n" in done.stdout
    assert job.record("strong_cpu/ranks-2")["result"] == "DONE"


def test_without_slurm_by_the_launcher_of_mpi(job):
    """The comment on the line of the launcher says how to change it."""
    instead = next(re.search(r'# EDIT: or "(mpirun -n .*)"', line)[1] for line in job.lines if line.startswith("launcher="))
    job.edit("launcher=", '"' + instead.replace("mpirun", MPIEXEC) + '"')
    job.run("series weak weak_cpu 2")
    assert not job.calls.exists() and len(job.record("weak_cpu/ranks-2")["ranks"]) == 2
