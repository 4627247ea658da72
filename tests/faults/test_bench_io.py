"""`isotherm bench io`: snapshots beside plain writes, and refusals before work."""

import json
import os
import statistics

import pytest
from program import isotherm

HELP = "; see isotherm bench io --help"
WAYS = ["raw", "snapshot", "snapshot, proved"]


def bench(folder, *arguments, ranks=1):
    return isotherm("bench", "io", *arguments, ranks=ranks, cwd=folder)


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_way_writes_the_same_bytes(tmp_path, ranks):
    (tmp_path / "there").mkdir()
    result = bench(tmp_path, "--sizes", "12x10x8,9", "--repeats", "4", "--folder", "there", "--json", "io.json",
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
    (["--folder", "nowhere"], 73, "bench: no folder can be made in nowhere (No such file or directory); name another "
     "with --folder"),
    (["--repeats", "0"], 2, "isotherm: --repeats: '0' is no number from 1 to 1000" + HELP),
    (["--rows", "raw"], 2, "isotherm: The following arguments were not expected: raw --rows" + HELP),
    (["--walls"], 2, "isotherm: The following argument was not expected: --walls" + HELP),
    (["--sizes", "1000000"], 71, None),
])
def test_refusals(tmp_path, arguments, code, message):
    result = bench(tmp_path, *arguments)
    assert result.returncode == code and result.stdout.count("\n") <= 1
    assert message is None or result.stderr.splitlines()[0] == message
    assert os.listdir(tmp_path) == []
