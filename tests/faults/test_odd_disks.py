"""Disks with a quota, disks that take a part of what they are given, are interrupted, or lose what they took: told, or
mended, never half a file. The faults are made by a preloaded library (io_shim.c)."""

import errno
from pathlib import Path

import pytest

from program import isotherm, write_deck
from runs import record, snapshots
from shim import build_shim


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return build_shim(Path(__file__).with_name("io_shim.c"), tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="module")
def fingerprint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    assert isotherm("run", write_deck(folder), "output.directory=out", cwd=folder).returncode == 0
    return record(folder / "out")["fingerprint"]


def run_with(shim, folder, fault, ranks, *words, path=".hdf.part", **environment):
    return isotherm(
        "run", write_deck(folder), "output.directory=out", *words, ranks=ranks, cwd=folder,
        LD_PRELOAD=str(shim), ISOTHERM_SHIM=fault, ISOTHERM_SHIM_PATH=path, ISOTHERM_IO_TIMEOUT="120", **environment,
    )


def expect_whole_files(out):
    for path in out.glob("*.hdf"):
        done = isotherm("info", path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_quota_is_told_before_a_byte_is_written(shim, tmp_path, ranks):
    """Space is reserved twice a file, so the third is the second file's first."""
    done = run_with(shim, tmp_path, f"reserve:3:{errno.EDQUOT}", ranks)
    assert done.returncode == 74, done.stdout + done.stderr
    line = next(line for line in done.stderr.splitlines() if "no room" in line)
    assert line.startswith("out/deck_00000020.hdf.part: no room for the file (Disk quota exceeded: ")
    assert " bytes wanted, " in line and done.stderr.count("no room") == 1
    assert "MPI_ABORT" not in done.stderr
    assert snapshots(tmp_path / "out") == ["deck_00000000.hdf"] and not list((tmp_path / "out").glob("*.part"))
    expect_whole_files(tmp_path / "out")


def test_a_quota_that_shows_while_writing(shim, tmp_path):
    done = run_with(shim, tmp_path, f"write:3:{errno.EDQUOT}", 2)
    assert done.returncode == 74, done.stdout + done.stderr
    assert "deck_00000000.hdf.part" in done.stderr
    assert snapshots(tmp_path / "out") == []


@pytest.mark.parametrize("ranks", [0, 2])
def test_short_writes_are_continued(shim, tmp_path, fingerprint, ranks):
    """Of cells, series and record."""
    done = run_with(shim, tmp_path, "write:1:short", ranks, path=".part")
    assert done.returncode == 0, done.stdout + done.stderr
    assert record(tmp_path / "out")["fingerprint"] == fingerprint
    assert len(snapshots(tmp_path / "out")) == 3
    expect_whole_files(tmp_path / "out")


@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("interruption", ["EINTR", "EAGAIN"])
def test_interrupted_writes_are_repeated_or_told(shim, tmp_path, fingerprint, interruption, ranks):
    """What isotherm writes itself is repeated; MPI-IO may give up, and then the run ends with the file's name."""
    done = run_with(shim, tmp_path, f"write:1:{interruption}", ranks, "output={directory: out, snapshots: false}", path=".part")
    assert done.returncode == 0, done.stdout + done.stderr
    assert record(tmp_path / "out")["fingerprint"] == fingerprint
    done = run_with(shim, tmp_path, f"write:1:{interruption}", ranks, "output.overwrite=true")
    assert done.returncode in (0, 74), done.stdout + done.stderr
    assert done.returncode == 0 or "out/deck_00000000.hdf.part: " in done.stderr
    assert len(snapshots(tmp_path / "out")) == (3 if done.returncode == 0 else 0)
    expect_whole_files(tmp_path / "out")


@pytest.mark.parametrize("first, ranks", [(1, 1), (4, 2), (7, 2)])
def test_what_is_lost_without_an_error_is_found_by_reading_back(shim, tmp_path, first, ranks):
    """As OMPIO loses it on a full disk."""
    done = run_with(shim, tmp_path, f"write:{first}:lose", ranks)
    assert done.returncode == 74, done.stdout + done.stderr
    lost = f"out/deck_000000{'00' if first < 6 else '20'}.hdf.part: "
    assert lost in done.stderr and " data: write " in done.stderr
    assert lost.removesuffix(".part: ") not in snapshots(tmp_path / "out")
    expect_whole_files(tmp_path / "out")


def test_ompio_is_a_warning_before_the_first_file(shim, tmp_path):
    done = run_with(shim, tmp_path, f"reserve:1:{errno.ENOSPC}", 2, OMPI_MCA_io="ompio")
    assert done.returncode == 74, done.stderr
    if "Open MPI" not in done.stdout:
        pytest.skip("another MPI has no OMPIO")
    warning = "warning: OMPI_MCA_io asks for OMPIO, which loses data on a full disk without an error; "
    assert done.stderr.count(warning) == 1
    assert done.stderr.index(warning) < done.stderr.index("no room")


def test_with_ompio_all_is_well_while_the_disk_is(shim, tmp_path, fingerprint):
    done = run_with(shim, tmp_path, "none:1:5", 2, OMPI_MCA_io="ompio")
    assert done.returncode == 0, done.stderr
    assert record(tmp_path / "out")["fingerprint"] == fingerprint
    expect_whole_files(tmp_path / "out")


@pytest.mark.parametrize("fault, ranks", [("write:1", 2), ("fsync:1", 0), ("rename:1", 0)])
def test_a_record_that_cannot_be_written(shim, tmp_path, fault, ranks):
    """The fields are there; no half record is."""
    done = run_with(shim, tmp_path, f"{fault}:{errno.ENOSPC}", ranks, path="run.json")
    assert done.returncode == 74, done.stdout + done.stderr
    assert done.stderr.count("No space left on device") == 1 and "run.json" in done.stderr
    assert not list((tmp_path / "out").glob("run.json*")) and len(snapshots(tmp_path / "out")) == 3
    assert done.stdout.endswith("RESULT: FAILED\n")
    expect_whole_files(tmp_path / "out")
