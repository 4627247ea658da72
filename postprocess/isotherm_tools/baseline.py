"""isotherm baseline EARLIER.json LATER.json: reports figures of merit that got worse. Compares two runs, two comparisons or two
benchmarks, for sites that run the same deck after every change of their machine or of the program."""

import re
from pathlib import Path
from typing import NamedTuple

from isotherm_tools.program import DATA, DIVERGED, KERNELS, Failure, Parser, failing, number_from, read_record, say
from isotherm_tools.text import aligned, counted, escaped, extent_text, in_quotes

SCHEMAS = ("isotherm-run", "isotherm-compare", "isotherm-bench")
HINT = "name the run.json of a finished run, or a file that isotherm compare --json or isotherm bench --json has written"
# Places of the figures in early records of runs, which have no list of figures.
PLACES = [("cell_updates", "performance", "points_per_s", 1e-9, "GLUP/s", "higher"),
          ("effective_bandwidth", "performance", "effective_bandwidth_bytes_per_s", 1e-9, "GB/s", "higher"),
          ("copy_bandwidth_share", "performance", "copy_bandwidth_share_percent", 1, "%", "higher"),
          ("time_per_step", "performance", "step_s", 1e3, "ms", "lower"),
          ("halo_fraction", "performance", "halo_fraction_percent", 1, "%", "lower"),
          ("halo_hidden", "halo", "hidden_percent", 1, "%", "higher"),
          ("write_bandwidth", "snapshots", "bandwidth_bytes_per_s", 1e-9, "GB/s", "higher"),
          ("write_hidden", "snapshots", "hidden_percent", 1, "%", "higher")]
# Words in the names of figures of early comparisons, old to new.
WORDS = {"policy": "tile", "depth": "halo_width", "graph": "cuda_graph", "overlap=in_sweep": "overlap=in_kernel",
         **{f"kernel={old}": f"kernel={new}" for old, new in KERNELS.items()}}
RIGHT = (0, 10, 75)  # exit codes of runs whose answer is right


class Figure(NamedTuple):
    value: float
    unit: str
    better: str  # "lower" or "higher"

    def text(self, value):
        return f"{value:{'.1f' if self.unit == '%' else '#.3g' if 0 < abs(value) < 0.1 else '.3f'}} {self.unit}"

    def worsening(self, before):
        """Change in percent of `before`, or in percentage points of a share; negative if this figure is better."""
        more = self.value - before
        change = more if self.unit == "%" or more == 0 else 100 * more / abs(before) if before else float("inf") * more
        return change if self.better == "lower" else -change


class Measured:
    """The figures of a file: `subject`, as text; `parts`, which must be the same in two files that have them; `figures` by name."""

    def __init__(self, path):
        path = Path(path) / "run.json" if Path(path).is_dir() else Path(path)
        self.path = str(path)
        content = read_record(path, SCHEMAS, "baseline", HINT)
        with failing((KeyError, TypeError, ValueError, AttributeError), DATA,
                     lambda error: f"{in_quotes(path)} is no baseline (it lacks {error}); {HINT}"):
            self.schema = content["schema"]
            of_bench = self.schema == "isotherm-bench"
            self.subject, self.parts = bench_subject(content) if of_bench else (grid_subject(content), {})
            self.figures = known(bench_rows(content["entries"])) if of_bench else figures_of(content)
        if not self.figures:
            raise Failure(DATA, f"{in_quotes(path)} is no baseline (it has no figures of merit); {HINT}")


def grid_subject(content):
    """"256 x 256 x 256 fp64 by euler on 2 ranks (Some CPU with 4 threads)". Early records do not name their method; threads of the host
    do not make a GPU faster."""
    method = (content.get("method") or {}).get("name") or (content.get("measured") or {}).get("method") or (
        "jacobi" if "kind: steady" in content["deck"]["resolved"] else "euler")
    devices = {rank["device"] + (f" with {counted(rank['threads'], 'thread')}" if rank["backend"] == "cpu" else "")
               for rank in content["ranks"]}
    return (grid_text(content["grid"]["cells"], content["grid"]["precision"], method, len(content["ranks"]))
            + f" ({escaped(', '.join(sorted(devices)))})")


def grid_text(cells, precision, method, ranks):
    return f"{extent_text(cells)} {precision} by {escaped(method)} on {counted(ranks, 'rank')}"


def bench_subject(content):
    """"bench stencil with boundaries, norm l2 on 1 rank (Some CPU with 1 thread)", and its parts. Early records have no threads, and no
    contents of decks, which are then known by their paths."""
    options, device = content["options"], content["device"]
    threads, deck = (device.get("threads") or "").partition(" (")[0], options.get("deck") or ""
    given = [flag for flag in ("boundaries", "source", "overlap") if options[flag] is True]
    given += [f"{word} {escaped(options[word])}" for word in ("norm", "op", "formula", "deck") if options.get(word)]
    text = (f"bench {content['subject']}{' with ' + ', '.join(given) if given else ''} on {counted(content['ranks'], 'rank')} "
            f"({escaped(device['name'])}{f' with {escaped(threads)}' if threads else ''})")
    return text, {"subject": [content["subject"], given[:-1] if deck else given, content["ranks"], device["name"]],
                  "threads": threads or None, "contents": options.get("deck_contents"), "deck": deck}


def figures_of(content):
    figures = {re.sub(rf"\b({'|'.join(WORDS)})\b", lambda found: WORDS[found[0]], name): Figure(each["value"], each["unit"], each["better"])
               for name, each in content["figures_of_merit"].items()}
    if figures or content["schema"] != "isotherm-run" or content["exit_code"] not in RIGHT:
        return figures
    return known((name, (content.get(section) or {}).get(key), *rest) for name, section, key, *rest in PLACES)


