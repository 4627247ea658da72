"""The results of all cases, as study.csv, study.json and a table of the requested columns.

The cases of a deck with `scaling:` are strong or weak series, with speed-up and efficiency as in ../scaling.py. A count with
several runs has the time of the median run; if their number is even, of the faster of the two in the middle. If the
smallest count has no time, speed-up and efficiency are missing: no other count replaces it."""

import csv
import math
from contextlib import suppress
from types import SimpleNamespace

from isotherm_tools.study import state
from isotherm_tools.text import (
    FACES, aligned, as_number, counted, csv_text, escaped, extent_text, groups, is_number, percent, place, shortest, titled)

# Columns, with their unit after the last '_', as in run.json and history.csv -> the path within run.json; None: a column of history.csv
# of the same name.
OF_RUN = {
    **{name: f"performance.{name}" for name in (
        "sweeps", "step_s", "points_per_s", "effective_bandwidth_bytes_per_s", "copy_bandwidth_share_percent",
        "halo_fraction_percent")},
    "halo_hidden_percent": "halo.hidden_percent",
    "residual_K": "residual.last_K", "convergence": "residual.convergence",
    **{name: f"verification.{name}" for name in ("max_error_K", "l2_error_K", "verdict")},
    "min_K": "end_state.lowest.temperature_K", "max_K": "end_state.highest.temperature_K",
    **{column: f"end_state.heat.faces_W.{face}" for column, face in FACES.items()},
    "source_W": "end_state.heat.sources_W", "rate_W": "end_state.heat.stored_W", "balance_W": "end_state.heat.balance_W",
    **dict.fromkeys(("mean_K", "heat_J")),
    "time_s": "time_s", "wall_s": "phases_s.total.max",  # over all parts of a case that was stopped and resumed
    "host_peak_bytes": "memory.host_peak_bytes",
    **{name: f"method.{name}" for name in ("kernel", "tile", "reduction", "transport")},
    "fingerprint": "fingerprint", "message": "message"}
EARLIER = "continuation.restarted_from"  # of a resumed case
OF_SCALING = ("cells", "speedup", "efficiency_percent", "scaling_base")  # in addition, for a deck with scaling:
# Reported by default, if a case has them.
USUAL = ("step_s", "copy_bandwidth_share_percent", "residual_K", "max_error_K", "max_K")


