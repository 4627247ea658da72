"""run.json and its schema: `runs.record` holds every record that a test reads against it (steady and transient runs, gone on
from, verified, stopped, failed, compressed, on several ranks); here, that the schema is strict, and what is asked of records
of other versions.

fixtures/records/ has records as they were written on these days; a later one is added, none is ever changed."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest

from program import finished_run, isotherm, write_deck
import runs
from studies import BASE, collected, write_study

RECORDS = sorted((Path(__file__).parent / "fixtures/records").glob("run_*.json"))
STEADY = ["problem={kind: steady, max_sweeps: 20, check_interval: 4}", "parallel.overlap=true", "solver.halo_width=2",
          'verify={solution: formula, formula: "300", tolerance: 1000}', "output.diagnostics=4", "output.histogram.bins=4",
          "output.compression=1", "output.checkpoint.every_steps=8", "solver.kernel=auto"]


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """One with as much in it as a run can have: of two ranks."""
    folder = tmp_path_factory.mktemp("run")
    write_deck(folder)
    done = isotherm("run", "deck.yaml", "output.directory=out", *STEADY, ranks=2, cwd=folder)
    assert done.returncode in (0, 10), done.stderr
    return runs.record(folder / "out")


def places(node, path=()):
    """Every dict and every value within, by its path."""
    yield path, node
    for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(child, (*path, key))


def at(node, path):
    for key in path:
        node = node[key]
    return node


def is_right(content):
    return runs.run_schema().is_valid(content)


def test_the_program_prints_the_schema():
    done = isotherm("schema", "run")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == runs.SCHEMA.read_text(encoding="utf-8")
    jsonschema.Draft7Validator.check_schema(json.loads(done.stdout))


def test_every_object_is_strict():
    """No key beside those that it names, and all of them; free names where names are the user's or the program's to make."""
    free = []
    for path, node in places(json.loads(runs.SCHEMA.read_text(encoding="utf-8"))):
        if not isinstance(node, dict) or "object" not in (node.get("type") or []):
            continue
        if isinstance(node["additionalProperties"], dict):
            free.append(path[-1])
            continue
        assert node["additionalProperties"] is False, path
        assert node["required"] == list(node["properties"]), path
    assert sorted(free) == ["figures_of_merit", "not_finite"]


def test_what_is_missing_mistyped_or_unknown_is_refused(record):
    assert record["halo"]["links"] and record["histogram"] and record["verification"] and record["method"]["depth_choice"]
    named = [path for path, _ in places(record) if path and isinstance(path[-1], str)
             and not (path[0] in ("figures_of_merit", "not_finite") and len(path) == 2)]
    assert len(named) > 150
    for path in named:
        without = copy.deepcopy(record)
        del at(without, path[:-1])[path[-1]]
        assert not is_right(without), f"{path} may be missing"
        other = copy.deepcopy(record)
        at(other, path[:-1])[path[-1]] = {"what": "no key has"}
        assert not is_right(other), f"{path} may be an object of anything"
        other = copy.deepcopy(record)
        at(other, path[:-1])[path[-1]] = True if not isinstance(at(record, path), bool) else "true"
        assert not is_right(other), f"{path} may be of another type"
    for path, node in places(record):
        if isinstance(node, dict):
            more = copy.deepcopy(record)
            at(more, path)["more"] = 1
            assert not is_right(more), f"{path} may have a key more"


# Of a version, the sections that a later one has changed: as they were.
CHANGED = {1: {"schema_version": {"const": 1}, "result": {"enum": ["PASS", "STOPPED", "FAIL"]}},
           2: {"schema_version": {"const": 2}, "baseline": {}}}


def without_required(node):
    if isinstance(node, dict):
        return {key: without_required(child) for key, child in node.items() if key != "required" or isinstance(child, dict)}
    return [without_required(child) for child in node] if isinstance(node, list) else node


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_within_a_version_keys_are_only_added(path):
    """What an earlier record holds is still known, and of the same type: else the version has to rise."""
    schema = without_required(runs.run_schema().schema)
    old = json.loads(path.read_text(encoding="utf-8"))
    schema["properties"] |= CHANGED[old["schema_version"]]
    assert [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(old)] == []


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_an_earlier_record_is_a_baseline(tmp_path, path):
    """Its subject and figures are read: only its device is another."""
    finished = finished_run(tmp_path, BASE.replace("directory: out, ", ""), "deck")
    done = isotherm("baseline", path, finished / "run.json", cwd=tmp_path)
    assert done.returncode == 65
    assert done.stderr.startswith(f"'{path}' is of 100 x 100 x 50 fp64 on 2 ranks (Some CPU), and this is "), done.stderr
    assert isotherm("baseline", path, path).returncode == 0


def pruned(now, then):
    """As much of a record as an earlier one had."""
    if not isinstance(now, dict) or not isinstance(then, dict):
        return now
    return {key: pruned(now[key], then[key]) for key in now if key in then}


def test_a_study_collects_earlier_records_and_refuses_newer_ones(tmp_path):
    write_study(tmp_path, "  list: [{name: a, problem.steps: 6}]\n")
    assert isotherm("study", "deck.yaml", cwd=tmp_path).returncode == 0
    path = tmp_path / "out/a/run.json"
    whole = collected(tmp_path / "out")
    assert (whole["schema"], whole["schema_version"]) == ("isotherm-study", 1)
    now, first = json.loads(path.read_text()), whole["cases"][0]
    assert first["values"]["sweeps"] == 6
    old = pruned(now, json.loads(RECORDS[0].read_text(encoding="utf-8")))
    assert "continuation" in now and "continuation" not in old
    path.write_text(json.dumps(old))
    done = isotherm("study", "deck.yaml", "--collect", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = collected(tmp_path / "out")["cases"][0]
    assert (again["state"], again["values"]) == ("done", {**first["values"], "policy": None})
    path.write_text(json.dumps({**now, "schema_version": 4}))
    done = isotherm("study", "deck.yaml", "--collect", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        65, "'out/a/run.json' has schema version 4, and this isotherm knows them to 3; use the one that wrote it, or a newer "
            "one\n")
