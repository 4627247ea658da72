"""Wrong decks, and formulas that are not finite in some cell: exit code, message, no file made, little time
and memory used."""

import pytest

from program import BASE_DECK, expect_rejected, measured, OTHER_USER, ran, write_deck
from runs import history

EMPTY = "1:1: the deck is empty; write at least a grid (isotherm init prints a commented deck)"
DEEP = "nested deeper than 16 levels; no deck needs that"


def wall(text):
    return BASE_DECK + "boundaries:\n  x_min: {kind: temperature, value: " + text + "}\n"


def billion_laughs():
    lines = ["a0: &a0 [" + ", ".join(["x"] * 10) + "]"]
    lines += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]" for i in range(1, 10)]
    return "\n".join(lines) + "\n"


BODY = """\
grid:
  cells: [8, 8, 8]
  lengths: 1
materials:
  core: {conductivity: 7, density: 2000, heat_capacity: 800}
  board: {conductivity: [3, 2, 0.5],           density: 1500, heat_capacity: 1000}
material: {default: core}
regions:
  - {material: board, from: [0, 0, 0], to: [0.5, 1, 1], shape: box}
  - {layers: [{material: board, thickness: 0.5}], axis: z}
contacts:
  - {between: [core, board], resistance: 1e-5}
initial:
  - {shape: constant, value: 300}
problem:
  steps: 10
"""

