"""`study:` and `scaling:` of a deck: the cases that they define, their names, and rejected decks."""

import itertools
import json
import os

import pytest
from failures import expect_failure
from isotherm_tools.program import Program
from isotherm_tools.study.deck import StudyDeck
from program import BASE_DECK as BASE, command, finished, write_deck


@pytest.fixture(name="parse")
def parse_in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def parse(sections, *overrides, base=BASE):
        """Parses the sections after the base deck, whose last line is the ninth."""
        monkeypatch.setenv("ISOTHERM_PROGRAM", os.environ["ISOTHERM"])  # Program() removes it
        write_deck(tmp_path, base + sections)
        return StudyDeck(Program(), "deck.yaml", list(overrides), [n + 1 for n in range(len(overrides))])
    return parse


def study(text):
    return "study:\n" + text


def names(deck):
    return [case.name for case in deck.cases]


def settings(deck, *keys):
    return [tuple(case.value_text(key) for key in keys) for case in deck.cases]


def resolved(case):
    """The resolved deck as a map, from the program itself."""
    import yaml  # noqa: PLC0415
    return yaml.safe_load(case.deck)


def test_a_matrix_is_a_product_whose_last_key_changes_fastest(parse):
    deck = parse(study("  matrix: {solver.kernel: [reference, openmp], problem.steps: [1, 2, 3]}\n"))
    assert deck.varied == ["solver.kernel", "problem.steps"]
    assert settings(deck, *deck.varied) == list(itertools.product(["reference", "openmp"], "123"))
    assert [resolved(case)["problem"]["steps"] for case in deck.cases] == [1, 2, 3, 1, 2, 3]
    assert all(resolved(case)["grid"]["cells"] == [8, 9, 10] for case in deck.cases), "what does not vary stays"
    assert deck.cases[4].name == "kernel-openmp_steps-2"


def test_a_zip_takes_its_values_together(parse):
    deck = parse(study("  zip: {grid.cells: [16, [8, 8, 4]], problem.steps: [10, 10]}\n"))
    assert names(deck) == ["cells-16_steps-10", "cells-8x8x4_steps-10"] and deck.cases[1].cells == [8, 8, 4]


def test_a_list_names_its_cases(parse):
    deck = parse(study("  list:\n    - {name: thin, grid.lengths: [1, 1, 0.1]}\n    - {name: as the deck says}\n    - {problem.steps: 3}\n"
                       "    - {name: hot, initial.0.value: 400, ranks: 2}\n  ranks: 3\n"))
    assert names(deck) == ["thin", "as-the-deck-says", "lengths-default_steps-3_value-default_ranks-3", "hot"]
    assert [case.ranks for case in deck.cases] == [3, 3, 3, 2]
    assert settings(deck, *deck.varied)[1:] == [("1x1x1", "10", "300", "3"), ("1x1x1", "3", "300", "3"), ("1x1x1", "10", "400", "2")]
    assert [resolved(case)["grid"]["lengths"] for case in deck.cases[:2]] == [[1, 1, 0.1], [1, 1, 1]]


def test_all_three_multiply(parse):
    deck = parse(study("  matrix: {precision: [fp32, fp64]}\n  zip: {problem.steps: [1, 2], ranks: [1, 2]}\n"
                       "  list: [{name: a}, {name: b, solver.kernel: openmp}]\n"))
    assert names(deck) == [f"precision-{precision}_steps-{n}_ranks-{n}_{word}"
                           for precision, n, word in itertools.product(["fp32", "fp64"], "12", "ab")]


def test_cases_that_match_all_keys_of_an_entry_are_left_out(parse):
    matrix = "  matrix: {problem.steps: [1, 2.0], precision: [fp32, fp64]}\n"
    assert names(parse(study(matrix + "  exclude: [{problem.steps: 2, precision: fp32}]\n"))) == [
        "steps-1_precision-fp32", "steps-1_precision-fp64", "steps-2.0_precision-fp64"]
    deck = parse(study(matrix + "  exclude: [{problem.steps: 5}, {problem.steps: 2}, {problem.steps: 2, precision: fp32}]\n"))
    assert len(deck.cases) == 2
    assert deck.warnings == ["deck.yaml:12:29: study.exclude.0.problem.steps: no case sets the value 5; use one of 1, 2.0",
                             "deck.yaml:12:12: study.exclude.2: excludes no further case; remove it?"]
    assert names(parse(study("  matrix: {problem.steps: [1, 2]}\n  list: [{name: a}, {name: b}]\n"
                             "  exclude: [{name: b, problem.steps: 1}]\n"))) == ["steps-1_a", "steps-2_a", "steps-2_b"]


