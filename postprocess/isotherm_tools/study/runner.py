"""Runs the cases of a study as processes of their own, several at once, and resumes what earlier studies left."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from isotherm_tools.failure import CANNOT_CREATE, UNAVAILABLE, Failure
from isotherm_tools.study import state
from isotherm_tools.study.lock import is_busy
from isotherm_tools.study.progress import Progress, RunningCase
from isotherm_tools.study.text import counted, escaped, human_duration, in_quotes

LOOK_INTERVAL = 0.2  # s; a case that ends is seen at once
ONE_REQUEST = 0.5  # s: launchers and timeout(1) send a signal to a process and to its group
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
SESSIONS = "OMPI_MCA_orte_tmpdir_base"
# Open MPI, 4 and 5, binds two ranks to a core each, whatever threads they have, and those of the next job to the same ones.
UNBOUND = {"OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none"}
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def signal_name(number):
    return signal.Signals(number).name if number in STOP_SIGNALS else f"signal {number}"


class StopSignals:
    """The first only leaves a note. One that comes later than half a second after it ends the process at once."""

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


def expect_children():
    """From now on a child that ends wakes this process in wait_for_child."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])


def wait_for_child(seconds):
    signal.sigtimedwait([signal.SIGCHLD], seconds)


def child_setup():
    """For Popen: a process group of its own, so that a terminal's Ctrl-C is ours to pass on. Where this process dies, the child
    gets SIGTERM: a run then stops with a checkpoint."""
    parent = os.getpid()

    def prepare():
        os.setpgid(0, 0)
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)  # it died before it could be watched
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for number in (signal.SIGCHLD, *STOP_SIGNALS):
            signal.signal(number, signal.SIG_DFL)
    return prepare


def start_process(words, out, err, append=False, environment=None, advice="install it, or name another"):
    mode = "ab" if append else "wb"
    try:
        with open(out, mode) as to, open(err, mode) as errors:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=to, stderr=errors, preexec_fn=child_setup(),  # noqa: PLW1509
                                    env={**os.environ, **(environment or {})})
    except OSError as error:
        if error.filename in (str(out), str(err)):
            raise Failure(CANNOT_CREATE, f"cannot write {in_quotes(error.filename)} ({error.strerror}); check the folder and its free "
                                         "space") from error
        raise Failure(UNAVAILABLE, f"cannot start {in_quotes(words[0])} ({error.strerror}); {advice}") from error


def end_of(process):
    """(exit code, signal by which it ended or 0); None while it runs."""
    code = process.poll()
    return None if code is None else (128 - code, -code) if code < 0 else (code, 0)


class SessionFolder:
    """A folder of its own for the files that Open MPI 4 keeps of a job, which Open MPI makes.

    Programs that one user runs on one host share a folder for these files, make it with the first and remove it with the last: one
    that begins while another ends was seen to fail in MPI_Init, once in a hundred starts ("mkdir ... File exists"). A study starts
    many at one time."""

    def __init__(self, number):
        self.path = Path(os.environ.get(SESSIONS) or tempfile.gettempdir()) / f"isotherm-{os.getpid()}-{number}"

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


@dataclass
class Waiting:
    number: int
    resumes: bool = True  # where there is a checkpoint of this case
    said_before: int = 0  # bytes of its errors


@dataclass
class Running:
    what: Waiting
    session: SessionFolder
    process: subprocess.Popen
    started: float


