"""isotherm study --slurm without a Slurm: the job scripts, the options of sbatch, and rejections. Stand-ins answer."""

import json
import os
import re
import shutil

import pytest

from program import finished, isotherm, LAUNCHER as MPIRUN, ran, write_script
from studies import BASE, collected, folders, rows, states, write_study

LAUNCHER = f"  launcher: {MPIRUN}\n"
CASES = "  list: [{name: a}, {name: b, ranks: 2}, {name: c, precision: fp32}, {name: d, problem.steps: 6}]\n" + LAUNCHER


class Queue:
    """Stand-ins of sbatch and squeue in front of PATH: jobs get the numbers 11, 12, ..., and nothing starts by itself."""

    def __init__(self, folder):
        self.folder = folder
        self.queued = self.folder / "queued"
        self.queued.write_text("")
        self.stand_in("squeue", f'cat "{self.queued}"')
        self.stand_in("sbatch", f'n=$(wc -l <"{self.folder}/calls_of_sbatch"); echo "$((n + 10));cluster"')

    def stand_in(self, name, body):
        write_script(self.folder / name, f'#!/bin/bash\nprintf "%s\\n" "$*" >>"{self.folder}/calls_of_{name}"\n{body}\n')

    def calls(self, name="sbatch"):
        path = self.folder / f"calls_of_{name}"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def path(self):
        return f"{self.folder}:{os.environ['PATH']}"


@pytest.fixture
def queue(tmp_path_factory):
    return Queue(tmp_path_factory.mktemp("slurm"))


@pytest.fixture
def work(tmp_path):
    write_study(tmp_path, CASES)
    return tmp_path


def submit(folder, queue, *words, code=0):
    return isotherm("study", "deck.yaml", "--slurm", *words, cwd=folder, code=code, PATH=queue.path)


def start(script, task, code=0, **environment):
    """Starts a task as Slurm would, on this machine."""
    return finished(["bash", script], code, cwd="/", env={**os.environ, "SLURM_ARRAY_TASK_ID": str(task), **environment})


def task_of(case):
    return json.loads((case / "slurm.json").read_text())["task"]


def test_a_dry_run_prints_the_scripts_and_submits_nothing(work, queue):
    done = submit(work, queue, "--dry-run", "--jobs", "2", "study.slurm.options=[--partition=gpu, --time=10]")
    assert os.listdir(work) == ["deck.yaml"] and queue.calls() == []
    summary, *parts = re.split(r"\n==> (.*) <==\n", done.stdout)
    assert summary == "4 cases, 4 to submit\n"
    scripts = dict(zip(parts[::2], parts[1::2]))
    assert list(scripts) == ["out/study_ranks_1.sbatch", "out/study_ranks_2.sbatch",
                             "out/study_collect.sbatch, when they have ended"]
    one, two, last = scripts.values()
    for text, array, ranks, cases in ((one, "1,3-4%2", 1, "[1]=a [3]=c [4]=d"), (two, "2%2", 2, "[2]=b")):
        for line in (f"#SBATCH --array={array}", f"#SBATCH --ntasks={ranks}", f"cases=({cases})", f"cd {work} || exit 74",
                     "#SBATCH --partition=gpu", "#SBATCH --time=10", "#SBATCH --job-name=deck",
                     f"#SBATCH --output={work}/out/slurm_%A_%a.txt"):
            assert line in text.splitlines(), line
    assert last.rstrip().endswith("--collect") and "cases=()" in last
    for text in scripts.values():
        if shutil.which("shellcheck"):
            finished(["shellcheck", "-"], 0, input=text)


def test_a_task_is_a_case_and_the_last_job_collects(work, queue):
    done = submit(work, queue)
    assert done.stderr == ""
    assert re.findall(r"^job (\d+): (\w+)", done.stdout, re.MULTILINE) == [("11", "3"), ("12", "1"), ("13", "collects")]
    assert queue.calls() == ["--parsable out/study_ranks_1.sbatch", "--parsable out/study_ranks_2.sbatch",
                             "--parsable --dependency=afterany:11:12 out/study_collect.sbatch"]
    out = work / "out"
    assert {name: task_of(out / name) for name in folders(out)} == {"a": "11_1", "b": "12_2", "c": "11_3", "d": "11_4"}
    for name, script, task in (("a", 1, 1), ("b", 2, 2), ("d", 1, 4)):
        case = start(out / f"study_ranks_{script}.sbatch", task)
        assert case.stderr == "" and f"[1/1] {name}: done" in case.stdout
    assert not (out / "study.csv").exists()
    last = start(out / "study_collect.sbatch", 1, code=75)  # c has not finished
    assert last.stderr.endswith("3 of 4 cases finished; resume with: isotherm study deck.yaml --slurm\n")
    assert states(out) == {"a": "done", "b": "done", "c": "not started", "d": "done"}
    assert rows(out)["b"]["ranks"] == "2" and len(collected(out)["cases"][1]["run"]["ranks"]) == 2

    # Only the missing case; then none, and --slurm itself collects.
    assert "4 cases, 3 finished before, 1 to submit" in submit(work, queue).stdout
    assert "#SBATCH --array=3\n" in (out / "study_ranks_1.sbatch").read_text()
    start(out / "study_ranks_1.sbatch", 3)
    calls = len(queue.calls())
    done = submit(work, queue)
    assert "4 of 4 cases finished" in done.stdout and len(queue.calls()) == calls
    assert set(states(out).values()) == {"done"}