def test_cases_have_folders_of_the_study_and_need_no_study_to_run(parse, tmp_path):
    deck = parse(study("  matrix: {problem.steps: [1, 2]}\n"), "output.directory=here", "precision=fp32")
    assert str(deck.directory) == "here"
    write_deck(tmp_path, deck.cases[1].deck, "steps-2.yaml")
    answer, = json.loads(asked(tmp_path, '{"requests": [{}]}', deck="steps-2.yaml").stdout)["answers"]
    assert (answer["deck"], answer["directory"]) == (deck.cases[1].deck, "here/steps-2")
    assert str(parse(study("  matrix: {problem.steps: [1, 2]}\n")).directory) == "runs/deck"


def test_a_deck_may_omit_keys_that_every_case_gives(parse):
    deck = parse("study: {matrix: {grid.cells: [4, 5]}, name: '{grid.cells} on {ranks}'}\n", base=BASE.replace("  cells: [8, 9, 10]\n", ""))
    assert names(deck) == ["4-on-1", "5-on-1"]


def test_an_entry_of_a_list_of_the_deck_can_vary(parse):
    deck = parse(study("  matrix: {initial.0.value: [1, 2], grid.cells.2: [3], output.probes.points.0.0: [0.2]}\n"),
                 base=BASE + "output: {probes: {points: [[0.5, 0.5, 0.5]]}}\n")
    assert resolved(deck.cases[1])["initial"][0]["value"] == 2 and deck.cases[1].cells == [8, 9, 3]
    assert resolved(deck.cases[1])["output"]["probes"]["points"][0]["at"] == [0.2, 0.5, 0.5]


def refusal(start, parse, *words, **options):
    """The error message of a wrong deck, which must have this start."""
    said = expect_failure(65, start, parse, *words, **options)
    assert said.startswith(start)
    return said


