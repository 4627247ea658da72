"""isotherm compare: runs every legal combination of values for the keys that a deck does not fix, from the same initial state, checks
that all have the same bits, and ranks them. Each combination is a run, started as a study starts its cases."""

import csv
import json
import math
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Callable, NamedTuple

from isotherm_tools import baseline
from isotherm_tools.program import (
    CANNOT_CREATE, COMMAND_LINE, DATA, STOPPED_BY_CTRL_C, UNAVAILABLE, Failure, Parser, Program, cannot_write, check_outputs,
    failing, file_to_replace, is_launched, launched_rank, number_from, raise_error, say, write_text)
from isotherm_tools.study import state
from isotherm_tools.study.deck import StudyCase, launcher_problem
from isotherm_tools.study.runner import Runner, signal_name
from isotherm_tools.text import aligned, counted, escaped, extent_text, grouped, groups, human_duration, in_quotes, shell_words

# The axes of a deck.

DEEPEST = 8  # layers of ghosts: the most that `halo_width: auto` considers
NOWHERE = [0, 0, 0]  # the place of a node that is in no file and no argument


class Axis(NamedTuple):
    name: str
    key: str
    values: Callable  # of (job, whether --axes names the axis); the plainest value first
    of_ranks: bool = False  # has no effect on one rank
    unasked: bool = True  # varies if --axes names no axis


def widths(job, _named):
    return [str(width) for width in range(1, min(DEEPEST, job.base["interval"]) + 1)]


def process_grids(job, _named):
    """All process grids; the one with the least estimated cost first, as a run would choose it."""
    grids = [grid for grid in product(range(1, job.ranks + 1), repeat=3) if math.prod(grid) == job.ranks]
    cheapest = tuple(job.base["plan"]["process_grid"])
    return [f"[{x},{y},{z}]" for x, y, z in sorted(grids, key=lambda grid: grid != cheapest)]


# If there are too many combinations, the later axes are dropped first.
AXES = [
    Axis("kernel", "solver.kernel", lambda job, _: [row["name"] for row in job.rows("kernels")]),
    Axis("tile", "solver.tile", lambda job, _: list(dict.fromkeys(
        name for row in job.rows("kernels") for names in row["tiles"].values() for name in names)), unasked=False),
    Axis("transport", "parallel.transport", lambda job, _: [row["name"] for row in job.listed["transports"]], of_ranks=True),
    Axis("overlap", "parallel.overlap", lambda *_: ["false", "true", "in_kernel"], of_ranks=True),
    Axis("halo_width", "solver.halo_width", widths, of_ranks=True),
    Axis("time_block", "solver.time_block", widths, unasked=False),
    Axis("process_grid", "parallel.process_grid", process_grids, of_ranks=True),
    Axis("cuda_graph", "solver.cuda_graph", lambda *_: ["false", "true"]),
    # If the axis is not named, only those that `auto` may choose.
    Axis("reduction", "solver.reduction",
         lambda job, named: [row["name"] for row in job.rows("reductions") if named or row["automatic"]])]


def parse_axes(text):
    """The axes named in a text such as "kernel,tile", in the order of AXES."""
    names, known = text.split(","), [axis.name for axis in AXES]
    for name in filter(None, names):
        if name not in known:
            raise Failure(COMMAND_LINE, f"isotherm: compare: --axes: there is no axis {in_quotes(name)}; use some of {', '.join(known)}")
    return [axis for axis in AXES if axis.name in names]


def node(word):
    if word.startswith("["):
        return {"at": NOWHERE, "items": [node(each) for each in word[1:-1].split(",")]}
    return {"at": NOWHERE, "text": word}