class Collection:
    """`csv`: a line for each case, in the order of the deck; the head has names with units. `record`: the same for study.json, with
    each case's settings and its whole run.json. `table`: the columns of study.report, sorted by study.sort; then the tables of
    scaling."""

    def __init__(self, deck):
        self.deck, self.rows, self.cases, self.scaled = deck, [], [], []
        sections, statuses = deck.sections, state.case_statuses(deck, deck.cases)
        failed = [status.exit_code for status in statuses if status.state == "failed"]
        self.finished, self.failed = sum(status.is_finished for status in statuses), len(failed)
        # Of the first case that failed; else: stopped; not converged; done. A case that ended by a signal, or with the code of a
        # launcher, has no exit code of isotherm.
        self.exit_code = (failed[0] if 1 < failed[0] < 128 else state.INTERNAL) if failed else \
            state.STOPPED if self.finished < len(statuses) else \
            state.NOT_CONVERGED if any(status.state == "not converged" for status in statuses) else state.DONE
        names = ["name", *deck.varied, "ranks", "state", "exit_code", *(OF_SCALING if deck.scaling else []), *OF_RUN,
                 *sections["report"], *([sections["sort"]] if sections["sort"] else [])]
        self.columns = list(dict.fromkeys(names))
        # Units of varied keys; the names of other columns contain their units.
        self.units = {key: unit for key in deck.varied if (unit := sections["keys"].get(key, {}).get("unit"))}
        for case, status in zip(deck.cases, statuses):
            self.add(case, status)
        self.series = scaling_series(self.scaled)
        for series in self.series:
            first = deck.cases[series.members[0]]
            # The settings that the cases of a series share: "solver.kernel openmp".
            series.label = ", ".join(f"{key} {first.value_text(key)}" for key in deck.varied if key not in ("ranks", "run"))
            for number in series.members:
                self.rows[number].update({**series.speed_of(self.scaled[number]), "scaling_base": series.base_text})
        # Different fingerprints within a series; empty if there are none.
        self.disagreement = next((series.disagreement for series in self.series if series.disagreement), "")
        for row, case in zip(self.rows, self.cases):
            case["values"] = {name: row.get(name) for name in self.columns}
        # The requested columns; else names, states, and the usual columns that a case has.
        self.reported = sections["report"] or ["name", "state", *(
            name for name in USUAL if any(row.get(name) is not None for row in self.rows))]
        self.csv = csv_text([self.heads(self.columns), *([plain(row.get(name)) for name in self.columns] for row in self.rows)])
        self.table = self.table_text()
        self.record = {
            "schema": "isotherm-study", "schema_version": 1, "version": sections["version"], "git_revision": sections["git_revision"],
            "deck": deck.path, "collected": state.utc_now(), "varied": deck.varied, "units": self.units, "columns": self.columns,
            "report": self.reported, "sort": sections["sort"] or None, "cases": self.cases,
            **({"scaling": {"kind": deck.scaling["kind"], "repeats": deck.scaling["repeats"], "series": [
                {"label": series.label, "base": series.base_text, "disagreement": series.disagreement or None, "rows": series.rows}
                for series in self.series]}} if deck.scaling else {})}

    def add(self, case, status):
        # Results of an earlier deck do not belong to this case.
        run = {} if status.state == "changed" else state.run_record(case)
        # The numbers of the last line of history.csv that has diagnostics.
        lines = state.text_or_empty(case.folder / "history.csv").splitlines() if run else []
        last = [line for line in csv.DictReader(lines, restkey="", restval="") if line.get("max_K")][-1:]
        row = {name: value for line in last for name, cell in line.items() if name and (value := as_number(cell)) is not None}
        texts = {key: case.value_text(key) for key in self.deck.varied}
        settings = {key: text if as_number(text) is None else as_number(text) for key, text in texts.items()}
        known = {"ranks": case.ranks, "state": status.state, "exit_code": status.exit_code, "message": status.message or None}
        found = ((name, value_at(run, path)) for name, path in OF_RUN.items() if path)
        row.update({name: value for name, value in found if value is not None or name not in row})
        row.update({"name": case.name, **settings, **known})
        row.update({name: value_at(run, name) for name in self.columns if name not in row and "." in name})
        # Adds those before the checkpoint of a resumed case: the sums are as for a case that was never stopped.
        for name, before in (("sweeps", value_at(run, f"{EARLIER}.earlier_sweeps") or value_at(run, f"{EARLIER}.sweep")),
                             ("wall_s", value_at(run, f"{EARLIER}.earlier_wall_s"))):
            if is_number(row[name]) and is_number(before):
                row[name] += before
        if self.deck.scaling:
            row["cells"] = extent_text(case.cells)
            numbers = {name: row[name] if is_number(row[name]) else None for name in ("step_s", "halo_hidden_percent", "sweeps")}
            self.scaled.append(SimpleNamespace(**{
                "name": case.name, "series": case.series, "ranks": case.ranks, "state": status.state, "cells": tuple(case.cells),
                "fingerprint": row["fingerprint"], **numbers, "step_s": numbers["step_s"] if status.is_finished else None}))
        self.rows.append(row)
        self.cases.append({"name": case.name, "settings": settings, **known, "directory": str(case.folder), "values": None,
                           "run": run or None})

    def heads(self, names):
        return [titled(name, self.units.get(name)) for name in names]

    def table_text(self):
        names, sort = self.reported, self.deck.sections["sort"]
        rows = sorted(self.rows, key=lambda row: place(row.get(sort))) if sort else self.rows
        alignment = "".join("l" if any(isinstance(row.get(name), str) for row in rows) else "r" for name in names)
        text = aligned(alignment, [self.heads(names), *(
            [f"{value:.6g}" if isinstance(value, float) else escaped(plain(value)) for value in map(row.get, names)]
            for row in rows)])
        return text + "".join("\n" + scaling_text(self.deck.scaling["kind"], series.label, series) for series in self.series)


