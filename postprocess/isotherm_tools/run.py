"""Python access to a run: fields with their coordinates, tables, and the record.

A snapshot is `<name>_<sweep>.hdf` with the temperature in /temperature (nz, ny, nx), in files of format 1 in /VTKHDF/PointData/T, and
grid and time in /isotherm. Snapshots still being written end in `.part`. Files of a part of the cells have the same form, and are called
`<name>_slice_z12_<sweep>.hdf`, `<name>_region_...`, `<name>_coarse_...`; /isotherm says what they are."""

import csv
import re
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

import h5py
import numpy as np

from isotherm_tools.program import COMMAND_LINE, DATA, FILE_MISSING, Failure, content_of, failing, read_record
from isotherm_tools.text import groups, split_unit

SNAPSHOT = re.compile(r"(?P<name>.+)_(?P<sweep>\d+)\.hdf")
PART = re.compile(r".+_(slice_[\w-]+|region|coarse)")
TEMPERATURES = ("temperature", "VTKHDF/PointData/T")  # the dataset in format 2, and in format 1
WHOLE = "isotherm snapshot"


class Run:
    """The run in a directory. It reads data only when it is requested. Wrong or missing data then raises a `Failure` whose message is
    one line."""

    def __init__(self, directory):
        self.path = Path(directory)
        if not self.path.is_dir():
            raise Failure(FILE_MISSING, f"{self.path} is no folder; name the run directory of a finished run")
        matches = [match for entry in self.path.iterdir() if (match := SNAPSHOT.fullmatch(entry.name))]
        files = {name: sorted((int(each["sweep"]), self.path / each[0]) for each in those)
                 for name, those in sorted(groups(matches, lambda match: match["name"]).items())}
        are_whole = {name: is_whole(found[0][1], name) for name, found in files.items()}
        whole = [name for name in files if are_whole[name]]
        if len(whole) > 1:
            raise Failure(DATA, f"{self.path} holds snapshots of several runs ({', '.join(whole)})")
        self.name = self.path.resolve().name
        with suppress(Failure, KeyError):
            self.name = whole[0] if whole else self.record["name"]
        self._whole = Snapshots(files[self.name]) if whole else None
        #: Slices, region and coarse field: name of the files without the sweep -> `Snapshots`.
        self.parts = {name: Snapshots(found) for name, found in files.items() if are_whole[name] is False}

    def __repr__(self):
        return f"open_run({str(self.path)!r})"

    @property
    def snapshots(self):
        """Snapshots of the whole field, in the order of their sweeps: see `Snapshots` and `Snapshot`."""
        if not self._whole:
            runs = sorted(self.path.glob("*/run.json"))
            hint = f"name one of its parts with --series: {', '.join(self.parts)}" if self.parts else \
                f"the run ended before one was due ({self.ended_early})" if self.ended_early else \
                "was the run made with output.snapshots: true?" if (self.path / "run.json").exists() else \
                f"it is a study, or another folder of runs: name one, such as {runs[0].parent}" if runs else \
                "it has no run.json: name the directory of a finished run"
            raise Failure(FILE_MISSING, f"{self.path} holds no snapshots; {hint}")
        return self._whole

    def series(self, name):
        """Snapshots of a part of the cells, by the name of its files; without a name, of the whole field."""
        if name and name not in self.parts:
            raise Failure(COMMAND_LINE, f"{self.path} holds no series {name}; it has {', '.join(self.parts) or 'none'}")
        return self.parts[name] if name else self.snapshots

    @cached_property
    def history(self):
        """history.csv as a `Table`: a line for every sweep at which a residual or diagnostics were due."""
        return Table(self.path / "history.csv", "was the run made with output.history: true?")

    @cached_property
    def probes(self):
        """probes.csv as a `Table`: sweep, time_s and a column NAME_K per probe."""
        return Table(self.path / "probes.csv", "was the run made with output.probes?")

    @cached_property
    def probe_places(self):
        """Name of a probe -> (x, y, z) in metres, from lines such as "p0: 0.02 0.04 0.009 m"."""
        places = {}
        for remark in self.probes.remarks:
            name, _, place = remark.rpartition(":")
            with failing(ValueError, DATA, lambda _, remark=remark: f"{self.path}/probes.csv does not say where its probes are ({remark})"):
                x, y, z = map(float, place.removesuffix(" m").split())
            places[name] = (x, y, z)
        return places

    @cached_property
    def record(self):
        """run.json as a dict. Keys that are newer than the program that wrote it are added."""
        return read_record(self.path / "run.json", "isotherm-run", "run record", "name the directory of a finished run")

    @property
    def ended_early(self):
        """The message of a run that stopped or failed before its snapshots; None for other runs, or without run.json."""
        with suppress(Failure, KeyError):
            has_some = "\n  snapshots: true\n" in self.record["deck"]["resolved"]
            return self.record["message"] if has_some and self.record["result"] in ("STOPPED", "FAILED", "FAIL") else None
        return None

    def materials(self, axis, index):
        """The materials of a plane of cells, as indices into `record["materials"]`; same layout as `Snapshot.plane`."""
        path = self.path / f"{self.name}_material.h5"
        with open_hdf5(path) as file, content_of(path, "file of materials"):
            return file["material"][plane_of(file["material"].shape, axis, index)]

    def hottest_place(self):
        """(x, y, z) in metres of the hottest cell when the run ended; None if run.json does not contain it."""
        with suppress(Failure, KeyError, TypeError):
            return self.record["end_state"]["highest"]["position_m"]
        return None


