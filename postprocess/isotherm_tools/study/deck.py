"""Expands a deck with `study:` or `scaling:` into its cases: the values of the varied keys and the name of each. The program
resolves and checks each case as it would for a run.

The program reads the deck: a node of it is a dict with `at` (its place: argument, line, column), `yaml` (its text), `same` (to compare
values: 16 and 16.0 are equal) and `text` of a scalar, `items` of a list, `keys` and `items` of a map."""

import re
import shlex
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

from isotherm_tools.program import DATA, RENAMED, UNAVAILABLE, Failure, raise_error
from isotherm_tools.study import collection
from isotherm_tools.text import counted, groups, meant, printable, shortened

MOST_CASES = 100000  # before exclusion
MOST_LINES = 100  # lines of problems
SHOWN = 3  # names of cases after a problem that not all cases have
LONGEST_NAME = 120  # bytes, so that a file name with suffix and sweep has less than 255
KEY = r"\{([^{}]*)\}"  # of study.name
# Reasons why keys cannot vary; the program has those of other keys. Ranks, which are no key of a deck, may vary.
WHY_NOT = {"ranks": "", "output": "cannot vary as a whole (its directory is the study's); vary the keys in it", **dict.fromkeys(
    ("output.directory", "output.overwrite"), "cannot vary (each case has a folder of its own in that of the study); remove it")}
RESERVED = ("study.csv", "study.json", "run.lock", "deck", "deck.resolved")  # names of files of a study or a run


class StudyDeck:
    """`host`: where the cases are to run: "this", "another", "either", or "" where that does not matter."""

    def __init__(self, program, path, overrides, arguments, limit=None, host="", plan=False):
        self.program, self.path, self.overrides = program, path, overrides
        self.ask = lambda requests: program.ask(path, overrides, arguments, requests)
        self.sections, = self.ask([{"sections": True}])
        sections = raise_error(self.sections)
        self.scaling, self.launcher, self.known_changes = sections["scaling"], sections["launcher"], {}
        problems = Problems(path, sections["places"])
        found = Expansion(sections, problems, limit or sections["limit"] or sections["default_limit"])
        check_sections(sections, found, problems)
        if problems.lines:
            lines = [line for _, line in sorted(problems.lines, key=lambda each: each[0])]
            if len(lines) > MOST_LINES:
                lines[MOST_LINES:] = [f"{path}: {len(lines) - MOST_LINES} more problems; mend these first"]
            raise Failure(DATA, "\n".join(lines))
        self.varied = list(found.varied)
        answers = self.ask([{"name": case.name, "ranks": case.ranks, "host": host or "another", "plan": plan,
                             "values": [key for key in found.varied if key not in case.settings],
                             "settings": [{"key": key, "value": node} for key, node in case.settings.items()]} for case in found.cases])
        check_deck([(case.name, answer["error"]) for case, answer in zip(found.cases, answers) if "error" in answer], len(answers))
        self.warnings = list(dict.fromkeys([*sections["warnings"], *(text for _, text in problems.warnings), *(
            warning for answer in answers for warning in answer["warnings"])]))
        self.directory, self.overwrite = Path(answers[-1]["directory"]), answers[-1]["overwrite"]
        self.cases = [case.resolved(answer) for case, answer in zip(found.cases, answers)]

    def check_cases(self):
        """Fails if this host cannot run a case."""
        for case in self.cases:
            if case.refused:
                raise Failure(case.refused["code"], f"{case.refused['text']} [case {case.name}]")

    def changes(self, pairs):
        """Differences of resolved decks, as "problem.steps 4 -> 6", without those of folder and wall-time limit. `pairs`: [(before, now)]."""
        unknown = list(dict.fromkeys(pair for pair in pairs if pair not in self.known_changes and pair[0] != pair[1]))
        for pair, answer in zip(unknown, self.ask([{"before": before, "now": now} for before, now in unknown]) if unknown else []):
            found, error = answer.get("changes"), answer.get("error")
            why = f"of another version: {error['text'].split('; ')[0]}" if error else "its deck.yaml is of no case"
            self.known_changes[pair] = [why] if found is None else [
                f"{each['key']} {each['before']} -> {each['now']}" for each in found
                if each["key"] not in ("output.directory", "output.overwrite", "solver.walltime")]
        return [self.known_changes.get(pair, []) for pair in pairs]


