"""What a run left behind: snapshots in the order of their sweeps, and the history.

A snapshot is `<name>_<sweep>.hdf` with the temperature in /temperature (nz, ny, nx), in files of format 1 in
/VTKHDF/PointData/T, and grid and time in /isotherm. Snapshots still being written end in `.part`. Files of a part of the cells are alike, and
called `<name>_slice_z12_<sweep>.hdf`, `<name>_region_...`, `<name>_coarse_...`; /isotherm says what they are.
"""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from isotherm_tools.failure import COMMAND_LINE, DATA, FILE_MISSING, Failure

SNAPSHOT = re.compile(r"(?P<name>.+)_(?P<sweep>\d+)\.hdf")
TEMPERATURES = ("temperature", "VTKHDF/PointData/T")  # where it is, and was in format 1
WHOLE = "isotherm snapshot"


def open_hdf5(path):
    try:
        return h5py.File(path, "r")
    except FileNotFoundError as error:
        raise Failure(FILE_MISSING, f"{path} does not exist") from error
    except OSError as error:
        raise Failure(DATA, f"{path} cannot be read as HDF5 ({one_line(error)})") from error


def kind_of(path):
    """What a file says it is; files that say nothing count as whole snapshots, which are looked at more closely later."""
    try:
        with open_hdf5(path) as file:
            kind = file["isotherm"].attrs["format"]
    except (Failure, KeyError):
        return WHOLE
    return kind.decode() if isinstance(kind, bytes) else str(kind)


class Snapshot:
    """One time. Holds the grid; temperatures are read from the file when asked for."""

    def __init__(self, path, sweep):
        self.path = path
        self.sweep = sweep
        with open_hdf5(self.path) as file:
            try:
                self.dataset = next((name for name in TEMPERATURES if name in file), TEMPERATURES[0])
                self.shape = file[self.dataset].shape  # (nz, ny, nx)
                attributes = file["isotherm"].attrs
                self.spacing = np.array(attributes["spacing"], dtype=float)  # m: x, y, z
                self.centre = np.array(attributes["origin"], dtype=float) + 0.5 * self.spacing  # m, of the first cell
                self.time = float(attributes["time"])  # s
            except (KeyError, AttributeError, TypeError, ValueError) as error:
                raise Failure(DATA, f"{path} is no snapshot of isotherm ({error})") from error
        if len(self.shape) != 3 or self.spacing.shape != (3,) or self.centre.shape != (3,):
            raise Failure(DATA, f"{path} is no snapshot of isotherm (its grid is not of three axes)")

    @property
    def cells(self):
        """nx, ny, nz."""
        return self.shape[::-1]

    @property
    def thin_axis(self):
        """"x", "y" or "z": the first along which there is one cell, as in a slice; None without one."""
        return next((axis for axis, count in zip("xyz", self.cells) if count == 1), None)

    @property
    def bounds(self):
        """Two corners of the box in metres: half a cell around the outer cell centres."""
        low = self.centre - 0.5 * self.spacing
        return low, low + self.spacing * np.array(self.cells)

    @property
    def x(self):
        """Metres, of the centres of the cells; y and z alike."""
        return self._centres(0)

    @property
    def y(self):
        return self._centres(1)

    @property
    def z(self):
        return self._centres(2)

    def _centres(self, axis):
        return self.centre[axis] + self.spacing[axis] * np.arange(self.cells[axis])

    @property
    def temperature(self):
        """Kelvin of all cells (nz, ny, nx) in the file's precision; read anew each time it is asked for."""
        with open_hdf5(self.path) as file:
            return file[self.dataset][:]

    T = temperature  # its name on paper, and in files of format 1

    def every(self, stride):
        """Kelvin of every `stride`th cell along each axis (nz, ny, nx); only these are held."""
        with open_hdf5(self.path) as file:
            return file[self.dataset][::stride, ::stride, ::stride].astype(float)

    def plane(self, axis, index):
        """Kelvin of the cells with this index along axis 0, 1, 2 = x, y, z; only the plane is read.

        The rows of the result run along the higher of the two other axes, its columns along the lower."""
        selection = [slice(None)] * 3
        selection[2 - axis] = index
        with open_hdf5(self.path) as file:
            return file[self.dataset][tuple(selection)].astype(float)


