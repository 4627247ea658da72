"""The parts of `isotherm study` that need no program: time left, series of ranks, job scripts, names, words, tables, locks."""

import os
import random
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from failures import expect_failure
from isotherm_tools import text
from isotherm_tools.program import Program, write_text
from isotherm_tools.study import state
from isotherm_tools.study.collection import scaling_series, value_at
from isotherm_tools.study.deck import safe_name
from isotherm_tools.study.runner import SESSIONS, Progress, session_folder
from isotherm_tools.study.slurm import OWN_TEMPLATE, array_text, fill, read_template
from program import finished


# Ten cases of 100 and one of 1000: a case takes 2 s plus 1 s per 10 of its work.
WORK = 10 * 100 + 1000


def job(work, seconds):
    return SimpleNamespace(case=SimpleNamespace(work=work), seconds=seconds)


def progress(jobs=1, work=WORK, cases=11):
    made = Progress(work, cases, jobs)
    made.ended("a", 100, 12, 10, [])
    return made


def test_the_time_left_is_work_at_the_rate_of_ended_cases():
    assert Progress(WORK, 11, 1).seconds_left([job(100, 11)]) is None
    alone = progress()
    assert alone.seconds_left([]) == pytest.approx(9 * 12 + 102)
    assert alone.seconds_left([job(100, 5)]) == pytest.approx(7 + 8 * 12 + 102)
    assert alone.seconds_left([job(100, 60)]) == pytest.approx(8 * 12 + 102)  # longer than expected
    assert progress(1, 200, 2).seconds_left([job(100, 13)]) is None
    four = progress(4)  # several at once: their share of the work, or the longest case
    assert four.seconds_left([job(100, 0), job(100, 0)]) == pytest.approx((9 * 12 + 102) / 4)
    assert four.seconds_left([job(1000, 2), job(100, 12)]) == pytest.approx(100)


def test_the_time_left_is_unknown_where_nothing_swept_and_nothing_at_the_end():
    made = Progress(300, 3, 1)
    made.ended("failed at once", 100, 0.1, 0, [])
    assert made.seconds_left([]) is None
    made.skipped("b", 100)
    made.ended("c", 100, 12, 10, [])
    assert made.seconds_left([]) is None


def timed(ranks, step, cells=100, fingerprint="a", series=0, sweeps=10):
    return SimpleNamespace(name=f"ranks-{ranks}", series=series, ranks=ranks, state="failed" if step is None else "done",
                           cells=(cells, 1, 1), step_s=step, halo_hidden_percent=None, sweeps=sweeps, fingerprint=fingerprint)


def test_series_are_compared_by_the_time_of_one_grid_or_of_one_that_grows_with_the_smallest_count():
    series, = scaling_series([timed(4, 3), timed(1, 8), timed(2, 5)])
    assert [row["ranks"] for row in series.rows] == [1, 2, 4], "by ranks, however the deck has them"
    assert [row["speedup"] for row in series.rows] == pytest.approx([1, 8 / 5, 8 / 3])
    assert [row["efficiency_percent"] for row in series.rows] == pytest.approx([100, 80, 100 * 8 / 12])
    assert (series.base_text, series.disagreement) == ("1 rank", "")
    weak, = scaling_series([timed(1, 8), timed(4, 10, 400, "b")])
    assert (weak.rows[1]["speedup"], weak.rows[1]["efficiency_percent"]) == pytest.approx((4 * 8 / 10, 100 * 8 / 10))
    series, = scaling_series([timed(2, 8), timed(8, 4)])
    assert [(row["speedup"], row["efficiency_percent"]) for row in series.rows] == [(2, 100), (4, 50)] and series.base_text == "2 ranks"


def test_the_median_run_counts():
    cases = [timed(1, 9), timed(1, 7), timed(1, 30), timed(2, 6), timed(2, 4), timed(2, None)]
    series, = scaling_series(cases)
    assert [row["step_s"] for row in series.rows] == [9, 4], "of two the faster"
    assert (series.rows[1]["runs"], series.rows[1]["remark"]) == (2, "ranks-2: failed")
    assert series.rows[1]["speedup"] == pytest.approx(9 / 4)
    assert series.speed_of(cases[3])["speedup"] == pytest.approx(9 / 6), "of each beside the median of the base"
    assert series.speed_of(cases[5])["speedup"] is None


def test_one_problem_has_one_answer():
    said = "2 different fingerprints of 100 x 1 x 1 cells (one problem has one answer on any ranks)"
    assert scaling_series([timed(1, 8), timed(2, 5, fingerprint="b")])[0].disagreement == said
    assert scaling_series([timed(1, 8), timed(2, 5, fingerprint="b", sweeps=11)])[0].disagreement == ""  # steady problems may differ
    two = scaling_series([timed(1, 8), timed(2, 5, fingerprint="b", series=1)])
    assert len(two) == 2 and two[0].disagreement == ""


# Job scripts

NEEDED = "@tasks@|@ranks@|@cases@|@command@"
VALUES = {"name": "n", "tasks": "1", "ranks": "2", "cases": "[1]=a", "command": "run", "options": ""}


def filled(content, **values):
    return fill("t", content, {**VALUES, **values})


def test_tasks_in_a_row_are_a_range():
    assert array_text([7]) == "7" and array_text([1, 2]) == "1-2"
    assert array_text([1, 3, 4, 5, 1000], 3) == "1,3-5,1000%3" and array_text([1, 2, 4, 6, 7]) == "1-2,4,6-7"