def check_deck(errors, cases):
    """Raises all errors. A line that all cases share is printed once; other lines end with the names of their cases."""
    texts = []
    for line, found in groups([(line, name) for name, error in errors for line in error["text"].split("\n")], lambda each: each[0]).items():
        who = f" [case{'' if len(found) == 1 else 's'} {', '.join(shortened([name for _, name in found], SHOWN))}]"
        texts.append(line if len(found) == cases > 1 else line + who)
    if texts:  # UNAVAILABLE if no case has an error of the deck: the deck is right, but this build lacks a feature
        raise Failure(DATA if any(error["code"] == DATA for _, error in errors) else UNAVAILABLE, "\n".join(texts))


class Problems:
    """Collects all problems of the sections, with their places from the program: (place, line) each."""

    def __init__(self, file, places):
        self.file, self.places, self.lines, self.warnings = file, places, [], []

    def place_of(self, key):
        while key not in self.places and key:
            key = key.rpartition(".")[0]
        return self.places.get(key, [0, 1, 1])

    def add(self, key, text, place=None, is_warning=False):
        argument, line, column = place = place or self.place_of(key)
        where = f"argument {argument}" if argument else f"{self.file}:{line}:{column}"
        (self.warnings if is_warning else self.lines).append((place, f"{where}: {printable(key)}: {text}"))

    def unlike(self, key, node, wanted, example):
        what = ("one value" if "text" in node else "an empty map" if node.get("keys") == [] else "a map" if "keys" in node else
                "an empty list" if node.get("items") == [] else "a list" if "items" in node else "nothing")
        self.add(key, f"{what} is given where {wanted} is expected; write {example}", node["at"])


@dataclass
class StudyCase:
    ranks: int
    settings: dict  # key -> node, in the order of the deck, ranks and run left out
    run: int = 1  # number of the repeat, for `scaling:`
    series: int = 0  # cases that differ only in ranks and run share a series
    word: str = ""  # its name in the list
    name: str = ""  # of its folder

    def resolved(self, answer):
        self.deck, self.cells, self.plan, self.refused = (answer.get(key) for key in ("deck", "cells", "plan", "refused"))
        self.settings = {**answer["values"], **self.settings}  # a key that the case omits has the deck's value
        self.folder = Path(answer["directory"]) / self.name
        self.deck_file = self.folder / f"{self.name}.yaml"
        # Measures its share of the work of a study: cells times sweeps; a steady case may do fewer sweeps.
        self.work = prod(self.cells) * max(answer["sweeps"], 1)
        return self

    def value_text(self, key):
        """The value as in names and tables; "default" if the case does not set the key and, in tables, no key of its deck has it."""
        if key in ("ranks", "run"):
            return str(getattr(self, key))
        node = self.settings.get(key, {"text": "default"})
        if "items" in node and "keys" not in node and all("text" in item for item in node["items"]):
            return "x".join(item["text"] for item in node["items"])
        return node["text"] if "text" in node else node["yaml"]


def is_given(node):
    return "text" in node or "items" in node


def within(key, around):
    return key.startswith(around + ".")


