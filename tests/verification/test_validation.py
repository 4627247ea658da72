"""Decks of inputs/validation give the temperatures of published cases; docs/validation.md has the table."""

import numpy as np
import pytest

from documentation import TOP
from program import ran

DECKS = TOP / "inputs" / "validation"
KELVIN = 273.15

# By deck: the temperatures of its probes at the end in C, and how far each may be from what is published.
PUBLISHED = {
    "en_iso_6946_wall": ([18.889341], 1e-6),
    "iso_10211_case_1": ([9.7, 13.4, 14.7, 15.1, 5.3, 8.6, 10.3, 10.8, 3.2, 5.6, 7.0, 7.5, 2.0, 3.6, 4.7, 5.0,
                          1.3, 2.3, 3.0, 3.2, 0.7, 1.4, 1.8, 1.9, 0.3, 0.6, 0.8, 0.9], 0.055),  # the standard: 0.1
    "iso_10211_case_2": ([7.1, 0.8, 7.9, 6.3, 0.8, 16.4, 16.3, 16.8, 18.3], 0.1),
    "nafems_t3": ([36.6031], 0.001),
    "nafems_t4": ([18.2538, 28.3200], 0.001),
}


def test_every_deck_has_its_case():
    assert {path.stem for path in DECKS.glob("*.yaml")} == set(PUBLISHED)


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_temperatures(tmp_path, case):
    ran("run", DECKS / f"{case}.yaml", "--progress=off", "output.directory=out", "output.snapshots=false", cwd=tmp_path)
    last = (tmp_path / "out" / "probes.csv").read_text().splitlines()[-1]
    celsius = np.array([float(value) for value in last.split(",")[2:]]) - KELVIN
    published, tolerance = PUBLISHED[case]
    assert celsius == pytest.approx(published, abs=tolerance)
