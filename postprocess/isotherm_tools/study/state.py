"""Where a case stands, by what is in its folder and nothing else; and who writes to a folder.

    <case>/<case>.yaml             its resolved deck, as the study starts it
    <case>/stdout.txt, stderr.txt  what its runs have said
    <case>/case.json               how the last of them ended; not there while one is under way
    <case>/slurm.json              as which task of Slurm it was submitted last
    <case>/run.json, deck.yaml ... the run's own
"""

import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from glob import escape

from isotherm_tools.program import CANNOT_CREATE, DATA, VERSIONS, Failure, cannot_write, failing, with_new_names, write_text
from isotherm_tools.text import escaped, in_quotes, shortened

DONE, NOT_CONVERGED, INTERNAL, STOPPED, DIVERGED = 0, 10, 70, 75, 76
FINISHED = ("done", "not converged")
MARK = "deck.resolved.yaml"  # of a folder that holds a run: written first, removed last


@dataclass
class Look:
    state: str = "not started"
    exit_code: int = None
    message: str = ""  # of what failed
    has_files: bool = False  # of a run
    has_checkpoint: bool = False  # to resume from
    seconds_of_sweeps: float = 0  # of its last run, by its record
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
    """An object; empty where the file is not there, or is none. Rejects one that is newer than this program: what it says
    is not known, and the case must not be started anew for that."""
    content = None
    with suppress(ValueError):
        content = json.loads(text_or_empty(path))
    if not isinstance(content, dict):
        return {}
    version = content.get("schema_version")
    if known and isinstance(version, int) and version > known:
        raise Failure(DATA, f"{in_quotes(path)} has schema version {version}, and this isotherm knows them to {known}; use "
                            "the one that wrote it, or a newer one")
    return content


def run_record(case):
    return with_new_names(read_json(case.folder / "run.json", VERSIONS["isotherm-run"]))


def look_at(deck, cases):
    """One question to the program for all that have run with another text of their deck."""
    seen = []
    for case in cases:
        run, record = run_record(case), read_json(case.folder / "case.json", 1)
        seen.append((case, run, record, text_or_empty(case.folder / "deck.yaml") or typed(record, "deck", str, "")))
    deck.changes([(before, case.deck) for case, _, _, before in seen if before])
    return [judge(deck, *each) for each in seen]


def judge(deck, case, run, record, before):
    look = Look(has_files=os.path.exists(case.folder / MARK))
    look.has_checkpoint = bool(before) and any(case.folder.glob(f"{escape(case.name)}_[0-9]*.checkpoint.hdf"))
    if not before:
        return look
    ranks = len(run["ranks"]) if typed(run, "ranks", list) else typed(record, "ranks", int)
    look.changes = changes_since(deck, case, before, ranks)
    look.exit_code, look.message = typed(run, "exit_code", int), typed(run, "message", str, "")
    performance = typed(run, "performance", dict, {})
    look.seconds_of_sweeps = (performance.get("sweeps") or 0) * (performance.get("step_s") or 0)
    last = typed(record, "exit_code", int)
    # It ended before it could write its own record: that is missing, or of the run before it, which was stopped. What a
    # launcher makes of a signal says nothing.
    outlived = look.exit_code == STOPPED and last is not None and last != STOPPED and DATA <= last <= DIVERGED
    if look.exit_code is None or outlived:  # 0: there was nothing to do
        look.exit_code, look.message = last if last != DONE else None, typed(record, "message", str, "")
    states = {None: "interrupted", DONE: "done", NOT_CONVERGED: "not converged", STOPPED: "stopped"}
    look.state = "changed" if look.changes else states.get(look.exit_code, "failed")
    return look


def changes_since(deck, case, before, ranks):
    found = [f"ranks {ranks} -> {case.ranks}"] if ranks is not None and ranks != case.ranks else []
    return found + deck.changes([(before, case.deck)])[0]


def typed(record, key, kind, otherwise=None):
    value = record.get(key)
    return value if isinstance(value, kind) and not isinstance(value, bool) else otherwise


