"""Ranges for profilers, as a tool sees them that NVTX loads: each phase by name, in the domain isotherm, on a CPU too."""

from collections import Counter
from pathlib import Path

import pytest

from program import DECK, isotherm, write_deck
from shim import build_shim

INCLUDES = [Path(folder) for folder in ("/usr/local/cuda/include", "/usr/include", "/usr/local/include")]
HEADERS = next((folder for folder in INCLUDES if (folder / "nvtx3/nvToolsExt.h").exists()), None)
pytestmark = pytest.mark.skipif(HEADERS is None, reason="NVTX's headers are not installed")
ROWS = ["solver.kernel=reference", "solver.reduction=reference", "output.directory=out"]


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    return build_shim(Path(__file__).with_name("trace_shim.c"), tmp_path_factory.mktemp("shim"), f"-I{HEADERS}")


def counts(folder, tool, *words, ranks=0):
    """Of each rank: name -> how many ranges."""
    write_deck(folder, DECK)
    done = isotherm("run", "deck.yaml", *ROWS, *words, ranks=ranks, cwd=folder, NVTX_INJECTION64_PATH=str(tool),
                    TRACE_COUNTS=str(folder / "counts"))
    assert done.returncode == 0, done.stderr
    found = []
    for path in sorted(folder.glob("counts.*")):
        *lines, still_open = path.read_text().splitlines()
        assert still_open == "open 0"
        assert {line.split()[0] for line in lines} == {"isotherm"}
        found.append(Counter({line.split()[1]: int(line.split()[2]) for line in lines}))
    return found


def test_each_phase_is_a_range(tmp_path, tool):
    """40 steps; norms of four and of the last for its checkpoint: each is started and finished. Three
    snapshots, each of which is started, and written by another thread; five times that slices are looked for; the checkpoint;
    and the wait behind the last sweep for what is under way."""
    found, = counts(tmp_path, tool, "problem.check_interval=10", "output.diagnostics=10")
    assert found == {"sweep": 40, "walls": 40, "reduction": 10, "diagnostics": 5, "output": 2 * 3 + 5 + 1 + 1}


def test_an_exchange_has_its_phases(tmp_path, tool):
    """Beside those of the run there are some that measure what it hides."""
    ranks = counts(tmp_path, tool, "parallel.overlap=true", "parallel.transport=host", "solver.halo_width=1",
                   "boundaries.y_min=periodic", "boundaries.y_max=periodic", ranks=2)
    assert len(ranks) == 2
    for found in ranks:
        assert found["interior"] == found["shells"] >= 40
        assert found["pack"] == found["unpack"] >= 40 and found["wire"] == 2 * found["pack"]
        assert found["copies"] >= 40 and "sweep" not in found
