"""Checkpoints that were damaged, forged or never finished: the run resumes from the newest intact one, or
from none, and nothing is guessed. Killed runs. Power failures: every file under its final name is intact, and
the run resumes from a checkpoint at most one interval back. Bit flips in the memory of a run: no checkpoint
contains a value that no heat problem can have. (No solver can detect a flip that leaves a plausible
temperature.)"""

import contextlib
import os
import random
import re
import shutil
import struct
import time
from pathlib import PurePosixPath

import h5py
import numpy as np
import pytest

from job import Background, Job, wait_until, wait_until_gone
from program import (
    family_of, finished_run, GATHERED, HANGS, isotherm, kill, kill_all, ran, ranks_of, SMALL_BLOCK,
    write_deck)
from runs import (
    cells, checkpoints, expect_same_answer, expect_same_run, expect_whole_files, stopped_at, sweep_of)

DECK = SMALL_BLOCK + """\
problem: {kind: transient, steps: 40, check_interval: 7}
parallel: {device: cpu}
output: {every_steps: 16, diagnostics: 5, checkpoint: {every_steps: 10, keep: 3}}
"""
NEWEST = "deck_00000030.checkpoint.hdf"
BEFORE = "deck_00000020.checkpoint.hdf"
CELLS = "/temperature"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    whole = finished_run(tmp_path_factory.mktemp("whole"), DECK, "deck", "output.checkpoint.final=false")
    assert checkpoints(whole) == ["deck_00000010.checkpoint.hdf", BEFORE, NEWEST]
    return whole


@pytest.fixture
def out(whole, tmp_path):
    write_deck(tmp_path, DECK)
    return stopped_at(30, whole, tmp_path / "out")


def resume(out, *words, restart="latest", ranks=0, code=0, **environment):
    return ran("run", "deck.yaml", "output.directory=out", *words, "--restart", restart, ranks=ranks, cwd=out.parent, code=code,
               **environment)


def with_file(change):
    def damage(path):
        with h5py.File(path, "r+") as file:
            change(file)
    return damage


def dataset(options):
    """Replaces the dataset of the cells by another: `options` of create_dataset(), from the values."""
    return with_file(lambda file: file.create_dataset(CELLS, **options(file.pop(CELLS)[:])))


def attribute(group, name, value):
    return with_file(lambda file: file[group].attrs.modify(name, value))


def flip_a_byte_of_the_cells(path):
    with h5py.File(path) as file:
        at = file[CELLS].id.get_offset() + 1234
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def many_attributes(path):
    with h5py.File(path, "r+", libver="latest") as file:
        group = file["/isotherm"]
        for i in range(2000):
            group.attrs[f"a{i}"] = i
        group.attrs["sweep"] = np.int64(31)


