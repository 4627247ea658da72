"""The choices that a deck leaves open, as axes, and every legal combination of their values. What is legal the program says."""

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Callable, NamedTuple

from isotherm_tools.failure import COMMAND_LINE, Failure
from isotherm_tools.program import raise_error
from isotherm_tools.text import in_quotes

DEEPEST = 8  # layers of ghosts, as `halo_width: auto` weighs them
NOWHERE = [0, 0, 0]  # in no file and no argument


class Axis(NamedTuple):
    name: str
    key: str
    values: Callable  # of a Job, and whether the axis was named: the plainest first
    of_ranks: bool = False  # means nothing on one
    unasked: bool = True  # varies where no axis is named


def reductions(job, named):
    """Unasked those that `auto` may take."""
    return [row["name"] for row in job.rows("reductions") if named or row["automatic"]]


def tiles(job, _named):
    return list(dict.fromkeys(name for row in job.rows("kernels") for names in row["tiles"].values() for name in names))


def widths(job, _named):
    return [str(width) for width in range(1, min(DEEPEST, job.base["interval"]) + 1)]


def process_grids(job, _named):
    """The cheapest by estimate first: a run would take it."""
    sizes = range(1, job.ranks + 1)
    grids = [grid for grid in product(sizes, sizes, sizes) if prod(grid) == job.ranks]
    cheapest = tuple(job.base["plan"]["process_grid"])
    return [f"[{x},{y},{z}]" for x, y, z in sorted(grids, key=lambda grid: grid != cheapest)]


# Where they are too many together, the later make way for the earlier.
AXES = [
    Axis("kernel", "solver.kernel", lambda job, _: [row["name"] for row in job.rows("kernels")]),
    Axis("tile", "solver.tile", tiles, unasked=False),
    Axis("transport", "parallel.transport", lambda job, _: [row["name"] for row in job.listed["transports"]], of_ranks=True),
    Axis("overlap", "parallel.overlap", lambda *_: ["false", "true", "in_kernel"], of_ranks=True),
    Axis("halo_width", "solver.halo_width", widths, of_ranks=True),
    Axis("time_block", "solver.time_block", widths, unasked=False),
    Axis("process_grid", "parallel.process_grid", process_grids, of_ranks=True),
    Axis("cuda_graph", "solver.cuda_graph", lambda *_: ["false", "true"]),
    Axis("reduction", "solver.reduction", reductions),
]


def parse_axes(text):
    """"kernel,tile" as axes, in the order of the table."""
    names = [name for name in text.split(",") if name] if text else []
    known = [axis.name for axis in AXES]
    for name in names:
        if name not in known:
            raise Failure(COMMAND_LINE, f"isotherm: compare: --axes: there is no axis {in_quotes(name)}; use some of {', '.join(known)}")
    return [axis for axis in AXES if axis.name in names]


def node(word):
    """A value of the deck, for the program."""
    if word.startswith("["):
        return {"at": NOWHERE, "items": [node(each) for each in word[1:-1].split(",")]}
    return {"at": NOWHERE, "text": word}


@dataclass
class Job:
    """The deck on so many ranks. `listed`: isotherm list --json; `base`: what the program says of the deck with the named axes open."""

    program: object
    path: str
    overrides: list
    arguments: list
    ranks: int
    named: list

    def __post_init__(self):
        self.listed = self.program.listed()
        self.opened = {axis.key: "auto" for axis in self.named}
        self.base, = self.ask([{"settings": {}, "plan": True}])
        raise_error(raise_error(self.base), "refused")

    def rows(self, table):
        """Those of the backend; whether the devices run them is a matter of legality."""
        return [row for row in self.listed[table] if row["backend"] == self.base["plan"]["backend"]]

    def ask(self, requests):
        """An answer for each: the deck with its settings, run for a comparison."""
        return self.program.ask(self.path, self.overrides, self.arguments, [
            {"ranks": self.ranks, "host": "this", "compare": {}, **each,
             "settings": [{"key": key, "value": node(word)} for key, word in {**self.opened, **each["settings"]}.items()]}
            for each in requests])

    def legal(self, settings):
        return ["error" not in answer and "refused" not in answer for answer in self.ask([{"settings": each} for each in settings])]


class Combination(NamedTuple):
    words: tuple = ()  # by Plan.axes
    settings: dict = {}

    def name(self, axes):
        """"kernel=openmp halo_width=2"."""
        return " ".join(f"{axis.name}={word}" for axis, word in zip(axes, self.words)) or "the deck"


class Plan:
    """The axes that vary, those that would make more combinations than the limit, and all legal combinations: the last axis changes
    fastest, so the first combination, which others are compared with, is the plainest."""

    def __init__(self, job, limit):
        self.job, self.axes, self.left, self.combinations = job, [], [], [Combination()]
        self.values = {axis.name: self.values_of(axis) for axis in (job.named or self.open_axes())}
        for axis in [axis for axis in AXES if len(self.values.get(axis.name, [])) > 1]:
            more = self.extended(axis)
            if not job.named and len(more) > limit:
                self.left.append(axis)
            else:
                self.axes.append(axis)
                self.combinations = more
        if not self.combinations:
            raise Failure(COMMAND_LINE, "compare: no combination of these axes is legal here (tiles need the axis kernel, or "
                                        "solver.kernel); name others with --axes")
        if len(self.combinations) > limit:
            self.check_count(limit)

    def open_axes(self):
        """What the deck pins does not vary."""
        axes = [axis for axis in AXES if axis.unasked]
        answers = self.job.ask([{"settings": {axis.key: "auto"}} for axis in axes])
        return [axis for axis, answer in zip(axes, answers) if answer.get("deck") == self.job.base["deck"]]

    def values_of(self, axis):
        """Those that are legal whatever the others are. Tiles are legal with their kernel alone."""
        if axis.of_ranks and self.job.ranks == 1:
            return []
        values = axis.values(self.job, axis in self.job.named)
        return values if axis.name == "tile" else [
            word for word, legal in zip(values, self.job.legal([{axis.key: word} for word in values])) if legal]

    def extended(self, axis):
        """All legal combinations with the values of one axis more. A kernel without tiles has the one that it has."""
        bare = {row["name"] for row in self.job.rows("kernels") if not any(row["tiles"].values())}
        more = [Combination((*each.words, word), {**each.settings, axis.key: word}) for each in self.combinations
                for word in (["auto"] if axis.name == "tile" and each.settings.get("solver.kernel") in bare else self.values[axis.name])]
        return [each for each, legal in zip(more, self.job.legal([each.settings for each in more])) if legal]

    def check_count(self, limit):
        last = self.axes[-1]
        sizes = " x ".join(f"{axis.name} ({len(self.values[axis.name])})" for axis in self.axes)
        raise Failure(COMMAND_LINE, f"compare: {sizes} have more than {limit} legal combinations; name fewer with --axes, give one a value "
                                    f"such as {last.key}={self.values[last.name][0]}, or raise --limit")
