"""Decks of inputs/validation give the temperatures of published cases; docs/validation.md has the table."""

import json

import numpy as np
import pytest

from documentation import TOP
from program import ran

DECKS = TOP / "inputs" / "validation"
KELVIN = 273.15

# By deck: the temperatures of its probes at the end in C, and how far each may be from what is published.
PUBLISHED = {
    "3d_ice_solid_stack": ([303.745 - KELVIN, 305.004 - KELVIN], 0.005),
    "en_iso_6946_wall": ([18.889341], 1e-6),
    "iso_10211_case_1": ([9.7, 13.4, 14.7, 15.1, 5.3, 8.6, 10.3, 10.8, 3.2, 5.6, 7.0, 7.5, 2.0, 3.6, 4.7, 5.0,
                          1.3, 2.3, 3.0, 3.2, 0.7, 1.4, 1.8, 1.9, 0.3, 0.6, 0.8, 0.9], 0.055),  # the standard: 0.1
    "iso_10211_case_2": ([7.1, 0.8, 7.9, 6.3, 0.8, 16.4, 16.3, 16.8, 18.3], 0.1),
    # Cells of 12.5 mm: the standard has 0.805, which finer ones find (6.25, 3.1, 2.1 mm: 0.8075, 0.8054, 0.8049).
    "iso_10211_case_4": ([0.8119], 1e-4),
    "nafems_t3": ([36.6031], 0.001),
    "nafems_t4": ([18.2538, 28.3200], 0.001),
}
HEAT = {"iso_10211_case_4": ("room", 4, 0.5356)}  # from a void, W, of so many such parts; the standard has 0.540


def test_every_deck_has_its_case():
    assert {path.stem for path in DECKS.glob("*.yaml")} == set(PUBLISHED)


def probed(folder, case, *words):
    """C, at the end."""
    ran("run", DECKS / f"{case}.yaml", "--progress=off", "output.directory=out", "output.snapshots=false", *words, cwd=folder)
    last = (folder / "out" / "probes.csv").read_text().splitlines()[-1]
    return np.array([float(value) for value in last.split(",")[2:]]) - KELVIN


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_temperatures(tmp_path, case):
    published, tolerance = PUBLISHED[case]
    assert probed(tmp_path, case) == pytest.approx(published, abs=tolerance)
    if case in HEAT:
        name, times, watts = HEAT[case]
        heat = json.loads((tmp_path / "out" / "run.json").read_text())["end_state"]["heat"]
        flows = {each["name"]: each["watts"] for each in heat["voids_W"]}
        assert times * flows[name] == pytest.approx(watts, abs=1e-4)


@pytest.mark.parametrize("insulated, kelvins", [("z_min", [307.821, 310.008]), ("z_max", [307.441, 310.388])])
def test_the_stack_of_3d_ice_that_is_cooled_on_one_side(tmp_path, insulated, kelvins):
    found = probed(tmp_path, "3d_ice_solid_stack", f"boundaries.{insulated}=insulated")
    assert found + KELVIN == pytest.approx(kelvins, abs=0.005)
