"""A deck with `scaling:`: its cases are those of a study, and its figures follow from the records of their runs."""

import json
import os
import re
from statistics import median_low

import pytest
from program import isotherm, write_deck
from studies import BASE, collected, folders, rows

LAUNCHER = f"study: {{launcher: \"{os.environ.get('MPIEXEC', 'mpirun')} -n {{ranks}}\"}}\n"
STRONG = BASE + LAUNCHER + "scaling: {kind: strong, ranks: [2, 1], repeats: 2}\n"
NAMES = [f"ranks-{ranks}_run-{run}" for run in (1, 2) for ranks in (2, 1)]


@pytest.fixture(name="strong", scope="module")
def strong_study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strong")
    write_deck(folder, STRONG)
    cores = {name: value for name, value in os.environ.items() if name == "OMP_NUM_THREADS"}
    os.environ.pop("OMP_NUM_THREADS", None)
    try:
        done = isotherm("study", "deck.yaml", cwd=folder)
    finally:
        os.environ.update(cores)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def records(folder):
    return {name: json.loads((folder / "out" / name / "run.json").read_text()) for name in folders(folder / "out")}


def middle(runs, ranks):
    return median_low(run["performance"]["step_s"] for run in runs.values() if len(run["ranks"]) == ranks)


def test_figures_follow_from_the_records_of_the_runs(strong):
    folder, out = strong
    runs = records(folder)
    assert sorted(runs) == sorted(NAMES)
    assert list(rows(folder / "out")) == NAMES, "in turns"
    one, two = middle(runs, 1), middle(runs, 2)
    series, = collected(folder / "out")["scaling"]["series"]
    assert [row["ranks"] for row in series["rows"]] == [1, 2]
    assert [row["step_s"] for row in series["rows"]] == [one, two]
    assert [row["speedup"] for row in series["rows"]] == pytest.approx([1, one / two])
    assert [row["efficiency_percent"] for row in series["rows"]] == pytest.approx([100, 100 * one / (2 * two)])
    for row in series["rows"]:
        assert (row["runs"], row["cells"], row["remark"]) == (2, [17, 13, 15], None)
        assert runs[row["case"]]["performance"]["step_s"] == row["step_s"]
        assert runs[row["case"]]["halo"]["hidden_percent"] == row["halo_hidden_percent"]
    for name, row in rows(folder / "out").items():
        step = runs[name]["performance"]["step_s"]
        assert float(row["speedup"]) == pytest.approx(one / step)
        assert float(row["efficiency_percent"]) == pytest.approx(100 * one / step / int(row["ranks"]))
        assert (row["cells"], row["scaling_base"]) == ("17 x 13 x 15", "1 rank")
    found = re.findall(r"^ +(\d) +17 x 13 x 15 +2 +(\S+) +(\S+) +([\d.]+) % ", out, re.MULTILINE)
    assert [(int(ranks), float(step)) for ranks, step, _, _ in found] == [(1, pytest.approx(one, rel=1e-5)),
                                                                       (2, pytest.approx(two, rel=1e-5))]
    assert len({run["fingerprint"] for run in runs.values()}) == 1


def test_a_rank_has_as_many_threads_on_all_counts(strong):
    threads = {rank["threads"] for run in records(strong[0]).values() for rank in run["ranks"]}
    assert threads == {max(1, len(os.sched_getaffinity(0)) // 2)}


def test_it_goes_on_and_collects_as_any_study(strong):
    folder, _ = strong
    again = isotherm("study", "deck.yaml", cwd=folder)
    assert again.returncode == 0 and "4 cases, 4 finished before, 0 to run" in again.stdout
    path = folder / "out" / NAMES[0] / "run.json"
    text = path.read_text()
    run = json.loads(text)
    path.write_text(text.replace(run["fingerprint"], "0123456789abcdef"))
    try:
        done = isotherm("study", "deck.yaml", "--collect", cwd=folder)
    finally:
        path.write_text(text)
    said = "2 different fingerprints of 17 x 13 x 15 cells (one problem has one answer on any ranks)"
    assert (done.returncode, done.stderr.split(";")[0]) == (76, said)
    assert said in done.stdout


def test_a_count_that_fails_leaves_the_others_and_a_base_that_fails_says_so(tmp_path):
    launcher = tmp_path / "no_single.sh"
    launcher.write_text(f"#!/bin/sh\n[ $1 = 1 ] && exit 9\nexec {os.environ.get('MPIEXEC', 'mpirun')} -n \"$@\"\n")
    launcher.chmod(0o755)
    write_deck(tmp_path, BASE + f"study: {{launcher: \"{launcher} {{ranks}}\"}}\nscaling: {{kind: weak, ranks: [1, 2]}}\n")
    done = isotherm("study", "deck.yaml", cwd=tmp_path)
    assert done.returncode == 9 and done.stderr.startswith("1 of 2 cases failed ")
    assert "weak scaling, compared with none (ranks-1: failed)\n" in done.stdout
    found = rows(tmp_path / "out")
    assert found["ranks-2"]["cells"] == "17 x 13 x 30" and float(found["ranks-2"]["step_s"]) > 0
    for row in found.values():
        assert (row["speedup"], row["efficiency_percent"], row["scaling_base"]) == ("", "", "none (ranks-1: failed)")


def test_check_says_what_the_cases_are_and_run_refuses(tmp_path):
    write_deck(tmp_path, BASE + "scaling: {kind: weak, ranks: [1, 2], repeats: 3}\n")
    checked = isotherm("check", "deck.yaml", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert "scaling         weak, on 1, 2 ranks, 3 runs of each\n" in checked.stdout
    assert re.search(r"^  ranks-2_run-3 +2 +17 x 13 x 30 ", checked.stdout, re.MULTILINE)
    refused = isotherm("run", "deck.yaml", cwd=tmp_path)
    assert (refused.returncode, refused.stderr) == (
        65, "deck.yaml:11:1: scaling: the deck is of several cases, not of one run; start them with isotherm study "
            "deck.yaml\n")
    assert os.listdir(tmp_path) == ["deck.yaml"]


def test_what_runs_at_once_is_said_to_share_its_time(tmp_path):
    write_deck(tmp_path, BASE + "scaling: {kind: strong, ranks: [1]}\n")
    done = isotherm("study", "deck.yaml", "--jobs", "2", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        0, "warning: --jobs 2: cases that run at once share this host, and so their times do\n")