DECKS = [  # the number in the list of faults, a name, the deck, and the start of the message
    (1, "empty", "", EMPTY),
    (2, "tab", "grid:\n\tcells: 3\n", "2:1: a tab indents this line (YAML requires spaces); use spaces"),
    (2, "undefined alias", "grid: *x\n", "1:7: not YAML (the referenced anchor is not defined)"),
    (3, "unknown key", BASE_DECK + "solver: {colour: red}\n", "10:10: solver.colour: unknown key; use one of kernel, tile, "),
    (None, "unknown kernel", BASE_DECK + "solver: {kernel: nonsense}\n",
     "10:18: solver.kernel: unknown value 'nonsense'; use one of auto, reference, "),
    (4, "duplicate key", BASE_DECK + "  steps: 12\n", "10:3: problem.steps: appears twice (first on line 9); keep one"),
    (5, "merge key", BASE_DECK + "  <<: {steps: 3}\n", "10:3: problem.<<: merge keys are not supported"),
    (5, "custom tag", BASE_DECK.replace("[8, 9, 10]", "!mine 8"), "2:10: the tag !mine is not supported "),
    (6, "two documents", BASE_DECK + "---\nsolver: {}\n", "10:1: a second document starts here "),
    (7, "comma colon", ",:", EMPTY),
    (7, "NUL", "a: 1\n\0", "2:1: control character 0x00; remove it"),
    (7, "invalid UTF-8", "a: \udcff\n", "1:4: byte 0xFF is not UTF-8; save the deck as UTF-8"),
    (8, "2 MiB", "a" * (2 << 20), "1:1: the deck has more than 1048576 bytes; put data in an HDF5 file"),
    (8, "1 MiB on a line", "[" + "a, " * 300000, "1:16386: the line has more than 16384 bytes; break it"),
    (8, "1 MiB of keys", "".join(f"k{i}: 1\n" for i in range(100000)), "25001:1: the deck has more than"),
    (8, "5000 deep, flow", "grid: " + "[" * 5000, f"1:15: {DEEP}"),
    (8, "deep, block", "".join(" " * i + "a:\n" for i in range(1000)), f"17:17: {DEEP}"),
    (8, "billion laughs", billion_laughs(), "5:20: the deck has more than 50000 parts, aliases expanded"),
    (9, "no value", BASE_DECK.replace("[8, 9, 10]", ""), "2:3: grid.cells: has no value; write a whole "),
    (10, "nan", BASE_DECK.replace("steps: 10", "end_time: .nan"), "9:13: problem.end_time: '.nan' is not a "),
    (10, "decimal comma", BASE_DECK.replace("lengths: 1", "lengths: 1,5"),
     "3:12: grid.lengths: '1,5' is not a "),
    (16, "unknown boundary", BASE_DECK + "boundaries: {x_min: perodic}\n",
     "10:21: boundaries.x_min.kind: unknown value 'perodic'; did you mean 'periodic'?"),
    (17, "unknown variable", wall("y*x"), "11:37: boundaries.x_min.value: unknown name 'x' at character 3"),
    (17, "division by zero", wall("1/0"), "11:37: boundaries.x_min.value: the formula '1/0' gives inf"),
    (None, "beyond sine", wall("sin(2^31)+2"), "11:37: boundaries.x_min.value: the formula 'sin(2^31)+2' gives nan (sin, cos"),
    (17, "long formula", wall("1+" * 2100 + "1"), "11:37: boundaries.x_min.value: 4201 characters are too"),
    (67, "powers", wall("y**2"), "11:37: boundaries.x_min.value: '**' is no operator (powers are '^') at character 2 of"),
    (67, "Celsius", wall("25 C"), "11:37: boundaries.x_min.value: '25 C' has a unit; write 298.15 (kelvin), without a unit"),
    (67, "Fahrenheit", wall("212 \u00b0F"), "11:37: boundaries.x_min.value: '212 \u00b0F' has a unit; write 373.15 (kelvin), "),
    (67, "millimetres", BASE_DECK.replace("lengths: 1", "lengths: 20mm"), "3:12: grid.lengths: '20mm' has a unit; write 0.02 (metres), "),
    (67, "minutes", BASE_DECK.replace("steps: 10", "end_time: 2 min"), "9:13: problem.end_time: '2 min' has a unit; write 120 (seconds), "),
    (67, "a list of conductivities", BASE_DECK.replace("diffusivity: 1", "diffusivity: 1\n  conductivity: [400, 400, 1]"),
     "6:17: material.conductivity: a list is given where one value is expected (what differs by axis or place takes materials "),
    (67, "a formula of the conductivity", BASE_DECK.replace("diffusivity: 1", "diffusivity: 1\n  conductivity: 400 + T"),
     "6:17: material.conductivity: '400 + T' is not a number (what differs by axis or place takes materials "),
    (67, "radiation", BASE_DECK + "boundaries: {x_min: {kind: radiation}}\n",
     "10:28: boundaries.x_min.kind: unknown value 'radiation'; radiation is not available in this version; use "),
    (67, "a section of radiation", BASE_DECK + "radiation: {}\n", "10:1: radiation: unknown key; radiation is not available"),
    (67, "the material of one body as materials", BASE_DECK.replace("material:", "materials:"),
     "5:16: materials.diffusivity: one value is given where a map is expected; write keys of conductivity, density, "),
    *((None, f"materials: {name}", BODY.replace(old, new), where) for name, old, new, where in [
        ("an unknown name", "material: board, from", "material: bord, from", "9:16: regions.0.material: unknown value 'bord'; did you "),
        ("both forms", "{default: core}", "{default: core, conductivity: 1}", "7:41: material.conductivity: is of one material, and the deck has materials"),
        ("no default", "{default: core}", "{}", "9:3: regions: no region has the cell at (0.5625, "),
        ("a lone density", ", heat_capacity: 1000}", "}", "6:48: materials.board.density: has no effect without heat_capacity; add "),
        ("thick layers", "thickness: 0.5", "thickness: 1.5", "10:44: regions.1.layers.0.thickness: brings the layers to 1.5 m, "),
        ("a negative resistance", "resistance: 1e-5", "resistance: -1e-5", "12:42: contacts.0.resistance: -1e-5 is out of range"),
        ("a contact with itself", "[core, board]", "[core, core]", "12:15: contacts.0.between: names one material twice"),
        ("three in contact", "[core, board]", "[core, board, core]", "12:15: contacts.0.between: has 3 entries; write two materials"),
        ("a contact's unknown name", "[core, board]", "[core, bord]", "12:15: contacts.0.between: unknown value 'bord'; did you "),
        ("two contacts", "contacts:", "contacts:\n  - {between: [board, core], resistance: 1}",
         "13:15: contacts.1.between: is a pair that has a contact before"),
        ("no heat capacity", "density: 2000, heat_capacity: 800", "", "5:3: materials.core: a transient problem needs rho c; add "),
        ("a formula of the conductivity", "{conductivity: 7,", "{conductivity: '7 + T',",
         "5:24: materials.core.conductivity: '7 + T' in quotes is text, not a number (what differs by axis or place "),
        ("another solution", "steps: 10", "steps: 10\nverify: {solution: decaying_mode}",
         "17:20: verify.solution: decaying_mode is not a solution for a body of several materials")]),
    (None, "one periodic face", BASE_DECK + "boundaries: {x_min: periodic}\n", "10:21: boundaries.x_min: is periodic but x_max is "),
]


