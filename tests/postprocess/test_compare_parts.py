"""The parts of `isotherm compare` and `isotherm baseline` that need no program: cells that differ, norms, ranks, figures of merit."""

import json

import numpy as np
import pytest
from failures import expect_failure
from isotherm_tools import baseline, compare
from isotherm_tools.compare import field_difference
from runs import write_snapshot


def written(folder, name, kind, changes):
    """A field with changes: {(x, y, z): value}."""
    cells = np.arange(60, dtype=kind).reshape(5, 4, 3)  # z, y, x
    for (x, y, z), value in changes.items():
        cells[z, y, x] = value
    return write_snapshot(folder, cells, name=name)


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("one, other, difference", [
    ({}, {}, ""), ({(0, 1, 2): np.nan}, {(0, 1, 2): np.nan}, ""),
    ({}, {(2, 0, 4): 1, (0, 3, 1): 2.5, (1, 2, 3): 0}, "3 of 60 cells; the first, (0, 3, 1), is 2.5 and should be 21.0"),
    ({}, {(0, 0, 0): -0.0}, "1 of 60 cells; the first, (0, 0, 0), is -0.0 and should be 0.0"),
    ({}, {(0, 0, 0): np.nan}, "1 of 60 cells; the first, (0, 0, 0), is nan and should be 0.0")])
def test_cells_of_other_bits_are_counted_and_the_first_by_memory_is_named(tmp_path, kind, one, other, difference):
    assert field_difference(written(tmp_path, "a", kind, one), written(tmp_path, "b", kind, other)) == difference


def test_norms_agree_as_far_as_they_are_rounded():
    near = 1 + 100 * 2.0 ** -53
    assert compare.norms_agree(1.0, near, False, 1000) and not compare.norms_agree(1.0, near, True, 1000)
    assert not compare.norms_agree(1.0, 1 + 1e-9, False, 1000)
    assert compare.norms_agree(None, None, True, 1) and not compare.norms_agree(None, 1.0, False, 1)


def entry(name, *samples, verdict="same"):
    return compare.Entry(name, verdict=verdict, samples=list(samples))


def test_the_range_lies_within_the_samples():
    assert entry("equal", *[2.7625408450704225e-05] * 5).range == (2.7625408450704225e-05,) * 2
    assert entry("one", 3.0).range == (3.0, 3.0)
    assert entry("four", 1.0, 4.0, 2.0, 3.0).range == pytest.approx((1.3, 3.7))


def test_entries_are_within_noise_of_the_first_if_ranges_overlap():
    """The range excludes the lowest and the highest tenth: one outlier of eleven samples does not widen it."""
    entries = [entry("left", verdict="left_out"), entry("slow", *[9.0] * 11), entry("wrong", verdict="differs"),
               entry("near", 2.0, *[5.0] * 10), entry("close", *[3.9, 3.9, 3.9] + [4.5] * 8), entry("fast", *[3.0] * 9, 4.0, 4.0)]
    compare.rank(entries)
    assert [each.name for each in entries] == ["fast", "close", "near", "slow", "wrong", "left"]
    assert [each.name for each in entries if each.within_noise] == ["close"]


RUN = {"schema": "isotherm-run", "schema_version": 3, "exit_code": 0, "grid": {"cells": [8, 9, 10], "precision": "fp32"},
       "ranks": [{"device": "B", "backend": "cpu", "threads": 1}, {"device": "A", "backend": "cuda", "threads": 8}],
       "method": {"name": "euler"}, "figures_of_merit": {
           "speed": {"value": 10.0, "unit": "GPts/s", "better": "higher"}, "time": {"value": 2.0, "unit": "ms", "better": "lower"},
           "share": {"value": 80.0, "unit": "%", "better": "higher"}, "idle": {"value": 0.0, "unit": "ms", "better": "lower"}}}


def measured(folder, **changes):
    (folder / "run.json").write_text(json.dumps({**RUN, **changes}))
    return baseline.Measured(folder / "run.json")


def figures(**values):
    return {name: baseline.Figure(value, *list(RUN["figures_of_merit"][name].values())[1:]) for name, value in values.items()}


def test_figures_are_judged_in_their_direction(tmp_path):
    earlier = measured(tmp_path)
    assert earlier.subject == "8 x 9 x 10 fp32 by euler on 2 ranks (A, B with 1 thread)"
    assert baseline.Measured(tmp_path).path == earlier.path, "of a folder its run.json"
    verdict = baseline.Verdict(earlier, figures(speed=9.0, time=1.8, share=77.0, idle=0.0), 5)
    assert {name: round(change, 6) for name, (_, _, change) in verdict.changes.items()} == {"speed": 10, "time": -10, "share": 3, "idle": 0}
    assert (verdict.worse, verdict.better, verdict.gone) == (1, 1, [])
    assert verdict.text().split("\n")[1:3] == ["  speed            10.000 GPts/s  9.000 GPts/s   10.0 % worse",
                                              "  time                  2.000 ms      1.800 ms  10.0 % better"]
    assert verdict.changes["speed"][1].text(0.0012345) == "0.00123 GPts/s"
    expect_failure(76, "1 of 4 figures of merit got worse", verdict.raise_if_worse)


