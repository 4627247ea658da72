"""`isotherm compare`: all combinations have the same bits, the table and the JSON say what was measured, the winner is kept for runs;
`isotherm baseline` says what got worse. Times are read, never judged."""

import itertools
import json
import os
import re
import statistics
import subprocess
import sys

import pytest

from program import expect_rejected, isotherm, write_deck

DECK = """\
grid: {cells: [11, 16, 20], lengths: [0.11, 0.16, 0.2]}
material: {diffusivity: 1.0e-5}
boundaries:
  x_min: {kind: temperature, value: "300 + 10*y"}
initial:
  - {shape: formula, formula: "300 + 50*x + 7*y + 3*z*z"}
problem: {kind: transient, steps: 40, check_interval: 2}
parallel: {device: cpu}
"""
QUICK = ["--sweeps", 40, "--seconds", 0.001, "--launcher", f"{os.environ.get('MPIEXEC', 'mpirun')} -n {{ranks}}"]
SUMS = ["problem={kind: steady, norm: l2, max_sweeps: 40, check_interval: 2}"]


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, DECK)
    return tmp_path


def compare(folder, *words, ranks=1, code=0):
    """What was printed, and the JSON."""
    done = isotherm("compare", "deck.yaml", *QUICK, "--json", "compare.json", "--ranks", ranks, *words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done, json.loads((folder / "compare.json").read_text())


def settings(record):
    return {tuple(entry["settings"].values()) for entry in record["entries"]}


def check_record(done, record):
    """Each figure again from those that it follows from; the table has the same order."""
    assert (record["schema"], record["schema_version"]) == ("isotherm-compare", 2)
    assert record["result"] == "PASS" and record["not_finite"] == {}
    entries = record["entries"]
    assert {entry["verdict"] for entry in entries} == {"same"}
    assert len({entry["fingerprint"] for entry in entries}) == 1
    medians = [entry["sweep_s"]["median"] for entry in entries]
    assert medians == sorted(medians)
    for entry in entries:
        whole, times = entry["samples"]["sweep_s"], entry["sweep_s"]
        assert len(whole) >= 5 and min(whole) > 0
        assert times["median"] == pytest.approx(statistics.median(whole)) and times["min"] <= times["p10"] <= times["p90"] <= times["max"]
        assert (times["min"], times["max"]) == (pytest.approx(min(whole)), pytest.approx(max(whole)))
        assert entry["points_per_s"] == pytest.approx(11 * 16 * 20 / times["median"])
        assert entry["effective_bandwidth_bytes_per_s"] == pytest.approx(16 / entry["method"]["time_block"] * entry["points_per_s"])
        share = entry["effective_bandwidth_bytes_per_s"] / entry["copy_bandwidth_bytes_per_s"]
        assert entry["copy_bandwidth_share_percent"] == pytest.approx(100 * share)
    near = [entry for entry in entries[1:] if entry["sweep_s"]["p10"] <= entries[0]["sweep_s"]["p90"]]
    assert near == [entry for entry in entries if entry["within_noise"]]
    assert (f"\nno single fastest ({len(near)} other" if near else "\nthe fastest: ") in done.stdout
    lines = done.stdout[done.stdout.index("\n  rank  "):].splitlines()[2:2 + len(entries)]
    for place, (line, entry) in enumerate(zip(lines, entries), 1):
        words = line.split()
        assert words[0] == str(place) and words[1:1 + len(entry["settings"])] == list(entry["settings"].values())
        assert ", within noise of the first" in line if entry["within_noise"] else line.split("same")[1] in ("", " (the others' reference)")


def test_one_rank_compares_kernels_and_reductions(folder):
    done, record = compare(folder)
    check_record(done, record)
    assert settings(record) == set(itertools.product(["reference", "openmp", "temporal_openmp"], ["openmp", "fused"]))
    assert record["reference"] == "kernel=reference reduction=openmp"
    assert [axis["key"] for axis in record["axes"]] == ["solver.kernel", "solver.reduction"]
    assert {entry["halo_exposed_s"] for entry in record["entries"]} == {None}
    for entry in record["entries"]:
        assert [entry["method"]["kernel"], entry["method"]["reduction"]] == list(entry["settings"].values())
    best = record["entries"][0]["settings"]
    assert (f": isotherm run deck.yaml solver.kernel={best['solver.kernel']} "
            f"solver.reduction={best['solver.reduction']}\n") in done.stdout
    assert sorted(os.listdir(folder)) == ["compare.json", "deck.yaml"]


@pytest.mark.parametrize("ranks, axes, count", [(2, "kernel,process_grid", 3 * 3), (4, "halo_width,process_grid", 2 * 6)])
def test_ranks_compare_depths_and_process_grids(folder, ranks, axes, count):
    done, record = compare(folder, "--axes", axes, ranks=ranks)
    check_record(done, record)
    assert len(record["entries"]) == len(settings(record)) == count
    assert f" -n {ranks} isotherm run deck.yaml " in done.stdout
    for entry in record["entries"]:
        method = entry["method"]
        assert method["halo_width"] == int(entry["settings"].get("solver.halo_width", method["halo_width"]))
        assert method["process_grid"] == json.loads(entry["settings"]["parallel.process_grid"])
        assert method["transport"] == "host"
        assert 0 <= entry["halo_exposed_s"] and 0 < entry["halo_exchange_s"]
    assert [rank["rank"] for rank in record["ranks"]] == list(range(ranks))
    assert "halo exposed" in done.stdout


def test_overlap_and_all_reductions_of_a_sum(folder):
    """The last digits of sums may differ, and no more than that."""
    done, record = compare(folder, "--axes", "overlap,reduction", *SUMS, ranks=2)
    check_record(done, record)
    assert settings(record) == set(itertools.product(["false", "true"], ["reference", "openmp", "reproducible", "fused"]))
    norms = [entry["norm_K"] for entry in record["entries"]]
    assert max(norms) == pytest.approx(min(norms), rel=1e-12)
    assert len({entry["norm_K"] for entry in record["entries"] if entry["method"]["reduction"] == "reproducible"}) == 1
    assert {(entry["settings"]["parallel.overlap"], entry["method"]["overlap"]) for entry in record["entries"]} == {
        ("false", "off"), ("true", "on")}


def test_what_is_named_is_pinned_unless_it_is_asked_for(folder):
    _, record = compare(folder, "solver.kernel=openmp")
    assert settings(record) == {("openmp",), ("fused",)}
    assert {entry["method"]["kernel"] for entry in record["entries"]} == {"openmp"}
    done, record = compare(folder, "solver.kernel=openmp", "--axes", "kernel")
    assert settings(record) == {("reference",), ("openmp",), ("temporal_openmp",)}
    assert done.stdout.count("solver.kernel=") == 1  # of the fastest: the override makes way
    _, record = compare(folder, "--axes", "kernel,tile")
    assert ("reference", "auto") in settings(record) and len(record["entries"]) == 7
    _, record = compare(folder, "solver.kernel=temporal_openmp", "--axes", "time_block")
    assert {(entry["settings"]["solver.time_block"], entry["method"]["time_block"]) for entry in record["entries"]} == {("1", 1), ("2", 2)}


def test_a_deck_within_a_file(folder):
    assert isotherm("run", "deck.yaml", cwd=folder).returncode == 0
    (folder / "deck.yaml").rename(folder / "gone")
    words = ["--from", "runs/deck/deck_00000040.hdf", "problem.check_interval=4"]
    done = isotherm("compare", *QUICK, *words, "--json", "compare.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert ": isotherm run --from runs/deck/deck_00000040.hdf problem.check_interval=4 solver.kernel=" in done.stdout
    assert json.loads((folder / "compare.json").read_text())["check_interval"] == 4


def test_an_end_time_and_lagged_checks(folder):
    """The steps of the deck, however few of them are run, and no time of a check that was told late."""
    done, record = compare(folder, "problem={kind: transient, end_time: 100, check_interval: 4, check: asynchronous}", "--axes", "kernel")
    check_record(done, record)
    assert (record["sweeps_per_sample"], record["check_interval"]) == (40, 4)


# As isotherm, but runs of one kernel begin with a cell that is warmer.
WRONG = """#!/bin/bash
if [[ $1 == run ]] && grep -q "kernel: openmp" "$2"; then
  set -- "$@" 'initial=[{{shape: formula, formula: "300 + 50*x + 7*y + 3*z*z"}}, {{shape: box, from: [0, 0, 0], to: [0.01, 0.01, 0.01],
                         value: 301}}]'
fi
exec {program} "$@"
"""


def test_other_bits_are_found_and_have_no_time(folder, tmp_path_factory):
    program = tmp_path_factory.mktemp("bin") / "isotherm"
    program.write_text(WRONG.format(program=os.environ["ISOTHERM"]))
    program.chmod(0o755)
    words = ["compare", "deck.yaml", *map(str, QUICK), "--axes", "kernel", "--json", "compare.json"]
    done = subprocess.run([sys.executable, "-m", "isotherm_tools", *words], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "ISOTHERM_PROGRAM": str(program)})
    assert (done.returncode, done.stderr) == (76, "compare: 1 of 3 combinations have other bits than 'kernel=reference' (the table says "
                                                  "where); do not use them, and report this\n")
    record = json.loads((folder / "compare.json").read_text())
    assert record["result"] == "FAIL" and [entry["verdict"] for entry in record["entries"]] == ["same", "same", "differs"]
    wrong = record["entries"][2]
    value = r"30\d\.\d+"
    assert re.fullmatch(rf"[\d ]+ of 3 520 cells; the first, \(0, 0, 0\), is {value} and should be {value}", wrong["note"]), wrong["note"]
    assert wrong["sweep_s"] is None and f"DIFFER: {wrong['note']}\n" in done.stdout
    assert sorted(os.listdir(folder)) == ["compare.json", "deck.yaml"]


def test_too_many(folder):
    done, record = compare(folder, "--limit", 3)
    assert settings(record) == {("reference",), ("openmp",), ("temporal_openmp",)} and record["left_to_the_deck"] == ["reduction"]
    assert "left to the deck, as they would be too many: reduction; see --axes and --limit\n" in done.stdout
    (folder / "compare.json").unlink()
    done = isotherm("compare", "deck.yaml", "--axes", "kernel,reduction", "--limit", 7, cwd=folder)
    expect_rejected(folder, done, 2, "compare: kernel (3) x reduction (4) have more than 7 legal combinations; name fewer "
                                    "with --axes, give one a value such as solver.reduction=reference, or raise --limit")


REFUSED = [
    (["--axes", "size"], 2, "isotherm: compare: --axes: there is no axis 'size'; use some of kernel, tile, transport, "
                            "overlap, halo_width, time_block, process_grid, cuda_graph, reduction"),
    (["--limit", "0"], 2, "isotherm: argument --limit: '0' is no number from 1 to 100000; see isotherm compare --help"),
    (["--tolerance", "5"], 2, "isotherm: --tolerance requires --baseline; see isotherm compare --help"),
    (["--tolerance", "-1", "--baseline", "b"], 2,
     "isotherm: argument --tolerance: '-1' is no number from 0 to 1000; see isotherm compare --help"),
    (["--json", "no/such/c.json"], 73, None),
    (["--keep", "deck.yaml"], 65, "'deck.yaml' is no tuning file (Expecting value: line 1 column 1 (char 0)); name another with --keep, or "
                                  "remove it"),
    (["--baseline", "gone.json"], 66, "gone.json does not exist; name the run.json of a run that came to its end, or what isotherm compare "
                                      "--json or isotherm bench --json has written"),
    (["--baseline", "deck.yaml"], 65, None),
    (["grid.cells=0"], 65, None),
    (["parallel.transport=mock", "output.snapshots=false", "output.history=false"], 65,
     "argument 3: parallel.transport: transport 'mock' moves nothing (there are no bits to compare); use auto, or another "
     "of isotherm list"),
    (["solver.cuda_graph=true"], 65, "argument 3: solver.cuda_graph: sweeps cannot be queued as graphs here (only GPUs have graphs); use auto"),
    (["parallel.overlap=in_kernel"], 65, "argument 3: parallel.overlap: only kernels of GPUs store faces; use auto"),
    (['study={matrix: {grid.cells: [8, 9]}}'], 65, "deck.yaml: the deck is of several cases, not of one run; isotherm study runs them, and "
                                                   "compare a deck without study and scaling"),
]


@pytest.mark.parametrize("words, code, line", REFUSED)
def test_refused_before_work(folder, words, code, line):
    done = isotherm("compare", "deck.yaml", *words, cwd=folder)
    expect_rejected(folder, done, code, line or done.stderr.splitlines()[0])


def test_ranks_that_a_launcher_started_are_refused(folder):
    done = isotherm("compare", "deck.yaml", "--axes", "kernel", "grid.cells=[11, 16, 20]", ranks=2, cwd=folder)
    expect_rejected(folder, done, 2, "isotherm: compare starts its ranks itself; write: isotherm compare --ranks 2 deck.yaml --axes kernel "
                                    "'grid.cells=[11, 16, 20]'")


def test_what_can_run_nowhere_is_told(folder):
    done = isotherm("compare", "deck.yaml", *QUICK, "--axes", "kernel", "--ranks", 3, "--launcher", "no_launcher -n {ranks}", cwd=folder)
    assert (done.returncode, os.listdir(folder)) == (69, ["deck.yaml"])
    assert done.stderr == ("compare: no combination could be run; the first: cannot start 'no_launcher' (No such file or directory); "
                           "install it, or name another\n")


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_winner_is_kept_for_runs(folder, ranks):
    axes = ["--axes", "kernel,halo_width" if ranks > 1 else "kernel,reduction"]
    done, record = compare(folder, *axes, "--keep", "tuning.json", ranks=ranks)
    entry, = json.loads((folder / "tuning.json").read_text())["entries"]
    assert re.search("^kept in tuning.json: kernel (?:temporal_)?openmp ", done.stdout, re.MULTILINE)
    run = isotherm("run", "deck.yaml", "solver.tuning_file=tuning.json", ranks=ranks if ranks > 1 else 0, cwd=folder)
    assert run.returncode == 0, run.stderr
    method = json.loads((folder / "runs/deck/run.json").read_text())["method"]
    assert method["tuning"]["source"] == "file" and method["tuning"]["file"] == "tuning.json"
    taken = entry["choice"]
    assert (method["kernel"], method["tile"] or "-", method["halo_width"]) == (taken["kernel"], taken["tile"], taken["halo_width"])
    assert (method["kernel"], method["reduction"]) in [(each["method"]["kernel"], each["method"]["reduction"]) for each in record["entries"]]


def doctored(folder, name, time_factor):
    """A baseline of a machine so many times as slow."""
    record = json.loads((folder / name).read_text())
    for merit in record["figures_of_merit"].values():
        faster = merit["better"] == "higher"
        merit["value"] *= 1 / time_factor if faster else time_factor
        if merit["unit"] == "%":  # compared by points
            merit["value"] = 1e6 if faster == (time_factor < 1) else -1e6
    (folder / "baseline.json").write_text(json.dumps(record))
    return record


def check_verdict(stdout, verdict, worse, tolerance):
    assert (verdict["file"], verdict["tolerance_percent"]) == ("baseline.json", tolerance)
    figures = verdict["figures"]
    assert verdict["gone"] == [] and {figure["verdict"] for figure in figures} == {"worse" if worse else "better"}
    assert verdict["worse"] == (len(figures) if worse else 0)
    assert all(f"\n  {figure['name']} " in stdout for figure in figures)


def count_text(count, worse, tolerance):
    return (f"against baseline.json: {count if worse else 0} of {count} figures worse by more than {tolerance} %, "
            f"{0 if worse else count} better, 0 within it\n")


def worse_text(count, tolerance):
    return (f"{count} of {count} figures of merit got worse than in 'baseline.json' by more than {tolerance} %; look at the table for "
            "which, or allow more with --tolerance\n")


@pytest.mark.parametrize("worse", [True, False])
def test_a_baseline_of_a_comparison(folder, worse):
    _, first = compare(folder, "--axes", "kernel")
    doctored(folder, "compare.json", 1e-6 if worse else 1e6)
    done, record = compare(folder, "--axes", "kernel", "--baseline", "baseline.json", "--tolerance", 20, code=76 if worse else 0)
    assert record["result"] == ("FAIL" if worse else "PASS")
    assert {entry["fingerprint"] for entry in first["entries"]} == {entry["fingerprint"] for entry in record["entries"]}
    check_verdict(done.stdout, record["baseline"], worse, 20)
    count = len(record["figures_of_merit"])
    assert count_text(count, worse, 20) in done.stdout and done.stderr == (worse_text(count, 20) if worse else "")
    again = isotherm("baseline", "baseline.json", "compare.json", cwd=folder)
    assert (again.returncode, again.stderr) == ((76, worse_text(count, 5)) if worse else (0, ""))


@pytest.mark.parametrize("worse", [True, False])
def test_a_baseline_of_a_run(folder, worse):
    done = isotherm("run", "deck.yaml", "output.snapshots=false", cwd=folder)
    assert done.returncode == 0, done.stderr
    record = doctored(folder, "runs/deck/run.json", 1e-6 if worse else 1e6)
    assert "baseline" not in record
    count = len(record["figures_of_merit"])
    done = isotherm("baseline", "baseline.json", "runs/deck/run.json", "--tolerance", 20, cwd=folder)
    assert done.stdout.endswith(count_text(count, worse, 20))
    assert all(f"\n  {name} " in "\n" + done.stdout for name in record["figures_of_merit"])
    assert (done.returncode, done.stderr) == ((76, worse_text(count, 20)) if worse else (0, ""))


@pytest.mark.parametrize("words, file", [(["run", "deck.yaml"], "RUN_DIRECTORY/run.json"), (["bench", "stencil"], "LATER.json")])
def test_the_option_of_earlier_days_names_the_command(folder, words, file):
    for option in (["--baseline", "b.json"], ["--baseline=b.json", "--tolerance", "5"]):
        done = isotherm(*words, *option, cwd=folder)
        expect_rejected(folder, done, 2, f"isotherm: --baseline is a command now; write after the {words[0]}: isotherm baseline b.json "
                                        f"{file}")


def test_a_baseline_of_something_else_is_refused(folder):
    compare(folder, "solver.kernel=openmp", "solver.reduction=openmp")
    (folder / "compare.json").rename(folder / "baseline.json")
    record = json.loads((folder / "baseline.json").read_text())
    device = record["ranks"][0]["device"]
    begin = f"'baseline.json' is of 11 x 16 x 20 fp64 on 1 rank ({device}), and this is "
    end = (" (figures of the two say nothing of each other); name a baseline of this grid or subject, precision, number of ranks and "
           "device\n")
    for override, subject in [("grid.cells=[11,16,21]", "11 x 16 x 21 fp64 on 1 rank"), ("precision=fp32", "11 x 16 x 20 fp32 on 1 rank")]:
        done = isotherm("compare", "deck.yaml", override, "--baseline", "baseline.json", cwd=folder)
        assert (done.returncode, done.stderr) == (65, begin + subject + end)
    assert sorted(os.listdir(folder)) == ["baseline.json", "deck.yaml"]
    record["ranks"][0]["device"] = "Another CPU"
    (folder / "other.json").write_text(json.dumps(record))
    pinned = ["solver.kernel=openmp", "solver.reduction=openmp"]
    for words in (["compare", "deck.yaml", *QUICK, *pinned, "--baseline"], ["baseline", "baseline.json"]):
        done = isotherm(*words, "other.json", cwd=folder)
        assert done.returncode == 65 and " Another CPU" in done.stderr.replace("(", " ") and done.stderr.endswith(end)
    assert isotherm("run", "deck.yaml", cwd=folder).returncode == 0
    done = isotherm("baseline", "baseline.json", "runs/deck/run.json", cwd=folder)
    assert done.returncode == 65 and done.stderr.startswith("'baseline.json' has no figure of merit in common with this (")
    done = isotherm("compare", "deck.yaml", "--baseline", "runs/deck/run.json", cwd=folder)
    assert (done.returncode, done.stderr) == (
        65, "'runs/deck/run.json' is of no comparison; name what isotherm compare --json has written\n")
