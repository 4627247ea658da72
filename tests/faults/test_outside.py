"""What a run touches: its own directory, and what its MPI keeps in the folder for temporary files. It starts no program.
Watched by a preloaded library (outside_shim.c)."""

import json
import os
import time
from pathlib import Path

import pytest

from program import DECK, isotherm, write_deck
from shim import build_shim

# Of MPI's own, not of the program's: devices, shared memory, and what /proc and /sys offer.
SYSTEM = ("/dev/", "/proc/", "/sys/")
LURES = ["$(touch lured)", "; touch lured #", "../%s%nlured"]


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return build_shim(Path(__file__).with_name("outside_shim.c"), tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_writes_to_its_directory_alone(shim, tmp_path, ranks):
    work, temporary, log = tmp_path / "work", tmp_path / "temporary", tmp_path / "log"
    work.mkdir()
    temporary.mkdir()
    write_deck(work, DECK)
    words = ["output.directory=out", "output.checkpoint={every_steps: 10}", "output.slices=[{axis: z, cell: 3}]",
             "output.probes={points: [[-0.9, 2.1, 0.6]]}", "output.diagnostics=5"]
    done = isotherm("run", "deck.yaml", *words, ranks=ranks, cwd=work, LD_PRELOAD=str(shim), ISOTHERM_OUTSIDE=str(log),
                    TMPDIR=str(temporary), OMPI_MCA_orte_tmpdir_base=str(temporary), HOME=str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 1) for line in log.read_text(errors="replace").splitlines()]
    own = [path for kind, path in lines if kind == "write" and path.startswith(f"{work}/out/")]
    assert any("checkpoint" in path for path in own) and any(path.endswith("history.csv") for path in own)
    allowed = (f"{work}/out", f"{temporary}/", *SYSTEM)
    above = {str(folder) for folder in [temporary, *temporary.parents]}  # which MPI makes sure are there
    written = {os.path.normpath(path) for kind, path in lines if kind == "write"}
    assert sorted(path for path in written - above if not path.startswith(allowed)) == []
    # The launcher has the library too, and starts the ranks.
    assert {os.path.basename(path) for kind, path in lines if kind == "start"} <= {"isotherm"}
    assert sorted(os.listdir(work)) == ["deck.yaml", "out"]


@pytest.mark.parametrize("lure", LURES)
def test_texts_of_a_deck_are_no_commands(shim, tmp_path, lure):
    """As the names of slices and probes, the run's directory, a dataset: refused, or taken as they are."""
    log = tmp_path / "log"
    work = tmp_path / "work" / "in"
    work.mkdir(parents=True)
    write_deck(work, DECK)
    quoted = "'" + lure + "'"
    for word in (f"output.slices=[{{axis: z, cell: 3, name: {quoted}}}]", f"output.probes={{points: [{{at: [-0.9, 2.1, 0.6], name: {quoted}}}]}}",
                 f"initial=[{{shape: dataset, file: {quoted}, dataset: {quoted}}}]", f"output.directory={quoted}"):
        isotherm("run", "deck.yaml", word, cwd=work, LD_PRELOAD=str(shim), ISOTHERM_OUTSIDE=str(log))
    assert "touch" not in [line.split()[1] for line in log.read_text().splitlines() if line.startswith("start")]
    assert not [path for path in tmp_path.rglob("lured") if path.is_file()]


@pytest.mark.parametrize("ranks, words", [(0, []), (2, ["output.asynchronous=false"])])
def test_a_series_is_replaced_as_time_goes_by_and_not_for_every_file(shim, tmp_path, ranks, words):
    """At most once a second and where a checkpoint or the end is: it costs as much as the files that it names."""
    log, start = tmp_path / "log", time.monotonic()
    done = isotherm("run", write_deck(tmp_path, DECK), "output.directory=out", "output.snapshots=false", "problem.steps=120",
                    "output.slices=[{axis: z, cell: 3, every_steps: 1}]", "output.checkpoint={every_steps: 40}", *words,
                    ranks=ranks, cwd=tmp_path, LD_PRELOAD=str(shim), ISOTHERM_OUTSIDE=str(log))
    seconds = time.monotonic() - start
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    written = [path.removeprefix(f"write {out}/") for path in log.read_text(errors="replace").splitlines()]
    for name in ("deck_slice_z3.hdf.series", "deck_slice_z3.xmf"):
        assert 1 < written.count(name) <= 1 + seconds + 3 + 1  # the first, by the clock, at checkpoints, at the end
    names = [f"deck_slice_z3_{sweep:08d}.hdf" for sweep in range(121)]
    assert all(written.count(name) == 1 for name in names)
    assert [entry["name"] for entry in json.loads((out / "deck_slice_z3.hdf.series").read_text())["files"]] == names

    def last(name, before):
        return max(index for index in range(before) if written[index] == name)

    for sweep in (40, 80):  # when the run goes on from a checkpoint, all slices up to it are in the series
        goes_on = written.index(f"deck_slice_z3_{sweep + 1:08d}.hdf.part")
        checkpoint, newest = (last(name, goes_on) for name in (f"deck_{sweep:08d}.checkpoint.hdf", names[sweep]))
        assert newest < checkpoint and last("deck_slice_z3.xmf", goes_on) > newest
