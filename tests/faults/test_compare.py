"""`isotherm compare`: all combinations give the same bits, table and JSON show the measurements, the winner is stored for runs; `isotherm
baseline` reports what got worse. Tests read times, but do not judge them."""

import itertools
import json
import os
import re
import statistics
import sys

import pytest

from program import expect_rejected, finished, isotherm, LAUNCHER, listed, ran, SMALL_BLOCK, write_deck, write_script

DECK = SMALL_BLOCK.replace("[17, 13, 15]", "[11, 16, 20]") + """\
problem: {kind: transient, steps: 40, check_interval: 2}
parallel: {device: cpu}
"""
QUICK = ["--sweeps", 40, "--seconds", 0.001, "--launcher", LAUNCHER]
SUMS = ["problem={kind: steady, norm: l2, max_sweeps: 40, check_interval: 2}"]


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, DECK)
    return tmp_path


LECTURES = [name for name in listed("kernels")[1] if name != "reference"]  # which return no norm of their update


def compare(folder, *words, ranks=1, code=0, bytes_per_cell=16):
    """The finished process, and the JSON, whose figures are checked."""
    done = ran("compare", "deck.yaml", *QUICK, "--json", "compare.json", "--ranks", ranks, *words, cwd=folder, code=code)
    record = json.loads((folder / "compare.json").read_text())
    if code == 0:
        check_record(done, record, bytes_per_cell)
    return done, record


def settings(record):
    return {tuple(entry["settings"].values()) for entry in record["entries"]}


def check_record(done, record, bytes_per_cell):
    """Recomputes derived figures; the table has the same order. test_compare_parts.py tests ranges, and which are within noise."""
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
        assert [times[key] for key in ("min", "median", "max")] == pytest.approx([min(whole), statistics.median(whole), max(whole)])
        assert times["min"] <= times["p10"] <= times["p90"] <= times["max"]
        assert entry["points_per_s"] == pytest.approx(11 * 16 * 20 / times["median"])
        assert entry["effective_bandwidth_bytes_per_s"] == pytest.approx(bytes_per_cell / entry["method"]["time_block"] * entry["points_per_s"])
        share = entry["effective_bandwidth_bytes_per_s"] / entry["copy_bandwidth_bytes_per_s"]
        assert entry["copy_bandwidth_share_percent"] == pytest.approx(100 * share)
    near = [entry for entry in entries if entry["within_noise"]]
    assert (f"\nno single fastest ({len(near)} other" if near else "\nthe fastest: ") in done.stdout
    lines = done.stdout[done.stdout.index("\n  rank  "):].splitlines()[2:2 + len(entries)]
    for place, (line, entry) in enumerate(zip(lines, entries), 1):
        words = line.split()
        assert words[0] == str(place) and words[1:1 + len(entry["settings"])] == list(entry["settings"].values())
        assert ", within noise of the first" in line if entry["within_noise"] else line.split("same")[1] in ("", " (the reference)")


def test_a_deck_that_starts_from_its_exact_solution(folder):
    compare(folder, "initial=[{shape: exact}]", "verify={solution: formula, formula: 300 + x, tolerance: 1e-9}")


def test_one_rank_compares_kernels_and_reductions(folder):
    done, record = compare(folder)
    assert settings(record) == set(itertools.product(LECTURES, ["openmp"])) | set(
        itertools.product(["reference", "openmp", "temporal_openmp"], ["openmp", "fused"]))
    assert record["reference"] == "kernel=reference reduction=openmp"
    assert [axis["key"] for axis in record["axes"]] == ["solver.kernel", "solver.reduction"]
    assert {entry["halo_exposed_s"] for entry in record["entries"]} == {None}
    for entry in record["entries"]:
        assert [entry["method"]["kernel"], entry["method"]["reduction"]] == list(entry["settings"].values())
    best = record["entries"][0]["settings"]
    assert (f": isotherm run deck.yaml solver.kernel={best['solver.kernel']} "
            f"solver.reduction={best['solver.reduction']}\n") in done.stdout
    assert sorted(os.listdir(folder)) == ["compare.json", "deck.yaml"]


