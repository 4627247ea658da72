"""Runs the cases of a study as separate processes, several at once, resumes unfinished cases, and reports progress: a line
for each case that ends, and on a terminal a rewritten line of the running cases, with an estimate of the time left: cells
times sweeps at the mean rate of the cases that have ended, plus their mean time outside sweeps. A steady case counts with
the most sweeps that it may do."""

import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from isotherm_tools.program import CANNOT_CREATE, UNAVAILABLE, Failure, cannot_write, is_launched, say, write, write_text
from isotherm_tools.study import state
from isotherm_tools.text import counted, display_width, escaped, human_duration, in_quotes


class Progress:
    """`work`: cells times sweeps of all cases that are due; `jobs`: cases that run at once. `running`: jobs that run now."""

    def __init__(self, work, cases, jobs):
        self.work, self.cases, self.jobs = work, cases, jobs
        self.ended_work = self.gone_work = self.seconds = self.seconds_of_sweeps = 0
        self.ended_cases = self.gone = 0  # gone: ended or skipped
        self.moves = os.isatty(2) and os.environ.get("TERM", "") not in ("", "dumb") and not is_launched()
        self.is_shown = False

    def say(self, line):
        self.clear()
        say(line + "\n")

    def ended(self, what, work, seconds, seconds_of_sweeps, running):
        """`running`: the jobs that still run."""
        self.ended_cases += 1
        if seconds_of_sweeps > 0:
            self.ended_work += work
        self.seconds += seconds
        self.seconds_of_sweeps += min(seconds_of_sweeps, seconds)
        self.skipped(what, work, running)

    def skipped(self, what, work, running=None):
        """Counts a case that another run has finished, or one of a study that is stopping."""
        self.gone += 1
        self.gone_work += work
        self.say(f"[{self.gone}/{self.cases}] {what}{self.left_text(running)}")

    def left_text(self, running):
        seconds = None if running is None else self.seconds_left(running)
        return "" if seconds is None else f"; about {human_duration(seconds)} left"

    def seconds_left(self, running):
        """None before a case has ended, and if all cases take longer than estimated."""
        if self.gone == self.cases or not self.seconds_of_sweeps > 0:
            return None
        outside = (self.seconds - self.seconds_of_sweeps) / self.ended_cases
        rate = self.ended_work / self.seconds_of_sweeps
        left = [max(outside + job.case.work / rate - job.seconds, 0) for job in running]
        waiting_work = self.work - self.gone_work - sum(job.case.work for job in running)
        waiting = max(self.cases - self.gone - len(running), 0)
        whole = sum(left) + waiting * outside + max(waiting_work, 0) / rate
        return max([whole / self.jobs, *left]) if whole > 0 else None

    def show(self, running):
        if not self.moves or not running or in_background():
            return
        cases = ", ".join(f"{job.case.name} for {human_duration(job.seconds)}" for job in running)
        text = f"[{self.gone}/{self.cases}]  {cases}{self.left_text(running)}"
        with suppress(OSError):  # the line may be lost
            columns = os.get_terminal_size(2).columns or shutil.get_terminal_size().columns
            while text and display_width(text) >= columns:
                text = text[:-1]
            write(2, f"\r{text}\033[K")
        self.is_shown = True

    def clear(self):
        if self.is_shown and not in_background():
            with suppress(OSError):
                write(2, "\r\033[K")
        self.is_shown = False


def in_background():
    """True for a background process, which must not write to the terminal line of the shell."""
    with suppress(OSError):
        return os.tcgetpgrp(2) != os.getpgrp()
    return False


POLL_INTERVAL = 0.2  # s between polls; the end of a case wakes this process at once
ONE_REQUEST = 0.5  # s within which signals count as one: launchers and timeout(1) signal a process and its group
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
SESSIONS = "OMPI_MCA_orte_tmpdir_base"
# Open MPI 4 and 5 bind two ranks to a core each, however many threads they have, and the ranks of the next job to the same cores.
UNBOUND = {"OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none"}
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def signal_name(number):
    return signal.Signals(number).name if number in STOP_SIGNALS else f"signal {number}"


class StopSignals:
    """The first signal is only noted. A signal more than half a second later ends the process at once."""

    def __init__(self):
        self.noted, self.noted_at = 0, 0.0
        for number in STOP_SIGNALS:
            signal.signal(number, self.note)

    def note(self, number, _frame):
        if not self.noted:
            self.noted, self.noted_at = number, time.monotonic()
        elif time.monotonic() - self.noted_at > ONE_REQUEST:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


