"""Decks of inputs/validation give the temperatures of published cases; docs/theory/verification.md has the table."""

import csv

import h5py
import numpy as np
import pytest

from documentation import TOP
from program import ran
import runs

DECKS = TOP / "inputs" / "validation"
KELVIN = 273.15

CUBES = "regions=[{material: inclusion, shape: box, from: [0, 0, 0], to: [0.5, 0.5, 0.5]}]"
SOFT = "materials.inclusion.conductivity=0.1"


def celsius(*kelvins):
    return np.array(kelvins) - KELVIN


# For each deck and its overrides: the temperatures of its probes in C, at the end or at the last times, and
# the tolerance on the published values.
TEMPERATURES = {
    "3d_ice_solid_stack": (celsius(303.745, 305.004), 0.005),
    "3d_ice_solid_stack; boundaries.z_min=insulated": (celsius(307.821, 310.008), 0.005),
    "3d_ice_solid_stack; boundaries.z_max=insulated": (celsius(307.441, 310.388), 0.005),
    "3d_ice_transient": (celsius([302.666, 303.558], [303.427, 304.579], [303.652, 304.879]), 0.005),
    "3d_ice_transient; boundaries.z_min=insulated": (
        celsius([304.281, 305.475], [306.202, 307.937], [307.081, 309.062]), 0.005),
    "en_iso_6946_wall": ([18.889341], 1e-6),
    "iso_10211_case_1": ([9.7, 13.4, 14.7, 15.1, 5.3, 8.6, 10.3, 10.8, 3.2, 5.6, 7.0, 7.5, 2.0, 3.6, 4.7, 5.0,
                          1.3, 2.3, 3.0, 3.2, 0.7, 1.4, 1.8, 1.9, 0.3, 0.6, 0.8, 0.9], 0.055),  # the standard: 0.1
    "iso_10211_case_2": ([7.1, 0.8, 7.9, 6.3, 0.8, 16.4, 16.3, 16.8, 18.3], 0.1),
    "iso_10211_case_3": ([11.32, 11.11], 0.1),
    "iso_10211_case_4": ([0.805], 0.005),
    **dict.fromkeys(["nafems_t3", "nafems_t3; problem.method=euler; problem.dt=auto",
                     "nafems_t3; problem.method=rkl; problem.dt=0.1"], ([36.6031], 0.001)),
    "nafems_t4": ([18.2538, 28.3200], 0.001),
    **dict.fromkeys([
        "two_layer_slab", "two_layer_slab; problem.method=rkl; problem.dt=0.5",
        "two_layer_slab; problem={method: euler, end_time: 600}; grid.spacing=[[[160, 5e-4]], 1, 1]",
    ], ([2.23517, 4.38470, 59.84726], 0.002)),
}
# Heat from voids and through faces of the box, W, and the relative tolerance. Of case 4 a quarter is solved.
HEAT = {
    "en_iso_6946_wall": ({"x_min": 8.543531}, 1e-6),
    "iso_10211_case_2": ({"y_min": 9.5}, 0.01),
    "iso_10211_case_3": ({"lower": 46.09, "upper": 13.89, "outside x_min y_min": -59.98}, 0.01),
    "iso_10211_case_4": ({"room": 0.540 / 4}, 0.01),
    "spherical_inclusions": ({"x_min": 1.8877}, 0.001),
    # The staircase surface of a sphere adds 0.0026 if the sphere conducts less.
    f"spherical_inclusions; {SOFT}": ({"x_min": 0.6563}, 0.0045),
    f"spherical_inclusions; {CUBES}": ({"x_min": 1.344}, 0.0014),
    f"spherical_inclusions; {CUBES}; {SOFT}": ({"x_min": 0.840}, 0.0023),
    "square_inclusions": ({"x_min": 1.544220}, 1e-4),
}


CASES = sorted({*TEMPERATURES, *HEAT})


def test_every_deck_has_its_case():
    tested = {case.split(";")[0] for case in CASES}
    assert {path.stem for path in DECKS.glob("*.yaml")} == tested | {"hotspot_ev6"}


@pytest.mark.parametrize("case", CASES)
def test_published_figures(tmp_path, case):
    deck, *words = case.split("; ")
    words += ["--progress=off", "output.directory=out", "output.snapshots=false"]
    ran("run", DECKS / f"{deck}.yaml", *words, cwd=tmp_path)
    heat = runs.record(tmp_path / "out")["end_state"]["heat"]
    if case in TEMPERATURES:
        published, tolerance = TEMPERATURES[case]
        rows = np.atleast_2d(published)
        assert runs.probed(tmp_path / "out")[-len(rows):] - KELVIN == pytest.approx(rows, abs=tolerance)
    if case in HEAT:
        published, tolerance = HEAT[case]
        flows = {each["name"]: each["watts"] for each in heat.get("voids_W", [])} | heat["faces_W"]
        found = {names: sum(flows[name] for name in names.split()) for names in published}
        assert found == pytest.approx(published, rel=tolerance)
        assert heat["relative_balance"] < 1e-6


# K, means of blocks, of finite volumes on 114 x 114 x 28 cells; HotSpot's own models differ by up to 4 K.
EV6 = {"IntReg_0": 340.60, "IntReg_1": 340.02, "LdStQ": 336.25, "Dcache": 334.82, "IntExec": 335.52, "L2": 324.29}


def test_a_processor_of_hotspot_in_its_package(tmp_path):
    ran("run", DECKS / "hotspot_ev6.yaml", "--progress=off", "output.directory=out", cwd=tmp_path)
    heat = runs.record(tmp_path / "out")["end_state"]["heat"]
    assert heat["sources_W"] == pytest.approx(40.2073, rel=1e-9)
    assert heat["relative_balance"] < 1e-9
    file = sorted((tmp_path / "out").glob("hotspot_ev6_*.hdf"))[-1]
    found = np.nan_to_num(runs.cells(file))
    with h5py.File(file) as opened:
        x, y, z = (opened[f"isotherm/edges_{axis}"][()] for axis in "xyz")

    def mean(*ranges):
        shares = [np.clip(np.minimum(edges[1:], hi) - np.maximum(edges[:-1], lo), 0, None) / (hi - lo)
                  for edges, (lo, hi) in zip((x, y, z), ranges)]
        return np.einsum("zyx,x,y,z", found, *shares)

    lines = [line for line in (DECKS / "ev6.csv").read_text().splitlines() if not line.startswith("#")]
    means = {}
    for block in csv.DictReader(lines):
        left, lower, width, height = (float(block[name]) for name in ("x", "y", "width", "height"))
        means[block["name"]] = mean((0.022 + left, 0.022 + left + width), (0.022 + lower, 0.022 + lower + height), (7.92e-3, 8.07e-3))
    assert {name: means[name] for name in EV6} == pytest.approx(EV6, abs=0.1)
