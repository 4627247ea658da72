"""Rank counts that a grid cannot have, ranks that disagree, and ranks that fail: one message, one code, no hang."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cli import BASE_DECK

from program import HANGS, command, expect_refused, is_running, isotherm, ranks_of, write_deck
from shim import build_shim

START = "no process grid of "
TOO_MANY_PARTS = [  # cells, ranks, what follows START
    (1, 2, "2 ranks fits 1x1x1 cells (there is room for 1x1x1 blocks, none thinner than 1 cell); use 1 rank, the "
           "most that fit"),
    (1, 8, "8 ranks fits 1x1x1 cells (there is room for 1x1x1 blocks, none thinner than 1 cell); use 1 rank, the "
           "most that fit"),
    (2, 5, "5 ranks fits 2x2x2 cells (there is room for 2x2x2 blocks, none thinner than 1 cell); use 4 ranks, the "
           "next lower count that fits; the most are 8"),
    (2, 7, "7 ranks fits 2x2x2 cells (there is room for 2x2x2 blocks, none thinner than 1 cell); use 4 ranks, the "
           "next lower count that fits; the most are 8"),
]
GRIDS = [  # process grid, ranks, the line
    ("[3, 1, 1]", 2, "argument 3: parallel.process_grid: 3 x 1 x 1 is a grid of 3 ranks and the job has 2; use auto, "
                     "or start 3 ranks"),
    ("[2, 2, 1]", 3, "argument 3: parallel.process_grid: 2 x 2 x 1 is a grid of 4 ranks and the job has 3; use auto, "
                     "or start 4 ranks"),
    ("[1, 1, 1]", 8, "argument 3: parallel.process_grid: 1 x 1 x 1 is a grid of 1 rank and the job has 8; use auto, "
                     "or start 1 rank"),
]


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, BASE_DECK)
    return tmp_path



@pytest.mark.parametrize("verb", ["check", "run"])
@pytest.mark.parametrize("cells, ranks, tail", TOO_MANY_PARTS)
def test_more_ranks_than_cells(folder, verb, cells, ranks, tail):
    done = isotherm(verb, "deck.yaml", f"grid.cells={cells}", ranks=ranks, cwd=folder)
    expect_refused(folder, done, 65, START + tail)


@pytest.mark.parametrize("cells, ranks, tail", TOO_MANY_PARTS)
def test_more_planned_ranks_than_cells(folder, cells, ranks, tail):
    done = isotherm("check", "deck.yaml", "--ranks", ranks, f"grid.cells={cells}", cwd=folder)
    expect_refused(folder, done, 65, START + tail)
    assert done.stderr == START + tail + "\n"


@pytest.mark.parametrize("verb", ["check", "run"])
@pytest.mark.parametrize("grid, ranks, line", GRIDS)
def test_process_grid_of_another_rank_count(folder, verb, grid, ranks, line):
    done = isotherm(verb, "deck.yaml", f"parallel.process_grid={grid}", ranks=ranks, cwd=folder)
    expect_refused(folder, done, 65, line)


@pytest.mark.parametrize("grid, ranks, line", GRIDS)
def test_process_grid_of_another_planned_rank_count(folder, grid, ranks, line):
    done = isotherm("check", "deck.yaml", f"parallel.process_grid={grid}", "--ranks", ranks, cwd=folder)
    expect_refused(folder, done, 65, line)


def test_process_grid_thinner_than_the_axis(folder):
    done = isotherm("check", "deck.yaml", "parallel.process_grid=[9, 1, 1]", "--ranks", 9, cwd=folder)
    expect_refused(folder, done, 65, "process grid 9x1x1 leaves ranks without cells (axis x has 8 cells for 9 "
                                      "ranks); use at most 8 ranks along x")


# Rank 0 stops every half a second to tell how far it is; the others do not. It must stop where halos are exchanged.
def test_progress_leaves_the_exchanges_where_they_are(folder):
    prints = set()
    for depth in 1, 3:
        done = isotherm("run", "deck.yaml", f"solver={{halo_width: {depth}, kernel: reference}}", "grid.cells=[64, 64, 96]",
                        "initial=[{shape: formula, formula: 300+sin(90*x*y+z)}]", "problem.steps=1200",
                        "problem.check_interval=2000", f"output.directory={depth}", ranks=2, cwd=folder)
        assert done.returncode == 0, done.stderr
        prints.add(json.loads((folder / str(depth) / "run.json").read_text())["fingerprint"])
    assert len(prints) == 1


def test_a_wrong_deck_is_told_once_by_many_ranks(folder):
    done = isotherm("run", "deck.yaml", "grid.cells=0", ranks=4, cwd=folder)
    expect_refused(folder, done, 65, "argument 3: grid.cells: 0 is out of range; write a whole number from 1 to "
                                      "1e12, or [x, y, z]")


def mpmd(folder, *parts):
    """One rank for each tuple of arguments, in one job."""
    line = []
    for part in parts:
        line += [":"] * bool(line) + command(*part, ranks=1)[line != []:]
    return subprocess.run(line, cwd=folder, timeout=HANGS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)


DIFFERENT = [
    (("run", "deck.yaml", "problem.steps=1"), ("run", "deck.yaml", "problem.steps=2")),
    (("run", "deck.yaml"), ("run", "other.yaml")),
    (("run", "deck.yaml"), ("check", "deck.yaml")),
    (("check", "--ranks", "2", "deck.yaml"), ("check", "--ranks", "3", "deck.yaml")),
]


@pytest.mark.parametrize("first, second", DIFFERENT, ids=["overrides", "decks", "verbs", "planned ranks"])
def test_ranks_with_different_arguments(folder, first, second):
    version = isotherm("--version").stdout.split()
    program = f"isotherm {version[1]} {version[3].strip(',')}"
    done = mpmd(folder, first, second)
    expect_refused(folder, done, 70,
                    f"rank 1 runs '{program} {' '.join(second)}' and rank 0 runs '{program} {' '.join(first)}' (one "
                    "job is one problem); start all ranks with the same program and arguments")


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return build_shim(Path(__file__).with_name("rank_shim.c"), tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize("ranks", [0, 2])
def test_too_low_a_thread_level(shim, folder, ranks):
    done = isotherm("run", "deck.yaml", ranks=ranks, cwd=folder, LD_PRELOAD=str(shim),
                    ISOTHERM_THREAD_LEVEL="0")
    assert done.returncode == 69, done.stderr
    assert ("this MPI gives thread level MPI_THREAD_SINGLE (isotherm runs threads beside it and needs "
            "MPI_THREAD_FUNNELED); use an MPI library built with thread support\n") in done.stderr
    assert os.listdir(folder) == ["deck.yaml"]


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_no_memory_on_one_rank(shim, folder, rank):
    done = isotherm("run", "deck.yaml", "grid.cells=48", ranks=3, cwd=folder, LD_PRELOAD=str(shim),
                    ISOTHERM_NO_MEMORY=f"{rank}:100000")
    assert done.returncode == 71, done.stderr
    lines = [line for line in done.stderr.splitlines() if "cannot allocate" in line]
    assert len(lines) == 1, done.stderr
    assert lines[0].endswith("; use a smaller grid, fp32 or more ranks")
    assert not list(folder.glob("runs/deck/*.hdf"))


def test_a_killed_rank_ends_the_job(folder):
    process = subprocess.Popen(
        command("run", "deck.yaml", "grid.cells=64", "problem.steps=1000000", "problem.check_interval=1",
                "output.directory=out", ranks=3),
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + HANGS
    while not (folder / "out" / "history.csv").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    ranks = ranks_of(process.pid)
    assert len(ranks) == 3
    os.kill(ranks[1], signal.SIGKILL)
    _, text = process.communicate(timeout=HANGS)
    assert process.returncode not in (0, None), text
    # The launcher kills the others, and does not wait until they are gone.
    while any(is_running(pid) for pid in ranks) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in ranks)
