"""Scaling of studies and their runs as written by the program, and predicted grids as run by the program."""

import json

import pytest
from html_page import report
from isotherm_tools.__main__ import main
from isotherm_tools.scaling import RunRecord, layouts, share
from isotherm_tools.text import format_time
from program import ran, write_deck
from studies import BASE, changed_study

DECK = BASE.replace("boundaries:\n", "boundaries:\n  y_min: periodic\n  y_max: periodic\n") + (
    "study: {matrix: {precision: [fp64]}}\nscaling: {kind: weak, ranks: [1, 2]}\n")
MACHINE = ["--gpus-per-node", "2", "--intra-bandwidth", "4", "--intra-latency", "3", "--network-bandwidth", "25",
           "--network-latency", "2"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weak")
    write_deck(folder, DECK)
    assert "weak scaling of precision fp64, compared with 1 rank\n" in ran("study", "deck.yaml", cwd=folder).stdout
    return folder / "out"


def runs_of(study):
    return [json.loads((study / f"ranks-{ranks}_precision-fp64" / "run.json").read_text()) for ranks in (1, 2)]


def test_a_study_is_a_series_of_its_runs(study, tmp_path, capsys):
    path = tmp_path / "a.json"
    assert main(["scaling", str(study), *MACHINE, "--ranks", "4", "--json", str(path), "--out", str(tmp_path / "a.svg")]) == 0
    assert capsys.readouterr().out.startswith("weak scaling of deck (precision fp64): 3315 cells per rank, fp64, on ")
    content = json.loads(path.read_text())
    assert (content["kind"], [row["ranks"] for row in content["rows"]]) == ("weak", [1, 2, 4])
    runs = runs_of(study)
    steps = [run["performance"]["step_s"] for run in runs]
    assert [row["measured"]["step_s"] for row in content["rows"][:2]] == steps
    assert content["rows"][1]["measured"]["efficiency"] == pytest.approx(steps[0] / steps[1])
    assert content["rows"][1]["cells"] == runs[1]["grid"]["cells"] == [17, 13, 30]
    assert content["rows"][0]["predicted"]["step_s"] == pytest.approx(steps[0])
    assert content["rows"][2]["measured"] is None and 0 < content["rows"][2]["predicted"]["efficiency"] < 1
    assert (tmp_path / "a.svg").stat().st_size > 10000


def test_the_page_has_figure_and_table(study, tmp_path):
    page, (one, two) = report(study, tmp_path / "page.html"), runs_of(study)
    text = " ".join(page.text.split())
    efficiency = one["performance"]["step_s"] / two["performance"]["step_s"]
    for said in ("Weak scaling of precision fp64, compared with 1 rank.", "efficiency is T1 / Tn", "17x13x15", "17x13x30",
                 format_time(one["performance"]["step_s"]), format_time(two["performance"]["step_s"]), share(efficiency),
                 f"{2 * efficiency:.4g}", "predicted"):
        assert said in text, said
    assert page.pictures[0]["alt"].startswith("Time per sweep and efficiency over ranks, measured")


def test_what_is_missing_is_said(study, tmp_path, refused):
    def fail_base(record):
        series = record["scaling"]["series"][0]
        series["base"] = "none (ranks-1: failed)"
        series["rows"][0].update(case=None, runs=0, step_s=None, speedup=None, efficiency_percent=None, remark="ranks-1: failed")
        series["rows"][1].update(speedup=None, efficiency_percent=None)
        record["cases"][0].update(state="failed", run=None)

    broken = changed_study(study, tmp_path, fail_base)
    why = "deck (precision fp64) has nothing to be compared with (none (ranks-1: failed))"
    text = " ".join(report(broken, tmp_path / "page.html").text.split())
    assert f"no prediction: {broken}: {why}" in text and "ranks-1: failed" in text and "Time per sweep" not in text
    code, message = refused("scaling", broken)
    assert code == 65 and why in message


def test_two_answers_are_a_failure(study, tmp_path):
    said = "2 different fingerprints"
    changed_study(study, tmp_path, lambda record: record["scaling"]["series"][0].update(disagreement=said))
    page = report(tmp_path, tmp_path / "page.html")
    assert said in page.text and "deck FAIL" in " ".join(page.text.split())


def test_of_several_series_a_file_holds_one(study, tmp_path, capsys, refused):
    def double(record):
        series = record["scaling"]["series"]
        series.append({**series[0], "label": "precision fp32"})

    two, out = changed_study(study, tmp_path, double), str(tmp_path / "a.csv")
    assert main(["scaling", str(two), "--ranks", "1"]) == 0
    said = capsys.readouterr().out
    assert "of deck (precision fp64):" in said and "of deck (precision fp32):" in said
    assert refused("scaling", two, "--csv", out)[0] == 2
    assert main(["scaling", str(two), "--csv", out, "--series", "precision fp32", "--ranks", "1"]) == 0
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 3
    for words, why in ((["--series", "x"], "use one of 'precision fp64', 'precision fp32'"), ([str(study)], "name it alone")):
        code, message = refused("scaling", two, *words)
        assert code == 2 and why in message


def test_series_are_of_studies_that_have_them(study, tmp_path, refused):
    plain = changed_study(study, tmp_path, lambda record: record.pop("scaling"))
    code, message = refused("scaling", plain)
    assert code == 65 and "is no scaling study (" in message
    assert refused("scaling", study / "ranks-1_precision-fp64", "--series", "x")[0] == 2
    assert "Scaling" not in report(plain, tmp_path / "page.html").text


def test_the_record_is_read(study, capsys):
    runs = [study / f"ranks-{ranks}_precision-fp64" for ranks in (1, 2)]
    assert main(["scaling", *map(str, runs)]) == 0 and capsys.readouterr().out.startswith("weak scaling of ranks-1_precision-fp64: ")
    for ranks, run, content in zip((1, 2), runs, runs_of(study)):
        record = RunRecord(run)
        assert (record.ranks, record.ranks_per_host, record.cells) == (ranks, ranks, (17, 13, 15 * ranks))
        assert list(record.parts) == content["decomposition"]["process_grid"] and record.periodic == (False, True, False)
        assert (record.problem, record.kernel, record.fused_norm, record.halo_width) == ("transient", "reference", False, 1)
        assert (record.sweeps, record.step) == (4, content["performance"]["step_s"])
        assert record.checks == content["residual"]["checks"] > 0
        assert record.value_bytes == 8 and record.rank_cells == 17 * 13 * 15 and record.backend == "cpu"


def test_what_is_predicted_is_what_the_program_runs(study):
    """The grid of a weak series, and how it is cut."""
    one, two = (RunRecord(study / f"ranks-{ranks}_precision-fp64") for ranks in (1, 2))
    predicted, = layouts("weak", one, [2], 1)
    assert predicted == two.layout
    assert layouts("strong", one, [13 * 17 * 15, 4000], 2) == [None, None]