def check_unchanged(deck):
    """Before anything is started, where a folder holds a run of another deck and the study may not replace it."""
    changed = [f"{in_quotes(case.folder)}: holds a run of another deck ({', '.join(look.changes)}); replace it with "
               "output.overwrite=true, or choose another output.directory"
               for case, look in zip(deck.cases, look_at(deck, deck.cases)) if look.state == "changed"]
    if changed and not deck.overwrite:
        raise Failure(CANNOT_CREATE, "\n".join(shortened(changed, 5, " cases")))


# Files


def write_json(path, content):
    """JSON has no NaN and no infinity: they become null and are listed under "not_finite" by their place."""
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


# One study in a directory at a time: `run.lock`, as the program has it for runs (src/output/run_directory.hpp).

HEARTBEAT, LONGEST_SILENCE, ATTEMPTS = 10, 120, 5  # s, s


def process_state(pid):
    """Its state (Z: it has ended, and nobody has asked how), and its start in ticks; "?" where that is not known."""
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
        return False  # being written, or not ours: its age decides
    with suppress(OSError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
    state, now = process_state(pid)
    return state in "ZX" or (now != "?" and now != started)


def why_stale(path, modified):
    """Why the lock is left over; empty where its process may be alive."""
    host, process, started, job = owner_of(path)
    this_host, _, _, this_job = this_process()
    if host == this_host:
        return f"process {process} is gone from this host" if has_ended(process, started) else ""
    if job != "-" and job == this_job:
        return f"job {job} was started again"
    silence = time.time() - modified
    return f"no sign of life for {silence:.0f} s" if silence > LONGEST_SILENCE else ""


class DirectoryLock:
    """`with` gives the directory free again. `warning`: what to say of a lock that was taken; usually empty."""

    def __init__(self, folder, force=False):
        self.path, self.mine, self.warning = folder / "run.lock", "\n".join(this_process()) + "\n", ""
        self.touched = time.monotonic()
        for _ in range(ATTEMPTS):
            try:
                with open(self.path, "x", encoding="utf-8") as file:
                    file.write(self.mine)
                return
            except FileExistsError:
                self.make_way(force)
            except OSError as error:
                raise cannot_write(self.path, error) from error
        raise Failure(CANNOT_CREATE, f"cannot get {in_quotes(self.path)} (other runs are after it too); try again")

    def make_way(self, force):
        """Of several that find a lock left over one renames the very file that it has looked at; all try again."""
        with suppress(OSError):  # it has just gone, or somebody was faster
            seen = os.stat(self.path)
            host, process, _, _ = owner_of(self.path)
            stale = "--force" if force else why_stale(self.path, seen.st_mtime)
            if not stale:
                raise Failure(CANNOT_CREATE, f"cannot use {in_quotes(self.path.parent)} as run directory (process {process} "
                                             f"on {escaped(host)} writes to it); wait for its end, or take the directory "
                                             "with --force where that run is gone")
            old = f"{self.path}.{socket.gethostname()}.{os.getpid()}"
            os.rename(self.path, old)
            try:
                if os.stat(old).st_ino != seen.st_ino:  # somebody was faster, and this is his
                    os.link(old, self.path)
                else:
                    self.warning = f"{in_quotes(self.path)} of process {process} on {escaped(host)} was taken ({stale})"
            finally:
                os.unlink(old)

    def keep_alive(self):
        if time.monotonic() - self.touched > HEARTBEAT:
            self.touched = time.monotonic()
            with suppress(OSError):
                os.utime(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if "\n".join(owner_of(self.path)) + "\n" == self.mine:
            with suppress(OSError):
                self.path.unlink()  # else another run has been told to take it


def is_busy(folder):
    """A run that lost its study may be writing its checkpoint. A lock that nobody holds is taken away."""
    if not (folder / "run.lock").exists():
        return False
    try:
        with DirectoryLock(folder):
            return False
    except Failure:
        return True
