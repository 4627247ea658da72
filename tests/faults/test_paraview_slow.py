"""ParaView opens a run by its .xmf, and where it has more than one layer by its .hdf.series, and finds the right values at named
cells, on the surface, and times."""

import json
import shutil

import h5py
import numpy as np
import pytest

from program import DECK, finished, finished_run

PVPYTHON = shutil.which("pvpython")
pytestmark = pytest.mark.skipif(not PVPYTHON, reason="pvpython is not installed (Debian, Ubuntu: apt install python3-paraview)")


# Runs inside ParaView's Python, and answers one question per line. A value in a series is found by its
# position in space, not by its index.
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

answers = open(1, "w")  # its own sys.stdout keeps what it is given, its own sys.stdin reads words
for line in open(0):
    kind, path, places = json.loads(line)
    if kind == "series":
        reader = simple.OpenDataFile(path)
        answer = of_series(reader, places)
    else:
        reader = simple.XDMFReader(FileNames=[path]) if kind == "XDMFReader" else getattr(simple, kind)(FileName=[path])
        answer = of_cells(reader, places)
    simple.Delete(reader)
    print("FOUND " + json.dumps(answer), file=answers, flush=True)
"""


def asked(folder, questions):
    """ParaView's answers to questions of a kind, a file and places."""
    (folder / "answer.py").write_text(SCRIPT)
    done = finished([PVPYTHON, folder / "answer.py"], 0, input="\n".join(map(json.dumps, questions)) + "\n")
    assert "ERR" not in done.stderr and "error" not in done.stderr.lower(), done.stderr
    answers = [line.removeprefix("FOUND ") for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    assert len(answers) == len(questions), done.stdout + done.stderr
    return map(json.loads, answers)


DECK_OF_PARTS = DECK.replace("[17, 23, 31]", "[16, 24, 30]").replace("output: {every_steps: 20}\n", """\
output:
  every_steps: 20
  slices: [{axis: y, cell: 7, every_steps: 10}]
  coarse: {factor: [4, 3, 2], every_steps: 20}
  region: {first_cell: [3, 4, 5], last_cell: [8, 20, 11], every_steps: 40}
""")
SERIES = [  # the number of files; cells in corners and in an edge
    ("deck", 3, [(0, 0, 0), (15, 0, 29), (5, 23, 7)]),
    ("deck_slice_y7", 5, [(0, 0, 0), (15, 0, 29), (5, 0, 7)]),
    ("deck_coarse", 3, [(0, 0, 0), (3, 7, 14), (1, 5, 9)]),
    ("deck_region", 2, [(0, 0, 0), (5, 16, 6), (1, 15, 2)])]


def on_the_surface(low, spacing, counts):
    """Cells and places in them: the centre; for an outer cell, those of its outer faces; and two corners."""
    high = low + spacing * counts
    first, last = (0, 0, 0), tuple(count - 1 for count in counts)
    for cell in (first, last, tuple(count // 2 for count in counts), (0, counts[1] - 1, 0)):
        for axis in range(3):
            for index, edge in ((0, low[axis]), (counts[axis] - 1, high[axis])):
                place = low + spacing * (np.array(cell) + 0.5)
                if cell[axis] == index:
                    place[axis] = edge
                yield cell, place.tolist()
    yield from ((first, low.tolist()), (last, high.tolist()))


def expected(run, name, count, cells):
    """Questions about the cells (x, y, z) of a series, and the answers: all files by VTKHDF, the last by each
    of ParaView's readers of XDMF, as a user may choose any of them."""
    times, values = [], []
    for path in sorted(run.glob(f"{name}_[0-9]*.hdf")):
        with h5py.File(path) as file:
            own, stored = dict(file["isotherm"].attrs), file["temperature"][:]
        times.append(own["time"])
        values.append([float(stored[cell[::-1]]) for cell in cells])
    assert len(set(times)) == count and values[0] != values[-1]  # otherwise times could be confused
    low, spacing, counts = own["origin"], own["spacing"], stored.shape[::-1]
    times = pytest.approx(times, rel=1e-12)
    if 1 not in counts:  # otherwise no VTKHDF file, on which ParaView 5.11 hung or crashed: test_outputs.py
        centres = [(low + spacing * (np.array(cell) + 0.5)).tolist() for cell in cells]
        yield ("series", f"{run}/{name}.hdf.series", centres), {
            "times": times, "values": values, "dimensions": list(counts)}
    cells, places = zip(*on_the_surface(low, spacing, counts))
    edges = [edge for axis in range(3) for edge in (low[axis], low[axis] + spacing[axis] * counts[axis])]
    for reader in ("Xdmf3ReaderS", "Xdmf3ReaderT", "XDMFReader"):
        yield (reader, f"{run}/{name}.xmf", places), {
            "times": times, "values": [float(stored[cell[::-1]]) for cell in cells],
            "dimensions": [count + 1 for count in counts], "bounds": pytest.approx(edges, rel=2e-7)}


@pytest.mark.parametrize("override", ["precision=fp64", "precision=fp32", "output.compression=4"])
def test_each_series_opens_with_its_times_and_values(tmp_path, override):
    run = finished_run(tmp_path, DECK_OF_PARTS, "deck", override, ranks=3)
    wanted = [each for series in SERIES for each in expected(run, *series)]
    assert len(wanted) == 15
    for (question, answer), found in zip(wanted, asked(tmp_path, [question for question, _ in wanted])):
        assert found == answer, question
