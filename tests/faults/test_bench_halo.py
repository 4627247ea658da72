"""`isotherm bench halo` between two ranks, `isotherm bench io` beside plain writes: what they measure, and refusals before work."""

import json
import os
import statistics

import pytest

from program import isotherm

FACES = ["x-", "x+", "y-", "y+", "z-", "z+"]
QUICK = ["--device", "cpu", "--seconds", "0.01"]


def bench(folder, *arguments, ranks=2):
    return isotherm("bench", "halo", *QUICK, *arguments, ranks=ranks, cwd=folder)


def first_line(result):
    return result.stderr.splitlines()[0]


def test_every_transport_crosses_every_face(tmp_path):
    result = bench(tmp_path, "--sizes", "12x10x8", "--ghosts", "1,3", "--json", "halo.json")
    assert (result.returncode, result.stderr) == (0, "")
    assert os.listdir(tmp_path) == ["halo.json"]
    record = json.loads((tmp_path / "halo.json").read_text())
    assert (record["schema"], record["subject"], record["result"]) == ("isotherm-bench", "halo", "PASS")
    assert record["ranks"] == 2
    entries = {(e["transport"], e["precision"], e["ghosts"], e["face"]): e for e in record["entries"]}
    works = {key for key, e in entries.items() if e["verdict"] == "right"}
    for transport in ("host", "mock"):
        for precision, width in (("fp32", 4), ("fp64", 8)):
            for ghosts in (1, 3):
                for face, cells in zip(FACES, (80, 80, 96, 96, 120, 120)):
                    key = (transport, precision, ghosts, face)
                    assert key in works
                    check(entries[key], ghosts * cells * width)
    missing = {key[0] for key, e in entries.items() if e["verdict"] == "skipped"}
    said, = [line for line in result.stdout.splitlines() if line.startswith("not possible here: ")] or [""]
    assert all(f"{transport} (" in said for transport in missing) and "skipped" not in result.stdout
    for key, entry in entries.items():
        assert entry["verdict"] in ("right", "skipped") and (entry["note"] or key[0] == "host")


def check(entry, bytes_moved):
    exchanges, alone = entry["samples"]["exchange_s"], entry["samples"]["alone_s"]
    for samples in (exchanges, alone):
        assert len(samples) >= 7 and min(samples) > 0
    assert entry["latency_s"] > 0
    assert entry["alone_s"]["median"] == pytest.approx(statistics.median(alone))
    median = statistics.median(exchanges)
    assert entry["exchange_s"]["median"] == pytest.approx(median)
    assert entry["bytes"] == bytes_moved
    assert entry["wire_s"] == pytest.approx(median - entry["pack_s"] - entry["unpack_s"])
    if entry["transport"] == "mock":
        assert entry["bandwidth_bytes_per_s"] is None
    else:
        assert entry["bandwidth_bytes_per_s"] == pytest.approx(bytes_moved / median)


def test_rows_are_chosen_by_name(tmp_path):
    result = bench(tmp_path, "--sizes", "8", "--rows", "host", "--precision", "fp64", ranks=4)
    assert result.returncode == 0
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith("  host")]
    assert [line[1] for line in lines] == FACES * 3


@pytest.mark.parametrize("ranks", [1, 3])
def test_an_odd_number_of_ranks_is_refused(tmp_path, ranks):
    result = bench(tmp_path, ranks=ranks)
    assert result.returncode == 2 and result.stdout == ""
    assert first_line(result).startswith(f"bench: halo needs an even number of ranks, and {ranks} w")


def test_unknown_transports_and_thin_blocks_are_refused(tmp_path):
    result = bench(tmp_path, "--rows", "host,pigeon")
    assert result.returncode == 2
    assert first_line(result).startswith("bench: --rows: no row 'pigeon' of bench halo runs on cpu; use one of host, ")
    result = bench(tmp_path, "--sizes", "64x64x2")
    assert result.returncode == 2
    assert first_line(result).startswith("bench: a block of 64 x 64 x 2 cells has no 4 layers for its neighbour; ")


def test_what_does_not_fit_and_what_cannot_be_written_are_refused(tmp_path):
    result = bench(tmp_path, "--sizes", "1048576")
    assert result.returncode == 71
    assert first_line(result).startswith("bench: 1048576 x 1048576 x 1048576 cells need ")
    result = bench(tmp_path, "--sizes", "8", "--json", "no/such/halo.json")
    assert result.returncode == 73 and result.stdout == "" and first_line(result).startswith("no/such/halo.json")


WAYS = ["raw", "snapshot", "snapshot, proved"]


def bench_io(folder, *arguments, ranks=1):
    return isotherm("bench", "io", *arguments, ranks=ranks, cwd=folder)


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_way_writes_the_same_bytes(tmp_path, ranks):
    (tmp_path / "there").mkdir()
    result = bench_io(tmp_path, "--sizes", "12x10x8,9", "--repeats", "4", "--folder", "there", "--json", "io.json",
                   ranks=ranks)
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(os.listdir(tmp_path)) == ["io.json", "there"] and os.listdir(tmp_path / "there") == []
    record = json.loads((tmp_path / "io.json").read_text())
    assert (record["schema"], record["subject"], record["result"]) == ("isotherm-bench", "io", "PASS")
    assert record["ranks"] == ranks
    entries = record["entries"]
    assert [(e["way"], e["cells"], e["precision"]) for e in entries] == [
        (way, cells, precision) for cells in ([12, 10, 8], [9, 9, 9]) for precision in ("fp32", "fp64") for way in WAYS
    ]
    for e in entries:
        x, y, z = e["cells"]
        assert e["bytes"] == x * y * z * (4 if e["precision"] == "fp32" else 8)
        times, raw = e["samples"]["write_s"], e["samples"]["raw_write_s"]
        assert len(times) == len(raw) == 4 and min(times) > 0
        assert e["bandwidth_bytes_per_s"] == pytest.approx(e["bytes"] / statistics.median(times))
        shares = [100 * r / t for r, t in zip(raw, times)]
        assert e["raw_share_percent"] == pytest.approx(statistics.median(shares))
        if e["way"] == "raw":
            assert times == raw
    for written, proved in zip(entries[1::3], entries[2::3]):
        assert all(w < p for w, p in zip(written["samples"]["write_s"], proved["samples"]["write_s"]))


@pytest.mark.parametrize("arguments, code, message", [
    (["--folder", "nowhere"], 73, "bench: no folder can be made in nowhere (No such file or directory)"),
    (["--repeats", "0"], 2, "isotherm: --repeats: '0' is no number from 1 to 1000; see isotherm bench io --help"),
    (["--rows", "raw"], 2, "isotherm: The following arguments were not expected: raw --rows; see isotherm bench io --help"),
    (["--walls"], 2, "isotherm: The following argument was not expected: --walls; see isotherm bench io --help"),
    (["--sizes", "1000000"], 71, None)])
def test_refusals(tmp_path, arguments, code, message):
    result = bench_io(tmp_path, *arguments)
    assert result.returncode == code and result.stdout.count("\n") <= 1
    assert message is None or result.stderr.startswith(message)
    assert os.listdir(tmp_path) == []
