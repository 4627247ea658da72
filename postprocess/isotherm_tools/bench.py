"""Draws the measurements of `isotherm bench --json` for each grid and precision: kernels as bars next to the copy bandwidth that
was measured at the same time, as a roofline, and over the sweeps per launch."""

import math
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from matplotlib import pyplot
from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter

from isotherm_tools import figures
from isotherm_tools.program import DATA, Failure, add_subcommand, content_of, read_record
from isotherm_tools.text import extent_text, groups

MARKERS = "osD^vP*X<>hpd8"  # one per kernel and tile
FILLS = ("full", "none", "left", "top")  # one per grid and precision: print may have no colours
LINES = ("-", "--", ":", "-.")  # one per grid
LADDERS = ("stencil", "reduction", "bandwidth", "formula")  # subjects with kernels and their times
FLOPS_PER_POINT = 8  # the usual count of a 7-point stencil, whatever the instructions are
# GFlop/s without tensor cores, from the data sheets of H100 SXM and of H200.
PEAKS = dict.fromkeys(("NVIDIA H100 80GB HBM3", "NVIDIA H200"), {"fp32": 67e3, "fp64": 34e3})


def add(subcommands):
    for name, make, text in (
            ("ladder", ladder_figure, "draw the kernels of a benchmark as bars, under their limit"),
            ("roofline", roofline_figure, "draw stencil kernels over their arithmetic intensity, under their limit"),
            ("time-blocks", time_block_figure, "draw points per second against the sweeps per launch, with the limits of memory")):
        subcommand = add_subcommand(subcommands, name, draw_bench, text, None, "png, pdf or svg by its ending (default: next to the JSON)")
        subcommand.set_defaults(figure=name, make=make)
        subcommand.add_argument("bench", metavar="BENCH.json", help="written by isotherm bench ... --json")
        subcommand.add_argument("--best", action="store_true", help="only the fastest tile of each kernel")


def draw_bench(options):
    record = BenchRecord(options.bench, *(() if options.figure == "ladder" else ("stencil",)))
    if options.best:
        record.keep_best_tiles()
    path = figures.check_format(options.out or record.path.with_name(f"{record.path.stem}_{options.figure}.png"))
    if options.figure == "time-blocks" and all(variant.time_block == 1 for variant in record.variants):
        raise Failure(DATA, f"{record.path} holds no time blocks; measure temporal or temporal_openmp")
    return figures.draw(path, options.make, record)


class Ladder(NamedTuple):
    cells: tuple  # x, y, z
    precision: str
    variants: list

    @property
    def title(self):
        return f"{extent_text(self.cells)}, {self.precision}"

    def of_best_tiles(self):
        """The ladder with only the fastest tile of each kernel and time block, at the place of its first tile."""
        tiles = groups(self.variants, lambda variant: (variant.kernel, variant.time_block))
        return self._replace(variants=[min(each, key=lambda variant: variant.launch) for each in tiles.values()])


class BenchRecord:
    """`subjects`: those that can be drawn."""

    def __init__(self, path, *subjects):
        self.path, subjects = Path(path), subjects or LADDERS
        content = read_record(self.path, "isotherm-bench", "benchmark", "write it with isotherm bench ... --json FILE")
        with content_of(path, "benchmark"):
            self.subject, self.device = content["subject"], content["device"]["name"]
            if self.subject not in subjects:
                raise Failure(DATA, f"{path} holds bench {self.subject}, which this cannot draw; name one of bench {' or '.join(subjects)}")
            measured = [entry for entry in content["entries"] if entry["verdict"] == "right" and entry["launch_s"] is not None]
            found = groups(measured, lambda entry: (tuple(entry["cells"]), entry["precision"]))
            self.ladders = [Ladder(*key, [variant_of(entry, self.subject) for entry in entries]) for key, entries in found.items()]
        if not found:
            raise Failure(DATA, f"{path} holds no kernel that was measured and right")

    @property
    def variants(self):
        return [variant for ladder in self.ladders for variant in ladder.variants]

    def keep_best_tiles(self):
        self.ladders = [ladder.of_best_tiles() for ladder in self.ladders]


def variant_of(entry, subject):
    """One kernel that was measured. Rates: GPts/s of sweeps, GB/s of reads or copies. The rate of a difference (the extra time of one
    measurement over another, which noise can make 0 or negative) is None if the difference is not positive."""
    tile, time_block, points, moved = (entry[key] for key in ("tile", "time_block", "points_per_launch", "bytes_per_launch"))
    copy, read = (entry[key] and entry[key]["median"] for key in ("copy_bandwidth_bytes_per_s", "read_bandwidth_bytes_per_s"))
    fast, launch, slow = (float(entry["launch_s"][key]) for key in ("p10", "median", "p90"))
    launches = entry["kernel"] + ("" if tile == "-" else f", {tile}")

    def rate(seconds):
        return (points if subject == "stencil" else moved) / 1e9 / seconds if seconds > 0 else None

    return SimpleNamespace(
        # the kernel, its tile and its sweeps per launch
        label=launches + (f" x {time_block}" if time_block > 1 else ""), launches=launches,
        kernel=entry["kernel"], time_block=time_block, launch=launch, speedup=entry["speedup"], copy=copy,
        intensity=points and FLOPS_PER_POINT * points / moved,  # flop per byte of least traffic; None if nothing is updated
        rate=rate(launch), fastest=rate(fast), slowest=rate(slow), difference=entry.get("base_s") is not None,
        limits={name: rate(moved / bandwidth) for name, bandwidth in (("copy", copy), ("read", read)) if bandwidth})


