"""Ladders and rooflines: bars, copy bandwidths and dots show the figures of the benchmark."""

import json
import re

import pytest
from documentation import TOP

from isotherm_tools.bench import BenchRecord, time_block_figure, ladder_figure, roofline_figure
from isotherm_tools.figures import WIDTH
from isotherm_tools.__main__ import main
from program import ran


def entry(row, seconds, precision="fp64", **changes):
    """1000 cells with 2 values each, and a copy bandwidth of 20 MB/s."""
    width = 4 if precision == "fp32" else 8
    return {
        "kernel": row, "tile": "-", "time_block": 1, "precision": precision, "cells": [10, 10, 10], "verdict": "right",
        "note": None, "points_per_launch": 1000.0, "bytes_per_launch": 2000.0 * width, "launches_per_sample": 5,
        "launch_s": {"median": seconds, "p10": seconds / 2, "p90": 2 * seconds},
        "copy_bandwidth_bytes_per_s": {"median": 20e6, "p10": 19e6, "p90": 21e6},
        "read_bandwidth_bytes_per_s": None, "speedup": 1.0, **changes,
    }


def write(folder, entries, **changes):
    content = {"schema": "isotherm-bench", "schema_version": 1, "subject": "stencil", "device": {"name": "Some CPU"},
               "entries": entries, **changes}
    path = folder / "bench.json"
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def bench(tmp_path):
    return write(tmp_path, [
        entry("slow", 4e-3), entry("fast", 1e-3, tile="32x8x1", speedup=4.0),
        entry("wrong", 1, verdict="wrong", launch_s=None, speedup=None),
        entry("fused", 1e-3, time_block=4, points_per_launch=4000.0, speedup=16.0),
        entry("slow", 4e-3, "fp32"),
    ])


def bars(panel):
    return [patch.get_width() for patch in panel.patches]


def limits(panel, label):
    found = [lines for lines in panel.collections if lines.get_label() == label]
    return [segment[0][0] for lines in found for segment in lines.get_segments()]


def test_bars_are_rates_whiskers_their_spread_and_lines_the_copy_bandwidth(bench):
    figure = ladder_figure(BenchRecord(bench))
    panels = [panel for panel in figure.axes if panel.patches]
    assert [panel.get_title(loc="left") for panel in panels] == ["10 x 10 x 10, fp64", "10 x 10 x 10, fp32"]
    assert bars(panels[0]) == pytest.approx([0.25e-3, 1e-3, 4e-3])  # GPts/s
    assert bars(panels[1]) == pytest.approx([0.25e-3])
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["slow", "fast, 32x8x1", "temporal x 4"]
    # 20 MB/s are 1.25 MPts/s of 16 bytes; a launch of four sweeps moves as much for four times the points.
    assert limits(panels[0], "copy bandwidth measured with it") == pytest.approx([1.25e-3, 1.25e-3, 5e-3])
    assert panels[0].yaxis_inverted()
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(panel.get_tightbbox()) for panel in figure.axes if panel.patches)
    panel = panels[0]
    whiskers = next(lines for lines in panel.collections if len(lines.get_segments()) == 3 and not
                    lines.get_label().startswith("copy"))
    assert [list(segment[:, 0]) for segment in whiskers.get_segments()][1] == pytest.approx([0.5e-3, 2e-3])


@pytest.mark.parametrize("name, columns", [("low", 2), ("a_name_that_leaves_no_room", 1)])
def test_ladders_are_side_by_side_where_names_leave_room(tmp_path, name, columns):
    figure = ladder_figure(BenchRecord(write(tmp_path, [entry(name, 1e-3, precision) for precision in ("fp32", "fp64")])))
    assert figure.axes[0].get_gridspec().ncols == columns and figure.get_figwidth() == WIDTH