def test_cases_in_the_queue_are_not_submitted_again(work, queue):
    submit(work, queue)
    queue.queued.write_text("11_1\n11_3\n12_2\n99_4\n")
    again = submit(work, queue)
    assert again.stdout.startswith("4 cases, 3 in the queue, 1 to submit\njob 14: 1 case on 1 rank")
    assert task_of(work / "out" / "d") == "14_4"
    queue.queued.write_text("11_1\n11_3\n12_2\n14_4\n")
    calls = queue.calls()
    assert submit(work, queue).stdout == "4 cases, 4 in the queue, 0 to submit\n"
    assert queue.calls() == calls
    assert queue.calls("squeue")[0] == f"--user={os.getuid()} --array --noheader --format=%F_%K"


def test_a_failed_case_is_submitted_with_retry(work, queue):
    write_study(work, "  list: [{name: a}, {name: b, ranks: 2}]\n  launcher: false {ranks}\n")
    submit(work, queue)
    start(work / "out" / "study_ranks_1.sbatch", 1)
    script = work / "out" / "study_ranks_2.sbatch"
    assert "b: failed (exit code 1)" in start(script, 1, code=70).stdout
    assert "1 failed before (--retry submits them again), 0 to submit" in submit(work, queue, code=70).stdout
    assert "2 cases, 1 finished before, 1 to submit" in submit(work, queue, "--retry", f"study.launcher={MPIRUN}").stdout  # it is not part of a case
    start(script, 1)
    ran("study", "deck.yaml", cwd=work)


def test_a_task_that_stops_is_submitted_again(work, queue):
    """The study prints this command: that of the case would run where it is typed, with the srun of a job."""
    write_study(work, "  list: [{name: a, solver.walltime: 0.001}]\n")
    submit(work, queue)
    task = start(work / "out" / "study_ranks_1.sbatch", 1, code=75)
    assert task.stderr.endswith("resume with: isotherm study deck.yaml --slurm\n")


def test_ranks_are_started_by_srun_unless_the_deck_says_otherwise(work, queue):
    assert "srun --" not in submit(work, queue, "--dry-run").stdout
    write_study(work, CASES.replace(LAUNCHER, ""))
    assert "'study.launcher=srun --ntasks={ranks}'" in submit(work, queue, "--dry-run").stdout


def test_a_deck_that_changes_while_its_jobs_wait_is_not_run(work, queue):
    submit(work, queue)
    write_study(work, CASES.replace("problem.steps: 6", "problem.steps: 7"))
    script = work / "out" / "study_ranks_1.sbatch"
    task = start(script, 4, code=65, SLURM_ARRAY_JOB_ID="11")
    assert task.stderr.startswith("case d: differs from the case submitted as 11_4 (problem.steps 6 -> 7); ")
    assert not (work / "out" / "d" / "run.json").exists()
    start(script, 3, SLURM_ARRAY_JOB_ID="11")  # c is unchanged
    submit(work, queue)
    start(script, 4, SLURM_ARRAY_JOB_ID="14")


def test_names_of_folders_and_overrides_reach_the_task_as_they_are(tmp_path, queue):
    folder = tmp_path / "it's $HOME; a \"test\""
    folder.mkdir()
    write_study(folder, "  list: [{name: a}]\n")
    out = tmp_path / "out"
    submit(folder, queue, f"output.directory={out}", 'initial.0.formula="300 + 5*x"')
    assert start(out / "study_ranks_1.sbatch", 1).stderr == ""
    assert "300 + 5*x" in (out / "a" / "deck.yaml").read_text()