def known(rows):
    """Figures by name, of rows of name, value, factor to the unit, unit, and "lower" or "higher"; without those that have no value."""
    return {name: Figure(factor * value, unit, better) for name, value, factor, unit, better in rows if value is not None}


def bench_rows(entries):
    """A rate, a time or a share for each right entry, by a name that identifies the entry: "openmp 4planes fp64 256 x 256 x 256"."""
    for entry in entries:
        grid = f"{entry['precision']} {extent_text(entry['cells'])}"
        if entry.get("verdict", "right") != "right":
            continue
        if "way" in entry:
            yield f"{entry['way']} {grid}", entry["bandwidth_bytes_per_s"], 1e-9, "GB/s", "higher"
            yield f"{entry['way']} {grid}, of raw", entry["raw_share_percent"], 1, "%", "higher"
        elif "transport" in entry:
            name = f"{entry['transport']} {entry['face']} {counted(entry['ghosts'], 'layer')} {grid}"
            yield name, (entry["exchange_s"] or {}).get("median"), 1e6, "us", "lower"
            yield f"{name}, latency", entry["latency_s"], 1e6, "us", "lower"
        elif "method" in entry:
            yield f"{entry['method']} {grid}", entry["solve_s"]["median"], 1e3, "ms", "lower"
        else:
            tile, time_block, points = entry["tile"], entry["time_block"], entry["points_per_s"]
            name = f"{entry['kernel']}{'' if tile == '-' else ' ' + tile}{f' time block {time_block}' if time_block > 1 else ''} {grid}"
            yield name, points or entry["bandwidth_bytes_per_s"], 1e-9, "GPts/s" if points else "GB/s", "higher"
            yield f"{name}, of a copy", entry["copy_bandwidth_share_percent"], 1, "%", "higher"


class Verdict:
    def __init__(self, earlier, figures, tolerance):
        self.earlier, self.tolerance = earlier, 5.0 if tolerance is None else tolerance
        self.changes = {name: (before.value, figures[name], figures[name].worsening(before.value))
                        for name, before in earlier.figures.items() if name in figures and figures[name].unit == before.unit}
        self.gone = [name for name in earlier.figures if name not in self.changes]
        self.words = {name: "worse" if change > self.tolerance else "better" if change < -self.tolerance else "same"
                      for name, (_, _, change) in self.changes.items()}
        self.worse, self.better, self.within = (list(self.words.values()).count(word) for word in ("worse", "better", "same"))

    def text(self):
        """A table of the figures that got worse or better, and a line with the numbers of all."""
        rows = [["figure of merit", "before", "now", "change"]]
        for name, (before, now, change) in self.changes.items():
            if (word := self.words[name]) != "same":
                rows.append([name, now.text(before), now.text(now.value),
                             f"{abs(change):.1f} {'points' if now.unit == '%' else '%'} {word}"])
        gone = f"; {counted(len(self.gone), 'figure')} of the baseline not measured now" if self.gone else ""
        return (aligned("lrrr", rows, 2) if len(rows) > 1 else "") + (
            f"against {escaped(self.earlier.path)}: {self.worse} of {counted(len(self.changes), 'figure')} worse by more than "
            f"{self.tolerance:g} %, {self.better} better, {self.within} within it{gone}\n")

    def raise_if_worse(self):
        where = in_quotes(self.earlier.path)
        if not self.changes:
            raise Failure(DATA, f"{where} has no figure of merit in common with this (it is of other combinations, kernels or sizes, or of "
                                "another subcommand); name a baseline of the same deck and options")
        if self.worse:
            raise Failure(DIVERGED, f"{self.worse} of {counted(len(self.changes), 'figure')} of merit got worse than in {where} by more "
                                    f"than {self.tolerance:g} %; look at the table for which, or allow more with --tolerance")

    def record(self):
        return {"file": self.earlier.path, "tolerance_percent": self.tolerance, "worse": self.worse, "gone": self.gone, "figures": [
            {"name": name, "unit": now.unit, "before": before, "now": now.value, "worse_percent": change, "verdict": self.words[name]}
            for name, (before, now, change) in self.changes.items()]}


def check_subject(earlier, subject, parts=None):
    shared = {name for name, part in (parts or {}).items() if None not in (part, earlier.parts.get(name))}
    shared -= {"deck"} if "contents" in shared else set()
    if any(parts[name] != earlier.parts[name] for name in shared) if shared else earlier.subject != subject:
        raise Failure(DATA, f"{in_quotes(earlier.path)} is of {earlier.subject}, and this is {subject} (their figures cannot be "
                            "compared); name a baseline of this subject, method, grid, precision, ranks, threads and device")


def add_tolerance(parser):
    parser.add_argument("--tolerance", type=number_from(0, 1000, float), metavar="P",
                        help="percent, or percentage points of a share, that a figure may get worse (default: 5)")


def main(words):
    top = Parser(prog="isotherm baseline", allow_abbrev=False,
                 description="Compares the figures of merit of two files: run.json, isotherm compare --json or isotherm bench --json. "
                             "Exit code 76 where one got worse.")
    top.add_argument("earlier", metavar="EARLIER.json")
    top.add_argument("later", metavar="LATER.json")
    add_tolerance(top)
    options = top.parse_args(words)
    earlier, later = Measured(options.earlier), Measured(options.later)
    check_subject(earlier, later.subject, later.parts)
    verdict = Verdict(earlier, later.figures, options.tolerance)
    say(verdict.text(), needed=True)
    verdict.raise_if_worse()
    return 0
