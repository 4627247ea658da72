"""What all cases have come to, as study.csv, study.json and the table that answers the question."""

import csv
import io
import re
from dataclasses import dataclass

from isotherm_tools.study import columns, state
from isotherm_tools.study.series import ScaledCase, scaling_series, scaling_text
from isotherm_tools.study.text import Table, as_number, escaped, extent_text, shortest
from isotherm_tools.study_record import is_number, place


@dataclass
class Collection:
    csv: str = ""  # a line for each case, in the order of the deck; names with units in the head
    record: dict = None  # the same for study.json, with each case's settings and its whole run.json
    table: str = ""  # study.report, sorted by study.sort; then those of scaling
    disagreement: str = ""  # of fingerprints that must be one
    finished: int = 0
    failed: int = 0
    exit_code: int = state.DONE  # of the first case that failed; stopped; not converged; done


def collect(deck):
    return Collector(deck).finish()


class Collector:
    def __init__(self, deck):
        self.deck, self.result, self.rows, self.cases, self.scaled, self.series = deck, Collection(), [], [], [], []
        sections = deck.sections
        names = ["name", *deck.varied, "ranks", "state", "exit_code", *(columns.OF_SCALING if deck.scaling else []), *columns.OF_RUN,
                 *sections["report"], *([sections["sort"]] if sections["sort"] else [])]
        self.columns = list(dict.fromkeys(names))
        for case, look in zip(deck.cases, state.look_at_all(deck)):
            self.add(case, look)
        if deck.scaling:
            self.compare()
        for row, case in zip(self.rows, self.cases):
            case["values"] = {name: row.get(name) for name in self.columns}

    def add(self, case, look):
        # An earlier deck's numbers are not those of this case.
        run = {} if look.state == "changed" else state.run_record(case)
        row = last_diagnostics(case.folder / "history.csv") if run else {}
        settings = {key: setting_value(case.study, key) for key in self.deck.varied}
        row.update({"name": case.name, **settings, "ranks": case.ranks, "state": look.state, "exit_code": look.exit_code})
        row.update({name: value_at(run, path) for name, path in columns.OF_RUN.items() if path})
        row.update({name: value_at(run, name) for name in self.columns if name not in row and "." in name})
        row["message"] = look.message or None
        row["wall_s"] = state.wall_of_all_parts(case, run)
        # Those before the checkpoint from which it was resumed, too: as many as a case that was never stopped.
        before = value_at(run, "continuation.restarted_from.sweep")
        if isinstance(row["sweeps"], int) and isinstance(before, int):
            row["sweeps"] += before
        self.judge(look)
        if self.deck.scaling:
            self.add_scaled(case, look, row)
        self.rows.append(row)
        self.cases.append({"name": case.name, "settings": settings, "ranks": case.ranks, "state": look.state,
                           "exit_code": look.exit_code, "message": row["message"], "directory": str(case.folder), "values": None,
                           "run": run or None})

    def add_scaled(self, case, look, row):
        row["cells"] = extent_text(case.cells)
        step, hidden, sweeps = (row[name] if is_number(row[name]) else None for name in ("step_s", "halo_hidden_percent", "sweeps"))
        self.scaled.append(ScaledCase(case.name, case.study.series, case.ranks, look.state, tuple(case.cells),
                                      step if look.is_finished else None, hidden, sweeps or 0, row["fingerprint"] or ""))

    def compare(self):
        self.series = scaling_series(self.scaled)
        for series in self.series:
            self.result.disagreement = self.result.disagreement or series.disagreement
            for number in series.members:
                speed = series.speed_of(self.scaled[number])
                self.rows[number].update({"speedup": speed and speed.speedup, "efficiency_percent": speed and speed.efficiency_percent,
                                          "scaling_base": series.base_text})

    def judge(self, look):
        result, failed = self.result, look.state == "failed"
        result.finished += look.is_finished
        result.failed += failed
        if failed and result.failed == 1:
            # A case that a signal ended, or that ended as a launcher ends, has none of ours.
            result.exit_code = look.exit_code if 1 < look.exit_code < 128 else state.INTERNAL
        if result.failed:
            return
        if not look.is_finished:
            result.exit_code = state.STOPPED
        if look.state == "not converged" and result.exit_code == state.DONE:
            result.exit_code = state.NOT_CONVERGED

    def finish(self):
        deck, sections, result = self.deck, self.deck.sections, self.result
        result.csv = self.csv()
        result.record = {
            "schema": "isotherm-study", "schema_version": 1, "version": sections["version"], "git_revision": sections["git_revision"],
            "deck": deck.path, "collected": state.utc_now(), "varied": deck.varied,
            "units": {key: self.unit_of(key) for key in deck.varied if self.unit_of(key)}, "columns": self.columns,
            "report": self.reported(), "sort": sections["sort"] or None, "cases": self.cases,
            **({"scaling": self.scaling_record()} if deck.scaling else {})}
        result.table = self.table()
        for series in self.series:
            result.table += "\n" + scaling_text(deck.scaling["kind"], self.label_of(series), series)
        return result

    def label_of(self, series):
        """What the cases of a series have in common: "solver.kernel openmp"."""
        case = self.deck.cases[series.members[0]].study
        return ", ".join(f"{key} {case.value_text(key)}" for key in self.deck.varied if key not in ("ranks", "run"))

    def scaling_record(self):
        def row_record(row):
            run, speed = row.middle, row.speed
            return {"ranks": row.ranks, "cells": list(row.cells), "runs": row.runs, "case": run and run.name, "step_s": run and run.step_s,
                    "speedup": speed and speed.speedup, "efficiency_percent": speed and speed.efficiency_percent,
                    "halo_hidden_percent": run and run.hidden_percent, "remark": row.remark or None}

        return {"kind": self.deck.scaling["kind"], "repeats": self.deck.scaling["repeats"], "series": [
            {"label": self.label_of(series), "base": series.base_text, "disagreement": series.disagreement or None,
             "rows": [row_record(row) for row in series.rows]} for series in self.series]}

    def unit_of(self, name):
        """Of a varied key; the others have it in their names."""
        return self.deck.sections["keys"].get(name, {}).get("unit", "") if name in self.deck.varied else ""

    def head_of(self, name):
        unit = self.unit_of(name)
        return f"{name} [{unit}]" if unit else name

    def csv(self):
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([self.head_of(name) for name in self.columns])
        writer.writerows([plain(row.get(name)) for name in self.columns] for row in self.rows)
        return file.getvalue()

    def reported(self):
        """What was asked for; else what varies, and what most ask for where a case has it."""
        return self.deck.sections["report"] or ["name", "state", *(
            name for name in columns.USUAL if any(row.get(name) is not None for row in self.rows))]

    def table(self):
        names, sort = self.reported(), self.deck.sections["sort"]
        rows = sorted(self.rows, key=lambda row: place(row.get(sort))) if sort else self.rows
        alignment = "".join("l" if any(isinstance(row.get(name), str) for row in rows) else "r" for name in names)
        return Table(alignment, [[self.head_of(name) for name in names],
                                 *([table_cell(row.get(name)) for name in names] for row in rows)]).text()


def last_diagnostics(path):
    """The last line of history.csv that has them."""
    head, *lines = [line.split(",") for line in state.text_or_empty(path).split("\n")]
    if "max_K" not in head:
        return {}
    column = head.index("max_K")
    last = next((cells for cells in reversed(lines) if len(cells) > column and cells[column]), [])
    return {name: as_number(cell) for name, cell in zip(head, last) if as_number(cell) is not None}


def value_at(run, path):
    """Of "performance.step_s"; None where there is none, or no single value."""
    at = run
    for part in path.split("."):
        if isinstance(at, dict) and part in at:
            at = at[part]
        elif isinstance(at, list) and re.fullmatch(r"\d+", part) and int(part) < len(at):
            at = at[int(part)]
        else:
            return None
    return None if isinstance(at, (dict, list)) else at


def setting_value(case, key):
    """As a number where it is one."""
    text = case.value_text(key)
    number = as_number(text)
    return text if number is None else number


def plain(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return shortest(value) if isinstance(value, float) else str(value)


def table_cell(value):
    return f"{value:.6g}" if isinstance(value, float) else escaped(plain(value))
