"""Rank counts that a grid cannot have, ranks that disagree or fail, transports that a deck cannot have, an MPI that lies or is
silent: one message before any work, one code, no hang. And odd numbers of ranks, with the bits of one."""

import json
import os
import signal
import subprocess
import time

import pytest

from cli import BASE_DECK
from program import command, expect_refused, HANGS, is_running, isotherm, ran, ranks_of, write_deck
import runs
from runs import expect_same_answer

START = "no process grid of "
TOO_MANY_PARTS = [  # cells, ranks, what follows START
    (1, 2, "2 ranks fits 1x1x1 cells (there is room for 1x1x1 blocks, none thinner than 1 cell); use 1 rank, the "
           "most that fit"),
    (1, 8, "8 ranks fits 1x1x1 cells (there is room for 1x1x1 blocks, none thinner than 1 cell)"),
    (2, 5, "5 ranks fits 2x2x2 cells (there is room for 2x2x2 blocks, none thinner than 1 cell); use 4 ranks, the "
           "next lower count that fits; the most are 8"),
    (2, 7, "7 ranks fits 2x2x2 cells (there is room for 2x2x2 blocks, none thinner than 1 cell); use 4 ranks, the "
           "next lower count that fits; the most are 8"),
]
GRIDS = [  # process grid, ranks, the line
    ("[3, 1, 1]", 2, "argument 3: parallel.process_grid: 3 x 1 x 1 is a grid of 3 ranks and the job has 2"),
    ("[2, 2, 1]", 3, "argument 3: parallel.process_grid: 2 x 2 x 1 is a grid of 4 ranks and the job has 3"),
    ("[1, 1, 1]", 8, "argument 3: parallel.process_grid: 1 x 1 x 1 is a grid of 1 rank and the job has 8"),
]


@pytest.mark.parametrize("verb", ["check", "run"])
@pytest.mark.parametrize("cells, ranks, tail", TOO_MANY_PARTS)
def test_more_ranks_than_cells(folder, verb, cells, ranks, tail):
    done = isotherm(verb, "deck.yaml", f"grid.cells={cells}", ranks=ranks, cwd=folder)
    expect_refused(folder, done, 65, START + tail)


@pytest.mark.parametrize("cells, ranks, tail", TOO_MANY_PARTS)
def test_more_planned_ranks_than_cells(folder, cells, ranks, tail):
    done = isotherm("check", "deck.yaml", "--ranks", ranks, f"grid.cells={cells}", cwd=folder)
    expect_refused(folder, done, 65, START + tail)


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
        ran("run", "deck.yaml", f"solver={{halo_width: {depth}, kernel: reference}}", "grid.cells=[64, 64, 96]",
            "initial=[{shape: formula, formula: 300+sin(90*x*y+z)}]", "problem.steps=1200",
            "problem.check_interval=2000", f"output.directory={depth}", ranks=2, cwd=folder)
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


@pytest.mark.parametrize("ranks", [0, 2])
def test_too_low_a_thread_level(rank_shim, folder, ranks):
    done = ran("run", "deck.yaml", ranks=ranks, cwd=folder, LD_PRELOAD=str(rank_shim), ISOTHERM_THREAD_LEVEL="0",
               code=69)
    assert ("this MPI gives thread level MPI_THREAD_SINGLE (isotherm runs threads beside it and needs "
            "MPI_THREAD_FUNNELED); use an MPI library built with thread support\n") in done.stderr
    assert os.listdir(folder) == ["deck.yaml"]


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_no_memory_on_one_rank(rank_shim, folder, rank):
    done = ran("run", "deck.yaml", "grid.cells=48", ranks=3, cwd=folder, LD_PRELOAD=str(rank_shim),
               ISOTHERM_NO_MEMORY=f"{rank}:100000", code=71)
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


WAVES = 'initial=[{shape: formula, formula: "300 + 50*x + 7*y*y + 3*sin(9*z)"}]'


@pytest.mark.parametrize("cells, ranks", [
    ("[7, 1, 1]", 7),  # a cell a rank
    ("[1, 13, 1]", 13),
    ("[5, 7, 13]", 13),
])
def test_odd_numbers_of_ranks(tmp_path, cells, ranks):
    write_deck(tmp_path, BASE_DECK)
    words = [f"grid.cells={cells}", WAVES, "solver.reduction=reproducible", "problem.check_interval=3"]
    for n, out in ((0, "one"), (ranks, "many")):
        ran("run", "deck.yaml", *words, f"output.directory={out}", ranks=n, cwd=tmp_path)
    expect_same_answer(tmp_path / "one", tmp_path / "many")


NO_RESULTS = ["output.snapshots=false", "output.history=false"]
CPU = "parallel.device=cpu"


@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_name_that_is_no_transport(folder, verb, ranks):
    done = ran(verb, "deck.yaml", "parallel.transport=hots", ranks=ranks, cwd=folder, code=65)
    line = done.stderr.splitlines()[0]
    assert line.startswith("argument 3: parallel.transport: unknown word 'hots'; did you mean 'host'? One of auto, host")
    expect_refused(folder, done, 65, line)