def test_a_study_for_a_gpu_is_submitted_where_there_is_none(work, queue):
    base = BASE.replace("parallel: {device: cpu}\n", "parallel: {device: cuda}\n").replace(
        "solver: {kernel: reference, reduction: reference}\n", "")
    write_study(work, "  list: [{name: a}, {name: b, ranks: 2}]\n", base)
    ran("study", "deck.yaml", "--slurm", cwd=work, PATH=queue.path, CUDA_VISIBLE_DEVICES="")
    assert start(work / "out" / "study_ranks_1.sbatch", 1, code=69, CUDA_VISIBLE_DEVICES="").stderr.endswith("[case a]\n")
    # Errors that apply to every host are rejected here.
    write_study(work, "  list: [{name: b, ranks: 6, parallel.process_grid: [1, 2, 2]}]\n", base)
    submit(work, queue, code=65)
    assert ran("check", "deck.yaml", cwd=work, code=65).stderr.endswith("[case b]\n")


NEEDED = "#!/bin/sh\n#SBATCH -a @tasks@\n#SBATCH -n @ranks@\n: @cases@\n@command@\n"


@pytest.mark.parametrize("text, words, code, message", [
    (None, [], 66, "study.slurm.template: 'own.sbatch' cannot be read (No such file or directory)"),
    ("", [], 66, "study.slurm.template: 'own.sbatch' cannot be read (it is empty); name a copy of inputs/study.sbatch"),
    (NEEDED.replace("@tasks@", "1").replace("@command@", ""), [], 65, "own.sbatch: has no '@tasks@', '@command@'"),
    (NEEDED.replace("@ranks@", "@rank@"), [], 65, "own.sbatch:3: unknown place-holder '@rank@'; did you mean '@ranks@'?"),
    (NEEDED, ["study.slurm.options=[--time=1]"], 65, "own.sbatch: has no '@options@' (placeholders decide what a task runs"),
    (NEEDED, ['study.slurm.options=["--time=1\\nrm -rf"]'], 65, "argument {}: study.slurm.options.0: '--time=1\\x0Arm"),
    (NEEDED, ["study.slurm.options=[gpu]"], 65, "argument {}: study.slurm.options.0: 'gpu' is no option of sbatch"),
    (NEEDED, ["output.directory=a b"], 73, "cannot use '{}/a b' as the directory of a study with --slurm")])
def test_errors_are_reported_before_anything_is_submitted(work, queue, text, words, code, message):
    write_study(work, CASES + "  slurm: {template: own.sbatch}\n")
    if text is not None:
        (work / "own.sbatch").write_text(text)
    before = sorted(work.rglob("*"))
    done = submit(work, queue, *words, "--dry-run", code=code)
    assert done.stderr.startswith(message.replace("{}/", f"{work}/").replace("{}", "4")), done.stderr
    assert done.stderr.count("\n") == 1 and queue.calls() == [] and sorted(work.rglob("*")) == before


def test_a_users_own_template_makes_the_scripts(work, queue):
    write_study(work, CASES + "  slurm: {template: own.sbatch}\n")
    (work / "own.sbatch").write_text(NEEDED + "# mine\n")
    assert submit(work, queue, "--dry-run").stdout.count("\n# mine\n") == 3  # of two rank counts, and to collect


def test_a_missing_slurm_is_reported_in_one_line(work, tmp_path):
    done = isotherm("study", "deck.yaml", "--slurm", cwd=work, code=69, PATH=str(tmp_path / "nothing"))
    assert done.stderr.startswith("cannot start 'sbatch' (No such file or directory); ")
    ran("study", "deck.yaml", cwd=work)  # prepared scripts do not hinder a study without Slurm


@pytest.mark.parametrize("body, message", [
    ("echo 'error: no partition gpu' >&2; echo 'error: failed' >&2; exit 1",
     "sbatch ended with exit code 1 (error: no partition gpu; error: failed); edit study.slurm.template or "),
    ("echo welcome", "sbatch answered 'welcome\\x0A', which is no job number; submit 'out/study_ranks_1.sbatch' by hand")])
def test_other_errors_of_sbatch_are_quoted(work, queue, body, message):
    queue.stand_in("sbatch", body)
    done = submit(work, queue, code=69)
    assert done.stderr.startswith(message), done.stderr
    assert len(queue.calls()) == 1 and not list(work.rglob("slurm.json")) and not list(work.rglob("slurm_*.txt"))


def test_a_case_by_its_name_alone(work):
    ran("study", "deck.yaml", "--case", "c", cwd=work)
    assert folders(work / "out") == ["c"] and not (work / "out" / "study.csv").exists()
    wrong = isotherm("study", "deck.yaml", "--case", "cc", cwd=work)
    assert (wrong.returncode, wrong.stderr) == (2, "--case cc: the study has no case of this name; did you mean 'c'?\n")
