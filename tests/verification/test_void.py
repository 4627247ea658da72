"""Bodies that do not fill the box: cells of a void are not part of them, and faces to a void with a boundary condition are convective."""

import copy
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest

from bodies import (BOARD, CORE, CORE_AND_BOARD, PROBLEMS, TO_ROUNDING, check, expect_one_answer, expect_the_same_bits_after_a_restart,
                    field, run, slab)
from program import ran
import runs

HOT = {"ambient": 400, "coefficient": 500}
COLD = {"ambient": 300, "coefficient": 80}
H = 1e-3
METHODS = {**PROBLEMS, "euler": {"steps": 30}, "implicit": {"method": "implicit", "end_time": 200, "dt": 100}}


def slab_between_voids(axis, problem):
    """3 cells of a void, 5 of core, 4 of board, 2 of another void."""
    deck = slab(axis, problem, [[3, H], [5, H], [4, H], [2, H]], ("hot", "core", "board", "cold"))
    deck["materials"] = {"core": CORE, "board": BOARD, "hot": HOT, "cold": COLD}
    beyond = {"kind": "temperature", "value": 1000}  # of the void, so without effect
    deck["boundaries"] = {"xyz"[axis] + "_min": beyond}
    del deck["contacts"]
    return deck


@pytest.mark.parametrize("problem", TO_ROUNDING.values(), ids=TO_ROUNDING)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_slab_between_two_voids_is_exact(tmp_path, axis, problem):
    record = run(tmp_path, slab_between_voids(axis, problem))
    found = np.moveaxis(field(tmp_path / "out"), 2 - axis, 0)
    of_cell = np.array([H / 7] * 5 + [H / BOARD["conductivity"][axis]] * 4)  # m^2 K/W
    whole = 1 / 500 + of_cell.sum() + 1 / 80
    exact = 400 - 100 * (1 / 500 + np.cumsum(of_cell) - of_cell / 2) / whole
    assert np.isnan(found[:3]).all() and np.isnan(found[12:]).all()
    error = np.abs(found[3:12] - exact[:, None, None]).max()
    assert error <= 1e-11 * 100, error
    heat = record["end_state"]["heat"]
    area = found[0].size * H * H
    flows = {each["name"]: each["watts"] for each in heat["voids_W"]}
    assert flows == {"hot": pytest.approx(100 / whole * area, rel=1e-10), "cold": pytest.approx(-100 / whole * area, rel=1e-10)}
    assert heat["faces_W"]["xyz"[axis] + "_min"] == 0
    assert heat["relative_balance"] < 1e-9
    end = record["end_state"]
    assert end["nan_cells"] == 0
    assert (end["highest"]["temperature_K"], end["lowest"]["temperature_K"]) == (np.nanmax(found), np.nanmin(found))
    last = runs.history(tmp_path / "out")[-1]
    assert float(last["mean_K"]) == pytest.approx(np.nanmean(found), rel=1e-14)
    assert (float(last["min_K"]), float(last["max_K"])) == (np.nanmin(found), np.nanmax(found))
    capacity = np.repeat([2000 * 800, 1500 * 1000], [5, 4])[:, None, None] * H**3
    assert float(last["heat_J"]) == pytest.approx((capacity * found[3:12]).sum(), rel=1e-12)


def test_an_exact_field_is_compared_in_the_body_alone(tmp_path):
    deck = slab_between_voids(0, {"kind": "steady", "tolerance": 1e-13})
    deck["regions"][0]["layers"][2]["material"] = "core"
    deck["verify"] = {"solution": "formula", "formula": "400 - 100*(1/500 + (x - 0.003)/7)/(1/500 + 0.009/7 + 1/80)"}
    assert run(tmp_path, deck)["verification"]["max_error_K"] < 1e-9


@pytest.mark.parametrize("problem", [{"steps": 30, "dt": 2}, {"steps": 3, "dt": 40, "method": "rkl"},
                                     {"kind": "steady", "tolerance": 1e-13}], ids=["euler", "rkl", "chebyshev"])
