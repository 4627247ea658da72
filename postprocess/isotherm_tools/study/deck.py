"""A deck with `study:` or `scaling:` as its cases, each resolved and checked by the program as a run of it would be."""

from pathlib import Path

from isotherm_tools.failure import COMMAND_LINE, DATA, UNAVAILABLE, Failure
from isotherm_tools.study import expansion
from isotherm_tools.study.program import raise_error
from isotherm_tools.study.text import nearest_word, printable

SHOWN = 3  # names of cases behind a problem that not all have


class DeckCase:
    """`study`: what varies; the rest as the program has resolved it."""

    def __init__(self, study, answer):
        self.study, self.name, self.ranks = study, study.name, study.ranks
        self.deck, self.cells, self.plan = answer["deck"], answer["cells"], answer.get("plan")
        self.refused = answer.get("refused")
        self.folder = Path(answer["directory"]) / study.name
        # For the share that it has in a study: cells times sweeps, of which a steady case may do fewer.
        self.work = self.cells[0] * self.cells[1] * self.cells[2] * max(answer["sweeps"], 1)

    @property
    def deck_file(self):
        return self.folder / f"{self.name}.yaml"


class StudyDeck:
    """`host`: where the cases are to run: "this", "another", "either", or "" where that does not matter."""

    def __init__(self, program, path, overrides, arguments, limit=None, host="", plan=False):
        self.program, self.path, self.overrides, self.arguments = program, path, overrides, arguments
        self.sections, = self.ask([{"sections": True}])
        raise_error(self.sections)
        found = self.expand(limit)
        self.varied = found.varied
        self.cases = self.resolve(found.cases, host, plan)
        self.known_changes = {}

    def ask(self, requests):
        return self.program.ask(self.path, self.overrides, self.arguments, requests)

    @property
    def scaling(self):
        return self.sections["scaling"]

    @property
    def launcher(self):
        return self.sections["launcher"]

    def expand(self, limit):
        sections = self.sections
        problems = expansion.Problems(self.path, sections["places"])
        problems.warnings += sections["warnings"]
        found = expansion.Expansion(sections, problems, limit or sections["limit"] or sections["default_limit"])
        expansion.check_columns(sections, found.varied, problems)
        expansion.check_slurm(sections["options"], problems)
        for each in sections["overrides"]:
            for key in found.varied:
                if each["key"] == key or expansion.within(each["key"], key):
                    problems.add(each["key"], "varies in this study (the value would change no case); leave it out, or override "
                                              "study.matrix", [each["argument"], 1, 1])
        problems.raise_if_any()
        self.warnings = problems.warnings
        return found

    def resolve(self, cases, host, plan):
        answers = self.ask([{"name": case.name, "ranks": case.ranks, "host": host or "another", "plan": plan,
                             "settings": [{"key": key, "value": node} for key, node in case.settings]} for case in cases])
        refuse_wrong([(case.name, answer["error"]) for case, answer in zip(cases, answers) if "error" in answer], len(cases))
        for answer in answers:
            self.warnings += [warning for warning in answer["warnings"] if warning not in self.warnings]
        self.directory, self.overwrite = Path(answers[-1]["directory"]), answers[-1]["overwrite"]
        return [DeckCase(case, answer) for case, answer in zip(cases, answers)]

    def refuse_cases(self):
        """What a run of a case would be refused for."""
        for case in self.cases:
            if case.refused:
                raise Failure(case.refused["code"], f"{case.refused['text']} [case {case.name}]")

    def keep_case(self, name):
        names = [case.name for case in self.cases]
        if name not in names:
            near = nearest_word(name, names)
            raise Failure(COMMAND_LINE, f"--case {printable(name)}: the study has no case of this name; "
                          + (f"did you mean '{near}'?" if near else "see isotherm study --dry-run"))
        self.cases = [case for case in self.cases if case.name == name]

    def changes(self, pairs):
        """What of resolved decks differs, as "problem.steps 4 -> 6"; where they lie does not matter. `pairs`: [(before, now)]."""
        unknown = list(dict.fromkeys(pair for pair in pairs if pair not in self.known_changes and pair[0] != pair[1]))
        if unknown:
            for pair, answer in zip(unknown, self.ask([{"before": before, "now": now} for before, now in unknown])):
                found = raise_error(answer)["changes"]
                self.known_changes[pair] = ["its deck.yaml is of no case"] if found is None else [
                    f"{each['key']} {each['before']} -> {each['now']}" for each in found
                    if each["key"] not in ("output.directory", "output.overwrite")]
        return [[] if before == now else self.known_changes[before, now] for before, now in pairs]


def refuse_wrong(errors, cases):
    """A line of the deck is often wrong for all of them; lines that not every case has end in those that do."""
    lines = {}
    for name, error in errors:
        for line in error["text"].split("\n"):
            lines.setdefault(line, []).append(name)
    if not lines:
        return
    texts = []
    for line, names in lines.items():
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        all_of_several = len(names) == cases and cases > 1
        texts.append(line if all_of_several else
                     f"{line} [case{'' if len(names) == 1 else 's'} {', '.join(names[:SHOWN])}{more}]")
    # Of the last case's own code where the deck is at fault in none: a right deck that this build lacks something for.
    raise Failure(DATA if any(error["code"] == DATA for _, error in errors) else UNAVAILABLE, "\n".join(texts))
