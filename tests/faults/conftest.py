"""For all tests of this folder: libraries that make faults, built once, a clock, a folder with a small deck, and an installation."""

import mmap
import os
from pathlib import Path

import pytest

from program import BASE_DECK, finished, write_deck
from shim import build_shim


def built(source):
    @pytest.fixture(scope="session", name=Path(source).stem)
    def library(tmp_path_factory):
        return build_shim(Path(__file__).parent / source, tmp_path_factory.mktemp("shim"))
    return library


io_shim, rank_shim, outside_shim, filter_shim, power_cut_shim, moved_clock = map(
    built, ("io_shim.c", "rank_shim.c", "outside_shim.c", "filter_shim.c", "power_cut_shim.c", "../support/moved_clock.cpp"))


class Clock:
    """A clock for all processes of the program that are started with its environment. It runs as the machine's clock does, and jumps when
    a test moves it."""

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


@pytest.fixture
def clock(moved_clock, tmp_path):
    return Clock(moved_clock, tmp_path)


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, BASE_DECK)
    return tmp_path


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """Installed, then moved: the installation must not depend on its path."""
    folder = tmp_path_factory.mktemp("install")
    finished(["cmake", "--install", Path(os.environ["ISOTHERM"]).parent, "--prefix", folder / "first"], 0)
    return (folder / "first").rename(folder / "second")
