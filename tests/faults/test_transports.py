"""Transports that a deck cannot have, and an MPI that lies or is silent: one message before any work, no hang."""

import os
from pathlib import Path

import pytest
from cli import BASE_DECK

from program import expect_refused, isotherm, write_deck
import runs
from shim import build_shim

NO_RESULTS = ["output.snapshots=false", "output.history=false"]
CPU = "parallel.device=cpu"


@pytest.fixture
def folder(tmp_path):
    write_deck(tmp_path, BASE_DECK)
    return tmp_path



@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_name_that_is_no_transport(folder, verb, ranks):
    done = isotherm(verb, "deck.yaml", "parallel.transport=hots", ranks=ranks, cwd=folder)
    assert done.returncode == 65, done.stderr
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
    done = isotherm("check", "deck.yaml", "--ranks", 4, CPU, "parallel.transport=nccl", cwd=folder)
    assert done.returncode == 69, done.stderr
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
    done = isotherm("run", "deck.yaml", CPU, "parallel.transport=mock", *NO_RESULTS, ranks=ranks, cwd=folder)
    assert done.returncode == 0, done.stderr
    record = runs.record(folder / "runs/deck")
    assert record["fingerprint"] is None
    assert [w for w in record["warnings"] if "'mock' moves nothing: the field is meaningless" in w]
    assert "fingerprint" not in done.stdout
    assert os.listdir(folder / "runs/deck").count("history.csv") == 0


@pytest.mark.parametrize("overlap", ["true", "false"])
def test_a_run_says_what_it_hides(folder, overlap):
    done = isotherm("run", "deck.yaml", CPU, f"parallel.overlap={overlap}", *NO_RESULTS, ranks=2, cwd=folder)
    assert done.returncode == 0, done.stderr
    halo = runs.record(folder / "runs/deck")["halo"]
    assert 0 <= halo["hidden_percent"] <= 100
    assert 0 < halo["exchange_s"] and 0 <= halo["exposed_s"]
    assert (halo["exposed_s"] == 0) == (halo["hidden_percent"] == 100)
    assert f"{halo['hidden_percent']:.1f} % hidden: of an exchange of " in done.stdout
    assert "\nFOM halo_hidden: " in done.stdout


def test_a_run_without_neighbours_hides_nothing(folder):
    done = isotherm("run", "deck.yaml", CPU, *NO_RESULTS, ranks=1, cwd=folder)
    assert done.returncode == 0, done.stderr
    halo = runs.record(folder / "runs/deck")["halo"]
    assert (halo["hidden_percent"], halo["exchange_s"], halo["exposed_s"]) == (None, None, None)
    assert "hidden" not in done.stdout


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return build_shim(Path(__file__).with_name("halo_shim.c"), tmp_path_factory.mktemp("shim"))


def faulty(folder, shim, fault, *arguments):
    """Only what never comes is given up after so short a time."""
    patience = 1 if fault.endswith("lost") else 600
    return isotherm("run", "deck.yaml", CPU, f"parallel.probe_timeout={patience}", *arguments, ranks=2, cwd=folder,
                    LD_PRELOAD=str(shim), ISOTHERM_HALO_FAULT=fault)


SIZES = {8: 64, 96: 9216}  # cells along an axis: of a face that MPI sends at once, of one that it announces first


@pytest.mark.parametrize("cells", SIZES)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("fault, what", [("zeros", "{0} of {0} cells arrived wrong"),
                                         ("lost", "no answer within 1 s")])
def test_an_mpi_that_fails_halos(folder, shim, cells, rank, fault, what):
    done = faulty(folder, shim, f"{rank}:{fault}", f"grid.cells={cells}")
    line = done.stderr.splitlines()[0]
    assert line.startswith("argument 3: parallel.transport: no transport works between ranks 0 and 1 (host: "
                           f"{what.format(SIZES[cells])}; ")
    assert line.endswith("); look at the MPI library and the network between them")
    expect_refused(folder, done, 69, line)


def test_a_named_transport_that_fails(folder, shim):
    done = faulty(folder, shim, "1:zeros", "parallel.transport=host")
    line = done.stderr.splitlines()[0]
    assert line.startswith("argument 5: parallel.transport: transport 'host' does not work between ranks 0 and 1 (72 of "
                           "72 cells arrived wrong); use auto")
    expect_refused(folder, done, 69, line)


def test_the_shim_leaves_other_runs_alone(folder, shim):
    done = faulty(folder, shim, "7:zeros")
    assert done.returncode == 0, done.stderr
