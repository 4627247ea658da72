"""What a comparison has found: ranks, table and JSON."""

import math

from isotherm_tools.baseline import Figure
from isotherm_tools.study.text import Table, counted, escaped, extent_text, grouped, human_duration

VERSION = 2
METHOD = ("kernel", "policy", "reduction", "transport", "depth", "fused", "overlap", "graph")
PLACES = {"same": 0, "differs": 1, "left_out": 2}


class Figures:
    def __init__(self, entry):
        self.low, self.high = entry.range
        self.median, self.least, self.most = entry.median, min(entry.samples), max(entry.samples)
        self.points = math.prod(entry.run["grid"]["cells"]) / self.median  # a second
        self.bandwidth = self.points * entry.run["performance"]["bytes_per_point"]
        self.copy = entry.run["performance"]["copy_bandwidth_bytes_per_s"]
        self.share = 100 * self.bandwidth / self.copy if self.copy else None
        halo, depth = entry.run["halo"], entry.run["method"]["depth"]
        self.exchange, self.exposed = (halo[key] and halo[key] / depth for key in ("exchange_s", "exposed_s"))


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
    policies = all(axis.name != "tile" for axis in plan.axes) and any(entry.run and entry.run["method"]["policy"] for entry in entries)
    halos = any(f.exposed is not None for f in timed.values())
    heads = ["rank", *(axis.name for axis in plan.axes), *(["policy"] if policies else []), "time", "low", "high", "GPts/s", "of roof",
             *(["halo exposed"] if halos else []), "bits"]
    words = len(plan.axes) + policies
    rows = [heads]
    for place, entry in enumerate(entries, 1):
        f = timed.get(entry.name)
        row = [str(place) if f else "-", *entry.combination.words]
        row += [(entry.run and entry.run["method"]["policy"]) or "-"] if policies else []
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
