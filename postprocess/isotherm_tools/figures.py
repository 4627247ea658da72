"""What all figures share: a look, and how they are saved."""

import textwrap
from pathlib import Path

import matplotlib
from cycler import cycler

matplotlib.use("Agg")  # no display needed

from matplotlib import pyplot  # noqa: E402  (after the choice of backend)

from isotherm_tools.failure import COMMAND_LINE, Failure  # noqa: E402
from isotherm_tools.whole_file import write_whole  # noqa: E402

MOST_LETTERS = 22  # of a line beside curves
FORMATS = ("png", "pdf", "svg")
# Okabe and Ito's colours, which those who tell few colours apart can tell, and dashes for print without any.
CURVES = cycler(color=["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]) + cycler(
    linestyle=["-", "--", "-.", ":", "-", "--"])
STYLE = {
    "axes.prop_cycle": CURVES,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,  # 300.01 K, not 0.01 above a corner's "+3e2"
    "figure.dpi": 150,
}


def plain(text):
    """Names and labels of the user's, for matplotlib: what stands between two dollar signs would be read as a formula."""
    return text.replace("$", r"\$")


def name_curves(panel, **looks):
    """Beside the panel, where no curve is; a single curve needs no name."""
    if len(panel.get_legend_handles_labels()[0]) > 1:
        legend = panel.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False, **looks)
        for text in (legend.get_title(), *legend.get_texts()):
            text.set_text(textwrap.fill(text.get_text(), MOST_LETTERS))  # or there was no room for the curves


def check_format(path):
    """Before any work: can the file be written in the format that its name asks for?"""
    if Path(path).suffix[1:].lower() not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise Failure(COMMAND_LINE, f"{path}: unknown picture format; end the name in one of {known}")


def save(figure, path):
    form = Path(path).suffix[1:].lower()
    try:
        write_whole(path, lambda part: figure.savefig(part, format=form, facecolor="white"))
    finally:
        pyplot.close(figure)
