"""isotherm study: the cases of a deck, including failures, the collected results, and the figures of `scaling:`, which follow from the
records of the runs. A study that is killed or stopped resumes later, together with its cases, with the same bits."""

import json
import os
import re
import signal
import subprocess
import time
from statistics import median_low

import pytest

from job import Background, wait_until_gone
from program import (HANGS, LAUNCHER, MPIEXEC, command, expect_rejected, family_of, finished_run, is_running, isotherm,
                     kill_all, ran, ranks_of, write_deck, write_script)
from runs import checkpoints, expect_same_answer, history, record
from studies import BASE, collected, folders, rows, started, states, write_study

FOUR = "  matrix: {problem.steps: [3, 4], precision: [fp32, fp64]}\n"
NAMES = ["steps-3_precision-fp32", "steps-3_precision-fp64", "steps-4_precision-fp32", "steps-4_precision-fp64"]
# Above the stable step of 3.7 s: the field diverges.
WITH_FAILURE = """\
  list:
    - {name: first}
    - {name: grows, problem.dt: 10, problem.allow_unstable: true, problem.steps: 20000, problem.check_interval: 10}
    - {name: last, precision: fp32}
"""


def study(folder, *words, **options):
    return ran("study", "deck.yaml", *words, cwd=folder, **options)


def test_temperatures_and_heat_at_the_end_need_no_diagnostics_and_heads_have_units(tmp_path):
    write_deck(tmp_path, """\
grid: {cells: 4, lengths: 0.01}
material: {conductivity: 10}
boundaries: {z_min: {kind: temperature, value: 300}, z_max: {kind: flux, value: 1000}}
initial: [{shape: constant, value: 300}]
problem: {kind: steady}
output: {directory: out}
study: {matrix: {ranks: [1], material.conductivity: [1, 2]}, report: [max_K, wall_z_min_W, foo.bar, method.kernel]}
""")
    assert study(tmp_path).stderr == "warning: study.report: no run.json has a value at 'foo.bar'; look for its path in one, or remove it\n"
    for name, row in rows(tmp_path / "out").items():
        end = record(tmp_path / "out" / name)["end_state"]
        assert [float(row[key]) for key in ("max_K", "wall_z_min_W")] == [end["highest"]["temperature_K"], end["heat"]["faces_W"]["z_min"]]
        assert list(row)[:4] == ["name", "ranks", "material.conductivity [W/(m K)]", "state"]
        assert {"step_s", "points_per_s", "copy_bandwidth_share_percent", "residual_K", "balance_W"} <= set(row)


def test_every_case_has_its_folder_and_its_line(tmp_path):
    write_study(tmp_path, FOUR + "  report: [name, step_s, method.kernel, max_K]\n  sort: precision\n")
    done = study(tmp_path, "--dry-run")
    assert os.listdir(tmp_path) == ["deck.yaml"]
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["name", "ranks", "cells", "sweeps", "memory", "files", "state", "time"]
    assert [line.split()[0] for line in lines[1:5]] == NAMES
    assert "4 of 4 cases to run in 'out'" in done.stdout and "Times are estimates: the least traffic" in done.stdout
    done = study(tmp_path)
    assert folders(tmp_path / "out") == NAMES
    table = rows(tmp_path / "out")
    assert list(table) == NAMES
    for name in NAMES:
        run, row = record(tmp_path / "out" / name), table[name]
        assert (run["exit_code"], run["name"]) == (0, name)
        assert [row["problem.steps"], row["precision"]] == [str(run["performance"]["sweeps"]), run["grid"]["precision"]]
        assert [row["state"], row["exit_code"], row["ranks"]] == ["done", "0", "1"]
        for key in ("step_s", "points_per_s"):
            assert float(row[key]) == run["performance"][key]
        assert float(row["wall_s"]) == run["phases_s"]["total"]["max"]
        assert row["fingerprint"] == run["fingerprint"] and row["method.kernel"] == "reference"
        last = history(tmp_path / "out" / name)[-1]
        assert float(row["max_K"]) == float(last["max_K"]) and float(row["mean_K"]) == float(last["mean_K"])
    whole = collected(tmp_path / "out")
    assert [case["run"] for case in whole["cases"]] == [record(tmp_path / "out" / name) for name in NAMES]
    assert whole["cases"][2]["settings"] == {"problem.steps": 4.0, "precision": "fp32"}
    order = [line.split()[0] for line in done.stdout.splitlines() if re.match(r"steps-\d_precision-fp\d\d +\d", line)]
    assert order == [NAMES[0], NAMES[2], NAMES[1], NAMES[3]]  # by precision, otherwise in order
    assert "0 of 4 cases to run" in study(tmp_path, "--dry-run").stdout


