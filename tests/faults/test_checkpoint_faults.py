"""Checkpoints that were damaged, forged or never finished: the newest sound one is gone on from, or none, and nothing is
guessed. Disks that fail while one is written, and runs that are killed."""

import errno
import os
import random
import shutil
import subprocess
import time

import h5py
import numpy as np
import pytest

from job import wait_until_gone
from program import command, family_of, HANGS, isotherm, kill, ran, ranks_of, write_deck
from runs import checkpoints, expect_same_run, record
from small_block import SMALL_BLOCK

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
    folder = tmp_path_factory.mktemp("whole")
    write_deck(folder, DECK)
    ran("run", "deck.yaml", "output.directory=out", "output.checkpoint.final=false", cwd=folder)
    assert checkpoints(folder / "out") == ["deck_00000010.checkpoint.hdf", BEFORE, NEWEST]
    return folder / "out"


@pytest.fixture
def out(whole, tmp_path):
    """The directory as it was when the run was killed after sweep 30."""
    write_deck(tmp_path, DECK)
    shutil.copytree(whole, tmp_path / "out")
    for name in ("deck_00000032.hdf", "deck_00000040.hdf", "run.json"):
        (tmp_path / "out" / name).unlink()
    return tmp_path / "out"


def go_on(out, *words, restart="latest", ranks=0, **environment):
    return isotherm("run", "deck.yaml", "output.directory=out", *words, "--restart", restart, ranks=ranks,
                    cwd=out.parent, **environment)


def replace_cells(path, make):
    """The dataset of the cells by another, made by make(group, name, values)."""
    with h5py.File(path, "r+") as file:
        values = file[CELLS][:]
        del file[CELLS]
        make(file, "temperature", values)


def with_file(change):
    def damage(path):
        with h5py.File(path, "r+") as file:
            change(file)
    return damage


def flip_a_byte_of_the_cells(path):
    with h5py.File(path) as file:
        at = file[CELLS].id.get_offset() + 1234
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def external_link(path):
    def make(group, name, values):
        with h5py.File(path.with_name("elsewhere.h5"), "w") as other:
            other["T"] = values
        group[name] = h5py.ExternalLink("elsewhere.h5", "/T")
    replace_cells(path, make)


def external_storage(path):
    def make(group, name, values):
        elsewhere = path.with_name("elsewhere.raw")
        elsewhere.write_bytes(values.tobytes())
        group.create_dataset(name, values.shape, values.dtype, external=[(str(elsewhere), 0, values.nbytes)])
    replace_cells(path, make)


def virtual_dataset(path):
    def make(group, name, values):
        with h5py.File(path.with_name("elsewhere.h5"), "w") as other:
            other["T"] = values
        layout = h5py.VirtualLayout(values.shape, values.dtype)
        layout[:] = h5py.VirtualSource("elsewhere.h5", "T", values.shape)
        group.create_virtual_dataset(name, layout)
    replace_cells(path, make)


def cyclic_groups(path):
    with h5py.File(path, "r+") as file:
        del file["/VTKHDF/PointData"]
        file["/VTKHDF/PointData"] = file["/VTKHDF"]
        del file["/isotherm/checkpoint"]
        file["/isotherm/checkpoint"] = h5py.SoftLink("/isotherm")


def many_attributes(path):
    with h5py.File(path, "r+", libver="latest") as file:
        group = file["/isotherm"]
        for i in range(20000):
            group.attrs[f"a{i}"] = i
        group.attrs["sweep"] = np.int64(31)


def text_of_any_length(path):
    with h5py.File(path, "r+") as file:
        del file["/isotherm/resolved_deck"]
        file["/isotherm/resolved_deck"] = "x" * 100


