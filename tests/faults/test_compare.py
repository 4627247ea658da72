"""`isotherm compare`: all combinations have the same bits, the table and the JSON say what was measured, the winner is
kept for runs, and a baseline says what got worse. Times are read, never judged."""

import itertools
import json
import os
import re
import statistics

import pytest

from program import expect_refused, isotherm, write_deck
import runs

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
QUICK = ["--sweeps", 4, "--seconds", 0.001]
SUMS = ["problem={kind: steady, norm: l2, max_sweeps: 40, check_interval: 2}"]


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, DECK)
    return tmp_path


def compare(folder, *words, ranks=0, code=0):
    """What was printed, and the JSON."""
    done = isotherm("compare", "deck.yaml", *QUICK, "--json", "compare.json", *words, ranks=ranks, cwd=folder)
    assert done.returncode == code, done.stderr
    return done, json.loads((folder / "compare.json").read_text())


def settings(record):
    return {tuple(entry["settings"].values()) for entry in record["entries"]}


def check_record(done, record):
    """Each figure again from those that it follows from; the table has the same order."""
    assert (record["schema"], record["schema_version"]) == ("isotherm-compare", 1)
    assert record["result"] == "PASS" and record["not_finite"] == {}
    entries = record["entries"]
    assert {entry["verdict"] for entry in entries} == {"same"}
    assert len({entry["fingerprint"] for entry in entries}) == 1
    medians = [entry["sweep_s"]["median"] for entry in entries]
    assert medians == sorted(medians)
    for entry in entries:
        samples = entry["samples"]
        assert len(samples["sweep_s"]) == len(samples["check_s"]) >= 5 and min(samples["sweep_s"]) > 0
        whole = [sweep + check / record["check_interval"] for sweep, check in zip(samples["sweep_s"], samples["check_s"])]
        times = entry["sweep_s"]
        assert times["median"] == pytest.approx(statistics.median(whole))
        assert (times["min"], times["max"]) == (pytest.approx(min(whole)), pytest.approx(max(whole)))
        assert entry["points_per_s"] == pytest.approx(11 * 16 * 20 / times["median"])
        assert entry["effective_bandwidth_bytes_per_s"] == pytest.approx(16 / entry["method"]["fused"] * entry["points_per_s"])
        share = entry["effective_bandwidth_bytes_per_s"] / entry["copy_bandwidth_bytes_per_s"]
        assert entry["copy_bandwidth_share_percent"] == pytest.approx(100 * share)
    lines = done.stdout[done.stdout.index("\n  rank  "):].splitlines()[2:2 + len(entries)]
    for place, (line, entry) in enumerate(zip(lines, entries), 1):
        words = line.split()
        assert words[0] == str(place) and words[1:1 + len(entry["settings"])] == list(entry["settings"].values())
        assert "same" in words


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
    assert (f"\nthe fastest: isotherm run deck.yaml solver.kernel={best['solver.kernel']} "
            f"solver.reduction={best['solver.reduction']}\n") in done.stdout
    assert sorted(os.listdir(folder)) == ["compare.json", "deck.yaml"]


@pytest.mark.parametrize("ranks, grids", [(2, 3), (4, 6)])
def test_ranks_compare_depths_and_process_grids(folder, ranks, grids):
    done, record = compare(folder, "--axes", "kernel,depth,process_grid", ranks=ranks)
    check_record(done, record)
    assert len(record["entries"]) == len(settings(record)) == 3 * 2 * grids
    for entry in record["entries"]:
        method = entry["method"]
        assert method["depth"] == int(entry["settings"]["solver.halo_width"])
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


def test_too_many(folder):
    done, record = compare(folder, "--limit", 3)
    assert settings(record) == {("reference",), ("openmp",), ("temporal_openmp",)} and record["left_to_the_deck"] == ["reduction"]
    assert "left to the deck, as they would be too many: reduction; see --axes and --limit\n" in done.stdout
    (folder / "compare.json").unlink()
    done = isotherm("compare", "deck.yaml", "--axes", "kernel,reduction", "--limit", 7, cwd=folder)
    expect_refused(folder, done, 2, "compare: kernel (3) x reduction (4) have more than 7 legal combinations; name fewer "
                                    "with --axes, give one a value such as solver.reduction=reference, or raise --limit")