@pytest.mark.parametrize("ranks, axes, count", [(4, "process_grid", 6), (3, "halo_width,process_grid", 2 * 3)])
def test_ranks_compare_halo_widths_and_process_grids(folder, ranks, axes, count):
    done, record = compare(folder, "--axes", axes, "solver.kernel=openmp", ranks=ranks)
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
    """Sums may differ in their last digits only."""
    _, record = compare(folder, "--axes", "reduction", *SUMS)
    assert settings(record) == {("reference",), ("openmp",), ("reproducible",), ("fused",)}
    norms = [entry["norm_K"] for entry in record["entries"]]
    assert max(norms) == pytest.approx(min(norms), rel=1e-12)
    _, record = compare(folder, "--axes", "overlap", "solver.reduction=reproducible", *SUMS, ranks=2)
    assert len({entry["norm_K"] for entry in record["entries"]}) == 1
    assert {(entry["settings"]["parallel.overlap"], entry["method"]["overlap"]) for entry in record["entries"]} == {
        ("false", "off"), ("true", "on")}


def test_settings_of_the_deck_are_fixed_unless_they_are_requested_as_axes(folder):
    _, record = compare(folder, "solver.kernel=openmp")
    assert settings(record) == {("openmp",), ("fused",)}
    assert {entry["method"]["kernel"] for entry in record["entries"]} == {"openmp"}
    done, record = compare(folder, "solver.kernel=openmp", "--axes", "kernel,tile")
    assert ("reference", "auto") in settings(record) and len(record["entries"]) == 7 + len(LECTURES)
    assert done.stdout.count("solver.kernel=") == 1  # the fastest kernel; it replaces the override
    _, record = compare(folder, "solver.kernel=temporal_openmp", "--axes", "time_block")
    assert {(entry["settings"]["solver.time_block"], entry["method"]["time_block"]) for entry in record["entries"]} == {("1", 1), ("2", 2)}


def test_a_deck_within_a_file(folder):
    ran("run", "deck.yaml", cwd=folder)
    (folder / "deck.yaml").rename(folder / "gone")
    words = ["--from", "runs/deck/deck_00000040.hdf", "problem.check_interval=4"]
    done = ran("compare", *QUICK, *words, "--axes", "kernel", "--json", "compare.json", cwd=folder)
    assert ": isotherm run --from runs/deck/deck_00000040.hdf problem.check_interval=4 solver.kernel=" in done.stdout
    assert json.loads((folder / "compare.json").read_text())["check_interval"] == 4


def test_an_end_time_and_asynchronous_checks(folder):
    """Time steps are those of the whole deck, even if few are run; the wait for asynchronous checks is not timed."""
    _, record = compare(folder, "problem={kind: transient, end_time: 100, check_interval: 4, check: asynchronous}", "--axes", "kernel")
    assert (record["sweeps_per_sample"], record["check_interval"]) == (40, 4)


@pytest.mark.parametrize("words", [["problem={kind: steady}", "precision=mixed"],
                                   ["problem={kind: steady}", "material={default: a}", "materials={a: {conductivity: 1}, b: {conductivity: 30}}",
                                    "regions=[{layers: [{material: b, thickness: 0.08}], axis: x}]"],
                                   ["problem={method: implicit, scheme: sdirk2, tolerance: 0.1, end_time: 100}", "precision=mixed"]])
def test_decks_of_cycles_are_compared_by_their_sweeps(folder, words):
    done, record = compare(folder, *words, "--axes", "kernel", bytes_per_cell=17 if "regions" in words[-1] else 16)
    method = "implicit" if "implicit" in words[0] else "multigrid"
    assert f"\n  measures sweeps of {record['measured']['method']} in fp64; the deck has {method} in " in done.stdout


# Like isotherm, but runs of one kernel start with one cell that is warmer.
WRONG = """#!/bin/bash
if [[ $1 == run ]] && grep -q "kernel: openmp" "$2"; then
  set -- "$@" 'initial=[{{shape: formula, formula: "300 + 50*x + 7*y + 3*z*z"}}, {{shape: box, from: [0, 0, 0], to: [0.02, 0.02, 0.03],
                         value: 301}}]'
fi
exec {program} "$@"
"""


