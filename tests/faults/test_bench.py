"""`isotherm bench` on tiny grids: a verdict for every row, figures that fit each other, refusals before work."""

import itertools
import json
import os
import re
import statistics
import subprocess

import pytest
from cli import isotherm
from program import isotherm as isotherm_on_ranks

SIZES = "16,20x7x9"
CELLS = [[16, 16, 16], [20, 7, 9]]
QUICK = ["--device", "cpu", "--seconds", "0.02"]
HOST_ROWS = {
    "stencil": ["reference", "openmp", "temporal_openmp"],
    "reduction": ["reference", "openmp", "reproducible", "fused"],
    "bandwidth": ["copy", "copy_cached", "read", "write", "write_cached",
                  "strided_2", "strided_4", "strided_8", "strided_16", "strided_32",
                  "offset_1", "offset_2", "offset_4", "offset_8"],
}


def bench(folder, subject, *arguments):
    """The JSON of a benchmark that must succeed, and what it printed."""
    result = isotherm("bench", subject, *QUICK, *arguments, "--json", "bench.json", cwd=folder)
    assert (result.code, result.err) == (0, "")
    assert os.listdir(folder) == ["bench.json"]  # no .part
    return json.loads((folder / "bench.json").read_text()), result.out


@pytest.mark.parametrize("subject", sorted(HOST_ROWS))
def test_every_row_has_a_verdict_and_figures(tmp_path, subject):
    record, out = bench(tmp_path, subject, "--sizes", SIZES, *(["--depths", "1"] if subject == "stencil" else []))
    assert (record["schema"], record["schema_version"], record["subject"]) == ("isotherm-bench", 2, subject)
    assert record["result"] == "PASS" and record["not_finite"] == {}
    assert record["device"]["backend"] == "cpu" and record["device"]["instruction_set"]
    assert record["options"]["seed"] == 1 and record["provenance"]["git_revision"]
    assert record["provenance"]["started"] <= record["provenance"]["finished"]
    entries = record["entries"]
    assert [(e["cells"], e["precision"], e["row"]) for e in entries] == [
        (cells, precision, row) for cells in CELLS for precision in ("fp32", "fp64") for row in HOST_ROWS[subject]
    ]
    assert {e["verdict"] for e in entries} == {"right"}
    for entry in entries:
        check = check_difference if (subject, entry["row"]) == ("reduction", "fused") else check_figures
        check(subject, entry, first_of_its_ladder(entries, entry))
    assert len(re.findall(r" right( \(.*\))?\n", out)) == len(entries)
    marked = [e for e in entries if e["spread_percent"] > 30.05]
    assert out.count("*") >= len(marked) and ("  * spread above 30 %: " in out) >= bool(marked)
    for title in ("16 x 16 x 16, fp32\n", "20 x 7 x 9, fp64\n"):
        assert title in out


def test_fused_sweeps_are_counted(tmp_path):
    record, out = bench(tmp_path, "stencil", "--sizes", "20x7x9", "--rows", "temporal_openmp", "--depths", "1,4", "--walls")
    assert {(e["depth"], e["precision"], e["verdict"]) for e in record["entries"]} == set(
        itertools.product([1, 4], ["fp32", "fp64"], ["right"]))
    for entry in record["entries"]:
        assert entry["points_per_s"] == pytest.approx(entry["depth"] * 20 * 7 * 9 / entry["launch_s"]["median"])
        assert entry["bytes_per_launch"] == 2 * (4 if entry["precision"] == "fp32" else 8) * 20 * 7 * 9
    assert "of roof" in out


def test_the_norm_of_fused_sweeps_is_that_of_the_last(tmp_path):
    """At each depth, with what a step in two parts and the walls make of it."""
    for flags in ([], ["--walls", "--source", "--overlap"]):
        record, _ = bench(tmp_path, "stencil", "--sizes", "20x7x9", "--rows", "openmp,temporal_openmp", "--norm", "max", *flags)
        assert {(e["row"], e["depth"]) for e in record["entries"]} == {("openmp", 1)} | {
            ("temporal_openmp", depth) for depth in range(1, 9)}
        assert {e["verdict"] for e in record["entries"]} == {"right"}


def first_of_its_ladder(entries, entry):
    return next(e for e in entries if (e["cells"], e["precision"]) == (entry["cells"], entry["precision"]))