REFUSED = [
    (["--axes", "size"], 2, "isotherm: compare: --axes: there is no axis 'size'; use some of kernel, policy, transport, "
                            "overlap, depth, process_grid, graph, reduction"),
    (["--limit", "0"], 2, "isotherm: --limit: '0' is no number from 1 to 100000; see isotherm --help"),
    (["--tolerance", "5"], 2, "isotherm: --tolerance requires --baseline; see isotherm --help"),
    (["--tolerance", "-1", "--baseline", "b"], 2,
     "isotherm: --tolerance: '-1' is no number from 0 to 1000; see isotherm --help"),
    (["--json", "no/such/c.json"], 73, None),
    (["--keep", "deck.yaml"], 65, "'deck.yaml' is no tuning file of this version (it is not JSON); name another in "
                                  "solver.tuning_file, or remove it"),
    (["--baseline", "gone.json"], 66, "the baseline 'gone.json' cannot be read (No such file or directory); name another "
                                      "with --baseline"),
    (["--baseline", "deck.yaml"], 65, None),
    (["grid.cells=0"], 65, None),
    (["parallel.transport=mock", "output.snapshots=false", "output.history=false"], 65,
     "argument 3: parallel.transport: transport 'mock' moves nothing (there are no bits to compare); use auto, or another "
     "of isotherm list"),
]


# On several ranks, what one of them finds.
@pytest.mark.parametrize("words, code, line, ranks", [(*case, 0) for case in REFUSED] + [
    (*case, 2) for case in REFUSED if case[1] in (66, 73)])
def test_refused_before_work(folder, words, code, line, ranks):
    done = isotherm("compare", "deck.yaml", *words, ranks=ranks, cwd=folder)
    expect_refused(folder, done, code, line or done.stderr.splitlines()[0])


def test_what_can_run_nowhere_is_told(folder):
    done, record = compare(folder, "solver.cuda_graph=true", code=65)
    assert {entry["verdict"] for entry in record["entries"]} == {"left_out"} and record["result"] == "FAIL"
    assert "only GPUs have graphs" in record["entries"][0]["note"]
    assert done.stderr == ("compare: no combination could be run; the first: argument 9: solver.cuda_graph: sweeps cannot be "
                           "queued as graphs here (only GPUs have graphs); use auto\n")
    assert "left out: " in done.stdout


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_winner_is_kept_for_runs(folder, ranks):
    """All depths and process grids that a run may settle on were compared, so it finds its own."""
    axes = ["--axes", "kernel,reduction" + (",depth,process_grid" if ranks > 1 else "")]
    done, record = compare(folder, *axes, "--keep", "tuning.json", ranks=ranks)
    entries = json.loads((folder / "tuning.json").read_text())["entries"]
    kept = re.findall("^kept in tuning.json: kernel (?:fused_)?openmp ", done.stdout, re.MULTILINE)
    assert len(entries) == (1 if ranks == 1 else 2 * 3) == len(kept)
    run = isotherm("run", "deck.yaml", "solver.tuning_file=tuning.json", ranks=ranks, cwd=folder)
    assert run.returncode == 0, run.stderr
    made = json.loads((folder / "runs/deck/run.json").read_text())
    method = made["method"]
    assert method["tuning"]["source"] == "file" and method["tuning"]["file"] == "tuning.json"

    def is_of_the_run(entry):
        taken = entry["method"]
        return ((taken["kernel"] == "openmp" or taken["kernel"] == "temporal_openmp" and taken["fused"] > 1)  # as `auto` may
                and taken["reduction"] in ("openmp", "fused")
                and taken["depth"] == method["depth"]
                and taken["process_grid"] == made["decomposition"]["process_grid"])
    best = next(filter(is_of_the_run, record["entries"]))["method"]
    assert (method["kernel"], method["policy"], method["reduction"]) == (best["kernel"], best["policy"], best["reduction"])


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


