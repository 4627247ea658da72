"""What a study has come to, by its study.json: cases, what varies between them, and what was reported of each."""

from pathlib import Path

from isotherm_tools.failure import COMMAND_LINE, DATA, FILE_MISSING, Failure
from isotherm_tools.json_record import read_record
from isotherm_tools.quantities import WORDS
from isotherm_tools.units import split_unit

FILE = "study.json"
FINISHED = ("done", "not converged")
# How columns end that are no plain number; the longer ones first.
ENDINGS = {"_bytes_per_s": "B/s", "points_per_s": "points/s", "_percent": "%", "_bytes": "B"}


def is_study(directory):
    return (Path(directory) / FILE).is_file()


class Study:
    def __init__(self, directory):
        self.path = Path(directory)
        if not self.path.is_dir():
            raise Failure(FILE_MISSING, f"{self.path} is no directory; name one that isotherm study has written")
        self.record = read_record(self.path / FILE, "isotherm-study", "study", "name the directory of a study: isotherm study "
                                  "--collect writes it")
        try:
            self.varied, self.units = list(self.record["varied"]), dict(self.record["units"])
            self.reported, self.columns = list(self.record["report"]), list(self.record["columns"])
            self.cases = [Case(case) for case in self.record["cases"]]
            self.name = Path(self.record["deck"]).stem
            self.scaling = [Scaled(self.record["scaling"]["kind"], each) for each in self.record["scaling"]["series"]] \
                if "scaling" in self.record else []
            self.axes = axes_of(self)
        except (KeyError, TypeError, AttributeError) as error:
            raise Failure(DATA, f"{self.path}/{FILE} is no study of isotherm ({error!r})") from error

    def sorted_cases(self):
        """As the program's own table has them: numbers before words, and what is not known last."""
        key = self.record["sort"]
        return sorted(self.cases, key=lambda case: place(case.value(key))) if key else self.cases

    @property
    def quantities(self):
        """What was reported and is a number in some case, without what varies."""
        return [name for name in self.reported if name not in (*self.varied, "ranks") and self.is_number(name)]

    def is_number(self, name):
        return any(is_number(case.value(name)) for case in self.cases)

    def chosen(self, columns):
        """`columns`: "step_s,max_K", or None for what was reported."""
        if not columns:
            return self.quantities
        names = columns.split(",")
        for name in names:
            if name not in self.columns:
                raise Failure(COMMAND_LINE, f"the study has no column {name}; use one of {', '.join(self.columns)}")
            if not self.is_number(name):
                raise Failure(DATA, f"no case of the study has a number in column {name}")
        return names

    def title(self, name):
        """"time per step [s]" of step_s, "grid.lengths.2 [m]"; as it is where there is no unit."""
        quantity, unit = self.quantity_and_unit(name)
        return f"{quantity} [{unit}]" if unit else quantity

    def quantity_and_unit(self, name):
        if name in self.units or "." in name:
            return name, self.units.get(name, "")
        words = WORDS.get(name)
        for ending, unit in ENDINGS.items():
            if name.endswith(ending):
                return words or name.removesuffix(ending).rstrip("_") or "rate", unit
        quantity, unit = split_unit(name)
        return words or quantity, unit


class Case:
    def __init__(self, content):
        self.name, self.state, self.values = content["name"], content["state"], dict(content["values"])
        self.exit_code, self.message, self.run = content["exit_code"], content["message"], content["run"]

    def value(self, name):
        """Of a column, or a varied key; None where it is not known."""
        return self.values.get(name)

    @property
    def is_finished(self):
        return self.state in FINISHED


class Scaled:
    """A series of cases on several counts of ranks, as the program has put them together."""

    def __init__(self, kind, content):
        self.kind, self.label, self.base = kind, content["label"], content["base"]
        self.disagreement, self.rows = content["disagreement"], [ScaledRow(row) for row in content["rows"]]


class ScaledRow:
    def __init__(self, content):
        self.ranks, self.cells, self.runs, self.remark = (content[key] for key in ("ranks", "cells", "runs", "remark"))
        self.case = content["case"]  # that counts: of its runs the one in the middle; None: none has a time
        self.step, self.speedup = content["step_s"], content["speedup"]
        self.efficiency, self.hidden = (as_share(content[key]) for key in ("efficiency_percent", "halo_hidden_percent"))


def as_share(percent):
    return None if percent is None else percent / 100


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def place(value):
    """Numbers before words, and what is not known last."""
    return (0, value, "") if is_number(value) else (2, 0, "") if value is None else (1, 0, str(value))


def axes_of(study):
    """Along what the cases lie: varied keys, without those that another decides, as the keys of a zip decide each other.
    Where they do not tell all cases apart, their names do. Numbers with most values come first. The number of a repeat is no
    axis: repeats are several points at one place."""
    found = {key: [str(case.value(key)) for case in study.cases] for key in study.varied}
    found = {key: values for key, values in found.items() if len(set(values)) > 1}

    def numeric(key):
        return all(is_number(case.value(key)) for case in study.cases)

    def worth(key):
        return key in study.reported, numeric(key), len(set(found[key])), -study.varied.index(key)

    for key in sorted(found, key=worth):
        others = [values for other, values in found.items() if other != key]
        if any(len(set(zip(values, found[key]))) == len(set(values)) for values in others):
            del found[key]
    repeated = found.pop("run", None) if study.scaling and len(found) > 1 else None
    if len(set(zip(*found.values(), *([repeated] if repeated else [])))) < len(study.cases):
        return ["name"] if len(study.cases) > 1 else []
    return sorted(found, key=lambda key: (not numeric(key), -len(set(found[key])) if numeric(key) else 0, study.varied.index(key)))
