"""isotherm compare: the command line, and what a comparison has found: ranks, table and JSON."""

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from isotherm_tools import baseline, program
from isotherm_tools.baseline import Figure
from isotherm_tools.compare.axes import AXES, Job, Plan, parse_axes
from isotherm_tools.compare.measure import Entry, Measurement, keep, read_tuning
from isotherm_tools.failure import CANNOT_CREATE, COMMAND_LINE, DATA, STOPPED_BY_CTRL_C, Failure
from isotherm_tools.program import Parser, number_from, positions
from isotherm_tools.study import state
from isotherm_tools.text import Table, counted, escaped, extent_text, grouped, human_duration, in_quotes, shell_word

SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")


def parse(words):
    top = Parser(prog="isotherm compare", allow_abbrev=False,
                 description="Runs all legal combinations of what a deck leaves open, checks that they have the same bits, and ranks them.")
    top.add_argument("deck", nargs="?", help="the deck, a YAML file")
    top.add_argument("overrides", nargs="*", metavar="key.path=value", help="replaces any key of the deck")
    top.add_argument("--from", dest="source", metavar="FILE", help="instead: a file that a run wrote, .hdf, with its resolved deck in it")
    top.add_argument("--axes", default="", help=f"what varies: {','.join(axis.name for axis in AXES)} (default: those that the deck leaves "
                                                "open, but tile, within the limit)")
    top.add_argument("--ranks", type=number_from(1, 1000000), default=1, metavar="N", help="ranks of each run (default: 1)")
    top.add_argument("--launcher", default="mpirun -n {ranks}", help='starts the ranks (default: "mpirun -n {ranks}")')
    top.add_argument("--limit", type=number_from(1, 100000), default=200, metavar="N", help="the most combinations (default: 200)")
    top.add_argument("--sweeps", type=number_from(1, 1000000), default=0, metavar="N", help="sweeps of a sample (default: by --seconds)")
    top.add_argument("--seconds", type=number_from(0.001, 3600, float), default=1.0, metavar="S",
                     help="time of samples, a combination (default: 1)")
    top.add_argument("--json", default="", metavar="FILE", help="write everything measured to this file")
    top.add_argument("--keep", default="", metavar="FILE", help="keep the fastest kernels in this file, for solver.tuning_file")
    top.add_argument("--baseline", default="", metavar="FILE", help="an earlier --json; exit code 76 where a figure of merit got worse")
    baseline.add_tolerance(top)
    options = top.parse_intermixed_args(words)
    if options.source and options.deck:  # which is the first override
        options.overrides.insert(0, options.deck)
    if not options.source and not options.deck:
        top.error("deck is required")
    if options.tolerance is not None and not options.baseline:
        top.error("--tolerance requires --baseline")
    return options


def check_not_launched(words):
    """mpirun, or srun with several tasks, has started this process. A shell in a job of Slurm may be a step of one task."""
    ranks = next((int(os.environ[name]) for name in SIZES if os.environ.get(name, "").isdigit()), 0)
    if not program.is_launched() or (ranks == 1 and not any(map(os.environ.get, ("OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK")))):
        return
    if program.launched_rank() > 0:
        time.sleep(2)  # another says it, and a launcher ends all with the first
        sys.exit(COMMAND_LINE)
    raise Failure(COMMAND_LINE, "isotherm: compare starts its ranks itself; write: "
                                f"isotherm compare --ranks {ranks or 'N'} {' '.join(map(shell_word, words))}")


def check_writable(path):
    """Before hours of work: can the file be made?"""
    part = Path(path + ".part")
    try:
        with open(part, "ab"):
            pass
        if part.stat().st_size == 0:
            part.unlink()
    except OSError as error:
        raise Failure(CANNOT_CREATE, f"cannot write {in_quotes(path)} ({error.strerror}); check the folder and its free space") from error


