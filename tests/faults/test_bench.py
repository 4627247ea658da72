"""`isotherm bench` on tiny grids: a verdict for every kernel, rejections before work; halo between two ranks, io next to plain writes."""

import itertools
import json
import math
import os
import re
import statistics
import subprocess

import h5py
import numpy as np
import pytest

import runs
from documentation import TOP
from program import command, isotherm, listed, measured, ran

SIZES = "16,20x7x9"
CELLS = [[16, 16, 16], [20, 7, 9]]
QUICK = ["--device", "cpu", "--seconds", "0.02"]
HALO = ["halo", *QUICK]
STENCILS, LECTURES = listed("kernels")
HOST_KERNELS = {
    "stencil": STENCILS,
    "reduction": listed("reductions")[0],
    "bandwidth": ["copy", "copy_cached", "read", "write", "write_cached",
                  "strided_2", "strided_4", "strided_8", "strided_16", "strided_32",
                  "offset_1", "offset_2", "offset_4", "offset_8"],
}
WITHOUT_NORM = set(LECTURES) - {"reference"}  # kernels that return no norm of their update


def bench(folder, subject, *arguments, options=QUICK, ranks=0):
    """The JSON of a benchmark that must succeed, and its output."""
    result = ran("bench", subject, *options, *arguments, "--json", "bench.json", ranks=ranks, cwd=folder)
    assert result.stderr == ""
    assert os.listdir(folder) == ["bench.json"]  # no .part file
    record = json.loads((folder / "bench.json").read_text())
    assert (record["schema"], record["schema_version"], record["subject"]) == ("isotherm-bench", 2, subject)
    assert (record["result"], record["ranks"]) == ("PASS", max(ranks, 1))
    return record, result.stdout


@pytest.mark.parametrize("subject", sorted(HOST_KERNELS))
def test_every_kernel_has_a_verdict_and_figures(tmp_path, subject):
    record, out = bench(tmp_path, subject, "--sizes", SIZES, *(["--time-blocks", "1"] if subject == "stencil" else []))
    assert record["not_finite"] == {}
    assert record["device"]["backend"] == "cpu" and record["device"]["instruction_set"]
    assert record["options"]["seed"] == 1 and record["provenance"]["git_revision"]
    assert record["provenance"]["started"] <= record["provenance"]["finished"]
    entries = record["entries"]
    assert [(e["cells"], e["precision"], e["kernel"]) for e in entries] == [
        (cells, precision, kernel) for cells in CELLS for precision in ("fp32", "fp64") for kernel in HOST_KERNELS[subject]
    ]
    assert {e["verdict"] for e in entries} == {"right"}
    for entry in entries:
        check_figures(subject, entry)
    assert len(re.findall(r" right( \(.*\))?\n", out)) == len(entries)
    for title in ("16 x 16 x 16, fp32\n", "20 x 7 x 9, fp64\n"):
        assert title in out


def test_formulas_are_checked_and_counted(tmp_path):
    record, _ = bench(tmp_path, "formula", "--sizes", "20x7x1,9", "--formula", "if(x < t, exp(-y)*z, (x/3)^2)")
    assert [(e["cells"], e["precision"], e["verdict"]) for e in record["entries"]] == list(
        (cells, precision, "right") for cells in ([20, 7, 1], [9, 9, 9]) for precision in ("fp32", "fp64"))
    for entry in record["entries"]:  # each cell at four times t
        assert entry["points_per_s"] == pytest.approx(4 * math.prod(entry["cells"]) / entry["launch_s"]["median"])
    out = ran("bench", "formula", *QUICK, "--formula", "1/(x-x)", cwd=tmp_path, code=70).stdout
    assert "WRONG: it is inf at (0, 0, 0)" in out
    assert "--formula: unknown name 'w' at character 5" in ran("bench", "formula", "--formula", "x + w", cwd=tmp_path, code=2).stderr


