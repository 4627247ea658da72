"""Runs the combinations as a study runs its cases, reads what they have measured, and keeps the fastest for later
runs."""

import csv
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from types import SimpleNamespace

from isotherm_tools.compare.axes import Combination
from isotherm_tools.failure import DATA, UNAVAILABLE, Failure
from isotherm_tools.program import raise_error, say
from isotherm_tools.study import state
from isotherm_tools.study.deck import DeckCase
from isotherm_tools.study.runner import Runner, signal_name
from isotherm_tools.text import escaped, extent_text, grouped, in_quotes

LEAST_SWEEPS, MOST_SWEEPS = 4, 120  # of a sample
PERIOD = 24  # sweeps: whole time blocks of lengths 1, 2, 3, 4, 6 and 8
LEAST_SAMPLES, MOST_SAMPLES = 5, 200
MEMORY = 71
# Codes with which a run says something of the combination, not of the job.
LEFT_OUT = (DATA, UNAVAILABLE, MEMORY)
UNIT_ROUNDOFF = 2.0 ** -53


@dataclass
class Entry:
    """A combination, and what became of it."""

    name: str
    combination: object
    case: object = None
    verdict: str = "left_out"  # or "same", "differs"
    note: str = ""  # what differs, or why it was left out
    code: int = 0  # with which it was left out
    run: dict = None  # run.json
    samples: list = field(default_factory=list)  # s a sweep, with its share of a check
    within_noise: bool = False  # of the first

    @property
    def median(self):
        return median(self.samples) if self.samples else math.inf

    @property
    def range(self):
        """Without the lowest and the highest tenth."""
        tenths = quantiles(self.samples, n=10, method="inclusive")
        return tenths[0], tenths[-1]