SCALING, GPUS = "scaling: {kind: strong, ranks: [1, 2]}\n", "scaling: {kind: strong, gpus: [1, 4]}\n"
WRONG = [
    # Keys and their positions.
    ("  list: [{name: a, steps: 3}]\n", "deck.yaml:11:20: study.list.0.steps: unknown key; did you mean 'problem.steps'?"),
    ("  matrix: {grid.cells.x: [3]}\n", "deck.yaml:11:12: study.matrix.grid.cells.x: unknown key"),
    ("  zip: {output.directory: [a, b]}\n", "deck.yaml:11:9: study.zip.output.directory: cannot vary"),
    ("  matrix: {output: [{snapshots: false}]}\n", "deck.yaml:11:12: study.matrix.output: cannot vary as a whole"),
    ("  metrix: {precision: [fp32]}\n", "deck.yaml:11:3: study.metrix: unknown key; did you mean 'matrix'?"),
    # A key may occur in one of them only.
    ("  matrix: {precision: [fp32]}\n  zip: {precision: [fp64]}\n",
     "deck.yaml:12:9: study.zip.precision: study.matrix on line 11 sets it too; keep one"),
    ("  matrix: {solver: [{kernel: openmp}]}\n  list: [{name: a, solver.kernel: openmp}]\n",
     "deck.yaml:12:20: study.list.0.solver.kernel: 'solver' in study.matrix on line 11 sets it too; keep one"),
    ("  list: [{name: a, precision: fp32, precision: fp64}]\n", "deck.yaml:11:37: study.list.0.precision: appears twice ("),
    ("  matrix: {precision: [fp32, fp64, fp32]}\n", "deck.yaml:11:36: study.matrix.precision.2: fp32 appears twice; keep one"),
    # Shapes.
    ("  matrix: {precision: fp32}\n", "deck.yaml:11:23: study.matrix.precision: one value is given where a list of"),
    ("  matrix: {precision: []}\n", "deck.yaml:11:23: study.matrix.precision: the list is empty"),
    ("  matrix: [precision]\n", "deck.yaml:11:11: study.matrix: a list is given where a map of keys is expected; write {key.path: [values]}"),
    ("  zip: {precision: [fp32, fp64], problem.steps: [1]}\n",
     "deck.yaml:11:50: study.zip.problem.steps: has 1 value and precision has 2 (a case takes one of each); give them as many"),
    ("  list: []\n", "deck.yaml:11:9: study.list: an empty list is given where a list of maps is expected; write [{key.path: value}]"),
    ("  limit: 5\n", "deck.yaml:10:1: study: has no cases; add matrix, zip or list, or a section scaling"),
    ("  matrix: {ranks: [0]}\n", "deck.yaml:11:20: study.ranks: 0 is out of range; write a whole number from 1 to 1e6"),
    ("  matrix: {precision: [fp32]}\n  report: [stepp_s]\n", "deck.yaml:12:11: study.report: unknown column"),
    ("  matrix: {precision: [fp32]}\n  sort: method.depth\n", "deck.yaml:12:9: study.sort: 'method.depth' is an old path; use method.halo_width"),
    # Excluded cases.
    ("  matrix: {precision: [fp32, fp64]}\n  exclude: [{precision: fp32}, {precision: fp64}]\n",
     "deck.yaml:12:12: study.exclude: leaves out all 2 cases; remove an entry"),
    ("  matrix: {precision: [fp32]}\n  exclude: [{grid.cells: 4}]\n", "deck.yaml:12:14: study.exclude.0.grid.cells: does not vary; "),
    ("  matrix: {precision: [fp32]}\n  exclude: [{grid.cells: 4}]\n", "argument 1: study.matrix: an empty map is given where",
     ["study.matrix={}"]),
    # Errors of cases, by their names.
    ("  matrix: {problem.steps: [1, -2], precision: [fp32, fp64]}\n",
     "deck.yaml:11:31: problem.steps: -2 is out of range; write a whole number from 0 to 1e15 [cases steps--2_precision-fp32, "),
    # Names.
    ("  matrix: {grid.cells: [16]}\n  name: \"{grid.cell}\"\n", "deck.yaml:12:9: study.name: 'grid.cell' does not"),
    ("  matrix: {grid.cells: [16]}\n  name: \"a{grid.cells\"\n", "deck.yaml:12:9: study.name: a brace at character 2"),
    ("  matrix: {precision: [fp32]}\n  name: \"/\"\n", "deck.yaml:12:9: study.name: the name '' of case 1"),
    (f"  list: [{{name: {61 * 'ü'}}}]\n",
     "deck.yaml:10:1: study.name: the name '{0}...' of case 1 (name {0}...) has more than 120 bytes; ".format(60 * "ü")),
    ("  list: [{name: deck}]\n", "deck.yaml:10:1: study.name: the name 'deck' of case 1"),
    ("  matrix: {problem.steps: [3, 4], ranks: [1, 4]}\n  name: \"{problem.steps}\"\n",
     "deck.yaml:12:9: study.name: case 1 (problem.steps 3, ranks 1) and case 2 (problem.steps 3, ranks 4) have one name, '3' ("),
    # Launchers.
    ("  matrix: {ranks: [1, 2]}\n  launcher: mpirun -n 2\n", "deck.yaml:12:13: study.launcher: has no {ranks}"),
    ("  matrix: {ranks: [1]}\n  launcher: mpirun 'a b\n", "deck.yaml:12:13: study.launcher: cannot be split into words ("),
    # Overrides of varied keys.
    ("  matrix: {precision: [fp32, fp64]}\n", "argument 1: precision: varies in this study ", ["precision=fp32"]),
    ("  matrix: {solver: [{kernel: openmp}, {kernel: reference}]}\n", "argument 1: solver.halo_width: varies in this study ",
     ["solver.halo_width=2"]),
    # Scaling.
    ("scaling: {kind: strong, ranks: [1, 2, 1]}\n", "deck.yaml:10:32: scaling.ranks: 1 appears twice; keep one"),
    ("scaling: {kind: strong, ranks: [0, 2]}\n", "deck.yaml:10:33: scaling.ranks.0: 0 is out of range"),
    ("scaling: {ranks: [1, 2]}\n", "deck.yaml:10:1: scaling.kind: is missing; add kind: strong"),
    ("scaling: {kind: weak, ranks: []}\n", "deck.yaml:10:30: scaling.ranks: the list is empty"),
    (SCALING + "study: {matrix: {ranks: [3]}}\n", "deck.yaml:11:18: study.matrix.ranks: scaling.ranks on line 10"),
    (SCALING + "study: {ranks: 3}\n", "deck.yaml:11:16: study.ranks: is set by scaling too; keep one"),
    (SCALING + "study: {launcher: \"srun -N {nodes} -n {ranks}\"}\n", "deck.yaml:11:19: study.launcher: has {nodes}"),
    (GPUS, "argument 1: parallel.device: cpu (and scaling counts GPUs); write scaling.ranks, or cuda", ["parallel.device=cpu"]),
    (GPUS, "argument 1: parallel.ranks_per_gpu: 2 (and scaling.gpus counts GPUs with a rank", ["parallel.ranks_per_gpu=2"]),
]