DAMAGES = {
    "zero length": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("a text file\n"),
    "head only": lambda path: path.write_bytes(path.read_bytes()[:4096]),
    "last byte missing": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "one byte of the cells": flip_a_byte_of_the_cells,
    "one cell, by HDF5": with_file(lambda file: file[CELLS].write_direct(np.array([[[301.0]]]), dest_sel=np.s_[3:4, 2:3, 1:2])),
    "no fingerprint": with_file(lambda file: file["/isotherm"].attrs.pop("fingerprint")),
    "no residual": with_file(lambda file: file["/isotherm/checkpoint"].attrs.pop("last_residual")),
    "another sweep": attribute("/isotherm", "sweep", np.int64(29)),
    "another residual": attribute("/isotherm/checkpoint", "first_residual", 2.0),
    "no valid 'sweep'": with_file(lambda file: file["/isotherm"].attrs.pop("sweep")),
    "no valid 'cells'": with_file(lambda file: file["/isotherm"].attrs.create("cells", "many")),
    "no group /isotherm": with_file(lambda file: file.pop("isotherm")),
    "an external link": with_file(lambda file: (
        file.pop("isotherm"), file.update(isotherm=h5py.ExternalLink("/etc/passwd", "/")))),
    "older format": attribute("/isotherm", "format_version", np.int64(0)),
    "no checkpoint": with_file(lambda file: file["/isotherm"].pop("checkpoint")),
    "no cells": with_file(lambda file: (file.pop("temperature"), file.pop("VTKHDF"))),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link to another folder": lambda path: path.symlink_to(shutil.move(path, path.parents[1] / "elsewhere.hdf")),
    # unit/test_dataset_reader.cpp tests cells in other files, of other ranks and types.
    # Of a plug-in: no code is loaded, whatever HDF5_PLUGIN_PATH is.
    "needs the filter 32015": dataset(lambda values: {
        "shape": values.shape, "dtype": "f8", "chunks": values.shape, "compression": 32015,
        "allow_unknown_filter": True}),
    "another shape": dataset(lambda values: {"data": values.T}),
    "single precision": dataset(lambda values: {"data": values.astype("f4")}),
    "8 PiB": dataset(lambda _: {"shape": (1 << 17, 1 << 17, 1 << 16), "dtype": "f8", "chunks": (1, 16, 16)}),
    "texts": dataset(lambda values: {"shape": values.shape, "dtype": h5py.string_dtype()}),
    "cyclic groups": with_file(lambda file: (
        file["VTKHDF"].pop("PointData"), file["VTKHDF"].update(PointData=file["VTKHDF"]),
        file["isotherm"].pop("checkpoint"), file["isotherm"].update(checkpoint=h5py.SoftLink("/isotherm")))),
    "many attributes": many_attributes,
    "text of any length": with_file(lambda file: (
        file.pop("/isotherm/resolved_deck"), file.create_dataset("/isotherm/resolved_deck", data="x" * 100))),
}


@pytest.mark.parametrize("damage, ranks", [*((damage, 0) for damage in DAMAGES), ("one byte of the cells", 3)])
def test_a_damaged_checkpoint_is_named_and_passed_over(whole, out, damage, ranks):
    DAMAGES[damage](out / NEWEST)
    done = resume(out, *["parallel.process_grid=[1, 1, 3]"] * bool(ranks), ranks=ranks, HDF5_PLUGIN_PATH=str(out))
    assert f"warning: passed over: out/{NEWEST}: " in done.stderr.replace(f"{NEWEST}:/", f"{NEWEST}: /")
    assert f"; resuming from out/{BEFORE}\n" in done.stderr and done.stderr.count("passed over") == 1
    quoted = damage.startswith(("needs", "a link", "no valid", "no group"))
    assert not quoted or damage in done.stderr
    assert f"resuming from out/{BEFORE}, sweep 20" in done.stdout
    expect_same_run(whole, out)


@pytest.mark.parametrize("group, name, version", [("/isotherm", "format_version", 3), ("/isotherm/checkpoint", "version", 4)])
def test_a_checkpoint_of_a_newer_version_is_neither_passed_over_nor_replaced(out, group, name, version):
    attribute(group, name, np.int64(version))(out / NEWEST)
    before = sorted(out.iterdir())
    for restart in "latest", f"out/{NEWEST}":
        said = resume(out, ranks=2, restart=restart, code=65).stderr
        assert f"out/{NEWEST}: " in said and f"version {version} (this isotherm reads 1 to {version - 1})" in said
    assert sorted(out.iterdir()) == before


def test_no_sound_checkpoint_is_an_error_with_all_reasons(out):
    for path in out.glob("*.checkpoint.hdf"):
        flip_a_byte_of_the_cells(path)
    before = sorted(out.iterdir())
    for ranks in 0, 2:
        done = resume(out, ranks=ranks, code=65)
        assert done.stderr.count("its cells have fingerprint") == 3
        assert "no sound checkpoint of 'deck' for --restart latest; name another one, or start without it" in done.stderr
    assert sorted(out.iterdir()) == before


