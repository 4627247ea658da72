"""A run as Python sees it: fields with their coordinates, tables, and the record."""

from functools import cached_property

from isotherm_tools.failure import DATA, Failure
from isotherm_tools.json_record import read_record
from isotherm_tools.run_directory import RunDirectory
from isotherm_tools.tables import read_table


def open_run(directory):
    """The run in a directory; what is wrong or missing there is a `Failure` when it is asked for, with a line that says what."""
    return Run(directory)


class Run:
    """Reads what it is asked for, when it is asked, and nothing else."""

    def __init__(self, directory):
        self.files = RunDirectory(directory)
        self.path = self.files.path
        self.name = self.files.name

    def __repr__(self):
        return f"open_run({str(self.path)!r})"

    @cached_property
    def snapshots(self):
        """Of the whole field, in the order of their sweeps: see `Snapshots` and `Snapshot`."""
        return self.files.snapshots()

    @cached_property
    def parts(self):
        """Slices, region and coarse field: name of the files without the sweep -> `Snapshots`."""
        return {name: self.files.series(name) for name in self.files.parts}

    @cached_property
    def history(self):
        """history.csv as a `Table`."""
        return read_table(self.path / "history.csv", "was the run made with output.history: true?")[0]

    @cached_property
    def probes(self):
        """probes.csv as a `Table`: sweep, time_s and a column NAME_K a probe."""
        return self._probes[0]

    @cached_property
    def probe_places(self):
        """Name of a probe -> (x, y, z) in metres."""
        return dict(probe_place(remark, self.path) for remark in self._probes[1])

    @cached_property
    def _probes(self):
        return read_table(self.path / "probes.csv", "was the run made with output.probes?")

    @cached_property
    def record(self):
        """run.json: a dict. Keys that came after the program that wrote it are there too."""
        return read_record(self.path / "run.json", "isotherm-run", "run record", "name the directory of a finished run")


def probe_place(remark, path):
    """("p0", (0.02, 0.04, 0.009)) of "p0: 0.02 0.04 0.009 m"."""
    name, _, place = remark.rpartition(":")
    try:
        x, y, z = map(float, place.removesuffix(" m").split())
    except ValueError as error:
        raise Failure(DATA, f"{path}/probes.csv does not say where its probes are ({remark})") from error
    return name, (x, y, z)