def test_reductions_are_drawn_in_bytes_with_both_bandwidths_and_a_difference_does_not_squeeze_the_others(tmp_path):
    """The cost of a fused norm added to a sweep is almost zero: its rate exceeds all copy bandwidths, or it has none."""
    def added(p10, median, p90):
        return {"launch_s": {"median": median, "p10": p10, "p90": p90}, "base_s": {"median": 3, "p10": 2, "p90": 4}}

    path = write(tmp_path, [
        entry("tree", 1e-3, read_bandwidth_bytes_per_s={"median": 40e6, "p10": 40e6, "p90": 40e6}),
        entry("fused", 1, **added(-1e-5, 1e-5, 4e-5), speedup=100.0),
        entry("fused", 1, **added(-2e-5, -1e-5, 4e-5), speedup=None), entry("fused", 1, **added(0, 0, 0), speedup=None),
    ], subject="reduction")
    panel = ladder_figure(BenchRecord(path)).axes[0]
    assert bars(panel) == pytest.approx([16e-3, 1.6, 0, 0])  # GB/s
    assert panel.get_xlim() == pytest.approx((0, 1.1 * 40e-3))  # of the highest bandwidth
    assert limits(panel, "copy bandwidth measured with it") == pytest.approx([20e-3] * 4)
    assert limits(panel, "read bandwidth measured with it") == pytest.approx([40e-3])
    assert [text.get_text() for text in panel.texts] == [
        "0.016  (1.00x)", "1.6  (100x), cut off", "not above the noise", "not above the noise",
    ]


def test_dots_and_slanted_roof_of_the_roofline(bench):
    panel = roofline_figure(BenchRecord(bench)).axes[0]
    limit, *dots = panel.get_lines()
    x, y = limit.get_data()
    assert y == pytest.approx(x * 20e-3)  # GFlop/s at 20 MB/s
    assert limit.get_label() == "copy: 0.02 GB/s"
    assert [tuple(float(v[0]) for v in dot.get_data()) for dot in dots] == [
        pytest.approx((0.5, 2e-3)), pytest.approx((0.5, 8e-3)), pytest.approx((2.0, 32e-3)), pytest.approx((1.0, 2e-3)),
    ]
    assert x[0] < 0.5 and x[1] > 2


def test_known_devices_have_the_limits_of_arithmetic_and_time_blocks_their_number(tmp_path):
    entries = [entry("fused", 1e-3, time_block=4, points_per_launch=4000.0), entry("slow", 4e-3, "fp32")]
    panel = roofline_figure(BenchRecord(write(tmp_path, entries, device={"name": "NVIDIA H200"}))).axes[0]
    copy, fp64, fp32, *_ = panel.get_lines()
    assert list(fp64.get_ydata()) == [34e3, 34e3] and list(fp32.get_ydata()) == [67e3, 67e3]
    assert fp64.get_xdata()[0] * 20e-3 == pytest.approx(34e3) and copy.get_ydata()[-1] == pytest.approx(67e3)
    assert [text.get_text() for text in panel.texts] == ["4"]


@pytest.mark.parametrize("subject, title", [("stencil", "Stencils on a GPU"), ("reduction", "Reductions")])
def test_the_pictures_of_the_ladders_are_of_their_tables(subject, title):
    folder = TOP / "docs" / "performance"
    text = (folder / "ladders.md").read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [re.findall(r"\| \**([\d.]+)(?= \()", line) for line in text.splitlines()]
    entries = json.loads((folder / f"h200_{subject}.json").read_text(encoding="utf-8"))["entries"]
    assert len(entries) >= 24
    for each in entries:
        rate = each["points_per_launch"] / each["launch_s"]["median"] / 1e9
        column = ("fp32", "fp64").index(each["precision"])
        assert f"`{each['kernel']}`" in text and any(float(row[column]) == pytest.approx(rate, rel=1e-3) for row in rows if len(row) > 1)


def test_kernels_differ_by_marker_and_grids_in_a_precision_by_fill_even_without_colours(tmp_path):
    path = write(tmp_path, [
        entry(row, 1e-3, precision, cells=[cells] * 3)
        for cells in (10, 20) for precision in ("fp32", "fp64") for row in ("low", "high")
    ])
    panel = roofline_figure(BenchRecord(path)).axes[0]
    looks = [(line.get_marker(), line.get_fillstyle()) for line in panel.get_lines()[1:]]
    assert len(looks) == len(set(looks)) == 8
    assert [text.get_text() for text in panel.get_legend().get_texts()] == [
        "copy: 0.02 GB/s", "low", "high",
        "10 x 10 x 10, fp32", "10 x 10 x 10, fp64", "20 x 20 x 20, fp32", "20 x 20 x 20, fp64",
    ]


