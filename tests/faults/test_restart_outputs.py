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
  xdmf: true
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


@pytest.mark.parametrize("ranks", [1, 3])
def test_they_go_on_where_they_were(tmp_path, ranks):
    run(tmp_path, "output.directory=whole")
    run(tmp_path, "output.directory=parts", "problem.steps=17")
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
    for path in whole.glob("*.xmf"):
        assert path.read_text() == (parts / path.name).read_text()


def test_a_checkpoint_holds_all_bits_where_files_are_rounded(tmp_path):
    run(tmp_path, "output.directory=whole")
    with h5py.File(tmp_path / "whole" / "deck_00000014.checkpoint.hdf") as file:
        assert file["VTKHDF/PointData/T"].dtype == np.float64
        assert file["isotherm"].attrs["format"] == b"isotherm checkpoint"
    with h5py.File(tmp_path / "whole" / "deck_00000012.hdf") as file:
        assert file["VTKHDF/PointData/T"].dtype == np.float32


def test_probes_with_other_points_begin_a_new_file(tmp_path):
    run(tmp_path, "output.directory=out", "problem.steps=14")
    before = (tmp_path / "out" / "probes.csv").read_text()
    run(tmp_path, "output.directory=out", "output.probes={points: [[-0.9, 2.2, 1]], every_steps: 7}",
        "--restart", "latest")
    lines = (tmp_path / "out" / "probes.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines if not line.startswith("#")] == ["sweep", "21", "28", "35", "40"]
    assert (tmp_path / "out" / "probes.csv.aside").read_text() == before