def test_a_named_checkpoint_is_never_replaced_and_unfinished_ones_are_never_read(out):
    flip_a_byte_of_the_cells(out / NEWEST)
    assert BEFORE not in resume(out, restart=f"out/{NEWEST}", code=65).stderr
    resume(out, restart="out/deck_00000016.hdf", code=65)
    resume(out, restart="out/nothing.hdf", code=66)
    assert "HDF5 cannot open it" in resume(out, restart="deck.yaml", code=65).stderr
    for path in out.glob("*.checkpoint.hdf"):
        path.rename(path.with_name(path.name + ".part"))
    assert "no checkpoint of 'deck' in 'out' (--restart latest); " in resume(out, code=66).stderr


@pytest.mark.parametrize("target", ["nowhere", "latest", "/etc/passwd"])
def test_a_link_named_latest_is_not_followed(whole, out, target):
    (out / "latest").unlink()
    (out / "latest").symlink_to(target)
    assert f"resuming from out/{NEWEST}, sweep 30" in resume(out, restart="out/latest").stdout
    expect_same_run(whole, out)
    assert not (out / "latest").is_symlink()


@pytest.mark.parametrize("changes", [
    [("grid.cells=[17, 13, 16]", "grid.cells", "[17, 13, 15]", "[17, 13, 16]"),
     ("grid.lengths=[0.17, 0.26, 0.5]", "grid.lengths", "[0.17, 0.26, 0.45]", "[0.17, 0.26, 0.5]"),
     ("material.diffusivity=2e-5", "material.diffusivity", "1e-5", "2e-5"), ("precision=fp32", "precision", "fp64", "fp32"),
     ("boundaries.x_min.value=300", "boundaries.x_min.value", '"300 + 10*y"', "300"),
     ("boundaries.z_max={kind: temperature, value: 3}", "boundaries.z_max.kind", "insulated", "temperature"),
     ("problem.dt_fraction=0.8", "problem.dt_fraction", "0.9", "0.8"), ("problem.check_interval=8", "problem.check_interval", "7", "8")],
    [("sources=[{shape: constant, value: 1}]", "sources", "[]", "[{shape: constant, mode: set, value: 1}]"),
     ("problem.dt=1e-3", "problem.dt", "auto", "0.001")]])
def test_another_problem_is_refused_with_its_keys_and_values(out, changes):
    files = {path: path.read_bytes() for path in out.iterdir()}
    done = resume(out, *(word for word, *_ in changes), *(["material.conductivity=1"] if "sources" in changes[0][0] else []), code=65)
    for _, key, before, now in changes:
        assert f"{key}: {before} in the checkpoint, {now} in the deck\n" in done.stderr, done.stderr
    assert f"out/{NEWEST}: is of another problem (these keys cannot change at a restart)" in done.stderr
    assert files == {path: path.read_bytes() for path in out.iterdir()}


def newest_of(names):
    ours = (PurePosixPath(name).name for name in names if name.endswith(".checkpoint.hdf"))
    return max(map(sweep_of, ours), default=0)


def test_a_kill_at_any_moment_costs_an_interval_at_most(tmp_path):
    """ISOTHERM_KILLS sets the number of kills. Each part resumes from the previous one, until the run is complete."""
    kills, interval = int(os.environ.get("ISOTHERM_KILLS", "10")), 150
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    write_deck(tmp_path, DECK)
    out = tmp_path / "out"
    problem = [f"problem.steps={10000 * kills}", "problem.check_interval=1000", "output.every_steps=1000",
               "output.diagnostics=7000"]
    newest, killed = 0, 0
    for i in range(kills):
        restart = ["--restart", "latest"] if checkpoints(out) else ["output.overwrite=true"]
        run = Background(tmp_path, "run", "deck.yaml", *problem, "output.directory=out",
                         f"output.checkpoint={{every_steps: {interval}, keep: 2}}", *restart, ranks=draw.choice([0, 2]))
        process, newer = run.process, lambda: newest_of(checkpoints(out)) > newest
        wait_until(lambda: process.poll() is not None or newer(), "no checkpoint", 0.005)
        time.sleep(draw.uniform(0, 0.2))
        if process.poll() is not None:
            assert process.returncode == 0, run.end()
            break
        ranks = ranks_of(process.pid)
        kill(*draw.choice([reversed(family_of(process.pid)), [draw.choice(ranks)], [process.pid]]))  # all, a rank, the launcher
        run.end()
        wait_until_gone(*ranks)
        killed += 1
        assert newest_of(checkpoints(out)) >= newest
        newest = newest_of(checkpoints(out))
        expect_whole_files(out)
    assert killed > kills // 2
    seldom, patience = "output.checkpoint={every_steps: 100000}", HANGS + 10 * kills
    for directory in (["output.directory=out", "--restart", "latest"], ["output.directory=whole"]):
        ran("run", "deck.yaml", *problem, seldom, *directory, cwd=tmp_path, timeout=patience)
    expect_same_run(tmp_path / "whole", out)


