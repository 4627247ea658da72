"""A study with a real Slurm of one node: arrays, failures, cases that are cancelled, signalled or requeued and resume, the last job."""

import re
import time

from job import wait_until
from program import command, finished, ran, write_deck
from runs import checkpoints, expect_same_answer, record
from slurm import slurm  # noqa: F401  (a fixture)
from studies import BASE, collected, folders, rows, started, states

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
SRUN = "srun --mpi=pmix --overlap --ntasks={ranks}"


class Study:
    """The study of a deck, in its folder. srun starts the ranks."""

    def __init__(self, slurm, folder, deck):
        self.slurm, self.folder, self.out = slurm, folder, folder / "out"
        write_deck(folder, deck)

    def submit(self, **environment):
        """The output, and the numbers of the jobs, which also have this environment."""
        said = finished(command("study", "deck.yaml", "--slurm", f"study.launcher={SRUN}"), 0, cwd=self.folder,
                        env={**self.slurm.environment, **environment}).stdout
        return said, re.findall(r"^job (\d+):", said, re.MULTILINE)

    def wait_for(self, case):
        """Waits until the case is about to sweep."""
        wait_until((self.out / case / "history.csv").exists, f"{case} does not start")

    def wait(self, jobs):
        for job in jobs:
            self.slurm.wait(job)

    def said(self):
        return "\n".join(path.read_text() for path in sorted(self.out.glob("slurm_*.txt")))


def test_a_study_goes_through_arrays_and_on_after_a_stop(slurm, tmp_path, halo_shim):
    study = Study(slurm, tmp_path, LONG + "study:\n" + CASES)
    said, jobs = study.submit(LD_PRELOAD=str(halo_shim), ISOTHERM_HALO_FAULT="-1:late")
    assert "6 cases, 6 to submit" in said and len(jobs) == 3
    one, two, last = jobs
    for case in ("alone", "requeued", "cancelled", "signalled"):
        study.wait_for(case)
    time.sleep(0.5)
    study.slurm.ask("scontrol", "requeue", f"{one}_4")
    again, none = study.submit()
    assert none == [] and re.search(r"[3-5] in the queue, 0 to submit", again), again
    study.slurm.ask("scancel", f"{one}_3", f"{two}_5")
    study.slurm.ask("scancel", "--batch", "--signal=USR1", f"{two}_6")
    study.wait(jobs)

    # The last job has collected the results.
    assert states(study.out) == {"short": "done", "grows": "failed", "alone": "stopped", "requeued": "done",
                                 "cancelled": "stopped", "signalled": "stopped"}, study.said()
    assert rows(study.out)["grows"]["exit_code"] == "76"
    for case in ("alone", "cancelled", "signalled"):
        assert record(study.out / case)["exit_code"] == 75 and len(checkpoints(study.out / case)) == 1
    assert len(record(study.out / "cancelled")["ranks"]) == 2
    assert "signalled: stopped after" in study.said()
    first = started(study.out / "short")

    said, jobs = study.submit()
    assert "6 cases, 2 finished before, 1 failed before (--retry submits them again), 3 to submit" in said
    study.wait(jobs)
    assert states(study.out) == {"short": "done", "grows": "failed", "alone": "done", "requeued": "done", "cancelled": "done",
                                 "signalled": "done"}, study.said()
    assert started(study.out / "short") == first and len(folders(study.out)) == 6
    assert record(study.out / "alone")["continuation"]["restarted_from"] is not None
    for case in ("requeued", "cancelled", "signalled"):
        assert record(study.out / case)["continuation"]["restarted_from"] is not None
        ran("run", study.out / case / f"{case}.yaml", f"output.directory=whole_{case}", cwd=study.folder)
        expect_same_answer(study.folder / f"whole_{case}", study.out / case)

    assert "5 finished before, 1 failed before" in ran("study", "deck.yaml", cwd=study.folder, code=76).stdout


def test_a_scaling_study_has_an_array_for_each_count(slurm, tmp_path):
    study = Study(slurm, tmp_path, BASE + "scaling: {kind: weak, ranks: [1, 2], repeats: 2}\n")
    said, jobs = study.submit()
    assert "4 cases, 4 to submit" in said and len(jobs) == 3, said
    study.wait(jobs)
    assert set(states(study.out).values()) == {"done"}, study.said()
    assert {len(record(study.out / f"ranks-{ranks}_run-{run}")["ranks"]) == ranks for ranks in (1, 2) for run in (1, 2)} == {True}
    series, = collected(study.out)["scaling"]["series"]
    assert [(row["ranks"], row["runs"], row["cells"], row["remark"]) for row in series["rows"]] == [
        (1, 2, [17, 13, 15], None), (2, 2, [17, 13, 30], None)]
    assert series["rows"][1]["efficiency_percent"] > 0
    assert "weak scaling, compared with 1 rank" in study.said(), "the job that collects prints the table"