class Expansion:
    """runs x matrix x zip x list x counts of ranks, without excluded combinations. Counts of ranks change fastest, then the last key of
    the matrix; runs change slowest, so that drift of the machine affects all counts alike. Only one of these may set a key. Each is an
    axis: a list of settings that belong together, {key: node}; its `name` is the name in the list."""

    def __init__(self, sections, problems, limit):
        self.sections, self.problems, self.limit = sections, problems, limit
        self.scaling, self.repeats = sections["scaling"], sections["scaling"]["repeats"] if sections["scaling"] else 1
        self.taken = {}  # key -> the path of its map, its place
        self.varied = {}  # keys in the order of the deck
        self.cases = []
        counts = self.counts() if self.scaling else []  # first: no other axis may set the ranks too
        axes = self.lists(sections["matrix"], "study.matrix") + self.zip(sections["zip"], "study.zip")
        if maps := self.maps(sections["list"], "study.list"):
            axes.append([self.entry(each, f"study.list.{i}", "study.list") for i, each in enumerate(maps)])
        if self.scaling and sections["ranks"]:
            problems.add("study.ranks", "is set by scaling too; keep one")
        if self.repeats > 1:
            self.varied["run"] = None
            axes.insert(0, [{"run": number_node(run, [0, 1, 1])} for run in range(1, self.repeats + 1)])
        axes += [counts] if self.scaling else []
        excluded = self.maps(sections["exclude"], "study.exclude")
        varied = [*self.varied, *(["name"] if is_given(sections["list"]) else [])]
        for i, key in [(i, key) for i, entry in enumerate(excluded) for key in entry["keys"]
                       if varied and key["name"] not in varied]:
            problems.add(f"study.exclude.{i}.{key['name']}", f"does not vary; use one of {', '.join(varied)}", key["at"])
        if not any(is_given(sections[key]) for key in ("matrix", "zip", "list")) and not self.scaling:
            problems.add("study", "has no cases; add matrix, zip or list, or a section scaling")
        if not problems.lines:
            self.expand(axes, excluded)

    def expand(self, axes, excluded):
        count = prod(map(len, axes))
        if count > MOST_CASES:
            before = ", before any is excluded," if is_given(self.sections["exclude"]) else ""
            self.problems.add("study.limit", f"{count} cases{before} are more than any study may have ({MOST_CASES}); "
                                             "make several studies of it")
            return
        # Combinations that differ only in ranks and run form one series.
        series = prod(map(len, axes[1 if self.repeats > 1 else 0:-1])) if self.scaling else 1
        left_out = [0] * len(excluded)
        for number, picked in enumerate(product(*axes)):
            settings = {key: node for each in picked for key, node in each.items()}
            word = settings.pop("name", {"text": ""})["text"]
            values = {**{key: node["same"] for key, node in settings.items()}, "name": word}
            entry = next((i for i, each in enumerate(excluded) if all(
                values.get(key["name"]) == item.get("text" if key["name"] == "name" else "same")
                for key, item in zip(each["keys"], each["items"]))), None)
            if entry is not None:
                left_out[entry] += 1
            else:
                ranks, run = settings.pop("ranks", {"count": self.sections["ranks"] or 1}), settings.pop("run", {"count": 1})
                if "problem" in ranks and not self.problems.lines:  # a wrong count is one problem, even if many cases have it
                    self.problems.add("study.ranks", ranks["problem"], ranks["at"])
                of_series = number // len(axes[-1]) % series if self.scaling else 0
                self.cases.append(StudyCase(ranks.get("count", 1), settings, run["count"], of_series, word))
        for i, cases in enumerate(left_out):
            if cases == 0:
                self.warn_of_needless(f"study.exclude.{i}", excluded[i], axes)
        left = len(self.cases)
        if not left:
            self.problems.add("study.exclude", f"leaves out all {count} cases; remove an entry")
        elif left > self.limit:
            self.problems.add("study.limit", f"{left} cases are more than {self.limit}; write --limit {left} (or "
                                             "study.limit) to have them all, or exclude some")
        else:
            name_cases(self)

    def warn_of_needless(self, path, entry, axes):
        """An entry excludes no case: it is wrong if no case has one of its values, else earlier entries exclude its cases."""
        for key, item in zip(entry["keys"], entry["items"]):
            nodes = [settings[key["name"]] for axis in axes for settings in axis if key["name"] in settings]
            form = "text" if key["name"] == "name" else "same"
            if item.get(form) not in [node.get(form) for node in nodes]:
                known = ", ".join(dict.fromkeys(printable(node["yaml"]) for node in nodes))
                self.problems.add(f"{path}.{key['name']}", f"no case sets the value {printable(item['yaml'])}; use one of {known}",
                                  item["at"], is_warning=True)
                return
        self.problems.add(path, "excludes no further case; remove it?", is_warning=True)

    def lists(self, node, path, may_repeat=False):
        """{key: [values]}: an axis for each key."""
        axes = []
        if not is_given(node) or not self.is_map(node, path, "{key.path: [values]}"):
            return axes
        for key, values in zip(node["keys"], node["items"]):
            at = f"{path}.{key['name']}"
            if not self.may_give(key, path, path):
                continue
            if "items" not in values or "keys" in values:
                example = printable(values["yaml"]) if "text" in values else "value, value"
                self.problems.unlike(at, values, "a list of values", f"[{example}]")
                continue
            if not values["items"]:
                self.problems.add(at, "the list is empty (it would leave no case); write a value, or remove the key", values["at"])
                continue
            same = [value["same"] for value in values["items"]]
            for i, value in enumerate([] if may_repeat else values["items"]):
                if same.index(value["same"]) < i:
                    self.problems.add(f"{at}.{i}", f"{printable(value['yaml'])} appears twice; keep one", value["at"])
                    break
            axes.append([{key["name"]: value} for value in values["items"]])
        return axes

    def zip(self, node, path):
        """{key: [values]}, all lists of the same length: one axis, or none."""
        axes = self.lists(node, path, may_repeat=True)
        for axis in axes[1:]:
            if len(axis) != len(axes[0]):
                first, (key, value) = next(iter(axes[0][0])), next(iter(axis[0].items()))
                self.problems.add(f"{path}.{key}", f"has {counted(len(axis), 'value')} and {first} has {len(axes[0])} (a case "
                                                   "takes one of each); give them as many", value["at"])
        return [[{key: node for part in parts for key, node in part.items()} for parts in zip(*axes)]] if axes else []

    def entry(self, node, at, path):
        settings, seen = {}, {}
        for key, value in zip(node["keys"], node["items"]):
            name = key["name"]
            if name in seen:
                self.problems.add(f"{at}.{name}", f"appears twice (first on line {seen[name][1]}); keep one", key["at"])
                continue
            seen[name] = key["at"]
            if name == "name" and not value.get("text"):
                self.problems.unlike(f"{at}.name", value, "a word", "name: thin")
            elif name == "name" or self.may_give(key, at, path):
                settings[name] = value
        return settings

    def counts(self):
        path, counts = f"scaling.{self.scaling['unit']}", self.scaling["counts"]
        place = self.problems.place_of(path)
        self.taken["ranks"] = (path, place)
        self.varied["ranks"] = None
        for i, count in enumerate(counts):
            if count in counts[:i]:
                self.problems.add(path, f"{count} appears twice; keep one", place)
        return [{"ranks": number_node(count, place)} for count in counts]

    def maps(self, node, path):
        """The maps of a list; empty ones are a problem."""
        if not is_given(node):
            return []
        if "keys" in node or not node.get("items"):
            self.problems.unlike(path, node, "a list of maps", "[{key.path: value}]")
            return []
        return [each for i, each in enumerate(node["items"]) if self.is_map(each, f"{path}.{i}", "{key.path: value}")]

    def is_map(self, node, path, example):
        if not node.get("keys"):
            self.problems.unlike(path, node, "a map of keys", example)
        return bool(node.get("keys"))

    def may_give(self, key, at, path):
        """True if the key may vary, and no other of matrix, zip and list sets it, a part of it, or a map that contains it."""
        name = key["name"]
        if why := WHY_NOT[name] if name in WHY_NOT else self.sections["keys"][name]["problem"]:
            self.problems.add(f"{at}.{name}", why, key["at"])
            return False
        self.varied[name] = None
        for other in sorted(self.taken):
            where, place = self.taken[other]
            if other == name and where == path == "study.list" or not (other == name or within(name, other) or within(other, name)):
                continue
            who = where if other == name else f"'{other}' in {where}"
            self.problems.add(f"{at}.{name}", f"{who} on line {place[1]} sets it too; keep one", key["at"])
            return False
        self.taken.setdefault(name, (path, key["at"]))
        return True