DAMAGES = {
    "zero length": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("a text file\n"),
    "head only": lambda path: path.write_bytes(path.read_bytes()[:4096]),
    "last byte missing": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "one byte of the cells": flip_a_byte_of_the_cells,
    "one cell, by HDF5": with_file(lambda file: file[CELLS].write_direct(np.array([[[301.0]]]), dest_sel=np.s_[3:4, 2:3, 1:2])),
    "no fingerprint": with_file(lambda file: file["/isotherm"].attrs.pop("fingerprint")),
    "no residual": with_file(lambda file: file["/isotherm/checkpoint"].attrs.pop("last_residual")),
    "another sweep": with_file(lambda file: file["/isotherm"].attrs.modify("sweep", np.int64(29))),
    "another residual": with_file(lambda file: file["/isotherm/checkpoint"].attrs.modify("first_residual", 2.0)),
    "newer format": with_file(lambda file: file["/isotherm"].attrs.modify("format_version", np.int64(3))),
    "newer checkpoint": with_file(lambda file: file["/isotherm/checkpoint"].attrs.modify("version", np.int64(3))),
    "older format": with_file(lambda file: file["/isotherm"].attrs.modify("format_version", np.int64(0))),
    "no checkpoint": with_file(lambda file: file["/isotherm"].pop("checkpoint")),
    "no cells": with_file(lambda file: (file.pop("temperature"), file.pop("VTKHDF"))),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "external link": external_link,
    "external storage": external_storage,
    "virtual dataset": virtual_dataset,
    "another shape": lambda path: replace_cells(path, lambda group, name, values: group.create_dataset(name, data=values.T)),
    "8 PiB": lambda path: replace_cells(path, lambda group, name, values: group.create_dataset(
        name, (1 << 17, 1 << 17, 1 << 16), "f8", chunks=(1, 16, 16))),
    "rank 7": lambda path: replace_cells(path, lambda group, name, values: group.create_dataset(name, (1,) * 7, "f8")),
    "compound": lambda path: replace_cells(path, lambda group, name, values: group.create_dataset(
        name, values.shape, [("a", "f8"), ("b", "i4")])),
    "texts": lambda path: replace_cells(path, lambda group, name, values: group.create_dataset(
        name, values.shape, h5py.string_dtype())),
    "single precision": lambda path: replace_cells(path, lambda group, name, values: group.create_dataset(
        name, data=values.astype("f4"))),
    "cyclic groups": cyclic_groups,
    "many attributes": many_attributes,
    "text of any length": text_of_any_length,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_named_and_passed_over(whole, out, damage):
    DAMAGES[damage](out / NEWEST)
    done = go_on(out)
    assert done.returncode == 0, done.stderr
    assert f"warning: passed over: out/{NEWEST}: " in done.stderr.replace(f"{NEWEST}:/", f"{NEWEST}: /")
    assert f"; going on from out/{BEFORE}\n" in done.stderr
    expect_same_run(whole, out)


def test_damage_is_the_same_to_many_ranks(whole, out):
    flip_a_byte_of_the_cells(out / NEWEST)
    done = go_on(out, "parallel.process_grid=[1, 1, 3]", ranks=3)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("passed over") == 1 and f"going on from out/{BEFORE}, sweep 20" in done.stdout
    expect_same_run(whole, out)


def test_a_filter_that_only_a_plug_in_has(whole, out):
    """Whatever HDF5_PLUGIN_PATH says, no code is loaded."""
    def make(group, name, values):
        space = h5py.h5s.create_simple(values.shape)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk(values.shape)
        creation.set_filter(32015, h5py.h5z.FLAG_OPTIONAL)
        h5py.h5d.create(group.id, name.encode(), h5py.h5t.NATIVE_DOUBLE, space, creation)
    replace_cells(out / NEWEST, make)
    done = go_on(out, HDF5_PLUGIN_PATH=str(out))
    assert done.returncode == 0 and "needs the filter 32015" in done.stderr
    expect_same_run(whole, out)


def test_none_that_is_sound_is_refused_with_all_reasons(out):
    for path in out.glob("*.checkpoint.hdf"):
        flip_a_byte_of_the_cells(path)
    before = sorted(out.iterdir())
    for ranks in 0, 2:
        done = go_on(out, ranks=ranks)
        assert done.returncode == 65
        assert done.stderr.count("its cells have fingerprint") == 3
        assert "no sound checkpoint of 'deck' for --restart latest; name another one, or start without it" in done.stderr
    assert sorted(out.iterdir()) == before


def test_one_that_is_named_is_not_guessed_around(out):
    flip_a_byte_of_the_cells(out / NEWEST)
    done = go_on(out, restart=f"out/{NEWEST}")
    assert done.returncode == 65 and BEFORE not in done.stderr
    assert go_on(out, restart="out/deck_00000016.hdf").returncode == 65
    assert go_on(out, restart="out/nothing.hdf").returncode == 66
    done = go_on(out, restart="deck.yaml")
    assert done.returncode == 65 and "HDF5 cannot open it" in done.stderr


def test_unfinished_ones_are_never_read(out):
    for path in out.glob("*.checkpoint.hdf"):
        path.rename(path.with_name(path.name + ".part"))
    done = go_on(out)
    assert done.returncode == 66
    assert "no checkpoint of 'deck' in 'out' (--restart latest); name a file, or start without --restart" in done.stderr


@pytest.mark.parametrize("target", ["nowhere", "latest", "/etc/passwd"])
def test_latest_leads_nowhere_else(whole, out, target):
    (out / "latest").unlink()
    (out / "latest").symlink_to(target)
    done = go_on(out, restart="out/latest")
    assert done.returncode == 0, done.stderr
    assert f"going on from out/{NEWEST}, sweep 30" in done.stdout
    expect_same_run(whole, out)
    assert not (out / "latest").is_symlink()


def test_a_link_that_leaves_the_folder(whole, out):
    shutil.move(out / NEWEST, out.parent / "elsewhere.hdf")
    (out / NEWEST).symlink_to("../elsewhere.hdf")
    done = go_on(out)
    assert done.returncode == 0 and "a link that leaves its folder" in done.stderr
    expect_same_run(whole, out)


@pytest.mark.parametrize("word, key, before, now", [
    ("grid.cells=[17, 13, 16]", "grid.cells", "[17, 13, 15]", "[17, 13, 16]"),
    ("grid.lengths=[0.17, 0.26, 0.5]", "grid.lengths", "[0.17, 0.26, 0.45]", "[0.17, 0.26, 0.5]"),
    ("material.diffusivity=2e-5", "material.diffusivity", "1e-5", "2e-5"),
    ("precision=fp32", "precision", "fp64", "fp32"),
    ("boundaries.x_min.value=300", "boundaries.x_min.value", '"300 + 10*y"', "300"),
    ("boundaries.z_max={kind: temperature, value: 3}", "boundaries.z_max.kind", "insulated", "temperature"),
    ("sources=[{shape: constant, value: 1}]", "sources", "[]", "[{shape: constant, mode: set, value: 1}]"),
    ("problem.dt=1e-3", "problem.dt", "auto", "0.001"),
    ("problem.dt_fraction=0.8", "problem.dt_fraction", "0.9", "0.8"),
    ("problem.check_interval=8", "problem.check_interval", "7", "8")])
def test_another_problem_is_refused_by_key_and_values(out, word, key, before, now):
    files = {path: path.read_bytes() for path in out.iterdir()}
    done = go_on(out, word, *(["material.conductivity=1"] if "sources" in word else []))
    assert done.returncode == 65, done.stderr
    assert f"{key}: {before} in the checkpoint, {now} in the deck\n" in done.stderr
    assert f"out/{NEWEST}: is of another problem (these keys cannot change on the way)" in done.stderr
    assert files == {path: path.read_bytes() for path in out.iterdir()}


def test_what_may_change_is_told(whole, out):
    done = go_on(out, "solver.kernel=reference", "output.checkpoint.keep=5", "parallel.process_grid=[1, 1, 1]")
    assert done.returncode == 0, done.stderr
    for line in ("solver.kernel auto -> reference", "output.checkpoint.keep 3 -> 5", "parallel.process_grid auto -> [1, 1, 1]"):
        assert f"  changed: {line}\n" in done.stdout
    assert record(whole)["fingerprint"] == record(out)["fingerprint"]


@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("fault", ["write:14", "fsync:5", "rename:2"])
def test_a_disk_that_fails_leaves_the_checkpoint_before(io_shim, tmp_path, fault, ranks):
    write_deck(tmp_path, DECK)
    words = "output={directory: out, snapshots: false, checkpoint: {every_steps: 10}}"  # no other files of HDF5
    ran("run", "deck.yaml", words, ranks=ranks, cwd=tmp_path, LD_PRELOAD=str(io_shim),
        ISOTHERM_SHIM=f"{fault}:{errno.EIO}", ISOTHERM_IO_TIMEOUT="120", code=74)
    out = tmp_path / "out"
    for name in checkpoints(out):
        assert isotherm("info", out / name).returncode == 0
    assert checkpoints(out)[0] == "deck_00000010.checkpoint.hdf" and len(checkpoints(out)) < 4
    ran("run", "deck.yaml", words, "--restart", "latest", cwd=tmp_path)


def test_a_kill_at_any_moment_costs_an_interval_at_most(tmp_path):
    """As often as ISOTHERM_KILLS says. Each part goes on from the one before, until the run is over."""
    kills, interval = int(os.environ.get("ISOTHERM_KILLS", "10")), 150
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    write_deck(tmp_path, DECK)
    out = tmp_path / "out"
    problem = [f"problem.steps={20000 * kills}", "problem.check_interval=1000", "output.every_steps=20000",
               "output.diagnostics=7000"]
    words = [*problem, "output.directory=out", f"output.checkpoint={{every_steps: {interval}, keep: 2}}"]
    newest, killed = -1, 0
    for i in range(kills):
        restart = ["--restart", "latest"] if checkpoints(out) else ["output.overwrite=true"]
        process = subprocess.Popen(command("run", "deck.yaml", *words, *restart, ranks=draw.choice([0, 2])),
                                   cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        wanted = max(newest, 0)
        deadline = time.monotonic() + HANGS
        while process.poll() is None and newest_of(out) <= wanted and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 0.2))
        if process.poll() is not None:
            assert process.returncode == 0, process.stdout.read().decode()
            break
        ranks = ranks_of(process.pid)
        kill(*{"all": reversed(family_of(process.pid)), "a rank": [draw.choice(ranks)], "the launcher": [process.pid]}[
            draw.choice(["all", "a rank", "the launcher"])])
        process.communicate(timeout=HANGS)
        wait_until_gone(*ranks)
        killed += 1
        assert newest_of(out) >= newest
        newest = newest_of(out)
        for name in checkpoints(out):
            ran("info", out / name)
    assert killed > kills // 2
    seldom, patience = "output.checkpoint={every_steps: 100000}", HANGS + 10 * kills
    ran("run", "deck.yaml", *problem, seldom, "output.directory=out", "--restart", "latest", cwd=tmp_path,
        timeout=patience)
    ran("run", "deck.yaml", *problem, seldom, "output.directory=whole", cwd=tmp_path, timeout=patience)
    expect_same_run(tmp_path / "whole", out)


def newest_of(out):
    return max([int(name.split("_")[1].split(".")[0]) for name in checkpoints(out)], default=-1)