def test_other_bits_are_found_and_have_no_time(folder, tmp_path_factory):
    program = write_script(tmp_path_factory.mktemp("bin") / "isotherm", WRONG.format(program=os.environ["ISOTHERM"]))
    words = ["compare", "deck.yaml", *QUICK, "--axes", "kernel", "--json", "compare.json"]
    done = finished([sys.executable, "-m", "isotherm_tools", *words], 76, cwd=folder, env={**os.environ, "ISOTHERM_PROGRAM": str(program)})
    assert done.stderr.startswith("compare: 1 of 6 combinations have other bits than 'kernel=reference' ")
    record = json.loads((folder / "compare.json").read_text())
    assert record["result"] == "FAIL" and [entry["verdict"] for entry in record["entries"]] == ["same"] * 5 + ["differs"]
    wrong = record["entries"][-1]
    value = r"30\d\.\d+"
    assert re.fullmatch(rf"[\d ]+ of 3 520 cells; the first, \(0, 0, 0\), is {value} and should be {value}", wrong["note"]), wrong["note"]
    assert wrong["sweep_s"] is None and f"DIFFER: {wrong['note']}\n" in done.stdout
    assert sorted(os.listdir(folder)) == ["compare.json", "deck.yaml"]


def test_too_many_combinations(folder):
    done, record = compare(folder, "--limit", 6)
    assert settings(record) == {(kernel,) for kernel in ["reference", *LECTURES, "openmp", "temporal_openmp"]} and record["left_to_the_deck"] == ["reduction"]
    assert "not varied, as there would be too many combinations: reduction; see --axes and --limit\n" in done.stdout
    (folder / "compare.json").unlink()
    done = isotherm("compare", "deck.yaml", "--axes", "kernel,reduction", "--limit", 7, cwd=folder)
    expect_rejected(folder, done, 2, "compare: kernel (6) x reduction (4) have more than 7 legal combinations; ")


@pytest.mark.parametrize("words, code, line", [
    (["--axes", "size"], 2, "isotherm: compare: --axes: there is no axis 'size'; use some of kernel, tile, transport, "),
    (["--limit", "0"], 2, "isotherm: argument --limit: '0' is no number from 1 to 100000; see isotherm compare --help"),
    (["--tolerance", "5"], 2, "isotherm: --tolerance requires --baseline; see isotherm compare --help"),
    (["--ranks", "2", "--launcher", "mpirun -n 2"], 2, "isotherm: --launcher: has no {ranks}"),
    (["--json", "no/such/c.json"], 73, None),
    (["--json", "./deck.yaml"], 2, "cannot write './deck.yaml' ("),
    (["--json", "."], 73, "cannot write '.' (Is a directory); name a file in it"),
    (["--keep", "."], 73, "cannot write '.' (Is a directory); name a file in it"),
    (["--keep", "deck.yaml"], 65, "'deck.yaml' is no tuning file ("),
    (["--baseline", "gone.json"], 66, "gone.json does not exist; name the run.json of a finished run"),
    (["--baseline", "deck.yaml"], 65, None),
    (["grid.cells=0"], 65, None),
    (["parallel.transport=mock", "output.snapshots=false", "output.history=false"], 65,
     "argument 3: parallel.transport: transport 'mock' moves nothing (there are no bits to compare); "),
    (["solver.cuda_graph=true"], 65, "argument 3: solver.cuda_graph: sweeps cannot be queued as graphs here (only GPUs have graphs); use auto"),
    (["parallel.overlap=in_kernel"], 65, "argument 3: parallel.overlap: only kernels of GPUs store faces; use auto"),
    (['study={matrix: {grid.cells: [8, 9]}}'], 65, "deck.yaml: the deck is of several cases, not of one run; isotherm study runs them")])
def test_refused_before_work(folder, words, code, line):
    done = isotherm("compare", "deck.yaml", *words, cwd=folder)
    expect_rejected(folder, done, code, line or done.stderr.splitlines()[0])


def test_ranks_that_a_launcher_started_are_refused(folder):
    done = isotherm("compare", "deck.yaml", "--axes", "kernel", "grid.cells=[11, 16, 20]", ranks=2, cwd=folder)
    expect_rejected(folder, done, 2, "isotherm: compare starts its ranks itself; write: isotherm compare --ranks 2 deck.yaml --axes kernel "
                                    "'grid.cells=[11, 16, 20]'")