def number_node(number, place):
    return {"at": place, "yaml": str(number), "same": str(number), "text": str(number), "count": number}


def name_cases(expansion):
    """Names cases by study.name, or by all that varies. Equal names are a problem."""
    problems, pattern, varied = expansion.problems, expansion.sections["name"], expansion.varied
    keys = [*varied, "name", "ranks"]
    for found in re.finditer(KEY + "|[{}]", pattern):
        key = found[1]
        if key not in keys:
            problems.add("study.name", f"a brace at character {found.start() + 1} of '{printable(pattern)}' has no partner; write "
                                       "{key.path}" if key is None else
                         f"'{printable(key)}' does not vary; " + meant(key, keys, f"use one of {', '.join(keys)}"))
            return
    entries = expansion.sections["list"].get("items", [])
    listed = {key["name"] for entry in entries for key in entry.get("keys", [])}
    first = {}
    for number, case in enumerate(expansion.cases, 1):
        name = re.sub(KEY, lambda found, case=case: case.word if found[1] == "name" else case.value_text(found[1]), pattern)
        if not pattern:  # "kernel-naive_cells-64"; a name from the list replaces the list's keys
            name = "_".join([*(f"{key.rpartition('.')[2]}-{case.value_text(key)}" for key in varied
                               if not (case.word and key in listed)), *([case.word] if case.word else [])])
        case.name = safe_name(name)
        settings = [f"name {printable(case.word)}"] if case.word else []
        who = f"case {number} ({', '.join(settings + [f'{key} {case.value_text(key)}' for key in varied])})"
        why = "is empty" if not case.name else f"has more than {LONGEST_NAME} bytes" if len(
            case.name.encode()) > LONGEST_NAME else "is that of a file of the study or of a run" if case.name in RESERVED else ""
        if why or case.name in first:
            problems.add("study.name", f"the name '{printable(case.name)}' of {who} {why}; write a pattern, such as "
                                       f"\"case_{{{next(iter(varied), 'name')}}}\"" if why else
                         f"{first[case.name]} and {who} have one name, '{case.name}' (and would have one folder); add to the pattern "
                         "a key that distinguishes them")
            return
        first[case.name] = who