def test_the_norm_of_fused_sweeps_is_that_of_the_last(tmp_path):
    """For each time block, and for steps in two parts with boundaries; so are their points and bytes."""
    for flags, blocks in (([], range(1, 9)), (["--boundaries", "--source", "--overlap", "--time-blocks", "1,4"], (1, 4))):
        record, _ = bench(tmp_path, "stencil", "--sizes", "20x7x9", "--kernels", "openmp,temporal_openmp", "--norm", "max", *flags)
        assert {(e["kernel"], e["time_block"]) for e in record["entries"]} == {("openmp", 1)} | {
            ("temporal_openmp", time_block) for time_block in blocks}
        assert {e["verdict"] for e in record["entries"]} == {"right"}
        for entry in record["entries"]:
            cells = entry["time_block"] * 20 * 7 * 9
            assert entry["points_per_s"] == pytest.approx(cells / entry["launch_s"]["median"])
            assert entry["bytes_per_launch"] == (2 + bool(flags)) * field_bytes(entry)  # with a source: also read


def field_bytes(entry):
    return (4 if entry["precision"] == "fp32" else 8) * math.prod(entry["cells"])


def check_figures(subject, entry):
    """Checks that there are samples, and what they measure; unit/test_bench.cpp tests the figures derived from them. The cost of a norm
    added to a sweep may be below the noise, and then has no rate."""
    samples = entry["samples"]
    launches = samples["launch_s"]
    assert len(launches) >= 7 and entry["launch_s"]["median"] == pytest.approx(statistics.median(launches))
    if subject != "bandwidth":
        assert entry["bytes_per_launch"] == 2 * field_bytes(entry)  # read and written, or both read
    if subject == "reduction":
        assert 0 <= entry["error"] < 1e-10 and entry["same_bits"] is True
    if (subject, entry["kernel"]) == ("reduction", "fused"):
        assert len(samples["base_s"]) == len(launches)
        assert all(base > 0 and base + more > 0 for base, more in zip(samples["base_s"], launches))  # without the norm and with it
        assert re.fullmatch(r"what it adds to a sweep of openmp[^,]*, [^-]+ without: .+ to .+ in p10 to p90", entry["note"])
        return
    assert min(launches) > 0 and min(samples["copy_bandwidth_bytes_per_s"]) > 0
    assert (entry["points_per_s"] is None) == (entry["speedup"] is None) == (subject == "bandwidth")


@pytest.mark.parametrize("norm", ["l2", "max", "l1"])
def test_boundaries_source_and_norm_are_measured_and_checked(tmp_path, norm):
    sizes = SIZES if norm == "l2" else "20x7x9"
    record, _ = bench(tmp_path, "stencil", "--sizes", sizes, "--boundaries", "--source", "--overlap", "--norm", norm, "--seed", "5")
    assert record["options"] == {
        "seed": 5, "seconds_per_kernel_s": 0.02, "boundaries": True, "source": True, "overlap": True, "norm": norm, "op": None,
        "formula": None, "deck": None, "deck_contents": None,
    }
    for entry in record["entries"]:
        if entry["kernel"] in WITHOUT_NORM:
            assert entry["verdict"] == "skipped"
            continue
        assert entry["verdict"] == "right"
        assert entry["bytes_per_launch"] == 3 * field_bytes(entry)  # the source is also read


@pytest.mark.parametrize("op", ["sum", "max", "l1", "l2"])
def test_every_operation_is_right(tmp_path, op):
    record, _ = bench(tmp_path, "reduction", "--sizes", "33x18x40", "--op", op)
    assert record["options"]["op"] == op
    fused = "skipped" if op == "sum" else "right"  # no sweep returns a plain sum
    assert [e["verdict"] for e in record["entries"]] == ["right", "right", "right", fused] * 2


def test_kernels_precisions_and_tiles_are_chosen(tmp_path):
    """A kernel of the CPU needs no --device, nor does one rank of mpirun."""
    words = "--sizes", "16", "--kernels", "openmp", "--precision", "fp64"
    record, _ = bench(tmp_path, "stencil", *words, options=["--seconds", "0.01"], ranks=1)
    assert [(e["kernel"], e["precision"], e["speedup"]) for e in record["entries"]] == [("openmp", "fp64", 1.0)]
    record, _ = bench(tmp_path, "stencil", *words, "--tiles", "all")
    assert [e["tile"] for e in record["entries"]] == ["3planes", "1plane", "4planes_lines"]