@contextmanager
def work_folder():
    """Here, where all hosts of a job see it."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="isotherm-compare-", dir="."))
    except OSError as error:
        raise Failure(CANNOT_CREATE, f"cannot make a folder here for the runs ({error.strerror}); start isotherm compare where you may "
                                     "write") from error
    try:
        yield folder
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)


def main(words):
    options = parse(words)
    check_not_launched(words)
    named = parse_axes(options.axes)
    earlier = baseline.Measured(options.baseline) if options.baseline else None
    read_tuning(options.keep) if options.keep else None
    for path in filter(None, (options.json, options.keep)):
        check_writable(path)
    with work_folder() as work:
        try:
            return Comparison(words, options, named, work).run(earlier)
        except KeyboardInterrupt as stop:
            raise Failure(STOPPED_BY_CTRL_C, "stopped by Ctrl-C; nothing is kept of this comparison") from stop


class Comparison:
    def __init__(self, words, options, named, work):
        self.words, self.options = words, options
        starter = program.Program()
        path = deck_within(starter, options.source, work) if options.source else options.deck
        arguments = positions(words, options.overrides, 2 if starter.is_parent else 1)
        if "error" not in starter.ask(path, options.overrides, arguments, [{"sections": True}])[0]:
            raise Failure(DATA, f"{path}: the deck is of several cases, not of one run; isotherm study runs them, and compare a deck "
                                "without study and scaling")
        self.job = Job(starter, path, options.overrides, arguments, options.ranks, named)
        self.plan = Plan(self.job, options.limit)
        self.measurement = Measurement(self.job, options.launcher, work, options.sweeps, options.seconds)

    def run(self, earlier):
        options, plan, measurement = self.options, self.plan, self.measurement
        entries = [Entry(each.name(plan.axes), each) for each in plan.combinations]
        if earlier:
            self.check_comparison(earlier)
        program.say(banner(self.job, plan))
        reference = measurement.first_pass(entries)
        if not reference:
            raise Failure(entries[0].code,
                          f"compare: no combination could be run; the first: {escaped(entries[0].note)}")
        measurement.second_pass(entries)
        rank(entries)
        near = sum(entry.within_noise for entry in entries)
        many = f"no single fastest ({counted(near, 'other')} within noise of the first); the first"
        head = many if near else "the fastest"
        text = f"\n{table(plan, entries, reference)}\n{head}: {self.run_words(entries[0])}\n"
        verdict = None
        if earlier:
            baseline.check_subject(earlier, baseline.grid_subject(reference.run))
            verdict = baseline.Verdict(earlier, figures_of_merit(entries),
                                       5.0 if options.tolerance is None else options.tolerance)
        program.say(text + (verdict.text() if verdict else ""))
        if options.json:
            line = " ".join(map(shell_word, ["isotherm", "compare", *self.words]))
            state.write_json(Path(options.json), record(plan, measurement, entries, reference, verdict, line))
        if options.keep:
            program.say(keep(options.keep, self.job, measurement, entries))
        wrong = sum(entry.verdict == "differs" for entry in entries)
        if wrong:
            raise Failure(state.DIVERGED, f"compare: {wrong} of {counted(len(entries), 'combination')} have other bits than "
                                          f"'{reference.name}' (the table says where); do not use them, and report this")
        if verdict:
            verdict.raise_if_worse()
        return state.DONE

    def run_words(self, entry):
        """What to type for a run of that combination. Overrides of its own keys make way."""
        options, settings = self.options, entry.combination.settings
        overrides = [each for each in options.overrides if each.split("=")[0] not in settings]
        words = ["isotherm", "run", *(["--from", options.source] if options.source else [options.deck]), *overrides]
        launcher = f"{options.launcher.replace('{ranks}', str(options.ranks))} " if options.ranks > 1 else ""
        return launcher + " ".join(map(shell_word, words + [f"{key}={word}" for key, word in settings.items()]))

    def check_comparison(self, earlier):
        """Of another kind, grid, precision or number of ranks; of which devices the ranks have, their first run tells."""
        if earlier.schema != "isotherm-compare":
            raise Failure(DATA, f"{in_quotes(earlier.path)} is of no comparison; name what isotherm compare --json has written")
        base = self.job.base
        now = f"{extent_text(base['cells'])} {base['precision']} on {counted(self.job.ranks, 'rank')}"
        if not earlier.subject.startswith(f"{now} ("):
            baseline.check_subject(earlier, now)


def deck_within(starter, source, work):
    """A file with the deck inside another."""
    done = subprocess.run([starter.path, "info", source, "--deck"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Failure(done.returncode, done.stderr.decode(errors="replace").strip())
    path = work / "deck.yaml"
    path.write_bytes(done.stdout)
    return str(path)


VERSION = 2
METHOD = ("kernel", "tile", "reduction", "transport", "halo_width", "time_block", "overlap", "graph")
PLACES = {"same": 0, "differs": 1, "left_out": 2}


class Figures:
    """What the samples of an entry come to."""

    def __init__(self, entry):
        self.low, self.high = entry.range
        self.median, self.least, self.most = entry.median, min(entry.samples), max(entry.samples)
        self.points = math.prod(entry.run["grid"]["cells"]) / self.median  # a second
        self.bandwidth = self.points * entry.run["performance"]["bytes_per_point"]
        self.copy = entry.run["performance"]["copy_bandwidth_bytes_per_s"]
        self.share = 100 * self.bandwidth / self.copy if self.copy else None
        halo, halo_width = entry.run["halo"], entry.run["method"]["halo_width"]
        self.exchange, self.exposed = (halo[key] and halo[key] / halo_width for key in ("exchange_s", "exposed_s"))


def rank(entries):
    """The fastest with the same bits first, then those that differ, then those that were left out."""
    entries.sort(key=lambda entry: (PLACES[entry.verdict], entry.median))
    for entry in entries[1:]:
        entry.within_noise = entry.verdict == "same" and entry.range[0] <= entries[0].range[1]


def figures_of_merit(entries):
    figures = {}
    for entry in entries:
        if entry.verdict != "same":
            continue
        f = Figures(entry)
        figures[f"{entry.name}: time_per_sweep"] = Figure(1e3 * f.median, "ms", "lower")
        figures[f"{entry.name}: cell_updates"] = Figure(f.points / 1e9, "GLUP/s", "higher")
        if f.share is not None:
            figures[f"{entry.name}: copy_bandwidth_share"] = Figure(f.share, "%", "higher")
    return figures


def banner(job, plan):
    cells, program = job.base["plan"]["cells"], job.listed["version"]
    text = (f"isotherm {program}, compare {escaped(job.path)} on {counted(job.ranks, 'rank')}\n"
            f"  {extent_text(cells)} = {grouped(math.prod(cells))} cells\n"
            f"  {counted(len(plan.combinations), 'combination')} of "
            f"{' x '.join(axis.name for axis in plan.axes) or 'what the deck names'}\n")
    if plan.left:
        text += f"  left to the deck, as they would be too many: {', '.join(axis.name for axis in plan.left)}; see --axes and --limit\n"
    return text


def bits_text(entry, reference):
    if entry.verdict == "same":
        remark = " (the others' reference)" if entry is reference else ""
        return f"same{remark}{', within noise of the first' if entry.within_noise else ''}"
    return f"{'DIFFER' if entry.verdict == 'differs' else 'left out'}: {escaped(entry.note)}"


def table(plan, entries, reference):
    """`low` to `high`: the range of a sweep's times, without the lowest and the highest tenth."""
    timed = {entry.name: Figures(entry) for entry in entries if entry.verdict == "same"}
    tiles = all(axis.name != "tile" for axis in plan.axes) and any(entry.run and entry.run["method"]["tile"] for entry in entries)
    halos = any(f.exposed is not None for f in timed.values())
    heads = ["rank", *(axis.name for axis in plan.axes), *(["tile"] if tiles else []), "time", "low", "high", "GPts/s", "of copy",
             *(["halo exposed"] if halos else []), "bits"]
    words = len(plan.axes) + tiles
    rows = [heads]
    for place, entry in enumerate(entries, 1):
        f = timed.get(entry.name)
        row = [str(place) if f else "-", *entry.combination.words]
        row += [(entry.run and entry.run["method"]["tile"]) or "-"] if tiles else []
        row += ["-"] * 5 if f is None else [*map(human_duration, (f.median, f.low, f.high)), f"{f.points / 1e9:.3f}",
                                            f"{f.share:.1f} %" if f.share else "-"]
        row += ["-" if f is None or f.exposed is None else human_duration(f.exposed)] if halos else []
        rows.append([*row, bits_text(entry, reference)])
    return Table("r" + "l" * words + "r" * (len(heads) - words - 2) + "l", rows).text(2)


