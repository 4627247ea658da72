"""Numbers, names and tables as text for people: the words and forms of the program."""

import re
import unicodedata

MARKS = "/._-+=,:@%"  # of a word that a shell takes as it is
REAL = re.compile(r"[-+]?(?!0\d)(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$")
GAP = 2  # blanks between columns


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
    if text and all(c in MARKS or (c.isascii() and c.isalnum()) for c in text):
        return text
    if any(c < " " or c == "\x7f" for c in text):
        return "$'" + escaped(text).replace("'", "\\'") + "'"
    return "'" + text.replace("'", "'\\''") + "'"


def nearest_word(word, known):
    """The word of `known` that was probably meant; empty where none is near."""
    best, fewest = "", max(1, len(word) // 3) + 1
    if not 0 < len(word) <= 40:
        return best
    for candidate in known:
        count = edits(word.lower(), candidate)
        if count < fewest:
            best, fewest = candidate, count
    return best


def edits(a, b):
    """Insert, delete, change, swap two neighbours: optimal string alignment."""
    before, last = [], list(range(len(b) + 1))
    for i, c in enumerate(a, 1):
        row = [i]
        for j, d in enumerate(b, 1):
            row.append(min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (c != d)))
            if i > 1 and j > 1 and c == b[j - 2] and a[i - 2] == d:
                row[j] = min(row[j], before[j - 2] + 1)
        before, last = last, row
    return last[-1]


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
    """Columns of equal width; `alignment` holds 'l' or 'r' for each column, the first row is the head.

    On a terminal of `width` columns that the lines do not fit, heads and left-aligned cells continue in further lines, broken
    between words; numbers stay whole. Where that does not fit either, the columns behind those on the left stand in tables below
    each other; and where not even one of them does, each row is a block of lines, a cell with its head each."""

    def __init__(self, alignment, rows):
        self.alignment, self.rows = alignment, rows

    def text(self, indent=0, width=None):
        widths = [max(display_width(row[c]) for row in self.rows if c < len(row)) for c in range(len(self.alignment))]
        if width is None or self.fit(widths, indent, width):
            return "".join(self.lines_of(r, widths, indent) for r in range(len(self.rows)))
        return self.parts(indent, width) or self.blocks(indent)

    def may_break(self, row, column):
        return row == 0 or self.alignment[column] == "l"

    def fit(self, widths, indent, most):
        """Narrows `widths`; whether lines of at most `most` could be made."""
        least = [max((display_width(piece.rstrip(" ")) for r, row in enumerate(self.rows) if c < len(row)
                      for piece in (pieces_of(row[c]) if self.may_break(r, c) else [row[c]])), default=0)
                 for c in range(len(widths))]
        while indent + sum(widths) + GAP * (len(widths) - 1) > most:
            loose = [c for c in range(len(widths)) if widths[c] > least[c]]
            if not loose:
                return False
            widths[max(loose, key=lambda c: (widths[c], -c))] -= 1
        return True

    def lines_of(self, r, widths, indent):
        """The last lines of heads stand above the cells."""
        cells = [broken(cell, widths[c]) if self.may_break(r, c) else [cell] for c, cell in enumerate(self.rows[r])]
        height = max(map(len, cells))
        cells = [[""] * (height - len(cell)) + cell if r == 0 else cell + [""] * (height - len(cell)) for cell in cells]
        text = ""
        for line in zip(*cells):
            padded = []
            for c, cell in enumerate(line):
                blanks = " " * (widths[c] - display_width(cell))
                padded.append(blanks + cell if self.alignment[c] == "r" else cell + blanks)
            text += (" " * indent + (" " * GAP).join(padded)).rstrip(" ") + "\n"
        return text

    def parts(self, indent, most):
        """Tables of as many columns as fit; empty where a single one does not."""
        columns = len(self.alignment)
        keys = self.alignment.find("r", 1)
        keys = 1 if keys < 0 else keys
        texts, first = [], keys
        while first < columns:
            for last in range(columns, first, -1):
                part = self.some_columns(keys, first, last)
                widths = [max(display_width(row[c]) for row in part.rows if c < len(row)) for c in range(len(part.alignment))]
                if part.fit(widths, indent, most):
                    break
            else:
                return ""
            texts.append(part.text(indent, most))
            first = last
        return "\n".join(texts)

    def some_columns(self, keys, first, last):
        def some(row):
            return row[:keys] + row[max(first, keys):last]
        return Table(some(self.alignment), [some(row) for row in self.rows])

    def blocks(self, indent):
        heads = self.rows[0]
        width = max(map(display_width, heads))
        blocks = []
        for row in self.rows[1:]:
            blocks.append("".join(f"{'':{indent}}{head}{' ' * (width - display_width(head))}  {cell}\n"
                                  for head, cell in zip(heads, row) if cell))
        return "\n".join(blocks)


def pieces_of(cell):
    """What a line may not be broken within: a word, a part of a_name or a.path, not a number."""
    return re.findall(r".*?(?: (?! )|_|/|\.(?=[A-Za-z]))(?=.)|.+$", cell, re.DOTALL) or [cell]


def broken(cell, width):
    lines = [""]
    for piece in pieces_of(cell):
        if lines[-1] and display_width((lines[-1] + piece).rstrip(" ")) > width:
            lines.append(piece)
        else:
            lines[-1] += piece
    return [line.rstrip(" ") for line in lines]