TRANSIENT = str(TOP / "inputs" / "periodic.yaml")
WRONG = [  # the start of stderr; ranks and exit code if they are not 0 and 2
    ([], "isotherm: bench: no subject is given; use one of stencil, reduction, bandwidth, formula, halo, io, solve"),
    (["halos"], "isotherm: bench: unknown subject 'halos'; use one of stencil, "),
    (["stencil", "--sizes", "16x16"], "isotherm: --sizes: '16x16' is no size (an edge such as 256, or 256x128x64; "),
    (["stencil", "--time-blocks", "1,frob"], "isotherm: --time-blocks: ('frob' is no number from 1 to 64) OR ('frob' is none of all)"),
    (["stencil", "--precision", "fp16"], "isotherm: --precision: 'fp16' is none of fp32, fp64"),
    (["stencil", "--device", "tpu"], "isotherm: --device: 'tpu' is none of auto, cpu, cuda, gpu"),
    (["stencil", "--norm", "sum"], "isotherm: --norm: 'sum' is none of max, l1, l2"),
    (["reduction", "--op", "mean"], "isotherm: --op: 'mean' is none of sum, max, l1, l2; see isotherm bench reduction --help"),
    (["reduction", "--boundaries"], "isotherm: The following argument was not expected: --boundaries"),
    (["stencil", "--device", "cpu", "--kernels", "openmp,naive"], "bench: --kernels: no kernel 'naive' of bench stencil runs on cpu; "
                                                                  f"use one of {', '.join(HOST_KERNELS['stencil'])}"),
    (["stencil", "--device", "cpu", "--kernels", "fused_openmp"], "bench: --kernels: 'fused_openmp' is called temporal_openmp now\n"),
    (["stencil", "--device", "cpu", "--kernels", "reference", "--time-blocks", "1,3"],
     "bench: --time-blocks: none of these kernels takes 3 sweeps; use time blocks up to 1"),
    (["stencil", "--device", "cpu", "--norm", "l2", "--kernels", "openmp", "--time-blocks", "2"],
     "bench: --time-blocks: none of these kernels returns the norm of 2 sweeps; use time blocks up to 1"),
    (["bandwidth", "--device", "cpu", "--kernels", "copy,frob"], "bench: --kernels: no kernel 'frob' of bench bandwidth runs on cpu"),
    (["solve", "--device", "cpu", "--methods", "euler"], "bench: --methods: no method 'euler' of bench solve runs on cpu; "),
    (["stencil", "--device", "cpu", "--precision", "mixed"], "bench: --precision mixed is for bench solve; "),
    (["stencil", *QUICK, "--sizes", "16"], "bench: 2 ranks were started", 2, 2),
    (HALO, "bench: halo needs an even number of ranks, and 1 w", 1, 2),
    (HALO, "bench: halo needs an even number of ranks, and 3 w", 3, 2),
    ([*HALO, "--transports", "host,pigeon"], "bench: --transports: no transport 'pigeon' of bench halo runs on cpu; use one of host, ", 2, 2),
    ([*HALO, "--sizes", "64x64x2"], "bench: a subdomain of 64 x 64 x 2 cells has no 4 layers for its neighbour; ", 2, 2),
    ([*HALO, "--sizes", "1048576"], "bench: 1048576 x 1048576 x 1048576 cells need ", 2, 71),
    ([*HALO, "--sizes", "8", "--json", "no/such/halo.json"], "no/such/halo.json", 2, 73),
    (["solve", "--device", "cpu", "--deck", TRANSIENT],
     f"{TRANSIENT}:27:9: problem.kind: bench solve is for steady problems; name a deck of one\n", 0, 65),
    (["io", "--folder", "nowhere"], "bench: no folder can be made in nowhere (No such file or directory)", 1, 73),
    (["io", "--repeats", "0"], "isotherm: --repeats: '0' is no number from 1 to 1000; see isotherm bench io --help"),
    (["io", "--kernels", "raw"], "isotherm: The following arguments were not expected: raw --kernels; "),
    (["io", "--sizes", "1000000"], "", 1, 71),
]


@pytest.mark.parametrize("words, line, ranks, code", [row if row[2:] else (*row, 0, 2) for row in WRONG],
                         ids=[" ".join(row[0]) or "nothing" for row in WRONG])
def test_wrong_requests_are_refused_before_work(tmp_path, words, line, ranks, code):
    done = ran("bench", *words, ranks=ranks, cwd=tmp_path, code=code)
    head = "io" in words or TRANSIENT in words  # printed before these are refused
    assert done.stdout.count("\n") <= head and done.stderr.startswith(line), done.stderr
    assert (ranks or done.stderr.count("\n") == 1) and os.listdir(tmp_path) == []


