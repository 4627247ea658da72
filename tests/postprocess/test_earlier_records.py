"""Records of earlier programs are read as those of today; records of a newer version are refused in a line."""

import json
import shutil
from pathlib import Path

import pytest

from isotherm_tools import Failure, open_run
from isotherm_tools.cli import main
from isotherm_tools.run_record import RunRecord

RECORDS = sorted((Path(__file__).parents[1] / "faults/fixtures/records").glob("run_*.json"))


@pytest.fixture(params=RECORDS, ids=lambda path: path.stem)
def run(request, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(request.param, folder / "run.json")
    return folder


def test_a_series_is_made_of_them(run):
    record = RunRecord(run)
    assert (record.cells, record.parts, record.ranks, record.on_gpu) == ((100, 100, 50), (1, 1, 2), 2, False)
    assert (record.step, record.rate, record.sweeps, record.checks) == (0.001, 5e8, 2000, 20)
    assert record.hidden is None or record.hidden == pytest.approx(2 / 3)
    assert [link.latency for link in record.links] == ([4e-6] if record.hidden else [])


def test_they_are_what_open_run_says(run):
    record, written = open_run(run).record, json.loads((run / "run.json").read_text())
    assert record["continuation"] is not None and record["figures_of_merit"] == {} and record["profile"] is None
    for key, value in written.items():
        if not isinstance(value, dict):
            assert record[key] == value


def test_a_page_is_made_of_them(run, tmp_path, capsys):
    assert main(["report", str(run), "--out", str(tmp_path / "page.html")]) == 0, capsys.readouterr().err
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "500 M" in text and "0.5 K" in text and "at sweep None" not in text


def test_two_runs_share_nothing(run, tmp_path):
    shutil.copytree(run, tmp_path / "other")
    one, other = open_run(run).record, open_run(tmp_path / "other").record
    one["continuation"]["checkpoints"] = 7
    one["figures_of_merit"]["speed"] = 1
    assert other["continuation"]["checkpoints"] == 0 and other["figures_of_merit"] == {}


@pytest.mark.parametrize("version, problem", [
    (4, "has schema version 4, and this package knows them to 3; use the one of the isotherm that wrote it"),
    (0, "is no run record of isotherm (its schema_version is 0)"),
    (True, "is no run record of isotherm (its schema_version is True)"),
    ("1", "is no run record of isotherm (its schema_version is '1')"),
    (None, "is no run record of isotherm (its schema_version is None)")])
def test_another_version_is_refused(tmp_path, version, problem):
    content = {**json.loads(RECORDS[0].read_text()), "schema_version": version}
    (tmp_path / "run.json").write_text(json.dumps(content))
    for read in (RunRecord, lambda path: open_run(path).record):
        with pytest.raises(Failure) as refused:
            read(tmp_path)
        assert (refused.value.code, str(refused.value)) == (65, f"{tmp_path}/run.json {problem}")