@pytest.mark.parametrize("text, message, overrides", [row if row[2:] else (*row, ()) for row in WRONG],
                         ids=[text.strip()[:50] for text, *_ in WRONG])
def test_errors_have_the_position_of_their_key(parse, text, message, overrides):
    assert "; " in refusal(message, parse, text if text.startswith("scaling") else study(text), *overrides)


@pytest.mark.parametrize("text, message", [
    ("  matrix: {solver.depth: [1, 2]}\n", "deck.yaml:11:12: study.matrix.solver.depth: is called halo_width now"),
    ("  matrix: {solver: [{depth: 1}]}\n", "deck.yaml:11:22: solver.depth: is called halo_width now"),
    ("  matrix: {solver.kernel: [fused_openmp]}\n", "deck.yaml:11:28: solver.kernel: 'fused_openmp' is called temporal_openmp now"),
    ("  list: [{name: a, problem.check: lagged}]\n", "deck.yaml:11:35: problem.check: 'lagged' is called asynchronous now")])
def test_former_words_are_answered_with_the_present_ones(parse, text, message):
    refusal(message, parse, study(text))


def test_more_cases_than_any_study_may_have_are_refused_before_they_are_made(parse):
    many = ", ".join(map(str, range(1, 101)))
    refusal("deck.yaml:10:1: study.limit: 1000000 cases are more than any study may have (100000); ", parse,
            study(f"  matrix: {{problem.steps: [{many}], grid.cells: [{many}], problem.check_interval: [{many}]}}\n"))


# scaling:


def test_a_weak_domain_grows_and_its_cells_stay_as_they_are(parse):
    deck = parse("scaling: {kind: weak, ranks: [1, 2, 4, 8]}\n")
    assert [case.cells for case in deck.cases] == [[8, 9, 10], [8, 9, 20], [8, 18, 20], [16, 18, 20]]
    for case in deck.cases:
        assert resolved(case)["grid"]["spacing"] == [1 / 8, 1 / 9, 1 / 10], "every bit of it"
        assert resolved(case)["grid"]["cells"] == case.cells


@pytest.mark.parametrize("cells, process_grid, ranks, grown", [
    (10, None, 3, [10, 10, 30]), (10, None, 6, [10, 20, 30]), (10, None, 7, [10, 10, 70]),
    (10, None, 16, [20, 20, 40]), (10, None, 4096, [160, 160, 160]), (10, [4, 1, 2], 8, [40, 10, 20]),
    ([10, 10, 1], None, 8, [20, 40, 1]), ([1, 1, 10], None, 8, [1, 1, 80]), ([1, 1, 1], None, 8, [2, 2, 2])])
def test_an_axis_grows_as_often_as_the_process_grid_cuts_it(parse, cells, process_grid, ranks, grown):
    more = [f"parallel.process_grid={process_grid}"] if process_grid else []
    assert parse(f"scaling: {{kind: weak, ranks: [{ranks}]}}\n", f"grid.cells={cells}", *more).cases[0].cells == grown


def test_grids_of_a_verification_do_not_grow(parse):
    base = BASE.replace("initial:\n  - {shape: constant, value: 300}\n", "").replace("steps: 10", "end_time: 1") + \
        "verify: {solution: decaying_mode, modes: [1, 0, 0], order: [8, 16, 32]}\n"
    assert len(parse("scaling: {kind: strong, ranks: [2]}\n", base=base).cases) == 1
    refusal("deck.yaml:8:60: verify.order: has grids of its own ", parse, "scaling: {kind: weak, ranks: [2]}\n", base=base)