def test_an_insulated_void_around_a_bar_changes_nothing(tmp_path, problem):
    bar = {
        "grid": {"cells": [12, 5, 4], "spacing": 0.01},
        **CORE_AND_BOARD,
        "regions": [{"material": "board", "shape": "box", "from": [0.03, 0, 0], "to": [0.07, 0.02, 0.03]}],
        "boundaries": {"x_min": {"kind": "temperature", "value": 400},
                       "x_max": {"kind": "convection", "ambient": 300, "coefficient": 60}},
        "initial": [{"shape": "formula", "formula": "300 + 400*x"}],
        "sources": [{"shape": "constant", "value": 1e5}],
        "problem": problem,
    }
    around = copy.deepcopy(bar)
    around["grid"] = {"cells": [12, 11, 9], "spacing": 0.01, "origin": [0, -0.03, -0.02]}
    around["material"]["default"] = "void"
    around["regions"].insert(0, {"material": "core", "shape": "box", "from": [0, 0, 0], "to": [0.12, 0.05, 0.04]})
    alone = run(tmp_path, bar, name="alone")
    record = run(tmp_path, around)
    found = field(tmp_path / "out")
    np.testing.assert_allclose(found[2:6, 3:8], field(tmp_path / "alone"), rtol=1e-12)
    assert np.isnan(found).sum() == found.size - 12 * 5 * 4
    assert {each["name"]: each["cells"] for each in record["materials"]} == {"core": 240 - 24, "board": 24, "void": 12 * 99 - 240}
    for name, watts in alone["end_state"]["heat"]["faces_W"].items():
        assert record["end_state"]["heat"]["faces_W"][name] == pytest.approx(watts, rel=1e-9)
    assert record["sources"] == alone["sources"]


def shapes(problem):
    """A body with two rooms, a hole, overhangs and a wall one cell thick."""
    steady = problem.get("kind") == "steady"
    return {
        "grid": {"cells": [21, 14, 12], "lengths": [0.21, 0.14, 0.12]},
        "materials": {"core": CORE, "board": BOARD, "hot": HOT, "cold": COLD},
        "material": {"default": "core"},
        "contacts": [{"between": ["core", "board"], "resistance": 1e-3}],
        "regions": [
            {"material": "board", "shape": "cylinder", "centre": [0.1, 0.07, 0.06], "radius": 0.05, "length": 1, "axis": "x"},
            {"material": "void", "shape": "sphere", "centre": [0.1, 0.07, 0.06], "radius": 0.03},
            {"material": "hot", "shape": "box", "from": [0, 0, 0.08], "to": [0.07, 0.09, 0.12]},
            {"material": "cold", "shape": "box", "from": [0.08, 0, 0.08], "to": [0.21, 0.03, 0.12]}],
        "boundaries": {"x_min": {"kind": "temperature", "value": "300 + 100*y" if steady else "300 + 100*y + t"},
                       "x_max": {"kind": "convection", "ambient": 280, "coefficient": "50*(1 + y)"},
                       "z_min": {"kind": "flux", "value": 1e3}, "y_min": "periodic", "y_max": "periodic"},
        "initial": [{"shape": "formula", "formula": "300 + 50*x + 7*y*y + 3*z"}],
        "sources": [{"shape": "sphere", "centre": [0.1, 0.07, 0.06], "radius": 0.05, "power": 30}],
        "problem": problem,
        "output": {"every_steps": 10, "diagnostics": 10, "histogram": {"bins": 8},
                   "coarse": {"factor": [3, 2, 2], "every_steps": 10}, "slices": [{"axis": "z", "cell": 9, "every_steps": 10}],
                   "probes": {"points": [[0.005, 0.1, 0.02], [0.1, 0.105, 0.06]]},
                   "checkpoint": {"every_steps": 10, "keep": 9}} if not steady else {"diagnostics": 1},
    }


@pytest.mark.parametrize("method", METHODS)
def test_one_answer(tmp_path, method):
    first = expect_one_answer(tmp_path, shapes(METHODS[method]))
    assert int(first["fingerprint"], 16) == runs.fingerprint(field(tmp_path / "first"))


