"""The JSON Schema for editors accepts correct decks and rejects wrong ones."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from program import BASE_DECK, isotherm, ran, write_deck

RIGHT = {  # keys and values that no deck of inputs/ has
    "snapshots off, whatever the intervals": "output: {snapshots: false, every_steps: 3}\n",
    "sources": "sources: [{shape: box, value: 1, from: [0, 0, 0], to: [1, 1, 1]}, {shape: formula, formula: x}]\n",
    "no auto": "parallel: {process_grid: [1, 2, 1], overlap: true, ranks_per_gpu: 2}\n",
    "scaling": "scaling: {kind: weak, ranks: [1, 2], repeats: 3}\nstudy: {matrix: {precision: [fp32]}, ranks_per_node: 4}\n",
    "empty sections": "solver:\nsources:\noutput: {probes:, slices:, checkpoint:}\nboundaries: {x_min:}\nstudy:\n",
    "slices": "output: {slices: [{axis: x, position: 0.5, every_steps: 3}, {cell: 2, name: a}]}\n",
    "coarse": "output: {coarse: {factor: 2}, precision: fp32}\n",
    "materials": "  accelerate: none\nregions: [{shape: dataset, material: a, file: a.h5, dataset: /a, map: {1: b}}]\n",
    "laws": "boundaries: {z_max: [{kind: convection, coefficient: 9 + x, ambient: 300, "
            "where: {from: [0, 0], to: [1, 1]}, else: {kind: flux, value: 200}}, insulated]}\n",
    "floor plans": "sources: [{shape: box, power: {floorplan: a.csv, trace: b.csv, interpolation: step}, from: [0, 0, 0], to: [1, 1, 1]}]\n",
}
WRONG = {
    "unknown key": "solver: {kernal: auto}\n",
    "steps and end_time": "  end_time: 1\n",
    "steady key in a transient problem": "  norm: l2\n",
    "below the range": "  dt: -1\n",
    "fraction 0": "  dt_fraction: 0\n",
    "count that is a fraction": "  check_interval: 1.5\n",
    "an empty section that needs a key": "grid:\n",
    "word": "precision: fp16\n",
    "wall without a value": "boundaries: {x_min: {kind: temperature}}\n",
    "key of another wall kind": "boundaries: {x_min: {kind: flux, value: 1, coefficient: 3}}\n",
    "a list of words that need keys": "boundaries: {z_max: [flux]}\n",
    "a patch without an end": "boundaries: {z_max: [{kind: flux, value: 1, where: {from: [0, 0]}}]}\n",
    "a patch of three numbers": "boundaries: {z_max: {kind: flux, value: 1, where: {from: [0, 0, 0], to: [1, 1]}}}\n",
    "a word around a patch that needs keys": "boundaries: {z_max: {kind: temperature, value: 300, else: flux}}\n",
    "periodic around a patch": "boundaries: {z_max: {kind: temperature, value: 300, else: periodic}}\n",
    "shape without its keys": "sources: [{shape: sphere, value: 1}]\n",
    "mode of a gaussian": "sources: [{shape: gaussian, value: 1, centre: [0, 0, 0], width: 1, mode: set}]\n",
    "a slice at two places": "output: {slices: [{cell: 3, position: 0.5}]}\n",
    "a probe of two numbers": "output: {probes: {points: [[0, 0]]}}\n",
    "scaling of no kind": "scaling: {ranks: [1, 2]}\n",
    "scaling with two sorts of counts": "scaling: {kind: strong, ranks: [1, 2], gpus: [1, 2]}\n",
    "scaling on no count": "scaling: {kind: weak, ranks: []}\n",
    "scaling twice on one count": "scaling: {kind: strong, gpus: [2, 1, 2]}\n",
    "scaling around an incomplete deck": "boundaries: {x_min: {kind: temperature}}\nscaling: {kind: weak, ranks: [1]}\n",
    "modes without a solution": "verify: {modes: [1, 1, 1]}\n",
}
STUDIES = {
    "matrix": "{matrix: {grid.cells: [16, [8, 8, 4]], solver.kernel: [auto, openmp], ranks: [1, 2]}}",
    "a section, an entry, a number of three": "{matrix: {boundaries.x_min: [insulated, {kind: temperature, value: 300}], "
                                             "initial.0.value: [300, 310], grid.cells.2: [4, 8]}}",
    "a whole list": "{matrix: {initial: [[{shape: constant, value: 1}], [{shape: formula, formula: x}]]}}",
    "zip": "{zip: {grid.cells: [16, 32], problem.steps: [10, 20]}, limit: 3, sort: step_s, report: [name, step_s]}",
    "list": "{list: [{name: few, problem.steps: 5}, {name: many, ranks: 2}], exclude: [{name: few}], name: \"{name}\"}",
    "slurm": "{list: [{name: a}], slurm: {template: a.sbatch, options: [--time=10]}, launcher: \"srun -n {ranks}\"}",
}
NO_STUDIES = {
    "unknown key": "{matrix: {solver.kernal: [auto, openmp]}}",
    "a key without its section": "{matrix: {kernel: [auto, openmp]}}",
    "one value": "{matrix: {problem.steps: 5}}",
    "a value out of range": "{matrix: {problem.steps: [5, -1]}}",
    "an entry that lacks a key": "{matrix: {initial.0: [{shape: sphere, value: 1}]}}",
    "no ranks": "{matrix: {ranks: [0]}}",
    "an entry of a number": "{matrix: {problem.steps.0: [5]}}",
    "values in a list": "{list: [{name: a, problem.steps: [5, 6]}]}",
    "a name that is none": "{list: [{name: [a]}]}",
    "the study's own directory": "{matrix: {output.directory: [a, b]}}",
    "output as a whole": "{matrix: {output: [{history: false}]}}",
    "options that are one": "{list: [{name: a}], slurm: {options: --time=10}}",
}


@pytest.fixture(scope="module")
def schema():
    result = ran("schema")
    assert result.stderr == ""
    schema = json.loads(result.stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def checked(folder, deck):
    write_deck(folder, deck)
    return isotherm("check", "deck.yaml", cwd=folder).returncode


def entries(decks, studies):
    """Named decks, each appended to BASE_DECK."""
    both = decks | {name: f"study: {study}\n" for name, study in studies.items()}
    return pytest.mark.parametrize("more", both.values(), ids=both.keys())


@entries(RIGHT, STUDIES)
def test_right_deck(schema, more, tmp_path):
    schema.validate(yaml.safe_load(BASE_DECK + more))
    assert "study:" not in more or checked(tmp_path, BASE_DECK + more) == 0


@entries(WRONG, NO_STUDIES)
def test_wrong_deck(schema, more, tmp_path):
    assert not schema.is_valid(yaml.safe_load(BASE_DECK + more))
    assert checked(tmp_path, BASE_DECK + more) == 65, "the program and the schema must agree"


def test_a_study_may_give_keys_that_its_deck_lacks(schema, tmp_path):
    deck = BASE_DECK.replace("  steps: 10\n", "  kind: transient\n").replace("  cells: [8, 9, 10]\n", "")
    deck += "boundaries: {x_min: {value: 300}}\n"
    study = "study: {matrix: {problem.steps: [3, 4], boundaries.x_min.kind: [temperature], problem.dt: [0.0001, 0.001]}, list: [{name: a, grid.cells: 8}]}\n"
    assert not schema.is_valid(yaml.safe_load(deck))
    schema.validate(yaml.safe_load(deck + study))
    assert checked(tmp_path, deck + study) == 0


class Yaml12(yaml.SafeLoader):
    """Like editors: 1e-8 is a number, whereas YAML 1.1 reads it as text."""


Yaml12.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789"))


def test_decks_of_the_project_are_right(schema):
    for path in (Path(__file__).parents[2] / "inputs").rglob("*.yaml"):
        schema.validate(yaml.load(path.read_text(encoding="utf-8"), Yaml12))


@pytest.mark.parametrize("lines", [
    "grid:\n  cells: [8, 9, 10]\n  lengths: 1\n", "  lengths: 1\n", "problem:\n  steps: 10\n"])
def test_missing_required_keys(schema, lines):
    assert not schema.is_valid(yaml.safe_load(BASE_DECK.replace(lines, "")))


def test_the_commented_deck_and_a_resolved_one_are_right(schema, folder):
    """Descriptions of keys are those of the commented deck, which has one for each (unit/test_config_reader.cpp)."""
    assert schema.schema["properties"]["precision"]["description"] in ran("init").stdout
    schema.validate(yaml.safe_load(ran("init").stdout))
    out = ran("check", "deck.yaml", "--resolved", cwd=folder).stdout
    schema.validate(yaml.safe_load(out[out.index("grid:"):out.index("\n# the plan of its run")]))
