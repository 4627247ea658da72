"""Rank counts that do not suit the grid, ranks that disagree or fail, transports that a deck cannot use, an MPI that corrupts or loses
messages: one message before any work, one code, no hang. And odd numbers of ranks, with the bits of one rank."""

import os
import signal

import pytest

from job import Job, wait_until_gone
from program import BASE_DECK, command, expect_rejected, finished, HANGS, isotherm, ran, ranks_of
from runs import expect_same_answer, recorded

CPU = "parallel.device=cpu"


@pytest.mark.parametrize("word, ranks, line", [
    ("grid.cells=1", 2, "no process grid of 2 ranks fits 1x1x1 cells ("),  # unit/test_decomposition.cpp tests the whole message
    ("parallel.process_grid=[2, 2, 1]", 3, "argument 3: parallel.process_grid: 2 x 2 x 1 is a grid of 4 ranks and the job has 3"),
    ("parallel.process_grid=[9, 1, 1]", 9, "process grid 9x1x1 leaves ranks without cells (axis x has 8 cells for 9 ranks); "),
    ("grid.cells=0", 4, "argument 3: grid.cells: 0 is out of range; ")])
def test_a_rank_count_that_the_grid_cannot_have(folder, word, ranks, line):
    """Reported once, for a planned rank count and for that of the job; by `run` and by `check`."""
    expect_rejected(folder, isotherm("check", "deck.yaml", word, "--ranks", ranks, cwd=folder), 65, line)
    for subcommand in ("check", "run") if ranks < 4 else ["run"] * (ranks < 9):
        expect_rejected(folder, isotherm(subcommand, "deck.yaml", word, ranks=ranks, cwd=folder), 65, line)


def test_progress_does_not_move_the_exchanges(folder):
    """Rank 0 stops every half second to print progress, other ranks do not. It must stop only between exchange periods."""
    words = ["grid.cells=[64, 64, 96]", "initial=[{shape: formula, formula: 300+sin(90*x*y+z)}]", "problem.steps=600",
             "problem.check_interval=2000", "output.overwrite=true", "solver.kernel=reference"]
    one, three = (recorded(folder, BASE_DECK, *words, f"solver.halo_width={width}", ranks=2)[1] for width in (1, 3))
    assert one["fingerprint"] == three["fingerprint"]


@pytest.mark.parametrize("first, second", [
    (("run", "deck.yaml", "problem.steps=1"), ("run", "deck.yaml", "problem.steps=2")),
    (("run", "deck.yaml"), ("run", "other.yaml")),
    (("run", "deck.yaml"), ("check", "deck.yaml")),
    (("check", "--ranks", "2", "deck.yaml"), ("check", "--ranks", "3", "deck.yaml"))],
    ids=["overrides", "decks", "subcommands", "planned ranks"])
def test_ranks_with_different_arguments(folder, first, second):
    version = isotherm("--version").stdout.split()
    program = f"isotherm {version[1]} {version[3].strip(',')}"
    done = finished([*command(*first, ranks=1), ":", *command(*second, ranks=1)[1:]], cwd=folder)
    expect_rejected(folder, done, 70, f"rank 1 runs '{program} {' '.join(second)}' and rank 0 runs '{program} {' '.join(first)}' (")


def test_ranks_that_find_different_files(folder):
    """As if the run that `initial` names wrote a snapshot between the searches of two ranks."""
    words = command("check", "deck.yaml", "initial=[{shape: dataset, file: a.h5, dataset: a}]", ranks=1)
    done = finished([*words, ":", "-wdir", str(folder.parent), *words[1:]], cwd=folder)
    expect_rejected(folder, done, 65, "deck.yaml: ranks found different files by its paths (")


@pytest.mark.parametrize("ranks", [0, 2])
def test_too_low_a_thread_level(rank_shim, folder, ranks):
    done = ran("run", "deck.yaml", ranks=ranks, cwd=folder, LD_PRELOAD=str(rank_shim), ISOTHERM_THREAD_LEVEL="0",
               code=69)
    assert "this MPI gives thread level MPI_THREAD_SINGLE (" in done.stderr
    assert os.listdir(folder) == ["deck.yaml"]


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_no_memory_on_one_rank(rank_shim, folder, rank):
    done = ran("run", "deck.yaml", "grid.cells=48", ranks=3, cwd=folder, LD_PRELOAD=str(rank_shim),
               ISOTHERM_NO_MEMORY=f"{rank}:100000", code=71)
    lines = [line for line in done.stderr.splitlines() if "cannot allocate" in line]
    assert len(lines) == 1, done.stderr
    assert lines[0].endswith("; use a smaller grid, fp32 or more ranks")
    assert not list(folder.glob("runs/deck/*.hdf"))


