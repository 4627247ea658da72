"""`isotherm bench halo` between two ranks: every transport across all six faces, and refusals before work."""

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
