"""report: the page of a run or a study has everything in the files, and nothing else. In a real browser it loads whole, fits a phone,
follows light and dark, and prints."""

import base64
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
from types import SimpleNamespace

import h5py
import matplotlib.image
import numpy as np
import pytest
from html_page import DECK, Page, report
from isotherm_tools import body, figures, pictures, report_page, studies
from isotherm_tools import report as pages
from isotherm_tools.__main__ import main
from isotherm_tools.run import Run, Snapshot
from isotherm_tools.studies import Study
from matplotlib import colors, pyplot
from program import HANGS, finished_run, ran, write_deck
from runs import write_snapshot
from studies import BASE, changed_study, write_study


NAME = "a<b>&c_is_longer_than_a_telephone_is_wide_and_has_no_spaces"  # and a browser could take it for HTML


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("report"), DECK, NAME, ranks=2)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    ran("bench", "stencil", "--device", "cpu", "--kernels", "reference,openmp", "--sizes", "16", "--seconds", "0.01", "--json", path)
    return path


@pytest.fixture(scope="module")
def written(run, bench, tmp_path_factory):
    out = tmp_path_factory.mktemp("written") / "page.html"
    report(run, out, "--bench", bench)
    return out


def changed(run, folder, **changes):
    """A run that consists of its record only, with changed sections."""
    record = json.loads((run / "run.json").read_text())
    for section, values in changes.items():
        record[section] = {**(record[section] or {}), **values} if isinstance(values, dict) else values
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps(record))
    return folder


def test_the_page_says_what_the_record_says(run, written):
    page, record = Page(written.read_text(encoding="utf-8")), json.loads((run / "run.json").read_text())
    text = page.text
    for said in (NAME, "DONE", "transient, 24 x 16 x 8 cells, fp64", "2 ranks on 1 host", record["fingerprint"],
                 record["provenance"]["command_line"], record["provenance"]["git_revision"], "sphere", "conductivity: 20",
                 record["ranks"][0]["device"], "centre at (0.012, 0.008, 0.004) m", "Benchmark: stencil",
                 " x ".join(map(str, record["decomposition"]["process_grid"])),
                 "time per sweep", f"{record['halo']['hidden_percent']:.1f} %", f"{record['residual']['last_K']:.3g} K at sweep 60"):
        assert said in text, said
    for name in record["phases_s"]:
        assert name == "stepping" or name in text, name
    # Two states, the slice, residual, temperatures, heat, probes, phases, copy bandwidth; two ladders and the roofline.
    assert len(page.pictures) == 12
    assert [picture for picture in page.pictures if not picture["alt"]] == []
    assert "300 K to 400 K" in page.pictures[0]["alt"]


def test_the_page_opens_with_the_answer(run, written):
    """Temperatures, positions, and the heat; then the field, in planes through the hottest cell at the end."""
    record, text = json.loads((run / "run.json").read_text()), written.read_text(encoding="utf-8")
    end = record["end_state"]
    x, y, z = (1e3 * metres for metres in end["highest"]["position_m"])
    card = Page(text.split('<section id="answer">')[1].split("</section>")[0]).text
    for said in (f"{end['highest']['temperature_K']:.6g} K", f"at ({x:.6g}, {y:.6g}, {z:.6g}) mm, cell",
                 f"{end['lowest']['temperature_K']:.6g} K", "through x_min", f"{end['heat']['faces_W']['x_min']:.5g} W",
                 f"{end['heat']['stored_W']:.5g} W", "unaccounted for", "peak over time 400 K at 0 s", "sweep 60"):
        assert said in card, said
    steady = {**record, "method": {**record["method"], "problem": "steady"}}  # its first line is a guess
    assert "peak over time" not in str(pages.answer(steady, Run(run).history))
    order = re.findall(r'<section id="(\w+)">', text)
    assert order == ["answer", "field", "convergence", "performance", "time", "bench1", "run"]
    assert f"Planes through the hottest cell at the end: z = {z:.6g} mm; above it y = {y:.6g} mm; to its right x = {x:.6g} mm" in (
        Page(text).text)
    # Any bandwidth, as it depends on the load of the machine.
    assert re.search(r"\d [kMGT]?B/s", text).start() > text.index("<section id=\"performance\">")


@pytest.mark.parametrize("changes, said", [
    ({"end_state": None, "sources": {"power_W": 16.0, "cells": 225}}, "16 W in 225 cells"),
    ({"end_state": {"heat": None, "why_no_heat": "no reason"}}, "Heat is not known: no reason."),
    ({"end_state": {"highest": {"temperature_K": 400, "position_m": [0, 0, 2.00025], "cell": [0, 0, 0]}}}, "at (0, 0, 2.00025) m, cell"),
    ({"result": "CONVERGED", "method": {"problem": "steady"}}, "of a steady problem")])