def safe_name(text):
    """A name for a folder: all but letters, digits and "._+-" becomes '-', which is removed at the ends; never a hidden folder or an
    option."""
    return re.sub(r"-?[^\w.+-]+", "-", text).rstrip("-").lstrip(".-")


def launcher_problem(launcher, ranks):
    """Why these words cannot start so many ranks; empty if they can."""
    try:
        shlex.split(launcher)
    except ValueError as error:
        return f"cannot be split into words ({str(error).lower()}); write it as for a shell"
    return "" if "{ranks}" in launcher or ranks == 1 else 'has no {ranks}, the number to start; write it as in "mpirun -n {ranks}"'


def check_sections(sections, found, problems):
    """Rejects columns of study.report and study.sort that no case can have (paths within run.json, "a.b", are checked after the runs),
    options of sbatch that are not single lines, launchers that start other ranks, and overrides of varied keys."""
    varied = found.varied
    known = ["name", "ranks", "state", "exit_code", *varied, *collection.OF_RUN,
             *(collection.OF_SCALING if sections["scaling"] else [])]
    asked = [(name, "study.report") for name in sections["report"]] + ([(sections["sort"], "study.sort")] if sections["sort"] else [])
    renamed = {f"{section}.{old}": f"{section}.{new}" for section, names in RENAMED["isotherm-run"].items() for old, new in names.items()}
    for name, key in asked:
        if name in renamed:
            problems.add(key, f"'{name}' is an old path; use {renamed[name]}")
        elif "." not in name and name not in known:
            problems.add(key, f"unknown column '{printable(name)}'; "
                              + meant(name, known, f"use one of {', '.join(known)}, or a path within run.json"))
    for i, option in enumerate(sections["options"]):
        if not option.startswith("-") or any(c < " " for c in option):
            problems.add(f"study.slurm.options.{i}", f"'{printable(option)}' is no option of sbatch; write one as \"--partition=gpu\"")
    if problem := sections["launcher"] and launcher_problem(sections["launcher"], max((case.ranks for case in found.cases), default=1)):
        problems.add("study.launcher", problem)
    for each in sections["overrides"]:
        for key in varied:
            if each["key"] == key or within(each["key"], key):
                problems.add(each["key"], "varies in this study (the value would change no case); leave it out, or override "
                                          "study.matrix", [each["argument"], 1, 1])