@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_transport_that_needs_a_gpu(folder, verb, ranks):
    done = isotherm(verb, "deck.yaml", CPU, "parallel.transport=mpi_device", ranks=ranks, cwd=folder)
    expect_refused(folder, done, 69, "argument 4: parallel.transport: transport 'mpi_device' cannot be used here "
                                     "(needs a GPU; host does the same here); use auto, or another of isotherm list")


def test_check_of_planned_ranks_says_so_too(folder):
    done = ran("check", "deck.yaml", "--ranks", 4, CPU, "parallel.transport=nccl", cwd=folder, code=69)
    assert "parallel.transport: transport 'nccl' cannot be used here (" in done.stderr


def test_list_says_why(folder):
    done = isotherm("list", cwd=folder, CUDA_VISIBLE_DEVICES="")
    table = done.stdout[done.stdout.index("transports (parallel.transport)"):]
    lines = {line.split()[0]: line for line in table.splitlines() if line.startswith("  ")}
    assert "  yes  " in lines["host"] and "  yes  " in lines["mock"]
    assert "no: needs a GPU; host does the same here" in lines["mpi_device"]
    assert "no: " in lines["nccl"]


@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_transport_that_moves_nothing_gives_no_results(folder, verb):
    done = isotherm(verb, "deck.yaml", "parallel.transport=mock", "output.history=false", cwd=folder)
    expect_refused(folder, done, 65, "argument 3: parallel.transport: 'mock' moves nothing, so that every result is "
                                     "wrong; use another, or leave no results: output.snapshots false")


@pytest.mark.parametrize("ranks", [0, 2])
def test_a_run_that_moves_nothing_has_no_fingerprint(folder, ranks):
    done = ran("run", "deck.yaml", CPU, "parallel.transport=mock", *NO_RESULTS, ranks=ranks, cwd=folder)
    record = runs.record(folder / "runs/deck")
    assert record["fingerprint"] is None
    assert [w for w in record["warnings"] if "'mock' moves nothing: the field is meaningless" in w]
    assert "fingerprint" not in done.stdout
    assert os.listdir(folder / "runs/deck").count("history.csv") == 0


@pytest.mark.parametrize("overlap", ["true", "false"])
def test_a_run_says_what_it_hides(folder, overlap):
    done = ran("run", "deck.yaml", CPU, f"parallel.overlap={overlap}", *NO_RESULTS, ranks=2, cwd=folder)
    halo = runs.record(folder / "runs/deck")["halo"]
    assert 0 <= halo["hidden_percent"] <= 100
    assert 0 < halo["exchange_s"] and 0 <= halo["exposed_s"]
    assert (halo["exposed_s"] == 0) == (halo["hidden_percent"] == 100)
    assert f"{halo['hidden_percent']:.1f} % hidden: of an exchange of " in done.stdout
    assert "\nFOM halo_hidden: " in done.stdout


def test_a_run_without_neighbours_hides_nothing(folder):
    done = ran("run", "deck.yaml", CPU, *NO_RESULTS, ranks=1, cwd=folder)
    halo = runs.record(folder / "runs/deck")["halo"]
    assert (halo["hidden_percent"], halo["exchange_s"], halo["exposed_s"]) == (None, None, None)
    assert "hidden" not in done.stdout


def faulty(folder, halo_shim, fault, *arguments):
    """Only what never comes is given up after so short a time."""
    patience = 1 if fault.endswith("lost") else 600
    return isotherm("run", "deck.yaml", CPU, f"parallel.probe_timeout={patience}", *arguments, "solver.halo_width=1", ranks=2, cwd=folder,
                    LD_PRELOAD=str(halo_shim), ISOTHERM_HALO_FAULT=fault)


SIZES = {8: 64, 96: 9216}  # cells along an axis: of a face that MPI sends at once, of one that it announces first


@pytest.mark.parametrize("cells", SIZES)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("fault, what", [("zeros", "{0} of {0} cells arrived wrong"), ("lost", "no answer within 1 s")])
def test_an_mpi_that_fails_halos(folder, halo_shim, cells, rank, fault, what):
    done = faulty(folder, halo_shim, f"{rank}:{fault}", f"grid.cells={cells}")
    line = done.stderr.splitlines()[0]
    assert line.startswith("argument 3: parallel.transport: no transport works between ranks 0 and 1 (host: "
                           f"{what.format(SIZES[cells])}; ")
    assert line.endswith("); look at the MPI library and the network between them")
    expect_refused(folder, done, 69, line)


def test_a_named_transport_that_fails(folder, halo_shim):
    done = faulty(folder, halo_shim, "1:zeros", "parallel.transport=host")
    line = done.stderr.splitlines()[0]
    assert line.startswith("argument 5: parallel.transport: transport 'host' does not work between ranks 0 and 1 (72 of "
                           "72 cells arrived wrong); use auto")
    expect_refused(folder, done, 69, line)


def test_the_shim_leaves_other_runs_alone(folder, halo_shim):
    done = faulty(folder, halo_shim, "7:zeros")
    assert done.returncode == 0, done.stderr
