"""inputs/scaling: decks that a run would accept, and job scripts that need no change but in the lines marked EDIT."""

import os
import re

import pytest

from documentation import TOP
from program import finished, MPIEXEC, ran, write_script
from runs import record

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


SITE = {"isotherm": os.environ["ISOTHERM"], "decks": f'"{FOLDER}"', "results": '"$PWD/the results"',
        "repeats": "1", "overrides": "(problem.steps=20 problem.check_interval=10)"}


def run_job(folder, script, *series, before_srun="", code=0, **edits):
    """The finished job of a script, edited as a user would in its marked lines: a site's values, these series."""
    text = script.read_text()
    for name, value in {**SITE, **edits}.items():
        text, count = re.subn(rf"^{name}=.*# EDIT.*$", f"{name}={value}", text, flags=re.M)
        assert count == 1, name
    text, count = re.subn(r"(^series (strong|weak) .*# EDIT.*\n)+", "\n".join([*series, ""]), text, flags=re.M)
    assert count == 1
    (folder / "job.sh").write_text(text)
    programs = folder / "bin"
    programs.mkdir()
    write_script(programs / "srun", SRUN.format(calls=folder / "calls", before=before_srun, mpiexec=MPIEXEC))
    return finished(["bash", "job.sh"], code, cwd=folder, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})


@pytest.fixture(params=SCRIPTS, ids=lambda path: path.stem)
def script(request):
    return request.param


def test_lines_that_a_site_must_edit_are_marked(script):
    """Of the #SBATCH options only the name of the job, its output, and exclusive nodes need no edit."""
    lines = [line for line in script.read_text().splitlines() if line.startswith("#SBATCH")]
    unmarked = {line.split()[1].split("=")[0] for line in lines if "# EDIT" not in line}
    assert unmarked <= {"--job-name", "--output", "--exclusive", "--nodes"}
    marked = {line.split()[1].split("=")[0] for line in lines if "# EDIT" in line}
    assert marked >= {"--gpus-per-node", "--cpus-per-task", "--time", "--partition", "--account"}


def test_series_on_one_and_two_ranks(script, tmp_path):
    done = run_job(tmp_path, script, "series strong strong_cpu 1,2", "series weak weak_cpu 1,2")
    assert done.stderr == ""
    results = tmp_path / "the results"
    folders = [results / deck / f"ranks-{ranks}" for deck in ("strong_cpu", "weak_cpu") for ranks in (1, 2)]
    assert sorted(path.parent for path in tmp_path.rglob("run.json")) == folders
    records = [record(folder) for folder in folders]
    assert [(len(run["ranks"]), run["grid"]["cells"]) for run in records] == [
        (1, [64] * 3), (2, [64] * 3), (1, [48] * 3), (2, [48, 48, 96])]
    assert {(run["result"], run["performance"]["sweeps"]) for run in records} == {("DONE", 20)}
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [re.search(r"--nodes=(\d+) --ntasks=(\d+) ", call).groups() for call in calls] == [("1", "1"), ("1", "2")] * 2
    assert re.findall(r"^(\w+) scaling, compared with 1 rank$", done.stdout, re.MULTILINE) == ["strong", "weak"]


def test_repeats_have_folders_of_their_own_and_nodes_are_filled_before_the_next(tmp_path):
    run_job(tmp_path, FOLDER / "slurm_several_nodes.sh", "series strong strong_cpu 2,3", repeats=2, gpus=2)
    assert sorted(path.parent.name for path in tmp_path.rglob("run.json")) == [
        f"ranks-{ranks}_run-{repeat}" for ranks in (2, 3) for repeat in (1, 2)]
    calls = set(re.findall(r"^--nodes=(\d+) .*--ntasks=(\d+) ", (tmp_path / "calls").read_text(), re.MULTILINE))
    assert calls == {("1", "2"), ("2", "3")}


def test_a_run_that_fails_is_named_and_the_others_continue(script, tmp_path):
    done = run_job(tmp_path, script, "series strong strong_cpu 1,2", before_srun='[[ $ranks == 1 ]] && exit 69', code=1)
    assert done.stderr.startswith("1 of 2 cases failed ") and done.stderr.endswith("\nfailed: strong_cpu\n")
    assert record(tmp_path / "the results/strong_cpu/ranks-2")["result"] == "DONE"


def test_without_slurm_by_the_launcher_of_mpi(script, tmp_path):
    """The comment on the line of the launcher says how to change it."""
    instead = re.search(r'^launcher=.*# EDIT: or "(mpirun -n .*)"', script.read_text(), re.MULTILINE)[1]
    run_job(tmp_path, script, "series weak weak_cpu 2", launcher=f'"{instead.replace("mpirun", MPIEXEC)}"')
    assert not (tmp_path / "calls").exists() and len(record(tmp_path / "the results/weak_cpu/ranks-2")["ranks"]) == 2