def entry_record(plan, entry):
    run = entry.run or {}
    method = run and {**{key: run["method"][key] for key in METHOD}, "process_grid": run["decomposition"]["process_grid"]}
    f = Figures(entry) if entry.verdict == "same" else None
    return {
        "name": entry.name, "settings": {axis.key: word for axis, word in zip(plan.axes, entry.combination.words)},
        "verdict": entry.verdict, "within_noise": entry.within_noise, "note": entry.note or None, "method": method or None,
        "sweep_s": f and {"median": f.median, "min": f.least, "max": f.most, "p10": f.low, "p90": f.high},
        "points_per_s": f and f.points, "effective_bandwidth_bytes_per_s": f and f.bandwidth, "copy_bandwidth_bytes_per_s": f and f.copy,
        "copy_bandwidth_share_percent": f and f.share, "halo_exchange_s": f and f.exchange, "halo_exposed_s": f and f.exposed,
        "fingerprint": run.get("fingerprint"), "norm_K": run["residual"]["last_K"] if run else None,
        "samples": {"sweep_s": entry.samples if f else []}}


def record(plan, measurement, entries, reference, verdict, command_line):
    job, run = plan.job, reference.run
    same = all(entry.verdict != "differs" for entry in entries) and not (verdict and verdict.worse)
    return {
        "schema": "isotherm-compare", "schema_version": VERSION, "result": "PASS" if same else "FAIL",
        "provenance": {**run["provenance"], "command_line": command_line}, "deck": {"path": job.path, "resolved": job.base["deck"]},
        "grid": run["grid"], "ranks": run["ranks"], "axes": [{"name": axis.name, "key": axis.key} for axis in plan.axes],
        "left_to_the_deck": [axis.name for axis in plan.left], "reference": reference.name, "sweeps_per_sample": measurement.size,
        "check_interval": job.base["check_interval"], "norm": run["residual"]["norm"],
        "entries": [entry_record(plan, entry) for entry in entries],
        "figures_of_merit": {name: figure._asdict() for name, figure in figures_of_merit(entries).items()},
        "baseline": verdict and verdict.record(), "warnings": list(dict.fromkeys([*job.base["warnings"], *run["warnings"]]))}