def test_unknown_values_at_the_end_are_reported(run, tmp_path, changes, said):
    assert said in report(changed(run, tmp_path / "changed", **changes), tmp_path / "a.html").text


def test_the_page_is_in_the_run_directory_and_always_the_same(run, bench, written, capsys):
    before = {path.name for path in run.iterdir()}
    assert main(["report", str(run), "--bench", str(bench)]) == 0
    assert capsys.readouterr().out == f"{run}/{NAME}_report.html\n"
    assert {path.name for path in run.iterdir()} - before == {f"{NAME}_report.html"}
    assert (run / f"{NAME}_report.html").read_bytes() == written.read_bytes()


def test_outputs_that_a_run_lacks_are_reported(run, tmp_path):
    bare = changed(run, tmp_path / "bare", warnings=["one < two", "watch & wait"], message="it ended early", result="STOPPED",
                   performance={"step_s": None, "points_per_s": None, "effective_bandwidth_bytes_per_s": None,
                                "halo_fraction_percent": None, "copy_bandwidth_share_percent": None},
                   residual={"first_K": None, "last_K": None, "last_sweep": None})
    page = report(bare, tmp_path / "a.html")
    for said in ("one < two", "watch & wait", "it ended early", "STOPPED", "ended before a snapshot", "made without a history"):
        assert said in page.text, said
    assert len(page.pictures) == 1  # times of phases
    assert "at sweep" not in page.text and "None" not in page.text
    (bare / "history.csv").write_text("sweep,time_s,residual\n")
    assert "The run ended before its first check." in report(bare, tmp_path / "b.html").text
    assert "made without snapshots" in report(changed(run, tmp_path / "done"), tmp_path / "c.html").text


def test_verification_is_on_the_page_and_many_links_are_counted(run, tmp_path):
    found = {"solution": "slab_series", "max_error_K": 0.0427, "l2_error_K": 0.0309, "tolerance_K": 0.2, "order": [1.98, None, 2.0],
             "levels": [], "verdict": "passed"}
    link = json.loads((run / "run.json").read_text())["halo"]["links"][0]
    text = report(changed(run, tmp_path / "bare", verification=found, halo={"links": [link] * 100}), tmp_path / "a.html").text
    for said in ("slab_series", "0.0427 K", "1.980, -, 2.000", "passed", "84 more are in run.json."):
        assert said in text


def test_a_benchmark_of_another_device_is_reported(run, bench, tmp_path):
    content = json.loads(bench.read_text())
    content["device"]["name"] = "Some GPU"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(content))
    bare = changed(run, tmp_path / "bare")
    assert "with another copy bandwidth" in report(bare, tmp_path / "a.html", "--bench", other).text
    assert "with another copy bandwidth" not in report(bare, tmp_path / "a.html", "--bench", bench).text