def test_settings_that_cannot_run_are_reported(folder):
    done = isotherm("compare", "deck.yaml", *QUICK, "--axes", "kernel", "--ranks", 3, "--launcher", "no_launcher -n {ranks}", cwd=folder)
    assert (done.returncode, os.listdir(folder)) == (69, ["deck.yaml"])
    assert done.stderr.startswith("compare: no combination could be run; the first: cannot start 'no_launcher' ")


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_winner_is_kept_for_runs(folder, ranks):
    """The file is first of a later version, which is refused before any run, then of version 1, whose entries are dropped."""
    named = ["solver.kernel=openmp"] if ranks > 1 else []
    words = [*named, "--axes", "halo_width" if named else "kernel", "--keep", "tuning.json"]
    old = '{"schema": "isotherm-tuning", "version": %d, "entries": [{}]}'
    (folder / "tuning.json").write_text(old % 3)
    assert ran("compare", "deck.yaml", *words, cwd=folder, code=65).stdout == ""
    (folder / "tuning.json").write_text(old % 1)
    done, record = compare(folder, *words, ranks=ranks)
    entry, = json.loads((folder / "tuning.json").read_text())["entries"]
    assert re.search("^kept in tuning.json: kernel (?:temporal_)?openmp ", done.stdout, re.MULTILINE)
    ran("run", "deck.yaml", *named, "solver.tuning_file=tuning.json", ranks=ranks if ranks > 1 else 0, cwd=folder)
    method = json.loads((folder / "runs/deck/run.json").read_text())["method"]
    assert method["tuning"]["source"] == "file" and method["tuning"]["file"] == "tuning.json"
    taken = entry["choice"]
    assert (method["kernel"], method["tile"] or "-", method["halo_width"]) == (taken["kernel"], taken["tile"], taken["halo_width"])
    assert (method["kernel"], method["reduction"]) in [(each["method"]["kernel"], each["method"]["reduction"]) for each in record["entries"]]


def test_a_baseline_of_a_comparison(folder):
    """test_compare_parts.py tests which figures of merit got worse, and by how much."""
    words = ["solver.kernel=openmp", "--axes", "reduction"]
    _, first = compare(folder, *words)
    for worse in True, False:
        earlier = {name: {**merit, "value": 1e9 if worse == (merit["better"] == "higher") else -1e9}
                   for name, merit in first["figures_of_merit"].items()}
        (folder / "baseline.json").write_text(json.dumps({**first, "figures_of_merit": earlier}))
        done, record = compare(folder, *words, "--baseline", "baseline.json", "--tolerance", 20, code=76 if worse else 0)
        assert record["result"] == ("FAIL" if worse else "PASS")
        assert {entry["fingerprint"] for entry in first["entries"]} == {entry["fingerprint"] for entry in record["entries"]}
        verdict, count = record["baseline"], len(record["figures_of_merit"])
        assert (verdict["file"], verdict["tolerance_percent"], verdict["worse"]) == ("baseline.json", 20, count * worse)
        assert f"against baseline.json: {count * worse} of {count} figures worse by more than 20 %" in done.stdout
        assert done.stderr.startswith(f"{count} of {count} figures of merit got worse than in 'baseline.json' by more than 20 %" * worse)
        ran("baseline", "baseline.json", "compare.json", cwd=folder, code=76 * worse)


def test_a_baseline_of_something_else_is_refused(folder):
    pinned = ["solver.kernel=openmp", "solver.reduction=openmp"]
    compare(folder, *pinned)
    (folder / "compare.json").rename(folder / "baseline.json")
    record = json.loads((folder / "baseline.json").read_text())
    for override, subject in [("grid.cells=[11,16,21]", "11 x 16 x 21 fp64"), ("precision=fp32", "11 x 16 x 20 fp32")]:
        done = ran("compare", "deck.yaml", override, "--baseline", "baseline.json", cwd=folder, code=65)
        assert re.match(rf"'baseline.json' is of 11 x 16 x 20 fp64 by .*, and this is {subject} by ", done.stderr)
    assert sorted(os.listdir(folder)) == ["baseline.json", "deck.yaml"]
    record["ranks"][0]["device"] = "Another CPU"
    (folder / "other.json").write_text(json.dumps(record))
    done = ran("compare", "deck.yaml", *QUICK, *pinned, "--baseline", "other.json", cwd=folder, code=65)
    assert " (Another CPU" in done.stderr and done.stderr.count("\n") == 1
    ran("run", "deck.yaml", cwd=folder)
    done = ran("baseline", "baseline.json", "runs/deck/run.json", cwd=folder, code=65)
    assert done.stderr.startswith("'baseline.json' has no figure of merit in common with this (")
    done = ran("compare", "deck.yaml", "--baseline", "runs/deck/run.json", cwd=folder, code=65)
    assert done.stderr == "'runs/deck/run.json' is no record of a comparison; name a file that isotherm compare --json has written\n"
