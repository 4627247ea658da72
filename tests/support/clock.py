"""A clock for all processes of the program that are started with its environment. It runs as the machine's clock does, and jumps when a
test moves it."""

import mmap
from pathlib import Path

import pytest

from shim import build_shim

MOVED = Path(__file__).with_name("moved_clock.cpp")


class Clock:
    def __init__(self, library, folder):
        self.file = folder / "clock"
        self.library = library
        self.file.write_bytes(bytes(16))
        with open(self.file, "r+b") as file:
            self._offsets = memoryview(mmap.mmap(file.fileno(), 16)).cast("q")

    def environment(self, *libraries, uptime=-1):
        """With other preloaded libraries; `uptime`: the start of the monotonic clock in seconds."""
        return {"LD_PRELOAD": ":".join(map(str, (self.library, *libraries))), "ISOTHERM_CLOCK": f"{uptime}:{self.file}"}

    def move(self, seconds, wall_alone=False):
        """`wall_alone`: as when a user sets the wall clock."""
        for which in (1,) if wall_alone else (0, 1):
            # One store. struct.pack_into() clears the bytes first: a program that read them then saw the
            # clock jump back.
            self._offsets[which] += round(1e9 * seconds)


@pytest.fixture(scope="module")
def clock_library(tmp_path_factory):
    return build_shim(MOVED, tmp_path_factory.mktemp("clock"))


@pytest.fixture
def clock(clock_library, tmp_path):
    return Clock(clock_library, tmp_path)
