"""Reads the results of a study from its study.json, and draws its quantities against the varied keys."""

import math
from pathlib import Path
from types import SimpleNamespace

from matplotlib import pyplot
from matplotlib.ticker import EngFormatter, NullFormatter, NullLocator

from isotherm_tools import figures
from isotherm_tools.program import COMMAND_LINE, DATA, Failure, add_subcommand, content_of, read_record
from isotherm_tools.study.state import FINISHED
from isotherm_tools.text import WORDS, groups, is_number, split_unit, titled

FILE = "study.json"


def is_study(directory):
    return (Path(directory) / FILE).is_file()


class Study:
    def __init__(self, directory):
        self.path = Path(directory)
        self.record = read_record(self.path / FILE, "isotherm-study", "study", "name the directory of a study: isotherm study "
                                  "--collect writes it")
        with content_of(self.path / FILE, "study"):
            self.varied, self.units = list(self.record["varied"]), dict(self.record["units"])
            self.reported, self.columns = list(self.record["report"]), list(self.record["columns"])
            # `value(name)`: the value of a column or a varied key; None if it is unknown.
            self.cases = [SimpleNamespace(**case, value=case["values"].get, is_finished=case["state"] in FINISHED)
                          for case in self.record["cases"]]
            self.numbers = {name for case in self.cases for name, value in case.values.items() if is_number(value)}
            # The reported columns with a number in some case, without the varied keys.
            self.quantities = [name for name in self.reported if name not in (*self.varied, "ranks") and name in self.numbers]
            self.name = Path(self.record["deck"]).stem
            # Series of cases on several counts of ranks. `case` of a row: the median of its runs; None: no run has a time.
            scaling = self.record.get("scaling", {"series": []})
            self.scaling = [SimpleNamespace(**{**each, "kind": scaling["kind"], "rows": [SimpleNamespace(**row) for row in each["rows"]]})
                            for each in scaling["series"]]
            self.axes = axes_of(self)

    def title(self, name):
        """"time per sweep [s]" of step_s, "grid.lengths.2 [m]"; the name alone if it has no unit."""
        return titled(*self.quantity_and_unit(name))

    def quantity_and_unit(self, name):
        if name in self.units or "." in name:
            return name, self.units.get(name, "")
        quantity, unit = split_unit(name)
        return WORDS.get(name, quantity), unit


def axes_of(study):
    """The axes of the cases: varied keys, except those that another key determines, as the keys of a zip determine each other. If the
    keys do not distinguish all cases, the only axis is their name. Axes of numbers are first, those with most values before others. The
    number of a repeat is no axis: repeats are several points at one value."""
    found = {key: values for key in study.varied if len(set(values := [str(case.value(key)) for case in study.cases])) > 1}

    def numeric(key):
        return all(is_number(case.value(key)) for case in study.cases)

    for key in sorted(found, key=lambda key: (key in study.reported, numeric(key), len(set(found[key])), -study.varied.index(key))):
        others = [values for other, values in found.items() if other != key]
        if any(len(set(zip(values, found[key]))) == len(set(values)) for values in others):
            del found[key]
    repeated = found.pop("run", None) if study.scaling and len(found) > 1 else None
    if len(set(zip(*found.values(), *([repeated] if repeated else [])))) < len(study.cases):
        return ["name"] if len(study.cases) > 1 else []
    return sorted(found, key=lambda key: (not numeric(key), -len(set(found[key])) if numeric(key) else 0, study.varied.index(key)))


HEIGHT = 3.6  # inches, of one quantity
MOST_LINES = 8  # more cannot be distinguished
MOST_TICKS = 9  # with ticks at the values themselves
WIDE = 8  # ratio of last to first value above which an axis is logarithmic
PREFIXED = ("s", "B", "B/s", "points/s")  # units of which values are far from 1
MARGIN = 0.05  # of the axis, beyond its first and last value
MARKERS = "os^Dv<>P"
ROOM = 0.1  # share of an axis, for the label of a tick
LONG_WORDS = 24  # characters of all labels of an axis, above which they are slanted


def add(subcommands):
    subcommand = add_subcommand(subcommands, "study-plot", draw_study,
                                "draw each quantity that a study reports against the varied keys", "STUDY_DIRECTORY")
    subcommand.add_argument("--columns", metavar="NAME,NAME", help="of study.csv, without units (default: those of study.report)")
    subcommand.add_argument("--orders", action="store_true", help="add the order of each line: its slope in logarithms, at its low end")


