"""Compressed files have the same cells as uncompressed ones, for every writer and reader."""

import re

import h5py
import pytest

from program import DECK, finished_run, ran, write_deck
from runs import cells, expect_same_run, record, snapshots

# Chunks of 35 x 64 x 64 cells, cut by the subdomains of two and four ranks; each part of the field is one chunk.
LARGE = DECK.replace("[17, 23, 31]", "[70, 64, 64]").replace("output: {every_steps: 20}\n", """\
output:
  every_steps: 20
  slices: [{axis: z, cell: 7, every_steps: 20}]
  region: {first_cell: [2, 3, 4], last_cell: [12, 20, 25]}
  coarse: {factor: [7, 8, 16]}
  checkpoint: {every_steps: 20}
""")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("plain"), LARGE)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("packed"), LARGE, "deck", "output.compression=4", ranks=2)


def test_they_are_shuffled_and_deflated_in_chunks_of_the_grid(plain, packed):
    expect_same_run(packed, plain)
    assert len(snapshots(packed)) == 3 + 3 + 1 + 1
    for path in packed.glob("*.hdf"):
        with h5py.File(path) as file:
            dataset = file["temperature"]
            if "checkpoint" in path.name:
                assert dataset.chunks is None and dataset.compression is None
                continue
            assert (dataset.compression, dataset.compression_opts, dataset.shuffle) == ("gzip", 4, True)
            assert dataset.chunks == ((64, 64, 35) if dataset.shape == (64, 64, 70) else dataset.shape)


def test_the_record_has_the_bytes_before_and_after(plain, packed):
    """`info` and `check` print them too."""
    files = [path for path in packed.glob("*.hdf") if "checkpoint" not in path.name]
    written = record(packed)["snapshots"]
    before = sum(cells(path).nbytes for path in files)
    assert written["bytes"] == sum(path.stat().st_size for path in files)
    assert (written["cell_bytes"], written["compression"]) == (before, 4)
    assert written["compression_ratio"] == pytest.approx(before / written["bytes"]) and written["compression_ratio"] > 1
    assert ", compressed from " in (packed / "run.log").read_text()
    written = record(plain)["snapshots"]
    assert (written["cell_bytes"], written["compression"], written["compression_ratio"]) == (before, 0, None)
    for folder, compressed in ((plain, False), (packed, True)):
        said = ran("info", folder / "deck_00000040.hdf").stdout
        assert "recomputed from the cells in the file" in said and ("\ncompressed    2.19 MiB of cells in " in said) == compressed
    assert " of the field before compression\n" in ran("check", "deck.yaml", "output.compression=4", cwd=plain.parents[1]).stdout


def test_a_run_goes_on_from_them_and_to_them(plain, packed, tmp_path):
    """Restarted, run again from a snapshot, and set from one: always the same bits."""
    out = finished_run(tmp_path, LARGE, "deck", "problem.steps=20", ranks=2)
    done = ran("run", "deck.yaml", "output.compression=9", "--restart", "latest", ranks=3, cwd=tmp_path)
    assert "changed: output.compression 0 -> 9" in done.stdout
    assert (cells(out / "deck_00000040.hdf") == cells(packed / "deck_00000040.hdf")).all()
    ran("run", "--from", packed / "deck_00000020.hdf", "output.directory=again", cwd=tmp_path)
    expect_same_run(tmp_path / "again", packed)
    assert record(tmp_path / "again")["snapshots"]["compression"] == 4
    painted = f"[{{shape: dataset, file: {packed}/deck_00000040.hdf, dataset: /VTKHDF/PointData/T}}]"
    ran("run", "deck.yaml", "output.directory=painted", f"initial={painted}", "problem.steps=0", ranks=2, cwd=tmp_path)
    assert {record(folder)["fingerprint"] for folder in (out, tmp_path / "painted")} == {record(plain)["fingerprint"]}


def test_without_the_filter_it_is_refused_before_any_work(filter_shim, tmp_path):
    """A level that does not exist is rejected too."""
    preload = {"LD_PRELOAD": str(filter_shim)}
    deck = write_deck(tmp_path, DECK.replace("every_steps: 20", "every_steps: 20, compression: 3"))
    for subcommand, ranks in (("check", 0), ("run", 0), ("run", 2)):
        done = ran(subcommand, deck, "output.directory=out", ranks=ranks, cwd=tmp_path, **preload, code=69)
        assert re.search(r": output\.compression: 3 cannot be written \(HDF5 \S+ was built without the filter deflate\); ", done.stderr)
        assert not (tmp_path / "out").exists()
    ran("run", deck, "output={directory: out, compression: 0}", cwd=tmp_path, **preload)
    said = ran("check", deck, "output.compression=10", cwd=tmp_path, code=65).stderr
    assert "output.compression" in said and "0 to 9" in said
