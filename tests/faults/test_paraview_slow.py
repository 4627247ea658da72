"""ParaView's own reader opens a run by its .hdf.series and finds the right value at named cells and times."""

import json
import shutil
import subprocess

import h5py
import pytest

from program import isotherm, write_deck

CELLS = [(0, 0, 0), (16, 0, 30), (5, 22, 7)]  # x, y, z: corners and the inside of an edge

# Runs inside ParaView's Python. A cell's value is looked up by its place in space, not by its index.
SCRIPT = """
import json, sys
from paraview import simple, servermanager

series, wanted = sys.argv[1], json.loads(sys.argv[2])
reader = simple.OpenDataFile(series)
assert reader is not None, "no reader for " + series
simple.UpdatePipeline(proxy=reader)
times = list(reader.TimestepValues)
found = []
for time in times:
    simple.UpdatePipeline(time=time, proxy=reader)
    image = servermanager.Fetch(reader)
    values = image.GetPointData().GetArray("T")
    found.append([values.GetValue(image.FindPoint(place)) for place in wanted])
print("FOUND " + json.dumps({"times": times, "values": found, "dimensions": image.GetDimensions()}))
"""


def in_paraview(tmp_path, series, places):
    pvpython = shutil.which("pvpython")
    if not pvpython:
        pytest.skip("pvpython is not installed (Debian, Ubuntu: apt install paraview)")
    script = tmp_path / "read_series.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [pvpython, script, series, json.dumps(places)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    assert lines, done.stdout + done.stderr
    assert "ERR" not in done.stderr and "error" not in done.stderr.lower(), done.stderr
    return json.loads(lines[0].removeprefix("FOUND "))


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_the_series_opens_with_its_times_and_values(tmp_path, precision):
    done = isotherm(
        "run", write_deck(tmp_path), f"precision={precision}", "output.directory=out", ranks=3, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    times, values = [], []
    for path in sorted((tmp_path / "out").glob("*.hdf")):
        with h5py.File(path) as file:
            times.append(file["isotherm"].attrs["time"])
            values.append([float(file["VTKHDF/PointData/T"][z, y, x]) for x, y, z in CELLS])
            origin, spacing = file["isotherm"].attrs["origin"], file["isotherm"].attrs["spacing"]
    assert len(set(times)) == 3
    centres = [[float(o + h * (i + 0.5)) for o, h, i in zip(origin, spacing, cell)] for cell in CELLS]

    found = in_paraview(tmp_path, tmp_path / "out" / "deck.hdf.series", centres)
    assert found["dimensions"] == [17, 23, 31]
    assert found["times"] == pytest.approx(times, rel=1e-12)
    assert found["values"] == values
    assert values[0] != values[-1]  # or the times would not matter
