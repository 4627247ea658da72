"""Disks that are full, have a quota, write partially, interrupt calls, fail, stall, or lose data: the run reports or repairs it, and
leaves no partial file. A full disk is 8 MiB of tmpfs; a preloaded library (io_shim.c) simulates other faults."""

import errno
import json
import subprocess
import time

import pytest

from job import Background
from program import DECK, finished, finished_run, GATHERED, ran, write_deck
from runs import checkpoints, expect_whole_files, history, record, snapshots

LOST = "no room for the file (No space left on device: "


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = finished(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk])
    if mounted.returncode != 0:
        pytest.skip(f"no right to mount a small tmpfs: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_study_on_a_full_disk_leaves_no_lock(small_disk, tmp_path):
    deck = write_deck(tmp_path, DECK + "study: {matrix: {precision: [fp64]}}\n")
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filling").write_bytes(bytes(9 << 20))
    done = ran("study", deck, f"output.directory={small_disk}/out", cwd=tmp_path, code=73)
    assert "run.lock' (No space left on device); free some space\n" in done.stderr and not list((small_disk / "out").iterdir())


@pytest.mark.parametrize("compression, ranks, environment", [
    (0, 1, {}), (0, 3, {}), (1, 1, {}), (1, 3, {}), (1, 3, GATHERED)])
def test_a_full_disk_is_74_and_leaves_no_partial_file(small_disk, tmp_path, compression, ranks, environment):
    """Even where the file would fit when compressed: space is reserved for all cells, and all ranks know that
    it is missing."""
    deck = write_deck(tmp_path, DECK.replace("[17, 23, 31]", "[64, 64, 80]"))  # 2.5 MiB of cells, in two chunks
    words = f"output={{directory: {small_disk}/out, every_steps: 1, compression: {compression}}}"
    done = ran("run", deck, words, ranks=ranks, cwd=tmp_path, code=74, ISOTHERM_IO_TIMEOUT="120",
               **environment)
    assert "did not finish within" not in done.stderr, "only the watchdog has ended it"
    files = sorted(path.name for path in (small_disk / "out").glob("*.hdf"))
    assert files == [f"deck_{sweep:08}.hdf" for sweep in range(len(files))]
    assert len(files) > 3 if compression else len(files) == 3
    message = next(line for line in done.stderr.splitlines() if "no room" in line)
    assert f"{small_disk}/out/deck_{len(files):08}.hdf.part: {LOST}" in message
    assert "bytes wanted" in message and "free" in message
    assert sorted(path.name for path in (small_disk / "out").glob("*.hdf*")) == ["deck.hdf.series", *files]
    series = json.loads((small_disk / "out" / "deck.hdf.series").read_text())["files"]
    assert [entry["name"] for entry in series] == files
    expect_whole_files(small_disk / "out")


@pytest.fixture(scope="module")
def fingerprint(tmp_path_factory):
    return record(finished_run(tmp_path_factory.mktemp("sound"), DECK))["fingerprint"]


def run_with(io_shim, folder, fault, *words, path=".hdf.part", watchdog=120, **options):
    """A run with this fault; files that have their names are whole, however it ends."""
    done = ran("run", write_deck(folder), *words, "output.directory=out", cwd=folder, LD_PRELOAD=str(io_shim),
               ISOTHERM_SHIM=fault, ISOTHERM_SHIM_PATH=path, ISOTHERM_IO_TIMEOUT=str(watchdog), **options)
    expect_whole_files(folder / "out")
    return done


@pytest.mark.parametrize("ranks, asynchronous", [(1, "true"), (4, "true"), (4, "false")])
def test_a_quota_is_reported_before_a_byte_is_written(io_shim, tmp_path, ranks, asynchronous):
    """Space is reserved twice per file, so the third call is the first of the second file."""
    word = f"output.asynchronous={asynchronous}"
    done = run_with(io_shim, tmp_path, f"reserve:3:{errno.EDQUOT}", word, ranks=ranks, code=74)
    line, = [line for line in done.stderr.splitlines() if "no room" in line]
    assert line.startswith("out/deck_00000020.hdf.part: no room for the file (Disk quota exceeded: ") and " bytes wanted, " in line
    assert "MPI_ABORT" not in done.stderr and record(tmp_path / "out")["exit_code"] == 74
    assert snapshots(tmp_path / "out") == ["deck_00000000.hdf"] and not list((tmp_path / "out").glob("*.part"))


@pytest.mark.parametrize("fault, ranks, environment, path", [
    ("write:1:short", 0, {}, ".part"), ("write:1:short", 2, {}, ".part"),  # of cells, series and record
    ("none:1:5", 2, {"OMPI_MCA_io": "ompio"}, ".hdf.part")])
def test_short_writes_are_continued_and_ompio_works_without_a_fault(io_shim, tmp_path, fingerprint, fault, ranks, environment, path):
    run_with(io_shim, tmp_path, fault, ranks=ranks, path=path, watchdog=0 if "none" in fault else 120, **environment)
    assert record(tmp_path / "out")["fingerprint"] == fingerprint and len(snapshots(tmp_path / "out")) == 3


@pytest.mark.parametrize("interruption, ranks", [("EINTR", 0), ("EINTR", 2), ("EAGAIN", 2)])
def test_interrupted_writes_are_repeated_or_reported(io_shim, tmp_path, fingerprint, interruption, ranks):
    """isotherm repeats its own writes; MPI-IO may give up, and then the run ends with the name of the file."""
    fault = f"write:1:{interruption}"
    run_with(io_shim, tmp_path, fault, "output={snapshots: false}", ranks=ranks, path=".part")
    assert record(tmp_path / "out")["fingerprint"] == fingerprint
    done = run_with(io_shim, tmp_path, fault, "output.overwrite=true", ranks=ranks, code={0, 74})
    assert done.returncode == 0 or "out/deck_00000000.hdf.part: " in done.stderr
    assert len(snapshots(tmp_path / "out")) == (3 if done.returncode == 0 else 0)


@pytest.mark.parametrize("first, ranks", [(1, 1), (7, 2)])
def test_data_lost_without_an_error_is_found_by_reading_back(io_shim, tmp_path, first, ranks):
    """As OMPIO loses it on a full disk."""
    done = run_with(io_shim, tmp_path, f"write:{first}:lose", ranks=ranks, code=74)
    lost = f"deck_000000{'00' if first < 6 else '20'}.hdf"
    assert f"out/{lost}.part: " in done.stderr and " data: write " in done.stderr
    assert lost not in snapshots(tmp_path / "out")


def test_a_write_of_cells_that_is_lost_is_found_by_their_fingerprint(io_shim, tmp_path):
    """Which of the first writes are those of cells is up to HDF5."""
    for call in range(1, 9):
        folder = tmp_path / str(call)
        folder.mkdir()
        if "does not hold what was written" in run_with(io_shim, folder, f"write:{call}:lose_one", code={0, 74}).stderr:
            return
    pytest.fail("no lost write was found")


def test_ompio_is_a_warning_before_the_first_file(io_shim, tmp_path):
    done = run_with(io_shim, tmp_path, f"reserve:1:{errno.ENOSPC}", ranks=2, code=74, OMPI_MCA_io="ompio")
    if "Open MPI" not in done.stdout:
        pytest.skip("another MPI has no OMPIO")
    warning = "warning: OMPI_MCA_io asks for OMPIO, which loses data on a full disk without an error; "
    assert done.stderr.count(warning) == 1
    assert done.stderr.index(warning) < done.stderr.index("no room")


@pytest.mark.parametrize("fault, ranks", [("write:1", 2), ("fsync:1", 0), ("rename:1", 0)])
def test_a_record_that_cannot_be_written(io_shim, tmp_path, fault, ranks):
    """The fields exist, a partial record does not."""
    done = run_with(io_shim, tmp_path, f"{fault}:{errno.ENOSPC}", ranks=ranks, path="run.json", code=74)
    assert done.stderr.count("No space left on device") == 1 and "run.json" in done.stderr
    assert not list((tmp_path / "out").glob("run.json*")) and len(snapshots(tmp_path / "out")) == 3
    assert done.stdout.endswith("RESULT: FAILED\n")


@pytest.mark.parametrize("ranks", [0, 2])
def test_on_error_warn_continues_without_the_file(io_shim, tmp_path, fingerprint, ranks):
    """Of three snapshots the first has space, all five slices have; probes and history are complete."""
    done = run_with(io_shim, tmp_path, f"reserve:3:{errno.ENOSPC}", "output.on_error=warn",
                    "output.slices=[{axis: z, cell: 12, every_steps: 10}]",
                    "output.probes={points: [[-0.9, 2.1, 0.6]], every_steps: 10}", path="deck_000000", ranks=ranks)
    out = tmp_path / "out"
    warnings = [line for line in done.stderr.splitlines() if LOST in line]
    assert [line.split(".hdf.part")[0] for line in warnings] == [f"warning: out/deck_000000{n}" for n in (20, 40)]
    assert all(line.endswith("; the run continues without it (output.on_error: warn)") for line in warnings)
    assert [name for name in snapshots(out) if "slice" not in name] == ["deck_00000000.hdf"]
    assert len(list(out.glob("deck_slice_z12_*.hdf"))) == 5 and not list(out.glob("*.part"))
    assert "deck_00000020" not in (out / "deck.hdf.series").read_text()
    assert len((out / "probes.csv").read_text().splitlines()) >= 5 and history(out)
    written = record(out)
    assert written["exit_code"] == 0 and sum(LOST in warning for warning in written["warnings"]) == 2
    assert "deck_00000020.hdf" not in written["files"] and written["fingerprint"] == fingerprint
    done = run_with(io_shim, tmp_path, f"reserve:1:{errno.EDQUOT}", "output.on_error=warn", "output.overwrite=true",
                    "output.slices=[{axis: z, cell: 12, every_steps: 10}]", path="slice_z12_", ranks=ranks)
    assert done.stderr.count("Disk quota exceeded") == 5 and len(snapshots(out)) == 3


@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("fault, path", [
    (f"reserve:3:{errno.ENOSPC}", ".checkpoint.hdf"), (f"write:14:{errno.EIO}", ".checkpoint.hdf"),
    (f"fsync:5:{errno.EIO}", ".checkpoint.hdf"), (f"rename:2:{errno.EIO}", ".checkpoint.hdf"),
    (f"write:1:{errno.EIO}", "20.hdf.part")])
def test_errors_after_which_no_run_can_continue(io_shim, tmp_path, fingerprint, fault, path, ranks):
    """A lost checkpoint; an error within MPI-IO, after which its ranks wait for each other. The run resumes
    from the checkpoint before."""
    words = ["output.on_error=warn", "output.checkpoint={every_steps: 10}"]
    done = run_with(io_shim, tmp_path, fault, *words, path=path, ranks=ranks, code=74)
    assert (f"out/deck_00000020.checkpoint.hdf.part: {LOST}" in done.stderr) == ("reserve" in fault)
    assert "reserve" not in fault or "MPI_ABORT" not in done.stderr
    out = tmp_path / "out"
    first, *others = checkpoints(out)
    assert first == "deck_00000010.checkpoint.hdf" and len(others) < 3
    done = ran("run", "deck.yaml", "output.directory=out", "--restart", "latest", cwd=tmp_path)
    assert f"resuming from out/{[first, *others][-1]}, sweep " in done.stdout
    assert record(out)["fingerprint"] == fingerprint


# A disk that fails or stalls: the watchdog ends the run at the latest.


# Two chunks: some are written when they leave the filter, the others when the file is closed.
COMPRESSED = ["grid.cells=[70, 64, 64]", "output.compression=4"]


@pytest.mark.parametrize("fault, ranks, words, environment", [
    *((fault, ranks, [], {}) for fault, ranks in [
        ("write:1", 1), ("write:2", 2), ("write:4", 1), ("write:9", 2), ("fsync:1", 2), ("rename:1", 2),
        ("close:1", 1), ("close:1", 2), ("write:1", 4), ("fsync:1", 4), ("write:3", 2)]),
    *((fault, ranks, COMPRESSED, {}) for fault in ("write:2", "write:6") for ranks in (0, 2)),
    ("write:6", 2, [*COMPRESSED, "output.asynchronous=false"], GATHERED)])
def test_an_io_error_is_74(io_shim, tmp_path, fault, ranks, words, environment):
    """Or a quota that is exceeded during a write."""
    number = errno.EDQUOT if fault == "write:3" else errno.EIO
    done = run_with(io_shim, tmp_path, f"{fault}:{number}", *words, ranks=ranks, watchdog=2, code=74,
                    **environment)
    assert ".hdf" in done.stderr


def stall(clock, io_shim, folder, fault, ranks, *words, **environment):
    """Starts a run with a watchdog of one hour, moves the clock once a call stalls, and returns its stderr."""
    stalled = folder / "stalled"
    run = Background(folder, "run", "deck.yaml", "output.directory=out", *words, ranks=ranks, **clock.environment(io_shim),
                     ISOTHERM_SHIM=f"{fault}:stall", ISOTHERM_SHIM_STALLED=str(stalled), ISOTHERM_IO_TIMEOUT="3600", **environment)
    run.wait_until(stalled.exists, "nothing stalls")
    while run.process.poll() is None:  # repeated, as the watchdog of this rank may start later
        clock.move(3600)
        time.sleep(0.1)
    code, _, err = run.end()
    assert code == 74 and " did not finish within 3600 s (the file system stalls" in err, err
    return err


@pytest.mark.parametrize("fault, ranks", [("write:1", 1), ("write:1", 2), ("fsync:1", 2), ("rename:1", 1)])
def test_a_stall_is_reported_by_phase_and_seconds(clock, io_shim, tmp_path, fault, ranks):
    write_deck(tmp_path)
    stall(clock, io_shim, tmp_path, fault, ranks)
    assert not list((tmp_path / "out").glob("*.hdf"))


# The header, and the cells.
@pytest.mark.parametrize("first, what, ranks", [(1, ".checkpoint.hdf: reading the header", 2), (24, ".checkpoint.hdf:/temperature: ", 1)])
def test_a_restart_from_a_disk_that_stalls_is_74(clock, io_shim, tmp_path, first, what, ranks):
    ran("run", write_deck(tmp_path), "output.directory=out", "output.checkpoint.every_steps=50", cwd=tmp_path)
    assert what in stall(clock, io_shim, tmp_path, f"read:{first}", ranks, "--restart", "latest", ISOTHERM_SHIM_PATH=".hdf")
