"""isotherm check where the run will not be: GPUs that are not here, more ranks than can be listed."""

import os
import re

import pytest

from program import DECK, isotherm, write_deck

BLIND = {"CUDA_VISIBLE_DEVICES": ""}
CUDA = "parallel.device=cuda"


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, DECK)
    return tmp_path


def check(folder, *words, code=0, **where):
    done = isotherm("check", "deck.yaml", *words, cwd=folder, **BLIND, **where)
    assert done.returncode == code, done.stderr
    assert os.listdir(folder) == ["deck.yaml"]
    return done


def test_a_host_without_gpus_plans_for_them(folder):
    out = check(folder, "--ranks", 8, CUDA).stdout
    assert re.search(r"^process grid    \d x \d x \d \(8 ranks\)", out, re.MULTILINE)
    assert re.search(r"^placement       a GPU for each rank, on other hosts \(here: no CUDA device \(.+\)\); their memory and speed are "
                     r"not known here$", out, re.MULTILINE)
    assert re.search(r" a rank of device memory.*, of a GPU that is not here: --gpu-memory 80GiB says what one has$", out, re.MULTILINE)
    assert "  what norms take is not known here\n" in out and "partial results of norms" not in out
    assert re.search(r"^  fields, ghosts, sources +\S+ \S+  device$", out, re.MULTILINE)


@pytest.mark.parametrize("words", [(), ("solver.halo_width=2", "--ranks", 2), ("precision=fp32",), ("parallel.transport=nccl", "--ranks", 2),
                                   ("boundaries={x_min: periodic, x_max: periodic}", "problem.steps=100000000")])
def test_whatever_else_the_deck_says(folder, words):
    assert "a GPU for each rank, on other hosts" in check(folder, CUDA, *words).stdout


def test_gpu_is_cuda(folder):
    out = check(folder, "parallel.device=gpu", "--resolved").stdout
    assert "  device: cuda\n" in out and "a GPU for each rank, on other hosts" in out


def test_what_a_gpu_of_the_plan_has_decides(folder):
    """Two fields of 1024^3 cells are 16 GiB in fp64; --gpu-memory speaks of GPUs, asked for or not."""
    large = "grid.cells=1024"
    for words in ((CUDA,), ()):
        out = check(folder, large, *words, "--gpu-memory", "80GiB").stdout
        assert re.search(r"^ +16\.\d+ GiB a rank of device memory.*, of 80\.00 GiB \(--gpu-memory\)$", out, re.MULTILINE)
        err = check(folder, large, *words, "--gpu-memory", "16 GB", code=71).stderr
        assert re.fullmatch(r"a rank needs 16\.\d+ GiB of device memory and --gpu-memory gives it 14\.90 GiB; use a smaller grid, "
                            r"fp32 or more ranks\n", err)
        check(folder, large, *words, "--gpu-memory", "16GB", "--ranks", 2)
    err = check(folder, "parallel.device=cpu", "--gpu-memory", "80GiB", code=2).stderr
    assert err == "--gpu-memory is of GPUs, and the deck computes on the CPU; use parallel.device=cuda, or leave it out\n"


def test_a_job_that_is_there_is_not_planned_but_asked(folder):
    line = check(folder, CUDA, ranks=2, code=69).stderr.splitlines()[0]
    assert line.startswith("argument 3: parallel.device: no CUDA device (")
    assert line.endswith("; use parallel.device=cpu, or run where every rank sees a GPU")
    check(folder, CUDA, "--ranks", 4, ranks=2)


def test_a_run_needs_its_gpus(folder):
    done = isotherm("run", "deck.yaml", CUDA, cwd=folder, **BLIND)
    assert done.returncode == 69 and os.listdir(folder) == ["deck.yaml"]


def test_cases_of_a_study_are_planned_for_too(folder):
    write_deck(folder, DECK + "study: {matrix: {parallel.device: [cpu, cuda]}}\n")
    lines = check(folder).stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["device-cpu", "device-cuda"]


def test_many_ranks_are_a_summary(folder):
    """16 are listed; more only where they are asked for."""
    def ranks(*words):
        out = check(folder, "grid.cells=100", "parallel.device=cpu", *words).stdout
        assert out.splitlines()[0].startswith("process grid")
        return out, [int(n) for n in re.findall(r"^  rank (\d+) +cells ", out, re.MULTILINE)]

    assert ranks("--ranks", 16)[1] == list(range(16))
    out, listed = ranks("--ranks", 1000)
    assert listed == [] and re.search(r"^process grid    \d+ x \d+ x \d+ \(1000 ranks\), 1000 to 1000 cells a rank$", out, re.MULTILINE)
    assert "  their cells and neighbours: --ranks-table\n" in out and out.count("\n") < 25
    assert ranks("--ranks", 1000, "--ranks-table")[1] == list(range(1000))


def test_the_resolved_deck_stands_before_the_plan_where_it_is_asked_for(folder):
    plan = check(folder).stdout
    both = check(folder, "--resolved").stdout
    deck, rest = both.split("\n# what a run of it is\n")
    assert deck.startswith("# the resolved deck\ngrid:\n  cells: [17, 23, 31]\n")
    assert [line.split()[0] for line in rest.splitlines()] == [line.split()[0] for line in plan.splitlines()]
