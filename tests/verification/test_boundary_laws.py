"""Several boundary conditions on a face, patches, and coefficients that are formulas: their sum, and the heat that they supply."""

import numpy as np
import pytest

from bodies import TO_ROUNDING, check, field, run
from program import isotherm
import runs

K, RHO_C = 3.0, 2000 * 800.0
METAL = {"conductivity": K, "density": 2000, "heat_capacity": 800}


def deck(boundaries, problem, cells=(6, 5, 8), h=1e-3, **more):
    return {"grid": {"cells": list(cells), "spacing": h}, "material": METAL, "boundaries": boundaries,
            "initial": [{"shape": "constant", "value": 350}], "problem": problem, "output": {"diagnostics": 1000}, **more}


TWO_HALVES = {"material": {"default": "a"}, "materials": {"a": METAL, "b": {**METAL, "conductivity": [K, 2 * K, K]}},
              "regions": [{"shape": "box", "material": "b", "from": [0, 0, 0], "to": [0.003, 1, 1]}]}
TOP = "300 + 4000*x + 7000*0.008"  # at z_max
STEADY = {**TO_ROUNDING, "multigrid": {"kind": "steady", "tolerance": 0, "max_cycles": 25}}  # for one material, too


def air(coefficient, flux="0"):
    """Convection that supplies z_max with the heat that the linear field conducts, less `flux`."""
    return {"kind": "convection", "coefficient": coefficient, "ambient": f"{TOP} + ({K}*7000 - ({flux}))/({coefficient})"}


PADS = [{"kind": "temperature", "value": value, "where": {"from": [low * 1e-3, 0], "to": [high * 1e-3, 0.005]}}
        for low, high, value in ((0, 1, 358), (1, 2, 362), (2, 5, TOP))]