def test_a_restart_has_the_same_bits_on_other_ranks(tmp_path):
    expect_the_same_bits_after_a_restart(tmp_path, shapes(METHODS["euler"]), "problem.steps=20")
    found, blocks = field(tmp_path / "out"), field(tmp_path / "out", "deck_coarse")
    pairs = found.reshape(6, 2, 7, 2, 7, 3)
    counts = (~np.isnan(pairs)).sum(axis=(1, 3, 5))
    with np.errstate(invalid="ignore"):
        means = np.nansum(pairs, axis=(1, 3, 5)) / counts
    assert np.isnan(blocks).any() and (counts[~np.isnan(means)] < 12).any()
    np.testing.assert_allclose(blocks, means, rtol=1e-14)
    assert runs.fingerprint(field(tmp_path / "out", "deck_slice_z9")[0]) == runs.fingerprint(found[9])
    bins, last = runs.record(tmp_path / "out")["histogram"], runs.history(tmp_path / "out")[-1]
    body = found[~np.isnan(found)]
    counted, _ = np.histogram(body, np.linspace(bins["low_K"], bins["high_K"], 9))
    assert [int(last[f"hist_{i}"]) for i in range(8)] == counted.tolist()
    assert int(last["hist_under"]) == (body < bins["low_K"]).sum() and int(last["hist_over"]) == (body > bins["high_K"]).sum()


def test_a_run_can_start_from_one_with_a_void(tmp_path):
    deck = shapes(METHODS["euler"])
    run(tmp_path, deck, name="earlier")
    deck["initial"] = [{"shape": "dataset", "file": "earlier"}]
    run(tmp_path, deck)
    assert runs.fingerprint(runs.cells(tmp_path / "out" / "deck_00000000.hdf")) == runs.fingerprint(field(tmp_path / "earlier"))
    removed = deck["regions"].pop(1)
    assert "initial.0.dataset: " in (said := run(tmp_path, deck, code={65})) and "not finite" in said
    deck["initial"].append({**{key: removed[key] for key in removed if key != "material"}, "value": 310})
    run(tmp_path, deck)


def test_pictures_and_the_report_leave_a_void_blank(tmp_path):
    run(tmp_path, shapes(METHODS["euler"]))
    for words in (["slice", "out"], ["animate", "out"], ["report", "out"]):
        ran(*words, cwd=tmp_path)
    page = next((tmp_path / "out").glob("*.html")).read_text()
    assert "from the void hot" in page and "from the void cold" in page
    body = page.split('<section id="body">')[1].split("</section>")[0]
    for said in (f"hot (void: h {HOT['coefficient']:.6g}, ", "300 + 100*y + t K", "h 50*(1 + y), 280 K", "flux 1000 W/",
                 "Materials at z = ", "faces with a contact", "Materials in the plane across x: core, "):
        assert said in body, said


def test_the_report_draws_no_slice_of_voids_alone(tmp_path):
    deck = changed(regions=[{**BOX, "from": [0, 0, 0.04], "to": [1, 1, 1], "material": "void"}])
    deck["output"] = {"slices": [{"axis": "z", "position": at, "name": name} for name, at in (("top", 0.07), ("low", 0.03))]}
    run(tmp_path, deck)
    ran("report", "out", cwd=tmp_path)
    page = next((tmp_path / "out").glob("*.html")).read_text()
    assert "<figcaption>deck_slice_low at" in page and "<figcaption>deck_slice_top at" not in page
    assert "plane of deck_slice_top has" in page


def test_how_hot_each_material_is(tmp_path):
    """From the file of material numbers, which is checked against the NaN cells; ParaView finds it by the .xmf."""
    deck = shapes({"steps": 10})
    deck["regions"][0]["length"] = 0.1  # no row starts with an extreme
    deck["boundaries"]["x_min"] = "insulated"
    deck["initial"] = [{"shape": "formula", "formula": "300 + 60*sin(40*x)*cos(50*y) + 7*z"}]
    record = run(tmp_path, deck, ranks=3)
    temperatures = field(tmp_path / "out")
    with h5py.File(tmp_path / "out" / "deck_material.h5") as file:
        names, numbers = file["names"][()].decode().split("\n"), file["material"][...]
    materials = record["materials"]
    assert names == [each["name"] for each in materials] == ["core", "board", "hot", "cold", "void"]
    assert "deck_material.h5" in record["files"]
    assert np.array_equal(np.isnan(temperatures), numbers >= 2)
    assert [each["cells"] for each in materials] == np.bincount(numbers.ravel()).tolist()
    for number, each in enumerate(materials[:2]):
        own = np.where(numbers == number, temperatures, np.nan)
        for end, place in (("lowest", np.nanargmin(own)), ("highest", np.nanargmax(own))):
            assert each[end]["temperature_K"] == own.ravel()[place]
            assert place % own.shape[2] > 0 and each[end]["cell"] == list(np.unravel_index(place, own.shape))[::-1]
    assert [each[end] for each in materials[2:] for end in ("lowest", "highest")] == [None] * 6
    attributes = ElementTree.parse(tmp_path / "out" / "deck.xmf").findall("./Domain/Grid/Grid[1]/Attribute")
    assert attributes[1].get("Name") == "material" and attributes[1].find("DataItem").text == "deck_material.h5:/material"


