"""Times of a run: isotherm run --profile, printed and in run.json (the tests check sums, not speed); and NVTX ranges for profilers, read
by a tool that NVTX loads: by name, in the domain isotherm, also on a CPU."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from program import DECK
from runs import recorded
from shim import build_shim

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1}
INSIDE = ["interior", "exterior", "sweep", "boundaries", "pack", "wire", "unpack", "reduction", "diagnostics", "output", "other"]
WORDS = ["parallel.overlap=true", "parallel.transport=host", "solver.halo_width=1",
         "problem.check_interval=10", "--profile"]


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def table(text):
    """Rows by their first cells, as parts -> number and unit. Columns after the device end as titles do."""
    head, *lines = re.search(r"^  rank  .*?(?=^  ParaView|^FOM|\Z)", text, re.MULTILINE | re.DOTALL)[0].splitlines()
    titles = list(re.finditer(r"\S+", head))[2:]  # after rank and host
    columns = [(title[0], slice(before.end(), title.end())) for before, title in pairwise(titles)]
    return {line.split()[0]: {part: " ".join(line[column].split()[-2:]) for part, column in columns}
            for line in lines}


def expect_phases_to_add_up(phases):
    whole = sum(phases[phase]["mean"] for phase in ("setup", "sweeps", "halo", "reduction", "diagnostics", "output", "other"))
    assert whole == pytest.approx(phases["total"]["mean"], rel=1e-9)


def test_numbers_add_up_and_are_those_of_the_record(tmp_path):
    done, run = recorded(tmp_path, DECK, *WORDS, ranks=2)
    rows = table(done.stdout)
    assert [row["rank"] for row in run["profile"]] == [0, 1] and set(rows) == {"0", "1", "mean", "share"}
    for row in run["profile"]:
        assert sum(row[f"{part}_s"] for part in INSIDE) == pytest.approx(row["loop_s"], rel=1e-9)
        assert row["setup_s"] + row["loop_s"] <= row["total_s"] and row["diagnostics_s"] == 0
        assert min(row[f"{part}_s"] for part in ("interior", "exterior", "pack", "wire", "unpack", "reduction", "output")) > 0
        for part, text in rows[str(row["rank"])].items():
            assert seconds(text) == pytest.approx(row[f"{part}_s"], rel=0.006), part
    assert "diagnostics" not in rows["0"]

    def spread(*parts):
        values = [sum(row[f"{part}_s"] for part in parts) for row in run["profile"]]
        return [min(values), sum(values) / 2, max(values)]

    phases = {"setup": ["setup"], "sweeps": ["interior", "exterior", "sweep"],
              "halo": ["boundaries", "pack", "wire", "unpack"], "reduction": ["reduction"], "output": ["output"],
              "total": ["total"]}
    phases["stepping"] = phases["sweeps"] + phases["halo"] + phases["reduction"]
    for phase, parts in phases.items():
        assert [run["phases_s"][phase][name] for name in ("min", "mean", "max")] == pytest.approx(spread(*parts), rel=1e-9), phase
    expect_phases_to_add_up(run["phases_s"])
    for part in set(INSIDE) & set(rows["share"]):
        mean = spread(part)[1]
        assert seconds(rows["mean"][part]) == pytest.approx(mean, rel=0.006)
        assert float(rows["share"][part].split()[0]) == pytest.approx(100 * mean / spread("loop")[1], abs=0.051)
    done, run = recorded(tmp_path, DECK, out="without")
    assert "share of the loop" not in done.stdout and run["profile"] is None


BODY = """\
grid: {cells: 32, lengths: 0.1}
materials:
  a: {conductivity: 148, density: 2330, heat_capacity: 700}
  b: {conductivity: 1, density: 2330, heat_capacity: 700}
material: {default: a}
regions: [{material: b, shape: sphere, centre: [0.05, 0.05, 0.05], radius: 0.03}]
boundaries: {x_min: {kind: temperature, value: 300}}
initial: [{shape: constant, value: 310}]
output: {snapshots: false, diagnostics: 3}
"""


@pytest.mark.parametrize("problem", ["{kind: steady, max_cycles: 1}", "{steps: 60}", "{steps: 2}"])
def test_phases_add_up_to_the_whole(tmp_path, problem):
    """Exchanges of coarse grids that are made before the loop; diagnostics between sweeps of an autotuner that ends, or does not."""
    _, run = recorded(tmp_path, BODY + f"problem: {problem}\n", ranks=2)
    expect_phases_to_add_up(run["phases_s"])


INCLUDES = [Path(folder) for folder in ("/usr/local/cuda/include", "/usr/include", "/usr/local/include")]
HEADERS = next((folder for folder in INCLUDES if (folder / "nvtx3/nvToolsExt.h").exists()), None)
needs_nvtx = pytest.mark.skipif(HEADERS is None, reason="NVTX's headers are not installed")
ROWS = ["solver.kernel=reference", "solver.reduction=reference"]


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    return build_shim(Path(__file__).with_name("trace_shim.c"), tmp_path_factory.mktemp("shim"), f"-I{HEADERS}")


def counts(folder, tool, *words, ranks=0):
    """For each rank: name -> number of ranges."""
    recorded(folder, DECK, *ROWS, *words, ranks=ranks, NVTX_INJECTION64_PATH=str(tool),
             TRACE_RANGES=str(folder / "ranges"))
    lines = [line.split() for line in (folder / "ranges").read_text().splitlines()]
    assert {domain for _, domain, _ in lines} == {"isotherm"}
    found = [Counter(name for own, _, name in lines if own == pid) for pid in {pid for pid, *_ in lines}]
    for names in found:
        assert names.pop("end") == sum(names.values())
    return found


@needs_nvtx
def test_each_phase_is_a_range(tmp_path, tool):
    """40 steps; norms at four of them and for the final checkpoint, each started and finished. Output: three snapshots, each started and
    then written by another thread; five searches for slices; the checkpoint; and the final wait for pending files."""
    found, = counts(tmp_path, tool, "problem.check_interval=10", "output.diagnostics=10")
    assert found == {"sweep": 40, "boundaries": 40, "reduction": 10, "diagnostics": 5, "output": 2 * 3 + 5 + 1 + 1}


@needs_nvtx
def test_an_exchange_has_its_phases(tmp_path, tool):
    """The measurement of the hidden part adds some to those of the run."""
    ranks = counts(tmp_path, tool, "parallel.overlap=true", "parallel.transport=host", "solver.halo_width=1",
                   "boundaries.y_min=periodic", "boundaries.y_max=periodic", ranks=2)
    assert len(ranks) == 2
    for found in ranks:
        assert found["interior"] == found["exterior"] >= 40
        assert found["pack"] == found["unpack"] >= 40 and found["wire"] == 2 * found["pack"]
        assert found["copies"] >= 40 and "sweep" not in found
