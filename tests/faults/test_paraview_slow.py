"""ParaView's own reader opens a run by its .hdf.series and finds the right value at named cells and times."""

import json
import shutil
import subprocess
import threading

import h5py
import pytest

from program import DECK, isotherm, write_deck

PVPYTHON = shutil.which("pvpython")
pytestmark = pytest.mark.skipif(not PVPYTHON, reason="pvpython is not installed (Debian, Ubuntu: apt install python3-paraview)")

CELLS = [(0, 0, 0), (16, 0, 30), (5, 22, 7)]  # x, y, z: corners and the inside of an edge

# Runs inside ParaView's Python, once for all tests, as it takes seconds to start: answers one question a line.
# In a series a cell's value is looked up by its place in space, not by its index.
SCRIPT = """
import json
from paraview import servermanager, simple

def of_series(reader, places):
    times = list(reader.TimestepValues)
    found = []
    for time in times:
        simple.UpdatePipeline(time=time, proxy=reader)
        image = servermanager.Fetch(reader)
        values = image.GetPointData().GetArray("T")
        found.append([values.GetValue(image.FindPoint(place)) for place in places])
    return {"times": times, "values": found, "dimensions": image.GetDimensions()}

# XDMF: cells, at the last time. (The reader of 5.11 gives nothing for a time 0 that is asked for first.)
def of_cells(reader, places):
    times = list(reader.TimestepValues)
    simple.UpdatePipeline(time=times[-1], proxy=reader)
    image = reader.GetClientSideObject().GetOutputDataObject(0)
    cells = image.GetCellData().GetArray("T")

    def cell_at(place):
        along = [int((x - o) // h) for x, o, h in zip(place, image.GetOrigin(), image.GetSpacing())]
        nx, ny = (points - 1 for points in image.GetDimensions()[:2])
        return along[0] + nx * (along[1] + ny * along[2])

    return {"times": times, "values": [cells.GetValue(cell_at(place)) for place in places], "dimensions": image.GetDimensions()}

questions, answers = open(0), open(1, "w")  # its own sys.stdin reads words, its own sys.stdout keeps what it is given
for line in iter(questions.readline, ""):
    question = json.loads(line)
    reader = simple.OpenDataFile(question["file"])
    assert reader is not None, "no reader for " + question["file"]
    simple.UpdatePipeline(proxy=reader)
    answer = {"series": of_series, "cells": of_cells}[question["kind"]](reader, question["places"])
    simple.Delete(reader)
    print("FOUND " + json.dumps(answer), file=answers, flush=True)
"""


class ParaView:
    """A pvpython that answers SCRIPT's questions; ended where one takes longer than any of them should."""

    def __init__(self, folder):
        (folder / "answer.py").write_text(SCRIPT)
        self.complaints, self.heard = folder / "stderr.txt", 0
        with self.complaints.open("w") as err:
            self.process = subprocess.Popen([PVPYTHON, folder / "answer.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=err, text=True)

    def ask(self, kind, path, places):
        if self.process.poll() is not None:
            pytest.fail(f"ParaView has ended:\n{self.complaints.read_text()}")
        patience = threading.Timer(100, self.process.kill)
        patience.start()
        self.process.stdin.write(json.dumps({"kind": kind, "file": str(path), "places": places}) + "\n")
        self.process.stdin.flush()
        said = []
        while line := self.process.stdout.readline():
            said.append(line)
            if line.startswith("FOUND "):
                break
        patience.cancel()
        complaints = self.complaints.read_text()[self.heard :]
        self.heard += len(complaints)
        assert said and said[-1].startswith("FOUND "), "".join(said) + complaints
        assert "ERR" not in complaints and "error" not in complaints.lower(), complaints
        return json.loads(said[-1].removeprefix("FOUND "))

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module", name="paraview")
def one_paraview(tmp_path_factory):
    paraview = ParaView(tmp_path_factory.mktemp("paraview"))
    yield paraview
    paraview.end()


@pytest.mark.parametrize("override", ["precision=fp64", "precision=fp32", "output.compression=4"])
def test_the_series_opens_with_its_times_and_values(tmp_path, override, paraview):
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

    found = paraview.ask("series", tmp_path / "out" / "deck.hdf.series", centres)
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


@pytest.fixture(scope="module", name="parts", params=[0, 4], ids=["plain", "compressed"])
def a_run_in_parts(request, tmp_path_factory):
    """The directory of a run that writes all kinds of parts."""
    folder = tmp_path_factory.mktemp("parts")
    deck = write_deck(folder, DECK.replace("output: {every_steps: 20}\n", PARTS).replace("[17, 23, 31]", "[16, 24, 30]"))
    done = isotherm("run", deck, "output.directory=out", f"output.compression={request.param}", ranks=3, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.mark.parametrize(
    "part, count, cells",
    [
        ("slice_y7", 5, [(0, 0, 0), (15, 0, 29), (5, 0, 7)]),
        ("coarse", 3, [(0, 0, 0), (3, 7, 14), (1, 5, 9)]),
        ("region", 2, [(0, 0, 0), (5, 16, 6), (1, 15, 2)]),
    ],
)
def test_a_part_opens_with_its_times_and_values(parts, part, count, cells, paraview):
    times, values = [], []
    for path in sorted(parts.glob(f"deck_{part}_*.hdf")):
        with h5py.File(path) as file:
            own, stored = file["isotherm"].attrs, file["VTKHDF/PointData/T"][:]
            times.append(own["time"])
            values.append([float(stored[z, y, x]) for x, y, z in cells])
            centres = [[float(o + h * (i + 0.5)) for o, h, i in zip(own["origin"], own["spacing"], cell)] for cell in cells]
    assert len(times) == count
    if 1 not in stored.shape:  # ParaView 5.11 aborts in its VTKHDF reader where an image is flat
        found = paraview.ask("series", parts / f"deck_{part}.hdf.series", centres)
        assert found["dimensions"] == list(stored.shape[::-1])
        assert found["times"] == pytest.approx(times, rel=1e-12)
        assert found["values"] == values
    found = paraview.ask("cells", parts / f"deck_{part}.xmf", centres)
    assert found["dimensions"] == [n + 1 for n in stored.shape[::-1]]
    assert found["times"] == pytest.approx(times, rel=1e-12)
    assert found["values"] == values[-1]
