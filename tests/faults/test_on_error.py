"""output.on_error: what a file that cannot be written does to the run. The disk is one that fails from a moment on, by a
preloaded library (io_shim.c)."""

import errno
from pathlib import Path

import pytest

from program import DECK, isotherm, write_deck
from runs import checkpoints, history, record, snapshots
from shim import build_shim

SLICE = "output.slices=[{axis: z, cell: 12, every_steps: 10}]"
LOST = "no room for the file (No space left on device: "


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return build_shim(Path(__file__).with_name("io_shim.c"), tmp_path_factory.mktemp("shim"))


def run(shim, folder, *words, fault, path, ranks):
    return isotherm("run", write_deck(folder, DECK), "output.directory=out", *words, ranks=ranks, cwd=folder,
                    LD_PRELOAD=str(shim), ISOTHERM_SHIM=fault, ISOTHERM_SHIM_PATH=path)


@pytest.mark.parametrize("ranks", [0, 2])
def test_warn_goes_on_without_the_file(shim, tmp_path, ranks):
    """Of three snapshots the first has room, and of five slices all have; probes and history miss nothing."""
    done = run(shim, tmp_path, SLICE, "output.on_error=warn", "output.probes={points: [[-0.9, 2.1, 0.6]], every_steps: 10}",
               fault=f"reserve:3:{errno.ENOSPC}", path="deck_000000", ranks=ranks)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    warnings = [line for line in done.stderr.splitlines() if LOST in line]
    assert [line.split(".hdf.part")[0] for line in warnings] == [f"warning: out/deck_000000{n}" for n in (20, 40)]
    assert all(line.endswith("; the run goes on without it (output.on_error: warn)") for line in warnings)
    assert [name for name in snapshots(out) if "slice" not in name] == ["deck_00000000.hdf"]
    assert len(list(out.glob("deck_slice_z12_*.hdf"))) == 5 and not list(out.glob("*.part"))
    assert "deck_00000020" not in (out / "deck.hdf.series").read_text()
    assert len((out / "probes.csv").read_text().splitlines()) >= 5 and history(out)
    written = record(out)
    assert written["exit_code"] == 0 and sum(LOST in warning for warning in written["warnings"]) == 2
    assert "deck_00000020.hdf" not in written["files"]
    plain = isotherm("run", "deck.yaml", "output.directory=plain", cwd=tmp_path)
    assert plain.returncode == 0 and record(tmp_path / "plain")["fingerprint"] == written["fingerprint"]


def test_a_slice_that_is_lost_takes_no_other_with_it(shim, tmp_path):
    done = run(shim, tmp_path, SLICE.replace("}]", "}, {axis: x, cell: 3, every_steps: 10}]"), "output.on_error=warn",
               fault=f"reserve:1:{errno.EDQUOT}", path="slice_z12_", ranks=2)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Disk quota exceeded") == 5
    out = tmp_path / "out"
    assert len(list(out.glob("deck_slice_x3_*.hdf"))) == 5 and not list(out.glob("deck_slice_z12_*.hdf"))
    assert len([name for name in snapshots(out) if "slice" not in name]) == 3


@pytest.mark.parametrize("asynchronous", ["true", "false"])
def test_stop_is_the_default(shim, tmp_path, asynchronous):
    done = run(shim, tmp_path, SLICE, f"output.asynchronous={asynchronous}", fault=f"reserve:1:{errno.ENOSPC}", path="slice_z12_", ranks=2)
    assert done.returncode == 74 and LOST in done.stderr
    assert record(tmp_path / "out")["exit_code"] == 74


@pytest.mark.parametrize("fault, path", [(f"reserve:3:{errno.ENOSPC}", ".checkpoint.hdf"), (f"write:1:{errno.EIO}", "20.hdf.part")])
def test_what_no_run_can_go_on_after(shim, tmp_path, fault, path):
    """A checkpoint that is lost; an error in the middle of MPI-IO, which leaves its ranks waiting for each other."""
    done = run(shim, tmp_path, "output.on_error=warn", "output.checkpoint={every_steps: 10}", fault=fault, path=path, ranks=2)
    assert done.returncode == 74, done.stderr
    out = tmp_path / "out"
    assert checkpoints(out) and all(isotherm("info", out / name).returncode == 0 for name in checkpoints(out))
