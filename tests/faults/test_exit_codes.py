"""Each exit code, by the shortest way to it: scripts test them, so they never change."""

import errno
from pathlib import Path

import pytest
from cli import BASE_DECK

from program import isotherm, write_deck
from shim import build_shim

HOT = "boundaries.x_min={kind: temperature, value: 400}"
UNSTABLE = ["problem.dt=0.01", "problem.allow_unstable=true", "problem.steps=2000",
            'initial=[{shape: formula, formula: "300 + sin(500*x)"}]']
WAYS = {
    "done": (0, ["run", "deck.yaml"]),
    "command line": (2, ["run", "deck.yaml", "--frob"]),
    "not converged": (10, ["run", "deck.yaml", "problem={kind: steady, max_sweeps: 3}", "material={conductivity: 1}", HOT]),
    "deck": (65, ["run", "deck.yaml", "grid.cells=0"]),
    "file missing": (66, ["run", "nothing.yaml"]),
    "unavailable": (69, ["run", "deck.yaml", "parallel.device=cpu", "parallel.transport=nccl"]),
    "memory": (71, ["run", "deck.yaml", "grid.cells=8000"]),
    "cannot create": (73, ["run", "deck.yaml", "output.directory=deck.yaml"]),
    "stopped": (75, ["run", "deck.yaml", "solver.walltime=0.001"]),
    "diverged": (76, ["run", "deck.yaml", *UNSTABLE]),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_code_for_each(tmp_path, way):
    code, words = WAYS[way]
    write_deck(tmp_path, BASE_DECK)
    done = isotherm(*words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    if code not in (0, 10):
        assert done.stderr.count("\n") == 1 or way == "memory", done.stderr


def test_io(tmp_path):
    shim = build_shim(Path(__file__).with_name("io_shim.c"), tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    done = isotherm("run", write_deck(folder, BASE_DECK), cwd=folder, LD_PRELOAD=str(shim),
                    ISOTHERM_SHIM=f"reserve:1:{errno.ENOSPC}")
    assert done.returncode == 74, done.stderr


def test_help_names_them_all():
    """70, which needs ranks that disagree, is in test_ranks.py."""
    text = isotherm("--help").stdout
    for code in sorted({code for code, _ in WAYS.values()} | {70, 74}):
        assert f" {code} " in text, code