def value_at(run, path):
    """The value at a path such as "performance.step_s"; a list of numbers as 24x20x16; None if there is none, or no single value."""
    at = run
    with suppress(KeyError, TypeError):  # the path does not exist, or leads into a value without parts
        for part in path.split("."):
            at = ({str(i): item for i, item in enumerate(at)} if isinstance(at, list) else at)[part]
        numbers = isinstance(at, list) and all(map(is_number, at))
        return "x".join(map(plain, at)) or None if numbers else None if isinstance(at, (dict, list)) else at
    return None


def plain(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return shortest(value) if isinstance(value, float) else str(value)


class ScalingSeries:
    """`members`: numbers of its cases; `rows`: by ranks, as in study.json; others are compared with the first. In a row, `runs` is the
    number of runs with a time; `case`: the run that counts; `remark`: why something is missing. `cases`: as made by Collection.add,
    with `step_s` if they have finished."""

    def __init__(self, members, cases):
        self.members, self.rows = members, []
        for ranks, of_ranks in sorted(groups(cases, lambda case: case.ranks).items()):
            timed = sorted((case for case in of_ranks if case.step_s is not None), key=lambda case: case.step_s)
            middle = timed[(len(timed) - 1) // 2] if timed else None
            remark = ", ".join(f"{case.name}: {case.state}" for case in of_ranks if case.step_s is None)
            if not self.rows:  # "1 rank", "none (ranks-1: failed)"
                self.base, self.base_text = middle, counted(ranks, "rank") if middle else f"none ({remark})"
            self.rows.append({
                "ranks": ranks, "cells": list(of_ranks[0].cells), "runs": len(timed), "case": middle and middle.name,
                "step_s": middle and middle.step_s, **self.speed_of(middle), "halo_hidden_percent": middle and middle.halo_hidden_percent,
                "remark": remark or None})
        # One problem has one answer on any ranks; cases that ended at other sweeps have other answers.
        problems = groups((case for case in cases if case.step_s is not None and case.fingerprint),
                          lambda case: (*case.cells, case.sweeps or 0))
        answers = {problem: {case.fingerprint for case in those} for problem, those in sorted(problems.items())}
        self.disagreement = next((f"{len(found)} different fingerprints of {extent_text(problem[:3])} cells (one problem has one answer "
                                  "on any ranks)" for problem, found in answers.items() if len(found) > 1), "")

    def speed_of(self, case):
        """Speed-up and efficiency; None if the case or the base has no time."""
        if not self.base or not case or case.step_s is None:
            return {"speedup": None, "efficiency_percent": None}
        rate, base_rate = (math.prod(each.cells) / each.step_s for each in (case, self.base))
        speedup = rate / (base_rate / self.base.ranks)
        return {"speedup": speedup, "efficiency_percent": 100 * speedup / case.ranks}


def scaling_series(cases):
    members = groups(range(len(cases)), lambda number: cases[number].series).values()
    return [ScalingSeries(numbers, [cases[number] for number in numbers]) for numbers in members]


def scaling_text(kind, label, series):
    """The printed table. `label`: the settings that the cases of the series share, or empty."""
    forms = {"ranks": str, "cells": extent_text, "runs": str, "step_s": "{:.6g}".format, "speedup": "{:.4g}".format,
             "efficiency_percent": percent, "halo_hidden_percent": percent}
    rows = [["ranks", "cells", "runs", "step_s", "speed-up", "efficiency", "hidden", "remark"], *(
        [*("-" if row[key] is None else form(row[key]) for key, form in forms.items()), escaped(row["remark"] or "")] for row in series.rows)]
    columns = 8 if any(row["remark"] for row in series.rows) else 7
    return (f"{kind} scaling{f' of {label}' if label else ''}, compared with {series.base_text}\n"
            f"{aligned('rrrrrrrl'[:columns], [row[:columns] for row in rows], 2)}"
            + (f"  {series.disagreement}\n" if series.disagreement else ""))
