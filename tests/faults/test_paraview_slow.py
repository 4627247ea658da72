"""ParaView opens a run by its .xmf, and where it has more than one layer by its .hdf.series, and finds the right values at named
cells, on the surface, and times."""

import json
import shutil
import subprocess
import threading

import h5py
import numpy as np
import pytest

from program import DECK, finished_run

PVPYTHON = shutil.which("pvpython")
pytestmark = pytest.mark.skipif(not PVPYTHON, reason="pvpython is not installed (Debian, Ubuntu: apt install python3-paraview)")


# Runs inside ParaView's Python, once for all tests, as it takes seconds to start; it answers one question per line. A value in a series
# is found by its position in space, not by its index.
SCRIPT = """
import json
from paraview import servermanager, simple


def of_series(reader, places):
    times = list(reader.TimestepValues)
    found = []
    for time in times:
        simple.UpdatePipeline(time=time, proxy=reader)
        image = servermanager.Fetch(reader)
        values = image.GetPointData().GetArray("temperature")
        found.append([values.GetValue(image.FindPoint(place)) for place in places])
    return {"times": times, "values": found, "dimensions": image.GetDimensions()}

# XDMF: cells, at the last time, as ParaView's own probe finds them: 0 where it finds none.
def of_cells(reader, places):
    times = list(reader.TimestepValues)
    simple.UpdatePipeline(time=times[-1], proxy=reader)
    image = reader.GetClientSideObject().GetOutputDataObject(0)
    probe, found = simple.ProbeLocation(Input=reader, ProbeType="Fixed Radius Point Source"), []
    for place in places:
        probe.ProbeType.Center = place
        simple.UpdatePipeline(time=times[-1], proxy=probe)
        values = servermanager.Fetch(probe).GetPointData()
        found.append(values.GetArray("vtkValidPointMask").GetValue(0) and values.GetArray("temperature [K]").GetTuple1(0))
    simple.Delete(probe)
    return {"times": times, "values": found, "dimensions": image.GetDimensions(), "bounds": image.GetBounds()}

questions, answers = open(0), open(1, "w")  # its own sys.stdin reads words, its own sys.stdout keeps what it is given
for line in iter(questions.readline, ""):
    question = json.loads(line)
    kind, path, places = (question[key] for key in ("kind", "file", "places"))
    if kind == "series":
        reader = simple.OpenDataFile(path)
        answer = of_series(reader, places)
    elif kind == "none":
        try:
            reader, answer = None, {"answer": str(simple.OpenDataFile(path))}
        except RuntimeError as error:
            answer = {"answer": str(error)}
    else:
        reader = simple.XDMFReader(FileNames=[path]) if kind == "XDMFReader" else getattr(simple, kind)(FileName=[path])
        answer = of_cells(reader, places)
    if reader:
        simple.Delete(reader)
    print("FOUND " + json.dumps(answer), file=answers, flush=True)
"""


class ParaView:
    """A pvpython process that answers SCRIPT's questions; it is killed if an answer takes too long."""

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
    run = finished_run(tmp_path, DECK, "deck", override, ranks=3)
    expect_times_and_values(paraview, run, "deck", 3, [(0, 0, 0), (16, 0, 30), (5, 22, 7)])  # corners, and in an edge


PARTS = """\
output:
  snapshots: false
  slices: [{axis: y, cell: 7, every_steps: 10}]
  coarse: {factor: [4, 3, 2], every_steps: 20}
  region: {first_cell: [3, 4, 5], last_cell: [8, 20, 11], every_steps: 40}
"""


@pytest.fixture(scope="module", name="parts", params=[0, 4], ids=["plain", "compressed"])
def a_run_in_parts(request, tmp_path_factory):
    """The directory of a run that writes all kinds of parts."""
    deck = DECK.replace("output: {every_steps: 20}\n", PARTS).replace("[17, 23, 31]", "[16, 24, 30]")
    return finished_run(tmp_path_factory.mktemp("parts"), deck, "deck", f"output.compression={request.param}", ranks=3)


@pytest.mark.parametrize("part, count, cells", [
    ("slice_y7", 5, [(0, 0, 0), (15, 0, 29), (5, 0, 7)]), ("coarse", 3, [(0, 0, 0), (3, 7, 14), (1, 5, 9)]),
    ("region", 2, [(0, 0, 0), (5, 16, 6), (1, 15, 2)])])
def test_a_part_opens_with_its_times_and_values(parts, part, count, cells, paraview):
    expect_times_and_values(paraview, parts, f"deck_{part}", count, cells)


def expect_times_and_values(paraview, folder, name, count, cells):
    """Compares the cells (x, y, z) in all files of a series."""
    times, values = [], []
    for path in sorted(folder.glob(f"{name}_[0-9]*.hdf")):
        with h5py.File(path) as file:
            own, stored = dict(file["isotherm"].attrs), file["temperature"][:]
        times.append(own["time"])
        values.append([float(stored[z, y, x]) for x, y, z in cells])
        centres = [[float(o + h * (i + 0.5)) for o, h, i in zip(own["origin"], own["spacing"], cell)] for cell in cells]
    assert len(set(times)) == count and values[0] != values[-1]  # otherwise times could be confused
    if 1 in stored.shape:  # ParaView 5.11 hung or crashed when it read it as VTKHDF
        assert paraview.ask("none", path, [])["answer"].endswith(f"No reader found for '{path}' ")
    else:
        found = paraview.ask("series", folder / f"{name}.hdf.series", centres)
        assert found["dimensions"] == list(stored.shape[::-1])
        assert found["times"] == pytest.approx(times, rel=1e-12) and found["values"] == values
    expect_the_cells_in_their_box(paraview, folder / f"{name}.xmf", times, own, stored)


def expect_the_cells_in_their_box(paraview, path, times, own, stored):
    """With each of ParaView's readers, as a user may choose any of them."""
    low, spacing, counts = own["origin"], own["spacing"], stored.shape[::-1]
    high = low + spacing * counts
    cells = [(0, 0, 0), tuple(count - 1 for count in counts), tuple(count // 2 for count in counts), (0, counts[1] - 1, 0)]
    places, values = [], []
    for cell in cells:  # its centre; for an outer cell, the centre of its outer face
        centre = low + spacing * (np.array(cell) + 0.5)
        for axis in range(3):
            for index, edge in ((0, low[axis]), (counts[axis] - 1, high[axis])):
                outside = centre.copy()
                outside[axis] = edge
                places += [outside.tolist()] if cell[axis] == index else [centre.tolist()]
                values.append(float(stored[cell[::-1]]))
    places += [low.tolist(), high.tolist()]
    values += [float(stored[0, 0, 0]), float(stored[-1, -1, -1])]
    for reader in ("Xdmf3ReaderS", "Xdmf3ReaderT", "XDMFReader"):
        found = paraview.ask(reader, path, places)
        assert found["dimensions"] == [count + 1 for count in counts]
        assert found["bounds"] == pytest.approx([edge for pair in zip(low, high) for edge in pair], rel=2e-7)
        assert found["times"] == pytest.approx(times, rel=1e-12)
        assert found["values"] == values, reader
