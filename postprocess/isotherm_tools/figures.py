"""The common look of all figures, light or dark, and how they are saved."""

import re
import textwrap
from pathlib import Path

from cycler import cycler
from matplotlib import colors, pyplot
from matplotlib.collections import Collection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from isotherm_tools.program import COMMAND_LINE, Failure, write_whole

MOST_LETTERS = 23  # of a line next to curves
# Okabe and Ito's colours, which colour-blind readers can distinguish, and dashes for print without colours.
PALETTE = BLUE, RED, *_ = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
PRECISIONS = {"fp32": BLUE, "fp64": RED}
MEASURED, PREDICTED, LIMIT, LESS = RED, BLUE, "black", "0.5"  # LESS: for less important lines
CURVES = cycler(color=PALETTE) + cycler(linestyle=["-", "--", "-.", ":", "-", "--"])
WIDTH = 5.6  # inches of a panel: still readable on a phone
SMALL = 9  # points, of notes and names next to curves: the smallest size readable on a phone
STYLE = {"axes.prop_cycle": CURVES, "font.size": 10, "axes.titlesize": 11, "axes.spines.top": False, "axes.spines.right": False,
         "grid.color": "0.9", "axes.axisbelow": True, "legend.frameon": False, "legend.fontsize": SMALL,
         "axes.formatter.useoffset": False,  # 300.01 K, not 0.01 above a corner's "+3e2"
         "image.interpolation": "nearest",  # smooth interpolation also blanks the cells next to a void
         "figure.dpi": 150}


def look(**more):
    """A context in which figures have this look, whatever the matplotlib settings are."""
    return pyplot.style.context(["default", {**STYLE, **more}])


def draw(path, make, *arguments):
    with look():
        figure = make(*arguments)
        try:
            write_whole(path, lambda part: figure.savefig(part, format=Path(path).suffix[1:].lower(), facecolor="white",
                                                          bbox_inches="tight"))  # titles may be wider than the figure
        finally:
            pyplot.close(figure)
    return path


def plain(text):
    """Escapes names and labels of the user for matplotlib, which reads text between two dollar signs as a formula."""
    return text.replace("$", r"\$")


def name_curves(panel, **looks):
    """Adds a legend next to the panel, where it covers no curve; a single curve has none."""
    if len(panel.get_legend_handles_labels()[0]) > 1:
        legend = panel.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, **looks)
        for text in (legend.get_title(), *legend.get_texts()):
            paths = re.sub(rf"(?=.{{{MOST_LETTERS + 1}}})(.{{1,{MOST_LETTERS - 1}}}\.)(?=[a-z])", r"\1\n", text.get_text())
            text.set_text("\n".join(textwrap.fill(line, MOST_LETTERS) for line in paths.split("\n")))  # otherwise curves have no room


def plain_ticks(axis):
    """Labels at 1, 2, 5, 10, so that a range of less than a decade has labels too."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())


def check_format(path, formats=(".png", ".pdf", ".svg")):
    """Returns the path. Checks before any work that the file can be written in the format that its name requires."""
    path = Path(path)
    if path.suffix.lower() not in formats:
        raise Failure(COMMAND_LINE, f"{path}: unknown format; end the name in {' or '.join(formats)}")
    return path


GROUND, INK = 0.13, 0.9  # new lightness of white, and of black
PAPER = "#1e2127"  # the background, equal to that of the page's cards
LIFT = 0.35  # share by which curves are lightened
GREY = 0.04  # a colour whose channels differ by less counts as grey
INKS = {Text: ("color",), Line2D: ("color", "markerfacecolor", "markeredgecolor"), Patch: ("facecolor", "edgecolor"),
        Collection: ("facecolor", "edgecolor")}


def stays(*artists):
    """Marks artists on a colour map, so that darken() keeps their colours: the map is the same on dark pages."""
    for artist in artists:
        artist.on_a_map = True


def darken(figure):
    """Changes a drawn figure to the colours of a dark page: white becomes dark, black becomes light, and curves become a little
    lighter. Artists marked by stays() do not change."""
    artists = figure.findobj(lambda each: not hasattr(each, "on_a_map"))
    artists += filter(None, (text.get_bbox_patch() for text in artists if isinstance(text, Text)))
    for artist in artists:
        names = next((names for kind, names in INKS.items() if isinstance(artist, kind)), ())
        found = {name: getattr(artist, f"get_{name}")() for name in names}  # reads all first: some colours depend on others
        for name, colour in found.items():
            shade = getattr(artist, f"set_{name}")
            if isinstance(artist, Collection):
                shade(list(map(dark, colour)))
            elif colors.to_rgba(colour)[3] > 0:  # else it is invisible
                shade(dark(colour))
    for panel in figure.axes:  # ticks may be created again
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
