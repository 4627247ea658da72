"""`scaling`: table, files and picture hold the series, and what makes none is refused."""

import csv
import json

import pytest

from isotherm_tools import scaling_table, scalings
from isotherm_tools.cli import main
from isotherm_tools.scaling_fit import Wishes
from scaling_runs import GB, US, WIRES, series_of, strong_series, write_run


@pytest.fixture
def strong(tmp_path):
    return strong_series(tmp_path)


def command(runs, *more):
    return ["scaling", *map(str, runs), "--intra-bandwidth", "1", "--intra-latency", "5", "--network-bandwidth", "0.5",
            "--network-latency", "10", *map(str, more)]


def test_the_table(strong, capsys):
    assert main(command(strong, "--ranks", "8", "--gpus-per-node", "4")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "strong scaling of plate: 64x64x64 cells, fp64, on GPU"
    assert lines[2:4] == [
        "model: 0.9995 ns a cell, 0 s a launch, depth 1, overlap on, a norm every 100 sweeps",
        "       4 ranks a host; within a host 1 GB/s and 5 µs, between hosts 0.5 GB/s and 10 µs, 0 s a message"]
    table = [line.split("  ") for line in lines[5:]]
    rows = [[text.strip() for text in line if text.strip()] for line in table]
    assert rows[0] == ["ranks", "grid", "processes", "cells a rank", "a sweep", "GPts/s", "speed-up", "efficiency",
                       "hidden"]
    assert rows[1] == ["measured", "predicted"] * 5
    assert rows[2][:6] == ["1", "64x64x64", "1x1x1", "262144", "263 µs", "263 µs"]
    assert rows[3][:4] == ["2", "64x64x64", "1x1x2", "131072"] and rows[3][10:] == ["90.0 %", "99.6 %", "-", "100.0 %"]
    assert rows[5][:5] == ["8", "64x64x64", "2x2x2", "32768", "-"] and rows[5][5] != "-"
    assert len({len(line) for line in lines[6:]}) == 1


def test_csv_and_json_hold_the_table(strong, tmp_path, capsys):
    assert main(command(strong, "--csv", tmp_path / "a.csv", "--json", tmp_path / "a.json", "--depth", "16")) == 0
    series = series_of(strong, WIRES._replace(depth=16))
    assert capsys.readouterr().out == scaling_table.as_text(series) + "\n"
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    content = json.loads((tmp_path / "a.json").read_text())
    assert (content["schema"], content["schema_version"], content["kind"]) == ("isotherm-scaling", 1, "strong")
    assert content["notes"] == series.notes and len(content["notes"]) == 2
    assert content["model"]["between_hosts"] == {"latency_s": 10 * US, "bandwidth_bytes_per_s": GB / 2}
    assert len(rows) == len(content["rows"]) == len(series.rows) == 7
    for line, entry, row in zip(rows, content["rows"], series.rows):
        assert int(line["ranks"]) == entry["ranks"] == row.ranks
        assert line["process_grid"] == "x".join(map(str, row.parts)) and entry["process_grid"] == list(row.parts)
        for source in ("measured", "predicted"):
            figures = getattr(row, source)
            if figures is None:
                assert entry[source] is None and line[f"{source}_step_s"] == ""
                continue
            assert float(line[f"{source}_step_s"]) == entry[source]["step_s"] == figures.step
            assert float(line[f"{source}_efficiency"]) == entry[source]["efficiency"] == figures.efficiency
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a.csv", "a.json"]


def test_json_stays_json_without_limits(tmp_path):
    run = write_run(tmp_path, 1, 263e-6, residual={"checks": 0})
    path = tmp_path / "a.json"
    assert main(["scaling", str(run), "--kind", "weak", "--network-bandwidth", "inf", "--network-latency", "0",
                 "--json", str(path)]) == 0
    content = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert content["model"]["between_hosts"] == {"latency_s": 0.0, "bandwidth_bytes_per_s": None}
    assert content["model"]["check_interval"] is None and content["rows"][-1]["predicted"]["efficiency"] == 1


def line_of(panel, label):
    return next(line for line in panel.get_lines() if line.get_label() == label).get_data()


def test_dots_and_lines_stand_where_the_figures_are(strong, tmp_path):
    slower = write_run(tmp_path, 2, 300e-6, method={"overlap": "off"})
    series = series_of([*strong, slower])
    figure = scalings.scaling_figure(series)
    above, below = figure.axes
    for panel, value in ((above, lambda row: 1e3 * row.step), (below, lambda row: row.efficiency)):
        ranks, values = line_of(panel, "measured")
        assert list(ranks) == [1, 2, 2, 4]
        assert list(values) == [value(row.measured) for row in series.rows if row.measured]
        ranks, values = line_of(panel, "predicted")
        assert list(ranks) == [2**i for i in range(13)]
        fastest = [row.predicted for row in series.rows if row.run != str(slower / "run.json")]
        assert list(values) == [value(row) for row in fastest]
    ranks, values = line_of(above, "ideal")
    assert list(values) == pytest.approx([0.263 / n for n in ranks])
    assert above.get_title(loc="left") == "plate: strong scaling on GPU"
    assert [text.get_text() for text in below.get_xticklabels()] == [str(2**i) for i in range(13)]


def test_ideal_of_weak_scaling_is_level_and_nothing_predicted_is_no_line(tmp_path):
    runs = [write_run(tmp_path, ranks, 1e-4, (64, 64, 64 * ranks)) for ranks in (2, 4)]
    above, below = scalings.scaling_figure(series_of(runs, Wishes())).axes
    assert list(line_of(above, "ideal")[1]) == pytest.approx([0.1, 0.1])
    assert {line.get_label() for line in above.get_lines()} == {"ideal", "measured"}
    assert list(line_of(below, "measured")[1]) == pytest.approx([1, 1])


def test_the_picture_is_written_beside_the_table_and_its_notes(strong, tmp_path, capsys):
    assert main(["scaling", *map(str, strong)]) == 0
    table = capsys.readouterr().out
    assert [line[:36] for line in table.splitlines() if line.startswith("note")] == [
        "note: no prediction from 2 ranks on ", "note: no prediction from 8 ranks on "]
    assert main(["scaling", *map(str, strong), "--out", str(tmp_path / "a.png")]) == 0
    assert capsys.readouterr().out == table and (tmp_path / "a.png").stat().st_size > 10000
    assert main(command(strong, "--out", tmp_path / "a.svg")) == 0
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


def refused(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return code, err.removeprefix("isotherm_tools: ").rstrip("\n")


def test_what_is_no_run_is_refused(tmp_path, capsys):
    missing = tmp_path / "nowhere"
    assert refused(capsys, "scaling", missing) == (
        66, f"{missing} does not exist; name the directory of a finished run")
    for changes in ({"schema": "isotherm-bench"}, {"schema_version": 4}, {"ranks": []}, {"grid": {"precision": "fp8"}},
                    {"phases_s": {"sweeps": None}}):
        assert refused(capsys, "scaling", write_run(tmp_path, 1, 1e-3, **changes))[0] == 65
    early = write_run(tmp_path, 1, 1e-3, performance={"step_s": None, "points_per_s": None})
    assert refused(capsys, "scaling", early) == (
        65, f"{early}/run.json holds no measured sweeps (the run ended before its first)")


def test_runs_that_make_no_series_are_refused(strong, tmp_path, capsys):
    assert refused(capsys, "scaling", strong[0]) == (
        2, "runs of one rank count (4) are neither weak nor strong; add runs, or say --kind")
    other = write_run(tmp_path, 2, 1e-3, (64, 64, 96))
    assert refused(capsys, "scaling", strong[1], other) == (
        65, "the runs have neither one grid nor the same cells a rank (64x64x64 on 1, 64x64x96 on 2); leave some out, "
            "or say --kind")
    for what, changes in (("problem", {"method": {"problem": "transient"}}),
                          ("precision", {"grid": {"precision": "fp32"}}),
                          ("devices", {"ranks": [{"host": "a", "backend": "cuda", "device": "Other"}] * 2})):
        other = write_run(tmp_path, 2, 1e-3, **changes)
        code, message = refused(capsys, "scaling", strong[1], other)
        assert code == 65 and message.startswith(f"runs of different {what} make no series ({strong[1]}/run.json: ")


def test_costs_that_cannot_be_are_refused(strong, tmp_path, capsys):
    code, message = refused(capsys, "scaling", *strong, "--launch-latency", "262")
    assert code == 65 and message.startswith(f"{strong[1]}/run.json leaves no time for the cells of a sweep")
    run = write_run(tmp_path, 1, 1e-3, performance={"copy_bandwidth_bytes_per_s": None})
    assert refused(capsys, "scaling", run, "--kind", "weak", "--cell-time", "copy") == (
        65, f"{run}/run.json holds no copy bandwidth; leave out --cell-time copy")


def test_files_that_cannot_be_written_are_refused(strong, tmp_path, capsys):
    out = tmp_path / "missing" / "x.json"
    for option in ("--json", "--csv"):
        assert refused(capsys, "scaling", *strong, option, out) == (
            73, f"{out} cannot be written (No such file or directory)")
    assert refused(capsys, "scaling", *strong, "--out", tmp_path / "x.gif")[0] == 2


@pytest.mark.parametrize(
    "option, value, why",
    [
        ("--ranks", "8,0", "0 is no whole number from 1 on"),
        ("--ranks", "8,x", "x is no whole number from 1 on"),
        ("--gpus-per-node", "0", "0 is no whole number from 1 on"),
        ("--depth", "1.5", "1.5 is no whole number from 1 on"),
        ("--intra-bandwidth", "0", "0 is no number above 0"),
        ("--network-latency", "-1", "-1 is no number from 0 on"),
        ("--message-overhead", "nan", "nan is no number from 0 on"),
        ("--kind", "odd", "invalid choice: 'odd'"),
    ],
)
def test_wrong_options_are_2(strong, capsys, option, value, why):
    with pytest.raises(SystemExit) as stop:
        main(["scaling", str(strong[1]), f"{option}={value}"])
    assert stop.value.code == 2 and why in capsys.readouterr().err


def test_dollar_signs_of_a_name_are_no_formula(tmp_path):
    runs = [write_run(tmp_path, count, 263 * US / count, name=r"a$\foo$b") for count in (1, 2)]
    scalings.scaling_figure(series_of(runs)).draw_without_rendering()
