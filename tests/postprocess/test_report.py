"""`report`: one page that holds what the run's files say, and nothing that is not in it."""

import base64
import json
import re

import pytest

from html_page import Page
from isotherm_tools import report_page
from isotherm_tools.cli import main
from program import finished_run, isotherm

DECK = """
grid: {cells: [24, 16, 8], spacing: 1e-3}
material: {conductivity: 20, density: 8000, heat_capacity: 500}
boundaries:
  x_min: {kind: temperature, value: "350 + 1000*y"}
  x_max: {kind: convection, ambient: 290, coefficient: 200}
initial: [{shape: constant, value: 300}, {shape: sphere, centre: [0.012, 0.008, 0.004], radius: 0.004, value: 400}]
problem: {kind: transient, steps: 60, check_interval: 5}
solver: {kernel: reference, reduction: reference, halo_width: 1}
output:
  every_steps: 20
  diagnostics: 5
  slices: [{axis: z, cell: 2, every_steps: 30}]
  probes: {points: [{at: [0.012, 0.008, 0.004], name: centre}], every_steps: 5}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two ranks, with a name that a browser could take for its own."""
    return finished_run(tmp_path_factory.mktemp("report"), DECK, "a<b>&c", ranks=2)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    done = isotherm("bench", "stencil", "--device", "cpu", "--sizes", "16", "--seconds", "0.01", "--json", path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def written(run, bench, tmp_path_factory):
    out = tmp_path_factory.mktemp("written") / "page.html"
    report(run, out, "--bench", bench)
    return out


def report(run, out, *arguments):
    assert main(["report", str(run), "--out", str(out), *map(str, arguments)]) == 0
    return Page(out.read_text(encoding="utf-8"))


def changed(run, folder, **changes):
    """A run of nothing but its record, with other sections."""
    record = json.loads((run / "run.json").read_text())
    for section, values in changes.items():
        record[section] = {**(record[section] or {}), **values} if isinstance(values, dict) else values
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps(record))
    return folder


def test_the_page_says_what_the_record_says(run, written):
    page, record = Page(written.read_text(encoding="utf-8")), json.loads((run / "run.json").read_text())
    text = page.text
    for said in ("a<b>&c", "DONE", "transient, 24 x 16 x 8 cells, fp64", "2 ranks on 1 host", record["fingerprint"],
                 record["provenance"]["command_line"], record["provenance"]["git_revision"], "sphere", "conductivity: 20",
                 record["ranks"][0]["device"], "centre at (0.012, 0.008, 0.004) m", "Benchmark: stencil",
                 " x ".join(map(str, record["decomposition"]["process_grid"])),
                 f"{record['halo']['hidden_percent']:.1f} %", f"{record['residual']['last_K']:.3g} K at sweep 60"):
        assert said in text, said
    for name in record["phases_s"]:
        assert name == "stepping" or name in text, name
    # Two states, the slice, residual, temperatures, heat, probes, phases, roof; two ladders and the roofline.
    assert len(page.pictures) == 12
    assert [picture for picture in page.pictures if not picture["alt"]] == []
    assert "300 K to 400 K" in page.pictures[0]["alt"]


def test_the_page_opens_with_the_answer(run, written):
    """How hot, where, and the heat; then the field, in planes through the hottest cell of the end."""
    record, text = json.loads((run / "run.json").read_text()), written.read_text(encoding="utf-8")
    end = record["end_state"]
    x, y, z = (1e3 * metres for metres in end["highest"]["position_m"])
    card = Page(text.split('<section id="answer">')[1].split("</section>")[0]).text
    for said in (f"{end['highest']['temperature_K']:.6g} K", f"at ({x:.4g}, {y:.4g}, {z:.4g}) mm, cell",
                 f"{end['lowest']['temperature_K']:.6g} K", "through x_min", f"{end['heat']['faces_W']['x_min']:.5g} W",
                 f"{end['heat']['stored_W']:.5g} W", "unaccounted for", "peak over time 400 K at 0 s", "sweep 60"):
        assert said in card, said
    order = re.findall(r'<section id="(\w+)">', text)
    assert order == ["answer", "field", "convergence", "performance", "time", "bench1", "run"]
    assert f"Planes through the hottest cell at the end: z = {z:.4g} mm; above it y = {y:.4g} mm; beside it x = {x:.4g} mm" in (
        Page(text).text)
    assert text.index("GB/s") > text.index("<section id=\"performance\">")


def test_what_is_not_known_of_the_end_is_said(run, tmp_path):
    page = report(changed(run, tmp_path / "old", end_state=None), tmp_path / "a.html")
    assert "run.json does not say which temperatures the run ended with" in page.text
    page = report(changed(run, tmp_path / "no_heat", end_state={"heat": None, "why_no_heat": "no reason"}), tmp_path / "b.html")
    assert "Heat is not known: no reason." in page.text
    page = report(changed(run, tmp_path / "steady", result="CONVERGED", method={"problem": "steady"}), tmp_path / "c.html")
    assert "of a steady problem" in page.text and "The residual has reached its tolerance." in page.text


