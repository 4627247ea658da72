"""`scaling STUDY` and the page of a scaling study: what the runs measured, and the model beside it."""

import json

import pytest

from html_page import Page
from isotherm_tools.cli import main
from isotherm_tools.scaling_table import share
from isotherm_tools.units import format_time
from program import isotherm, write_deck
from studies import BASE

DECK = BASE + "study: {matrix: {precision: [fp64]}}\nscaling: {kind: weak, ranks: [1, 2]}\n"
MACHINE = ["--gpus-per-node", "2", "--intra-bandwidth", "4", "--intra-latency", "3", "--network-bandwidth", "25",
           "--network-latency", "2"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weak")
    write_deck(folder, DECK)
    done = isotherm("study", "deck.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def runs_of(study):
    return [json.loads((study / f"ranks-{ranks}_precision-fp64" / "run.json").read_text()) for ranks in (1, 2)]


def changed(study, folder, change):
    record = json.loads((study / "study.json").read_text())
    change(record["scaling"]["series"][0], record)
    (folder / "study.json").write_text(json.dumps(record))
    return folder


def page_of(study, out):
    assert main(["report", str(study), "--out", str(out)]) == 0
    return Page(out.read_text(encoding="utf-8"))


def test_a_study_is_a_series_of_its_runs(study, tmp_path, capsys):
    path = tmp_path / "a.json"
    assert main(["scaling", str(study), *MACHINE, "--ranks", "4", "--json", str(path), "--out", str(tmp_path / "a.svg")]) == 0
    assert capsys.readouterr().out.startswith("weak scaling of deck (precision fp64): 3315 cells a rank, fp64, on ")
    content = json.loads(path.read_text())
    assert (content["kind"], [row["ranks"] for row in content["rows"]]) == ("weak", [1, 2, 4])
    runs = runs_of(study)
    steps = [run["performance"]["step_s"] for run in runs]
    assert [row["measured"]["step_s"] for row in content["rows"][:2]] == steps
    assert content["rows"][1]["measured"]["efficiency"] == pytest.approx(steps[0] / steps[1])
    assert content["rows"][1]["cells"] == runs[1]["grid"]["cells"] == [17, 13, 30]
    assert content["rows"][0]["predicted"]["step_s"] == pytest.approx(steps[0])
    assert content["rows"][2]["measured"] is None and content["rows"][2]["predicted"]["step_s"] > 0
    assert (tmp_path / "a.svg").stat().st_size > 10000


def test_the_page_has_figure_and_table(study, tmp_path):
    page, (one, two) = page_of(study, tmp_path / "page.html"), runs_of(study)
    text = " ".join(page.text.split())
    efficiency = one["performance"]["step_s"] / two["performance"]["step_s"]
    for said in ("Weak scaling of precision fp64, compared with 1 rank.", "efficiency is T1 / Tn", "17x13x15", "17x13x30",
                 format_time(one["performance"]["step_s"]), format_time(two["performance"]["step_s"]), share(efficiency),
                 f"{2 * efficiency:.4g}", "predicted"):
        assert said in text, said
    assert page.pictures[0]["alt"].startswith("Time a sweep and efficiency over ranks, measured")


def test_what_is_missing_is_said(study, tmp_path, capsys):
    def fail_base(series, record):
        series["base"] = "none (ranks-1: failed)"
        series["rows"][0].update(case=None, runs=0, step_s=None, speedup=None, efficiency_percent=None, remark="ranks-1: failed")
        series["rows"][1].update(speedup=None, efficiency_percent=None)
        record["cases"][0].update(state="failed", run=None)

    broken = changed(study, tmp_path, fail_base)
    why = "deck (precision fp64) has nothing to be compared with (none (ranks-1: failed))"
    text = " ".join(page_of(broken, tmp_path / "page.html").text.split())
    assert f"no prediction: {broken}: {why}" in text and "ranks-1: failed" in text and "Time a sweep" not in text
    assert main(["scaling", str(broken)]) == 65
    assert why in capsys.readouterr().err


def test_two_answers_are_a_failure(study, tmp_path):
    said = "2 different fingerprints"
    page = page_of(changed(study, tmp_path, lambda series, _: series.update(disagreement=said)), tmp_path / "page.html")
    assert said in page.text and "deck FAIL" in " ".join(page.text.split())


def test_of_several_series_a_file_holds_one(study, tmp_path, capsys):
    def double(series, record):
        record["scaling"]["series"].append({**series, "label": "precision fp32"})

    two, out = changed(study, tmp_path, double), str(tmp_path / "a.csv")
    assert main(["scaling", str(two), "--ranks", "1"]) == 0
    said = capsys.readouterr().out
    assert "of deck (precision fp64):" in said and "of deck (precision fp32):" in said
    assert main(["scaling", str(two), "--csv", out]) == 2
    assert main(["scaling", str(two), "--csv", out, "--series", "precision fp32", "--ranks", "1"]) == 0
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 3
    for words, why in ((["--series", "x"], "use one of 'precision fp64', 'precision fp32'"), ([str(study)], "name it alone")):
        capsys.readouterr()
        assert main(["scaling", str(two), *words]) == 2
        assert why in capsys.readouterr().err


def test_series_are_of_studies_that_have_them(study, tmp_path, capsys):
    plain = changed(study, tmp_path, lambda _, record: record.pop("scaling"))
    assert main(["scaling", str(plain)]) == 65
    assert "is no scaling study (its deck has no section scaling)" in capsys.readouterr().err
    assert main(["scaling", str(study / "ranks-1_precision-fp64"), "--series", "x"]) == 2
    assert "Scaling" not in page_of(plain, tmp_path / "page.html").text
