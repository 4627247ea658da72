"""One self-contained HTML page of sections: no script, no network, no other files. This module does not depend on runs: callers make
`Section`s of tables, paragraphs and pictures; empty sections are omitted."""

import base64
import io
import re
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple

from matplotlib import pyplot

from isotherm_tools.figures import PAPER, darken

TEMPLATE = Path(__file__).with_suffix(".html")
RASTER_DPI = 190  # for screens with two pixels per pixel of the page
NUMBER = re.compile(r"-|-?\d[\d.]*(e[+-]?\d+)?( ?(%|[^\W\d]{1,3}(/s)?))?")  # -, 1.5, 2e-06, 3 µs, 97 %, 4 GB/s
SEAM = re.compile(r"([._/])(?=[A-Za-z])")
# The style of a result; other results are "odd". The last two are from earlier records.
WORDS = {"DONE": "good", "CONVERGED": "good", "VERIFIED": "good", "FAILED": "bad", "PASS": "good", "FAIL": "bad"}


class Section(NamedTuple):
    anchor: str  # a word
    title: str
    parts: list  # HTML from the functions below


def page(heading, result, lead, sections, footer):
    """The text of the page. `result`: the word of the RESULT line of a run, or None; all other arguments are plain text."""
    shown = [section for section in sections if any(section.parts)]
    badge = f' <span class="badge {WORDS.get(result, "odd")}">{escape(result)}</span>' if result else ""
    links = "".join(f'<a href="#{each.anchor}">{escape(each.title)}</a>' for each in shown)
    main = "\n".join(line for each in shown for line in (
        f'<section id="{each.anchor}">', f"<h2>{escape(each.title)}</h2>", *filter(None, each.parts), "</section>"))
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        heading=escape(heading), badge=badge, lead=escape(lead), links=links, main=main, footer=escape(footer))


def paragraph(text):
    return text and f"<p>{escape(text)}</p>"


def warnings(texts):
    """A highlighted box."""
    lines = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return lines and f'<div class="warnings" role="note"><ul>{lines}</ul></div>'


def tiles(figures):
    """Figures of merit: (name, value, description) each."""
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><dd>{escape(remark)}</dd></div>"
                    for name, value, remark in figures)
    return f'<dl class="tiles">{items}</dl>'


def facts(rows):
    """Names and values, in two columns; rows without a value are left out."""
    lines = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
                    for name, value in rows if value is not None and value != "")
    return f'<div class="scroll" tabindex="0"><table class="facts">{lines}</table></div>'


def table(head, rows):
    """Numbers with units are aligned to the right; words may be broken on narrow screens."""
    rows = [[str(cell) for cell in row] for row in rows]
    looks = [' class="number"' if all(map(NUMBER.fullmatch, column)) else "" for column in zip(*rows)] or [""] * len(head)
    top = "".join(f'<th scope="col"{look}>{breakable(name)}</th>' for name, look in zip(head, looks))
    lines = "".join("<tr>" + "".join(f"<td{look}>{breakable(cell)}</td>" for cell, look in zip(row, looks)) + "</tr>" for row in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def breakable(text):
    """Paths of keys and names_with_parts have no blanks: marks where they may be broken."""
    return SEAM.sub(r"\1<wbr>", escape(text))


def text_block(title, text, open_too=False):
    """Monospaced text, collapsed under its title unless `open_too`."""
    return f"<details{' open' if open_too else ''}><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def pictures(*items):
    """Pictures side by side if there is room."""
    return f'<div class="pictures">{"".join(items)}</div>' if items else ""


def picture(figure, alt, caption, form="svg"):
    """An element with `figure`, of matplotlib, which is closed; `alt`: its text for screen readers. `form`: svg, or png for many
    cells. It is stored in light and in dark colours, as a picture cannot query whether the page is dark."""
    def data(ground):
        """The bytes of one figure are always the same: without dates and random names."""
        content, is_svg = io.BytesIO(), form == "svg"
        with pyplot.rc_context({"svg.hashsalt": "isotherm"}):
            figure.savefig(content, format=form, facecolor=ground, dpi=RASTER_DPI, metadata={"Date": None} if is_svg else None)
        return f"data:image/{'svg+xml' if is_svg else form};base64,{base64.b64encode(content.getvalue()).decode()}"

    width, height = figure.get_size_inches() * 96
    light = data("white")
    figure.set_layout_engine("none")  # one layout for both
    darken(figure)
    dark = data(PAPER)
    pyplot.close(figure)
    return (f'<figure><picture><source media="screen and (prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" width="{width:.0f}" height="{height:.0f}" alt="{escape(alt)}"></picture>'
            f"<figcaption>{escape(caption)}</figcaption></figure>")