class Job:
    """The deck (path, overrides, their positions) on `ranks` ranks. `listed`: the output of isotherm list --json; `base`: the answer of
    the program for the deck with the named axes set to auto."""

    def __init__(self, program, deck, ranks, named):
        self.program, self.deck, self.path, self.ranks, self.named = program, deck, deck[0], ranks, named
        self.listed = json.loads(program.output("list", "--json"))
        self.opened = {axis.key: "auto" for axis in named}
        self.base, = self.ask([{"settings": {}, "plan": True}])
        raise_error(raise_error(self.base), "refused")

    def rows(self, table):
        """The entries of the backend; a later check of legality shows whether the devices can run them."""
        return [row for row in self.listed[table] if row["backend"] == self.base["plan"]["backend"]]

    def ask(self, requests):
        """An answer for each request: the deck with the settings of the request, as a run for a comparison."""
        return self.program.ask(*self.deck, [
            {"ranks": self.ranks, "host": "this", "compare": {}, **each,
             "settings": [{"key": key, "value": node(word)} for key, word in {**self.opened, **each["settings"]}.items()]}
            for each in requests])

    def legal(self, candidates, settings_of):
        answers = self.ask([{"settings": settings_of(each)} for each in candidates])
        return [each for each, answer in zip(candidates, answers) if "error" not in answer and "refused" not in answer]


class Plan:
    """The axes that vary, the axes left out because they would exceed the limit, and all legal combinations as entries. The last axis
    changes fastest, so the first combination, which is the reference, is the plainest."""

    def __init__(self, job, limit):
        self.job, self.axes, self.left, self.entries = job, [], [], [Entry()]
        unasked = [axis for axis in AXES if axis.unasked]  # a key that the deck fixes does not vary
        answers = [] if job.named else job.ask([{"settings": {axis.key: "auto"}} for axis in unasked])
        left_open = [axis for axis, answer in zip(unasked, answers) if answer.get("deck") == job.base["deck"]]
        self.values = {axis.name: self.values_of(axis) for axis in (job.named or left_open)}
        for axis in [axis for axis in AXES if len(self.values.get(axis.name, [])) > 1]:
            more = self.extended(axis)
            if not job.named and len(more) > limit:
                self.left.append(axis)
            else:
                self.axes.append(axis)
                self.entries = more
        if not self.entries:
            raise Failure(COMMAND_LINE, "compare: no combination of these axes is legal here (tiles need the axis kernel, or "
                                        "solver.kernel); name others with --axes")
        self.entries[0].name = self.entries[0].name or "the deck"
        if len(self.entries) > limit:
            last = self.axes[-1]
            sizes = " x ".join(f"{axis.name} ({len(self.values[axis.name])})" for axis in self.axes)
            raise Failure(COMMAND_LINE, f"compare: {sizes} have more than {limit} legal combinations; name fewer with --axes, give one "
                                        f"a value such as {last.key}={self.values[last.name][0]}, or raise --limit")

    def values_of(self, axis):
        """The values that are legal while the other axes are open. Tiles are legal only with their kernel."""
        if axis.of_ranks and self.job.ranks == 1:
            return []
        values = axis.values(self.job, axis in self.job.named)
        return values if axis.name == "tile" else self.job.legal(values, lambda word: {axis.key: word})

    def extended(self, axis):
        """All legal combinations with one more axis. A kernel without tiles has the only value auto."""
        bare = {row["name"] for row in self.job.rows("kernels") if not any(row["tiles"].values())}
        more = [Entry(f"{each.name} {axis.name}={word}".strip(), {**each.settings, axis.key: word})
                for each in self.entries for word in (
                    ["auto"] if axis.name == "tile" and each.settings.get("solver.kernel") in bare else self.values[axis.name])]
        return self.job.legal(more, lambda each: each.settings)


# The runs and their measurements.

LEAST_SWEEPS, MOST_SWEEPS = 4, 120  # sweeps per sample
PERIOD = 24  # sweeps: whole time blocks of lengths 1, 2, 3, 4, 6 and 8
LEAST_SAMPLES, MOST_SAMPLES = 5, 200
MEMORY = 71
# Exit codes for which only the combination is left out; others end the comparison.
LEFT_OUT = (DATA, UNAVAILABLE, MEMORY)
UNIT_ROUNDOFF = 2.0 ** -53