BASE = {"grid": {"cells": 8, "spacing": 0.01}, "materials": {"core": CORE, "room": HOT}, "material": {"default": "core"},
        "problem": {"steps": 2}}
BOX = {"shape": "box", "from": [0.02, 0.02, 0.02], "to": [0.06, 0.06, 0.06]}


def changed(**keys):
    return {**BASE, **keys}


@pytest.mark.parametrize("deck, words", [
    (changed(materials={"core": CORE, "void": HOT}), ["materials.void", "needs no entry"]),
    (changed(materials={"core": CORE, "room": {"ambient": 300}}), ["materials.room.ambient", "without coefficient"]),
    (changed(materials={"core": CORE, "room": {**HOT, "ambient": "300 + t"}}), ["room.ambient", "coefficient of a void are numbers"]),
    (changed(materials={"core": {**CORE, "coefficient": 3}}), ["materials.core.coefficient", "without ambient"]),
    (changed(materials={"core": CORE, "room": {**HOT, "density": 1}}), ["materials.room.density", "ambient"]),
    (changed(material={"default": "void"}), ["every cell is of a void"]),
    (changed(contacts=[{"between": ["core", "room"], "resistance": 1}]), ["contacts.0.between", "a void"]),
    (changed(regions=[{**BOX, "material": "rooom"}]), ["regions.0.material", "did you mean"]),
    (changed(regions=[{**BOX, "material": "room"}, {"shape": "box", "material": "void", "from": [0, 0, 0], "to": [1, 1, 1]}],
             materials={"core": CORE, "room": HOT}), ["cover every cell of room"]),
    (changed(regions=[{"shape": "box", "material": "room", "from": [0.03, 0, 0], "to": [0.05, 1, 1]},
                      {"shape": "box", "material": "void", "from": [0.05, 0, 0], "to": [0.06, 1, 1]}],
             problem={"kind": "steady"}), ["nothing holds the temperature", "(0.065, 0.005, 0.005) m"]),
    (changed(regions=[{"shape": "box", "material": "room", "from": [0.016, 0, 0], "to": [0.019, 1, 1]}], problem={"kind": "steady"},
             grid={"cells": [None, 8, 8], "spacing": [[[4, 0.01], [2, 0.02]], 0.01, 0.01]}, boundaries={"x_min": {"kind": "flux", "value": 5}}),
     ["nothing holds the temperature"]),
    (changed(regions=[{**BOX, "material": "room"}], output={"probes": {"points": [[0.04, 0.04, 0.04]]}}),
     ["(0.04, 0.04, 0.04) m is in a void"]),
    (changed(regions=[{**BOX, "material": "room"}], sources=[{**BOX, "power": 5}]), ["sources.0: lies in a void"]),
], ids=["word", "coefficient", "formula", "conductivity", "density", "all", "contact", "name", "hidden", "singular", "no_centre", "probe", "source"])
def test_errors_of_voids_are_reported(tmp_path, deck, words):
    said = run(tmp_path, deck, code={65})
    assert all(each in said for each in words), said