def child_setup():
    """For Popen: gives the child its own process group, so that this process passes on the Ctrl-C of a terminal. If this process dies,
    the child gets SIGTERM: a run then stops with a checkpoint."""
    parent = os.getpid()

    def prepare():
        os.setpgid(0, 0)
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)  # the parent died before prctl took effect
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for number in (signal.SIGCHLD, *STOP_SIGNALS):
            signal.signal(number, signal.SIG_DFL)
    return prepare


def session_folder(number):
    """A folder for the files that Open MPI 4 keeps of a job. Programs of one user on one host share a folder for these files; the first
    creates it, the last removes it. A program that starts while another ends was seen to fail in MPI_Init, once in a hundred starts
    ("mkdir ... File exists"). A study starts many at one time: each gets a folder of its own."""
    return Path(os.environ.get(SESSIONS) or tempfile.gettempdir()) / f"isotherm-{os.getpid()}-{number}"


@dataclass
class Job:
    number: int
    case: object
    resumes: bool = True  # if there is a checkpoint of this case
    said_before: int = 0  # bytes of stderr.txt from earlier runs
    record_before: str = ""  # the run.json of an earlier run
    process: subprocess.Popen = None
    started: float = 0
    waits: bool = False  # for another run in its folder; has been reported

    @property
    def seconds(self):
        return time.monotonic() - self.started