def ladder_figure(record, ladders=None):
    ladders = ladders or record.ladders
    same = len({tuple(variant.label for variant in ladder.variants) for ladder in ladders}) == 1
    short = all(len(variant.label) <= figures.MOST_LETTERS for variant in ladders[0].variants)
    columns = min(2, len(ladders)) if same and short else 1  # side by side only if they share names, so that bars have room
    rows = math.ceil(len(ladders) / columns)
    most = max(len(ladder.variants) for ladder in ladders)
    figure, panels = pyplot.subplots(rows, columns, squeeze=False, layout="constrained",
                                     sharey=same, figsize=(figures.WIDTH, rows * (1.2 + 0.28 * most)))
    blocks = any(variant.time_block > 1 for ladder in ladders for variant in ladder.variants)
    figure.suptitle(f"bench {record.subject} on {record.device}" + (" (x n: n sweeps per launch)" if blocks else ""), x=0.01, ha="left")
    for panel in panels.flat[len(ladders):]:
        panel.axis("off")
    for panel, ladder in zip(panels.flat, ladders):
        draw_ladder(panel, ladder, record.subject)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    if handles:  # one legend for all panels, which have the same copy bandwidths, in a strip below them
        strip = 0.3 / figure.get_figheight()  # inches
        figure.get_layout_engine().set(rect=(0, strip, 1, 1 - strip))
        figure.legend(handles, labels, loc="lower center", ncols=len(handles))
    return figure


def draw_ladder(panel, ladder, subject):
    variants, end = ladder.variants, None  # end of the axis; None: chosen by matplotlib
    if any(variant.difference for variant in variants):  # set by other rates and copy bandwidths: the rate of a difference has no bound
        limits = [limit for variant in variants for limit in variant.limits.values()]
        end = 1.1 * max([*limits, *(variant.rate for variant in variants if not variant.difference)], default=1)
    places = range(len(variants))
    spreads = [(0, 0) if each.rate is None else
               (each.rate - each.slowest, 2 * end if each.fastest is None else each.fastest - each.rate) for each in variants]
    panel.barh(places, [variant.rate or 0 for variant in variants], color=figures.PRECISIONS[ladder.precision], xerr=list(zip(*spreads)),
               ecolor="0.4", height=0.7)
    for which, colour in (("copy", figures.LIMIT), ("read", figures.LESS))[: 2 if subject == "reduction" else 1]:
        # A tick across each bar: the rate of a kernel that moves its least bytes at this bandwidth.
        if known := [(variant.limits[which], place - 0.45, place + 0.45) for place, variant in enumerate(variants)
                     if which in variant.limits]:
            panel.vlines(*zip(*known), color=colour, linewidth=2, label=f"{which} bandwidth measured with it")
    for place, variant in enumerate(variants):
        panel.annotate(figure_text(variant, end), (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=figures.SMALL)
    panel.set_yticks(places, [variant.label for variant in variants])
    panel.set_ylim(len(variants) - 0.4, -0.6)  # the first kernel is at the top, as in the table
    panel.set(xlim=(0, end), xlabel="GPts/s" if subject == "stencil" else "GB/s of least traffic")
    panel.set_title(ladder.title, loc="left")


def figure_text(variant, end):
    if variant.rate is None:
        return "not above the noise"
    text = f"{variant.rate:,.0f}" if variant.rate >= 100 else f"{variant.rate:.3g}"
    if variant.speedup is not None:
        text += f"  ({variant.speedup:.2f}x)" if variant.speedup < 100 else f"  ({variant.speedup:,.0f}x)"
    return text + (", cut off" if end is not None and variant.rate > end else "")


def roofline_figure(record):
    """A roofline (Williams, Waterman and Patterson, Communications of the ACM 52-4, 2009). The intensity is from least traffic; the
    slanted limit is the median of the copies measured with all kernels, the band is their range. Level limits are the peaks of
    arithmetic, for devices with known peaks. A number at a point is its sweeps per launch."""
    figure, panel = pyplot.subplots(layout="constrained")
    peaks = {ladder.precision: peak for ladder in record.ladders if (peak := PEAKS.get(record.device, {}).get(ladder.precision))}
    if copies := [variant.copy for variant in record.variants if variant.copy]:
        intensities = [variant.intensity for variant in record.variants]
        middle = float(np.median(copies))
        highest = max(peaks.values(), default=0) * 1e9 / middle  # the intensity from which no kernel is limited by memory
        ends = np.array([min(intensities) / 2, highest or max(intensities) * 2])
        panel.plot(ends, ends * middle / 1e9, color=figures.LIMIT, label=f"copy: {middle / 1e9:.4g} GB/s")
        panel.fill_between(ends, ends * min(copies) / 1e9, ends * max(copies) / 1e9, color="0.85", linewidth=0)
        for precision, peak in peaks.items():
            panel.plot([peak * 1e9 / middle, 2 * highest], [peak] * 2, color=figures.PRECISIONS[precision],
                       label=f"arithmetic, {precision}: {peak / 1e3:g} TFlop/s")
    markers = dealt_out(MARKERS, [variant.launches for variant in record.variants])
    fills = dealt_out(FILLS, [ladder.title for ladder in record.ladders])
    for ladder in record.ladders:
        for variant in ladder.variants:
            place = variant.intensity, FLOPS_PER_POINT * variant.rate
            panel.plot(*place, markersize=7, marker=markers[variant.launches], color=figures.PRECISIONS[ladder.precision],
                       fillstyle=fills[ladder.title], linestyle="none")
            if variant.time_block > 1:
                panel.annotate(variant.time_block, place, xytext=(6, 1 if ladder.precision == "fp64" else -8),
                               textcoords="offset points", fontsize=figures.SMALL)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    figures.plain_ticks(panel.yaxis)
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panel.set(xlabel="flop per byte of least traffic", ylabel="GFlop/s")
    points = panel.secondary_yaxis("right", functions=(lambda flops: flops / FLOPS_PER_POINT, lambda points: points * FLOPS_PER_POINT))
    points.set_ylabel("GPts/s")
    figures.plain_ticks(points.yaxis)
    panel.grid()
    panel.set_title(f"roofline of bench stencil on {record.device}", loc="left")
    entries = [line for line in panel.get_lines() if not line.get_label().startswith("_")]
    dot = partial(Line2D, [], [], linestyle="none", markersize=7)
    entries += [dot(marker=marker, color="0.3", label=label) for label, marker in markers.items()]
    entries += [dot(marker="o", color=figures.PRECISIONS[ladder.precision], fillstyle=fills[ladder.title], label=ladder.title)
                for ladder in record.ladders]
    figure.set_size_inches(figures.WIDTH, 4.4 + 0.2 * math.ceil(len(entries) / 2))
    panel.legend(handles=entries, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.13))
    return figure