@pytest.mark.parametrize("void", [[2, 0.02], [1, 0.05]], ids=["equal", "graded"])
def test_probes_at_edges_and_corners_next_to_voids_read_what_they_read_at_boundaries(tmp_path, void):
    points = [[0.1, 0.1, 0.05], [0.1, 0.1, 0.1], [0.1, 0.05, 0.1], [0.0999, 0.0999, 0.095]]
    side, top = {"coefficient": 1000, "ambient": 295}, {"coefficient": 100, "ambient": 285}
    alone = {
        "grid": {"cells": 5, "spacing": 0.02},
        "materials": {"wall": {"conductivity": [2, 1, 3]}},
        "material": {"default": "wall"},
        "boundaries": {"x_min": {"kind": "temperature", "value": 350}, "x_max": {"kind": "convection", **side},
                       "y_max": {"kind": "convection", **side}, "z_max": {"kind": "convection", **top}},
        "problem": {"kind": "steady", "tolerance": 1e-12},
        "output": {"probes": {"points": points}},
    }
    within = {**alone, "grid": {"spacing": [[[5, 0.02], void]] * 3}, "materials": {**alone["materials"], "side": side, "top": top},
              "material": {"default": "side"}, "boundaries": {"x_min": alone["boundaries"]["x_min"]},
              "regions": [{"material": "top", "shape": "box", "from": [0, 0, 0.1], "to": [1, 1, 1]},
                          {"material": "wall", "shape": "box", "from": [0, 0, 0], "to": [0.1, 0.1, 0.1]}]}
    run(tmp_path, alone, name="alone")
    run(tmp_path, within, name="within")
    assert runs.probed(tmp_path / "within")[-1] == pytest.approx(runs.probed(tmp_path / "alone")[-1], abs=1e-7)


HEATED = {"shape": "box", "from": [0.03, 0.02, 0.02], "to": [0.05, 0.06, 0.06], "power": 5}  # half of it is in the void
ELLIPSOID = {"shape": "double_ellipsoid", "centre": [0.04, 0.04, 0.08], "front": 0.01, "rear": 0.01, "half_width": 0.01, "depth": 0.01}


@pytest.mark.parametrize("source, share", [
    (HEATED, 50), ({**HEATED, "power": "5*(1 + t)"}, 50),
    ({**HEATED, "from": ["if(t > 0, 0.03, 0.06)", 0, 0], "to": ["if(t > 0, 0.05, 0.08)", 0.08, 0.08]}, 25), ({"shape": "constant", "power": 5}, 50),
    ({"shape": "sphere", "centre": [0.04, 0.04, 0.04], "radius": 0.013, "power": 5}, 50),
    ({"shape": "cylinder", "centre": [0.06, 0.04, 0.04], "radius": 0.015, "length": 0.08, "axis": "x", "value": 5}, 25),
    ({"shape": "gaussian", "centre": [0.04, 0.04, 0.04], "width": 0.006, "power": 5}, 50),
    ({**ELLIPSOID, "power": 5}, 50), ({"shape": "dataset", "file": "heat.hdf", "dataset": "/q"}, 25),
    ({"shape": "constant", "value": 5}, None), ({**HEATED, "from": [0.02, 0, 0], "to": [0.04, 0.08, 0.08]}, None),
], ids=["box", "power", "moving", "all", "sphere", "cylinder", "gaussian", "ellipsoid", "dataset", "density", "body"])
@pytest.mark.parametrize("zones", [None, [[4, 0.01], [2, 0.02]]], ids=["uniform", "graded"])
def test_heat_in_a_void_is_reported(tmp_path, source, share, zones):
    """The half of the box with the larger x is a void."""
    half = {"shape": "box", "material": "room", "from": [0.04, 0, 0], "to": [1, 1, 1]}
    deck = changed(regions=[half], sources=[source])
    if source["shape"] == "dataset":
        with h5py.File(tmp_path / "heat.hdf", "w") as file:
            file["q"] = np.broadcast_to(np.where(np.arange(6 if zones else 8) < 4, 1.0, 3.0), (8, 8, 6 if zones else 8))
    deck["grid"] = {"spacing": [zones or [[8, 0.01]], 0.01, 0.01], "cells": [None, 8, 8]}
    said = [line for line in check(tmp_path, deck).splitlines() if "warning" in line and "sources.0" in line]
    assert [float(line.split("only ")[1].split(" %")[0]) for line in said] == ([] if share is None else [pytest.approx(share, abs=0.1)])