def test_wrong_arguments_and_folders_without_a_run_are_refused_and_leave_no_file(run, tmp_path, tmp_path_factory, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    bare = changed(run, tmp_path_factory.mktemp("bare"))
    for code, arguments in ((2, ["--out", "page.pdf"]), (66, ["--bench", "none.json"]), (73, ["--out", "no/such/folder/page.html"])):
        refused(code, "", "report", bare, *arguments)
        assert list(tmp_path.iterdir()) == []
    refused(66, "", "report", tmp_path)
    for broken in ({"phases_s": {"total": None}}, {"grid": None}, {"ranks": [{}]}, {"schema_version": 9}):
        refused(65, "", "report", changed(run, tmp_path / "broken", **broken))
    damaged = changed(run, tmp_path / "damaged")
    (damaged / "demo_00000001.hdf").write_text("no HDF5")
    refused(65, "", "report", damaged)
    assert list(tmp_path.rglob("*.html*")) == []


def test_a_page_shows_no_section_without_content_numbers_on_the_right_and_breaks_long_names():
    sections = [report_page.Section("a", "Something", [report_page.paragraph("text")]), report_page.Section("b", "Nothing", [])]
    text = report_page.page("name", None, "lead", sections, "foot")
    assert "Something" in text and "Nothing" not in text and "badge " not in Page(text).text
    text = report_page.table(("grid.cells.0", "step_s", "share", "note"), [("8", "1.5e-06", "97 %", "a_b 3"), ("16", "3 µs", "-", "7")])
    assert re.findall(r"<t([hd])(?: scope=\"col\")?( class=\"number\")?>(.*?)</t", text) == [
        ("h", ' class="number"', "grid.<wbr>cells.0"), ("h", ' class="number"', "step_<wbr>s"), ("h", ' class="number"', "share"),
        ("h", "", "note"),
        ("d", ' class="number"', "8"), ("d", ' class="number"', "1.5e-06"), ("d", ' class="number"', "97 %"), ("d", "", "a_<wbr>b 3"),
        ("d", ' class="number"', "16"), ("d", ' class="number"', "3 µs"), ("d", ' class="number"', "-"), ("d", "", "7")]
    assert "<wbr>" in report_page.table(("a.b",), []) and "number" not in report_page.table(("a",), [])


@pytest.fixture
def snapshot(tmp_path):
    z, y, x = np.meshgrid(np.arange(5), np.arange(7), np.arange(12), indexing="ij")  # all axes differ
    return Snapshot(write_snapshot(tmp_path, 300.0 + x + 20 * y + 500 * z), 10)


def test_the_three_planes_are_arranged_as_in_a_drawing_and_to_scale(snapshot, tmp_path):
    planes = [snapshot.plane(axis, index) for axis, index in enumerate((6, 3, 2))]
    assert [plane.shape for plane in planes] == [(5, 7), (5, 12), (7, 12)]
    figure = pages.field_figure(snapshot, planes, pictures.Scale(planes))
    front, above, side, bar = figure.axes
    for panel, array, extent in ((front, snapshot.T[2], (100, 112, -200, -186)), (above, snapshot.T[:, 3], (100, 112, 0, 20)),
                                 (side, snapshot.T[:, :, 6].T, (0, 20, -200, -186))):
        assert np.array_equal(panel.images[0].get_array(), array) and panel.images[0].origin == "lower"
        assert panel.images[0].get_extent() == pytest.approx(extent)
        assert panel.images[0].get_clim() == (planes[0].min(), planes[0].max())
    places = [panel.get_position() for panel in (front, above, side, bar)]
    assert places[1].y0 > places[0].y1 and places[2].x0 > places[0].x1 and places[3].x0 > places[2].x1
    assert (places[0].x0, places[0].x1) == pytest.approx((places[1].x0, places[1].x1))
    assert (places[0].y0, places[0].y1) == pytest.approx((places[2].y0, places[2].y1))
    assert (front.get_xlabel(), front.get_ylabel(), above.get_ylabel(), side.get_xlabel()) == (
        "x [mm]", "y [mm]", "z [mm]", "z [mm]")
    wide, high = np.array([places[0].width, places[0].height]) * figure.get_size_inches()
    assert wide / high == pytest.approx(12 / 14) and pages.stretched_axes(snapshot) == []
    assert pages.plane_picture("demo", snapshot, [snapshot]).count(": 1300 K to 1431 K in the plane z = 10 mm") == 2  # alt, caption
    thin = Snapshot(write_snapshot(tmp_path, np.ones((2, 8, 16)), spacing=(1e-3, 1e-3, 1e-3)), 10)
    assert pages.stretched_axes(thin) == ["z"]


LAW = {"kind": "insulated", "value": None, "coefficient": None, "everywhere": True}


def test_a_body_is_drawn_by_its_materials_contacts_and_laws(snapshot):
    """The second material is a void; the last one has characters of a formula in its name."""
    materials = [{"name": name, "conductivity_W_per_m_K": k} for name, k in (("core", [1, 1, 1]), ("air", None), ("t$i$m", [2, 2, 1]))]
    convection = {**LAW, "kind": "convection", "value": "293.15", "coefficient": "9.0909090909090917"}
    flux = {**LAW, "kind": "flux", "value": "1e4", "everywhere": False}
    record = {"materials": materials, "contacts": [{"between": ["core", "t$i$m"], "resistance_m2_K_per_W": 1e-4}],
              "boundaries": {"y_min": [LAW], "y_max": [convection], "z_min": [flux, LAW, convection], "z_max": [flux]}}
    plane = np.zeros((5, 7), dtype=np.uint8)  # z, y
    plane[3:, :4], plane[:2, 5:] = 2, 1
    figure, stretched, lines = body.plane_figure(record, snapshot, 0, plane)
    panel = figure.axes[0]
    assert stretched is None and list(panel.images[0].get_extent()) == pytest.approx([-200, -186, 0, 20])
    shown = panel.images[0].get_array()
    assert (shown[..., 3] == np.where(plane == 1, 0, 1)).all() and {tuple(each) for each in shown[plane == 2]} == {
        colors.to_rgba(body.COLOURS[2])}
    found = sorted(np.ravel(each).round(9).tolist() for each in panel.collections[0].get_segments())
    assert lines == 2 and found == [[-200, 12, -192, 12], [-192, 12, -192, 20]]
    assert (panel.get_title(), panel.get_xlabel(), panel.get_ylabel(), panel.texts[0].get_text()) == (
        "flux 10000 W/m\u00b2 on a part", "3 conditions\ny [mm]", "z [mm]\ninsulated", "h 9.09091, 293.15 K")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["core", "air", r"t\$i\$m", "contact"]
    assert body.laws_text(record["boundaries"]["z_min"]) == "flux 10000 W/m\u00b2 on a part + insulated + h 9.09091, 293.15 K"


def test_pictures_of_graded_grids_have_cells_where_they_are(tmp_path):
    path = write_snapshot(tmp_path, np.where(np.arange(4) == 1, np.nan, 300.0 + 10 * np.arange(4)) * np.ones((2, 3, 1)))
    with h5py.File(path, "r+") as file:
        for axis, edges in zip("xyz", ([0, 2, 3, 5, 6], [0, 1, 2, 3], [0, 1, 2])):
            file[f"isotherm/edges_{axis}"] = np.array(edges, dtype=float)
    snapshot = Snapshot(path, 10)
    image = pictures.slice_figure("demo", [snapshot], 2, 0, [snapshot.plane(2, 0)]).axes[0].images[0]
    found = [image.get_cursor_data(SimpleNamespace(xdata=x, ydata=2.9)) for x in (0.1, 1.9, 2.1, 2.9, 3.1, 4.9, 5.1)]
    assert [None if value is np.ma.masked else value for value in found] == [300, 300, None, None, 320, 320, 330]


def test_a_body_is_drawn_up_to_its_faces_to_a_void(tmp_path):
    cells = 200  # of two to three pixels each
    field = np.where(np.arange(cells) < cells // 2, np.linspace(300.0, 400.0, cells), np.nan) * np.ones((2, cells, 1))
    snapshot = Snapshot(write_snapshot(tmp_path, field, spacing=(1e-3, 1e-3, 1e-3)), 10)
    with figures.look():
        planes = [snapshot.plane(axis, 0) for axis in range(3)]
        for figure in (pictures.slice_figure("demo", [snapshot], 2, 0, planes[2:]),
                       pages.field_figure(snapshot, planes, pictures.Scale(planes[2:]))):
            pixels = figure.canvas.draw() or np.asarray(figure.canvas.buffer_rgba())
            (left, _), (right, top) = figure.axes[0].get_window_extent().get_points()
            row = pixels[int(len(pixels) - top) + 20, :int(right) - 3, :3]
            assert np.flatnonzero((row < 255).any(axis=1))[-1] + 1 == pytest.approx((left + right) / 2, abs=1.1)


def test_a_record_without_the_properties_of_materials_has_a_page_too(run, tmp_path):
    old = changed(run, tmp_path / "old", materials=[{"name": "core", "cells": 8}])
    assert "The body" not in report(old, tmp_path / "a.html").text


def test_isotherms_are_shared_round_and_seen():
    """A level is drawn only where the plane contains it, and in white on dark colours."""
    cold, hot = np.full((4, 4), 300.0), np.linspace(300.0, 400.0, 16).reshape(4, 4)
    scale = pictures.Scale([cold, hot], 8)
    assert (scale.low, scale.high) == (300, 400) and scale.isotherms == [320, 340, 360, 380]
    assert [scale.ink(level) for level in (310, 390)] == ["white", "black"]
    figure, panels = pyplot.subplots(2)
    for panel, plane in zip(panels, (cold, hot)):
        pictures.draw_plane(panel, np.arange(5), np.arange(5), plane, scale)
    assert [len(panel.collections) > 0 for panel in panels] == [False, True]
    assert [text.get_text() for text in panels[1].texts] == ["320", "340", "360", "380"]
    assert pictures.Scale([cold]).isotherms == []
    assert pictures.Scale([np.full((2, 2), np.nan)]).isotherms == []


def bars(spread=1, **means):
    """The panel of the phases; each takes from mean / spread to mean * spread."""
    return pages.phases_figure({name: {"min": mean / spread, "mean": mean, "max": spread * mean}
                                for name, mean in means.items()}).axes[0]


def test_bars_are_phases_and_their_shares_and_a_phase_of_nothing_has_none():
    panel = bars(2, setup=1.0, sweeps=6.0, halo=2.0, total=10.0, stepping=8.0)
    assert [text.get_text() for text in panel.get_yticklabels()] == ["setup", "halo", "sweeps"]
    assert [bar.get_width() for bar in panel.patches] == [1, 2, 6]
    assert [text.get_text() for text in panel.texts] == ["10.0%", "20.0%", "60.0%"]
    whiskers = [segment for lines in panel.collections for segment in lines.get_segments()]
    assert [list(segment[:, 0]) for segment in whiskers] == [[0.5, 2], [1, 4], [3, 12]]
    assert panel.get_xlabel().startswith("time [s]")
    panel = bars(setup=0.0, sweeps=9.9996, halo=0.0004, total=10.0)
    assert [bar.get_width() for bar in panel.patches] == [9.9996]
    assert list(bars(sweeps=0.0, total=0.0).patches) == []


def test_a_dark_figure_keeps_its_map_and_inverts_its_text():
    """The background becomes dark, text light and curves lighter; colours and isotherms of a field stay."""
    figure, (panel, field) = pyplot.subplots(2)
    line, = panel.plot([0, 1], [1, 2], color="#0072b2", marker=".")
    panel.grid(color="0.9")
    plane = np.linspace(300.0, 400.0, 64).reshape(8, 8)
    image = pictures.draw_plane(field, np.arange(9), np.arange(9), plane, pictures.Scale([plane]))
    figure.canvas.draw()
    lines = [tuple(colour) for each in field.collections for colour in each.get_edgecolor()]
    values = [text.get_color() for text in field.texts]
    assert len(values) > 3
    figures.darken(figure)
    assert figure.get_facecolor() == panel.get_facecolor() == pyplot.matplotlib.colors.to_rgba(figures.PAPER)
    assert min(panel.xaxis.label.get_color()[:3]) > 0.8 and max(panel.get_xgridlines()[0].get_color()[:3]) < 0.3
    assert line.get_color() == line.get_markerfacecolor() == pytest.approx((0.35, 0.35 + 0.65 * 0x72 / 255, 0.35 + 0.65 * 0xb2 / 255, 1))
    assert [tuple(colour) for each in field.collections for colour in each.get_edgecolor()] == lines
    assert [text.get_color() for text in field.texts] == values and image.get_cmap().name == "inferno"


def test_names_of_curves_are_next_to_the_panel(tmp_path):
    (tmp_path / "history.csv").write_text("sweep,time_s,residual,wall_s,min_K,max_K\n0,0,,0,290,310\n9,1,,1,291,309\n")
    figure = pictures.history_figure("demo", Run(tmp_path).history, ["min_K", "max_K"])
    figure.canvas.draw()
    panel = figure.axes[0]
    assert panel.get_legend().get_window_extent().x0 > panel.get_window_extent().x1
    figure, panel = pyplot.subplots(figsize=(5.6, 3.6), layout="constrained")
    for number in range(2):
        panel.plot([0, 1], [0, number], label=f"{number} and a name that would take all the room that there is")
    figures.name_curves(panel, title="a_title_without_blanks_that_is_as_long_as_the_figure_is_wide")
    figure.canvas.draw()
    assert panel.get_position().width > 0.4


def test_a_run_below_and_above_its_copy_bandwidth():
    for effective, copy, text in ((3e12, 4e12, "75.0% of"), (6e9, 4e9, "150.0% of")):
        panel = pages.bandwidth_figure(effective, copy).axes[0]
        assert panel.patches[0].get_width() == effective / 1e9 and panel.get_lines()[0].get_xdata()[0] == copy / 1e9
        assert panel.texts[0].get_text().startswith(text) and panel.get_xlim()[1] > max(effective, copy) / 1e9


def test_probes_are_lines_over_time_or_sweeps_and_a_row_of_cells_a_curve_along_it(tmp_path):
    probes = {"sweep": np.array([0, 10, 20]), "time_s": np.array([0, 0.5e-3, 1e-3]), "a_K": np.array([300.0, 310, 320]),
              "b_K": np.array([300.0, 299, 298])}
    panel = pages.probes_figure(probes).axes[0]
    assert [line.get_label() for line in panel.get_lines()] == ["a", "b"] and panel.get_xlabel() == "time [ms]"
    assert panel.get_lines()[1].get_xydata().tolist() == [[0, 300], [0.5, 299], [1, 298]]
    panel = pages.probes_figure({**probes, "time_s": np.zeros(3)}).axes[0]
    assert panel.get_xlabel() == "sweep" and panel.get_lines()[0].get_xdata().tolist() == [0, 10, 20]
    row = Snapshot(write_snapshot(tmp_path, np.arange(300.0, 305.0).reshape(1, 5, 1)), 10)
    panel = pages.profile_figure([row], ["t = 2.5 s"]).axes[0]
    along, values = panel.get_lines()[0].get_data()
    assert along == pytest.approx([-199, -197, -195, -193, -191]) and list(values) == [300, 301, 302, 303, 304]
    assert panel.get_xlabel() == "y [mm]"


STUDY = """\
  matrix: {problem.dt: [0.5, 1, 2, 40], precision: [fp32, fp64]}
  zip: {problem.steps: [2000]}
  report: [name, problem.dt, precision, max_K, step_s]
  sort: max_K
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Steps of 40 s are not stable: those two cases grow until they are stopped."""
    folder = tmp_path_factory.mktemp("study")
    base = BASE.replace("steps: 4", "allow_unstable: true, check_interval: 1")
    write_study(folder, STUDY, base)
    ran("study", "deck.yaml", cwd=folder, code=76)
    return folder / "out"


def made(cases, folder, **more):
    """A study with these settings; the step_s of each case is its number."""
    varied = list(dict.fromkeys(key for settings in cases for key in settings))
    record = {
        "schema": "isotherm-study", "schema_version": 1, "version": "0", "git_revision": "0", "deck": "a/made.yaml",
        "collected": "now", "varied": varied, "units": {}, "columns": ["name", *varied, "step_s"], "report": ["name", "step_s"],
        "sort": None,
        "cases": [{"name": f"case{number}", "settings": settings, "ranks": 1, "state": "done", "exit_code": 0, "message": None,
                   "values": {"name": f"case{number}", "ranks": 1, **settings, "step_s": float(number)}, "run": None}
                  for number, settings in enumerate(cases)], **more}
    folder.mkdir(exist_ok=True)
    (folder / "study.json").write_text(json.dumps(record))
    return Study(folder)


def test_the_page_says_what_the_study_says(study, tmp_path):
    page, record = report(study, tmp_path / "page.html"), json.loads((study / "study.json").read_text())
    for said in ("deck FAILED", "problem.dt [s]", "fp32, fp64", "0.5, 1, 2, 40", "Sorted by peak temperature [K].", "quickest sweep", record["git_revision"],
                 record["cases"][0]["run"]["ranks"][0]["device"]):
        assert said in " ".join(page.text.split()), said
    failed = [case for case in record["cases"] if case["state"] == "failed"]
    assert len(failed) == 2
    for case in record["cases"]:
        assert case["name"] in page.text and f"{case['values']['step_s']:.6g}" in page.text
    for case in failed:
        assert f"{case['name']} has failed (exit code 76): {case['message']}" in page.text
    assert [picture["alt"].split(":")[0] for picture in page.pictures] == [
        f"{name} against problem.dt, a line for each value of precision" for name in ("max_K", "step_s")]
    assert main(["report", str(study)]) == 0
    assert (study / "study_report.html").read_bytes() == (tmp_path / "page.html").read_bytes()  # the page is reproducible


def test_a_figure_has_the_cases_where_they_belong(study):
    found = Study(study)
    assert found.axes == ["problem.dt", "precision"]
    panel = studies.quantities_figure(found, ["max_K"]).axes[0]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("problem.dt [s]", "peak temperature [K]")
    assert panel.get_legend().get_title().get_text() == "precision"
    for line, precision in zip(panel.get_lines(), ("fp32", "fp64")):
        cases = [case for case in found.cases if case.value("precision") == precision and case.state == "done"]
        assert line.get_label() == precision and len(cases) == 3  # failed cases leave a gap
        assert list(line.get_xdata()) == [case.value("problem.dt") for case in cases]
        assert list(line.get_ydata()) == [case.value("max_K") for case in cases]


def test_the_subcommand_draws_figures(study, capsys):
    assert main(["study-plot", str(study)]) == 0
    assert capsys.readouterr().out == f"{study}/study.png\n"
    image = matplotlib.image.imread(study / "study.png")
    assert image.shape[0] > image.shape[1] and len(np.unique(image[..., 0])) > 20


def test_keys_that_change_together_are_one_axis(tmp_path):
    zipped = made([{"cells": n, "steps": 10 * n, "kernel": kernel} for n in (8, 16, 32) for kernel in ("a", "b")], tmp_path / "zip",
                  report=["name", "steps", "step_s"])
    assert zipped.axes == ["steps", "kernel"]  # the reported one
    assert made([{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 3, "b": 1}], tmp_path / "one").axes == ["a"]  # a determines b
    words = made([{"kernel": word, "cells": 8} for word in ("a", "b", "c")], tmp_path / "words")
    assert words.axes == ["kernel"]  # a single number is no axis
    assert made([{"a": 1}, {"a": 1}, {"a": 2}], tmp_path / "names").axes == ["name"]  # a does not tell them apart
    assert made([{}], tmp_path / "alone").axes == []


def test_words_are_equally_spaced_and_wide_ranges_of_numbers_logarithmic(tmp_path):
    def panel(key, *values):
        return studies.quantities_figure(made([{key: value} for value in values], tmp_path / str(values[-1])), ["step_s"]).axes[0]

    words = panel("kernel", "z", "a", "m")
    assert [label.get_text() for label in words.get_xticklabels()] == ["z", "a", "m"]
    line, = words.get_lines()
    assert list(line.get_xdata()) == [0, 1, 2] and line.get_linestyle() == "None"
    assert (panel("cells", 8, 16, 32, 64).get_xscale(), panel("cells", 8, 16, 32).get_xscale()) == ("log", "linear")


def test_too_many_lines_are_a_table(tmp_path, refused):
    found = made([{"a": a, "b": b, "c": c} for a in range(5) for b in range(4) for c in range(3)], tmp_path / "many")
    page = report(found.path, tmp_path / "page.html")
    assert page.pictures == [] and "No figures: b, c would make 12 lines." in page.text
    assert "case59" in page.text and "DONE" in page.text
    refused(65, "b, c would make 12 lines", "study-plot", found.path)


@pytest.mark.parametrize("state, code, badge", [("stopped", 75, "STOPPED"), ("not started", None, "STOPPED"),
                                                ("not converged", 10, "NOT CONVERGED"), ("failed", 70, "FAIL")])
def test_a_state_is_reported(tmp_path, state, code, badge):
    found = made([{"a": n} for n in range(3)], tmp_path / "study")

    def change(record):
        record["cases"][1].update(state=state, exit_code=code, message="one < two")

    page = report(changed_study(found.path, tmp_path / "changed", change), tmp_path / "page.html")
    for said in (badge, state, "one < two"):
        assert said in page.text
    assert ("Open points have not converged." in page.text) == (state == "not converged")
    panel = studies.quantities_figure(Study(tmp_path / "changed"), ["step_s"]).axes[0]
    assert len(panel.get_lines()[0].get_xdata()) == (3 if state == "not converged" else 2)


def test_files_that_are_no_study_are_refused(study, tmp_path, refused):
    for code, arguments in ((66, [tmp_path]), (2, [study, "--columns", "nonsense"]), (65, [study, "--columns", "name"]),
                            (2, [study, "--out", "page.html"])):
        refused(code, "", "study-plot", *arguments)
    for change in (lambda r: r.update(schema="other"), lambda r: r.update(schema_version=9),
                   lambda r: r.pop("cases"), lambda r: r["cases"][0].pop("values")):
        for subcommand in ("study-plot", "report"):
            refused(65, "", subcommand, changed_study(study, tmp_path / "broken", change))
    assert list(tmp_path.rglob("*.html")) == list(tmp_path.rglob("*.png")) == []


@pytest.mark.parametrize("cases", [[{"word": "a"}, {"word": r"$\foo$"}],
                                   [{"word": word, "cells": cells} for word in ("a", r"$\foo$") for cells in (8, 16)]])
def test_dollar_signs_of_a_study_are_no_formula(tmp_path, cases):
    """In its name, in words along the axis, and in words that tell lines apart."""
    found, out = made(cases, tmp_path / "study", deck=r"a$\foo$b.yaml", columns=["name", "word", "cells", "ranks", "step_s"]), tmp_path / "picture.svg"
    for columns in ([], ["--columns", "ranks"]):
        assert main(["study-plot", str(found.path), *columns, "--out", str(out)]) == 0
        assert r"<!-- a$\foo$b: " in out.read_text() and r"<!-- $\foo$ -->" in out.read_text()
        assert ("<!-- ranks -->" in out.read_text()) == bool(columns)


# In a real browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage",
           "--no-first-run", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
           "--host-resolver-rules=MAP * ~NOTFOUND"]  # makes network access by a page fail
# With a name too long for a phone.
LONG_NAMES = """
study:
  matrix: {solver.kernel: [reference, openmp], problem.dt: [0.001, 0.002, 0.004]}
  list: [{name: a_case_whose_name_is_longer_than_a_telephone_is_wide_and_has_no_spaces}]
  report: [name, solver.kernel, problem.dt, step_s, max_K, state]
"""
SIZES = """[...document.images].map(i => [
  i.complete && i.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}),
  i.naturalWidth, i.naturalHeight, i.clientWidth, i.clientHeight])"""
# The background colour of a figure, outside the drawing.
CORNERS = """[...document.images].map(image => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext('2d');
  pen.drawImage(image, 0, 0, 2, 2, 0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
})"""
TOO_WIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') &&
  e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"""


class Browser:
    """Chromium without a window, controlled by the DevTools protocol over a pair of pipes. It has one tab, and all its files in `folder`.
    `events` holds all events received."""

    def __init__(self, folder):
        self._rest = b""
        self._last = 0
        self.events = []
        # Chromium reads from 3 and writes to 4.
        to, back = folder / "to", folder / "back"
        os.mkfifo(to)
        os.mkfifo(back)
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<"{to}" 4>"{back}"', "chromium", CHROMIUM, *OPTIONS,
             f"--user-data-dir={folder / 'profile'}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self._out, self._in = os.open(to, os.O_WRONLY), os.open(back, os.O_RDONLY)
        self._session = None
        page = next(target for target in self.ask("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def end(self):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def ask(self, method, **parameters):
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _message(self):
        """The next message; one that is not an answer is also stored as an event."""
        end = time.monotonic() + HANGS
        while b"\0" not in self._rest:
            assert select.select([self._in], [], [], max(0, end - time.monotonic()))[0], "the browser says nothing"
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        text, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(text)
        if "id" not in message:
            self.events.append(message)
        return message

    def open(self, path, width=1280, height=900, dark=False):
        """Loads the page on a screen of this size (as a phone below 600), in light or dark mode."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._message()

    def value(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def complaints(self):
        """Errors and warnings of the console and the log, exceptions, and failed loads."""
        bad = ("error", "warning", "assert")
        return [event for event in self.events
                if event["method"] in ("Runtime.exceptionThrown", "Network.loadingFailed")
                or event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in bad
                or event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in bad]


@pytest.fixture(scope="module", params=["run", "study"])
def page(request, written, tmp_path_factory):
    if request.param == "run":
        return written
    folder = tmp_path_factory.mktemp("long_names")
    write_deck(folder, DECK.replace("solver: {kernel: reference, ", "solver: {") + LONG_NAMES)
    ran("study", "deck.yaml", "output.directory=study", cwd=folder)
    report(folder / "study", folder / "page.html")
    return folder / "page.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not CHROMIUM:
        pytest.skip("chromium is not installed")
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.end()


def test_the_page_loads_without_errors_and_requests_no_other_file(browser, page):
    browser.open(page)
    urls = [event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
    assert browser.complaints() == [] and [url for url in urls if not url.startswith("data:")] == [page.resolve().as_uri()]
    assert browser.value("document.compatMode") == "CSS1Compat"
    assert browser.value("document.querySelector('h1').innerText").endswith("DONE")
    links = browser.value("[...document.querySelectorAll('nav a')].map(a => !!document.querySelector(a.getAttribute('href')))")
    assert len(links) == page.read_text(encoding="utf-8").count("<section id=") and all(links)


@pytest.mark.parametrize("width", [1280, 768, 360])
def test_every_figure_is_there_and_nothing_is_too_wide(browser, page, width):
    browser.open(page, width=width, height=800)
    sizes = browser.value(SIZES)
    assert len(sizes) == page.read_text(encoding="utf-8").count("<img ") >= 2
    for complete, *edges in sizes:
        assert complete and min(edges) > 40, sizes
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(TOO_WIDE) == []


@pytest.mark.parametrize("width", [1280, 360])
def test_figures_follow_light_and_dark(browser, page, width):
    grounds = []
    for dark, paper in (False, (255, 255, 255)), (True, (30, 33, 39)):
        browser.open(page, width=width, height=800, dark=dark)
        grounds.append(luminance(browser.value("getComputedStyle(document.body).backgroundColor")))
        assert browser.value("getComputedStyle(document.querySelector('figure')).backgroundColor") == f"rgb{paper}"
        papers = np.array(browser.value(CORNERS))
        assert len(papers) and np.abs(papers - paper).max() <= 1
        assert contrast(browser, "p") > 4.5 and contrast(browser, "figcaption") > 4.5 and contrast(browser, ".badge") > 4.5
    assert grounds[0] > 0.9 and grounds[1] < 0.2


def contrast(browser, selector):
    """The contrast of a text and its background by WCAG 2."""
    text, ground = browser.value(f"""(() => {{
      let e = document.querySelector('{selector}');
      const colour = getComputedStyle(e).color;
      while (getComputedStyle(e).backgroundColor == 'rgba(0, 0, 0, 0)') e = e.parentElement;
      return [colour, getComputedStyle(e).backgroundColor];
    }})()""")
    bright, dim = sorted(map(luminance, (text, ground)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour):
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))


def test_the_page_can_be_printed(browser, page):
    browser.open(page, dark=True)
    pdf = base64.b64decode(browser.ask("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF") and pdf.rstrip().endswith(b"%%EOF") and len(pdf) > 50000
    browser.ask("Emulation.setEmulatedMedia", media="print", features=[])
    assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.value("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