def test_one_failure_does_not_end_it(tmp_path):
    write_study(tmp_path, WITH_FAILURE)
    done = study(tmp_path, code=76)
    assert done.stderr.startswith("1 of 3 cases failed ") and done.stderr.endswith(": isotherm study deck.yaml --retry\n")
    out = tmp_path / "out"
    assert states(out) == {"first": "done", "grows": "failed", "last": "done"}
    assert rows(out)["grows"]["exit_code"] == "76" and rows(out)["grows"]["message"]
    before = {name: started(out / name) for name in folders(out)}

    again = study(tmp_path, code=76)  # failed cases stay failed until --retry
    assert "3 cases, 2 finished before, 1 failed before (--retry starts them again), 0 to run" in again.stdout
    assert {name: started(out / name) for name in folders(out)} == before

    study(tmp_path, "--retry", code=76)
    after = {name: started(out / name) for name in folders(out)}
    assert {name for name in after if after[name] != before[name]} == {"grows"}


def test_a_failure_before_a_run_has_a_record_is_a_failure(tmp_path):
    write_study(tmp_path, "  list: [{name: one}, {name: two, ranks: 2}]\n  launcher: no_such_launcher {ranks}\n")
    study(tmp_path, code=69)
    row = rows(tmp_path / "out")["two"]
    assert (row["state"], row["exit_code"]) == ("failed", "69")
    assert row["message"].startswith("cannot start 'no_such_launcher' (No such file or directory); ")
    assert "0 to run" in study(tmp_path, code=69).stdout
    # The launcher is not part of a case: after a change only --retry is needed.
    study(tmp_path, "--retry", f"study.launcher={LAUNCHER}")
    assert states(tmp_path / "out") == {"one": "done", "two": "done"}


def test_a_case_that_stops_by_itself_is_resumed(tmp_path):
    write_study(tmp_path, "  list: [{name: a}, {name: b, solver.walltime: 0.001}]\n")
    assert "1 of 2 cases finished (no time for a step: b; give more solver.walltime); resume with: " in study(tmp_path, code=75).stderr
    assert states(tmp_path / "out") == {"a": "done", "b": "stopped"}
    assert "1 finished before, 1 to run" in study(tmp_path, code=75).stdout
    write_study(tmp_path, "  list: [{name: a}, {name: b, solver.walltime: 0.001}, {name: c, ranks: 2}]\n"
                          "  launcher: no_such_launcher {ranks}\n")
    said = study(tmp_path, code=69).stderr
    assert said.startswith("1 of 3 cases failed ") and ", unfinished: b (no time for a step: b; " in said and said.endswith(" --retry\n")
    write_study(tmp_path, "  list: [{name: a}, {name: b, solver.walltime: 1000}]\n")
    study(tmp_path)
    assert states(tmp_path / "out") == {"a": "done", "b": "done"}