# A power failure: data written after the last fsync is lost, and names may be as old as the last fsync of the
# folder. A preloaded library (power_cut_shim.c) logs what reached the disk, and in which order.


def replayed(lines):
    """Each line of the log, and the least and the most that the disk may hold then: names with the contents of
    their files, None if these never reached the disk."""
    seen, durable, pending, content = {}, {}, [], {}

    def change(name, file):
        seen[name] = file
        pending.append((name, file))

    for kind, name, *other in lines:
        if kind == "create" or (kind == "sync" and not seen.get(name)):  # created by the C library itself
            change(name, object())
        if kind == "sync":
            content[seen[name]] = other[0]
        if kind == "rename":
            change(other[0], seen[name])
        if kind in ("rename", "unlink"):
            change(name, None)
        if kind == "names":
            here = [each for each in pending if str(PurePosixPath(each[0]).parent) == name]
            pending = [each for each in pending if each not in here]
            durable.update(here)
        yield (kind, name, *other), [
            {name: content.get(file) for name, file in names.items()
             if file and all(names.get(str(folder)) for folder in list(PurePosixPath(name).parents)[:-1])}  # without the disk's
            for names in (durable, {**durable, **dict(pending)})]


# Written by all ranks, or by rank 0 through HDF5 alone, which calls no fsync.
@pytest.fixture(scope="module", params=["^ompio", GATHERED["OMPI_MCA_io"]], ids=["collective", "gathered"])
def logged(request, power_cut_shim, tmp_path_factory):
    """The whole run's folder, and the lines of the log, with names relative to the disk."""
    top = tmp_path_factory.mktemp("power")
    disk = top / "disk"
    disk.mkdir()
    whole = finished_run(disk, DECK, "deck", "output.checkpoint.keep=2", "output.checkpoint.final=false", ranks=2,
                         LD_PRELOAD=str(power_cut_shim), OMPI_MCA_io=request.param, ISOTHERM_POWER_LOG=str(top / "log"))
    lines = []
    for kind, name, *other in map(str.split, (top / "log").read_text().splitlines()):
        names = [os.path.relpath(disk / each, disk) for each in (name, *other)]
        if not names[0].startswith(".."):  # else it is elsewhere
            lines.append((kind, names[0], *(names[1:] if kind == "rename" else other)))
    return whole, lines


def test_files_are_whole_after_a_power_failure_at_any_time(logged):
    _, lines = logged
    sound = {None: False}
    begun = renamed = published = 0
    for line, states in replayed(lines):
        if line[0] == "create":
            begun = max(begun, newest_of([line[1].removesuffix(".part")]))
        if line[0] == "rename":
            renamed = max(renamed, newest_of([line[2]]))
        if line[0] == "names":
            published = renamed
        for state in states:
            for name in state:
                if name.endswith(".hdf"):
                    if state[name] not in sound:
                        sound[state[name]] = isotherm("info", state[name]).returncode == 0
                    assert sound[state[name]], f"{name} is not whole after {line}"
            newest = newest_of(state)
            assert newest >= max(begun - 10, published), f"{line}: only sweep {newest} of {begun}"
    assert published == 30 and len(sound) > 6


