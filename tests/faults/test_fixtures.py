"""Decks, snapshots and checkpoints of every version, kept for ever: a later isotherm reads them, and goes on to the same bits.

fixtures/X.Y/ is made once, by version X.Y: each deck, its checkpoint, and in expected.json what a run from it ends with."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import h5py
import pytest

from program import isotherm
from runs import record

FIXTURES = Path(__file__).with_name("fixtures")
DECKS = sorted(FIXTURES.glob("*/*.yaml"))


def ids(paths):
    return [str(path.relative_to(FIXTURES)) for path in paths]


def in_todays_words(deck, folder):
    """A deck of a user, who was told the new name of a key; isotherm itself translates what it has stored."""
    text = deck.read_text(encoding="utf-8").replace("depth: 1", "halo_width: 1")
    (folder / deck.name).write_text(text, encoding="utf-8")
    return folder / deck.name


def test_a_renamed_key_is_named(tmp_path):
    done = isotherm("check", FIXTURES / "0.1" / "kept.yaml", cwd=tmp_path)
    assert done.returncode == 65 and done.stderr.endswith("kept.yaml:19:49: solver.depth: is called halo_width now\n")


def test_this_version_has_its_own():
    version = isotherm("--version").stdout.split()[1]
    folder = FIXTURES / ".".join(version.split(".")[:2])
    assert sorted(folder.glob("*.yaml")) and sorted(folder.glob("*.checkpoint.hdf")), (
        f"a new version: make {folder} from the decks of the one before, and never touch it again")


@pytest.mark.parametrize("deck", DECKS, ids=ids(DECKS))
@pytest.mark.parametrize("ranks", [0, 2])
def test_a_run_of_then_goes_on_now(tmp_path, deck, ranks):
    expected = json.loads(deck.with_name("expected.json").read_text(encoding="utf-8"))[deck.stem]
    done = isotherm("run", in_todays_words(deck, tmp_path), "output.directory=out", "--restart", deck.with_name(expected["restart"]), ranks=ranks,
                    cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert record(tmp_path / "out")["fingerprint"] == expected["fingerprint"]
    assert record(tmp_path / "out")["residual"]["last_K"] == expected["last_residual_K"]


def test_a_series_over_files_of_two_formats_points_into_each(tmp_path):
    kept, out = FIXTURES / "0.1", tmp_path / "out"
    out.mkdir()
    (out / "deck.resolved.yaml").write_text("")
    for name in ("kept_00000030.hdf", "kept_00000040.checkpoint.hdf"):
        shutil.copy(kept / name, out)
    done = isotherm("run", in_todays_words(kept / "kept.yaml", tmp_path), "output.directory=out", "--restart", "latest", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    items = [grid.find("./Attribute/DataItem").text.split(":") for grid in ElementTree.parse(out / "kept.xmf").findall("./Domain/Grid/Grid")]
    assert items == [["kept_00000030.hdf", "/VTKHDF/PointData/T"], ["kept_00000060.hdf", "/temperature"]]
    for file, dataset in items:
        with h5py.File(out / file) as opened:
            assert opened[dataset].shape == (5, 6, 7)


FILES = sorted(FIXTURES.glob("*/*.hdf"))


@pytest.mark.parametrize("file", FILES, ids=ids(FILES))
def test_a_file_of_then_is_proved_now(tmp_path, file):
    done = isotherm("info", file)
    assert done.returncode == 0 and "(recomputed from the cells in the file)" in done.stdout, done.stderr
    done = isotherm("check", "--from", file, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
