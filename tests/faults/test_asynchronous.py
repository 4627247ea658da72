"""Files that are written while sweeps go on are those that are written in step, whatever the disk and MPI are like."""

import h5py
import numpy as np
import pytest

from program import DECK, ran, write_deck
import runs

# At sweep 20 all of them are due at once; the slice comes while the snapshot before it may be under way.
CROWDED = DECK.replace("output: {every_steps: 20}\n", """\
output:
  every_steps: 5
  slices: [{axis: z, cell: 7, every_steps: 2}]
  region: {first_cell: [2, 3, 4], last_cell: [12, 20, 25], every_steps: 4}
  coarse: {factor: [17, 23, 1], every_steps: 10}
  checkpoint: {every_steps: 4, keep: 100}
""")


def run_in(folder, *overrides, ranks=0, deck=CROWDED, **environment):
    folder.mkdir()
    done = ran("run", write_deck(folder, deck), "output.directory=out", *overrides, ranks=ranks, cwd=folder,
               **environment)
    return done.stdout, folder / "out", runs.record(folder / "out")


def contents(path):
    """Every dataset and attribute, by its place; without what differs from run to run by its deck."""
    found = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset) and not name.endswith("deck"):
            found[name] = (item.dtype.str, item.shape, item[()].tobytes())
        found.update({f"{name}@{key}": np.asarray(value).tobytes() for key, value in item.attrs.items()
                      if key not in ("wall", "header_xxh3")})

    with h5py.File(path) as file:
        file.visititems(keep)
    return found


def expect_same_files(one, other):
    names = sorted(path.name for path in one.glob("*.hdf*"))
    assert names == sorted(path.name for path in other.glob("*.hdf*"))
    assert not list(one.glob("*.part"))
    for name in names:
        if name.endswith(".series"):
            assert (one / name).read_bytes() == (other / name).read_bytes()
        else:
            assert contents(one / name) == contents(other / name), name
    return names


@pytest.fixture(scope="module")
def in_step(tmp_path_factory):
    return run_in(tmp_path_factory.mktemp("in") / "step", "output.asynchronous=false")


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_files_are_those_of_a_run_in_step(in_step, tmp_path, ranks):
    _, folder, record = run_in(tmp_path / "run", ranks=ranks)
    names = expect_same_files(folder, in_step[1])
    assert record["snapshots"]["mode"] == "asynchronous" and record["snapshots"]["why_in_step"] is None
    files = [name for name in names if name.endswith(".hdf") and "checkpoint" not in name]
    assert record["snapshots"]["files"] == len(files) == 9 + 21 + 11 + 5
    assert record["snapshots"]["bytes"] == sum((folder / name).stat().st_size for name in files)
    assert record["answer"] == in_step[2]["answer"] and record["fingerprint"] == in_step[2]["fingerprint"]


def test_in_step_nothing_is_hidden(in_step):
    text, _, record = in_step
    snapshots = record["snapshots"]
    assert snapshots["mode"] == "in_step" and snapshots["why_in_step"] == "output.asynchronous is false"
    assert snapshots["exposed_s"] > 0
    assert "in step (output.asynchronous is false)" in text


@pytest.mark.parametrize("ranks", [0, 2])
def test_an_mpi_without_threads_writes_in_step_and_says_so(rank_shim, in_step, tmp_path, ranks):
    text, folder, record = run_in(tmp_path / "run", ranks=ranks, LD_PRELOAD=str(rank_shim), ISOTHERM_THREAD_LEVEL="1")
    why = "this MPI gives no MPI_THREAD_MULTIPLE"
    assert f"files of the field are written in step: {why}\n" in text
    assert record["snapshots"]["mode"] == "in_step" and record["snapshots"]["why_in_step"] == why
    expect_same_files(folder, in_step[1])


# A slow disk is waited for: the copies do not pile up.
def test_a_slow_disk_slows_the_sweeps_and_takes_no_memory(io_shim, tmp_path):
    peaks = []
    for snapshots in (2, 16):
        _, folder, record = run_in(
            tmp_path / str(snapshots), "grid.cells=80", "problem.steps=64", f"output.every_steps={64 // snapshots}",
            deck=DECK, LD_PRELOAD=str(io_shim), ISOTHERM_SHIM="fsync:1:slow")
        assert len(list(folder.glob("*.hdf"))) == snapshots + 1
        assert record["snapshots"]["mode"] == "asynchronous"
        peaks.append(record["memory"]["host_peak_bytes"])
    assert record["snapshots"]["exposed_s"] > 0
    assert peaks[1] - peaks[0] < 4 * 8 * 80**3  # of 14 files more


# The error comes back although the run has long gone on, and no file behind it is written.
@pytest.mark.parametrize("ranks", [1, 2])
def test_an_error_beside_the_sweeps_ends_the_run(io_shim, tmp_path, ranks):
    done = ran("run", write_deck(tmp_path), "output.directory=out", "problem.steps=100000000", "output.every_steps=50000000",
               ranks=ranks, cwd=tmp_path, LD_PRELOAD=str(io_shim), ISOTHERM_SHIM="rename:1:5", code=74)
    assert "deck_00000000.hdf: renaming failed (Input/output error)" in done.stderr
    assert not list((tmp_path / "out").glob("*.hdf*"))
    assert runs.record(tmp_path / "out")["exit_code"] == 74