def test_nothing_is_outside_of_the_page(written):
    text = written.read_text(encoding="utf-8")
    page = Page(text)
    for address in page.addresses:
        assert address.startswith(("data:", "#")), address
    for picture in page.pictures:
        kind, content = re.fullmatch(r"data:image/(png|svg\+xml);base64,(.+)", picture["src"]).groups()
        assert base64.b64decode(content).startswith(b"\x89PNG" if kind == "png" else b"<?xml")
    assert "<script" not in text and "url(" not in text


def test_it_lies_in_the_run_directory_and_is_always_the_same(run, bench, written, capsys):
    before = {path.name for path in run.iterdir()}
    assert main(["report", str(run), "--bench", str(bench)]) == 0
    assert capsys.readouterr().out == f"{run}/a<b>&c_report.html\n"
    assert {path.name for path in run.iterdir()} - before == {"a<b>&c_report.html"}
    assert (run / "a<b>&c_report.html").read_bytes() == written.read_bytes()


def test_what_a_run_was_made_without_is_said(run, tmp_path):
    bare = changed(run, tmp_path / "bare", warnings=["one < two", "watch & wait"], message="it ended early", result="STOPPED",
                   performance={"step_s": None, "points_per_s": None, "effective_bandwidth_bytes_per_s": None,
                                "halo_fraction_percent": None, "copy_bandwidth_share_percent": None},
                   residual={"first_K": None, "last_K": None, "last_sweep": None})
    page = report(bare, tmp_path / "a.html")
    for said in ("one < two", "watch & wait", "it ended early", "STOPPED", "made without snapshots", "made without a history"):
        assert said in page.text, said
    assert len(page.pictures) == 1  # where the time went
    assert "at sweep" not in page.text and "None" not in page.text
    (bare / "history.csv").write_text("sweep,time_s,residual\n")
    assert "The run ended before its first check." in report(bare, tmp_path / "b.html").text


def test_verification_is_on_the_page(run, tmp_path):
    found = {"solution": "slab_series", "max_error_K": 0.0427, "l2_error_K": 0.0309, "tolerance_K": 0.2, "order": [1.98, None, 2.0],
             "levels": [], "verdict": "passed"}
    text = report(changed(run, tmp_path / "bare", verification=found), tmp_path / "a.html").text
    for said in ("slab_series", "0.0427 K", "1.980, -, 2.000", "passed"):
        assert said in text


def test_many_links_are_counted(run, tmp_path):
    link = json.loads((run / "run.json").read_text())["halo"]["links"][0]
    page = report(changed(run, tmp_path / "bare", halo={"links": [link] * 100}), tmp_path / "a.html")
    assert "84 more are in run.json." in page.text


def test_a_benchmark_of_another_device_is_said(run, bench, tmp_path):
    content = json.loads(bench.read_text())
    content["device"]["name"] = "Some GPU"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(content))
    bare = changed(run, tmp_path / "bare")
    assert "its figures stand under another roof" in report(bare, tmp_path / "a.html", "--bench", other).text
    assert "another roof" not in report(bare, tmp_path / "a.html", "--bench", bench).text


@pytest.mark.parametrize("code, arguments", [(2, ["--out", "page.pdf"]), (66, ["--bench", "none.json"]),
                                             (73, ["--out", "no/such/folder/page.html"])])
def test_wrong_arguments_leave_nothing(run, tmp_path, monkeypatch, capsys, code, arguments):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(run), *arguments]) == code
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and list(tmp_path.iterdir()) == []


def test_what_is_no_run_is_refused(run, tmp_path, capsys):
    assert main(["report", str(tmp_path / "nowhere")]) == 66
    assert main(["report", str(tmp_path)]) == 66
    for broken in ({"phases_s": {"total": None}}, {"grid": None}, {"ranks": [{}]}, {"schema_version": 9}):
        assert main(["report", str(changed(run, tmp_path / "broken", **broken))]) == 65, broken
    damaged = changed(run, tmp_path / "damaged")
    (damaged / "demo_00000001.hdf").write_text("no HDF5")
    assert main(["report", str(damaged)]) == 65
    assert capsys.readouterr().err.count("\n") == 7
    assert list(tmp_path.rglob("*.html*")) == []


def test_a_page_shows_no_section_without_content():
    sections = [report_page.Section("a", "Something", [report_page.paragraph("text")]), report_page.Section("b", "Nothing", [])]
    text = report_page.page("name", None, "lead", sections, "foot")
    assert "Something" in text and "Nothing" not in text and "badge " not in Page(text).text


def test_numbers_stand_on_the_right_and_long_names_can_be_broken():
    text = report_page.table(("grid.cells.0", "step_s", "share", "note"), [("8", "1.5e-06", "97 %", "a_b 3"), ("16", "3 µs", "-", "7")])
    assert re.findall(r"<t([hd])(?: scope=\"col\")?( class=\"number\")?>(.*?)</t", text) == [
        ("h", ' class="number"', "grid.<wbr>cells.0"), ("h", ' class="number"', "step_<wbr>s"), ("h", ' class="number"', "share"),
        ("h", "", "note"),
        ("d", ' class="number"', "8"), ("d", ' class="number"', "1.5e-06"), ("d", ' class="number"', "97 %"), ("d", "", "a_<wbr>b 3"),
        ("d", ' class="number"', "16"), ("d", ' class="number"', "3 µs"), ("d", ' class="number"', "-"), ("d", "", "7")]
    assert "<wbr>" in report_page.table(("a.b",), []) and "number" not in report_page.table(("a",), [])