open_run = Run


def plane_of(shape, axis, index):
    """Selects the cells with this index along axis 0, 1, 2 = x, y, z of a dataset (nz, ny, nx)."""
    if axis not in (0, 1, 2) or not -shape[2 - axis] <= index < shape[2 - axis]:
        raise Failure(COMMAND_LINE, f"no plane has index {index} along axis {axis}; axes 0, 1, 2 = x, y, z have {shape[::-1]} cells")
    return tuple(index if each == axis else slice(None) for each in (2, 1, 0))


class Table(dict):
    """A CSV file of the program: column -> array, in the order of the file. `sweep` holds integers, all other columns floats: NaN where
    the file has no value. `remarks`: the lines at the top that begin with #. A column that is missing raises a `Failure`."""

    def __init__(self, path, hint):
        """`hint`: the setting that a run without the file may have lacked."""
        self.path = path
        with failing(FileNotFoundError, FILE_MISSING, lambda _: f"{path} does not exist; {hint}"), content_of(path, "table"):
            text = path.read_text(encoding="utf-8")
            self.remarks = [line[1:].strip() for line in text.splitlines() if line.startswith("#")]
            lines = [line for line in text.splitlines() if not line.startswith("#")]
            if lines and not text.endswith("\n"):
                lines.pop()  # the line is being written, or the run was killed: its last number may lack digits
            head, *rows = [row for row in csv.reader(lines) if row] or [[]]
            if not head:
                raise ValueError("it is empty")
            columns = {name: [row[i] for row in rows] for i, name in enumerate(head)}
            self._given = {name: np.array([text != "" for text in column], dtype=bool) for name, column in columns.items()}
            super().__init__({name: np.array([int(text) for text in column], dtype=np.int64) if name == "sweep" else np.array(
                [np.nan if text == "" else float(text) for text in column]) for name, column in columns.items()})

    @property
    def units(self):
        """Column -> "s", "K", "W", "J"; "" of counts and shares."""
        return {name: split_unit(name)[1] for name in self}

    def __missing__(self, name):
        known = ", ".join(column for column in self if not column.startswith("hist_"))
        raise Failure(COMMAND_LINE, f"{self.path} has no column {name}; it has {known}")

    def due(self, name):
        """Sweeps, times and values of the lines that have a value in this column."""
        columns = [self[column] for column in ("sweep", "time_s", name)]
        return tuple(column[self._given[name]] for column in columns)


@contextmanager
def open_hdf5(path):
    """Errors of reads within `with` are reported too, such as those of damaged chunks."""
    with failing(OSError, DATA, lambda error: f"{path} cannot be read as HDF5 ({' '.join(str(error).split())}); remove it, or run again"), \
            failing(FileNotFoundError, FILE_MISSING, lambda _: f"{path} does not exist"), h5py.File(path, "r") as file:
        yield file


