"""What a study tells while its cases run: a line for each that ends, with the time that the others will take, and on a terminal a
line that moves, of those that run.

That time is an estimate: cells times sweeps at the mean rate of the cases that have ended, and what these took beside their
sweeps. A steady case is taken for one that sweeps as often as it may."""

import os
from contextlib import suppress
from typing import NamedTuple

from isotherm_tools.study.program import is_launched, say, write
from isotherm_tools.study.text import human_duration, left_text, shortened

USUAL_COLUMNS = 80


class RunningCase(NamedTuple):
    name: str
    work: float  # cells times sweeps
    seconds: float  # since it was started


class Progress:
    """`work`: of all cases that are due, `jobs` of them at once."""

    def __init__(self, work, cases, jobs):
        self.work, self.cases, self.jobs = work, cases, max(1, jobs)
        self.ended_work = self.gone_work = self.seconds = self.seconds_of_sweeps = 0
        self.ended_cases = self.gone = 0  # gone: ended, and skipped
        self.moves = os.isatty(2) and os.environ.get("TERM", "") not in ("", "dumb") and not is_launched()
        self.is_shown = False

    def say(self, line):
        self.clear()
        say(line + "\n")

    def ended(self, what, case, seconds_of_sweeps, running):
        """`running`: the others."""
        self.ended_cases += 1
        self.gone += 1
        self.gone_work += case.work
        if seconds_of_sweeps > 0:
            self.ended_work += case.work
        self.seconds += case.seconds
        self.seconds_of_sweeps += min(seconds_of_sweeps, case.seconds)
        self.say(f"[{self.gone}/{self.cases}] {what}{left_text(self.seconds_left(running))}")

    def skipped(self, what, work):
        """That another run finished it, or that the study is stopping."""
        self.gone += 1
        self.gone_work += work
        self.say(f"[{self.gone}/{self.cases}] {what}")

    def seconds_left(self, running):
        """None before a case has ended, and where all take longer than expected."""
        if self.gone == self.cases or not self.seconds_of_sweeps > 0:
            return None
        beside = (self.seconds - self.seconds_of_sweeps) / self.ended_cases
        rate = self.ended_work / self.seconds_of_sweeps
        left = [max(beside + case.work / rate - case.seconds, 0) for case in running]
        waiting_work = self.work - self.gone_work - sum(case.work for case in running)
        waiting = max(self.cases - self.gone - len(running), 0)
        whole = sum(left) + waiting * beside + max(waiting_work, 0) / rate
        return max([whole / self.jobs, *left]) if whole > 0 else None

    def show(self, running):
        if not self.moves or not running or in_background():
            return
        cases = ", ".join(f"{case.name} for {human_duration(case.seconds)}" for case in running)
        text = f"[{self.gone}/{self.cases}]  {cases}{left_text(self.seconds_left(running))}"
        self.put(f"\r{shortened(text, columns() - 1)}\033[K")
        self.is_shown = True

    def clear(self):
        if self.is_shown and not in_background():
            self.put("\r\033[K")
        self.is_shown = False

    @staticmethod
    def put(text):
        with suppress(OSError):  # nobody minds its loss
            write(2, text)


def columns():
    with suppress(OSError):
        if found := os.get_terminal_size(2).columns:
            return found
    word = os.environ.get("COLUMNS", "")
    return int(word) if word.isdigit() and int(word) > 0 else USUAL_COLUMNS


def in_background():
    """The line there is the shell's."""
    try:
        return os.tcgetpgrp(2) != os.getpgrp()
    except OSError:
        return False