class Snapshots(Sequence):
    """Files of one series in the order of their sweeps. A file is opened when it is asked for, and then for its grid alone."""

    def __init__(self, files):
        """`files`: (sweep, path) in their order."""
        self._files = files
        self._opened = {}

    def __len__(self):
        return len(self._files)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Snapshots(self._files[index])
        sweep, path = self._files[index]
        if path not in self._opened:
            self._opened[path] = Snapshot(path, sweep)
        return self._opened[path]

    @property
    def sweeps(self):
        return np.array([sweep for sweep, _ in self._files])

    @property
    def times(self):
        """Seconds; opens each file."""
        return np.array([snapshot.time for snapshot in self])

    def nearest(self, time):
        """The snapshot whose time, in seconds, is nearest."""
        return min(self, key=lambda snapshot: abs(snapshot.time - time))


class History:
    """history.csv: a line for every sweep at which a residual or diagnostics were due; what was not due is empty.

    sweep, time (s) and residual (kelvin, in the deck's norm) are arrays over the lines that hold a residual."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                self._rows = list(reader)
                self.columns = list(reader.fieldnames or [])
            self.sweep, self.time, self.residual = self._lines_with("residual")
        except FileNotFoundError as error:
            hint = "was the run made with output.history: true?"
            raise Failure(FILE_MISSING, f"{path} does not exist; {hint}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise Failure(DATA, f"{path} is no residual history of isotherm ({one_line(error)})") from error

    def column(self, name):
        """Sweeps, times and values of the lines that hold this column."""
        if name not in self.columns:
            known = ", ".join(column for column in self.columns if not column.startswith("hist_"))
            raise Failure(COMMAND_LINE, f"{self.path} has no column {name}; it has {known}")
        try:
            return self._lines_with(name)
        except (TypeError, ValueError) as error:
            raise Failure(DATA, f"{self.path} holds no numbers in column {name} ({one_line(error)})") from error

    def _lines_with(self, name):
        rows = [row for row in self._rows if row[name] != ""]
        return (np.array([int(row["sweep"]) for row in rows]), np.array([float(row["time_s"]) for row in rows]),
                np.array([float(row[name]) for row in rows]))


class RunDirectory:
    def __init__(self, path):
        self.path = Path(path)
        if not self.path.is_dir():
            raise Failure(FILE_MISSING, f"{self.path} is no folder; name the run directory of a finished run")
        series = {}  # name -> [(sweep, path)]
        for entry in self.path.iterdir():
            match = SNAPSHOT.fullmatch(entry.name)
            if match:
                series.setdefault(match["name"], []).append((int(match["sweep"]), entry))
        kinds = {name: kind_of(files[0][1]) for name, files in series.items()}
        names = sorted(name for name, kind in kinds.items() if kind == WHOLE)
        if len(names) > 1:
            raise Failure(DATA, f"{self.path} holds snapshots of several runs ({', '.join(names)})")
        self.name = names[0] if names else self.path.resolve().name
        self._files = sorted(series[self.name]) if names else []
        self._parts = {name: sorted(files) for name, files in series.items() if kinds[name] != WHOLE}

    def snapshots(self):
        if not self._files:
            hint = "was the run made with output.snapshots: true?"
            if self._parts:
                hint = f"name one of its parts with --series: {', '.join(sorted(self._parts))}"
            raise Failure(FILE_MISSING, f"{self.path} holds no snapshots; {hint}")
        return Snapshots(self._files)

    @property
    def parts(self):
        """Names of the series that hold a part of the cells."""
        return sorted(self._parts)

    def series(self, name):
        """The files of a part of the cells, as snapshots of them: by their name without the sweep."""
        if name not in self._parts:
            known = ", ".join(sorted(self._parts)) or "none"
            raise Failure(COMMAND_LINE, f"{self.path} holds no series {name}; it has {known}")
        return Snapshots(self._parts[name])

    def hottest_place(self):
        """(x, y, z) in metres of the hottest cell when the run ended; None where run.json does not say it."""
        try:
            return json.loads((self.path / "run.json").read_text(encoding="utf-8"))["end_state"]["highest"]["position_m"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def history(self):
        return History(self.path / "history.csv")


def one_line(error):
    return " ".join(str(error).split())
