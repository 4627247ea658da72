"""Slices, the region, the coarse field, probes and XDMF of a run that went on are those of one that was not stopped."""

import json

import h5py
import numpy as np
import pytest

from program import DECK, isotherm, write_deck
from runs import cells, record

PARTS = DECK.replace("output: {every_steps: 20}\n", """\
output:
  every_steps: 6
  precision: fp32
  checkpoint: {every_steps: 7, keep: 100}
  slices:
    - {axis: z, cell: 11, name: middle, every_steps: 4}
    - {axis: x, cell: 16}
  region: {first_cell: [1, 2, 3], last_cell: [5, 9, 9], every_steps: 14}
  coarse: {factor: [17, 23, 1], every_steps: 5}
  probes: {points: [[-0.9, 2.2, 1], {at: [-0.995, 2.46, 1.415], name: edge}], every_steps: 3}
""")


def run(folder, *words, ranks=0):
    done = isotherm("run", write_deck(folder, PARTS), *words, ranks=ranks, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


def files_of(series):
    return [entry["name"] for entry in json.loads(series.read_text())["files"]]


def spoil_series(out):
    """As after a kill, or worse: without the newest, with one that is gone, with nothing."""
    for path in out.glob("*.series"):
        content = json.loads(path.read_text())
        content["files"] = [{"name": "deck_00000001.hdf", "time": 1.0}, *content["files"][:1]]
        path.write_text("" if "region" in path.name else json.dumps(content))
    for path in out.glob("*.xmf"):
        path.unlink()


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("ranks", [1, 3])
def test_they_go_on_where_they_were(tmp_path, ranks, killed):
    run(tmp_path, "output.directory=whole")
    run(tmp_path, "output.directory=parts", "problem.steps=17")
    if killed:
        spoil_series(tmp_path / "parts")
    run(tmp_path, "output.directory=parts", "--restart", "parts/deck_00000014.checkpoint.hdf", ranks=ranks)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert record(whole)["fingerprint"] == record(parts)["fingerprint"]
    assert (whole / "probes.csv").read_text() == (parts / "probes.csv").read_text()
    names = sorted(path.name for path in whole.glob("*.series"))
    assert names == ["deck.hdf.series", "deck_coarse.hdf.series", "deck_region.hdf.series",
                     "deck_slice_middle.hdf.series", "deck_slice_x16.hdf.series"]
    for name in names:
        assert (whole / name).read_text() == (parts / name).read_text()
        for file in files_of(whole / name):
            assert np.array_equal(cells(whole / file), cells(parts / file)), file
    assert len(list(whole.glob("*.xmf"))) == 5
    for path in whole.glob("*.xmf"):
        assert path.read_text() == (parts / path.name).read_text()


def test_a_file_that_cannot_be_read_is_left_out_of_the_series_aloud(tmp_path):
    run(tmp_path, "output.directory=out", "problem.steps=14")
    (tmp_path / "out" / "deck_00000006.hdf").write_text("not HDF5")
    done = run(tmp_path, "output.directory=out", "--restart", "latest", ranks=2)
    said = "warning: out/deck_00000006.hdf: HDF5 cannot open it (not an HDF5 file, truncated or damaged); name a snapshot (it is left out of the series)"
    assert done.stderr.splitlines().count(said) == 1
    assert files_of(tmp_path / "out" / "deck.hdf.series") == [f"deck_{sweep:08d}.hdf" for sweep in (0, 12, 14, 18, 24, 30, 36, 40)]


def test_a_checkpoint_holds_all_bits_where_files_are_rounded(tmp_path):
    run(tmp_path, "output.directory=whole")
    with h5py.File(tmp_path / "whole" / "deck_00000014.checkpoint.hdf") as file:
        assert file["temperature"].dtype == np.float64
        assert file["isotherm"].attrs["format"] == b"isotherm checkpoint"
    with h5py.File(tmp_path / "whole" / "deck_00000012.hdf") as file:
        assert file["temperature"].dtype == np.float32


def test_probes_with_other_points_begin_a_new_file(tmp_path):
    run(tmp_path, "output.directory=out", "problem.steps=14")
    before = (tmp_path / "out" / "probes.csv").read_text()
    run(tmp_path, "output.directory=out", "output.probes={points: [[-0.9, 2.2, 1]], every_steps: 7}",
        "--restart", "latest")
    lines = (tmp_path / "out" / "probes.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines if not line.startswith("#")] == ["sweep", "21", "28", "35", "40"]
    assert (tmp_path / "out" / "probes.csv.aside").read_text() == before
