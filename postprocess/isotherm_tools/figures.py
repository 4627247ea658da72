"""What all figures share: a look, light or dark, and how they are saved."""

import re
import textwrap
from pathlib import Path

import matplotlib
from cycler import cycler

matplotlib.use("Agg")  # no display needed

from matplotlib import colors, pyplot  # noqa: E402  (after the choice of backend)
from matplotlib.collections import Collection  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.text import Text  # noqa: E402
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter  # noqa: E402

from isotherm_tools.program import COMMAND_LINE, Failure, write_whole  # noqa: E402

MOST_LETTERS = 23  # of a line beside curves
FORMATS = (".png", ".pdf", ".svg")
# Okabe and Ito's colours, which those who tell few colours apart can tell, and dashes for print without any.
PALETTE = BLUE, RED, *_ = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
PRECISIONS = {"fp32": BLUE, "fp64": RED}
MEASURED, PREDICTED, LIMIT, LESS = RED, BLUE, "black", "0.5"  # LESS: what is of less weight
CURVES = cycler(color=PALETTE) + cycler(linestyle=["-", "--", "-.", ":", "-", "--"])
WIDTH = 5.6  # inches of a panel: what a phone shows of it can still be read
SMALL = 9  # points, of notes and names beside curves: the least that a phone shows
STYLE = {"axes.prop_cycle": CURVES, "font.size": 10, "axes.titlesize": 11, "axes.spines.top": False, "axes.spines.right": False,
         "grid.color": "0.9", "axes.axisbelow": True, "legend.frameon": False, "legend.fontsize": SMALL,
         "axes.formatter.useoffset": False,  # 300.01 K, not 0.01 above a corner's "+3e2"
         "image.interpolation": "nearest",  # a smooth one blanks the cells next to a void too
         "figure.dpi": 150}


def look(**more):
    """Within it figures have this look, whatever matplotlib was told elsewhere."""
    return pyplot.style.context(["default", {**STYLE, **more}])


def draw(path, make, *arguments):
    with look():
        figure = make(*arguments)
        try:
            write_whole(path, lambda part: figure.savefig(part, format=Path(path).suffix[1:].lower(), facecolor="white"))
        finally:
            pyplot.close(figure)
    return path


def plain(text):
    """Names and labels of the user's, for matplotlib: what stands between two dollar signs would be read as a formula."""
    return text.replace("$", r"\$")


def name_curves(panel, **looks):
    """Beside the panel, where no curve is; a single curve needs no name."""
    if len(panel.get_legend_handles_labels()[0]) > 1:
        legend = panel.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, **looks)
        for text in (legend.get_title(), *legend.get_texts()):
            paths = re.sub(rf"(?=.{{{MOST_LETTERS + 1}}})(.{{1,{MOST_LETTERS - 1}}}\.)(?=[a-z])", r"\1\n", text.get_text())
            text.set_text("\n".join(textwrap.fill(line, MOST_LETTERS) for line in paths.split("\n")))  # or curves have no room


def plain_ticks(axis):
    """1, 2, 5, 10: a range of less than a decade has labels too."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())


def check_format(path, formats=FORMATS):
    """The path. Before any work: can the file be written in the format that its name asks for?"""
    path = Path(path)
    if path.suffix.lower() not in formats:
        raise Failure(COMMAND_LINE, f"{path}: unknown format; end the name in {' or '.join(formats)}")
    return path


GROUND, INK = 0.13, 0.9  # lightness of what was white, and of what was black
PAPER = "#1e2127"  # the ground itself: that of the page's cards
LIFT = 0.35  # of a curve, towards white
GREY = 0.04  # channels that differ by less make no colour
INKS = {Text: ("color",), Line2D: ("color", "markerfacecolor", "markeredgecolor"), Patch: ("facecolor", "edgecolor"),
        Collection: ("facecolor", "edgecolor")}


def stays(artist):
    """The artist lies on a map of colours, which is the same on every page."""
    artist.on_a_map = True
    return artist


def darken(figure):
    """Changes the figure, which has been drawn, to the colours of a dark page: paper becomes dark and ink light, and
    curves a little lighter. What lies on a map of temperatures stays as it is there."""
    artists = figure.findobj(lambda each: not hasattr(each, "on_a_map"))
    artists += filter(None, (text.get_bbox_patch() for text in artists if isinstance(text, Text)))
    for artist in artists:
        names = next((names for kind, names in INKS.items() if isinstance(artist, kind)), ())
        found = {name: getattr(artist, f"get_{name}")() for name in names}  # all first: some of them follow others
        for name, colour in found.items():
            shade = getattr(artist, f"set_{name}")
            if isinstance(artist, Collection):
                shade(list(map(dark, colour)))
            elif colors.to_rgba(colour)[3] > 0:  # else there is nothing to see
                shade(dark(colour))
    for panel in figure.axes:  # ticks may be made anew
        panel.tick_params(which="both", color=dark("black"), labelcolor=dark("black"))
    figure.set_facecolor(PAPER)


def dark(colour):
    red, green, blue, alpha = colors.to_rgba(colour)
    low, high = min(red, green, blue), max(red, green, blue)
    if (low, high) == (1, 1):
        return (*colors.to_rgb(PAPER), alpha)
    if high - low < GREY:
        return (*[INK - (INK - GROUND) * low] * 3, alpha)
    return (*(channel + LIFT * (1 - channel) for channel in (red, green, blue)), alpha)