def test_a_killed_rank_ends_the_job(tmp_path):
    """The launcher kills the others, and does not wait until they have ended."""
    job = Job(tmp_path, ranks=3)
    job.wait_for("history.csv")
    ranks = ranks_of(job.process.pid)
    assert len(ranks) == 3
    job.send(signal.SIGKILL, ranks[1])
    assert job.end()[0] not in (0, None)
    wait_until_gone(*ranks)


@pytest.mark.parametrize("cells, ranks", [("[7, 1, 1]", 7), ("[1, 13, 1]", 13), ("[5, 7, 13]", 13)])  # one cell per rank; and more
def test_odd_numbers_of_ranks(folder, cells, ranks):
    words = [f"grid.cells={cells}", 'initial=[{shape: formula, formula: "300 + 50*x + 7*y*y + 3*sin(9*z)"}]',
             "solver.reduction=reproducible", "problem.check_interval=3"]
    for n, out in ((0, "one"), (ranks, "many")):
        ran("run", "deck.yaml", *words, f"output.directory={out}", ranks=n, cwd=folder, timeout=2 * HANGS)
    expect_same_answer(folder / "one", folder / "many")


NO_RESULTS = ["output.snapshots=false", "output.history=false"]


@pytest.mark.parametrize("subcommand, ranks", [("check", 0), ("run", 0), ("run", 2)])
@pytest.mark.parametrize("name, why", [("mpi_device", "needs a GPU; "), ("nccl", "")])
def test_a_transport_that_a_deck_cannot_have(folder, name, why, subcommand, ranks):
    done = isotherm(subcommand, "deck.yaml", CPU, f"parallel.transport={name}", ranks=ranks, cwd=folder)
    expect_rejected(folder, done, 69, f"argument 4: parallel.transport: transport '{name}' cannot be used here ({why}")


@pytest.mark.parametrize("ranks", [0, 2])
def test_a_run_that_moves_nothing_has_no_fingerprint(folder, ranks):
    done, record = recorded(folder, BASE_DECK, CPU, "parallel.transport=mock", *NO_RESULTS, ranks=ranks)
    assert record["fingerprint"] is None
    assert [w for w in record["warnings"] if "'mock' moves nothing: the field is meaningless" in w]
    assert "fingerprint" not in done.stdout
    assert not (folder / "out" / "history.csv").exists()


@pytest.mark.parametrize("ranks, overlap", [(2, "true"), (2, "false"), (1, "true")])
def test_a_run_reports_the_hidden_share_of_exchanges(folder, ranks, overlap):
    """No neighbours: nothing is reported."""
    done, record = recorded(folder, BASE_DECK, CPU, f"parallel.overlap={overlap}", *NO_RESULTS, ranks=ranks)
    halo = record["halo"]
    if ranks == 1:
        assert (halo["hidden_percent"], halo["exchange_s"], halo["exposed_s"]) == (None, None, None)
        assert "hidden" not in done.stdout
        return
    assert 0 <= halo["hidden_percent"] <= 100
    assert 0 < halo["exchange_s"] and 0 <= halo["exposed_s"]
    assert (halo["exposed_s"] == 0) == (halo["hidden_percent"] == 100)
    assert f"{halo['hidden_percent']:.1f} % hidden: of an exchange of " in done.stdout
    assert "\nFOM halo_hidden: " in done.stdout


SIZES = {8: 64, 96: 9216}  # cells along an axis: faces that MPI sends at once, and faces that it announces first


@pytest.mark.parametrize("cells", SIZES)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("fault, what, timeout", [
    ("zeros", "{0} of {0} cells arrived wrong", 600), ("lost", "no answer within 1 s", 1)])
def test_an_mpi_that_fails_halos(folder, rank_shim, cells, rank, fault, what, timeout):
    """mpi/test_halo_exchange.cpp tests a transport that the deck names."""
    words = [CPU, f"parallel.probe_timeout={timeout}", f"grid.cells={cells}", "solver.halo_width=1"]
    done = isotherm("run", "deck.yaml", *words, ranks=2, cwd=folder, LD_PRELOAD=str(rank_shim),
                    ISOTHERM_HALO_FAULT=f"{rank}:{fault}")
    expect_rejected(folder, done, 69, "argument 3: parallel.transport: no transport works between ranks 0 and 1 (host: "
                                     f"{what.format(SIZES[cells])}; ")
