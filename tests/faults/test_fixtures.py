"""Files of every version: decks, snapshots and checkpoints, which a later isotherm reads and resumes from with the same bits;
records, and the schema by which `runs.record` validates every record that a test reads.

Version X.Y writes fixtures/X.Y/ once: each deck, its checkpoint, and in expected.json the end of a run from that checkpoint.
fixtures/records/ has records as they were written on these days; later ones are added, none is ever changed."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import h5py
import jsonschema
import pytest

from program import finished_run, isotherm, ran, write_deck
import runs
from runs import record
from studies import BASE, collected, write_study

FIXTURES = Path(__file__).with_name("fixtures")
DECKS = sorted(FIXTURES.glob("*/*.yaml"))


def ids(paths):
    return [str(path.relative_to(FIXTURES)) for path in paths]


def in_todays_keys(deck, folder):
    """A user's deck with the new name of a key, and with problem.method, which did not exist. isotherm itself translates the decks
    in its own files."""
    text = deck.read_text(encoding="utf-8").replace("kind: steady,", "kind: steady, method: jacobi,")
    if "depth: 1" in text:
        error = ran("check", deck, cwd=folder, code=65).stderr
        assert re.fullmatch(rf".*{deck.name}:\d+:\d+: solver\.depth: is called halo_width now\n", error), error
    return write_deck(folder, text.replace("depth: 1", "halo_width: 1"), deck.name)


def test_this_version_has_its_own_fixtures():
    version = isotherm("--version").stdout.split()[1]
    folder = FIXTURES / ".".join(version.split(".")[:2])
    assert sorted(folder.glob("*.yaml")) and sorted(folder.glob("*.checkpoint.hdf")), (
        f"a new version: make {folder} from the decks of the one before, and never touch it again")


@pytest.mark.parametrize("deck", DECKS, ids=ids(DECKS))
@pytest.mark.parametrize("ranks", [0, 2])
def test_runs_of_earlier_versions_resume(tmp_path, deck, ranks):
    expected = json.loads(deck.with_name("expected.json").read_text(encoding="utf-8"))[deck.stem]
    done = ran("run", in_todays_keys(deck, tmp_path), "output.directory=out", "--restart", deck.with_name(expected["restart"]), ranks=ranks,
               cwd=tmp_path)
    assert ("whose centres" in done.stderr) == (deck.stem == "kept")  # it has a source, and kept_steady has none
    assert record(tmp_path / "out")["fingerprint"] == expected["fingerprint"]
    assert record(tmp_path / "out")["residual"]["last_K"] == expected["last_residual_K"]


@pytest.mark.parametrize("deck", DECKS, ids=ids(DECKS))
def test_a_stored_deck_runs_as_its_version_did(tmp_path, deck):
    expected = json.loads(deck.with_name("expected.json").read_text(encoding="utf-8"))[deck.stem]
    file = deck.with_name(expected["restart"])
    ran("run", "--from", file, "--restart", file, "output.directory=out", cwd=tmp_path)
    assert record(tmp_path / "out")["fingerprint"] == expected["fingerprint"]


def test_a_series_over_files_of_two_formats_points_into_each(tmp_path):
    kept, out = FIXTURES / "0.1", tmp_path / "out"
    out.mkdir()
    (out / "deck.resolved.yaml").write_text("")
    for name in ("kept_00000030.hdf", "kept_00000040.checkpoint.hdf"):
        shutil.copy(kept / name, out)
    ran("run", in_todays_keys(kept / "kept.yaml", tmp_path), "output.directory=out", "--restart", "latest", cwd=tmp_path)
    items = [grid.find("./Attribute/DataItem").text.split(":") for grid in ElementTree.parse(out / "kept.xmf").findall("./Domain/Grid/Grid")]
    assert items == [["kept_00000030.hdf", "/VTKHDF/PointData/T"], ["kept_00000060.hdf", "/temperature"]]
    for file, dataset in items:
        with h5py.File(out / file) as opened:
            assert opened[dataset].shape == (5, 6, 7)


FILES = sorted(FIXTURES.glob("*/*.hdf"))


@pytest.mark.parametrize("file", FILES, ids=ids(FILES))
def test_files_of_earlier_versions_are_verified(tmp_path, file):
    assert "(recomputed from the cells in the file)" in ran("info", file).stdout
    ran("check", "--from", file, cwd=tmp_path)


RECORDS = sorted((Path(__file__).parent / "fixtures/records").glob("run_*.json"))


def places(node, path=()):
    """Every value and container in the tree, with its path."""
    yield path, node
    for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(child, (*path, key))


def test_every_object_is_strict_and_every_value_has_a_type():
    """Only the listed keys are allowed, and all are required; maps whose keys the user or program chooses are free."""
    free, values = [], []
    jsonschema.Draft7Validator.check_schema(runs.run_schema().schema)
    for path, node in places(runs.run_schema().schema):
        if not isinstance(node, dict) or "object" not in (node.get("type") or []):
            continue
        if isinstance(node["additionalProperties"], dict):
            free.append(path[-1])
            continue
        assert node["additionalProperties"] is False, path
        assert node["required"] == list(node["properties"]), path
        values += [((*path, name), value) for name, value in node["properties"].items()]
    assert sorted(free) == ["figures_of_merit", "not_finite"] and len(values) > 300
    for path, value in values:
        for wrong in ({"what": "no key has"}, "true" if "boolean" in (value.get("type") or []) else True):
            assert not jsonschema.Draft7Validator(value).is_valid(wrong), f"{path} may be {wrong}"


# For each version, the sections that a later version changed, in their earlier form.
IN_VERSION_3 = dict.fromkeys(("decomposition", "method", "profile", "histogram"), {})
CHANGED = {1: {**IN_VERSION_3, "schema_version": {"const": 1}, "result": {"enum": ["PASS", "STOPPED", "FAIL"]}},
           2: {**IN_VERSION_3, "schema_version": {"const": 2}, "baseline": {}}}


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_within_a_version_keys_are_only_added(tmp_path, path):
    """The schema still allows every key of an earlier record with the same type, otherwise the version must rise. The record also works
    as a baseline: its subject and figures are read, and only the device differs; a record with its keys is one of its own run."""
    schema = runs.run_schema().schema
    old = json.loads(path.read_text(encoding="utf-8"))
    then = {**schema, "properties": schema["properties"] | CHANGED[old["schema_version"]]}
    errors = jsonschema.Draft7Validator(then).iter_errors(old)
    assert [error.message for error in errors if error.validator != "required"] == []
    finished = finished_run(tmp_path, BASE.replace("directory: out, ", ""), "deck")
    done = ran("baseline", path, finished / "run.json", cwd=tmp_path, code=65)
    assert done.stderr.startswith(f"'{path}' is of 100 x 100 x 50 fp64 by euler on 2 ranks (Some CPU with 4 threads), and this is "), done.stderr
    early = {**pruned(record(finished), old), "schema_version": 1}
    (tmp_path / "early.json").write_text(json.dumps(early))
    ran("baseline", "early.json", finished, cwd=tmp_path)


def pruned(now, then):
    """The parts of a record that the earlier one has."""
    if not isinstance(now, dict) or not isinstance(then, dict):
        return now
    return {key: pruned(now[key], then[key]) for key in now if key in then}


def test_a_study_collects_earlier_records_and_refuses_newer_ones(tmp_path):
    write_study(tmp_path, "  list: [{name: a, problem.steps: 6}]\n")
    ran("study", "deck.yaml", cwd=tmp_path)
    path = tmp_path / "out/a/run.json"
    whole = collected(tmp_path / "out")
    assert (whole["schema"], whole["schema_version"]) == ("isotherm-study", 1)
    now, first = json.loads(path.read_text()), whole["cases"][0]
    assert first["values"]["sweeps"] == 6
    old = pruned(now, json.loads(RECORDS[0].read_text(encoding="utf-8")))
    assert "continuation" in now and "continuation" not in old
    path.write_text(json.dumps(old))
    ran("study", "deck.yaml", "--collect", cwd=tmp_path)
    again = collected(tmp_path / "out")["cases"][0]
    assert (again["state"], again["values"]) == ("done", {**first["values"], "tile": None})
    path.write_text(json.dumps({**now, "schema_version": 4}))
    newer = ran("study", "deck.yaml", "--collect", cwd=tmp_path, code=65).stderr
    assert newer.startswith("'out/a/run.json' has schema version 4, and this isotherm reads versions up to 3; ")