def test_a_resumed_case_has_the_sweeps_of_all_parts_of_its_steps(tmp_path):
    """As the same case without a stop: a tolerance divides its steps."""
    base = BASE.replace("steps: 4}", "method: implicit, tolerance: 1e-3, dt: 100, steps: 4}").replace(
        "diagnostics: 2", "checkpoint: {final: true}")
    write_study(tmp_path, "  list: [{name: a}]\n", base)
    study(tmp_path)
    whole = rows(tmp_path / "out")["a"]["sweeps"]
    ran("run", "out/a/a.yaml", "problem.steps=2", "output.overwrite=true", cwd=tmp_path)
    first = record(tmp_path / "out/a")["performance"]["sweeps"]
    ran("run", "out/a/a.yaml", "--restart", "latest", cwd=tmp_path)
    restarted = record(tmp_path / "out/a")["continuation"]["restarted_from"]
    assert restarted["earlier_sweeps"] == first > restarted["sweep"] > 0
    study(tmp_path, "--collect")
    assert rows(tmp_path / "out")["a"]["sweeps"] == whole


def test_not_converged_is_an_answer(tmp_path):
    base = BASE.replace("{kind: transient, steps: 4}", "{kind: steady, max_sweeps: 5, check_interval: 5}")
    write_study(tmp_path, "  matrix: {problem.tolerance: [0.999, 1e-9]}\n", base)
    study(tmp_path, code=10)
    assert states(tmp_path / "out") == {"tolerance-0.999": "done", "tolerance-1e-9": "not converged"}
    assert "2 finished before, 0 to run" in study(tmp_path, "--retry", code=10).stdout


def test_changed_cases_are_replaced_only_on_request(tmp_path):
    write_study(tmp_path, "  list: [{name: a}, {name: b, precision: fp32}]\n")
    study(tmp_path)
    before = {name: started(tmp_path / "out" / name) for name in "ab"}
    write_study(tmp_path, "  list: [{name: a}, {name: b, precision: fp32, problem.steps: 6}]\n")
    table = rows(tmp_path / "out")
    for words in [], ["--collect"]:
        assert study(tmp_path, *words, code=73).stderr.startswith("'out/b': holds a run of another deck (problem.steps 4 -> 6); ")
    assert {name: started(tmp_path / "out" / name) for name in "ab"} == before and rows(tmp_path / "out") == table
    study(tmp_path, "output.overwrite=true")
    assert started(tmp_path / "out" / "a") == before["a"]
    assert rows(tmp_path / "out")["b"]["sweeps"] == "6"
    assert "(ranks 1 -> 2); correct study.launcher if" in study(tmp_path, "study.ranks=2", code=73).stderr
    newer = tmp_path / "out/b/deck.yaml"
    whole = newer.read_text()
    newer.write_text(whole.replace("solver:\n", "solver:\n  new_key: 1\n"))
    said = study(tmp_path, code=73).stderr
    assert "new_key: unknown key); use that isotherm" in said and "overwrite" not in said
    newer.write_text(whole)
    # The contents of decks decide, not the name of the folder.
    assert "2 finished before, 0 to run" in study(tmp_path, f"output.directory={tmp_path}/out").stdout


def test_jobs_run_at_once(tmp_path):
    """A launcher that starts its case only when two cases are waiting."""
    launcher = write_script(tmp_path / "both at once.sh", """#!/bin/sh
touch "there.$$"
tries=0
until [ "$(ls there.* | wc -l)" -ge 2 ]; do
  tries=$((tries + 1)); [ $tries -gt 600 ] && exit 9
  sleep 0.05
done
exec "$@"
""")
    write_study(tmp_path, f"  matrix: {{precision: [fp32, fp64]}}\n  ranks: 2\n  launcher: \"'{launcher}' {LAUNCHER}\"\n")
    study(tmp_path, "--jobs", "2")


def test_a_closed_pipe_ends_no_study(tmp_path):
    write_study(tmp_path, FOUR)
    reader, writer = os.pipe()
    os.close(reader)
    for words, code in (["study"], 0), (["study", "--dry-run"], 74):
        done = subprocess.run(command(*words, "deck.yaml"), cwd=tmp_path, stdout=writer, timeout=HANGS, check=False)
        assert done.returncode == code
    os.close(writer)
    assert set(states(tmp_path / "out").values()) == {"done"}


