"""The bits of fields do not change: fingerprints of every deck of inputs/ and of random decks equal those in frozen.json.

A commit that is meant to alter bits writes the file again, and says which bits and why:
    ISOTHERM=build/cpu/isotherm PYTHONPATH=tests/support python3 tests/verification/test_frozen.py
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

from documentation import TOP
from program import isotherm
from random_decks import random_deck

FROZEN = Path(__file__).with_name("frozen.json")
# Large grids would only take longer. Bits of steady decks are those of the plain sweeps.
SWEEPS = ["problem.method=jacobi"]
WORDS = {
    "chip_stack.yaml": ["problem.method=chebyshev", "problem.cycle=64", "problem.max_cycles=4"],
    "heated_chip.yaml": [*SWEEPS, "problem.max_sweeps=1000", "problem.check_interval=100", "output.diagnostics=500"],
    "manufactured.yaml": SWEEPS,
    "steady_flux_convection.yaml": [*SWEEPS, "problem.check_interval=1000"],
    "study_thickness.yaml": [*SWEEPS, "problem.max_sweeps=100000", "problem.check_interval=100"],
    "quickstart.yaml": ["grid.cells=[160,80,10]"],
    "openmp_speed.yaml": ["grid.cells=64", "problem.steps=100"],
    "verify_order.yaml": ["verify.order=[8, 16, 32]"],
}
SCALING = ["parallel.device=cpu", "grid.cells=48", "problem.steps=40", "problem.check_interval=20"]
SEEDS = range(200)


def inputs():  # except those whose temperatures test_validation.py tests
    paths = sorted((TOP / "inputs").glob("**/*.yaml"))
    return {str(path.relative_to(TOP)): path for path in paths if path.parent.name != "validation"}


def outcome(folder, text, *words, ranks=0):
    (folder / "deck.yaml").write_text(text, encoding="utf-8")
    done = isotherm("run", "deck.yaml", "--progress=off", "output.directory=out", "output.overwrite=true", *words, cwd=folder,
                    ranks=ranks)
    record = folder / "out" / "run.json"
    assert record.exists(), done.stderr
    return [done.returncode, json.loads(record.read_text(encoding="utf-8"))["fingerprint"]]


def outcome_of_input(folder, name):
    path = inputs()[name]
    without_cases = re.sub(r"^(study|scaling):.*\n(?:[ \n].*\n|\n)*", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return outcome(folder, without_cases, *(SCALING if path.parent.name == "scaling" else WORDS.get(path.name, [])))


def outcome_of_seed(folder, seed):
    deck, ranks = random_deck(seed)
    return outcome(folder, json.dumps(deck), ranks=ranks if ranks > 1 else 0)


def frozen():
    return json.loads(FROZEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", inputs())
def test_decks_of_inputs(tmp_path, name):
    assert outcome_of_input(tmp_path, name) == frozen()["inputs"][name]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_decks(tmp_path, seed):
    assert outcome_of_seed(tmp_path, seed) == frozen()["random"][str(seed)], random_deck(seed)


def write():
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        found = {"inputs": {name: outcome_of_input(Path(folder), name) for name in inputs()},
                 "random": {str(seed): outcome_of_seed(Path(folder), seed) for seed in SEEDS}}
    text = re.sub(r"\[\s+(\d+),\s+(\"\w+\")\s+\]", r"[\1, \2]", json.dumps(found, indent=1))
    FROZEN.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(write())