def test_the_resumed_run_equals_an_uninterrupted_one(logged, tmp_path):
    whole, lines = logged
    seed = random.randrange(1 << 30)
    print("seed", seed)
    stopped = [state for _, states in replayed(lines) for state in states
               if newest_of(state) and "runs/deck/run.json" not in state]
    for i, state in enumerate(random.Random(seed).sample(stopped, 3)):
        folder = tmp_path / str(i)
        (folder / "runs" / "deck").mkdir(parents=True)
        write_deck(folder, DECK)
        for name, copy in state.items():
            if copy:
                shutil.copy(copy, folder / name)
        lock = folder / "runs" / "deck" / "run.lock"
        if lock.exists():
            os.utime(lock, (0, 0))  # the machine was down for a while
        ran("run", "deck.yaml", "--restart", "latest", cwd=folder)
        expect_same_answer(whole, folder / "runs" / "deck")


# Bits that flip in the memory of a run.

KELVIN = 300.0
FLIPPED = (np.array(KELVIN).view(np.uint64) ^ np.uint64(1 << 61)).view(float)
VALUES = {"NaN": float("nan"), "1e308": 1e308, "a bit of the exponent": FLIPPED}


def fields_in(memory, maps):
    """Addresses of a middle cell of each array of many temperatures."""
    found = []
    for line in maps.splitlines():
        area, rights, *_, name = (line + " -").split(maxsplit=5)
        low, high = (int(text, 16) for text in area.split("-"))
        if rights[:2] != "rw" or high - low > 1 << 28 or name.strip() not in ("-", "[heap] -"):
            continue
        memory.seek(low)
        try:
            values = np.frombuffer(memory.read((high - low) // 8 * 8), dtype=np.float64)
        except OSError:
            continue
        with np.errstate(invalid="ignore"):
            (at,) = np.nonzero(np.abs(values - KELVIN) < 1)
        if at.size > 20000:
            found += [low + 8 * int(at[at.size * part // 8]) for part in range(1, 8)]
    return found


@pytest.mark.parametrize("name", VALUES)
def test_an_impossible_temperature_is_in_no_checkpoint(tmp_path, name):
    """The next check of the residual detects it; a flip during a write is detected when the file is read back."""
    job = Job(tmp_path, "grid.cells=32", "boundaries={}", f"initial=[{{shape: constant, value: {KELVIN}}}]",
              "problem.check_interval=50", "output.checkpoint={every_steps: 10000, keep: 2}")
    job.wait_for("*.checkpoint.hdf")
    (rank,) = ranks_of(job.process.pid)
    try:
        with open(f"/proc/{rank}/mem", "r+b", buffering=0) as memory:
            places = fields_in(memory, open(f"/proc/{rank}/maps", encoding="utf-8").read())
            assert places, "the fields were not found"
            deadline = time.monotonic() + HANGS
            while job.process.poll() is None and time.monotonic() < deadline:  # repeated, as a value overwritten by a sweep is no fault
                with contextlib.suppress(OSError, struct.error):  # it has ended
                    for place in places:
                        (value,) = struct.unpack("d", os.pread(memory.fileno(), 8, place))
                        if abs(value - KELVIN) < 1:  # otherwise a freed buffer, which belongs to the heap
                            os.pwrite(memory.fileno(), struct.pack("d", VALUES[name]), place)
                time.sleep(0.01)
    except PermissionError:
        kill_all(job.process.pid)
        pytest.skip("no right to write into the memory of a process")
    code, _, err = job.end()
    if code == 74:  # during the write of a checkpoint, which is read back
        assert ".checkpoint.hdf.part: the file does not hold what was written" in err, err
    else:
        assert code == 76, err
        said = re.search(r"diverged: cell \((\d+), (\d+), (\d+)\) (is not finite|has reached \S+ K) after sweep (\d+) "
                         r"\(residuals are checked every 50 sweeps\)", err)
        assert said and all(int(i) < 32 for i in said.groups()[:3]), err
    assert checkpoints(job.out)
    expect_whole_files(job.out)
    for file in checkpoints(job.out):
        assert np.abs(cells(job.out / file) - KELVIN).max() < 1, "a checkpoint holds the fault"
