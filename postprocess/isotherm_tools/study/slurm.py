"""isotherm study --slurm: submits the cases that are due as job arrays, whose tasks run isotherm study --case.

A task has the number of its case, from 1. Cases beyond the limit of an array (MaxArraySize, 1001 by default) form another array,
whose numbers begin at 1 again."""

import os
import re
import subprocess
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

from isotherm_tools.program import CANNOT_CREATE, DATA, FILE_MISSING, UNAVAILABLE, Failure, failing, say, write_text
from isotherm_tools.study import state
from isotherm_tools.study.deck import safe_name
from isotherm_tools.study.runner import StopSignals, child_setup, signal_name
from isotherm_tools.text import counted, escaped, groups, in_quotes, meant, printable, shell_words

MOST_TASKS = 1000
LAUNCHER = "study.launcher=srun --ntasks={ranks}"
OWN_TEMPLATE = Path(__file__).with_name("study.sbatch")
ADVICE = "run isotherm where Slurm's programs are, or study without --slurm"


def read_template(path):
    with failing(OSError, FILE_MISSING, lambda error: f"study.slurm.template: {in_quotes(path)} cannot be read ({error.strerror}); "
                 "name a copy of inputs/study.sbatch"):
        if text := (Path(path) if path else OWN_TEMPLATE).read_text(encoding="utf-8"):
            return text
        raise OSError(None, "it is empty")


def fill(path, text, values):
    """`path`: of the template, for messages; `values`: by the names of the placeholders."""
    path, used = path or "inputs/study.sbatch", set()
    needed = ("tasks", "ranks", *(["options"] if values["options"] else []), "cases", "command")

    def value(found):
        name = found[1]
        if name not in values:
            advice = meant(name, values, "use one of " + ", ".join(f"@{each}@" for each in values), "'@{}@'")
            line = 1 + text.count("\n", 0, found.start())
            raise Failure(DATA, f"{path}:{line}: unknown place-holder '@{printable(name)}@'; {advice}")
        used.add(name)
        return values[name]

    filled = re.sub("@([a-z_]+)@", value, text)  # other uses of @ are no placeholders: an address, "${cases[@]}"
    if missing := ", ".join(f"'@{name}@'" for name in needed if name not in used):
        raise Failure(DATA, f"{path}: has no {missing} (placeholders decide what a task runs); add it as in inputs/study.sbatch")
    return filled


def array_text(tasks, at_once=0):
    """1,3-7%2"""
    # Consecutive tasks have the same difference from their positions in the list.
    rows = [[task for _, task in row] for _, row in groupby(enumerate(tasks), lambda each: each[1] - each[0])]
    ranges = [f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]) for row in rows]
    return ",".join(ranges) + (f"%{at_once}" if at_once else "")