def test_repeats_take_turns_and_each_other_case_of_a_study_is_a_series_with_names_by_a_pattern(parse):
    deck = parse("scaling: {kind: strong, ranks: [1, 2], repeats: 2}\n")
    assert names(deck) == ["ranks-1_run-1", "ranks-2_run-1", "ranks-1_run-2", "ranks-2_run-2"]
    assert {case.series for case in deck.cases} == {0}
    deck = parse(study("  matrix: {precision: [fp32, fp64], grid.cells: [4, [6, 6, 8]]}\n  exclude: [{precision: fp32, ranks: 2}]\n"
                       "  name: \"{precision} n{grid.cells} on {ranks} {run}\"\n") + "scaling: {kind: weak, ranks: [1, 2], repeats: 2}\n")
    assert deck.cases[3].name == "fp64-n4-on-2-1" and (deck.cases[4].name, deck.cases[5].cells) == ("fp64-n6x6x8-on-1-1", [6, 6, 16])
    assert [case.series for case in deck.cases] == [0, 1, 2, 2, 3, 3, 0, 1, 2, 2, 3, 3]


def test_gpus_are_ranks_with_a_gpu_each(parse):
    deck = parse(GPUS)
    assert names(deck) == ["ranks-1", "ranks-4"]
    assert {(resolved(case)["parallel"]["device"], resolved(case)["parallel"]["ranks_per_gpu"]) for case in deck.cases} == {("cuda", 1)}


# isotherm check --json


def asked(folder, requests, *words, deck="deck.yaml", code=0):
    return finished(command("check", "--json", deck, *words), code, cwd=folder, input=requests)


def test_requests_about_one_run_are_answered_too(folder):
    done = asked(folder, json.dumps({"requests": [
        {"plan": True}, {"ranks": 2, "settings": [{"key": "problem.steps", "value": {"at": [0, 3, 7], "text": "-1"}}]},
        {"ranks": 5000}, {"bandwidth": "gpu", "bytes": 1}, {"host": "mine"}]}), "precision=fp32")
    first, second, third, *words = json.loads(done.stdout)["answers"]
    assert first["plan"]["cells"] == [8, 9, 10] and "precision: fp32" in first["deck"] and "refused" not in first
    assert second["error"]["code"] == 65 and second["error"]["text"].startswith("deck.yaml:3:7: problem.steps: -1 is out of range; ")
    assert third["refused"]["code"] == 65
    assert [answer["error"] for answer in words] == [
        {"code": 65, "text": "'gpu' is none of cpu, cuda"}, {"code": 65, "text": "'mine' is none of this, another, either"}]
    assert os.listdir(folder) == ["deck.yaml"]


GRID = {"backend": "cpu", "value_bytes": 8, "halo_width": 1, "periodic": [False, False, False], "cells": [8, 9, 10]}


@pytest.mark.parametrize("request_, named", [
    *(({"ranks": ranks}, "ranks is") for ranks in (0, -1, 1.5, 2**24 + 1)), ({"process_grid": GRID, "ranks": 0}, "ranks is 0"),
    ({"foo": 1, "bar": 2}, "foo, bar"), ({"compare": {}, "sweeps": 10}, "sweeps"), ({"compare": {"sweep": 10}}, "sweep"),
    ({"process_grid": {**GRID, "cell": 1}, "ranks": 1}, "cell"), ({"process_grid": {**GRID, "cells": [0, 9, 10]}}, "cells"),
    ({"sections": True, "plan": True}, "plan"),
    ({"before": "", "now": "", "ranks": 2}, "ranks"), ({"settings": [{}]}, "key"), (3, "3")])
def test_a_malformed_request_is_one_error_among_the_answers(folder, request_, named):
    first, second = json.loads(asked(folder, json.dumps({"requests": [{}, request_]})).stdout)["answers"]
    assert "deck" in first and second["error"]["code"] == 65
    assert "request 2: " in second["error"]["text"] and named in second["error"]["text"]


@pytest.mark.parametrize("text", ["", "[1", "{}", '{"requests": 3}', "null"])
def test_what_is_no_list_of_requests_is_refused_in_a_line(folder, text):
    done = asked(folder, text, code=65)
    assert done.stdout == "" and done.stderr.startswith("standard input: no requests (") and done.stderr.count("\n") == 1
