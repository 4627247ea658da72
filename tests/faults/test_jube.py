"""packaging/jube: JUBE itself runs the series, and its table has what the records of the runs have."""

import csv
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from program import HANGS
from runs import record

RECIPE = Path(__file__).resolve().parents[2] / "packaging" / "jube" / "isotherm.yaml"
JUBE = shutil.which("jube")
pytestmark = pytest.mark.skipif(not JUBE, reason="jube is not installed (Debian, Ubuntu: apt install jube)")


def jube(*words):
    done = subprocess.run([JUBE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANGS,
                          check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def series(folder, *tags, recipe=RECIPE):
    """The rows of the table, and the record of each run."""
    out = folder / "series of JUBE"
    said = jube("run", recipe, "--outpath", out, "--hide-animation", *(["--tag", *tags] if tags else []))
    table = jube("result", out, "--analyse", "--style", "csv")
    rows = [{title.split("[")[0]: text for title, text in row.items()} for row in csv.DictReader(table.strip().splitlines())]
    return rows, [record(path.parent) for path in out.rglob("run.json")], said


def expect_the_figures_of(row, written):
    performance, halo = written["performance"], written["halo"]
    for name, value in [
        ("cell_updates", performance["points_per_s"] / 1e9),
        ("effective_bandwidth", performance["effective_bandwidth_bytes_per_s"] / 1e9),
        ("copy_bandwidth_share", performance["copy_bandwidth_share_percent"]),
        ("time_per_step", 1e3 * performance["step_s"]),
        ("halo_fraction", performance["halo_fraction_percent"]),
        ("halo_hidden", halo["hidden_percent"]),
        ("write_bandwidth", None),
        ("write_hidden", None),
    ]:
        if value is None:
            assert row[name] == "", name
        else:
            assert float(row[name]) == pytest.approx(value, rel=6e-3), name  # three digits
    assert row["process_grid"] == " x ".join(map(str, written["decomposition"]["process_grid"]))
    assert row["swept_by"].split()[0] == written["method"]["kernel"]
    assert (row["fingerprint"], row["verdict"]) == (written["fingerprint"], written["result"])


@pytest.mark.parametrize("tags, cells", [
    ((), [[64] * 3] * 2),
    (("weak",), [[48] * 3, [48, 48, 96]]),
])
def test_a_series_over_ranks(tmp_path, tags, cells):
    rows, records, _ = series(tmp_path, *tags)
    assert [row["ranks"] for row in rows] == ["1", "2"]
    records.sort(key=lambda written: len(written["ranks"]))
    assert [len(written["ranks"]) for written in records] == [1, 2]
    assert [written["grid"]["cells"] for written in records] == cells
    for row, written in zip(rows, records):
        expect_the_figures_of(row, written)
    assert (rows[0]["fingerprint"] == rows[1]["fingerprint"]) == (not tags)


def test_every_kernel(tmp_path):
    rows, records, _ = series(tmp_path, "kernels")
    assert {row["kernel"] for row in rows} == {"reference", "openmp", "temporal_openmp"}
    for row in rows:
        written, = [written for written in records if written["method"]["kernel"] == row["kernel"]]
        expect_the_figures_of(row, written)
    assert len({row["fingerprint"] for row in rows}) == 1


def test_parameters_of_a_user(tmp_path):
    """Two grids, and a key of the deck: as the comments in the recipe say it."""
    recipe = tmp_path / "mine.yaml"
    text = RECIPE.read_text().replace('$jube_benchmark_home/../../inputs', str(RECIPE.parents[2] / "inputs"))
    edited = text.replace('separator: ";", _: deck}', 'separator: ";", _: "16;[16,16,24]"}')
    edited = edited.replace('{name: overrides, separator: ";", _: ""}',
                            '{name: overrides, separator: ";", _: "problem.steps=8 problem.check_interval=4"}')
    assert edited.count("16;[16,16,24]") == 1 and edited.count("problem.steps=8") == 1
    recipe.write_text(edited)
    rows, records, _ = series(tmp_path, recipe=recipe)
    assert len(rows) == 4 and {written["performance"]["sweeps"] for written in records} == {8}
    assert sorted(written["grid"]["cells"] for written in records) == [[16] * 3] * 2 + [[16, 16, 24]] * 2
    assert len({row["fingerprint"] for row in rows}) == 2


def test_a_run_that_fails_has_no_figures(tmp_path, monkeypatch):
    """The others go on."""
    program = tmp_path / "program"
    program.write_text('#!/bin/bash\n[[ ${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE} == 1 ]] && exit 69\nexec "$REAL" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("REAL", os.environ["ISOTHERM"])
    monkeypatch.setenv("ISOTHERM", str(program))
    rows, records, said = series(tmp_path)
    assert [row["verdict"] for row in rows] == ["", "DONE"] and rows[0]["cell_updates"] == ""
    expect_the_figures_of(rows[1], *records)
    assert "|      run |   2 |    0 |    0 |     1 |    1 |" in said
