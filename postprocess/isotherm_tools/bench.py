"""What `isotherm bench --json` measured: ladders of rows, one for each grid and precision; as bars beside the roof that
was measured at the same moment, as a roofline, and over the sweeps that a launch fuses."""

import math
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np
from matplotlib import pyplot
from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter

from isotherm_tools import figures
from isotherm_tools.failure import DATA, Failure
from isotherm_tools.json_record import read_record
from isotherm_tools.program import add_verb

COLOURS = {"fp32": "#3a6ea5", "fp64": "#b5367a"}
COLUMNS = 2
MARKERS = "osD^vP*X<>h"  # a row each
FILLS = ("full", "none", "left", "top")  # a grid each
LINES = ("-", "--", ":", "-.")  # a grid each
FLOPS_A_POINT = 8  # the usual count of a 7-point stencil, whatever the instructions are
ENTRIES_A_COLUMN = 24  # of the legend, at the figure's height


def add(verbs):
    for name, make, text in (
            ("ladder", ladder_figure, "draw the rows of a benchmark as bars, under their roof"),
            ("roofline", roofline_figure, "draw stencil rows over their arithmetic intensity, under their roof"),
            ("depths", depth_figure,
             "draw points a second against the sweeps that a launch fuses, with the roofs of memory")):
        verb = add_verb(verbs, name, draw_bench, text, f"Reads what a benchmark measured, to {text}.", None)
        verb.set_defaults(figure=name, make=make)
        verb.add_argument("bench", metavar="BENCH.json", help="written by isotherm bench ... --json")
        verb.add_argument("--best", action="store_true", help="of each row only the fastest policy")
        verb.add_argument("--out", metavar="FILE", help="png, pdf or svg by its ending (default: beside the JSON)")


def draw_bench(options):
    record = BenchRecord(options.bench)
    if options.best:
        record.keep_best_policies()
    path = options.out or record.path.with_name(f"{record.path.stem}_{options.figure}.png")
    figures.check_format(path)
    if options.figure != "ladder" and record.subject != "stencil":
        what = "a roofline is" if options.figure == "roofline" else "depths are"
        raise Failure(DATA, f"{record.path} holds bench {record.subject}; {what} drawn of bench stencil")
    if options.figure == "depths" and all(rung.depth == 1 for rung in record.rungs):
        raise Failure(DATA, f"{record.path} holds no fused sweeps; measure a row that fuses them, as fused or temporal_openmp")
    figures.draw(path, options.make, record)
    return path


class Rung(NamedTuple):
    """One row that was measured. Rates and bandwidths are a second's."""

    label: str
    row: str
    depth: int
    points: Optional[float]  # cell updates of a launch; None where nothing is updated
    moved: float  # bytes of a launch, least traffic
    launch: float  # s, median; of a difference it may be nothing, or less, where it drowns in noise
    launch_low: float  # s, p10
    launch_high: float  # s, p90
    copy: Optional[float]  # bytes, measured beside it
    read: Optional[float]
    speedup: Optional[float]
    difference: bool  # launch is what one thing takes longer than another


class Ladder(NamedTuple):
    cells: tuple  # x, y, z
    precision: str
    rungs: list

    @property
    def title(self):
        return f"{' x '.join(map(str, self.cells))}, {self.precision}"

    def of_best_policies(self):
        """With the fastest policy of each row and depth, in the place of its first."""
        best = {}
        for rung in self.rungs:
            kept = best.setdefault((rung.row, rung.depth), rung)
            if rung.launch < kept.launch:
                best[rung.row, rung.depth] = rung
        return self._replace(rungs=list(best.values()))


