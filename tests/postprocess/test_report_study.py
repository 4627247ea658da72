"""`report` and `study` of a study: the page says what study.json says, and figures have the cases where they belong."""

import json

import matplotlib.image
import numpy as np
import pytest

from html_page import Page
from isotherm_tools import study_figures
from isotherm_tools.cli import main
from isotherm_tools.study_record import Study
from program import isotherm
from studies import BASE, write_study

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
    done = isotherm("study", "deck.yaml", cwd=folder)
    assert done.returncode == 76, done.stderr
    return folder / "out"


def changed(study, folder, change):
    record = json.loads((study / "study.json").read_text())
    change(record)
    folder.mkdir(exist_ok=True)
    (folder / "study.json").write_text(json.dumps(record))
    return folder


def made(cases, folder, **more):
    """A study of these settings, of which each has its number as step_s."""
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


def report(study, out):
    assert main(["report", str(study), "--out", str(out)]) == 0
    return Page(out.read_text(encoding="utf-8"))


def test_the_page_says_what_the_study_says(study, tmp_path):
    page, record = report(study, tmp_path / "page.html"), json.loads((study / "study.json").read_text())
    for said in ("deck FAILED", "problem.dt [s]", "fp32, fp64", "0.5, 1, 2, 40", "Sorted by peak temperature [K].", record["git_revision"],
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
    for address in page.addresses:
        assert address.startswith(("data:", "#")), address
    assert main(["report", str(study)]) == 0
    assert (study / "study_report.html").read_bytes() == (tmp_path / "page.html").read_bytes()  # always the same


def test_a_figure_has_the_cases_where_they_belong(study):
    found = Study(study)
    assert found.axes == ["problem.dt", "precision"]
    panel = study_figures.quantities_figure(found, ["max_K"]).axes[0]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("problem.dt [s]", "peak temperature [K]")
    assert panel.get_legend().get_title().get_text() == "precision"
    for line, precision in zip(panel.get_lines(), ("fp32", "fp64")):
        cases = [case for case in found.cases if case.value("precision") == precision and case.state == "done"]
        assert line.get_label() == precision and len(cases) == 3  # those that failed leave a gap
        assert list(line.get_xdata()) == [case.value("problem.dt") for case in cases]
        assert list(line.get_ydata()) == [case.value("max_K") for case in cases]


def test_the_verb_draws_them(study, tmp_path, capsys):
    assert main(["study-plot", str(study)]) == 0
    assert capsys.readouterr().out == f"{study}/study.png\n"
    image = matplotlib.image.imread(study / "study.png")
    assert image.shape[0] > image.shape[1] and len(np.unique(image[..., 0])) > 20
    assert main(["study-plot", str(study), "--columns", "mean_K", "--out", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


def test_keys_that_go_together_are_one_axis(tmp_path):
    zipped = made([{"cells": n, "steps": 10 * n, "kernel": kernel} for n in (8, 16, 32) for kernel in ("a", "b")], tmp_path / "zip",
                  report=["name", "steps", "step_s"])
    assert zipped.axes == ["steps", "kernel"]  # the one that is reported
    assert made([{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 3, "b": 1}], tmp_path / "one").axes == ["a"]  # b is decided by a
    words = made([{"kernel": word, "cells": 8} for word in ("a", "b", "c")], tmp_path / "words")
    assert words.axes == ["kernel"]  # one number only is no axis
    assert made([{"a": 1}, {"a": 1}, {"a": 2}], tmp_path / "names").axes == ["name"]  # a does not tell them apart
    assert made([{}], tmp_path / "alone").axes == []


def test_words_stand_side_by_side(tmp_path):
    found = made([{"kernel": word} for word in ("z", "a", "m")], tmp_path / "words")
    panel = study_figures.quantities_figure(found, ["step_s"]).axes[0]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["z", "a", "m"]
    line, = panel.get_lines()
    assert list(line.get_xdata()) == [0, 1, 2] and line.get_linestyle() == "None"


def test_numbers_that_reach_far_are_logarithmic(tmp_path):
    far = made([{"cells": n} for n in (8, 16, 32, 64)], tmp_path / "far")
    near = made([{"cells": n} for n in (8, 16, 32)], tmp_path / "near")
    assert study_figures.quantities_figure(far, ["step_s"]).axes[0].get_xscale() == "log"
    assert study_figures.quantities_figure(near, ["step_s"]).axes[0].get_xscale() == "linear"


def test_too_many_lines_are_a_table(tmp_path, capsys):
    found = made([{"a": a, "b": b, "c": c} for a in range(5) for b in range(4) for c in range(3)], tmp_path / "many")
    page = report(found.path, tmp_path / "page.html")
    assert page.pictures == [] and "No figures: b, c would make 12 lines." in page.text
    assert "case59" in page.text and "DONE" in page.text
    assert main(["study-plot", str(found.path)]) == 65
    assert "b, c would make 12 lines" in capsys.readouterr().err


@pytest.mark.parametrize("state, code, badge", [("stopped", 75, "STOPPED"), ("not started", None, "STOPPED"),
                                                ("not converged", 10, "NOT CONVERGED"), ("failed", 70, "FAIL")])
def test_a_state_is_told(tmp_path, state, code, badge):
    found = made([{"a": n} for n in range(3)], tmp_path / "study")

    def change(record):
        record["cases"][1].update(state=state, exit_code=code, message="one < two")

    page = report(changed(found.path, tmp_path / "changed", change), tmp_path / "page.html")
    for said in (badge, state, "one < two"):
        assert said in page.text
    assert ("Open points have not converged." in page.text) == (state == "not converged")
    panel = study_figures.quantities_figure(Study(tmp_path / "changed"), ["step_s"]).axes[0]
    assert len(panel.get_lines()[0].get_xdata()) == (3 if state == "not converged" else 2)


def test_what_is_no_study_is_refused(study, tmp_path, capsys):
    assert main(["study-plot", str(tmp_path)]) == 66
    assert main(["study-plot", str(study), "--columns", "nonsense"]) == 2
    assert main(["study-plot", str(study), "--columns", "name"]) == 65
    assert main(["study-plot", str(study), "--out", "page.html"]) == 2
    for number, change in enumerate((lambda r: r.update(schema="other"), lambda r: r.update(schema_version=9),
                                     lambda r: r.pop("cases"), lambda r: r["cases"][0].pop("values"))):
        broken = changed(study, tmp_path / str(number), change)
        for verb in ("study-plot", "report"):
            assert main([verb, str(broken)]) == 65, number
    assert capsys.readouterr().err.count("\n") == 12
    assert list(tmp_path.rglob("*.html")) == list(tmp_path.rglob("*.png")) == []


@pytest.mark.parametrize("cases", [[{"word": "a"}, {"word": r"$\foo$"}],
                                   [{"word": word, "cells": cells} for word in ("a", r"$\foo$") for cells in (8, 16)]])
def test_dollar_signs_of_a_study_are_no_formula(tmp_path, cases):
    """In its name, in words along the axis, and in words that tell lines apart."""
    found, out = made(cases, tmp_path / "study", deck=r"a$\foo$b.yaml"), tmp_path / "picture.svg"
    assert main(["study-plot", str(found.path), "--out", str(out)]) == 0
    assert r"<!-- a$\foo$b: " in out.read_text() and r"<!-- $\foo$ -->" in out.read_text()