@pytest.mark.parametrize("entry, name, deck, line", DECKS,
                         ids=lambda value: value if isinstance(value, (str, int)) and len(str(value)) < 40 else "")
def test_wrong_deck_is_refused(tmp_path, entry, name, deck, line):
    write_deck(tmp_path, deck)
    result = measured("run", "deck.yaml", cwd=tmp_path)
    expect_rejected(tmp_path, result, 65, f"deck.yaml:{line}")
    assert "; " in result.stderr and result.megabytes < 100


@pytest.mark.parametrize("override", ["problem.end_time=0.01", "grid.spacing=0.1", "output.every_time=0.005", "output.slices.0.cell=3"])
def test_an_override_replaces_a_key_of_the_file_that_excludes_its_own(tmp_path, override):
    write_deck(tmp_path, BASE_DECK + "output: {every_steps: 5, slices: [{position: 0.5}]}\n")
    ran("check", "deck.yaml", override, cwd=tmp_path)


@pytest.mark.parametrize("make, why", [
    (lambda deck: deck.unlink(), "No such file or directory"), (lambda deck: (deck.unlink(), deck.mkdir()), "it is a directory"),
    (lambda deck: deck.chmod(0), "Permission denied")])
def test_a_deck_that_cannot_be_read(folder, make, why):
    make(folder / "deck.yaml")
    result = measured("check", "deck.yaml", cwd=folder, user=OTHER_USER if why.startswith("Perm") else None)
    assert (result.returncode, result.stderr.count("\n")) == (66, 1)
    assert result.stderr.startswith(f"cannot read the deck deck.yaml ({why}); ")


def test_all_problems_are_reported_at_once_from_top_to_bottom(tmp_path):
    write_deck(tmp_path, "grid: {cells: 0, spacing: -0.1}\nmaterial: {diffusivity: -1}\n"
                         "problem: {steps: -10, dt: -1}\nsolver: {halo_width: 99}\n"
                         "output: {every_steps: 0, every_time: -1}\n")
    done = ran("check", "deck.yaml", "precision=fp8", cwd=tmp_path, code=65)
    assert [line.split("; ")[0] for line in done.stderr.splitlines()] == [
        "deck.yaml:1:1: initial: is missing",
        "deck.yaml:1:15: grid.cells: 0 is out of range", "deck.yaml:1:27: grid.spacing: -0.1 is out of range",
        "deck.yaml:2:25: material.diffusivity: -1 is out of range",
        "deck.yaml:3:18: problem.steps: -10 is out of range",
        "deck.yaml:3:27: problem.dt: -1 is out of range",
        "deck.yaml:4:22: solver.halo_width: 99 is out of range",
        "deck.yaml:5:23: output.every_steps: 0 is out of range",
        "deck.yaml:5:26: output.every_time: cannot be combined with every_steps (on line 5)",
        "deck.yaml:5:38: output.every_time: -1 is out of range", "argument 3: precision: unknown value 'fp8'"]


def test_the_short_deck_is_the_commented_one_without_its_defaults(tmp_path):
    """Both pass `check`, and the short one runs."""
    minimal = ran("init", "--minimal").stdout
    assert len(minimal.splitlines()) < 20
    resolved = []
    for text in (ran("init").stdout, minimal):
        result = ran("check", write_deck(tmp_path, text), "--resolved", cwd=tmp_path)
        assert result.stderr == ""
        resolved.append(result.stdout[:result.stdout.index("\n# the plan of its run\n")])
    assert resolved[0] == resolved[1]
    assert ran("run", "deck.yaml", "grid.cells=8", cwd=tmp_path).stderr == ""


def test_the_commented_deck_leaves_defaults_to_the_program(tmp_path):
    """Those that depend on other keys, as check_interval on the method; and every key has a value or an example."""
    text = ran("init").stdout
    assert [line for line in text.splitlines() if line.endswith(": ") or "default it must" in line] == []
    ran("run", write_deck(tmp_path, text), "grid.cells=8", "problem.method=implicit", "output.directory=out", cwd=tmp_path)
    assert len(history(tmp_path / "out")) >= 32  # one for each step