@pytest.mark.parametrize("heat, watts", [({"boundaries": {"z_max": {"kind": "flux", "value": 1000}}}, 3.2),
                                         ({"sources": [{**ELLIPSOID, "power": 6}]}, 3)], ids=["flux", "source"])
def test_a_steady_body_is_balanced_by_the_heat_outside_voids(tmp_path, heat, watts):
    """The half with larger x is a void, so half of the heat is missing."""
    sink = {"shape": "box", "from": [0, 0, 0], "to": [0.04, 0.08, 0.08], "mode": "add"}
    half = {"shape": "box", "material": "void", "from": [0.04, 0, 0], "to": [1, 1, 1]}
    deck = changed(materials={"core": CORE}, regions=[half], boundaries={}, problem={"kind": "steady", "mean_temperature": 300})
    for share, code in (1, 0), (2, 65):
        sources = [*heat.get("sources", []), {**sink, "power": -share * watts}]
        run(tmp_path, {**deck, **heat, "sources": sources}, code={code}, ranks=2)
        assert code or runs.record(tmp_path / "out")["residual"]["error_K"] is None  # no boundary gives a slowest mode


TWO = {"core": CORE, "board": BOARD, "room": HOT}
CONTACT = [{"between": ["core", "board"], "resistance": 1e-3}]
FLUX = {"kind": "flux", "value": 5}


def slabs(*ends, axis="x", **keys):
    """Layers of board, void and core in turn that end at these positions; core fills the rest of the box."""
    layers = [{"material": name, "thickness": round(end - start, 9)} for name, start, end in
              zip(("board", "void", "core"), (0, *ends), (*ends, 0.08))]
    return changed(materials=TWO, regions=[{"layers": layers, "axis": axis}, {**BOX, "to": [0.03, 0.03, 0.03], "material": "room"}], **keys)


@pytest.mark.parametrize("deck, said", [
    (slabs(0.01, 0.06, contacts=CONTACT), ["contacts.0: "]),
    *((slabs(0.01, 0.06, axis=axis, contacts=CONTACT, boundaries={f"{axis}_{end}": "periodic" for end in ("min", "max")}), [])
      for axis in "xyz"),
    *((changed(materials=TWO, contacts=CONTACT, regions=[{"material": "board", "shape": "box", "from": [0, 0, 0], "to": to}]), [])
      for to in ([0.01, 1, 1], [1, 0.01, 1], [1, 1, 0.01])),
    (changed(materials=TWO, regions=[{**BOX, "material": "board"}, {**BOX, "material": "room", "to": [0.07, 0.07, 0.07]},
                                     {**BOX, "material": "board", "from": [0, 0, 0]}, {**BOX, "material": "room"}]),
     ["regions.0: "]),
    (slabs(0.02, 0.04, boundaries={"y_min": FLUX}), []),
    (changed(materials=TWO, regions=[{**BOX, "from": [0, 0, 0], "to": [1, 1, 1], "material": "board"}]), []),
    (changed(regions=[{"layers": [{"material": "room", "thickness": 0.02}], "axis": "z"}],
             boundaries={"z_min": [FLUX, FLUX], "z_max": FLUX, "y_max": {**FLUX, "where": {"from": [0, 0], "to": [0.08, 0.02]}, "else": FLUX}}),
     ["boundaries.z_min.0: ", "boundaries.z_min.1: ", "boundaries.y_max: "]),
    (changed(materials=TWO, regions=[{"layers": [{"material": "board", "thickness": 0.02}, {"material": "room", "thickness": 0.002}]}]),
     ["regions.0.layers.1.thickness: the layer ends 0.2 of a cell above a face", "regions.0.layers.1: holds no cell centre"]),
    (changed(regions=[{**BOX, "material": "room", "from": [0.02, 0.0175, -1], "to": [0.06, 1, 0.061]}]),
     ["regions.0: the box ends up to 0.25 of a cell off the faces between cells along y, z, and "]),
], ids=["contact", "x", "y", "z", "along_x", "along_y", "along_z", "regions", "none", "default", "laws", "layers", "box"])
def test_settings_without_effect_are_reported(tmp_path, deck, said):
    lines = [line for line in check(tmp_path, deck).splitlines() if line.startswith("warning: deck") and ": materials." not in line]
    assert len(lines) == len(said) and all(each in "\n".join(lines) for each in said), lines


