"""One study in a directory at a time: `run.lock`, as the program has it for runs (src/output/run_directory.hpp).

Made by O_EXCL, as locks of file systems cannot be relied on. Its lines: host, process, the start of that process in ticks, the
job. A lock whose process is gone from this host, whose job is ours (it was started again), or which nobody has touched for two
minutes is left over, and is taken."""

import os
import socket
import time
from contextlib import suppress

from isotherm_tools.failure import CANNOT_CREATE, Failure
from isotherm_tools.text import escaped, in_quotes

HEARTBEAT, LONGEST_SILENCE, ATTEMPTS = 10, 120, 5  # s, s


def process_state(pid):
    """Its state (Z: it has ended, and nobody has asked how), and its start in ticks; "?" where that is not known."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "?", "?"


def this_process():
    return [socket.gethostname(), str(os.getpid()), process_state(os.getpid())[1], os.environ.get("SLURM_JOB_ID") or "-"]


def owner_of(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError:
        lines = []
    return (lines + [""] * 4)[:4]


def has_ended(process, started):
    pid = int(process) if process.isdigit() else 0
    if pid <= 0:
        return False  # being written, or not ours: its age decides
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    state, now = process_state(pid)
    return state in "ZX" or (now != "?" and now != started)


def why_stale(path, modified):
    """Why the lock is left over; empty where its process may be alive."""
    host, process, started, job = owner_of(path)
    self = this_process()
    if host == self[0] and has_ended(process, started):
        return f"process {process} is gone from this host"
    if job != "-" and job == self[3] and host != self[0]:
        return f"job {job} was started again"
    silence = time.time() - modified
    return f"no sign of life for {silence:.0f} s" if host != self[0] and silence > LONGEST_SILENCE else ""


class DirectoryLock:
    """`with` gives the directory free again. `warning`: what to say of a lock that was taken; usually empty."""

    def __init__(self, folder, force=False):
        self.path, self.mine, self.warning, self.touched = folder / "run.lock", "\n".join(this_process()) + "\n", "", time.monotonic()
        for _ in range(ATTEMPTS):
            if self.make() or self.make_way(force):
                return
        raise Failure(CANNOT_CREATE, f"cannot get {in_quotes(self.path)} (other runs are after it too); try again")

    def make(self):
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(self.mine)
            return True
        except FileExistsError:
            return False
        except OSError as error:
            raise Failure(CANNOT_CREATE, f"cannot write {in_quotes(self.path)} ({error.strerror}); check the folder and its free "
                                         "space") from error

    def make_way(self, force):
        """Of several that find a lock left over one renames the very file that it has looked at; all try again."""
        try:
            seen = os.stat(self.path)
        except OSError:
            return False  # it has just gone
        host, process, _, _ = owner_of(self.path)
        stale = "--force" if force else why_stale(self.path, seen.st_mtime)
        if not stale:
            raise Failure(CANNOT_CREATE, f"cannot use {in_quotes(self.path.parent)} as run directory (process {process} on "
                                         f"{escaped(host)} writes to it); wait for its end, or take the directory with --force where "
                                         "that run is gone")
        old = f"{self.path}.{socket.gethostname()}.{os.getpid()}"
        try:
            os.rename(self.path, old)
        except OSError:
            return False
        with suppress(OSError):
            if os.stat(old).st_ino != seen.st_ino:  # somebody was faster, and this is his
                os.link(old, self.path)
            else:
                self.warning = f"{in_quotes(self.path)} of process {process} on {escaped(host)} was taken ({stale})"
        with suppress(OSError):
            os.unlink(old)
        return False

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