def draw_study(options):
    study = Study(options.run)
    path = figures.check_format(options.out or study.path / "study.png")
    names = options.columns.split(",") if options.columns else study.quantities
    for name in names:
        if name not in study.columns:
            raise Failure(COMMAND_LINE, f"the study has no column {name}; use one of {', '.join(study.columns)}")
        if name not in study.numbers:
            raise Failure(DATA, f"no case of the study has a number in column {name}")
    if not names:
        raise Failure(DATA, f"{study.path} reports no number of any case; name columns with --columns")
    if (why := why_not(study)) is not None:
        raise Failure(DATA, f"{study.path} cannot be drawn ({why}); all values are in study.csv")
    return figures.draw(path, quantities_figure, study, names, f"{figures.plain(study.name)}: {len(study.cases)} cases", options.orders)


def why_not(study):
    """Why the quantities cannot be drawn; None if they can."""
    if not study.axes:
        return "it has one case"
    lines = len(lines_of(study))
    return None if lines <= MOST_LINES else f"{', '.join(study.axes[1:])} would make {lines} lines"


def lines_of(study):
    """Groups the cases by all axes but the first: values -> cases, in the order of the study."""
    return groups(study.cases, lambda case: tuple(map(case.value, study.axes[1:])))


def quantities_figure(study, names, title="", orders=False):
    figure, panels = pyplot.subplots(len(names), squeeze=False, figsize=(figures.WIDTH, HEIGHT * len(names)), layout="constrained")
    for panel, name in zip(panels[:, 0], names):
        draw_quantity(panel, study, name, orders)
    panels[0, 0].set_title(title, loc="left")
    return figure


def draw_quantity(panel, study, name, orders=False):
    """Numbers form a line, words are ticks. Unfinished cases have no point; open points have not converged."""
    axis = study.axes[0]
    along = list(dict.fromkeys(case.value(axis) for case in study.cases))  # words in the order of the study
    is_line = all(map(is_number, along))
    along = sorted(along) if is_line else along
    for number, (values, cases) in enumerate(lines_of(study).items()):
        points = [(case.value(axis) if is_line else along.index(case.value(axis)), case.value(name), case) for case in cases
                  if case.is_finished and is_number(case.value(name))]
        points.sort(key=lambda point: point[0])
        look = {"color": f"C{number % len(figures.CURVES)}", "marker": MARKERS[number % len(MARKERS)], "markersize": 5}
        if points:
            label = [*map(short, values), *([order_text(points)] if orders and is_line else [])]
            line, = panel.plot(*zip(*(point[:2] for point in points)), label=figures.plain(", ".join(label)), **look)
            if not is_line:
                line.set_linestyle("none")
        if odd := [(x, value) for x, value, case in points if case.state == "not converged"]:
            panel.plot(*zip(*odd), linestyle="none", markerfacecolor="white", **look)
    label_axis(panel, study, along, is_line)
    least, most = panel.dataLim.intervaly
    if 0 < least and WIDE * WIDE * least <= most:
        panel.set_yscale("log")
    quantity, unit = study.quantity_and_unit(name)
    panel.set_ylabel(quantity if unit in PREFIXED else titled(quantity, unit))
    if unit in PREFIXED:
        panel.yaxis.set_major_formatter(EngFormatter(unit))
        panel.yaxis.set_minor_formatter(NullFormatter())
    panel.grid()
    figures.name_curves(panel, title=", ".join(map(study.title, study.axes[1:])), title_fontsize=figures.SMALL)


def order_text(points):
    """The order of an error against a step, from the two shortest steps."""
    (x0, low, _), (x1, high, _) = points[:2] if len(points) > 1 else 2 * points
    return f"order {math.log(high / low) / math.log(x1 / x0):.2f}" if 0 < x0 < x1 and 0 < low and 0 < high else "no order"


def label_axis(panel, study, along, is_line):
    panel.set_xlabel(study.title(study.axes[0]))
    if not is_line:
        slanted = sum(len(short(value)) for value in along) > LONG_WORDS
        panel.set_xticks(range(len(along)), [figures.plain(short(value)) for value in along], rotation=30 if slanted else 0,
                         ha="right" if slanted else "center")
        panel.set_xlim(-0.5, len(along) - 0.5)
        return
    if len(along) > 1:
        if along[0] > 0 and along[-1] >= WIDE * along[0]:
            panel.set_xscale("log")
            panel.xaxis.set_minor_locator(NullLocator())
        scale = panel.xaxis.get_transform()
        low, high = scale.transform((along[0], along[-1]))
        beyond = (high - low) * MARGIN
        panel.set_xlim(scale.inverted().transform((low - beyond, high + beyond)))
    if len(along) <= MOST_TICKS:
        to_axis, ticks, last = panel.transData + panel.transAxes.inverted(), [], -1
        for value in along:
            if (at := to_axis.transform((value, 1))[0]) - last >= ROOM:  # else their labels would overlap
                ticks.append(value)
                last = at
        panel.set_xticks(ticks, list(map(short, ticks)))


def short(value):
    return "-" if value is None else f"{value:g}" if is_number(value) else str(value)
