"""Contents of run directories, as far as two runs of one problem must agree."""

import csv
import functools
import json
import shutil

import h5py
import numpy as np

from program import isotherm, ran, write_deck


@functools.cache
def run_schema():
    import jsonschema  # tests that only check for files do not need it

    return jsonschema.Draft7Validator(json.loads(isotherm("schema", "run").stdout))


def record(folder):
    """run.json, validated by its schema, which allows no other keys: every test that reads a record also tests the schema."""
    content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    wrong = [f"{error.json_path}: {error.message}" for error in run_schema().iter_errors(content)]
    assert wrong == [], "\n".join(wrong)
    return content


def recorded(folder, deck, *words, out="out", code=0, **options):
    """A run of this deck in `folder` with the directory `out`: the process, and the record unless refused."""
    name = write_deck(folder, deck).name
    done = ran("run", name, f"output.directory={out}", *words, cwd=folder, code=code, **options)
    return done, None if code == 65 else record(folder / out)


def history(folder):
    """The rows as text, without the wall time."""
    with open(folder / "history.csv", encoding="utf-8", newline="") as file:
        return [{key: text for key, text in row.items() if key != "wall_s"} for row in csv.DictReader(file)]


def probed(folder):
    """The probed temperatures, K: a row for each time."""
    lines = (folder / "probes.csv").read_text().splitlines()
    return np.array([line.split(",")[2:] for line in lines if line[0].isdigit()], float)


def snapshots(folder):
    return sorted(path.name for path in folder.glob("*_[0-9]*[0-9].hdf"))


def checkpoints(folder):
    return sorted(path.name for path in folder.glob("*.checkpoint.hdf"))


def sweep_of(name):
    """The sweep in the name of a checkpoint (deck_00000030.checkpoint.hdf) or snapshot."""
    return int(name.split("_")[1].split(".")[0])


def stopped_at(sweep, run, copy):
    """Copies a run's directory as it was when the run was killed, after the checkpoint of a sweep."""
    shutil.copytree(run, copy)
    for path in copy.glob("*.hdf"):
        if sweep_of(path.name) > sweep:
            path.unlink()
    (copy / "run.json").unlink()
    return copy


def write_snapshot(folder, field, sweep=10, time=2.5, name="demo", spacing=(1e-3, 2e-3, 4e-3), origin=(0.1, -0.2, 0.0)):
    """Writes a made-up snapshot with the contents that the tools read."""
    path = folder / f"{name}_{sweep:08d}.hdf"
    with h5py.File(path, "w") as file:
        file["temperature"] = field
        file.create_group("isotherm").attrs.update({"origin": origin, "spacing": spacing, "time": time, "sweep": sweep})
    return path


def cells(path):
    with h5py.File(path) as file:
        return file["temperature"][:]


def fingerprint(values):
    """A second implementation of kernels/fingerprint.hpp."""
    bits = values.ravel().view(np.uint64 if values.dtype == np.float64 else np.uint32).astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = bits + np.arange(1, bits.size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return int(np.sum(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64))


def expect_whole_files(folder, pattern="*.hdf"):
    """Checks all cells by their fingerprint. `isotherm info` does the same, but needs a process per file."""
    for path in folder.glob(pattern):
        with h5py.File(path) as file:
            assert int(file["isotherm"].attrs["fingerprint"]) == fingerprint(file["temperature"][:]), path


def expect_same_answer(one, other):
    """Compares two directories of one problem: the same bits in the field, and the same history."""
    a, b = record(one), record(other)
    assert a["fingerprint"] == b["fingerprint"]
    assert a["residual"] == b["residual"]
    assert (a["time_s"], a["histogram"], a["exit_code"]) == (b["time_s"], b["histogram"], b["exit_code"])
    assert history(one) == history(other)


def expect_same_run(one, other):
    """The same answer, and the same snapshots."""
    expect_same_answer(one, other)
    assert snapshots(one) == snapshots(other)
    for name in snapshots(one):
        a, b = cells(one / name), cells(other / name)
        assert a.dtype == b.dtype and np.array_equal(a, b), name
    a, b = ({path.name: path.read_text() for path in folder.glob("*.series")} for folder in (one, other))
    assert a == b
