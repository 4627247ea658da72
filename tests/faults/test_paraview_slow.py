"""ParaView's own reader opens a run by its .hdf.series and finds the right value at named cells and times."""

import json
import shutil
import subprocess

import h5py
import pytest

from program import DECK, isotherm, write_deck

PVPYTHON = shutil.which("pvpython")
pytestmark = pytest.mark.skipif(not PVPYTHON, reason="pvpython is not installed (Debian, Ubuntu: apt install paraview)")

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

# XDMF: cells, at the last time. (The reader of 5.11 gives nothing for a time 0 that is asked for first.)
CELL_SCRIPT = """
import json, sys
from paraview import simple

reader = simple.OpenDataFile(sys.argv[1])
times = list(reader.TimestepValues)
simple.UpdatePipeline(time=times[-1], proxy=reader)
image = reader.GetClientSideObject().GetOutputDataObject(0)
cells = image.GetCellData().GetArray("T")

def cell_at(place):
    along = [int((x - o) // h) for x, o, h in zip(place, image.GetOrigin(), image.GetSpacing())]
    nx, ny = (points - 1 for points in image.GetDimensions()[:2])
    return along[0] + nx * (along[1] + ny * along[2])

found = [cells.GetValue(cell_at(place)) for place in json.loads(sys.argv[2])]
print("FOUND " + json.dumps({"times": times, "values": found, "dimensions": image.GetDimensions()}))
"""


def in_paraview(tmp_path, series, places, text=SCRIPT):
    script = tmp_path / "read_series.py"
    script.write_text(text)
    done = subprocess.run(
        [PVPYTHON, script, series, json.dumps(places)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100, check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    assert lines, done.stdout + done.stderr
    assert "ERR" not in done.stderr and "error" not in done.stderr.lower(), done.stderr
    return json.loads(lines[0].removeprefix("FOUND "))


@pytest.mark.parametrize("override", ["precision=fp64", "precision=fp32", "output.compression=4"])
def test_the_series_opens_with_its_times_and_values(tmp_path, override):
    done = isotherm("run", write_deck(tmp_path), override, "output.directory=out", ranks=3, cwd=tmp_path)
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


PARTS = """\
output:
  snapshots: false
  slices: [{axis: y, cell: 7, every_steps: 10}]
  coarse: {factor: [4, 3, 2], every_steps: 20}
  region: {first_cell: [3, 4, 5], last_cell: [8, 20, 11], every_steps: 40}
  xdmf: true
"""


@pytest.mark.parametrize("compression", [0, 4])
@pytest.mark.parametrize(
    "part, count, cells",
    [
        ("slice_y7", 5, [(0, 0, 0), (15, 0, 29), (5, 0, 7)]),
        ("coarse", 3, [(0, 0, 0), (3, 7, 14), (1, 5, 9)]),
        ("region", 2, [(0, 0, 0), (5, 16, 6), (1, 15, 2)]),
    ],
)
def test_a_part_opens_with_its_times_and_values(tmp_path, part, count, cells, compression):
    deck = DECK.replace("output: {every_steps: 20}\n", PARTS).replace("[17, 23, 31]", "[16, 24, 30]")
    done = isotherm("run", write_deck(tmp_path, deck), "output.directory=out", f"output.compression={compression}", ranks=3,
                    cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    times, values = [], []
    for path in sorted((tmp_path / "out").glob(f"deck_{part}_*.hdf")):
        with h5py.File(path) as file:
            own, stored = file["isotherm"].attrs, file["VTKHDF/PointData/T"][:]
            times.append(own["time"])
            values.append([float(stored[z, y, x]) for x, y, z in cells])
            centres = [[float(o + h * (i + 0.5)) for o, h, i in zip(own["origin"], own["spacing"], cell)] for cell in cells]
    assert len(times) == count
    if 1 not in stored.shape:  # ParaView 5.11 aborts in its VTKHDF reader where an image is flat
        found = in_paraview(tmp_path, tmp_path / "out" / f"deck_{part}.hdf.series", centres)
        assert found["dimensions"] == list(stored.shape[::-1])
        assert found["times"] == pytest.approx(times, rel=1e-12)
        assert found["values"] == values
    found = in_paraview(tmp_path, tmp_path / "out" / f"deck_{part}.xmf", centres, CELL_SCRIPT)
    assert found["dimensions"] == [n + 1 for n in stored.shape[::-1]]
    assert found["times"] == pytest.approx(times, rel=1e-12)
    assert found["values"] == values[-1]
