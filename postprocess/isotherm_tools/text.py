"""Formats numbers, units, names, columns and tables as text, in the same way as the program."""

import csv
import io
import re
import shlex
import unicodedata
from difflib import get_close_matches
from typing import NamedTuple

REAL = re.compile(r"[-+]?(?!0\d)(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$")


def human_bytes(count):
    if abs(count) < 1024:
        return f"{count:.0f} B"
    power = next((power for power in range(1, 6) if abs(count) < 1023.995 * 1024**power), 6)
    return f"{count / 1024**power:.2f} {'KMGTPE'[power - 1]}iB"


def human_duration(seconds):
    if not 0 <= seconds < float("inf"):
        return "unknown"
    whole = int(seconds + 0.5)
    minutes, hours = whole // 60, whole // 3600
    forms = ((1e-300, "0 s"), (0.9995e-3, f"{seconds * 1e6:.3g} us"), (0.9995, f"{seconds * 1e3:.3g} ms"),
             (9.995, f"{seconds:.2f} s"), (59.95, f"{seconds:.1f} s"), (3599.5, f"{minutes} min {whole % 60:02} s"),
             (86399.5, f"{hours} h {minutes % 60:02} min"), (1e15, f"{hours // 24} d {hours % 24:02} h"))
    return next((form for limit, form in forms if seconds < limit), "for ever")


def grouped(number):
    return f"{number:,}".replace(",", " ")


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shortened(items, most, where=""):
    """The first `most` items, and the number of the rest."""
    return [*items[:most], *([f"and {len(items) - most} more{where}"] if len(items) > most else [])]


def groups(items, key):
    """key(item) -> items, in the order in which the keys first appear."""
    found = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def extent_text(cells):
    return " x ".join(map(str, cells))


def shortest(value):
    """The shortest text that reads back to the same bits: 1e6, 1e-6, 0.1, 64."""
    text = repr(float(value)).removesuffix(".0")
    if abs(value) >= 1e6 and float(f"{value:g}") == value:
        text = f"{value:g}"
    digits, e, exponent = text.partition("e")
    return f"{digits}e{int(exponent)}" if e else text


def as_number(text):
    """The number, if the text is one as decks write them; else None."""
    return float(text) if REAL.match(text) and abs(float(text)) < float("inf") else None


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def place(value):
    """A key to sort by: numbers before words, and unknown values last."""
    return (0, value, "") if is_number(value) else (2, 0, "") if value is None else (1, 0, str(value))


def escaped(name):
    """Escapes control characters, so that no name can forge a line of a log or move a terminal's cursor."""
    special = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}
    return "".join(special.get(c) or (f"\\x{ord(c):02x}" if c < " " or c == "\x7f" else c) for c in name)


def in_quotes(name):
    return f"'{escaped(str(name))}'"


def printable(text, longest=60):
    """For messages: truncates the text and escapes control characters."""
    shown = "".join(f"\\x{ord(c):02X}" if c < " " or "\x7f" <= c < "\xa0" else c for c in text[:longest])
    return shown + ("..." if len(text) > longest else "")


def shell_words(words):
    """Quotes the words so that bash reads each as one word with this text."""
    return " ".join("$'" + escaped(word).replace("'", "\\'") + "'" if any(c < " " or c == "\x7f" for c in word) else
                    shlex.quote(word) for word in map(str, words))


def meant(word, known, otherwise, form="'{}'"):
    """A hint with the most similar word of `known`, such as "did you mean 'slice'?"; `otherwise` if no word is similar."""
    near = get_close_matches(word.lower(), known, 1)
    return f"did you mean {form.format(near[0])}?" if near else otherwise


def display_width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def aligned(alignment, rows, indent=0):
    """A table with columns of equal width; `alignment` holds 'l' or 'r' for each."""
    def padded(cell, width, side):
        blanks = " " * (width - display_width(cell))
        return blanks + cell if side == "r" else cell + blanks

    widths = [max(map(display_width, column)) for column in zip(*rows)]
    return "".join(" " * indent + "  ".join(map(padded, row, widths, alignment)).rstrip(" ") + "\n" for row in rows)


def csv_text(rows):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


class Unit(NamedTuple):
    name: str
    si: float  # metres or seconds


