"""inputs/scaling: decks that a run would accept, and job scripts that need no change but in the lines marked EDIT."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
from cli import isotherm

FOLDER = Path(__file__).parents[2] / "inputs" / "scaling"
DECKS = sorted(FOLDER.glob("*.yaml"))
SCRIPTS = sorted(FOLDER.glob("slurm_*.sh"))


def weak_cells(ranks, cells):
    """As the job scripts say it."""
    line = f'isotherm=. decks=. results=. repeats=1; source "{FOLDER}/runs.sh"; weak_cells {ranks} {cells}'
    return subprocess.run(["bash", "-euc", line], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def test_all_is_there():
    assert [path.name for path in DECKS] == ["strong_1024.yaml", "strong_512.yaml", "strong_cpu.yaml",
                                             "weak_1024.yaml", "weak_512.yaml", "weak_cpu.yaml"]
    assert [path.name for path in SCRIPTS] == ["slurm_one_node.sh", "slurm_several_nodes.sh"]


@pytest.mark.parametrize("ranks, cells", [
    (1, "[10,10,10]"), (2, "[10,10,20]"), (3, "[10,10,30]"), (4, "[10,20,20]"), (6, "[10,30,20]"), (7, "[10,10,70]"),
    (8, "[20,20,20]"), (16, "[20,20,40]"), (4096, "[160,160,160]"),
])
def test_a_weak_series_grows_all_axes(ranks, cells):
    assert weak_cells(ranks, 10) == cells


# A plan for more ranks than there are asks for no memory: the decks for GPUs need not fit this machine.
@pytest.mark.parametrize("ranks", [2, 4, 8, 512])
@pytest.mark.parametrize("deck", DECKS, ids=lambda path: path.stem)
def test_every_deck_passes_check_as_its_series_uses_it(tmp_path, deck, ranks):
    cells = int(re.search(r"^  cells: (\d+)$", deck.read_text(), re.MULTILINE)[1])
    grow = [f"grid.cells={weak_cells(ranks, cells)}"] if deck.stem.startswith("weak") else []
    result = isotherm("check", str(deck), "--ranks", str(ranks), *grow, cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    assert f"({ranks} ranks), " in result.out
    total = cells**3 * (ranks if grow else 1)
    assert f"{total // ranks} to {total // ranks} cells a rank" in result.out
    assert os.listdir(tmp_path) == []


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
        at = [i for i, line in enumerate(self.lines) if re.match("(strong|weak) ", line)]
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
        return subprocess.run(["bash", path], cwd=self.folder, env=environment, timeout=300, capture_output=True,
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
    job.series("strong strong_cpu.yaml 1 2", "weak weak_cpu.yaml 1 2")
    done = job.run()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout

    names = [f"{deck}/ranks_{ranks}_run_1" for deck in ("strong_cpu", "weak_cpu") for ranks in (1, 2)]
    assert sorted(path.parent for path in job.results.rglob("run.json")) == [job.results / name for name in names]
    records = [job.record(name) for name in names]
    assert [len(record["ranks"]) for record in records] == [1, 2, 1, 2]
    assert [record["grid"]["cells"] for record in records] == [[64] * 3, [64] * 3, [48] * 3, [48, 48, 96]]
    assert all(record["result"] == "PASS" for record in records)
    assert all(record["performance"]["sweeps"] == 20 for record in records)
    # One answer; a weak series has as many problems as grids.
    prints = [record["fingerprint"] for record in records]
    assert prints[0] == prints[1] and prints[2] != prints[3]

    calls = job.calls.read_text().splitlines()
    assert [re.search(r"--nodes=(\d+) --ntasks=(\d+) ", call).groups() for call in calls] == [("1", "1"), ("1", "2")] * 2
    table = re.findall(r"^ +(\d+) ranks +[\d.]+ GLUP/s +efficiency +([\d.]+) %  1 runs$", done.stdout, re.MULTILINE)
    assert [ranks for ranks, _ in table] == ["1", "2", "1", "2"]
    assert (table[0][1], table[2][1]) == ("100.0", "100.0")


def test_repeats_have_folders_of_their_own(job):
    job.series("strong strong_cpu.yaml 2")
    job.edit("repeats=", "3")
    done = job.run()
    assert done.returncode == 0, done.stderr
    assert sorted(path.parent.name for path in job.results.rglob("run.json")) == [
        f"ranks_2_run_{repeat}" for repeat in (1, 2, 3)]
    assert re.search(r"^ +2 ranks .* efficiency  100.0 %  3 runs$", done.stdout, re.MULTILINE)


def test_nodes_are_filled_before_the_next(tmp_path):
    job = Job(tmp_path, FOLDER / "slurm_several_nodes.sh")
    job.edit("gpus=", "2")
    job.series("strong strong_cpu.yaml 1 2 3")
    assert job.run().returncode == 0
    calls = job.calls.read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["--nodes=1", "--nodes=1", "--nodes=2"]


def test_a_run_that_fails_is_named_and_the_others_go_on(job):
    job.series("strong strong_cpu.yaml 1 2")
    job.srun(before='[[ $ranks == 1 ]] && exit 69')
    done = job.run()
    assert done.returncode == 1
    assert done.stderr == f"failed: {job.results}/strong_cpu/ranks_1_run_1\n"
    assert job.record("strong_cpu/ranks_2_run_1")["result"] == "PASS"


def test_a_strong_series_with_two_answers_fails(job):
    job.series("strong strong_cpu.yaml 1 2")
    job.srun(before='[[ $ranks == 1 ]] && set -- "${@/steps=20/steps=21}"')
    done = job.run()
    assert done.returncode == 1
    assert done.stderr == ("strong_cpu.yaml: 2 different fingerprints (one problem has one answer on any number of "
                           "ranks)\nfailed: strong_cpu.yaml\n")


def test_without_slurm_by_the_launcher_of_mpi(job):
    """The line of `start` says what to write."""
    at, = [i for i, line in enumerate(job.lines) if line.startswith("  srun ")]
    instead = re.search(r'# EDIT: or (mpirun -n .*)', job.lines[at])[1]
    job.lines[at] = instead.replace("mpirun", os.environ.get("MPIEXEC", "mpirun"))
    job.series("weak weak_cpu.yaml 2")
    done = job.run()
    assert done.returncode == 0, done.stderr
    assert not job.calls.exists()
    assert len(job.record("weak_cpu/ranks_2_run_1")["ranks"]) == 2


def test_a_weak_deck_whose_cells_are_no_cube(job, tmp_path):
    decks = tmp_path / "decks"
    decks.mkdir()
    (decks / "runs.sh").write_text((FOLDER / "runs.sh").read_text())
    (decks / "weak.yaml").write_text("grid:\n  cells: [8, 9, 10]\n")
    job.edit("decks=", f'"{decks}"')
    job.series("weak weak.yaml 2")
    done = job.run()
    assert done.returncode == 1
    assert done.stderr == f"{decks}/weak.yaml has no line '  cells: NUMBER' (a weak series grows a cube); write one\n"