class Runner:
    """Runs cases until all that are due have ended, or until a signal: the cases then stop with checkpoints."""

    def __init__(self, deck, jobs, retry, lock=None):
        self.deck, self.jobs, self.lock = deck, max(1, jobs), lock
        due, self.before = state.due_cases(deck, retry, "starts")
        self.queue = deque(Job(number, deck.cases[number]) for number in due)
        self.progress = Progress(sum(job.case.work for job in self.queue), len(self.queue), self.jobs)
        self.running, self.stopped_by = [], 0

    def run(self):
        """Runs all cases and reports how each ends. Returns the signal, or 0."""
        self.signals = StopSignals()
        # A child that ends wakes this process in sigtimedwait.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        self.progress.say(f"{self.before}, {len(self.queue)} to run")
        try:
            while self.queue or self.running:
                self.pass_on_signal()
                self.start_some()
                self.progress.show(self.running)
                signal.sigtimedwait([signal.SIGCHLD], POLL_INTERVAL)
                self.reap()
                if self.lock:
                    self.lock.keep_alive()
        finally:
            self.progress.clear()
            for job in self.running:  # none, unless an error is raised here
                with suppress(ProcessLookupError):
                    os.killpg(job.process.pid, signal.SIGKILL)
                shutil.rmtree(session_folder(job.number), ignore_errors=True)
        return self.stopped_by

    def pass_on_signal(self):
        number = self.signals.noted
        if not number or self.stopped_by:
            return
        self.stopped_by = number
        self.queue.clear()
        if self.running:
            self.progress.say(f"{signal_name(number)}: {counted(len(self.running), 'case')} still running; each stops with a checkpoint")
        for job in self.running:
            # Launchers pass SIGUSR1 on to their ranks; after other signals they kill the ranks.
            with suppress(ProcessLookupError):
                os.killpg(job.process.pid, signal.SIGUSR1 if self.is_launched(job.case) else number)

    def start_some(self):
        for _ in range(len(self.queue)):
            if len(self.running) >= self.jobs or self.signals.noted:
                return
            job = self.queue.popleft()
            if state.is_busy(job.case.folder):
                if not job.waits:
                    self.progress.say(f"{job.case.name}: waiting for another run in its folder")
                job.waits = True
                self.queue.append(job)
                continue
            # The present state: the other run in the folder may have finished the case, or left a checkpoint.
            status, = state.case_statuses(self.deck, [job.case])
            if status.is_finished:
                self.report(job.case, status, "", 0)
                continue
            job.resumes = job.resumes and status.has_checkpoint and status.state != "changed"
            self.start(job, status.has_files)

    def start(self, job, has_files):
        case = job.case
        out, err = case.folder / "stdout.txt", case.folder / "stderr.txt"
        words, mode = self.words(case, job.resumes, has_files), "ab" if job.resumes else "wb"
        try:
            state.make_folder(case.folder)
            (case.folder / "case.json").unlink(missing_ok=True)
            write_text(case.deck_file, case.deck)
            job.said_before = len(state.text_or_empty(err)) if job.resumes else 0
            job.record_before = state.text_or_empty(case.folder / "run.json")
            with open(out, mode) as to, open(err, mode) as errors:
                job.process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=to, stderr=errors, preexec_fn=child_setup(),  # noqa: PLW1509
                    env={**os.environ, SESSIONS: str(session_folder(job.number)), **self.shares(case)})
            job.started = time.monotonic()
            self.running.append(job)
        except Failure as failure:
            self.conclude(job, failure.code, str(failure))
        except OSError as error:
            code, text = (CANNOT_CREATE, cannot_write(error.filename, error)) if error.filename in (str(out), str(err)) else (
                UNAVAILABLE, f"cannot start {in_quotes(words[0])} ({error.strerror}); install it, or name another")
            self.conclude(job, code, text)

    def is_launched(self, case):
        """One rank needs no launcher, except as the base of a scaling series: it is then bound to cores as the other runs are."""
        return case.ranks > 1 or bool(self.deck.scaling and self.deck.launcher)

    def words(self, case, resumes, has_files):
        words = []
        if self.is_launched(case):
            of_a_node = self.deck.sections["ranks_per_node"] or case.ranks
            nodes = -(-case.ranks // of_a_node)
            launcher = self.deck.launcher or self.deck.sections["default_launcher"]
            words = [word.replace("{ranks}", str(case.ranks), 1).replace("{nodes}", str(nodes), 1) for word in shlex.split(launcher)]
        words += [self.deck.program.path, "run", str(case.deck_file), "--progress", "lines"]
        # A run replaces only results that are unfinished, failed, or may be replaced.
        return words + (["--restart", "latest"] if resumes else ["output.overwrite=true"] if has_files else [])

    def shares(self, case):
        """The environment that divides the cores among cases that run at once, unless the user sets OMP_NUM_THREADS. A single case,
        --case, uses the cores that its launcher gives it."""
        dealt_out = self.jobs > 1 or (self.deck.scaling and len(self.deck.cases) > 1)
        if not dealt_out or "OMP_NUM_THREADS" in os.environ:
            return {}
        # Ranks of a scaling series have the same number of threads on all counts: otherwise a single rank would use all cores.
        ranks = max(each.ranks for each in self.deck.cases) if self.deck.scaling else case.ranks
        ranks = min(ranks, self.deck.sections["ranks_per_node"] or ranks)
        threads = max(1, len(os.sched_getaffinity(0)) // self.jobs // ranks)
        # A launcher of the deck sets the binding itself.
        return {"OMP_NUM_THREADS": str(threads), **({} if self.deck.launcher else UNBOUND)}

    def reap(self):
        for job in list(self.running):
            if (code := job.process.poll()) is not None:
                self.running.remove(job)
                shutil.rmtree(session_folder(job.number), ignore_errors=True)
                self.conclude(job, code, wall=job.seconds)

    def conclude(self, job, code, message="", wall=0):
        """`code`: if negative, minus the number of the signal that ended the process."""
        case, by_signal, code = job.case, signal_name(-code) if code < 0 else None, 128 - code if code < 0 else code
        message = message or (last_words(case, job.said_before) if code else "") or (f"ended by {by_signal}" if by_signal else "")
        # After a signal the case has not failed, whatever exit code its launcher returns.
        if not self.stopped_by and case.folder.is_dir():
            state.write_json(case.folder / "case.json", {
                "schema": "isotherm-case", "schema_version": 1, "exit_code": code, "signal": by_signal,
                "message": message or None, "ranks": case.ranks, "wall_s": wall, "deck": case.deck})
        status, = state.case_statuses(self.deck, [case])
        # A checkpoint of the last sweep leaves nothing to do, and no record: the case is run again from its start.
        if job.resumes and code == 0 and not status.is_finished and not self.stopped_by:
            self.queue.append(Job(job.number, case, resumes=False))
            return
        status.message = status.message or message
        if code == state.STOPPED and state.run_record(case).get("continuation", {}).get("stopped_by") == state.END_OF_JOB:
            self.queue.clear()  # other cases would be stopped at their start
        if self.stopped_by and status.state == "failed" and state.text_or_empty(case.folder / "run.json") == job.record_before:
            status.state = "stopped before it began,"
        self.report(case, status, by_signal or f"exit code {code}", wall)

    def report(self, case, status, why, wall):
        failed = status.state == "failed"
        text = (f"{case.name}: {status.state}{f' ({why})' if failed else ''} after {human_duration(wall)}"
                + (f": {escaped(status.message)}" if failed and status.message else ""))
        if wall == 0 or self.stopped_by or not (self.queue or self.running):
            self.progress.skipped(text, case.work)
        else:
            self.progress.ended(text, case.work, wall, status.seconds_of_sweeps, self.running)


def last_words(case, said_before):
    """The first line of stderr that is no warning and no line of dashes: the message of the program. Launchers add their own after it."""
    said = state.text_or_empty(case.folder / "stderr.txt")[said_before:]
    if "attempt to run as root" in said:  # of Open MPI, which prints a page of text
        return ("the launcher starts no ranks for root; set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or be another "
                "user")
    lines = [line for line in said.split("\n") if not line.startswith("warning: ") and re.search("[^- ]", line)]
    return lines[0] if lines else ""