def test_only_words_between_two_at_signs_are_placeholders():
    assert filled(NEEDED + ' a@b.c "${x[@]}" @@ B:USR1@120 @') == '1|2|[1]=a|run a@b.c "${x[@]}" @@ B:USR1@120 @'
    assert filled(NEEDED + "@@name@") == "1|2|[1]=a|run@n"
    with_options = filled(NEEDED + "\n@options@", options="#SBATCH -p @name@")
    assert with_options == "1|2|[1]=a|run\n#SBATCH -p @name@", "inserted text has no placeholders"


def test_the_own_template_is_that_of_inputs_and_sound():
    assert OWN_TEMPLATE.read_text() == (Path(__file__).parents[2] / "inputs" / "study.sbatch").read_text()
    script = fill("", read_template(""), {**VALUES, "output": "o", "folder": "f"})
    assert script.startswith("#!/bin/bash\n") and "\nexec run\n" in script


# Words


@pytest.mark.parametrize("name, safe", [
    ("a/b c", "a-b-c"), ("../../etc/passwd", "etc-passwd"), ("-rf", "rf"), ("293 + 100*x", "293-+-100-x"),
    ("{kind: flux, value: 10}", "kind-flux-value-10"), ("grün\n", "grün"), ("热 (Kühl)", "热-Kühl"), ("//", "")])
def test_names_are_safe_for_file_systems(name, safe):
    assert safe_name(name) == safe


@pytest.mark.parametrize("word, shell", [
    ("runs/a.yaml", "runs/a.yaml"), ("a b", "'a b'"), ("it's $x", "'it'\"'\"'s $x'"), ("", "''"),
    ("it's\n\x1b[2J\\", "$'it\\'s\\n\\x1b[2J\\\\'")])
def test_a_word_of_the_shell_is_its_text(word, shell):
    assert text.shell_words([word]) == shell
    assert finished(["bash", "-c", f"printf %s {shell}"], 0).stdout == word


def test_numbers_read_back_to_the_same_bits():
    numbers = random.Random(1)
    for _ in range(1000):
        value = numbers.choice([-1, 1]) * numbers.random() * 10 ** numbers.randint(-300, 300)
        assert float(text.shortest(value)) == value and text.as_number(text.shortest(value)) == value
    assert [text.shortest(value) for value in (1e6, 1e-6, 64, 0.1, 1234567)] == ["1e6", "1e-6", "64", "0.1", "1234567"]
    assert [text.as_number(word) for word in ("010", "0x10", "1_0", "nan", "1e999", "a", "")] == [None] * 7


def test_tables_align_by_columns_of_the_terminal():
    rows = [["name", "value"], ["\u6e29\u5ea6", "1"], ["k", "1234567"]]
    assert text.aligned("lr", rows, 2) == "  name    value\n  \u6e29\u5ea6        1\n  k     1234567\n"


@pytest.mark.parametrize("path, value", [
    ("grid.cells", "24x20x0.5"), ("grid.cells.0", 24), ("grid", None), ("empty", None), ("ranks", None), ("ranks.0.device", "A"), ("gone.x", None)])
def test_values_of_records(path, value):
    assert value_at({"grid": {"cells": [24, 20, 0.5]}, "empty": [], "ranks": [{"device": "A"}]}, path) == value


# Processes


def test_a_lock_of_an_ended_process_is_taken_and_one_of_a_running_process_is_not(tmp_path):
    with state.DirectoryLock(tmp_path) as held:
        assert held.warning == ""
        expect_failure(73, f"process {os.getpid()} on ", state.DirectoryLock, tmp_path)
        assert state.is_busy(tmp_path)
    assert os.listdir(tmp_path) == []
    gone = subprocess.Popen(["true"])
    gone.wait()
    (tmp_path / "run.lock").write_text("\n".join([state.this_process()[0], str(gone.pid), "1", "-"]) + "\n")
    assert not state.is_busy(tmp_path)
    (tmp_path / "run.lock").write_text("")
    expect_failure(73, "(an unknown process writes to it)", state.DirectoryLock, tmp_path)
    (tmp_path / "run.lock").write_text("elsewhere\n1\n1\n-\n")
    assert state.is_busy(tmp_path)
    with state.DirectoryLock(tmp_path, force=True) as held:
        assert "of process 1 on elsewhere was taken (--force)" in held.warning


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    write_text(tmp_path / "a", "one")
    expect_failure(73, f"cannot write '{tmp_path}/none/a' ", write_text, tmp_path / "none" / "a", "two")
    (tmp_path / "link").symlink_to("a")
    write_text(tmp_path / "link", "two")
    assert (tmp_path / "a").read_text() == "two" and (tmp_path / "link").is_symlink()
    state.write_json(tmp_path / "a", {"x": float("nan"), "y": [1.5, float("inf")]})
    assert state.read_json(tmp_path / "a") == {"x": None, "y": [1.5, None], "not_finite": {"/x": "nan", "/y/1": "inf"}}


def test_a_missing_program_is_named_and_the_user_chooses_where_session_folders_are(tmp_path, monkeypatch):
    monkeypatch.setenv(SESSIONS, str(tmp_path))
    assert session_folder(1).parent == tmp_path and session_folder(1) != session_folder(2)
    monkeypatch.delenv("ISOTHERM_PROGRAM", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    expect_failure(69, "isotherm is not on PATH", Program)