def is_whole(path, series):
    """False for parts, None for files of other programs. For a damaged file, which is checked later, the name of its series decides."""
    with suppress(Failure), open_hdf5(path) as file:
        return file["isotherm"].attrs.get("format", WHOLE) in (WHOLE, WHOLE.encode()) if "isotherm" in file else None
    return not PART.fullmatch(series)


class Snapshots(Sequence):
    """Files of one series, [(sweep, path)], in their order. A file is opened at its first use, and then only its grid is read."""

    def __init__(self, files):
        self._files, self._opened = files, {}

    def __len__(self):
        return len(self._files)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Snapshots(self._files[index])
        sweep, path = self._files[index]
        if path not in self._opened:
            self._opened[path] = Snapshot(path, sweep)
        return self._opened[path]

    sweeps = property(lambda self: np.array([sweep for sweep, _ in self._files]))
    times = property(lambda self: np.array([snapshot.time for snapshot in self]), doc="Seconds; opens each file.")

    def nearest(self, time):
        """The snapshot whose time, in seconds, is nearest."""
        return min(self, key=lambda snapshot: abs(snapshot.time - time))


class Snapshot:
    """The field at one time. Holds the grid; reads temperatures from the file on request."""

    def __init__(self, path, sweep):
        self.path, self.sweep = path, sweep
        with open_hdf5(path) as file, content_of(path, "snapshot"):
            self.dataset = next((name for name in TEMPERATURES if name in file), TEMPERATURES[0])
            self.shape = file[self.dataset].shape  # (nz, ny, nx)
            self.cells = self.shape[::-1]  # nx, ny, nz
            attributes = file["isotherm"].attrs
            spacing, origin = (np.array(attributes[name], dtype=float) for name in ("spacing", "origin"))  # m: x, y, z
            self.time = float(attributes["time"])  # s
            self.is_graded = "edges_x" in file["isotherm"]  # its cells differ in size
            #: Metres, the faces of the cells along x, y and z: one more than there are cells.
            self.edges = [np.array(file[f"isotherm/edges_{axis}"]) for axis in "xyz"] if self.is_graded else [
                low + size * np.arange(count + 1) for low, size, count in zip(origin, spacing, self.cells)]
            if len(self.edges) != 3 or [len(edges) for edges in self.edges] != [count + 1 for count in self.cells]:
                raise ValueError("it has faces of other cells")
        # "x", "y" or "z": the first axis along which there is only one cell, as in a slice; else None.
        self.thin_axis = next((axis for axis, count in zip("xyz", self.cells) if count == 1), None)
        # Two corners of the box in metres.
        self.bounds = tuple(np.array([edges[end] for edges in self.edges]) for end in (0, -1))

    def centres(self, axis):
        """Centres of the cells along axis 0, 1, 2 = x, y, z, in metres."""
        return (self.edges[axis][:-1] + self.edges[axis][1:]) / 2

    x = property(lambda self: self.centres(0), doc="Metres, of the centres of the cells; y and z alike.")
    y = property(lambda self: self.centres(1))
    z = property(lambda self: self.centres(2))

    def _read(self, *selection):
        with open_hdf5(self.path) as file:
            return file[self.dataset][selection]

    @property
    def temperature(self):
        """Kelvin of all cells (nz, ny, nx) in the file's precision; every access reads the file again."""
        return self._read(...)

    T = temperature  # its symbol in formulas, and its name in files of format 1

    def every(self, stride):
        """Kelvin of every `stride`th cell along each axis (nz, ny, nx); only these are held in memory."""
        return self._read(*[slice(None, None, stride)] * 3).astype(float)

    def plane(self, axis, index):
        """Kelvin of the cells with this index along axis 0, 1, 2 = x, y, z; only the plane is read.

        The rows of the result run along the higher of the two other axes, its columns along the lower."""
        return self._read(*plane_of(self.shape, axis, index)).astype(float)