@pytest.mark.parametrize("changes", [{"method": {"name": "rkl"}}, {"ranks": [{**RUN["ranks"][0], "threads": 2}, RUN["ranks"][1]]}, {
    "schema": "isotherm-compare", "schema_version": 2, "method": None, "measured": {"method": "rkl"}}])
def test_another_method_or_number_of_threads_is_another_subject(tmp_path, changes):
    expect_failure(65, "their figures cannot be compared", baseline.check_subject, measured(tmp_path), measured(tmp_path, **changes).subject)


def test_early_comparisons_have_the_present_names(tmp_path):
    name = "kernel=fused_openmp policy=2rows overlap=in_sweep depth=2 graph=false reduction=fused: time_per_sweep"
    found = measured(tmp_path, schema="isotherm-compare", schema_version=1, method=None, deck={"resolved": "problem:\n  kind: steady\n"},
                     figures_of_merit={name: RUN["figures_of_merit"]["time"]})
    assert " by jacobi on " in found.subject and list(found.figures) == [
        "kernel=temporal_openmp tile=2rows overlap=in_kernel halo_width=2 cuda_graph=false reduction=fused: time_per_sweep"]


def test_missing_figures_are_gone_and_any_rise_from_zero_is_worse(tmp_path):
    verdict = baseline.Verdict(measured(tmp_path), figures(idle=1.0), 1000)
    assert (verdict.worse, verdict.gone) == (1, ["speed", "time", "share"])
    assert verdict.text().endswith("1 of 1 figure worse by more than 1000 %, 0 better, 0 within it; 3 figures of the baseline not "
                                   "measured now\n")


@pytest.mark.parametrize("changes, why", [
    ({"figures_of_merit": {}}, "it has no figures of merit"), ({"ranks": 3}, "it lacks "), ({"grid": {}}, "it lacks 'cells'"),
    ({"schema": "other"}, "its schema is not isotherm-run or isotherm-compare or isotherm-bench"),
    ({"schema_version": 9}, "has schema version 9")])
def test_no_baseline(tmp_path, changes, why):
    expect_failure(65, why, measured, tmp_path, **changes)


BENCH = {"schema": "isotherm-bench", "schema_version": 1, "subject": "stencil", "ranks": 2, "device": {"name": "A"},
         "options": {"boundaries": True, "source": False, "overlap": False, "norm": "l2", "op": None}}


def test_benchmarks_of_other_threads_are_other_subjects(tmp_path):
    """Early records have no threads."""
    entries = [{"precision": "fp64", "cells": [8, 8, 8], "method": "multigrid", "solve_s": {"median": 2e-3}}]
    early, one, same, two = (measured(tmp_path, **{**BENCH, "device": {"name": "A", **threads}}, entries=entries) for threads in (
        {}, {"threads": "1 thread (OMP_NUM_THREADS)"}, {"threads": "1 thread (a core)"}, {"threads": "2 threads (2 cores)"}))
    for earlier, later in ((early, one), (one, early), (one, same)):
        baseline.check_subject(earlier, later.subject, later.parts)
    expect_failure(65, "(A with 1 thread), and this is", baseline.check_subject, one, two.subject, two.parts)


@pytest.mark.parametrize("subject, old, name", [("stencil", "fused", "temporal"), ("reduction", "fused", "fused")])
def test_the_entries_of_a_benchmark(tmp_path, subject, old, name):
    grid = {"precision": "fp64", "cells": [8, 8, 8]}
    row = {**grid, "kernel": "copy", "tile": "-", "time_block": 1, "verdict": "right", "points_per_s": None, "bandwidth_bytes_per_s": 5e9,
           "copy_bandwidth_share_percent": None}
    exchange = {**grid, "transport": "host", "face": "x-", "ghosts": 2, "verdict": "right", "exchange_s": {"median": 3e-6},
                "latency_s": None}
    entries = [row, {**row, "kernel": old, "tile": "tiles", "time_block": 4, "points_per_s": 2e9, "copy_bandwidth_share_percent": 90.0},
               {**row, "kernel": "wrong", "verdict": "wrong"}, exchange,
               {**grid, "method": "multigrid", "solve_s": {"median": 2e-3}}, {**grid, "way": "gathered", "bandwidth_bytes_per_s": 1e9, "raw_share_percent": 50.0}]
    found = measured(tmp_path, **{**BENCH, "subject": subject}, entries=entries)
    assert found.subject == f"bench {subject} with boundaries, norm l2 on 2 ranks (A)"
    assert {name: (each.value, each.unit, each.better) for name, each in found.figures.items()} == {
        "copy fp64 8 x 8 x 8": (pytest.approx(5), "GB/s", "higher"),
        f"{name} tiles time block 4 fp64 8 x 8 x 8": (pytest.approx(2), "GPts/s", "higher"),
        f"{name} tiles time block 4 fp64 8 x 8 x 8, of a copy": (90, "%", "higher"),
        "host x- 2 layers fp64 8 x 8 x 8": (pytest.approx(3), "us", "lower"),
        "multigrid fp64 8 x 8 x 8": (pytest.approx(2), "ms", "lower"),
        "gathered fp64 8 x 8 x 8": (pytest.approx(1), "GB/s", "higher"), "gathered fp64 8 x 8 x 8, of raw": (50, "%", "higher")}
