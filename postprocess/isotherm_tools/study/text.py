"""Numbers, names and tables as text for people: the words and forms of the program."""

import re
import shlex
import unicodedata
from difflib import get_close_matches

REAL = re.compile(r"[-+]?(?!0\d)(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$")


def human_bytes(count):
    if abs(count) < 1024:
        return f"{count:.0f} B"
    unit = 0
    while abs(count) >= (1024 if unit == 0 else 1023.995) and unit < 6:
        count, unit = count / 1024, unit + 1
    return f"{count:.2f} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB')[unit]}"


def human_duration(seconds):
    if not 0 <= seconds < float("inf"):
        return "unknown"
    for limit, form in ((1e-300, "0 s"), (0.9995e-3, f"{seconds * 1e6:.3g} us"), (0.9995, f"{seconds * 1e3:.3g} ms"),
                        (9.995, f"{seconds:.2f} s"), (59.95, f"{seconds:.1f} s")):
        if seconds < limit:
            return form
    if seconds > 1e15:
        return "for ever"
    whole = int(seconds + 0.5)
    minutes, hours = whole // 60, whole // 3600
    if minutes < 60:
        return f"{minutes} min {whole % 60:02} s"
    return f"{hours} h {minutes % 60:02} min" if hours < 24 else f"{hours // 24} d {hours % 24:02} h"


def left_text(seconds):
    return "" if seconds is None else f"; about {human_duration(seconds)} left"


def grouped(number):
    return f"{number:,}".replace(",", " ")


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def extent_text(cells):
    return " x ".join(map(str, cells))


def shortest(value):
    """Reads back to the same bits: 1e6, 1e-6, 0.1, 64."""
    text = repr(float(value)).removesuffix(".0")
    if abs(value) >= 1e6 and float(f"{value:g}") == value:
        text = f"{value:g}"
    digits, e, exponent = text.partition("e")
    return f"{digits}e{int(exponent)}" if e else text


def as_number(text):
    """As a deck writes numbers; None for all else."""
    return float(text) if REAL.match(text) and abs(float(text)) < float("inf") else None


def escaped(name):
    """No name can forge a line of a log or move a terminal's cursor."""
    special = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}
    return "".join(special.get(c) or (f"\\x{ord(c):02x}" if c < " " or c == "\x7f" else c) for c in name)


def in_quotes(name):
    return f"'{escaped(str(name))}'"


def printable(text, longest=60):
    """For messages: cut, and control characters escaped."""
    shown = "".join(f"\\x{ord(c):02X}" if c < " " or "\x7f" <= c < "\xa0" else c for c in text[:longest])
    return shown + ("..." if len(text) > longest else "")


def shell_word(text):
    """bash reads it as one word, and as this text."""
    text = str(text)
    if any(c < " " or c == "\x7f" for c in text):
        return "$'" + escaped(text).replace("'", "\\'") + "'"
    return shlex.quote(text)


def nearest_word(word, known):
    """The word of `known` that was probably meant; empty where none is near."""
    return next(iter(get_close_matches(word.lower(), known, 1)), "")


def display_width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shortened(text, columns):
    width = 0
    for i, c in enumerate(text):
        width += display_width(c)
        if width > columns:
            return text[:i]
    return text


class Table:
    """Columns of equal width; `alignment` holds 'l' or 'r' for each column, the first row is the head."""

    def __init__(self, alignment, rows):
        self.alignment, self.rows = alignment, rows

    def text(self, indent=0):
        widths = [max(map(display_width, column)) for column in zip(*self.rows)]
        return "".join(" " * indent + "  ".join(map(padded, row, widths, self.alignment)).rstrip(" ") + "\n" for row in self.rows)


def padded(cell, width, alignment):
    blanks = " " * (width - display_width(cell))
    return blanks + cell if alignment == "r" else cell + blanks