def test_jobs_share_the_cores(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        pytest.skip("one core")
    write_study(tmp_path, "  matrix: {precision: [fp32, fp64]}\n")
    study(tmp_path, "--jobs", "2")
    for name in folders(tmp_path / "out"):
        assert record(tmp_path / "out" / name)["ranks"][0]["threads"] == cores // 2


def test_a_case_that_this_machine_cannot_run_is_planned_for_and_refused(tmp_path):
    """The GPUs of the machine are hidden."""
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    write_study(tmp_path, "  matrix: {parallel.device: [cpu, cuda]}\n", BASE.replace("parallel: {device: cpu}\n", "").replace(
        "solver: {kernel: reference, reduction: reference}\n", ""))
    plan = ran("check", "deck.yaml", cwd=tmp_path, **hidden).stdout
    assert [line.split()[0] for line in plan.splitlines()] == ["study", "name", "device-cpu", "device-cuda"]
    done = study(tmp_path, **hidden, code=69)
    assert "parallel.device: " in done.stderr and done.stderr.endswith("[case device-cuda]\n")
    assert os.listdir(tmp_path) == ["deck.yaml"]


@pytest.mark.parametrize("sections, words, message", [  # test_study_deck.py and test_command_line.py test others
    ("study:\n  matrix: {output.slices: [[{position: 5}]]}\n", [], "12:40: output.slices.0.position: 5 m lies"),
    ("study:\n" + FOUR, ["--limit", "3"], "11:1: study.limit: 4 cases are more than 3; write --limit 4 "),
    ("", [], "1:1: study: is missing (the deck is of one run); ")])
def test_errors_are_reported_before_any_case_runs(tmp_path, sections, words, message):
    write_deck(tmp_path, BASE + sections)
    expect_rejected(tmp_path, isotherm("study", "deck.yaml", *words, cwd=tmp_path), 65, f"deck.yaml:{message}")


def test_the_remedy_is_given_if_a_launcher_refuses_root(tmp_path):
    """Uses Open MPI's message."""
    launcher = write_script(
        tmp_path / "mpirun", "#!/bin/bash\nprintf '%s\\n' -------- 'mpirun has detected an attempt to run as root.' '' "
        "'Running as root is *strongly* discouraged' >&2\nexit 1\n")
    write_study(tmp_path, f"  list: [{{name: a, ranks: 2}}]\n  launcher: {launcher} {{ranks}}\n")
    done = study(tmp_path, code=70)
    remedy = "the launcher starts no ranks for root; set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or be another user"
    assert re.search(rf"a: failed \(exit code 1\) after .*: {remedy}$", done.stdout + done.stderr, re.MULTILINE), done.stderr
    case = collected(tmp_path / "out")["cases"][0]
    assert (case["state"], case["exit_code"], case["message"], case["run"]) == ("failed", 1, remedy, None)
    assert json.loads((tmp_path / "out" / "a" / "case.json").read_text())["exit_code"] == 1


STRONG = BASE + f"study: {{launcher: \"{LAUNCHER}\"}}\nscaling: {{kind: strong, ranks: [2, 1], repeats: 2}}\n"
IN_TURNS = [f"ranks-{ranks}_run-{run}" for run in (1, 2) for ranks in (2, 1)]


@pytest.fixture(name="strong", scope="module")
def strong_study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strong")
    write_deck(folder, STRONG)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OMP_NUM_THREADS", raising=False)
        return folder, study(folder).stdout


def test_figures_follow_from_the_records_of_the_runs(strong):
    folder, out = strong
    runs = {name: record(folder / "out" / name) for name in folders(folder / "out")}
    assert sorted(runs) == sorted(IN_TURNS)
    assert list(rows(folder / "out")) == IN_TURNS, "in turns"
    one, two = (median_low(run["performance"]["step_s"] for run in runs.values() if len(run["ranks"]) == ranks)
                for ranks in (1, 2))
    series, = collected(folder / "out")["scaling"]["series"]
    assert [(row["ranks"], row["step_s"]) for row in series["rows"]] == [(1, one), (2, two)]
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
    threads = {rank["threads"] for run in runs.values() for rank in run["ranks"]}
    assert threads == {max(1, len(os.sched_getaffinity(0)) // 2)}, "a rank has as many on all counts"


def test_a_scaling_study_resumes_and_collects_as_any_study(strong):
    folder, _ = strong
    done = study(folder, "--jobs", "2")
    assert "4 cases, 4 finished before, 0 to run" in done.stdout and done.stderr.startswith("warning: --jobs 2: cases that run at once ")
    path = folder / "out" / IN_TURNS[0] / "run.json"
    text = path.read_text()
    run = json.loads(text)
    path.write_text(text.replace(run["fingerprint"], "0123456789abcdef"))
    try:
        done = study(folder, "--collect", code=76)
    finally:
        path.write_text(text)
    said = "2 different fingerprints of 17 x 13 x 15 cells (one problem has one answer on any ranks)"
    assert done.stderr.split(";")[0] == said and said in done.stdout


def test_a_failed_count_does_not_affect_the_others_and_a_failed_base_is_reported(tmp_path):
    launcher = write_script(tmp_path / "no_single.sh", f"#!/bin/sh\n[ $1 = 1 ] && exit 9\nexec {MPIEXEC} -n \"$@\"\n")
    write_deck(tmp_path, BASE + f"study: {{launcher: \"{launcher} {{ranks}}\"}}\nscaling: {{kind: weak, ranks: [1, 2]}}\n")
    done = study(tmp_path, code=9)
    assert done.stderr.startswith("1 of 2 cases failed ")
    assert "weak scaling, compared with none (ranks-1: failed)\n" in done.stdout
    table = re.findall(r"^ +[12] +17 x 13 x \d+ +(\d) +(.*)$", done.stdout, re.MULTILINE)
    assert [(runs, *figures.split()[1:3]) for runs, figures in table] == [("0", "-", "-"), ("1", "-", "-")]
    assert table[0][1].endswith(" ranks-1: failed")
    found = rows(tmp_path / "out")
    assert found["ranks-2"]["cells"] == "17 x 13 x 30" and float(found["ranks-2"]["step_s"]) > 0
    for row in found.values():
        assert (row["speedup"], row["efficiency_percent"], row["scaling_base"]) == ("", "", "none (ranks-1: failed)")


# Stops

# The second case takes seconds; a slice shows that it sweeps, long before history.csv is flushed.
SWEEPS = "long_slice_z1_00010000.hdf"
LONG = BASE.replace("diagnostics: 2", "diagnostics: 1000, slices: [{axis: z, cell: 1, every_steps: 10000}]").replace(
    "steps: 4", "steps: 4, check_interval: 1000")
CASES = "  list: [{name: short}, {name: long, problem.steps: 200000}, {name: after, precision: fp32}]\n"


def started_study(folder, name, *words):
    """A study one of whose cases has written this file."""
    job = Background(folder, "study", "deck.yaml", *words)
    job.wait_for(name)
    return job


def sweeping(folder):
    """A study whose second case is sweeping."""
    write_study(folder, CASES, LONG)
    return started_study(folder, f"long/{SWEEPS}")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The directory of the second case as an uninterrupted run."""
    return finished_run(tmp_path_factory.mktemp("whole"), LONG.replace("steps: 4,", "steps: 200000,"), "long", "output.directory=runs/long")


def expect_all_done_as_without_a_stop(folder, whole):
    """Only unfinished cases run again."""
    first = started(folder / "out" / "short")
    ran("study", "deck.yaml", cwd=folder)
    assert states(folder / "out") == {"short": "done", "long": "done", "after": "done"}
    assert started(folder / "out" / "short") == first
    assert record(folder / "out" / "long")["continuation"]["restarted_from"] is not None
    expect_same_answer(whole, folder / "out" / "long")
    assert rows(folder / "out")["long"]["sweeps"] == "200000"
    assert float(rows(folder / "out")["long"]["wall_s"]) > record(folder / "out" / "long")["phases_s"]["total"]["max"], "of both parts"


def test_a_study_that_is_started_at_once_waits_for_the_orphan(tmp_path, whole):
    """SIGTERM ends the orphan, which may still be writing its checkpoint; both must not write to one folder."""
    job = sweeping(tmp_path)
    os.kill(job.process.pid, signal.SIGKILL)
    job.process.wait()
    expect_all_done_as_without_a_stop(tmp_path, whole)
    job.end()


def test_after_kill_9_of_study_and_case(tmp_path):
    """No checkpoint: the case starts again."""
    job = sweeping(tmp_path)
    kill_all(job.process.pid)
    job.end()
    assert checkpoints(tmp_path / "out" / "long") == []
    ran("study", "deck.yaml", cwd=tmp_path)
    assert states(tmp_path / "out") == {"short": "done", "long": "done", "after": "done"}
    assert record(tmp_path / "out" / "long")["continuation"]["restarted_from"] is None


def test_a_case_that_is_killed_has_failed(tmp_path):
    """It neither ends the study nor counts as stopped: the next run might be killed for the same reason."""
    job = sweeping(tmp_path)
    case, = [pid for pid in ranks_of(job.process.pid) if pid != job.process.pid]
    os.kill(case, signal.SIGKILL)
    code, out, _ = job.end()
    assert code == 70
    assert "long: failed (signal 9) after" in out
    assert states(tmp_path / "out") == {"short": "done", "long": "failed", "after": "done"}
    ran("study", "deck.yaml", "--retry", cwd=tmp_path)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_directory_has_one_study_which_a_signal_stops_with_checkpoints(tmp_path, whole, name):
    job = sweeping(tmp_path)
    second = ran("study", "deck.yaml", cwd=tmp_path, code=73)
    assert f"cannot use 'out' as run directory (process {job.process.pid} on " in second.stderr
    out, err = job.stopped(getattr(signal, name))
    said = [line for line in err.splitlines() if not re.match("warning: .* is more than the 4 steps of the run; ", line)]
    assert said == [f"stopped by {name} with 1 of 3 cases finished; resume with: isotherm study deck.yaml"]
    assert f"{name}: 1 case still running; each stops with a checkpoint" in out
    assert states(tmp_path / "out") == {"short": "done", "long": "stopped", "after": "not started"}
    assert record(tmp_path / "out" / "long")["exit_code"] == 75
    expect_all_done_as_without_a_stop(tmp_path, whole)


def test_ranks_stop_with_checkpoints_too(tmp_path):
    """Through a launcher that kills them on SIGINT, as all launchers do sooner or later."""
    launcher = write_script(tmp_path / "impatient.sh", """#!/bin/sh
"$@" &
trap 'kill -KILL $!' INT TERM
trap : USR1
while kill -0 $! 2> /dev/null; do wait $!; code=$?; done
exit $code
""")
    write_study(tmp_path, f"  list: [{{name: long, problem.steps: 4000000, ranks: 2}}]\n  launcher: {launcher} {LAUNCHER}\n", LONG)
    job = started_study(tmp_path, f"long/{SWEEPS}")
    job.stopped(signal.SIGINT)
    assert states(tmp_path / "out") == {"long": "stopped"}
    assert len(checkpoints(tmp_path / "out" / "long")) == 1


def test_a_second_signal_ends_a_study_at_once(tmp_path):
    """A case that does not stop neither delays the study's end nor outlives the study."""
    launcher = write_script(tmp_path / "deaf.sh", "#!/bin/sh\ntrap '' INT USR1\n: > out/deaf/began\nexec sleep 10000\n")
    write_study(tmp_path, f"  list: [{{name: deaf, ranks: 2}}]\n  launcher: {launcher} {{ranks}}\n")
    job = started_study(tmp_path, "deaf/began")
    case, = [pid for pid in family_of(job.process.pid) if pid != job.process.pid]
    job.process.send_signal(signal.SIGINT)
    said = next(line for line in iter(job.process.stdout.readline, "") if "SIGINT" in line)
    time.sleep(0.6)  # within half a second it would count as the same Ctrl-C
    assert job.process.poll() is None and is_running(case)
    job.process.send_signal(signal.SIGINT)
    assert job.end()[0] == -signal.SIGINT
    assert "SIGINT: 1 case still running; each stops with a checkpoint" in said
    wait_until_gone(case)
    ran("study", "deck.yaml", f"study.launcher={LAUNCHER}", cwd=tmp_path)
    assert states(tmp_path / "out") == {"deaf": "done"}


def test_a_retry_that_is_stopped_before_its_run_began_is_resumed_as_a_retry(tmp_path):
    """Its run.json is that of the failed run, whose message must not be reported again."""
    launcher = write_script(tmp_path / "slow.sh", "#!/bin/sh\n: > out/grows/began\nexec sleep 10000\n")
    write_study(tmp_path, "  list: [{name: grows, ranks: 2, problem.dt: 10, problem.allow_unstable: true, problem.steps: 20000}]\n"
                          f"  launcher: {LAUNCHER}\n")
    ran("study", "deck.yaml", cwd=tmp_path, code=76)
    job = started_study(tmp_path, "grows/began", f"study.launcher={launcher} {{ranks}}", "--retry")
    out, err = job.stopped(signal.SIGTERM)
    assert err.endswith(" --retry\n") and "grows: stopped before it began" in out and "failed (" not in out, out + err


def test_a_launcher_that_stops_leaves_no_record(tmp_path):
    write_script(tmp_path / "leave", "#!/bin/sh\nexit 75\n")
    write_study(tmp_path, f"  launcher: {tmp_path}/leave {{ranks}}\n  list: [{{name: a, ranks: 2}}, {{name: b}}]\n")
    ran("study", "deck.yaml", cwd=tmp_path, code=75)
    assert states(tmp_path / "out")["b"] == "done"


def test_the_end_of_the_job_stops_a_study(tmp_path):
    """The message does not name solver.walltime, and no case starts after the one that was stopped."""
    write_study(tmp_path, "  list: [{name: long, problem.steps: 40000000}, {name: after}]\n", LONG)
    done = ran("study", "deck.yaml", cwd=tmp_path, code=75, SLURM_JOB_END_TIME=str(int(time.time()) + 2))
    assert "0 of 2 cases finished (stopped by the end of the Slurm job); resume with: " in done.stderr and " left\n" not in done.stdout
    assert states(tmp_path / "out") == {"long": "stopped", "after": "not started"}


def test_a_case_that_runs_is_running(tmp_path):
    """Started by --case, as Slurm tasks are, it does not lock the study, so that another call can collect meanwhile."""
    write_study(tmp_path, CASES, LONG)
    job = started_study(tmp_path, f"long/{SWEEPS}", "--case", "long")
    ran("study", "deck.yaml", "--collect", cwd=tmp_path, code=75)
    assert states(tmp_path / "out") == {"short": "not started", "long": "running", "after": "not started"}
    job.stopped(signal.SIGTERM)
    assert not (tmp_path / "out" / "long" / "run.lock").exists()


def test_a_case_that_was_stopped_and_then_fails_has_failed(tmp_path):
    """Its run.json is from the stopped run."""
    job = sweeping(tmp_path)
    job.stopped(signal.SIGTERM)
    kept = [tmp_path / "out" / "long" / name for name in checkpoints(tmp_path / "out" / "long")]
    assert len(kept) == 1
    kept[0].write_bytes(b"no checkpoint")
    ran("study", "deck.yaml", "--case", "long", cwd=tmp_path, code=65)
    ran("study", "deck.yaml", "--collect", cwd=tmp_path, code=65)
    row = rows(tmp_path / "out")["long"]
    assert row["state"] == "failed" and "checkpoint" in row["message"] and "SIGTERM" not in row["message"]