def by_dataset(folder, deck, kind=np.uint8):
    """The same body by a dataset."""
    nz, ny, nx = deck["grid"]["cells"][::-1]
    z, y, x = np.meshgrid(*((np.arange(n) + 0.5) * 0.01 for n in (nz, ny, nx)), indexing="ij")
    ids = np.full((nz, ny, nx), 7, kind)  # not in the map
    ids[((y - 0.07)**2 + (z - 0.06)**2 < 0.05**2)] = 2
    ids[((x - 0.1)**2 + (y - 0.07)**2 + (z - 0.06)**2 < 0.03**2)] = 0
    ids[(z > 0.08) & (x < 0.07) & (y < 0.09)] = 3
    ids[(z > 0.08) & (x > 0.08) & (y < 0.03)] = 200
    with h5py.File(folder / "scan.hdf", "w") as file:
        file.create_dataset("ids", data=ids, chunks=(5, 6, 7), compression="gzip")
        file["real"] = ids.astype(float)
        file["small"] = ids[1:]
    region = {"shape": "dataset", "file": "scan.hdf", "dataset": "/ids",
              "map": {"0": "void", "2": "board", "3": "hot", "200": "cold"}}
    return {**deck, "regions": [region]}


@pytest.mark.parametrize("kind", [np.uint8, np.int64, h5py.enum_dtype({"board": 2, "hot": 3}, "i2")], ids=["uint8", "int64", "enum"])
def test_a_dataset_gives_the_same_body_as_shapes(tmp_path, kind):
    deck = shapes(METHODS["euler"])
    wanted = run(tmp_path, deck, name="shapes")
    deck = by_dataset(tmp_path, deck, kind)
    for ranks, words in ((0, []), (2, ["solver.halo_width=2"]), (3, [])):
        record = run(tmp_path, deck, *words, ranks=ranks, name=f"scan{ranks}")
        assert record["fingerprint"] == wanted["fingerprint"]
        assert record["materials"] == wanted["materials"]
    deck["material"]["default"] = "hot"  # no cell has it: cells whose number is not in the map have the material of the region
    deck["regions"][0]["material"] = "core"
    record = run(tmp_path, deck, ranks=2)
    assert record["fingerprint"] == wanted["fingerprint"]
    assert {each["name"]: each["cells"] for each in record["materials"]} == {
        each["name"]: each["cells"] for each in wanted["materials"]}
    del deck["material"], deck["regions"][0]["material"]
    assert "no region has the cell" in run(tmp_path, deck, code={65})


@pytest.mark.parametrize("change, code, words", [
    ({"file": "none.hdf"}, 66, ["none.hdf"]), ({"dataset": "/nothing"}, 65, ["no such dataset"]),
    ({"dataset": "/small"}, 65, ["expected shape (nz, ny, nx) = (12, 14, 21)"]), ({"dataset": "/real"}, 65, ["whole numbers"]),
    ({"map": {"1": "bord"}}, 65, ["regions.0.map.1", "board"]), ({"material": "bord"}, 65, ["regions.0.material", "board"]), ({"map": {"one": "board"}}, 65, ["no whole number"]),
    ({"map": {}}, 65, ["assigns no material"])], ids=["file", "dataset", "shape", "real", "name", "other", "number", "empty"])
def test_errors_of_a_dataset_are_reported(tmp_path, change, code, words):
    deck = by_dataset(tmp_path, shapes(METHODS["euler"]))
    deck["regions"][0].update(change)
    said = run(tmp_path, deck, code={code})
    assert all(each in said for each in words), said


def test_cells_that_exchange_no_heat_have_a_step(tmp_path):
    regions = [{"material": name, "shape": "box", "from": [i * H] * 3, "to": [(i + 1) * H] * 3} for i, name in ((1, "core"), (3, "board"))]
    deck = {"grid": {"cells": [5, 5, 5], "spacing": H}, "materials": {"core": CORE, "board": BOARD}, "material": {"default": "void"},
            "regions": regions, "problem": {"steps": 3}}
    assert 0 < run(tmp_path, deck)["method"]["dt_limit_s"] < 1e3