class BenchRecord:
    def __init__(self, path):
        self.path = Path(path)
        content = read_record(self.path, "isotherm-bench", "benchmark", "write it with isotherm bench ... --json FILE")
        found = {}  # in the order of the file; rows that were skipped or wrong have no rung
        try:
            self.subject, self.device = content["subject"], content["device"]["name"]
            for entry in content["entries"]:
                if entry["verdict"] == "right" and entry["launch_s"] is not None:
                    found.setdefault((tuple(entry["cells"]), entry["precision"]), []).append(rung_of(entry))
        except (KeyError, TypeError, ValueError) as error:
            raise Failure(DATA, f"{path} is no benchmark of isotherm ({error!r})") from error
        self.ladders = [Ladder(*key, rungs) for key, rungs in found.items()]
        if not found:
            raise Failure(DATA, f"{path} holds no row that was measured and right")

    @property
    def rungs(self):
        return [rung for ladder in self.ladders for rung in ladder.rungs]

    def keep_best_policies(self):
        self.ladders = [ladder.of_best_policies() for ladder in self.ladders]


def rung_of(entry):
    """Its label is the row, and what tells its ways to launch apart."""
    parts = [entry["row"], *([entry["policy"]] if entry["policy"] != "-" else []),
             *([f"depth {entry['depth']}"] if entry["depth"] > 1 else [])]
    copy, read = (spread and float(spread["median"])
                  for spread in (entry["copy_bandwidth_bytes_per_s"], entry["read_bandwidth_bytes_per_s"]))
    return Rung(", ".join(parts), entry["row"], int(entry["depth"]), entry["points_per_launch"],
                float(entry["bytes_per_launch"]),
                *(float(entry["launch_s"][key]) for key in ("median", "p10", "p90")), copy, read, entry["speedup"],
                entry.get("base_s") is not None)


def rate(rung, subject, seconds=None):
    """GPts/s of sweeps, GB/s of what only reads or moves; of a difference that is not above its noise, None."""
    seconds = rung.launch if seconds is None else seconds
    return work(rung, subject) / seconds if seconds > 0 else None


def work(rung, subject):
    """Of a launch, 1e9 of it a unit: points of sweeps, bytes of what only reads or moves."""
    return (rung.points if subject == "stencil" else rung.moved) / 1e9


def roof(rung, subject, which):
    return work(rung, subject) * getattr(rung, which) / rung.moved


def ladder_figure(record):
    columns = min(COLUMNS, len(record.ladders))
    rows = math.ceil(len(record.ladders) / columns)
    most = max(len(ladder.rungs) for ladder in record.ladders)
    figure, panels = pyplot.subplots(rows, columns, squeeze=False, figsize=(6 * columns, rows * (1.2 + 0.38 * most)),
                                     layout="constrained")
    figure.suptitle(f"bench {record.subject} on {record.device}")
    for panel in panels.flat[len(record.ladders):]:
        panel.axis("off")
    for panel, ladder in zip(panels.flat, record.ladders):
        draw_ladder(panel, ladder, record.subject)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    if handles:  # one legend for all panels, which have the same roofs, in a strip below them
        strip = 0.3 / figure.get_figheight()  # inches
        figure.get_layout_engine().set(rect=(0, strip, 1, 1 - strip))
        figure.legend(handles, labels, loc="lower center", ncols=len(handles), fontsize=8, frameon=False)
    return figure


def draw_ladder(panel, ladder, subject):
    places = range(len(ladder.rungs))
    end = end_of_axis(ladder, subject)
    rates = [rate(rung, subject) or 0 for rung in ladder.rungs]
    spreads = [spread(rung, subject, end) for rung in ladder.rungs]
    panel.barh(places, rates, color=COLOURS[ladder.precision], xerr=list(zip(*spreads)), ecolor="0.4", height=0.7)
    for which, colour in (("copy", "black"), ("read", "0.5")) if subject == "reduction" else (("copy", "black"),):
        # A tick across each bar: what a row would reach that moves its least bytes at that bandwidth.
        known = [(place, rung) for place, rung in enumerate(ladder.rungs) if getattr(rung, which)]
        if known:
            panel.vlines([roof(rung, subject, which) for _, rung in known], [place - 0.45 for place, _ in known],
                         [place + 0.45 for place, _ in known], color=colour, linewidth=2,
                         label=f"{which} bandwidth beside it")
    for place, rung in zip(places, ladder.rungs):
        panel.annotate(figure_text(rung, subject, end), (1.01, place), xycoords=("axes fraction", "data"), va="center",
                       fontsize=8)
    panel.set_yticks(places, [rung.label for rung in ladder.rungs])
    panel.invert_yaxis()  # the lowest rung, the first of the table, stands at the top as in the table
    panel.set(xlim=(0, end), xlabel="GPts/s" if subject == "stencil" else "GB/s of least traffic")
    panel.set_title(ladder.title, loc="left")


