"""A full disk ends a run with code 74, not by the watchdog, and leaves only whole files (8 MiB of tmpfs)."""

import json
import subprocess

import pytest

from program import DECK, isotherm, write_deck
from runs import record


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], stderr=subprocess.PIPE, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no right to mount a small tmpfs: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("gathered", [False, True])
def test_a_compressed_file_without_room_is_74(small_disk, tmp_path, ranks, gathered):
    """One that would fit, compressed: the room of its cells is asked for, and all ranks know that it is not there."""
    deck = write_deck(tmp_path, DECK.replace("[17, 23, 31]", "[64, 64, 80]"))  # 2.5 MiB of cells, in two chunks
    environment = {"OMPI_MCA_io": "^ompio,romio321,romio341"} if gathered else {}
    done = isotherm(
        "run", deck, f"output={{directory: {small_disk}/out, every_steps: 1, compression: 1, precision: same}}",
        ranks=ranks, cwd=tmp_path, ISOTHERM_IO_TIMEOUT="120", **environment,
    )
    assert done.returncode == 74, done.stdout + done.stderr
    assert ".hdf.part: no room for the file (No space left on device: " in done.stderr
    assert not list((small_disk / "out").glob("*.part"))
    files = sorted((small_disk / "out").glob("*.hdf"))
    assert len(files) > 3  # of those that are not compressed three have room
    for path in files:
        assert isotherm("info", path).returncode == 0


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_full_disk_is_74_and_nothing_is_half(small_disk, tmp_path, ranks):
    deck = write_deck(tmp_path, DECK.replace("[17, 23, 31]", "[64, 64, 80]"))  # 2.5 MiB a snapshot: three fit
    done = isotherm(
        "run", deck, f"output.directory={small_disk}/out", "output.every_steps=10", ranks=ranks, cwd=tmp_path,
        ISOTHERM_IO_TIMEOUT="120",
    )
    assert done.returncode == 74, done.stdout + done.stderr
    assert "did not finish within" not in done.stderr, "only the watchdog has ended it"
    message = next(line for line in done.stderr.splitlines() if "no room" in line)
    assert f"{small_disk}/out/deck_00000030.hdf.part: no room for the file (No space left on device: " in message
    assert "bytes wanted" in message and "free" in message
    assert sorted(path.name for path in (small_disk / "out").glob("*.hdf*")) == [
        "deck.hdf.series", "deck_00000000.hdf", "deck_00000010.hdf", "deck_00000020.hdf",
    ]
    series = json.loads((small_disk / "out" / "deck.hdf.series").read_text())["files"]
    assert [entry["name"] for entry in series] == ["deck_00000000.hdf", "deck_00000010.hdf", "deck_00000020.hdf"]
    for path in (small_disk / "out").glob("*.hdf"):
        assert isotherm("info", path).returncode == 0


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_checkpoint_that_has_no_room_leaves_the_ones_before(small_disk, tmp_path, ranks):
    """3.1 MiB each: two stand when the third is wanted. Where there is room again the run goes on."""
    write_deck(tmp_path, DECK.replace("[17, 23, 31]", "[64, 64, 100]"))
    words = [f"output={{directory: {small_disk}/out, snapshots: false, checkpoint: {{every_steps: 10, keep: 2}}}}",
             "solver.reduction=reproducible"]
    done = isotherm("run", "deck.yaml", *words, ranks=ranks, cwd=tmp_path, ISOTHERM_IO_TIMEOUT="120")
    assert done.returncode == 74, done.stdout + done.stderr
    assert "/out/deck_00000030.checkpoint.hdf.part: no room for the file (No space left on device: " in done.stderr
    assert "MPI_ABORT" not in done.stderr
    out = small_disk / "out"
    assert sorted(path.name for path in out.glob("*.hdf*")) == ["deck_00000010.checkpoint.hdf", "deck_00000020.checkpoint.hdf"]
    subprocess.run(["mount", "-o", "remount,size=32m", small_disk], check=True)
    done = isotherm("run", "deck.yaml", *words, "--restart", "latest", cwd=tmp_path)
    assert done.returncode == 0 and "deck_00000020.checkpoint.hdf, sweep 20" in done.stdout, done.stderr
    done = isotherm("run", "deck.yaml", words[1], "output={directory: whole, snapshots: false}", cwd=tmp_path)
    assert record(tmp_path / "whole")["fingerprint"] == record(out)["fingerprint"]
