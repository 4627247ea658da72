"""A quantity of all cases of a study against what varies, and the verb that draws it."""

from matplotlib import pyplot
from matplotlib.ticker import EngFormatter, NullFormatter, NullLocator

from isotherm_tools import figures
from isotherm_tools.failure import DATA, Failure
from isotherm_tools.study_record import Study, is_number

WIDTH, HEIGHT = 5.6, 3.6  # inches, of one quantity
MOST_LINES = 8  # more cannot be told apart
MOST_TICKS = 9  # at the values themselves
WIDE = 8  # times: axes that reach further are logarithmic
PREFIXED = ("s", "B", "B/s", "points/s")  # units of which values are far from 1
MARGIN = 0.05  # of the axis, beyond its first and last value
MARKERS = "os^Dv<>P"
ROOM = 0.1  # of an axis, for the word at a tick
LONG_WORDS = 24  # characters of all words along an axis, from which on they are slanted


def add(verbs):
    verb = verbs.add_parser("study-plot", help="draw what a study reports against what varies in it",
                              description="Draws each quantity that the study reports, a line for all that varies else.")
    verb.set_defaults(action=draw_study)
    verb.add_argument("study", metavar="STUDY_DIRECTORY")
    verb.add_argument("--columns", metavar="NAME,NAME", help="of study.csv, without units (default: those of study.report)")
    verb.add_argument("--out", metavar="FILE", help="png, pdf or svg by its ending (default: in the study's directory)")


def draw_study(options):
    study = Study(options.study)
    path = options.out or study.path / "study.png"
    figures.check_format(path)
    names = study.chosen(options.columns)
    if not names:
        raise Failure(DATA, f"{study.path} reports no number of any case; name columns with --columns")
    if (why := why_not(study)) is not None:
        raise Failure(DATA, f"{study.path} cannot be drawn ({why}); all values are in study.csv")
    with pyplot.style.context(["default", figures.STYLE]):
        figure = quantities_figure(study, names)
        figure.axes[0].set_title(f"{figures.plain(study.name)}: {len(study.cases)} cases", loc="left")
        figures.save(figure, path)
    return path


def why_not(study):
    """Why its quantities have no figure; None where they have one."""
    if not study.axes:
        return "it has one case"
    lines = len(lines_of(study))
    return None if lines <= MOST_LINES else f"{', '.join(study.axes[1:])} would make {lines} lines"


def lines_of(study):
    """The cases by all axes but the first: their values -> cases, in the order of the study."""
    lines = {}
    for case in study.cases:
        lines.setdefault(tuple(case.value(key) for key in study.axes[1:]), []).append(case)
    return lines


def quantities_figure(study, names):
    """A panel a quantity, above each other."""
    figure, panels = pyplot.subplots(len(names), squeeze=False, figsize=(WIDTH, HEIGHT * len(names)), layout="constrained")
    for panel, name in zip(panels[:, 0], names):
        draw_quantity(panel, study, name)
    return figure


def draw_quantity(panel, study, name):
    """Numbers in a line, words side by side. Cases that did not end well leave a gap; open points: not converged."""
    axis = study.axes[0]
    along = values_along(study)
    is_line = all(map(is_number, along))
    for number, (values, cases) in enumerate(lines_of(study).items()):
        label = figures.plain(", ".join(map(short, values)))
        points = [(case.value(axis) if is_line else along.index(case.value(axis)), case) for case in cases]
        points.sort(key=lambda point: point[0])
        good = [(x, case.value(name)) for x, case in points if case.is_finished and is_number(case.value(name))]
        colour = f"C{number % len(figures.CURVES)}"
        marker = MARKERS[number % len(MARKERS)]
        line, = panel.plot(*zip(*good), color=colour, marker=marker, markersize=5, linewidth=1.5, label=label) if good else [None]
        if line and not is_line:
            line.set_linestyle("none")
        odd = [(x, case.value(name)) for x, case in points if case.state == "not converged" and is_number(case.value(name))]
        if odd:
            panel.plot(*zip(*odd), color=colour, marker=marker, markersize=5, linestyle="none", markerfacecolor="white")
    label_axis(panel, study, along, is_line)
    reach = [case.value(name) for case in study.cases if case.is_finished and is_number(case.value(name))]
    if reach and min(reach) > 0 and max(reach) >= WIDE * WIDE * min(reach):
        panel.set_yscale("log")
    quantity, unit = study.quantity_and_unit(name)
    panel.set_ylabel(study.title(name))
    if unit in PREFIXED:
        panel.set_ylabel(quantity)
        panel.yaxis.set_major_formatter(EngFormatter(unit))
        panel.yaxis.set_minor_formatter(NullFormatter())
    panel.grid(which="major", color="0.9")
    panel.set_axisbelow(True)
    figures.name_curves(panel, title=", ".join(map(study.title, study.axes[1:])), fontsize=9, title_fontsize=9)


def values_along(study):
    """Of the first axis, each once: numbers ascending, words in the order of the study."""
    values = list(dict.fromkeys(case.value(study.axes[0]) for case in study.cases))
    return sorted(values) if all(map(is_number, values)) else values


def label_axis(panel, study, along, is_line):
    panel.set_xlabel(study.title(study.axes[0]))
    if not is_line:
        slanted = sum(len(short(value)) for value in along) > LONG_WORDS
        panel.set_xticks(range(len(along)), [figures.plain(short(value)) for value in along], rotation=30 if slanted else 0,
                         ha="right" if slanted else "center")
        panel.set_xlim(-0.5, len(along) - 0.5)
        return
    if len(along) > 1 and along[0] > 0 and along[-1] >= WIDE * along[0]:
        beyond = (along[-1] / along[0]) ** MARGIN
        panel.set_xscale("log")
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xlim(along[0] / beyond, along[-1] * beyond)
    elif len(along) > 1:
        beyond = (along[-1] - along[0]) * MARGIN
        panel.set_xlim(along[0] - beyond, along[-1] + beyond)
    if len(along) <= MOST_TICKS:
        ticks = apart(panel, along)
        panel.set_xticks(ticks, list(map(short, ticks)))


def apart(panel, values):
    """Those of the values that leave room for each other's words; `values` ascend."""
    left, right = panel.transData.transform([(panel.get_xlim()[0], 1), (panel.get_xlim()[1], 1)])[:, 0]
    kept, last = [], None
    for value in values:
        at = (panel.transData.transform((value, 1))[0] - left) / (right - left)
        if last is None or at - last >= ROOM:
            kept.append(value)
            last = at
    return kept


def short(value):
    return f"{value:g}" if is_number(value) else str(value)
