"""A figure in the colours of a dark page: paper becomes dark and ink light, and curves a little lighter. What lies on a map of
temperatures stays as it is there."""

from matplotlib import colors
from matplotlib.collections import Collection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

GROUND, INK = 0.13, 0.9  # lightness of what was white, and of what was black
PAPER = "#1e2127"  # the ground itself: that of the page's cards
LIFT = 0.35  # of a curve, towards white
GREY = 0.04  # channels that differ by less make no colour


def stays(artist):
    """The artist lies on a map of colours, which is the same on every page."""
    artist.on_a_map = True
    return artist


def darken(figure):
    """Changes the figure, which has been drawn."""
    for artist in figure.findobj(lambda each: not hasattr(each, "on_a_map")):
        if isinstance(artist, Text):
            artist.set_color(dark(artist.get_color()))
            if artist.get_bbox_patch() is not None:
                darken_patch(artist.get_bbox_patch())
        elif isinstance(artist, Line2D):
            swap(artist, "color", "markerfacecolor", "markeredgecolor")
        elif isinstance(artist, Patch):
            darken_patch(artist)
        elif isinstance(artist, Collection):
            artist.set_edgecolor([dark(colour) for colour in artist.get_edgecolor()])
            artist.set_facecolor([dark(colour) for colour in artist.get_facecolor()])
    for panel in figure.axes:  # ticks may be made anew
        panel.tick_params(which="both", color=dark("black"), labelcolor=dark("black"))
    figure.set_facecolor(PAPER)


def darken_patch(patch):
    swap(patch, "facecolor", "edgecolor")


def swap(artist, *names):
    """All are read first: some of them follow others."""
    found = {name: getattr(artist, f"get_{name}")() for name in names}
    for name, colour in found.items():
        if colors.to_rgba(colour)[3] > 0:  # else there is nothing to see
            getattr(artist, f"set_{name}")(dark(colour))


def dark(colour):
    red, green, blue, alpha = colors.to_rgba(colour)
    low, high = min(red, green, blue), max(red, green, blue)
    if (low, high) == (1, 1):
        return (*colors.to_rgb(PAPER), alpha)
    if high - low < GREY:
        return (*[INK - (INK - GROUND) * low] * 3, alpha)
    return (*(channel + LIFT * (1 - channel) for channel in (red, green, blue)), alpha)
