"""The cases of a deck with `scaling:` as strong or weak series: time, speed-up and efficiency by ranks.

A count of several runs has the time of the median run, of an even number the faster of the two in the middle. Speed-up is the
rate (cell updates per second) over that of one rank on the smallest count, efficiency the speed-up over the ranks: T1 / (n Tn)
where the grid stays (strong), T1 / Tn where it grows with the ranks (weak). A smallest count without a time leaves both open: no
other takes its place unasked."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from isotherm_tools.study.text import Table, counted, escaped, extent_text


class ScaledCase(NamedTuple):
    name: str
    series: int
    ranks: int
    state: str  # for messages
    cells: tuple
    step_s: float = None  # of one that has finished
    hidden_percent: float = None  # of the communication
    sweeps: float = 0
    fingerprint: str = ""  # empty: unknown


class Speed(NamedTuple):
    speedup: float
    efficiency_percent: float


@dataclass
class ScalingRow:
    """A count of ranks within a series."""
    ranks: int
    cells: tuple
    runs: int = 0  # that have a time
    middle: ScaledCase = None  # whose run counts
    speed: Speed = None
    remark: str = ""  # why something is missing


@dataclass
class ScalingSeries:
    members: list  # its cases; numbers
    rows: list = field(default_factory=list)  # by ranks; the first is what the others are compared with
    disagreement: str = ""  # of fingerprints

    @property
    def base(self):
        return self.rows[0].middle

    @property
    def base_text(self):
        """ "1 rank", "none (ranks-1: failed)"."""
        return counted(self.rows[0].ranks, "rank") if self.base else f"none ({self.rows[0].remark})"

    def speed_of(self, case):
        """None where the case or the base has no time."""
        if not self.base or case.step_s is None:
            return None
        speedup = rate(case) / (rate(self.base) / self.base.ranks)
        return Speed(speedup, 100 * speedup / case.ranks)


def rate(case):
    return math.prod(case.cells) / case.step_s


def scaling_series(cases):
    """In the order of their first cases."""
    members = {}
    for number, case in enumerate(cases):
        members.setdefault(case.series, []).append(number)
    return [make_series(numbers, [cases[number] for number in numbers]) for numbers in members.values()]


def make_series(numbers, cases):
    by_ranks = {}
    for case in cases:
        by_ranks.setdefault(case.ranks, []).append(case)
    series = ScalingSeries(numbers, [make_row(by_ranks[ranks]) for ranks in sorted(by_ranks)], disagreement_of(cases))
    for row in series.rows:
        row.speed = series.speed_of(row.middle) if row.middle else None
    return series


def make_row(cases):
    """Of one count of ranks."""
    timed = sorted((case for case in cases if case.step_s is not None), key=lambda case: case.step_s)
    without = ", ".join(f"{case.name}: {case.state}" for case in cases if case.step_s is None)
    middle = timed[(len(timed) - 1) // 2] if timed else None
    return ScalingRow(cases[0].ranks, cases[0].cells, len(timed), middle, remark=without)


def disagreement_of(cases):
    """One problem has one answer, whoever computes it; cases that ended at other sweeps have another."""
    answers = {}
    for case in cases:
        if case.step_s is not None and case.fingerprint:
            answers.setdefault((*case.cells, case.sweeps), set()).add(case.fingerprint)
    for problem in sorted(answers):
        if len(answers[problem]) > 1:
            return (f"{len(answers[problem])} different fingerprints of {extent_text(problem[:3])} cells (one problem has one answer on "
                    "any ranks)")
    return ""


def scaling_text(kind, label, series):
    """The table that is printed. `label`: what the series has in common, or empty."""
    def cell(value, form):
        return "-" if value is None else form.format(value)

    rows = [["ranks", "cells", "runs", "step_s", "speed-up", "efficiency", "hidden", "remark"]]
    for row in series.rows:
        run, speed = row.middle, row.speed or Speed(None, None)
        rows.append([str(row.ranks), extent_text(row.cells), str(row.runs), cell(run and run.step_s, "{:.6g}"),
                     cell(speed.speedup, "{:.4g}"), cell(speed.efficiency_percent, "{:.1f} %"),
                     cell(run and run.hidden_percent, "{:.1f} %"), escaped(row.remark)])
    columns = 8 if any(row.remark for row in series.rows) else 7
    table = Table("rrrrrrrl"[:columns], [row[:columns] for row in rows])
    text = f"{kind} scaling{f' of {label}' if label else ''}, compared with {series.base_text}\n{table.text(2)}"
    return text + (f"  {series.disagreement}\n" if series.disagreement else "")
