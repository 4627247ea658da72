"""A power failure: data written after the last fsync is lost, and names may be as old as the last fsync of the folder. At any such moment
every file under its final name is intact, and the run resumes from a checkpoint at most one interval back. A preloaded library
(power_cut_shim.c) logs what reached the disk, and in which order."""

import os
import random
import shutil
from pathlib import PurePosixPath

import pytest

from program import GATHERED, isotherm, ran, SMALL_BLOCK, write_deck
from runs import expect_same_answer, sweep_of

INTERVAL = 10
DECK = SMALL_BLOCK + """\
problem: {kind: transient, steps: 40, check_interval: 7}
parallel: {device: cpu}
output: {directory: runs/out, every_steps: 16, diagnostics: 5, checkpoint: {every_steps: 10, keep: 2, final: false}}
"""


def newest_checkpoint(names, none=0):
    return max((sweep_of(PurePosixPath(name).name) for name in names if name.endswith(".checkpoint.hdf")), default=none)


class Disk:
    """Names and contents as programs see them, and as they are on the disk."""

    def __init__(self):
        self.seen, self.durable, self.pending, self.content = {}, {}, [], {}

    def change(self, name, file):
        """A name gets a file, or none."""
        self.seen[name] = file
        self.pending.append((name, file))

    def do(self, kind, name, other=None):
        if kind == "create" or (kind == "sync" and not self.seen.get(name)):  # created by the C library itself
            self.change(name, object())
        if kind == "sync":
            self.content[self.seen[name]] = other
        if kind == "rename":
            self.change(other, self.seen[name])
        if kind in ("rename", "unlink"):
            self.change(name, None)
        if kind == "names":
            here = [change for change in self.pending if str(PurePosixPath(change[0]).parent) == name]
            self.pending = [change for change in self.pending if change not in here]
            self.durable.update(here)

    def after_a_cut(self):
        """The smallest and the largest possible state: names with the contents of their files, None if these never reached the disk."""
        for names in self.durable, {**self.durable, **dict(self.pending)}:
            yield {name: self.content.get(file) for name, file in names.items()
                   if file and all(names.get(str(parent)) for parent in PurePosixPath(name).parents if str(parent) != ".")}


# Written by all ranks, or by rank 0 through HDF5 alone, which calls no fsync.
@pytest.fixture(scope="module", params=["^ompio", GATHERED["OMPI_MCA_io"]], ids=["collective", "gathered"])
def logged(request, power_cut_shim, tmp_path_factory):
    """The whole run's folder, and the lines of the log, with names relative to the disk."""
    top = tmp_path_factory.mktemp("power")
    disk = top / "disk"
    disk.mkdir()
    write_deck(disk, DECK)
    ran("run", "deck.yaml", ranks=2, cwd=disk, LD_PRELOAD=str(power_cut_shim), OMPI_MCA_io=request.param,
        ISOTHERM_POWER_LOG=str(top / "log"))
    lines = []
    for kind, name, *other in map(str.split, (top / "log").read_text().splitlines()):
        names = [os.path.relpath(disk / each, disk) for each in (name, *other)]
        if not names[0].startswith(".."):  # else it is elsewhere
            lines.append((kind, names[0], *(names[1:] if kind == "rename" else other)))
    return disk / "runs" / "out", lines


def test_whenever_the_power_goes_files_are_whole(logged):
    _, lines = logged
    sound = {None: False}
    disk, begun, renamed, published = Disk(), -1, -1, -1
    for line in lines:
        disk.do(*line)
        if line[0] == "create":
            begun = max(begun, newest_checkpoint([line[1].removesuffix(".part")], -1))
        if line[0] == "rename":
            renamed = newest_checkpoint([line[2]], renamed)
        if line[0] == "names":
            published = renamed
        for state in disk.after_a_cut():
            for name in state:
                if name.endswith(".hdf"):
                    if state[name] not in sound:
                        sound[state[name]] = isotherm("info", state[name]).returncode == 0
                    assert sound[state[name]], f"{name} is not whole after {line}"
            newest = newest_checkpoint(state)
            assert newest >= max(begun - INTERVAL, published), f"{line}: only sweep {newest} of {begun}"
    assert published == 30 and len(sound) > 6


def test_the_rest_of_the_run_is_as_it_would_have_been(logged, tmp_path):
    whole, lines = logged
    seed = random.randrange(1 << 30)
    print("seed", seed)
    disk, states = Disk(), []
    for line in lines:
        disk.do(*line)
        states += [state for state in disk.after_a_cut() if newest_checkpoint(state) and "runs/out/run.json" not in state]
    for i, state in enumerate(random.Random(seed).sample(states, 3)):
        folder = tmp_path / str(i)
        (folder / "runs" / "out").mkdir(parents=True)
        write_deck(folder, DECK)
        for name, copy in state.items():
            if copy:
                shutil.copy(copy, folder / name)
        lock = folder / "runs" / "out" / "run.lock"
        if lock.exists():
            os.utime(lock, (0, 0))  # the machine was down for a while
        ran("run", "deck.yaml", "--restart", "latest", cwd=folder)
        expect_same_answer(whole, folder / "runs" / "out")
