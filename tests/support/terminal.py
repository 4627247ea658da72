"""A terminal for the program: what it displays, and what is typed."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest

from program import HANGS

ESCAPE = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


class OnTerminal:
    """A process in the foreground of its own terminal, which is its stdin and stderr; stdout is the terminal or a file."""

    def __init__(self, words, cwd, columns=80, stdout=None, **environment):
        try:
            self.ours, theirs = pty.openpty()
        except OSError as error:  # a minimal root folder has none
            pytest.skip(f"no terminals here ({error}); mount devpts at /dev/pts")
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen(
            words, cwd=cwd, stdin=theirs, stdout=stdout or theirs, stderr=theirs, preexec_fn=take_terminal,
            env={**os.environ, "TERM": "xterm", **environment})
        os.close(theirs)
        self.text = ""

    def type(self, keys):
        os.write(self.ours, keys)

    def read_until(self, done):
        """All text displayed so far, once `done` accepts it."""
        deadline = time.monotonic() + HANGS
        while not done(self.text):
            assert time.monotonic() < deadline, self.text
            assert self._read() or done(self.text), self.text
        return self.text

    def _read(self):
        if not select.select([self.ours], [], [], 1)[0]:
            return True
        try:
            chunk = os.read(self.ours, 65536)
        except OSError:  # no process has it open any more
            return False
        self.text += chunk.decode()
        return bool(chunk)

    def end(self):
        while self._read():
            if self.process.poll() is not None and not select.select([self.ours], [], [], 0)[0]:
                break
        os.close(self.ours)
        return self.process.wait(timeout=HANGS)


def moved(text):
    """The lines that overwrite each other, as displayed."""
    return [ESCAPE.sub("", line) for line in re.findall(r"\r([^\r\n]*?)\x1b\[K", text)]


def shown(text):
    """The text on the terminal at the end."""
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        last = ""
        for part in line.split("\r"):
            part, erases, after = part.partition("\x1b[K")
            last = part + after if erases else part + last[len(part):]
        lines.append(ESCAPE.sub("", last))
    return lines