# A grid of 8 x 9 x 10 cells in a cube of 1 m: centres at (i + 1/2)/8, (j + 1/2)/9, (k + 1/2)/10.
CASES = [  # the start of the message; unit/test_region_values.cpp tests the rest
    ("in the last cell only", ['initial=[{shape: formula, formula: "sqrt(2.8-x-y-z)"}]'],
     "initial.0.formula: sqrt(2.8-x-y-z) is not finite at cell (7, 8, 9) (it is nan at x = 0.9375 m, "),
    ("beyond fp32, second entry",
     ['initial=[{shape: constant, value: 300}, {shape: formula, mode: add, formula: "1e40*(1+x)"}]', "precision=fp32"],
     "initial.1.formula: 1e40*(1+x) is too large for the precision at cell (0, 0, 0) (it is 1.0625e+40 at "),
    ("exact", ['verify={solution: formula, formula: "1/(x-0.0625)"}', 'initial=[{shape: exact}]'],
     "verify.formula: the value is not finite at cell (0, 0, 0) (it is inf at x = 0.0625 m, "),
    ("source", ['sources=[{shape: formula, formula: "1/(y-0.5)"}]', "material.conductivity=1"],
     "sources.0.formula: 1/(y-0.5) is not finite at cell (0, 4, 0) (it is inf at x = 0.0625 m, y = 0.5 m, "),
    ("wall", ['boundaries.x_max={kind: temperature, value: "300 + 1/(y-0.5)"}'],
     "boundaries.x_max.value: 300 + 1/(y-0.5) is not finite at cell (7, 4, 0) (it is inf at x = 1 m, y = 0.5 m, "),
    ("ambient", ['boundaries.z_min={kind: convection, coefficient: 3, ambient: "sqrt(x-0.3)"}', "material.conductivity=1"],
     "boundaries.z_min.ambient: sqrt(x-0.3) is not finite at cell (0, 0, 0) (it is nan at x = 0.0625 m, "),
]


@pytest.mark.parametrize("name, overrides, line", CASES, ids=[name for name, _, _ in CASES])
@pytest.mark.parametrize("ranks", [0, 4])
def test_a_value_that_is_not_finite(folder, name, overrides, line, ranks):
    done = ran("run", "deck.yaml", *overrides, ranks=ranks, cwd=folder, code=65)
    expect_rejected(folder, done, 65, f"argument 3: {line}")


def test_a_field_that_is_not_finite_keeps_the_earlier_run(folder):
    ran("run", "deck.yaml", "output.directory=out", cwd=folder)
    ran("run", "deck.yaml", CASES[0][1][0], "output.directory=out", "output.overwrite=true", cwd=folder, code=65)
    assert (folder / "out" / "deck_00000010.hdf").exists()


@pytest.mark.parametrize("override, line", [
    ('sources=[{shape: box, from: [0, 0, 0], to: [1, 1, 1], power: "5*sqrt(0.005-t)"}]', "sources: the power of a box is not finite"),
    ('sources=[{shape: gaussian, power: 1, centre: ["sqrt(0.005-t)", 0.5, 0.5], width: 0.1}]', "sources: the place of a gaussian"),
    ('sources=[{shape: formula, formula: "5*sqrt(0.005-t)"}]', "sources.0.formula: 5*sqrt(0.005-t) is not finite"),
    ('boundaries.x_min={kind: temperature, value: "300*sqrt(0.005-t)"}', "boundaries.x_min.value: 300*sqrt(0.005-t) is not finite"),
    ('boundaries.x_min={kind: temperature, value: "1e5*(0.005-t)"}', "boundaries.x_min.value: "),
    ('boundaries.x_min=[{kind: convection, ambient: 300, coefficient: "1e3*(0.005-t)", '
     'where: {from: [0.5, 0.5], to: [1, 1]}}, insulated]',
     "boundaries.x_min.0.coefficient: -0.4... W/(m^2 K) at cell (0, 4, 5) (x = 0 m, y = 0.5 m, z = 0.55 m, t = 0.0054"),
])
def test_a_value_of_time_alone_is_checked_up_to_the_end(folder, override, line):
    done = ran("check", "deck.yaml", override, "material.conductivity=1", cwd=folder, code=65)
    begin, _, rest = line.partition("...")
    expect_rejected(folder, done, 65, f"argument 3: {begin}")
    assert rest in done.stderr


def test_an_initial_dataset_that_is_missing_is_an_error_of_check(folder):
    done = ran("check", "deck.yaml", "initial=[{shape: dataset, file: none.h5, dataset: a}]", cwd=folder, code=66)
    expect_rejected(folder, done, 66, "argument 3: initial.0.dataset: ")
