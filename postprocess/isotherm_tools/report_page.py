"""One self-contained HTML page of sections: no script, no network, nothing beside the file.

It knows nothing of runs: whoever has something to report makes `Section`s of tables, paragraphs and pictures."""

import base64
import io
import re
from html import escape
from typing import NamedTuple

from matplotlib import pyplot

from isotherm_tools.dark_figures import PAPER, darken
from isotherm_tools.report_style import STYLE

RASTER_DPI = 190  # for screens that show two pixels where the page asks for one
NUMBER = re.compile(r"-|-?\d[\d.]*(e[+-]?\d+)?( ?(%|[^\W\d]{1,3}(/s)?))?")  # -, 1.5, 2e-06, 3 µs, 97 %, 4 GB/s
SEAM = re.compile(r"([._/])(?=[A-Za-z])")
# The look of a result; all else is odd. The last two are those of earlier records.
WORDS = {"DONE": "good", "CONVERGED": "good", "VERIFIED": "good", "FAILED": "bad", "PASS": "good", "FAIL": "bad"}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{heading}{badge}</h1>
<p>{lead}</p>
<nav aria-label="sections">{links}</nav>
</header>
<main>
{sections}
</main>
<footer><p>{footer}</p></footer>
</body>
</html>
"""


class Section(NamedTuple):
    anchor: str  # a word
    title: str
    parts: list  # of HTML, as the functions below make it


def page(heading, result, lead, sections, footer):
    """The whole text. `result`: as the RESULT line of a run, or None; all else is plain text."""
    shown = [section for section in sections if section.parts]
    return PAGE.format(
        title=escape(f"{heading} - isotherm"),
        style=STYLE,
        heading=escape(heading),
        badge=f' <span class="badge {WORDS.get(result, "odd")}">{escape(result)}</span>' if result else "",
        lead=escape(lead),
        links="".join(f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section in shown),
        sections="\n".join(map(section_html, shown)),
        footer=escape(footer),
    )


def section_html(section):
    parts = "\n".join(section.parts)
    return f'<section id="{section.anchor}">\n<h2>{escape(section.title)}</h2>\n{parts}\n</section>'


def paragraph(text):
    return f"<p>{escape(text)}</p>"


def warnings(texts):
    """A box that is seen first."""
    lines = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<div class="warnings" role="note"><ul>{lines}</ul></div>'


def tiles(figures):
    """Figures of merit: (name, value, remark) each."""
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><dd>{escape(remark)}</dd></div>"
                    for name, value, remark in figures)
    return f'<dl class="tiles">{items}</dl>'


def facts(rows):
    """Names and values, in two columns; rows without a value are left out."""
    lines = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
                    for name, value in rows if value is not None and value != "")
    return f'<div class="scroll" tabindex="0"><table class="facts">{lines}</table></div>'


def table(head, rows):
    """Numbers stand on the right, with their units; words may be broken where a screen is narrow."""
    rows = [[str(cell) for cell in row] for row in rows]
    looks = [' class="number"' if all(map(NUMBER.fullmatch, column)) else "" for column in zip(*rows)] or [""] * len(head)
    top = "".join(f'<th scope="col"{look}>{breakable(name)}</th>' for name, look in zip(head, looks))
    lines = "".join("<tr>" + "".join(f"<td{look}>{breakable(cell)}</td>" for cell, look in zip(row, looks)) + "</tr>" for row in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def breakable(text):
    """Paths of keys and names_with_parts have no blanks to be broken at."""
    return SEAM.sub(r"\1<wbr>", escape(text))


def text_block(title, text, open_too=False):
    """Monospaced, folded away behind its title unless `open_too`."""
    return f"<details{' open' if open_too else ''}><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def pictures(*items):
    """Side by side where there is room."""
    return f'<div class="pictures">{"".join(items)}</div>'


def picture(figure, alt, caption, form="svg"):
    """`figure` of matplotlib, which is closed; `alt` is for who does not see it. svg; png where there are many cells. Twice, as
    a picture cannot ask whether the page is dark."""
    width, height = figure.get_size_inches() * 96
    light = data_of(figure, form, "white")
    darken(figure)
    dark = data_of(figure, form, PAPER)
    pyplot.close(figure)
    return (f'<figure><picture><source media="screen and (prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" width="{width:.0f}" height="{height:.0f}" alt="{escape(alt)}"></picture>'
            f"<figcaption>{escape(caption)}</figcaption></figure>")


def data_of(figure, form, ground):
    """Of one figure always the same bytes: no dates in it, no random names."""
    kind = {"svg": "svg+xml", "png": "png"}[form]
    content = io.BytesIO()
    with pyplot.rc_context({"svg.hashsalt": "isotherm"}):
        figure.savefig(content, format=form, facecolor=ground, dpi=RASTER_DPI,
                       metadata={"Date": None} if form == "svg" else None)
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"