def dealt_out(looks, names):
    """A look for each name, in the order of first appearance; the looks repeat if there are more names."""
    return {name: looks[number % len(looks)] for number, name in enumerate(dict.fromkeys(names))}


def time_block_figure(record):
    """A panel for each precision: points per second, with two limits from the copy bandwidth measured with them: for one sweep per pass
    over memory, which no kernel of single sweeps exceeds (only the fastest of them is drawn), and for as many sweeps per pass as the
    kernel takes."""
    by_precision = groups(record.ladders, lambda ladder: ladder.precision)
    figure, panels = pyplot.subplots(len(by_precision), squeeze=False, figsize=(figures.WIDTH, 4.6 * len(by_precision)),
                                     layout="constrained")
    figure.suptitle(f"temporal blocking on {record.device}", x=0.01, ha="left")
    markers = dealt_out(MARKERS, [variant.kernel for variant in record.variants])
    for panel, (precision, ladders) in zip(panels.flat, by_precision.items()):
        for ladder, line in zip(ladders, LINES * len(ladders)):
            best = sorted(ladder.of_best_tiles().variants, key=lambda variant: variant.time_block)  # of each time block
            kernels = groups(best, lambda variant: variant.kernel)
            single = [variants[0] for variants in kernels.values() if variants[-1].time_block == 1]
            for kernel, variants in kernels.items():
                if variants[0] in single and variants[0] is not max(single, key=lambda variant: variant.rate):
                    continue
                panel.plot([each.time_block for each in variants], [each.rate for each in variants], line,
                           marker=markers[kernel], color=figures.PRECISIONS[precision] if variants[-1].time_block > 1 else figures.LESS,
                           label=f"{kernel}, {extent_text(ladder.cells)}")
        if known := [variant for ladder in ladders for variant in ladder.variants if variant.copy]:
            # The rate of sweeps that move their least bytes at the mean copy bandwidth. The rising line ends near the highest rate.
            one = sum(variant.limits["copy"] / variant.time_block for variant in known) / len(known)
            end = min(max(variant.time_block for variant in known), max(1.0, 1.25 * panel.dataLim.ymax / one))
            panel.axhline(one, color=figures.LIMIT, label="copy bandwidth, one sweep per pass")
            panel.plot([1, end], [one, one * end], color=figures.LESS, label="copy bandwidth, n sweeps per pass")
        panel.set_ylim(bottom=0)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set(xlabel="sweeps per launch", ylabel="GPts/s")
        panel.grid(axis="y")
        panel.legend(loc="upper left", bbox_to_anchor=(0, -0.16))
        panel.set_title(precision, loc="left")
    return figure
