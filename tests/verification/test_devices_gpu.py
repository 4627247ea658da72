"""GPUs have the bits of the CPU: random bodies, on one GPU and on ranks, with and without CUDA graphs."""

import json
import random

import pytest

from bodies import run
from program import ran
from random_bodies import METHODS, SEEDS, random_body

CHOICES = {"solver.cuda_graph": ["auto", "false"], "parallel.overlap": ["true", "false"]}
LIST = json.loads(ran("list", "--json").stdout)


@pytest.mark.skipif(all(each["backend"] == "cpu" for each in LIST["devices"]), reason=str(LIST["why_no_gpu"]))
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_bodies(tmp_path, seed, method):
    deck, draw = random_body(seed, method), random.Random(seed)
    first = run(tmp_path, deck, "parallel.device=cpu", name="first")
    words = ["parallel.device=cuda", *(f"{key}={draw.choice(values)}" for key, values in CHOICES.items())]
    again = run(tmp_path, deck, *words, ranks=draw.choice([0, 0, 2]))
    assert [again[key] for key in ("exit_code", "fingerprint")] == [first[key] for key in ("exit_code", "fingerprint")], words
