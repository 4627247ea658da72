"""The state of a case, from the files in its folder alone; and locks of folders.

    <case>/<case>.yaml             its resolved deck, as the study runs it
    <case>/stdout.txt, stderr.txt  output of its runs
    <case>/case.json               how the last run ended; absent during a run
    <case>/slurm.json              the Slurm task of its last submission
    <case>/run.json, deck.yaml ... files of the run
"""

import json
import os
import socket
import time
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from glob import escape

from isotherm_tools.program import CANNOT_CREATE, DATA, VERSIONS, Failure, cannot_write, failing, in_present_form, write_text
from isotherm_tools.text import counted, escaped, in_quotes, shortened

DONE, NOT_CONVERGED, INTERNAL, STOPPED, DIVERGED = 0, 10, 70, 75, 76
FINISHED = ("done", "not converged")
END_OF_JOB = "the end of the Slurm job"  # continuation.stopped_by of run.json
MARK = "deck.resolved.yaml"  # file that marks the folder of a run: written first, removed last


@dataclass
class CaseStatus:
    state: str = "not started"
    exit_code: int = None
    message: str = ""  # of the failure
    has_files: bool = False  # files of a run exist
    has_checkpoint: bool = False  # to resume from
    seconds_of_sweeps: float = 0  # of its last run, from its record
    changes: list = field(default_factory=list)  # "problem.steps 100 -> 200"

    @property
    def is_finished(self):
        return self.state in FINISHED

    def is_due(self, retry):
        return not self.is_finished and (self.state != "failed" or retry)


def text_or_empty(path):
    with suppress(OSError):
        return path.read_bytes().decode("utf-8", "surrogateescape")
    return ""


def read_json(path, known=None):
    """The object in the file; empty if there is no file or no object. Rejects a record newer than this program: the state of its case
    is unknown, and must not cause a new run."""
    try:
        content = json.loads(text_or_empty(path))
        version = content.get("schema_version")
    except (ValueError, AttributeError):
        return {}
    if known and isinstance(version, int) and version > known:
        raise Failure(DATA, f"{in_quotes(path)} has schema version {version}, and this isotherm reads versions up to {known}; use "
                            "the one that wrote it, or a newer one")
    return content


def run_record(case):
    return in_present_form(read_json(case.folder / "run.json", VERSIONS["isotherm-run"]))


def case_statuses(deck, cases):
    """The statuses of the cases. A single request to the program compares all decks that have changed."""
    seen = []
    for case in cases:
        run, record = run_record(case), read_json(case.folder / "case.json", 1)
        seen.append((case, run, record, text_or_empty(case.folder / "deck.yaml") or typed(record, "deck", str, "")))
    deck.changes([(before, case.deck) for case, _, _, before in seen if before])
    return [judge(deck, *each) for each in seen]


def due_cases(deck, retry, starts):
    """The numbers of the cases that are due, and a text such as "3 cases, 1 finished before". `starts`: what --retry does."""
    statuses = case_statuses(deck, deck.cases)
    due = [number for number, status in enumerate(statuses) if status.is_due(retry)]
    finished = sum(status.is_finished for status in statuses)
    failed = len(statuses) - len(due) - finished
    return due, (counted(len(statuses), "case") + (f", {finished} finished before" if finished else "")
                 + (f", {failed} failed before (--retry {starts} them again)" if failed else ""))


def judge(deck, case, run, record, before):
    status = CaseStatus(has_files=os.path.exists(case.folder / MARK))
    status.has_checkpoint = bool(before) and any(case.folder.glob(f"{escape(case.name)}_[0-9]*.checkpoint.hdf"))
    if not before:
        return status
    ranks = len(run["ranks"]) if typed(run, "ranks", list) else typed(record, "ranks", int)
    status.changes = changes_since(deck, case, before, ranks)
    status.exit_code, status.message = typed(run, "exit_code", int), typed(run, "message", str, "")
    performance = typed(run, "performance", dict, {})
    status.seconds_of_sweeps = (performance.get("sweeps") or 0) * (performance.get("step_s") or 0)
    last = typed(record, "exit_code", int)
    # The run ended before it wrote its record: run.json is missing, or is that of an earlier run that was stopped. After a signal
    # the exit code of a launcher has no meaning.
    outlived = status.exit_code == STOPPED and last is not None and last != STOPPED and DATA <= last <= DIVERGED
    if status.exit_code is None or outlived:  # exit code 0 without a record: there was nothing to do
        status.exit_code, status.message = last if last != DONE else None, typed(record, "message", str, "")
    states = {None: "interrupted", DONE: "done", NOT_CONVERGED: "not converged", STOPPED: "stopped"}
    runs = status.exit_code in (None, STOPPED) and is_busy(case.folder)
    status.state = "changed" if status.changes else "running" if runs else states.get(status.exit_code, "failed")
    return status


def changes_since(deck, case, before, ranks):
    found = [f"ranks {ranks} -> {case.ranks}"] if ranks is not None and ranks != case.ranks else []
    return found + deck.changes([(before, case.deck)])[0]


def typed(record, key, kind, otherwise=None):
    value = record.get(key)
    return value if isinstance(value, kind) and not isinstance(value, bool) else otherwise