@dataclass
class Entry:
    """A combination and its results."""

    name: str = ""  # "kernel=openmp halo_width=2"
    settings: dict = field(default_factory=dict)  # by Plan.axes
    case: object = None
    verdict: str = "left_out"  # or "same", "differs"
    note: str = ""  # what differs, or why it was left out
    code: int = 0  # exit code of a combination that was left out
    run: dict = None  # run.json
    samples: list = field(default_factory=list)  # s per sweep, including its share of a check
    within_noise: bool = False  # of the fastest

    @property
    def median(self):
        return median(self.samples) if self.samples else math.inf

    @property
    def range(self):
        """The range without the lowest and highest tenth, linear between samples: statistics.quantiles rounds below equal samples."""
        ordered = sorted(self.samples)

        def at(share):
            part, below = math.modf(share * (len(ordered) - 1))
            low, high = ordered[int(below)], ordered[math.ceil(below + part)]
            return low + part * (high - low)
        return at(0.1), at(0.9)

    def figures(self):
        """The speed; None if the answer is wrong."""
        if self.verdict != "same":
            return None
        points = math.prod(self.run["grid"]["cells"]) / self.median  # per second
        bandwidth, copy = points * self.run["performance"]["bytes_per_point"], self.run["performance"]["copy_bandwidth_bytes_per_s"]
        halo, halo_width = self.run["halo"], self.run["method"]["halo_width"]
        exchange, exposed = (halo[key] and halo[key] / halo_width for key in ("exchange_s", "exposed_s"))
        return SimpleNamespace(median=self.median, low=self.range[0], high=self.range[1], points=points, bandwidth=bandwidth, copy=copy,
                               share=100 * bandwidth / copy if copy else None, exchange=exchange, exposed=exposed)