@pytest.mark.parametrize("subject", sorted(HOST_KERNELS))
def test_grids_that_do_not_fit_are_refused_before_work(tmp_path, subject):
    result = measured("bench", subject, "--device", "cpu", "--sizes", "16,1048576", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (71, "")
    assert re.fullmatch(r"bench: 1048576 x 1048576 x 1048576 cells need \d+\.\d+ EiB of host memory and .* are free; "
                        r"use smaller --sizes\n", result.stderr)
    assert result.megabytes < 500


@pytest.mark.parametrize("name", ["bench.json.part", "bench.json"])
def test_a_folder_in_the_place_of_the_json_is_refused_before_work(tmp_path, name):
    (tmp_path / name).mkdir()
    result = ran("bench", "stencil", *QUICK, "--sizes", "16", "--json", "bench.json", cwd=tmp_path, code=73)
    assert (result.stdout, os.listdir(tmp_path)) == ("", [name])
    assert result.stderr.startswith("bench.json") and result.stderr.count("\n") == 1


def test_an_old_json_and_an_old_part_file_survive_a_refusal(tmp_path):
    """The check that the JSON can be written does not change existing files; a full stdout ends the run after that."""
    json_file, part = tmp_path / "bench.json", tmp_path / "bench.json.part"
    json_file.write_text("old")
    ran("bench", "stencil", "--device", "cpu", "--sizes", "1048576", "--json", "bench.json", cwd=tmp_path, code=71)
    assert json_file.read_text() == "old" and os.listdir(tmp_path) == ["bench.json"]
    json_file.unlink()
    part.write_text("mine")
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run(command("bench", "stencil", *QUICK, "--sizes", "16", "--json", "bench.json"), cwd=tmp_path, stdout=full,
                                check=False)
    assert result.returncode == 74 and os.listdir(tmp_path) == ["bench.json.part"] and part.read_text() == "mine"


def test_a_json_is_written_through_links_and_into_pipes_and_never_over_the_deck(tmp_path):
    (tmp_path / "link").symlink_to("other")
    (tmp_path / "other").symlink_to(tmp_path / "target.json")
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    for name in ("link", "pipe"):
        ran("bench", "stencil", *QUICK, "--sizes", "16", "--json", name, cwd=tmp_path)
    assert json.loads(os.read(pipe, 1 << 16)) and (tmp_path / "pipe").is_fifo()
    os.close(pipe)
    assert (tmp_path / "link").is_symlink() and json.loads((tmp_path / "target.json").read_text())
    ran("bench", "solve", "--deck", "target.json", "--json", "link", cwd=tmp_path, code=2)
    assert sorted(os.listdir(tmp_path)) == ["link", "other", "pipe", "target.json"]


def test_an_absent_device_is_refused(tmp_path):
    absent = re.search(r"^  no CUDA device: (.*)$", ran("list").stdout, re.MULTILINE)
    if not absent:
        pytest.skip("this machine has a CUDA device")
    result = ran("bench", "stencil", "--device", "cuda", cwd=tmp_path, code=69)
    assert result.stdout == ""
    assert result.stderr == f"bench: no CUDA device ({absent[1]}); use --device cpu, or run where every rank sees a GPU\n"


def test_another_formula_or_deck_is_another_benchmark(tmp_path):
    for name, k in (("a.yaml", 1), ("b.yaml", 2)):
        (tmp_path / name).write_text(f"grid: {{cells: 4, spacing: 1}}\nmaterial: {{conductivity: {k}}}\nproblem: {{kind: steady}}\n"
                                     "initial: [{shape: constant, value: 1}]\nboundaries: {x_min: &cold {kind: temperature, value: 0}, "
                                     "x_max: *cold, y_min: *cold, y_max: *cold, z_min: *cold, z_max: *cold}\n")
    for words, option, values in ((["formula", *QUICK, "--sizes", "9", "--formula"], "formula", ("x", "x*y")),
                                  (["solve", "--device", "cpu", "--repeats", "1", "--deck"], "deck", ("a.yaml", "b.yaml"))):
        for number, value in enumerate(values):
            ran("bench", *words, value, "--json", f"{number}.json", cwd=tmp_path)
        ran("baseline", "0.json", "0.json", cwd=tmp_path)  # test_compare.py tests figures that got worse
        refused = ran("baseline", "0.json", "1.json", cwd=tmp_path, code=65).stderr
        assert all(f"bench {words[0]} with {option} {value} on 1 rank" in refused for value in values)
    (tmp_path / "b.yaml").rename(tmp_path / "a.yaml")  # a deck is identified by its contents, not by its path
    ran("bench", *words, "./a.yaml", "--json", "2.json", cwd=tmp_path)
    assert [isotherm("baseline", f"{number}.json", "2.json", cwd=tmp_path).returncode == 65 for number in range(2)] == [True, False]


FACES = ["x-", "x+", "y-", "y+", "z-", "z+"]


def test_every_transport_crosses_every_face(tmp_path):
    record, out = bench(tmp_path, "halo", "--sizes", "12x10x8", "--ghosts", "1,3", ranks=2)
    entries = record["entries"]
    right = {(e["transport"], e["precision"], e["ghosts"], e["face"]): e for e in entries if e["verdict"] == "right"}
    for transport, (precision, width), ghosts, (face, cells) in itertools.product(
            ("host", "mock"), (("fp32", 4), ("fp64", 8)), (1, 3), zip(FACES, (80, 80, 96, 96, 120, 120))):
        check_exchange(right[transport, precision, ghosts, face], ghosts * cells * width)
    missing = {e["transport"] for e in entries if e["verdict"] == "skipped"}
    said, = [line for line in out.splitlines() if line.startswith("not possible here: ")] or [""]
    assert all(f"{transport} (" in said for transport in missing) and "skipped" not in out
    for entry in entries:
        assert entry["verdict"] in ("right", "skipped") and (entry["note"] or entry["transport"] == "host")


def check_exchange(entry, bytes_moved):
    for what in ("exchange_s", "alone_s"):
        samples = entry["samples"][what]
        assert len(samples) >= 7 and min(samples) > 0
        assert entry[what]["median"] == pytest.approx(statistics.median(samples))
    median = entry["exchange_s"]["median"]
    assert entry["latency_s"] > 0 and entry["bytes"] == bytes_moved
    assert entry["wire_s"] == pytest.approx(median - entry["pack_s"] - entry["unpack_s"])
    assert entry["bandwidth_bytes_per_s"] == (None if entry["transport"] == "mock" else pytest.approx(bytes_moved / median))


def test_transports_are_chosen_by_name(tmp_path):
    done = ran("bench", *HALO, "--sizes", "8", "--transports", "host", "--precision", "fp64", ranks=4, cwd=tmp_path)
    assert [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  host")] == FACES * 3


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_way_writes_the_same_bytes(tmp_path, ranks):
    record, _ = bench(tmp_path, "io", "--sizes", "12x10x8,9", "--repeats", "4", "--folder", ".", options=[], ranks=ranks)
    entries = record["entries"]
    assert [(e["cells"], e["precision"], e["way"]) for e in entries] == list(itertools.product(
        ([12, 10, 8], [9, 9, 9]), ("fp32", "fp64"), ("raw", "snapshot", "snapshot, proved")))
    for e in entries:
        assert e["bytes"] == field_bytes(e)
        times, raw = e["samples"]["write_s"], e["samples"]["raw_write_s"]
        assert len(times) == len(raw) == 4 and min(times) > 0 and (times == raw or e["way"] != "raw")
        assert e["bandwidth_bytes_per_s"] == pytest.approx(e["bytes"] / statistics.median(times))
        assert e["raw_share_percent"] == pytest.approx(statistics.median(100 * r / t for r, t in zip(raw, times)))
    for written, proved in zip(entries[1::3], entries[2::3]):
        assert all(w < p for w, p in zip(written["samples"]["write_s"], proved["samples"]["write_s"]))


@pytest.mark.parametrize("ranks", [1, 2])
def test_methods_are_measured_to_the_tolerance(tmp_path, ranks):
    record, out = bench(tmp_path, "solve", "--sizes", "24x20x17,9", "--repeats", "3", options=["--device", "cpu"], ranks=ranks)
    entries = record["entries"]
    ours = [e for e in entries if e["method"] != "hypre"]
    assert [(e["cells"], e["precision"], e["method"]) for e in ours] == list(itertools.product(
        ([24, 20, 17], [9, 9, 9]), ("fp32", "fp64"), ("multigrid", "chebyshev")))
    for e in (e for e in entries if "verdict" not in e):
        times = e["samples"]["solve_s"]
        assert len(times) == 3 and e["unknowns_per_s"] == pytest.approx(math.prod(e["cells"]) / statistics.median(times)) and e["cycles"] > 0
        assert e["relative_residual"] <= (1e-8 if e["precision"] == "fp64" else 1e-4)
        assert re.search(rf"^  {e['method']} .* {e['relative_residual']:.1e}$", out, re.MULTILINE)
    for e in (e for e in ours if e["method"] == "multigrid"):
        assert e["sweeps"] == 8 * e["cycles"] and 0 < e["least_cycle_s"] and e["levels"][0]["cells"] == e["cells"]
        assert sum(level["share_percent"] for level in e["levels"]) == pytest.approx(100)


LAYERS = """\
grid: {cells: 16, lengths: 0.016}
materials: {a: {conductivity: 400}, b: {conductivity: 0.001}, air: {ambient: 310, coefficient: 50}}
material: {default: a}
regions:
  - {shape: box, from: [0.002, 0.002, 0.002], to: [0.006, 0.006, 0.006], material: b}
  - {shape: box, from: [0.002, 0.002, 0.011], to: [0.006, 0.006, 0.016], material: air}
  - {shape: box, from: [0, 0.011, 0.002], to: [0.016, 0.016, 0.006], material: void}
boundaries: {x_min: {kind: temperature, value: 300}}
initial: [{shape: constant, value: 350}]
problem: {kind: steady, PROBLEM}
output: {snapshots: false}
"""
ONE = re.sub("materials: .*\n|regions:(\n  .*)*\n", "", LAYERS).replace("default: a", "conductivity: 1")


@pytest.mark.parametrize("deck, own", [(LAYERS, "accelerate: cg"), (LAYERS, "method: chebyshev"), (ONE, "method: chebyshev, cycle: 32")],
                         ids=["several", "several by chebyshev", "one"])
def test_decks_are_solved_as_runs_solve_them(tmp_path, deck, own):
    """Also around voids, and with keys of one method. A row says why a method is not measured."""
    (tmp_path / "out").mkdir()
    words = ["problem.method=chebyshev", "problem.accelerate=none"] if "cg" in own else []
    _, found = runs.recorded(tmp_path, deck.replace("PROBLEM", own), *words, "problem.norm=l2", "problem.tolerance=1e-8", out="run")
    record, out = bench(tmp_path / "out", "solve", "--deck", "../deck.yaml", "--repeats", "1", "--precision", "fp64,mixed",
                        options=["--device", "cpu"], ranks=2)
    entries = {(e["method"], e["precision"]): e for e in record["entries"]}
    skipped = {key for key, e in entries.items() if e.get("verdict") == "skipped"}
    possible = {("chebyshev", "mixed"), ("hypre", "mixed")} | ({("hypre", "fp64")} if deck == ONE else set())
    assert skipped == possible & set(entries) and out.count("skipped: ") == len(skipped)
    assert entries["chebyshev", "fp64"]["sweeps"] == found["performance"]["sweeps"]
    assert all(e["relative_residual"] <= 1e-8 for key, e in entries.items() if key not in skipped)


def test_a_row_shows_that_hypre_does_not_reach_the_tolerance(tmp_path):
    """Conductivities of single cells that differ by 400,000 need more than its 100 iterations."""
    with h5py.File(tmp_path / "ids.h5", "w") as file:
        file["ids"] = np.random.default_rng(1).integers(0, 2, (24, 24, 24), "i4")
    (tmp_path / "deck.yaml").write_text(re.sub("(regions:)(\n  .*)*", r"\1 [{shape: dataset, file: ids.h5, dataset: ids, map: {1: b}}]", LAYERS)
                                        .replace("cells: 16", "cells: 24").replace(", PROBLEM", ""))
    done = isotherm("bench", "solve", "--device", "cpu", "--deck", "deck.yaml", "--precision", "fp64", "--methods", "hypre", "--repeats", "1", cwd=tmp_path)
    if "no method 'hypre'" in done.stderr:
        pytest.skip("this build has no hypre")
    assert done.returncode == 0 and re.search(r"^  hypre +100 .* [1-9]\.\de-0[1-7]$", done.stdout, re.MULTILINE), done.stdout + done.stderr