def check_unchanged(deck):
    """Fails before any start if a folder holds a run of another deck that the study may not replace."""
    changed = [f"{in_quotes(case.folder)}: holds a run of another deck ({', '.join(status.changes)}); "
               + ("correct study.launcher if it started these ranks; " if status.changes[0].startswith("ranks ") else "")
               + ("use that isotherm" if "of another version: " in status.changes[-1] else "replace it with output.overwrite=true")
               + ", or choose another output.directory"
               for case, status in zip(deck.cases, case_statuses(deck, deck.cases)) if status.state == "changed"]
    if changed and not deck.overwrite:
        raise Failure(CANNOT_CREATE, "\n".join(shortened(changed, 5, " cases")))


def write_json(path, content):
    """NaN and infinity, which JSON lacks, become null and are listed under "not_finite" by their place."""
    found = {}

    def finite(value, place):
        if isinstance(value, dict):
            return {key: finite(item, f"{place}/{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [finite(item, f"{place}/{i}") for i, item in enumerate(value)]
        if isinstance(value, float) and not abs(value) < float("inf"):
            found[place] = str(value)
            return None
        return value

    text = json.dumps({**finite(content, ""), "not_finite": found}, indent=2, ensure_ascii=False) + "\n"
    write_text(path, text.encode("utf-8", "replace").decode())


def make_folder(path, what="cannot make {folder} ({why}); choose another output.directory"):
    with failing(OSError, CANNOT_CREATE, lambda error: what.format(folder=in_quotes(path), why=error.strerror)):
        path.mkdir(parents=True, exist_ok=True)


def utc_now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# One study per directory at a time: `run.lock`, as the program uses it for runs (src/output/run_directory.hpp).

HEARTBEAT, LONGEST_SILENCE, ATTEMPTS = 10, 120, 5  # s, s


def process_state(pid):
    """State of the process (Z: a zombie, ended but not waited for), and its start in ticks; "?" if not known."""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
        return fields[0], fields[19]
    return "?", "?"


def this_process():
    return [socket.gethostname(), str(os.getpid()), process_state(os.getpid())[1], os.environ.get("SLURM_JOB_ID") or "-"]


def owner_of(path):
    return (text_or_empty(path).split("\n") + [""] * 4)[:4]


def has_ended(process, started):
    pid = int(process) if process.isdigit() else 0
    if pid <= 0:
        return False  # the lock is being written, or is another file: its age decides
    with suppress(OSError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
    state, now = process_state(pid)
    return state in "ZX" or (now != "?" and now != started)


def why_stale(path, modified):
    """The reason why the lock is stale; empty if its process may be alive."""
    host, process, started, job = owner_of(path)
    this_host, _, _, this_job = this_process()
    if host == this_host:
        return f"process {process} is gone from this host" if has_ended(process, started) else ""
    if job != "-" and job == this_job:
        return f"job {job} was started again"
    silence = time.time() - modified
    return f"no sign of life for {silence:.0f} s" if silence > LONGEST_SILENCE else ""


class DirectoryLock(AbstractContextManager):
    """The lock of a directory; `with` releases it. `warning`: on a lock that was taken; usually empty."""

    def __init__(self, folder, force=False):
        self.path, self.mine, self.warning = folder / "run.lock", "\n".join(this_process()) + "\n", ""
        self.touched = time.monotonic()
        for _ in range(ATTEMPTS):
            made = False
            try:
                with open(self.path, "x", encoding="utf-8") as file:
                    made = True
                    file.write(self.mine)
                return
            except FileExistsError:
                self.make_way(force)
            except OSError as error:
                if made:  # a lock that names no process would last until it is stale
                    self.path.unlink(missing_ok=True)
                raise Failure(CANNOT_CREATE, cannot_write(self.path, error)) from error
        raise Failure(CANNOT_CREATE, f"cannot get {in_quotes(self.path)} (other runs try to lock it too); try again")

    def make_way(self, force):
        """If several processes find a stale lock, one of them renames the file that it has checked; then all try again."""
        with suppress(OSError):  # the lock was just removed, or another process was faster
            seen = os.stat(self.path)
            host, process, _, _ = owner_of(self.path)
            owner = f"process {process} on {escaped(host)}" if process else "an unknown process"
            stale = "--force" if force else why_stale(self.path, seen.st_mtime)
            if not stale:
                raise Failure(CANNOT_CREATE, f"cannot use {in_quotes(self.path.parent)} as run directory ({owner} writes to it); wait "
                                             "for its end, or take the directory with --force where that run is gone")
            old = f"{self.path}.{socket.gethostname()}.{os.getpid()}"
            os.rename(self.path, old)
            try:
                if os.stat(old).st_ino != seen.st_ino:  # another process was faster, and this is its lock
                    os.link(old, self.path)
                else:
                    self.warning = f"{in_quotes(self.path)} of {owner} was taken ({stale})"
            finally:
                os.unlink(old)

    def keep_alive(self):
        if time.monotonic() - self.touched > HEARTBEAT:
            self.touched = time.monotonic()
            with suppress(OSError):
                os.utime(self.path)

    def __exit__(self, *_):
        if "\n".join(owner_of(self.path)) + "\n" == self.mine:
            with suppress(OSError):
                self.path.unlink()  # else another run has taken it


def is_busy(folder):
    """True if a process that may be alive holds the lock: a run whose study has ended may be writing its checkpoint."""
    with suppress(OSError):  # no lock
        return not why_stale(folder / "run.lock", os.stat(folder / "run.lock").st_mtime)
    return False
