"""isotherm run --profile: where the time of each rank went, on the screen and in run.json. Times are added up, never judged."""

import re

import pytest

from program import DECK, isotherm, write_deck
from runs import record

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1}
INSIDE = ["interior", "shells", "sweep", "walls", "pack", "wire", "unpack", "reduction", "diagnostics", "output", "other"]
WORDS = ["output.directory=out", "parallel.overlap=true", "parallel.transport=host", "solver.halo_width=1",
         "problem.check_interval=10", "--profile"]


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def table(text):
    """Rows by their first cells, as parts -> text. Cells stand two spaces apart; columns have their titles' right ends."""
    head, *lines = re.search(r"^  rank  .*?(?=^  ParaView|^FOM|\Z)", text, re.MULTILINE | re.DOTALL)[0].splitlines()
    parts = [(title[0], title.end()) for title in re.finditer(r"\S+", head)][3:]
    start = head.index("device") + len("device")
    rows = {}
    for line in lines:
        cells = {}
        for name, end in parts:
            cell = re.search(r"-?[\d.]+ \S+$", line[start:end])
            cells[name] = cell[0] if cell else ""
        rows[line[:start].split()[0]] = cells
    return rows


def test_numbers_add_up_and_are_those_of_the_record(tmp_path):
    write_deck(tmp_path, DECK)
    done = isotherm("run", "deck.yaml", *WORDS, ranks=2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run, rows = record(tmp_path / "out"), table(done.stdout)
    assert [row["rank"] for row in run["profile"]] == [0, 1] and set(rows) == {"0", "1", "mean", "share"}
    for row in run["profile"]:
        assert sum(row[f"{part}_s"] for part in INSIDE) == pytest.approx(row["loop_s"], rel=1e-9)
        assert row["setup_s"] + row["loop_s"] <= row["total_s"]
        assert min(row[f"{part}_s"] for part in ("interior", "shells", "pack", "wire", "unpack", "reduction", "output")) > 0
        assert row["diagnostics_s"] == 0
        for part, text in rows[str(row["rank"])].items():
            assert seconds(text) == pytest.approx(row[f"{part}_s"], rel=0.006), part
    assert "diagnostics" not in rows["0"]

    def spread(*parts):
        return [sum(row[f"{part}_s"] for part in parts) for row in run["profile"]]

    for phase, parts in {"setup": ["setup"], "sweeps": ["interior", "shells", "sweep"],
                         "halo": ["walls", "pack", "wire", "unpack"], "reduction": ["reduction"],
                         "output": ["output"], "total": ["total"]}.items():
        values, found = spread(*parts), run["phases_s"][phase]
        assert [found["min"], found["mean"], found["max"]] == pytest.approx(
            [min(values), sum(values) / 2, max(values)], rel=1e-9), phase
    loop = sum(spread("loop")) / 2
    for part in INSIDE:
        if part in rows["share"]:
            mean = sum(spread(part)) / 2
            assert seconds(rows["mean"][part]) == pytest.approx(mean, rel=0.006)
            assert float(rows["share"][part].split()[0]) == pytest.approx(100 * mean / loop, abs=0.051)


def test_without_it_nothing_is_kept(tmp_path):
    write_deck(tmp_path, DECK)
    done = isotherm("run", "deck.yaml", "output.directory=out", cwd=tmp_path)
    assert done.returncode == 0 and "share of the loop" not in done.stdout
    assert record(tmp_path / "out")["profile"] is None