class Submission:
    """`options`: of isotherm study; their `jobs` is the number of tasks at once, 0: no limit."""

    def __init__(self, deck, options):
        self.deck, cases, limit = deck, deck.cases, options.limit
        self.folder = Path(os.path.normpath(deck.directory.absolute()))
        if re.search(r"[\x00- \"'\\%#]", str(self.folder)):
            raise Failure(CANNOT_CREATE, f"cannot use {in_quotes(self.folder)} as the directory of a study with --slurm (a blank, quote, "
                                         "'%' or '#' has another meaning for sbatch); choose another with output.directory=...")
        self.template = read_template(deck.sections["template"])
        due, before = state.due_cases(deck, options.retry, "submits")
        submitted = {number: task for number in due if (task := read_submission(cases[number]).get("task"))}
        # This user's tasks that wait or run, such as "123_4".
        queued = set(ask("squeue", f"--user={os.getuid()}", "--array", "--noheader", "--format=%F_%K").split()) if submitted else set()
        left = [number for number in due if submitted.get(number) not in queued]
        self.due, self.queued = len(left), len(due) - len(left)
        self.summary = before + (f", {self.queued} in the queue" if self.queued else "") + f", {self.due} to submit\n"
        words = shell_words([deck.program.path, "study", deck.path, *deck.overrides, *(["--limit", limit] if limit else [])])
        command = words + ("" if deck.launcher else f" {shell_words([LAUNCHER])}") + (" --retry" if options.retry else "")
        command += " --case \"${cases[SLURM_ARRAY_TASK_ID]}\""
        arrays = groups(left, lambda number: (cases[number].ranks, number // MOST_TASKS))
        # Makes all scripts before the first is submitted, so that a wrong template is rejected in time.
        self.arrays = [self.script(f"ranks_{ranks}" + (f"_part_{part + 1}" if part else ""), ranks, command,
                                   {number % MOST_TASKS + 1: cases[number] for number in numbers}, options.jobs)
                       for (ranks, part), numbers in sorted(arrays.items())]
        self.collecting = self.script("collect", 1, f"{words} --collect", {1: None}) if left else None

    def script(self, what, ranks, command, tasks, at_once=0):
        """`ranks`: of each task, as the cases of an array share one request of resources; `tasks`: ascending, with their cases, None:
        no case; `at_once`: 0: no limit."""
        values = {"name": safe_name(Path(self.deck.path).stem) or "study", "output": str(self.folder / "slurm_%A_%a.txt"),
                  "tasks": array_text(tasks, at_once), "ranks": str(ranks),
                  "options": "\n".join(f"#SBATCH {option}" for option in self.deck.sections["options"]),
                  "cases": " ".join(f"[{task}]={case.name}" for task, case in tasks.items() if case),
                  "folder": shell_words([os.getcwd()]), "command": command}
        return SimpleNamespace(file=str(self.deck.directory / f"study_{what}.sbatch"), ranks=ranks, tasks=tasks,
                               text=fill(self.deck.sections["template"], self.template, values))

    def dry_run_text(self):
        """The scripts that would be submitted, and how; submits and writes nothing."""
        text = self.summary + "".join(f"\n==> {script.file} <==\n{script.text}" for script in self.arrays)
        if self.due:
            text += f"\n==> {self.collecting.file}, when they have ended <==\n{self.collecting.text}"
        return text

    def submit(self):
        """Writes scripts to the study's existing directory and submits them. False: no case is due, and none is in the queue."""
        say(self.summary)
        if not self.due:
            return self.queued > 0
        signals, jobs = StopSignals(), "afterany"
        for script in self.arrays:
            if signals.noted:
                raise Failure(state.STOPPED, f"stopped by {signal_name(signals.noted)} before all was submitted; the same command submits "
                                             "the rest")
            for case in script.tasks.values():  # before submission, so that a case that starts at once finds its folder
                state.make_folder(case.folder)
                write_text(case.deck_file, case.deck)
            job = self.submit_one(script)
            for task, case in script.tasks.items():
                state.write_json(case.folder / "slurm.json", {
                    "schema": "isotherm-slurm", "schema_version": 1, "task": f"{job}_{task}",
                    "submitted": state.utc_now(), "ranks": case.ranks, "deck": case.deck})
            say(f"job {job}: {counted(len(script.tasks), 'case')} on {counted(script.ranks, 'rank')}, by {in_quotes(script.file)}\n")
            jobs += f":{job}"
        last = self.submit_one(self.collecting, f"--dependency={jobs}")
        say(f"job {last}: collects their results, when all have ended, in {in_quotes(self.deck.directory / 'study.csv')}\n")
        return True

    def submit_one(self, script, *options):
        """Submits a script and returns the job's number. `options` precede the script."""
        write_text(script.file, script.text)
        answer = ask("sbatch", "--parsable", *options, script.file)
        if job := re.match(r"\d+(?=[;\n]|$)", answer):  # "123;cluster"
            return job[0]
        raise Failure(UNAVAILABLE, f"sbatch answered '{printable(answer)}', which is no job number; submit {in_quotes(script.file)} by hand")


def ask(*words):
    with failing(OSError, UNAVAILABLE, lambda error: f"cannot start {in_quotes(words[0])} ({error.strerror}); {ADVICE}"):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, errors="replace",
                              preexec_fn=child_setup())  # noqa: PLW1509
    if done.returncode == 0:
        return done.stdout
    said = "; ".join(done.stderr.rstrip("\n").split("\n"))
    raise Failure(UNAVAILABLE, f"{words[0]} ended with exit code {done.returncode if done.returncode > 0 else 128 - done.returncode} "
                               f"({escaped(said) or 'without a message'}); edit study.slurm.template or study.slurm.options, or ask those who "
                               "run the cluster")


def read_submission(case):
    record = state.read_json(case.folder / "slurm.json")
    return record if record.get("schema") == "isotherm-slurm" else {}


def check_unchanged_since_submission(deck):
    """Fails if this process is the Slurm task of a case, and the case has changed since it was submitted."""
    case, task = deck.cases[0], "_".join(os.environ.get(f"SLURM_ARRAY_{name}_ID", "") for name in ("JOB", "TASK"))
    submission = read_submission(case)
    if submission.get("task") == task and (
            found := state.changes_since(deck, case, submission.get("deck", ""), submission.get("ranks", 1))):
        raise Failure(DATA, f"case {case.name}: differs from the case submitted as {task} ({', '.join(found)}); submit it again")