def end_of_axis(ladder, subject):
    """Chosen by matplotlib; with a difference by the other rungs and the roofs, for its rate knows no bounds."""
    plain = [rung for rung in ladder.rungs if not rung.difference]
    if len(plain) == len(ladder.rungs):
        return None
    roofs = [roof(rung, subject, which) for rung in ladder.rungs for which in ("copy", "read") if getattr(rung, which)]
    return 1.1 * max([*roofs, *(rate(rung, subject) for rung in plain)], default=1)


def spread(rung, subject, end):
    """Of its rate, below and above; a launch of p90 is slow: it is the low end."""
    value = rate(rung, subject)
    if value is None:
        return 0, 0
    fastest = rate(rung, subject, rung.launch_low)
    return value - rate(rung, subject, rung.launch_high), 2 * end if fastest is None else fastest - value


def figure_text(rung, subject, end):
    value = rate(rung, subject)
    if value is None:
        return "not above the noise"
    text = three_digits(value)
    if rung.speedup is not None:
        text += f"  ({rung.speedup:.2f}x)" if rung.speedup < 100 else f"  ({three_digits(rung.speedup)}x)"
    return text + (", cut off" if end is not None and value > end else "")


def three_digits(value):
    """At least; without an exponent where numbers are large."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def roofline_figure(record, narrow=False):
    """As Williams, Waterman and Patterson, Communications of the ACM 52-4, 2009. The intensity is by least traffic; the
    slanted roof is the median of the copies beside all rows, the band holds every row's own. No arithmetic ceiling was
    measured, and none is drawn. `narrow`: with the legend below, for a page that a phone shows too."""
    figure, panel = pyplot.subplots(figsize=(5.6, 5.5) if narrow else (8, 5.5), layout="constrained")
    copies = [rung.copy for rung in record.rungs if rung.copy]
    if copies:
        ends = np.array([min(map(intensity, record.rungs)) / 2, max(map(intensity, record.rungs)) * 2])
        middle = float(np.median(copies))
        panel.plot(ends, ends * middle / 1e9, color="black", label=f"copy: {middle / 1e9:.4g} GB/s")
        panel.fill_between(ends, ends * min(copies) / 1e9, ends * max(copies) / 1e9, color="0.85", linewidth=0)
    markers = dealt_out(MARKERS, [rung.label for rung in record.rungs])
    fills = dealt_out(FILLS, [ladder.cells for ladder in record.ladders])
    for ladder in record.ladders:
        for rung in ladder.rungs:
            panel.plot(intensity(rung), FLOPS_A_POINT * rung.points / rung.launch / 1e9, linestyle="none",
                       marker=markers[rung.label],
                       color=COLOURS[ladder.precision], fillstyle=fills[ladder.cells], markersize=7)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    figures.plain_ticks(panel.yaxis)
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panel.set(xlabel="flop per byte of least traffic", ylabel="GFlop/s")
    points = panel.secondary_yaxis("right", functions=(lambda flops: flops / FLOPS_A_POINT,
                                                       lambda points: points * FLOPS_A_POINT))
    points.set_ylabel("GPts/s")
    figures.plain_ticks(points.yaxis)
    panel.grid(which="major", color="0.9")
    panel.set_title(f"roofline of bench stencil on {record.device}", loc="left")
    entries = [line for line in panel.get_lines() if not line.get_label().startswith("_")]
    entries += [dot(marker, "0.3", "full", label) for label, marker in markers.items()]
    entries += [dot("o", COLOURS[ladder.precision], fills[ladder.cells], ladder.title) for ladder in record.ladders]
    if narrow:
        figure.set_figheight(4.6 + 0.17 * math.ceil(len(entries) / 2))
    panel.legend(handles=entries, fontsize=8, frameon=False, **(
        {"ncols": 2, "loc": "upper center", "bbox_to_anchor": (0.5, -0.14)} if narrow else
        {"ncols": math.ceil(len(entries) / ENTRIES_A_COLUMN), "loc": "center left", "bbox_to_anchor": (1.16, 0.5)}))
    return figure


def dealt_out(looks, names):
    """A look for each name, in the order of their first appearance; the looks repeat where names are many."""
    return {name: looks[number % len(looks)] for number, name in enumerate(dict.fromkeys(names))}


def dot(marker, colour, fill, label):
    return Line2D([], [], linestyle="none", marker=marker, color=colour, fillstyle=fill, markersize=7, label=label)


def intensity(rung):
    return FLOPS_A_POINT * rung.points / rung.moved


def depth_figure(record):
    """A panel for each precision: points a second under the roofs of the copies measured beside them, one of a sweep a
    pass over memory, which no row passes that does not fuse, and one of as many sweeps a pass as are fused."""
    precisions = list(dict.fromkeys(ladder.precision for ladder in record.ladders))
    figure, panels = pyplot.subplots(1, len(precisions), squeeze=False, figsize=(5.6 * len(precisions), 5.2), layout="constrained")
    figure.suptitle(f"fused sweeps on {record.device}")
    markers = dealt_out(MARKERS, [rung.row for rung in record.rungs])
    for panel, precision in zip(panels.flat, precisions):
        ladders = [ladder for ladder in record.ladders if ladder.precision == precision]
        for ladder, line in zip(ladders, LINES * len(ladders)):
            for row in dict.fromkeys(rung.row for rung in ladder.rungs):
                draw_row(panel, ladder, row, line, markers[row])
        draw_roofs(panel, [rung for ladder in ladders for rung in ladder.rungs if rung.copy])
        panel.set_ylim(bottom=0)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set_xlabel("sweeps a launch")
        panel.grid(axis="y", color="0.9")
        panel.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
        panel.set_title(precision, loc="left")
    panels.flat[0].set_ylabel("GPts/s")
    return figure


def draw_row(panel, ladder, row, line, marker):
    """Of each depth the fastest policy."""
    rungs = sorted((rung for rung in ladder.of_best_policies().rungs if rung.row == row), key=lambda rung: rung.depth)
    panel.plot([rung.depth for rung in rungs], [rate(rung, "stencil") for rung in rungs], line, marker=marker,
               color=COLOURS[ladder.precision] if rungs[-1].depth > 1 else "0.4",
               label=f"{row}, {' x '.join(map(str, ladder.cells))}")


def draw_roofs(panel, rungs):
    """What sweeps would reach that move their least bytes at the mean of the copies; the rising one as far as it stays
    in sight of what was measured."""
    if not rungs:
        return
    one = sum(roof(rung, "stencil", "copy") / rung.depth for rung in rungs) / len(rungs)
    highest = max(value for drawn in panel.get_lines() for value in drawn.get_ydata())
    end = min(max(rung.depth for rung in rungs), max(1.0, 1.25 * highest / one))
    panel.axhline(one, color="black", linewidth=1.5, label="roof of one sweep a pass")
    panel.plot([1, end], [one, one * end], color="0.6", linewidth=1.5, label="roof of so many sweeps a pass")