def check_figures(subject, entry, lowest):
    """Each figure again from those that it follows from."""
    launches = entry["samples"]["launch_s"]
    copies = entry["samples"]["copy_bandwidth_bytes_per_s"]
    assert len(launches) == len(copies) >= 7 and min(launches) > 0 and min(copies) > 0
    seconds = entry["launch_s"]
    assert seconds["p10"] <= seconds["median"] <= seconds["p90"]
    assert seconds["median"] == pytest.approx(statistics.median(launches))
    spread = 100 * (seconds["p90"] - seconds["p10"]) / seconds["median"]
    assert entry["spread_percent"] == pytest.approx(spread)
    bytes_moved = entry["bytes_per_launch"]
    assert entry["bandwidth_bytes_per_s"] == pytest.approx(bytes_moved / seconds["median"])
    shares = [100 * bytes_moved / launch / copy for launch, copy in zip(launches, copies)]
    assert entry["copy_bandwidth_share_percent"] == pytest.approx(statistics.median(shares))
    width = 4 if entry["precision"] == "fp32" else 8
    cells = entry["cells"][0] * entry["cells"][1] * entry["cells"][2]
    if subject == "bandwidth":
        assert entry["points_per_s"] is None and entry["speedup"] is None
        return
    assert entry["points_per_s"] == pytest.approx(cells / seconds["median"])
    assert entry["speedup"] == pytest.approx(entry["points_per_s"] / lowest["points_per_s"])
    assert bytes_moved == 2 * width * cells  # one read and one write, or two fields read
    if subject == "reduction":
        assert 0 <= entry["error"] < 1e-10 and entry["same_bits"] is True
        reads = entry["samples"]["read_bandwidth_bytes_per_s"]
        shares = [100 * bytes_moved / launch / read for launch, read in zip(launches, reads)]
        assert entry["read_bandwidth_share_percent"] == pytest.approx(statistics.median(shares))


def check_difference(subject, entry, lowest):
    """What a norm adds to a sweep may drown in noise, and then has no rate; its samples say so."""
    added, without = entry["samples"]["launch_s"], entry["samples"]["base_s"]
    assert len(added) == len(without) >= 7 and min(without) > 0
    assert all(base + more > 0 for base, more in zip(without, added))  # the sweep with the norm
    seconds = entry["launch_s"]
    assert seconds["p10"] <= seconds["median"] <= seconds["p90"]
    assert seconds["median"] == pytest.approx(statistics.median(added))
    assert entry["base_s"]["median"] == pytest.approx(statistics.median(without))
    width = 4 if entry["precision"] == "fp32" else 8
    cells = entry["cells"][0] * entry["cells"][1] * entry["cells"][2]
    assert entry["bytes_per_launch"] == 2 * width * cells  # of the pass that is saved
    assert 0 <= entry["error"] < 1e-10 and entry["same_bits"] is True
    assert re.fullmatch(r"what it adds to a sweep of openmp[^,]*, [^-]+ without: .+ to .+ in p10 to p90", entry["note"])
    rates = ["points_per_s", "bandwidth_bytes_per_s", "copy_bandwidth_share_percent", "read_bandwidth_share_percent",
             "speedup"]
    if seconds["median"] <= seconds["p90"] - seconds["p10"]:  # below its noise
        assert all(entry[rate] is None for rate in rates)
        return
    bandwidth = 2 * width * cells / seconds["median"]
    assert entry["points_per_s"] == pytest.approx(cells / seconds["median"])
    assert entry["speedup"] == pytest.approx(entry["points_per_s"] / lowest["points_per_s"])
    assert entry["bandwidth_bytes_per_s"] == pytest.approx(bandwidth)
    for roof in ("copy_bandwidth", "read_bandwidth"):
        assert entry[f"{roof}_share_percent"] == pytest.approx(100 * bandwidth / entry[f"{roof}_bytes_per_s"]["median"])


def test_the_fused_rung_stands_alone(tmp_path):
    record, out = bench(tmp_path, "reduction", "--rows", "fused", "--sizes", "48", "--precision", "fp64")
    assert [(e["row"], e["verdict"]) for e in record["entries"]] == [("fused", "right")]
    assert re.search(r"^  fused +-?[\d.]+ [mu]?s ", out, re.MULTILINE)  # its time, of either sign


def test_walls_source_and_norm_are_measured_and_checked(tmp_path):
    record, out = bench(tmp_path, "stencil", "--sizes", SIZES, "--walls", "--source", "--overlap", "--norm", "l2", "--seed", "5")
    assert record["options"] == {
        "seed": 5, "seconds_per_row_s": 0.02, "walls": True, "source": True, "overlap": True, "norm": "l2", "op": None,
    }
    for entry in record["entries"]:
        assert entry["verdict"] == "right"
        width = 4 if entry["precision"] == "fp32" else 8
        cells = entry["cells"][0] * entry["cells"][1] * entry["cells"][2]
        assert entry["bytes_per_launch"] == 3 * width * cells  # the source is read too
    assert "with a source, with walls, interior and rest apart, with the fused l2 norm" in out.splitlines()[0]