class Measurement:
    """`size`: sweeps of a sample; `interval`: of the checks in these runs."""

    def __init__(self, job, launcher, work, sweeps, seconds):
        self.job, self.launcher, self.work, self.seconds, self.passes = job, launcher, work, seconds, 0
        wanted = job.base["interval"]
        self.size = -(-sweeps // wanted) * wanted if sweeps > wanted else sweeps or self.size_by_time(wanted)
        self.interval = min(wanted, self.size)

    def size_by_time(self, wanted):
        """By the least traffic of a sweep and the copy bandwidth of this host, measured: whole intervals of checks, or whole time blocks of
        the usual time blocks."""
        job, plan = self.job, self.job.base["plan"]
        copy, = job.program.ask(job.path, job.overrides, job.arguments, [
            {"bandwidth": plan["backend"], "bytes": 8 * math.prod(plan["cells"])}])
        sweep = plan["traffic_bytes"] / max(plan["sweeps"], 1) / raise_error(copy)["bytes_per_s"]
        sweeps = int(min(max(self.seconds / LEAST_SAMPLES / max(sweep, 1e-9), LEAST_SWEEPS), MOST_SWEEPS))
        return next((sweeps // unit * unit for unit in (wanted, PERIOD) if sweeps >= unit), sweeps)

    def sweeps(self, samples):
        """Behind a sample that warms up; the last is lost where checks lag."""
        return self.size * (samples + 2)

    def run(self, entries, samples, **compare):
        """Each entry with so many samples. Fills in `case`, `run` and `samples`."""
        self.passes += 1
        folder = {"output.directory": str(self.work / str(self.passes))}
        compare = {"check_interval": self.interval, "tuning_file": str(self.work / "tuning.json"), **compare}
        answers = self.job.ask([{"settings": {**entry.combination.settings, **folder}, "name": entry.name,
                                 "compare": {"sweeps": self.sweeps(count), **compare}} for entry, count in zip(entries, samples)])
        cases = [DeckCase(SimpleNamespace(name=entry.name, ranks=self.job.ranks), raise_error(answer))
                 for entry, answer in zip(entries, answers)]
        # The combinations, as the runner of studies wants its cases.
        study = SimpleNamespace(
            program=self.job.program, cases=cases, launcher=self.launcher, scaling=None,
            changes=lambda pairs: [[] for _ in pairs],
            sections={"ranks_per_node": None, "default_launcher": self.launcher})
        if stopped_by := Runner(study, 1, False).run():
            raise Failure(128 + stopped_by, f"stopped by {signal_name(stopped_by)}; nothing is kept of this comparison")
        for entry, case in zip(entries, cases):
            self.take(entry, case, state.look_at(study, case))

    def take(self, entry, case, look):
        entry.case, entry.run = case, None
        if look.is_finished:
            entry.run, entry.verdict = state.run_record(case), "same"
            entry.samples = self.samples(case, entry.run)
            return
        message = (look.message or f"ended with exit code {look.exit_code}").split("\n")[0]
        if look.exit_code not in LEFT_OUT:
            code = look.exit_code if 1 < (look.exit_code or 0) < 128 else state.INTERNAL
            raise Failure(code, f"compare: {entry.name}: {message}")
        entry.verdict, entry.note, entry.code = "left_out", message, look.exit_code

    def samples(self, case, run):
        """Of history.csv, which has the time of every check."""
        with open(case.folder / "history.csv", encoding="utf-8", newline="") as file:
            wall = {int(row["sweep"]): float(row["wall_s"]) for row in csv.DictReader(file)}
        marks = [wall[sweep] for sweep in sorted(wall) if sweep % self.size == 0]
        if run["residual"]["check"] == "asynchronous":
            marks = marks[:-1]  # the last two are told together
        # Checks may come more often than in the deck: a sweep has its share of those that the deck asks for.
        check = run["phases_s"]["reduction"]["min"] / max(run["residual"]["checks"], 1)
        more = check * (1 / self.interval - 1 / self.job.base["check_interval"])
        times = [max(after - before, 1e-6) / self.size for before, after in zip(marks, marks[1:])]  # written to a microsecond
        return [max(time - more, time / 2) for time in times]

    def first_pass(self, entries):
        """All as far as the first, which they are compared with. Returns the entry that could be run first, or None."""
        say(f"fields after {grouped(self.sweeps(LEAST_SAMPLES))} sweeps:\n")
        self.run(entries, [LEAST_SAMPLES] * len(entries))
        first = next((entry for entry in entries if entry.run), None)
        for entry in entries:
            if entry.run and entry is not first:
                entry.note = self.difference(first, entry)
                entry.verdict = "differs" if entry.note else "same"
        return first

    def second_pass(self, entries):
        """Longer, where the first pass took less than the time of a combination. A wrong answer has no speed."""
        counts = {entry.name: min(MOST_SAMPLES, math.ceil(self.seconds / (self.size * entry.median)))
                  for entry in entries if entry.verdict == "same"}
        again = [entry for entry in entries if counts.get(entry.name, 0) > LEAST_SAMPLES]
        if not again:
            return
        say("times:\n")
        first_runs = [entry.run for entry in again]
        self.run(again, [counts[entry.name] for entry in again])
        for entry, run in zip(again, first_runs):  # the record of the longer run has the field of another sweep
            if entry.run:
                entry.run.update({key: run[key] for key in ("fingerprint", "residual")})

    def difference(self, first, entry):
        """Where the bits differ; empty where they do not."""
        if entry.run["fingerprint"] != first.run["fingerprint"]:
            return self.first_cells(first, entry)
        norms = [each.run["residual"]["last_K"] for each in (first, entry)]
        reductions = {each.run["method"]["reduction"] for each in (first, entry)}
        exact = first.run["residual"]["norm"] == "max" or reductions == {"reproducible"}
        if norms_agree(*norms, exact, math.prod(first.run["grid"]["cells"])):
            return ""
        return f"the norm is {norms[1]} and should be {norms[0]}"

    def first_cells(self, first, entry):
        """Both are run once more, with their last fields in files."""
        say(f"{entry.name} has other bits; where, two more runs tell:\n")
        pair = [Entry(each.name, each.combination) for each in (first, entry)]
        self.run(pair, [LEAST_SAMPLES] * 2, snapshots=True)
        fingerprints = f"fingerprint {entry.run['fingerprint']}, and should be {first.run['fingerprint']}"
        if not all(each.run for each in pair):
            return fingerprints
        try:
            difference = field_difference(*(max(each.case.folder.glob("*_[0-9]*.hdf")) for each in pair))
        except ImportError:
            return f"{fingerprints} (h5py and numpy, which read the cells, are not installed)"
        return difference or (
            f"{fingerprints}; a second run had the bits that it should have, so the first was disturbed or depends on its order")


def field_difference(expected, found):
    """"2 of 3 520 cells; the first, (1, 0, 7), is 300.1 and should be 300"; empty where there is none. A plane at a time."""
    import h5py
    import numpy as np

    count, first = 0, None
    with h5py.File(expected) as a, h5py.File(found) as b:
        cells, others = a["temperature"], b["temperature"]
        if cells.shape != others.shape or cells.dtype != others.dtype:
            return f"the file has {others.dtype} {others.shape} and should have {cells.dtype} {cells.shape}"
        for z in range(cells.shape[0]):
            plane, other = cells[z], others[z]
            bits = f"u{plane.itemsize}"
            differ = np.argwhere(plane.view(bits) != other.view(bits))
            count += len(differ)
            if len(differ) and not first:
                y, x = map(int, differ[0])
                first = f"the first, ({x}, {y}, {z}), is {other[y, x]!s} and should be {plane[y, x]!s}"
        return f"{grouped(count)} of {grouped(cells.size)} cells; {first}" if count else ""


def norms_agree(a, b, exact, cells):
    """Each is as far from the sum of the same terms as the rounding of a term and of so many additions, in any order, can bring it
    (Higham, Accuracy and Stability of Numerical Algorithms, SIAM 2002, chapter 4); the root of it is nearer."""
    if a == b or None in (a, b):  # None: not finite
        return a == b
    return not exact and abs(a - b) <= 2 * (cells + 4) * UNIT_ROUNDOFF * max(abs(a), abs(b))


def read_tuning(path):
    """The file's content; None where there is none."""
    if not Path(path).exists():
        return None
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if content["schema"] != "isotherm-tuning" or not isinstance(content["entries"], list):
            raise ValueError("it has another schema")
        return content
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(DATA, f"{in_quotes(path)} is no tuning file ({error}); name another with --keep, or remove it") from error


def grid_of(entry):
    return tuple(entry.run["decomposition"]["process_grid"])


def keep(path, job, measurement, entries):
    """--keep: the fastest kernels of a comparison in a tuning file, which later runs of the deck read. Returns a line
    for each process grid.

    The program alone knows by what a tuning file finds its entries. So the deck is run once, up to its first check,
    with a tuning file of its own and every process grid that was compared: its entry gets the choice of the comparison,
    and a second run must take it."""
    automatic = {row["name"] for table in ("kernels", "reductions") for row in job.listed[table] if row["automatic"]}
    fit = [entry for entry in entries
           if entry.verdict == "same" and {entry.run["method"][key] for key in ("kernel", "reduction")} <= automatic]
    text = ""
    for grid in dict.fromkeys(map(grid_of, fit)):
        text += keep_grid(path, job, measurement, grid, [entry for entry in fit if grid_of(entry) == grid])
    return text or f"nothing is kept in {escaped(path)}: a run of the deck takes none of these kernels from a file\n"


def keep_grid(path, job, measurement, grid, entries):
    """Of the entries, the fastest first, the first that a run takes."""
    settings = {"parallel.process_grid": "[{},{},{}]".format(*grid)} if job.ranks > 1 else {}
    file = measurement.work / "kept.json"
    file.unlink(missing_ok=True)
    short_run(job, measurement, settings, file)
    found = read_tuning(file)
    for entry in entries if found and found["entries"] else []:
        method = entry.run["method"]
        found["entries"][-1]["choice"].update({
            "kernel": method["kernel"], "tile": method["tile"] or "-", "reduction": method["reduction"], "graph": method["graph"],
            "overlap": method["overlap"], "time_block": method["time_block"], "halo_width": method["halo_width"], "seconds": entry.median,
            "complete": True})
        file.write_text(json.dumps(found), encoding="utf-8")
        if short_run(job, measurement, settings, file)["tuning"]["source"] != "file":
            continue
        kept = read_tuning(path) or {**found, "entries": []}
        kept["entries"] = [each for each in kept["entries"] if each["key"] != found["entries"][-1]["key"]] + found["entries"][-1:]
        state.write_whole(Path(path), json.dumps(kept, indent=1) + "\n")
        kernel = f"{method['kernel']} {method['tile'] or ''}".rstrip()
        return (f"kept in {escaped(path)}: kernel {kernel}, reduction {method['reduction']}, halo width {method['halo_width']}, for process "
                f"grid {extent_text(grid)}\n")
    return ""


def short_run(job, measurement, settings, file):
    """The method of a run of the deck as it is, up to its first check."""
    entry = Entry("the deck", Combination((), settings))
    measurement.run([entry], [0], sweeps=job.base["interval"], check_interval=job.base["interval"], tuning_file=str(file))
    if not entry.run:
        raise Failure(entry.code, f"compare: --keep: {entry.note}")
    return entry.run["method"]