class Measurement:
    """`size`: sweeps per sample; `interval`: sweeps between checks in these runs."""

    def __init__(self, job, launcher, work, sweeps, seconds):
        self.job, self.launcher, self.work, self.seconds, self.passes = job, launcher, work, seconds, 0
        wanted = job.base["interval"]
        self.size = -(-sweeps // wanted) * wanted if sweeps > wanted else sweeps or self.size_by_time(wanted)
        self.interval = min(wanted, self.size)

    def size_by_time(self, wanted):
        """Estimates the sweeps per sample from the least traffic of a sweep and the measured copy bandwidth of this host; rounds to
        whole intervals of checks, or to whole time blocks of usual lengths."""
        job, plan = self.job, self.job.base["plan"]
        copy, = job.program.ask(*job.deck, [{"bandwidth": plan["backend"], "bytes": 8 * math.prod(plan["cells"])}])
        sweep = plan["traffic_bytes"] / max(plan["sweeps"], 1) / raise_error(copy)["bytes_per_s"]
        sweeps = int(min(max(self.seconds / LEAST_SAMPLES / max(sweep, 1e-9), LEAST_SWEEPS), MOST_SWEEPS))
        return next((sweeps // unit * unit for unit in (wanted, PERIOD) if sweeps >= unit), sweeps)

    def sweeps(self, samples):
        """Sweeps of a run: one sample more to warm up, and one that asynchronous checks lose at the end."""
        return self.size * (samples + 2)

    def run(self, entries, samples, **compare):
        """Runs each entry with its number of samples. Sets `case`, `run` and `samples`."""
        self.passes += 1
        folder = {"output.directory": str(self.work / str(self.passes))}
        compare = {"check_interval": self.interval, "tuning_file": str(self.work / "tuning.json"), **compare}
        answers = self.job.ask([{"settings": {**entry.settings, **folder}, "name": entry.name,
                                 "compare": {"sweeps": self.sweeps(count), **compare}} for entry, count in zip(entries, samples)])
        cases = [StudyCase(self.job.ranks, {}, name=entry.name).resolved(raise_error(answer))
                 for entry, answer in zip(entries, answers)]
        # Passes the combinations to the runner of studies as cases.
        study = SimpleNamespace(program=self.job.program, cases=cases, launcher=self.launcher, changes=lambda pairs: [[] for _ in pairs],
                                scaling=None, sections={"ranks_per_node": None, "default_launcher": self.launcher})
        if stopped_by := Runner(study, 1, False).run():
            raise Failure(128 + stopped_by, f"stopped by {signal_name(stopped_by)}; nothing is kept of this comparison")
        for entry, case, status in zip(entries, cases, state.case_statuses(study, cases)):
            entry.case, entry.run = case, None
            if status.is_finished:
                entry.run, entry.verdict = state.run_record(case), "same"
                entry.samples = self.samples(case, entry.run)
                continue
            message = (status.message or f"ended with exit code {status.exit_code}").split("\n")[0]
            if status.exit_code not in LEFT_OUT:
                raise Failure(status.exit_code if 1 < (status.exit_code or 0) < 128 else state.INTERNAL, f"compare: {entry.name}: {message}")
            entry.verdict, entry.note, entry.code = "left_out", message, status.exit_code

    def samples(self, case, run):
        """Samples from history.csv, which has the time of every check."""
        with open(case.folder / "history.csv", encoding="utf-8", newline="") as file:
            wall = {int(row["sweep"]): float(row["wall_s"]) for row in csv.DictReader(file)}
        marks = [wall[sweep] for sweep in sorted(wall) if sweep % self.size == 0]
        if run["residual"]["check"] == "asynchronous":
            marks = marks[:-1]  # the last two checks are recorded at the same time
        # Checks may be more frequent than in the deck: a sweep gets the share of a check that the deck implies.
        check = run["phases_s"]["reduction"]["min"] / max(run["residual"]["checks"], 1)
        more = check * (1 / self.interval - 1 / self.job.base["check_interval"])
        times = [max(after - before, 1e-6) / self.size for before, after in zip(marks, marks[1:])]  # the file has microseconds
        return [max(time - more, time / 2) for time in times]

    def first_pass(self, entries):
        """Runs all entries and compares them with the first that could be run; returns this entry, or None."""
        say(f"fields after {grouped(self.sweeps(LEAST_SAMPLES))} sweeps:\n")
        self.run(entries, [LEAST_SAMPLES] * len(entries))
        first = next((entry for entry in entries if entry.run), None)
        for entry in entries:
            if entry.run and entry is not first and (note := self.difference(first, entry)):
                entry.verdict, entry.note = "differs", note
        return first

    def second_pass(self, entries):
        """Runs an entry longer if its first pass took less than the time per combination. Wrong answers are not timed."""
        counts = {entry.name: min(MOST_SAMPLES, math.ceil(self.seconds / (self.size * entry.median)))
                  for entry in entries if entry.verdict == "same"}
        if again := [entry for entry in entries if counts.get(entry.name, 0) > LEAST_SAMPLES]:
            say("times:\n")
            first_runs = [entry.run for entry in again]
            self.run(again, [counts[entry.name] for entry in again])
            for entry, run in zip(again, first_runs):  # in the longer run these belong to another sweep
                if entry.run:
                    entry.run.update({key: run[key] for key in ("fingerprint", "residual")})

    def difference(self, first, entry):
        """Describes where the bits differ; empty if they are equal."""
        if entry.run["fingerprint"] != first.run["fingerprint"]:
            return self.first_cells(first, entry)
        norms = [each.run["residual"]["last_K"] for each in (first, entry)]
        exact = first.run["residual"]["norm"] == "max" or {
            each.run["method"]["reduction"] for each in (first, entry)} == {"reproducible"}
        if norms_agree(*norms, exact, math.prod(first.run["grid"]["cells"])):
            return ""
        return f"the norm is {norms[1]} and should be {norms[0]}"

    def first_cells(self, first, entry):
        """Runs both again, with their last fields in files, and describes the first cells that differ."""
        say(f"{entry.name} has other bits; two more runs show where:\n")
        pair = [Entry(each.name, settings=each.settings) for each in (first, entry)]
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
    """"2 of 3 520 cells; the first, (1, 0, 7), is 300.1 and should be 300"; empty if none differs. Reads one plane at a time."""
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
    """The bound of the difference: each norm deviates from the exact sum at most by the rounding of its terms and additions, in any
    order (Higham, Accuracy and Stability of Numerical Algorithms, SIAM 2002, chapter 4); its root deviates less."""
    finite = None not in (a, b)
    return a == b or (not exact and finite and abs(a - b) <= 2 * (cells + 4) * UNIT_ROUNDOFF * max(abs(a), abs(b)))


def read_tuning(path):
    """The file's content; None if there is no file, or one of version 1, whose entries the program drops too."""
    if not Path(path).exists():
        return None
    with failing((OSError, ValueError, KeyError, TypeError), DATA,
                 lambda error: f"{in_quotes(path)} is no tuning file ({error}); name another with --keep, or remove it"):
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        complete = content["version"] == 1 or all("key" in each for each in content["entries"])
        if content["schema"] != "isotherm-tuning" or content["version"] not in (1, 2) or not complete:
            raise ValueError("it has another schema or version, or an incomplete entry")
        return content if content["version"] == 2 else None


def keep(path, job, measurement, entries):
    """--keep: stores the fastest kernels of a comparison in a tuning file, which later runs of the deck read. Returns a line for each
    process grid. Only the program knows the keys of the entries in a tuning file. So the deck is run once, up to its first check, with
    a temporary tuning file; the entry in it gets the choice of the comparison, and a second run must use it."""
    automatic = {row["name"] for table in ("kernels", "reductions") for row in job.listed[table] if row["automatic"]}
    fit = [entry for entry in entries
           if entry.verdict == "same" and {entry.run["method"][key] for key in ("kernel", "reduction")} <= automatic]
    by_grid = groups(fit, lambda entry: tuple(entry.run["decomposition"]["process_grid"]))
    text = "".join(keep_grid(path, job, measurement, grid, those) for grid, those in by_grid.items())
    return text or f"nothing is kept in {escaped(path)}: a run of the deck takes none of these kernels from a file\n"


def keep_grid(path, job, measurement, grid, entries):
    """Stores the first entry, from the fastest on, that a run accepts."""
    settings = {"parallel.process_grid": "[{},{},{}]".format(*grid)} if job.ranks > 1 else {}
    file = measurement.work / "kept.json"
    file.unlink(missing_ok=True)
    short_run(job, measurement, settings, file)
    found = read_tuning(file)
    for entry in entries if found and found["entries"] else []:
        method, newest = entry.run["method"], found["entries"][-1]
        newest["choice"].update({
            **{key: method[key] for key in ("kernel", "reduction", "graph", "overlap", "time_block", "halo_width")},
            "tile": method["tile"] or "-", "seconds": entry.median, "complete": True})
        file.write_text(json.dumps(found), encoding="utf-8")
        if short_run(job, measurement, settings, file)["tuning"]["source"] != "file":
            continue
        kept = read_tuning(path) or {**found, "entries": []}
        kept["entries"] = [each for each in kept["entries"] if each["key"] != newest["key"]] + [newest]
        write_text(path, json.dumps(kept, indent=1) + "\n")
        kernel = f"{method['kernel']} {method['tile'] or ''}".rstrip()
        return (f"kept in {escaped(path)}: kernel {kernel}, reduction {method['reduction']}, halo width {method['halo_width']}, for process "
                f"grid {extent_text(grid)}\n")
    return ""


def short_run(job, measurement, settings, file):
    """Runs the unchanged deck up to its first check and returns the method of this run."""
    entry = Entry("the deck", settings=settings)
    measurement.run([entry], [0], sweeps=job.base["interval"], check_interval=job.base["interval"], tuning_file=str(file))
    if not entry.run:
        raise Failure(entry.code, f"compare: --keep: {entry.note}")
    return entry.run["method"]


# The command line.

SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")


def parse(words):
    top = Parser(prog="isotherm compare", allow_abbrev=False,
                 description="Runs all legal combinations of the keys that a deck does not fix, checks that the bits agree, and ranks them.")
    top.add_argument("deck", nargs="?", help="the deck, a YAML file")
    top.add_argument("overrides", nargs="*", metavar="key.path=value", help="replaces any key of the deck")
    top.add_argument("--from", dest="source", metavar="FILE", help="instead of a deck: an .hdf file of a run, with its resolved deck")
    top.add_argument("--axes", default="", help=f"what varies: {','.join(axis.name for axis in AXES)} (default: those that the deck does "
                                                "not fix, within the limit, without tile and time_block)")
    top.add_argument("--ranks", type=number_from(1, 1000000), default=1, metavar="N", help="ranks of each run (default: 1)")
    top.add_argument("--launcher", default="mpirun -n {ranks}", help='starts the ranks (default: "mpirun -n {ranks}")')
    top.add_argument("--limit", type=number_from(1, 100000), default=200, metavar="N", help="the most combinations (default: 200)")
    top.add_argument("--sweeps", type=number_from(1, 1000000), default=0, metavar="N", help="sweeps per sample (default: by --seconds)")
    top.add_argument("--seconds", type=number_from(0.001, 3600, float), default=1.0, metavar="S",
                     help="time of all samples of a combination (default: 1)")
    top.add_argument("--json", default="", metavar="FILE", help="write all measurements to this file")
    top.add_argument("--keep", default="", metavar="FILE", help="keep the fastest kernels in this file, for solver.tuning_file")
    top.add_argument("--baseline", default="", metavar="FILE", help="the file of an earlier --json; exit code 76 if a figure of merit got worse")
    baseline.add_tolerance(top)
    options = top.parse_intermixed_args(words)
    if options.source and options.deck:  # argparse has read the first override as the deck
        options.overrides.insert(0, options.deck)
    if not options.source and not options.deck:
        top.error("deck is required")
    if problem := launcher_problem(options.launcher, options.ranks):
        top.error(f"--launcher: {problem}")
    if options.tolerance is not None and not options.baseline:
        top.error("--tolerance requires --baseline")
    return options


def check_not_launched(words):
    """Fails if mpirun, or srun with several tasks, has started this process. A shell in a Slurm job may be a step of one task."""
    ranks = next((int(os.environ[name]) for name in SIZES if os.environ.get(name, "").isdigit()), 0)
    of_mpi = any(map(os.environ.get, ("OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK")))
    if not is_launched() or (ranks == 1 and not of_mpi):
        return
    if launched_rank() > 0:
        time.sleep(2)  # rank 0 reports it, and the launcher then ends all ranks
        sys.exit(COMMAND_LINE)
    raise Failure(COMMAND_LINE, "isotherm: compare starts its ranks itself; write: isotherm compare --ranks "
                                f"{ranks or 'N'} {shell_words(words)}")


def main(words):
    options = parse(words)
    check_not_launched(words)
    named = parse_axes(options.axes)
    check_outputs([options.json], (options.deck, options.source, options.keep, options.baseline))
    earlier = baseline.Measured(options.baseline) if options.baseline else None
    for path in filter(None, (options.json, options.keep)):  # before hours of work: checks that the file can be created
        if file := file_to_replace(path):
            with failing(OSError, CANNOT_CREATE, lambda error, path=path: cannot_write(path, error)):
                tempfile.TemporaryFile(dir=file.parent).close()
    read_tuning(options.keep) if options.keep else None
    with failing(OSError, CANNOT_CREATE, lambda error: f"cannot make a folder here for the runs ({error.strerror}); start "
                 "isotherm compare where you may write"):
        work = Path(tempfile.mkdtemp(prefix="isotherm-compare-", dir="."))  # in the current folder, which all hosts of a job can access
    try:
        with failing(KeyboardInterrupt, STOPPED_BY_CTRL_C, lambda _: "stopped by Ctrl-C; nothing is kept of this comparison"):
            return compare(words, options, named, earlier, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def compare(words, options, named, earlier, work):
    starter, path = Program(), options.deck
    if options.source:  # the deck in that file
        path = str(work / "deck.yaml")
        Path(path).write_bytes(starter.output("info", options.source, "--deck"))
    deck = path, options.overrides, starter.positions(words, options.overrides)
    if "error" not in starter.ask(*deck, [{"sections": True}])[0]:
        raise Failure(DATA, f"{path}: the deck is of several cases, not of one run; isotherm study runs them, and compare a deck "
                            "without study and scaling")
    job = Job(starter, deck, options.ranks, named)
    plan = Plan(job, options.limit)
    measurement, entries = Measurement(job, options.launcher, work, options.sweeps, options.seconds), plan.entries
    if earlier:  # the devices of the ranks are not known before their first run
        if earlier.schema != "isotherm-compare":
            raise Failure(DATA, f"{in_quotes(earlier.path)} is no record of a comparison; name a file that isotherm compare --json has written")
        now = baseline.grid_text(job.base["cells"], job.base["measured"]["precision"], job.base["measured"]["method"], job.ranks)
        if not earlier.subject.startswith(f"{now} ("):
            baseline.check_subject(earlier, now)
    cells = job.base["plan"]["cells"]
    axes = " x ".join(axis.name for axis in plan.axes) or "the values of the deck"
    say(f"isotherm {job.listed['version']}, compare {escaped(job.path)} on {counted(job.ranks, 'rank')}\n"
        f"  {extent_text(cells)} = {grouped(math.prod(cells))} cells\n  {counted(len(entries), 'combination')} of {axes}\n")
    measured = job.base["measured"]
    if measured != {key: job.base[key] for key in measured}:
        say(f"  measures sweeps of {measured['method']} in {measured['precision']}; the deck has {job.base['method']} in "
            f"{job.base['precision']}\n")
    if plan.left:
        say(f"  not varied, as there would be too many combinations: {', '.join(axis.name for axis in plan.left)}; see --axes and --limit\n")
    reference = measurement.first_pass(entries)
    if not reference:
        raise Failure(entries[0].code, f"compare: no combination could be run; the first: {escaped(entries[0].note)}")
    measurement.second_pass(entries)
    rank(entries)
    near = sum(entry.within_noise for entry in entries)
    head = f"no single fastest ({counted(near, 'other')} within noise of the first); the first" if near else "the fastest"
    text = f"\n{table(plan, entries, reference)}\n{head}: {run_words(options, entries[0])}\n"
    verdict = None
    if earlier:
        baseline.check_subject(earlier, baseline.grid_subject(reference.run))
        verdict = baseline.Verdict(earlier, figures_of_merit(entries), options.tolerance)
    say(text + (verdict.text() if verdict else ""))
    if options.json:
        line = shell_words(["isotherm", "compare", *words])
        state.write_json(options.json, record(plan, measurement, entries, reference, verdict, line))
    if options.keep:
        say(keep(options.keep, job, measurement, entries))
    if wrong := sum(entry.verdict == "differs" for entry in entries):
        raise Failure(state.DIVERGED, f"compare: {wrong} of {counted(len(entries), 'combination')} have other bits than "
                                      f"'{reference.name}' (the table says where); do not use them, and report this")
    if verdict:
        verdict.raise_if_worse()
    return state.DONE


def run_words(options, entry):
    """The command line of a run of that combination. Its settings replace overrides of the same keys."""
    overrides = [each for each in options.overrides if each.split("=")[0] not in entry.settings]
    launcher = f"{options.launcher.replace('{ranks}', str(options.ranks))} " if options.ranks > 1 else ""
    return launcher + shell_words(["isotherm", "run", *(["--from", options.source] if options.source else [options.deck]),
                                   *overrides, *(f"{key}={word}" for key, word in entry.settings.items())])


def rank(entries):
    """Sorts: first entries with the same bits, the fastest first, then those that differ, then those left out."""
    entries.sort(key=lambda entry: (("same", "differs", "left_out").index(entry.verdict), entry.median))
    for entry in entries[1:]:
        entry.within_noise = entry.verdict == "same" and entry.range[0] <= entries[0].range[1]


def figures_of_merit(entries):
    return baseline.known(row for entry in entries if (f := entry.figures()) for row in (
        (f"{entry.name}: time_per_sweep", f.median, 1e3, "ms", "lower"),
        (f"{entry.name}: cell_updates", f.points, 1e-9, "GLUP/s", "higher"),
        (f"{entry.name}: copy_bandwidth_share", f.share, 1, "%", "higher")))


def table(plan, entries, reference):
    """Columns `low` to `high`: the range of the times of a sweep, without the lowest and the highest tenth."""
    timed = [entry.figures() for entry in entries]
    tiles = all(axis.name != "tile" for axis in plan.axes) and any(entry.run and entry.run["method"]["tile"] for entry in entries)
    halos = any(f and f.exposed is not None for f in timed)
    heads = ["rank", *(axis.name for axis in plan.axes), *(["tile"] if tiles else []), "time", "low", "high", "GPts/s", "of copy",
             *(["halo exposed"] if halos else []), "bits"]
    words = len(plan.axes) + tiles
    rows = [heads]
    for place, (entry, f) in enumerate(zip(entries, timed), 1):
        row = [str(place) if f else "-", *entry.settings.values()]
        row += [(entry.run and entry.run["method"]["tile"]) or "-"] if tiles else []
        row += [*map(human_duration, (f.median, f.low, f.high)), f"{f.points / 1e9:.3f}",
                f"{f.share:.1f} %" if f.share else "-"] if f else ["-"] * 5
        row += [human_duration(f.exposed) if f and f.exposed is not None else "-"] if halos else []
        bits = f"{'DIFFER' if entry.verdict == 'differs' else 'left out'}: {escaped(entry.note)}" if not f else (
            "same" + (" (the reference)" if entry is reference else "")
            + (", within noise of the first" if entry.within_noise else ""))
        rows.append([*row, bits])
    return aligned("r" + "l" * words + "r" * (len(heads) - words - 2) + "l", rows, 2)


def entry_record(entry):
    run, f = entry.run or {}, entry.figures()
    method = run and {**{key: run["method"][key] for key in (
        "kernel", "tile", "reduction", "transport", "halo_width", "time_block", "overlap", "graph")},
        "process_grid": run["decomposition"]["process_grid"]}
    return {
        "name": entry.name, "settings": entry.settings,
        "verdict": entry.verdict, "within_noise": entry.within_noise, "note": entry.note or None, "method": method or None,
        "sweep_s": f and {"median": f.median, "min": min(entry.samples), "max": max(entry.samples), "p10": f.low, "p90": f.high},
        "points_per_s": f and f.points, "effective_bandwidth_bytes_per_s": f and f.bandwidth, "copy_bandwidth_bytes_per_s": f and f.copy,
        "copy_bandwidth_share_percent": f and f.share, "halo_exchange_s": f and f.exchange, "halo_exposed_s": f and f.exposed,
        "fingerprint": run.get("fingerprint"), "norm_K": run["residual"]["last_K"] if run else None,
        "samples": {"sweep_s": entry.samples if f else []}}


def record(plan, measurement, entries, reference, verdict, command_line):
    job, run = plan.job, reference.run
    same = all(entry.verdict != "differs" for entry in entries) and not (verdict and verdict.worse)
    return {
        "schema": "isotherm-compare", "schema_version": 2, "result": "PASS" if same else "FAIL",
        "provenance": {**run["provenance"], "command_line": command_line}, "deck": {"path": job.path, "resolved": job.base["deck"]},
        "grid": run["grid"], "ranks": run["ranks"], "axes": [{"name": axis.name, "key": axis.key} for axis in plan.axes],
        "left_to_the_deck": [axis.name for axis in plan.left], "reference": reference.name, "sweeps_per_sample": measurement.size,
        "measured": job.base["measured"], "check_interval": job.base["check_interval"], "norm": run["residual"]["norm"],
        "entries": [entry_record(entry) for entry in entries],
        "figures_of_merit": {name: figure._asdict() for name, figure in figures_of_merit(entries).items()},
        "baseline": verdict and verdict.record(), "warnings": list(dict.fromkeys([*job.base["warnings"], *run["warnings"]]))}