FORMS = {  # of the law at z_max
    "flux and convection": [{"kind": "flux", "value": 5e3}, air(500, 2e4), "insulated", {"kind": "flux", "value": "2e4*0.75 + 0*x"}],
    "two convections": [air(10, 9e3), air(15, f"{K}*7000 - 9e3")],
    "rectangle that cuts cells, and around it": {**air(25), "where": {"from": [0, 0], "to": [0.0023, 0.005]}, "else": air(25)},
    "table over time": {**air(25), "coefficient": {"table": [[0, 25], [1, 25]]}},
    "formula of place": air("200 + 9e4*x"),
    "formula of time": air("200 + 50*sin(9*t)"),
    "formula of place and time": air("200 + 9e4*x + 50*sin(9*t)"),
    "pads and convection": [PADS[0], air(200), *PADS[1:]],
    "pads, one with convection around it": [{**PADS[0], "else": air(200)}, *PADS[1:]],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("problem", STEADY.values(), ids=STEADY)
@pytest.mark.parametrize("more", [{}, TWO_HALVES], ids=["one", "several"])
def test_every_form_gives_the_linear_field(tmp_path, form, problem, more):
    """The grid represents this field exactly. The temperature of z_min is given as a list of one law."""
    if "time" in form and "kind" in problem:
        return
    boundaries = {"x_min": {"kind": "flux", "value": -K * 4000}, "x_max": {"kind": "flux", "value": K * 4000},
                  "z_min": [{"kind": "temperature", "value": "300 + 4000*x"}], "z_max": FORMS[form]}
    record = run(tmp_path, deck(boundaries, problem, **more))
    x, z = ((np.arange(n) + 0.5) * 1e-3 for n in (6, 8))
    error = np.abs(field(tmp_path / "out") - (300 + 4000 * x + 7000 * z[:, None, None])).max()
    assert error <= 1e-11 * 300, error
    assert record["end_state"]["heat"]["faces_W"]["z_max"] == pytest.approx(K * 7000 * 30e-6, rel=1e-9)


PATCH = {"from": [0.0007, 0.00133], "to": [0.00412, 0.0031]}  # cuts cells on all four sides
AREA = 0.00342 * 0.00177


@pytest.mark.parametrize("problem", [{"end_time": 5}, {"end_time": 5, "method": "rkl"}, {"end_time": 5, "method": "implicit"}],
                         ids=["euler", "rkl", "implicit"])
@pytest.mark.parametrize("face", ["x_max", "y_min", "z_max"])
def test_a_patch_brings_the_heat_of_its_area(tmp_path, problem, face):
    law = {"kind": "flux", "value": 3e4, "where": PATCH, "else": {"kind": "flux", "value": -1e3}}
    run(tmp_path, deck({face: [law, {"kind": "flux", "value": 500}]}, problem, cells=(6, 6, 6)))
    expected = 3e4 * AREA - 1e3 * (36e-6 - AREA) + 500 * 36e-6  # W
    stored = (field(tmp_path / "out") - 350).sum() * RHO_C * 1e-9
    assert stored == pytest.approx(5 * expected, rel=1e-9 if problem.get("method") == "implicit" else 1e-11)
    last = runs.history(tmp_path / "out")[-1]
    assert float(last[f"wall_{face}_W"]) == pytest.approx(expected, rel=1e-10)


def test_a_balanced_patch_has_a_steady_state(tmp_path):
    """Nothing fixes the mean: the two fluxes cancel up to rounding, although the patch cuts cells."""
    law = {"kind": "flux", "value": 3e4, "where": PATCH, "else": {"kind": "flux", "value": -3e4 * AREA / (36e-6 - AREA)}}
    steady = {"kind": "steady", "mean_temperature": 300}
    record = run(tmp_path, deck({"z_max": law}, steady, cells=(6, 6, 6)))
    assert record["exit_code"] == 0
    assert field(tmp_path / "out").mean() == pytest.approx(300, abs=1e-9)
    alone = {**law, "else": "insulated"}
    said = run(tmp_path, deck({"z_max": alone}, steady, cells=(6, 6, 6)), code={65}, ranks=2)
    assert "0.181602 W more heat enters the body" in said


@pytest.mark.parametrize("coefficient, code, line", [
    *((formula, 65, "boundaries: the coefficients of convection are 0 in all cells") for formula in ("0*y", "max(0, y - 1)")),
    ("max(0, y - 0.004)", 0, ""), ("-1000*y", 65, "t = 0 s) is negative; give a coefficient of 0 or more")])
def test_a_coefficient_that_is_0_everywhere_fixes_no_temperature(tmp_path, coefficient, code, line):
    body = deck({"z_max": LIST[0], "x_max": {**CONVECTION, "coefficient": coefficient}}, STEADY["multigrid"])
    said = check(tmp_path, body, code)
    assert line in said and ("are 0 in all cells" in said) == ("are 0 in all cells" in line), said


@pytest.mark.parametrize("problem", [{"end_time": 5}, STEADY["multigrid"], STEADY["chebyshev"]], ids=["euler", "multigrid", "chebyshev"])
def test_a_temperature_holds_in_a_patch(tmp_path, problem):
    hot = {"kind": "temperature", "value": "400 + 1e3*x"}
    air = {"kind": "convection", "coefficient": 100, "ambient": 300}
    part = {**hot, "where": {"from": [0.002, 0], "to": [0.006, 0.0025]}, "else": air}  # its edge is at the centres of the third row
    run(tmp_path, {**deck({"z_max": part, "z_min": air}, problem), "output": {"diagnostics": 1000, "probes": {
        "points": [[0.0025, 0.0025, 0.008], [0.0055, 0.0005, 0.008], [0.0015, 0.0005, 0.008]]}}})
    at = runs.probed(tmp_path / "out")[-1]
    assert at[:2] == pytest.approx([402.5, 405.5], abs=1e-9) and at[2] < 401


HELD = {"kind": "temperature", "value": 300}
LIST = [{"kind": "flux", "value": 1}, {"kind": "flux", "value": 2}]
CONVECTION = {"kind": "convection", "coefficient": 25, "ambient": 300}


@pytest.mark.parametrize("laws, expected", [
    ([*LIST, {"kind": "temperature", "value": 300}], ".0: temperatures of the list hold all cells that this has; remove it"),
    ([{**HELD, "where": PATCH}, {**LIST[0], "where": {"from": [0.0011, 0.0014], "to": [0.003, 0.002]}}],
     ".1: temperatures of the list hold all cells that this has"),
    ([{**HELD, "where": PATCH}, LIST[0], {**HELD, "where": {"from": [0.003, 0.002], "to": [0.006, 0.005]}}],
     ".2: holds a cell that boundaries.z_max.0 holds too, at x = 0.0035, y = 0.0025 m; "),
    ([*LIST, "periodic"], ".2: periodic stands alone on a face"),
    ([{**LIST[0], "where": PATCH, "else": HELD}, {**HELD, "where": PATCH}], ".0: temperatures of the list hold all cells"),
    ([], ": is an empty list"),
    ([LIST[0], {"kind": "flux", "power": 2}], ".1.power: unknown key"),
    ([LIST[0], {"kind": "flux"}], ".1.value: is missing"),
    ([LIST[0], {**LIST[0], "where": {"from": [0.002, 0], "to": [0.001, 0.001]}}], ".1.where.to: 0.001 is not beyond 0.002 along x"),
    ({**LIST[0], "where": {"from": [0, 0], "to": [0.001, 0.02]}}, ".where.to: 0.02 m lies outside the box; "),
    ({**LIST[0], "where": {"from": [0, 0]}}, ".where.to: is missing"),
    ({"kind": "temperature", "value": 350, "where": {"from": [1e-4, 0], "to": [4e-4, 0.004]}}, ".where: holds no centre of a cell along x"),
    ({**CONVECTION, "where": {"from": [0, 1e-4], "to": [0.004, 4e-4]}, "else": {"kind": "temperature", "value": 350}},
     ".where: holds no centre of a cell along y"),
    ({**LIST[0], "else": "insulated"}, ".else: has no effect without where; add where: {from: [0, 0], to: [0.02, 0.02]}, or remove it"),
    ({"kind": "convection", "coefficient": "z", "ambient": 300}, ".coefficient: unknown name 'z'"),
    ([CONVECTION, {"kind": "convection", "coefficient": "x - 0.0025", "ambient": 300}], ".1.coefficient: -0.002 W/(m^2 K) at cell (0, 0, 7)"),
    ([CONVECTION, {"kind": "convection", "coefficient": 9, "ambient": "300 - 1e5*x"}], ".1.ambient: -50 K at cell (3, 0, 7)"),
    ([CONVECTION, {"kind": "flux", "value": "1/(x - x)", "where": PATCH}], ".1.value: 1/(x - x) is not finite at cell (0, 1, 7)"),
    ({**CONVECTION, "coefficient": "25 + x"}, "solver.kernel: 'temporal_openmp' does not take boundaries whose coefficients vary over a face or in time; "),
])
def test_errors_name_the_entry(tmp_path, laws, expected):
    kernel = expected.startswith("solver.kernel")
    said = run(tmp_path, deck({"z_max": laws}, {"end_time": 1}), *["solver.kernel=temporal_openmp"] * kernel, code={65})
    assert (expected if kernel else "boundaries.z_max" + expected) in said, said
    assert kernel or f"boundaries.z_max{expected}" in isotherm("check", "deck.yaml", cwd=tmp_path, code=65).stderr


@pytest.mark.parametrize("problem", [STEADY["multigrid"], {"method": "implicit", "end_time": 20}], ids=["multigrid", "implicit"])
def test_a_body_with_a_patch_is_swept_by_kernels_for_several_materials(tmp_path, problem):
    """Even if it has one material; messages name the patch as the reason."""
    body = deck({"z_max": {**CONVECTION, "where": PATCH}, "z_min": CONVECTION}, problem)
    said = run(tmp_path, body, "solver.kernel=vectorised", "verify.solution=decaying_mode", code={65})
    assert said.count("verify.solution") == 1 and "'vectorised' does not sweep a body with patches" in said, said
    assert "several materials" not in said and "temporal_openmp" in said, said
    assert run(tmp_path, body, "solver.time_block=1")["method"]["why_single"] == "solver.time_block is 1"


def test_a_flux_into_cells_of_fixed_temperature_is_warned_of(tmp_path):
    flux = {**LIST[0], "where": PATCH}
    for x, warned in (0.004, True), (0.005, False):
        laws = [flux, {**HELD, "where": {"from": [x, 0], "to": [0.006, 0.005]}}, CONVECTION]
        said = check(tmp_path, deck({"z_max": laws}, {"end_time": 1}))
        text = "boundaries.z_max.0: brings less heat than its rectangle has, as boundaries.z_max.1 holds"
        assert (text in said) == warned, said