def check_verdict(done, record, worse, tolerance):
    verdict = record["baseline"]
    assert (verdict["file"], verdict["tolerance_percent"]) == ("baseline.json", tolerance)
    figures = verdict["figures"]
    assert len(figures) == len(record["figures_of_merit"]) and verdict["gone"] == []
    assert {figure["verdict"] for figure in figures} == {"worse" if worse else "better"}
    assert verdict["worse"] == (len(figures) if worse else 0)
    count = f"{len(figures)} figures"
    assert (f"against baseline.json: {verdict['worse']} of {count} worse by more than {tolerance} %, "
            f"{0 if worse else len(figures)} better, 0 within it\n") in done.stdout
    assert all(f"\n  {figure['name']} " in done.stdout for figure in figures)
    if worse:
        assert done.stderr == (f"{len(figures)} of {count} of merit got worse than in 'baseline.json' by more than "
                               f"{tolerance} %; look at the table for which, or allow more with --tolerance\n")


@pytest.mark.parametrize("worse", [True, False])
def test_a_baseline_of_a_comparison(folder, worse):
    _, first = compare(folder)
    doctored(folder, "compare.json", 1e-6 if worse else 1e6)
    done, record = compare(folder, "--baseline", "baseline.json", "--tolerance", 20, code=76 if worse else 0)
    assert record["result"] == ("FAIL" if worse else "PASS")
    assert {entry["fingerprint"] for entry in first["entries"]} == {entry["fingerprint"] for entry in record["entries"]}
    check_verdict(done, record, worse, 20)


@pytest.mark.parametrize("worse, ranks", [(True, 0), (False, 0), (True, 2)])
def test_a_baseline_of_a_run(folder, worse, ranks):
    words = ["run", "deck.yaml", "output.overwrite=true", "output.snapshots=false"]
    done = isotherm(*words, ranks=ranks, cwd=folder)
    assert done.returncode == 0, done.stderr
    first = doctored(folder, "runs/deck/run.json", 1e-6 if worse else 1e6)
    assert first["baseline"] is None
    done = isotherm(*words, "--baseline", "baseline.json", ranks=ranks, cwd=folder)
    assert done.returncode == (76 if worse else 0), done.stderr
    record = runs.record(folder / "runs/deck")
    assert record["exit_code"] == done.returncode and record["fingerprint"] == first["fingerprint"]
    assert "\nFOM time_per_step: " in done.stdout
    assert done.stdout.endswith("RESULT: FAILED\n" if worse else "RESULT: DONE\n")
    if ranks == 0:  # a launcher adds lines of its own
        check_verdict(done, record, worse, 5)


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_a_baseline_of_something_else_is_refused(folder, verb):
    compare(folder, "solver.kernel=openmp", "solver.reduction=openmp")
    (folder / "compare.json").rename(folder / "baseline.json")
    record = json.loads((folder / "baseline.json").read_text())
    device = record["ranks"][0]["device"]
    begin = f"'baseline.json' is of 11 x 16 x 20 fp64 on 1 rank ({device}), and this is "
    end = (" (figures of the two say nothing of each other); name a baseline of this grid, precision, number of ranks and "
           "device\n")
    for override, subject in [("grid.cells=[11,16,21]", f"11 x 16 x 21 fp64 on 1 rank ({device})"),
                              ("precision=fp32", f"11 x 16 x 20 fp32 on 1 rank ({device})")]:
        done = isotherm(verb, "deck.yaml", override, "--baseline", "baseline.json", cwd=folder)
        assert (done.returncode, done.stderr) == (65, begin + subject + end)
    record["ranks"][0]["device"] = "Another CPU"
    (folder / "baseline.json").write_text(json.dumps(record))
    done = isotherm(verb, "deck.yaml", "--baseline", "baseline.json", cwd=folder)
    assert (done.returncode, done.stderr) == (
        65, begin.replace(device, "Another CPU") + f"11 x 16 x 20 fp64 on 1 rank ({device})" + end)
    assert sorted(os.listdir(folder)) == ["baseline.json", "deck.yaml"]


def test_a_baseline_without_a_common_figure(folder):
    """Of another verb; the run is right all the same, and its figures stand in its record."""
    compare(folder, "solver.kernel=openmp")
    (folder / "compare.json").rename(folder / "baseline.json")
    done = isotherm("run", "deck.yaml", "--baseline", "baseline.json", cwd=folder)
    assert done.returncode == 65
    assert done.stderr.startswith("'baseline.json' has no figure of merit in common with this (")
    record = runs.record(folder / "runs/deck")
    assert record["fingerprint"] and record["figures_of_merit"] and record["baseline"]["figures"] == []