LENGTHS = [Unit("nm", 1e-9), Unit("µm", 1e-6), Unit("mm", 1e-3), Unit("m", 1.0), Unit("km", 1e3)]
# A unit of time is used from this number of seconds on.
TIMES = [(0.0, Unit("ns", 1e-9)), (1e-6, Unit("µs", 1e-6)), (1e-3, Unit("ms", 1e-3)), (1.0, Unit("s", 1.0)),
         (600.0, Unit("min", 60.0)), (3 * 3600.0, Unit("h", 3600.0)), (3 * 86400.0, Unit("d", 86400.0))]


def length_unit(metres):
    """The largest unit that is not larger than `metres`; the smallest is 1 nm."""
    return [unit for unit in LENGTHS if abs(metres) >= unit.si * (1 - 1e-9) or unit is LENGTHS[0]][-1]


def format_length(metres, unit, digits=6):
    return f"{metres / unit.si:.{digits}g} {unit.name}"


def time_unit(seconds):
    return [unit for least, unit in TIMES if abs(seconds) >= least][-1] if seconds else Unit("s", 1.0)


def format_time(seconds):
    return format_length(seconds, time_unit(seconds), digits=4)


def si(value, unit):
    """"7.12 GB/s" of 7.12e9 and "B/s"; a dash where there is no value."""
    if value is None:
        return "-"
    prefixes = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")]
    size, prefix = next(((size, name) for size, name in prefixes if abs(value) >= size * (1 - 1e-9)), (1.0, ""))
    return f"{value / size:.3g} {prefix}{unit}".rstrip()


def percent(value):
    return "-" if value is None else f"{value:.1f} %"


FACES = {f"wall_{axis}_{end}_W": f"{axis}_{end}" for axis in "xyz" for end in ("min", "max")}
WORDS = {
    "min_K": "lowest temperature", "max_K": "peak temperature", "mean_K": "mean temperature", "residual_K": "residual",
    "max_error_K": "largest error", "l2_error_K": "root mean square error", "heat_J": "heat in the domain",
    "rate_W": "stored heat", "source_W": "heat from sources", "balance_W": "heat unaccounted for",
    "relative_balance": "share of the heat that is unaccounted for", "nan_cells": "cells that are not a number",
    "time_s": "time of the problem", "wall_s": "wall time", "step_s": "time per sweep", "points_per_s": "cell updates",
    "effective_bandwidth_bytes_per_s": "effective bandwidth", "copy_bandwidth_share_percent": "share of the copy bandwidth",
    "halo_fraction_percent": "share of the halo", "halo_hidden_percent": "hidden share of the halo",
    "host_peak_bytes": "peak memory", "efficiency_percent": "efficiency", "speedup": "speed-up",
    **{name: f"heat through {face}" for name, face in FACES.items()}}
AXES = {"K": "temperature", "W": "heat into the domain", "J": "heat in the domain", "s": "time"}  # axis titles for several columns
SHORT = {"min_K": "lowest", "max_K": "peak", "mean_K": "mean", "rate_W": "stored", "source_W": "sources",
         "balance_W": "unaccounted", **FACES}  # names of curves on such an axis


# Endings of columns with a unit; the longer ones first.
ENDINGS = {"_bytes_per_s": "B/s", "points_per_s": "points/s", "_percent": "%", "_bytes": "B", **{f"_{unit}": unit for unit in "KJWs"}}


def split_unit(column):
    """("wall_x_min", "W") of the column wall_x_min_W; the unit of counts and shares is "". Only `residual` does not end in its unit."""
    ending = next((ending for ending in ENDINGS if column.endswith(ending)), "")
    return column.removesuffix(ending), "K" if column == "residual" else ENDINGS.get(ending, "")


def quantity(column):
    """Texts for a column of history.csv: ("peak temperature", "peak" as the short name on a shared axis, "temperature" as the title of
    that axis, "K" or "" for counts and shares). A column without an entry keeps its name."""
    name, unit = split_unit(column)
    if column.startswith("hist_"):
        return f"cells in {column}", column, "cells", ""
    words = WORDS.get(column, name.replace("_", " "))
    return words, SHORT.get(column, words), words if name == column else AXES.get(unit, words), unit


def titled(words, unit):
    return f"{words} [{unit}]" if unit else words
