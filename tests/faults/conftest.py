"""For all tests of this folder: libraries that make faults, built once, a folder with a small deck, and an installation."""

import os
from pathlib import Path

import pytest

from clock import clock, clock_library  # noqa: F401  (fixtures)
from program import BASE_DECK, finished, write_deck
from shim import build_shim


def built(source):
    @pytest.fixture(scope="session", name=source.removesuffix(".c"))
    def library(tmp_path_factory):
        return build_shim(Path(__file__).with_name(source), tmp_path_factory.mktemp("shim"))
    return library


io_shim, rank_shim, outside_shim, filter_shim, power_cut_shim = map(
    built, ("io_shim.c", "rank_shim.c", "outside_shim.c", "filter_shim.c", "power_cut_shim.c"))


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