@pytest.mark.parametrize("norm", ["max", "l1"])
def test_other_norms_are_right(tmp_path, norm):
    record, _ = bench(tmp_path, "stencil", "--sizes", "20x7x9", "--norm", norm)
    assert {e["verdict"] for e in record["entries"]} == {"right"}


@pytest.mark.parametrize("op", ["sum", "max", "l1", "l2"])
def test_every_operation_is_right(tmp_path, op):
    record, _ = bench(tmp_path, "reduction", "--sizes", "33x18x40", "--op", op)
    assert record["options"]["op"] == op
    fused = "skipped" if op == "sum" else "right"  # no sweep returns a plain sum
    assert [e["verdict"] for e in record["entries"]] == ["right", "right", "right", fused] * 2
    assert {e["note"] for e in record["entries"] if e["verdict"] == "skipped"} <= {"no sweep returns a plain sum"}
    if op == "max":
        assert {e["error"] for e in record["entries"]} == {0}


def test_rows_and_precisions_are_chosen(tmp_path):
    record, _ = bench(tmp_path, "stencil", "--sizes", "16", "--rows", "openmp", "--precision", "fp64")
    assert [(e["row"], e["precision"], e["speedup"]) for e in record["entries"]] == [("openmp", "fp64", 1.0)]


def test_a_row_of_the_processor_needs_no_device_option(tmp_path):
    result = isotherm("bench", "stencil", "--rows", "openmp", "--sizes", "16", "--seconds", "0.01", cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    assert os.listdir(tmp_path) == []


SUBJECTS = "; use one of stencil, reduction, bandwidth, halo, io; see isotherm --help"


def help_of(subject):
    return f"; see isotherm bench {subject} --help"


WRONG = [
    ([], 2, "isotherm: bench: no subject is given" + SUBJECTS),
    (["halos"], 2, "isotherm: bench: unknown subject 'halos'" + SUBJECTS),
    (["stencil", "extra"], 2, "isotherm: The following argument was not expected: extra" + help_of("stencil")),
    (["stencil", "--frob"], 2, "isotherm: The following argument was not expected: --frob" + help_of("stencil")),
    (["stencil", "--sizes", "16x16"], 2,
     "isotherm: --sizes: '16x16' is no size (an edge such as 256, or 256x128x64; an axis has 1 to 1048576 cells)"
     + help_of("stencil")),
    (["stencil", "--depths", "1,frob"], 2,
     "isotherm: --depths: ('frob' is no number from 1 to 64) OR ('frob' is none of all)" + help_of("stencil")),
    (["stencil", "--precision", "fp16"], 2, "isotherm: --precision: 'fp16' is none of fp32, fp64" + help_of("stencil")),
    (["stencil", "--device", "tpu"], 2, "isotherm: --device: 'tpu' is none of auto, cpu, cuda, gpu" + help_of("stencil")),
    (["stencil", "--norm", "sum"], 2, "isotherm: --norm: 'sum' is none of max, l1, l2" + help_of("stencil")),
    (["reduction", "--op", "mean"], 2, "isotherm: --op: 'mean' is none of sum, max, l1, l2" + help_of("reduction")),
    (["reduction", "--walls"], 2,
     "isotherm: The following argument was not expected: --walls" + help_of("reduction")),
    (["stencil", "--device", "cpu", "--rows", "openmp,naive"], 2,
     "bench: --rows: no row 'naive' of bench stencil runs on cpu; use one of reference, openmp, temporal_openmp"),
    (["stencil", "--device", "cpu", "--rows", "reference", "--depths", "1,3"], 2,
     "bench: --depths: none of these rows fuses 3 sweeps; use depths up to 1"),
    (["stencil", "--device", "cpu", "--norm", "l2", "--rows", "openmp", "--depths", "2"], 2,
     "bench: --depths: none of these rows returns the norm of 2 sweeps; use depths up to 1"),
    (["bandwidth", "--device", "cpu", "--rows", "copy,frob"], 2,
     "bench: --rows: no row 'frob' of bench bandwidth runs on cpu; use one of " + ", ".join(HOST_ROWS["bandwidth"])),
]


@pytest.mark.parametrize("arguments, code, line", WRONG, ids=[" ".join(w[0]) or "nothing" for w in WRONG])
def test_wrong_words_are_one_line_and_code_2(tmp_path, arguments, code, line):
    result = isotherm("bench", *arguments, cwd=tmp_path)
    assert (result.code, result.err, result.out) == (code, line + "\n", "")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("subject", sorted(HOST_ROWS))
def test_what_does_not_fit_is_refused_before_work(tmp_path, subject):
    result = isotherm("bench", subject, "--device", "cpu", "--sizes", "16,1048576", cwd=tmp_path)
    assert result.code == 71 and result.out == ""
    assert re.fullmatch(r"bench: 1048576 x 1048576 x 1048576 cells need \d+\.\d+ EiB of host memory and .* are free; "
                        r"use smaller --sizes\n", result.err)
    assert result.megabytes < 500


def test_a_json_that_cannot_be_made_is_refused_before_work(tmp_path):
    result = isotherm("bench", "stencil", *QUICK, "--sizes", "16", "--json", "no/such/bench.json", cwd=tmp_path)
    assert (result.code, result.out) == (73, "")
    assert result.err.startswith("no/such/bench.json") and result.err.count("\n") == 1


def test_an_old_json_survives_a_refusal(tmp_path):
    (tmp_path / "bench.json").write_text("old")
    result = isotherm("bench", "stencil", "--device", "cpu", "--sizes", "1048576", "--json", "bench.json", cwd=tmp_path)
    assert result.code == 71
    assert (tmp_path / "bench.json").read_text() == "old" and os.listdir(tmp_path) == ["bench.json"]


def test_a_part_that_stands_there_survives_a_refusal(tmp_path):
    """Whether the JSON can be made is asked without touching what is there; a full stdout ends the run after that."""
    part = tmp_path / "bench.json.part"
    part.write_text("mine")
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run([os.environ["ISOTHERM"], "bench", "stencil", *QUICK, "--sizes", "16", "--json",
                                 "bench.json"], cwd=tmp_path, stdout=full, check=False)
    assert result.returncode == 74 and os.listdir(tmp_path) == ["bench.json.part"] and part.read_text() == "mine"


def test_a_part_that_is_a_folder_is_refused_before_work(tmp_path):
    (tmp_path / "bench.json.part").mkdir()
    result = isotherm("bench", "stencil", *QUICK, "--sizes", "16", "--json", "bench.json", cwd=tmp_path)
    assert (result.code, result.out) == (73, "") and os.listdir(tmp_path) == ["bench.json.part"]


def test_several_ranks_are_refused(tmp_path):
    result = isotherm_on_ranks("bench", "stencil", *QUICK, "--sizes", "16", ranks=2, cwd=tmp_path)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("bench: 2 ranks were started")


def test_one_rank_of_mpirun_is_fine(tmp_path):
    result = isotherm_on_ranks("bench", "stencil", *QUICK, "--sizes", "16", ranks=1, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


def test_an_absent_device_is_refused(tmp_path):
    listed = subprocess.run([os.environ["ISOTHERM"], "list"], capture_output=True, text=True, check=True).stdout
    absent = re.search(r"^  no CUDA device: (.*)$", listed, re.MULTILINE)
    if not absent:
        pytest.skip("this machine has a CUDA device")
    result = isotherm("bench", "stencil", "--device", "cuda", cwd=tmp_path)
    assert (result.code, result.out) == (69, "")
    assert result.err == (f"bench: no CUDA device ({absent[1]}); use --device cpu, or run where every rank sees a GPU\n")


def test_a_baseline(tmp_path):
    """Of figures that were a million times better, or worse; and of another subject."""
    record, _ = bench(tmp_path, "stencil", "--rows", "openmp", "--sizes", "16", "--precision", "fp64")
    assert "baseline" not in record
    entry, = record["entries"]
    name = f"openmp {entry['policy']} fp64 16 x 16 x 16"
    for factor, code, word in ((1e6, 76, "worse"), (1e-6, 0, "better")):
        changed = {**entry, "points_per_s": factor * entry["points_per_s"], "copy_bandwidth_share_percent": None}
        (tmp_path / "baseline.json").write_text(json.dumps({**record, "entries": [changed]}))
        done = isotherm("baseline", "baseline.json", "bench.json", "--tolerance", "20", cwd=tmp_path)
        assert done.code == code, done.err
        assert re.search(rf"^  {name} +{changed['points_per_s'] / 1e9:.3f} GPts/s +{entry['points_per_s'] / 1e9:.3f} GPts/s .* {word}$", done.out,
                         re.MULTILINE)
        assert done.err == ("" if code == 0 else "1 of 1 figure of merit got worse than in 'baseline.json' by more than 20 %; "
                                                 "look at the table for which, or allow more with --tolerance\n")
    (tmp_path / "other.json").write_text(json.dumps({**record, "subject": "bandwidth"}))
    done = isotherm("baseline", "other.json", "bench.json", cwd=tmp_path)
    assert done.code == 65 and done.out == "" and done.err.startswith("'other.json' is of bench bandwidth on 1 rank (")