def test_the_best_tile_of_each_kernel_and_time_block(tmp_path):
    path = write(tmp_path, [
        entry("tile", 3e-3, tile="2x2"), entry("other", 5e-3), entry("tile", 1e-3, tile="4x2"),
        entry("tile", 2e-3, tile="8x2"), entry("tile", 9e-3, tile="2x2", time_block=2),
    ])
    record = BenchRecord(path)
    assert len(record.ladders[0].variants) == 5
    record.keep_best_tiles()
    assert [variant.label for variant in record.ladders[0].variants] == ["tile, 4x2", "other", "tile, 2x2 x 2"]


@pytest.mark.parametrize("figure, subjects", [
    ("ladder", "stencil or reduction or bandwidth or formula"), ("roofline", "stencil"), ("time-blocks", "stencil")])
def test_files_that_are_no_benchmark_are_refused(tmp_path, refused, figure, subjects):
    broken = entry("a", 1)
    del broken["bytes_per_launch"]
    for text in ("no json", "[]"):
        (tmp_path / "bench.json").write_text(text)
        refused(65, "", figure, tmp_path / "bench.json")
    for changes in ({"schema": "isotherm-run"}, {"schema_version": 3}, {"device": None}):
        refused(65, "", figure, write(tmp_path, [entry("a", 1)], **changes))
    refused(65, "", figure, write(tmp_path, [broken]))
    refused(65, "no kernel that was measured", figure, write(tmp_path, [entry("a", 1, verdict="wrong", launch_s=None)]))
    why = f"holds bench solve, which this cannot draw; name one of bench {subjects}\n"
    refused(65, why, figure, write(tmp_path, [entry("a", 1)], subject="solve"))


def test_what_cannot_be_drawn_is_refused(bench, tmp_path, refused):
    refused(2, "", "ladder", bench, "--out", "x.gif")
    refused(73, "", "roofline", bench, "--out", tmp_path / "no" / "x.png")
    refused(65, "holds no time blocks", "time-blocks", write(tmp_path, [entry("single", 1e-3)]))


@pytest.mark.parametrize("subject", ["reduction", "bandwidth"])  # test_report.py draws bench stencil
def test_what_the_program_writes_is_drawn(tmp_path, capsys, subject):
    path = tmp_path / f"{subject}.json"
    ran("bench", subject, "--device", "cpu", "--sizes", "16,20x7x9", "--seconds", "0.01", "--json", path)
    assert main(["ladder", str(path), "--best"]) == 0
    picture = tmp_path / f"{subject}_ladder.png"
    assert capsys.readouterr().out == f"{picture}\n"
    assert picture.stat().st_size > 10000


def test_time_blocks_rise_under_their_copy_bandwidths(tmp_path):
    """A kernel of one sweep and a temporal one; the figures of the fastest tile, one panel a precision."""
    fused = [entry("fused", 1e-3, time_block=d, points_per_launch=1000.0 * d) for d in (4, 1, 2)]
    slower = entry("fused", 2e-3, time_block=2, tile="other", points_per_launch=2000.0)
    record = BenchRecord(write(tmp_path, [entry("slow", 3e-3), entry("single", 1e-3), *fused, slower, entry("fused", 1e-3, "fp32")]))
    assert main(["time-blocks", str(record.path)]) == 0 and (tmp_path / "bench_time-blocks.png").stat().st_size > 10000
    fp64, fp32 = time_block_figure(record).axes
    assert [fp64.get_title(loc="left"), fp32.get_title(loc="left")] == ["fp64", "fp32"]
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in fp64.get_lines()}
    assert lines["temporal, 10 x 10 x 10"][0] == [1, 2, 4]
    assert lines["temporal, 10 x 10 x 10"][1] == pytest.approx([1e-3, 2e-3, 4e-3])  # GPts/s
    assert "slow, 10 x 10 x 10" not in lines and lines["single, 10 x 10 x 10"] == ([1], pytest.approx([1e-3]))
    assert lines["copy bandwidth, one sweep per pass"][1] == pytest.approx([1.25e-3, 1.25e-3])  # 20 MB/s at 16 bytes
    assert lines["copy bandwidth, n sweeps per pass"] == ([1, 4], pytest.approx([1.25e-3, 5e-3]))