class Runner:
    """Until all cases that are due have ended, or a signal came: the cases then stop with checkpoints."""

    def __init__(self, deck, jobs, retry, lock=None):
        self.deck, self.jobs, self.lock = deck, max(1, jobs), lock
        looks = state.look_at_all(deck)
        self.queue = deque(Waiting(i) for i, look in enumerate(looks) if look.is_due(retry))
        self.finished = sum(look.is_finished for look in looks)
        self.failed_before = len(looks) - self.finished - len(self.queue)
        self.progress = Progress(sum(deck.cases[each.number].work for each in self.queue), len(self.queue), self.jobs)
        self.running, self.told, self.stopped_by = [], set(), 0

    def run(self):
        """Says how each ends. Returns the signal, or 0."""
        self.signals = StopSignals()
        expect_children()
        self.announce()
        try:
            while self.queue or self.running:
                self.pass_on_signal()
                self.start_some()
                self.progress.show(self.now_running())
                wait_for_child(LOOK_INTERVAL)
                self.reap()
                if self.lock:
                    self.lock.keep_alive()
        finally:
            self.progress.clear()
            for each in self.running:  # none, unless something is wrong here
                with suppress(ProcessLookupError):
                    os.killpg(each.process.pid, signal.SIGKILL)
                each.session.remove()
        return self.stopped_by

    def announce(self):
        text = counted(len(self.deck.cases), "case")
        if self.finished:
            text += f", {self.finished} finished before"
        if self.failed_before:
            text += f", {self.failed_before} failed before (--retry starts them again)"
        self.progress.say(f"{text}, {len(self.queue)} to run")

    def now_running(self):
        now = time.monotonic()
        return [self.running_case(each.what, now - each.started) for each in self.running]

    def running_case(self, what, seconds):
        case = self.deck.cases[what.number]
        return RunningCase(case.name, case.work, seconds)

    def pass_on_signal(self):
        number = self.signals.noted
        if not number or self.stopped_by:
            return
        self.stopped_by = number
        self.queue.clear()
        if self.running:
            self.progress.say(f"{signal_name(number)}: {counted(len(self.running), 'case')} still running; each stops with a checkpoint")
        for each in self.running:
            # Launchers pass SIGUSR1 on to their ranks, and answer others by killing them.
            launched = self.is_launched(self.deck.cases[each.what.number])
            with suppress(ProcessLookupError):
                os.killpg(each.process.pid, signal.SIGUSR1 if launched else number)

    def start_some(self):
        for _ in range(len(self.queue)):
            if len(self.running) >= self.jobs or self.signals.noted:
                return
            following = self.queue.popleft()
            case = self.deck.cases[following.number]
            if is_busy(case.folder):
                if following.number not in self.told:
                    self.progress.say(f"{case.name}: waiting for another run in its folder")
                self.told.add(following.number)
                self.queue.append(following)
                continue
            # As it stands now: what held the folder may have come to its end, or left a checkpoint.
            look = state.look_at(self.deck, case)
            if look.is_finished:
                self.tell(case, look, (0, 0), 0)
                continue
            if not look.has_checkpoint or look.state == "changed":
                following.resumes = False
            self.start(following, look.has_files)

    def start(self, following, has_files):
        case = self.deck.cases[following.number]
        out, err = case.folder / "stdout.txt", case.folder / "stderr.txt"
        session = SessionFolder(following.number)
        try:
            state.make_folder(case.folder, "cannot make {folder} ({why}); choose another output.directory")
            state.keep_earlier_parts(case, following.resumes)
            with suppress(FileNotFoundError):
                os.unlink(case.folder / "case.json")
            state.write_whole(case.deck_file, case.deck)
            if following.resumes:
                following.said_before = len(state.text_or_empty(err))
            process = start_process(self.words(case, following.resumes, has_files), out, err, following.resumes,
                                    {SESSIONS: str(session.path), **self.shares(case)})
            self.running.append(Running(following, session, process, time.monotonic()))
        except Failure as failure:
            self.conclude(following, (failure.code, 0), str(failure), 0)

    def is_launched(self, case):
        """One rank needs no launcher; but what others are compared with is bound to its cores as they are."""
        return case.ranks > 1 or bool(self.deck.scaling and self.deck.launcher)

    def words(self, case, resumes, has_files):
        words = []
        if self.is_launched(case):
            of_a_node = self.deck.sections["ranks_per_node"] or case.ranks
            nodes = -(-case.ranks // of_a_node)
            launcher = self.deck.launcher or self.deck.sections["default_launcher"]
            words = [word.replace("{ranks}", str(case.ranks), 1).replace("{nodes}", str(nodes), 1) for word in launcher.split()]
        words += [self.deck.program.path, "run", str(case.deck_file), "--progress", "lines"]
        # What a run replaces is unfinished, failed, or may be replaced.
        return words + (["--restart", "latest"] if resumes else ["output.overwrite=true"] if has_files else [])

    def shares(self, case):
        """Cases that run at once share the cores, unless the user has dealt them out. A task of its own, --case, has the cores that
        its launcher gives it."""
        dealt_out = self.jobs > 1 or (self.deck.scaling and len(self.deck.cases) > 1)
        if not dealt_out or "OMP_NUM_THREADS" in os.environ:
            return {}
        # Ranks of a scaling series have as many on all counts: one alone would take them all.
        ranks = max(each.ranks for each in self.deck.cases) if self.deck.scaling else case.ranks
        ranks = min(ranks, self.deck.sections["ranks_per_node"] or ranks)
        threads = max(1, len(os.sched_getaffinity(0)) // self.jobs // ranks)
        # A launcher that the deck names knows what it does.
        return {"OMP_NUM_THREADS": str(threads), **({} if self.deck.launcher else UNBOUND)}

    def reap(self):
        for each in list(self.running):
            end = end_of(each.process)
            if end is not None:
                self.running.remove(each)
                each.session.remove()
                self.conclude(each.what, end, "", time.monotonic() - each.started)

    def conclude(self, what, end, message, wall):
        case, (code, number) = self.deck.cases[what.number], end
        if not message and code != 0:
            message = last_words(case, what.said_before)
        if not message and number:
            message = f"ended by {signal_name(number)}"
        # Whatever its launcher makes of our signal, the case has not failed.
        if not self.stopped_by and case.folder.is_dir():
            state.write_json(case.folder / "case.json", {
                "schema": "isotherm-case", "schema_version": 1, "exit_code": code, "signal": signal_name(number) if number else None,
                "message": message or None, "ranks": case.ranks, "wall_s": wall, "deck": case.deck})
        look = state.look_at(self.deck, case)
        # A checkpoint of the very end leaves nothing to do, and no record of it.
        if what.resumes and code == 0 and not look.is_finished and not self.stopped_by:
            self.queue.append(Waiting(what.number, resumes=False))
            return
        look.message = look.message or message
        self.tell(case, look, end, wall)

    def tell(self, case, look, end, wall):
        text = f"{case.name}: {look.state}"
        if look.state == "failed":
            text += f" ({signal_name(end[1])})" if end[1] else f" (exit code {end[0]})"
        text += f" after {human_duration(wall)}"
        if look.state == "failed" and look.message:
            text += ": " + escaped(look.message)
        if wall == 0 or self.stopped_by:
            self.progress.skipped(text, case.work)
        else:
            self.progress.ended(text, RunningCase(case.name, case.work, wall), look.seconds_of_sweeps, self.now_running())


def last_words(case, said_before):
    """Of a launcher's many the first are the program's, behind its warnings. A launcher that fails itself begins with a rule."""
    said = state.text_or_empty(case.folder / "stderr.txt")[said_before:]
    if "attempt to run as root" in said:  # Open MPI's, which has a page of words for it
        return ("the launcher starts no ranks for root; set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or be another "
                "user")
    lines = [line for line in said.split("\n") if not line.startswith("warning: ") and re.search("[^- ]", line)]
    return lines[0] if lines else ""
