"""One self-contained HTML page of sections: no script, no network, nothing beside the file. It knows nothing of runs:
whoever has something to report makes `Section`s of tables, paragraphs and pictures, of which empty ones are left out."""

import base64
import io
import re
from html import escape
from typing import NamedTuple

from matplotlib import pyplot

from isotherm_tools.figures import PAPER, darken

RASTER_DPI = 190  # for screens that show two pixels where the page asks for one
NUMBER = re.compile(r"-|-?\d[\d.]*(e[+-]?\d+)?( ?(%|[^\W\d]{1,3}(/s)?))?")  # -, 1.5, 2e-06, 3 µs, 97 %, 4 GB/s
SEAM = re.compile(r"([._/])(?=[A-Za-z])")
# The look of a result; all else is odd. The last two are those of earlier records.
WORDS = {"DONE": "good", "CONVERGED": "good", "VERIFIED": "good", "FAILED": "bad", "PASS": "good", "FAIL": "bad"}


class Section(NamedTuple):
    anchor: str  # a word
    title: str
    parts: list  # of HTML, as the functions below make it


def page(heading, result, lead, sections, footer):
    """The whole text. `result`: as the RESULT line of a run, or None; all else is plain text."""
    shown = [section for section in sections if any(section.parts)]
    badge = f' <span class="badge {WORDS.get(result, "odd")}">{escape(result)}</span>' if result else ""
    links = "".join(f'<a href="#{each.anchor}">{escape(each.title)}</a>' for each in shown)
    main = "\n".join(line for each in shown for line in (
        f'<section id="{each.anchor}">', f"<h2>{escape(each.title)}</h2>", *filter(None, each.parts), "</section>"))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<link rel="icon" href="data:,">
<title>{escape(heading)} - isotherm</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{escape(heading)}{badge}</h1>
<p>{escape(lead)}</p>
<nav aria-label="sections">{links}</nav>
</header>
<main>
{main}
</main>
<footer><p>{escape(footer)}</p></footer>
</body>
</html>
"""


def paragraph(text):
    return text and f"<p>{escape(text)}</p>"


def warnings(texts):
    """A box that is seen first."""
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
    return f'<div class="pictures">{"".join(items)}</div>' if items else ""


def picture(figure, alt, caption, form="svg"):
    """`figure` of matplotlib, which is closed; `alt` is for who does not see it. svg; png where there are many cells. Twice, as
    a picture cannot ask whether the page is dark."""
    def data(ground):
        """Of one figure always the same bytes: no dates in it, no random names."""
        content, is_svg = io.BytesIO(), form == "svg"
        with pyplot.rc_context({"svg.hashsalt": "isotherm"}):
            figure.savefig(content, format=form, facecolor=ground, dpi=RASTER_DPI, metadata={"Date": None} if is_svg else None)
        return f"data:image/{'svg+xml' if is_svg else form};base64,{base64.b64encode(content.getvalue()).decode()}"

    width, height = figure.get_size_inches() * 96
    light = data("white")
    darken(figure)
    dark = data(PAPER)
    pyplot.close(figure)
    return (f'<figure><picture><source media="screen and (prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" width="{width:.0f}" height="{height:.0f}" alt="{escape(alt)}"></picture>'
            f"<figcaption>{escape(caption)}</figcaption></figure>")


STYLE = """
:root {
  --ground: #f6f5f2; --card: #ffffff; --ink: #1d1f24; --soft: #5a5f6a; --line: #dcdad4; --accent: #8f2361;
  --good: #17693c; --good-ground: #dff3e6; --bad: #a3172a; --bad-ground: #fbe3e5; --odd: #7a4d00; --odd-ground: #fcefd6;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ground: #15171b; --card: #1e2127; --ink: #e8e6e1; --soft: #a3a8b3; --line: #353942; --accent: #f08cc0;
    --good: #8fdcae; --good-ground: #153524; --bad: #ffa3ac; --bad-ground: #42171d; --odd: #f5c878; --odd-ground: #3a2b10;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 72rem; padding: 0 1.25rem 2rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
header { padding: 1.75rem 0 .5rem; }
h1 { margin: 0 0 .25rem; font-size: 1.9rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 0 0 .9rem; font-size: 1.2rem; }
p { margin: 0 0 .8rem; overflow-wrap: anywhere; }
header p, footer p { color: var(--soft); }
.badge {
  display: inline-block; vertical-align: .25em; padding: .1em .6em; border-radius: 1em; font-size: .85rem;
  letter-spacing: .04em;
}
.good { color: var(--good); background: var(--good-ground); }
.bad { color: var(--bad); background: var(--bad-ground); }
.odd { color: var(--odd); background: var(--odd-ground); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; }
a { color: var(--accent); }
section {
  margin: 1.1rem 0; padding: 1.2rem 1.3rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
}
section > :last-child { margin-bottom: 0; }
.warnings { margin: 0 0 1rem; padding: .7rem 1rem; color: var(--odd); background: var(--odd-ground); border-radius: .4rem; }
.warnings ul { margin: 0; padding-left: 1.1rem; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 8.8rem), 1fr)); gap: .7rem; margin: 0 0 1.2rem; }
.tiles > div { min-width: 0; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: .4rem; }
.tiles dt { color: var(--soft); font-size: .85rem; }
.tiles dd { margin: 0; color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
.tiles dt + dd { color: var(--ink); font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
th.number, td.number { text-align: right; }
td.number { white-space: nowrap; }
thead th { vertical-align: bottom; }
.facts { width: 100%; }
.facts th { width: 11rem; }
.facts td { overflow-wrap: anywhere; }
.pictures {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; margin: 0 0 1rem;
}
figure {
  margin: 0; padding: .7rem; background: var(--card); color: var(--soft); border: 1px solid var(--line); border-radius: .4rem;
  break-inside: avoid;
}
img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figcaption { margin-top: .5rem; font-size: .85rem; line-height: 1.4; overflow-wrap: anywhere; }
details { margin: 0 0 .6rem; }
summary { cursor: pointer; color: var(--accent); }
pre {
  margin: .5rem 0 0; padding: .8rem 1rem; background: var(--ground); border-radius: .4rem; white-space: pre-wrap;
  overflow-wrap: anywhere; font: .82rem/1.45 ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace;
}
footer { font-size: .85rem; }
@media (max-width: 36rem) {
  body { padding: 0 .6rem 1.5rem; }
  h1 { font-size: 1.5rem; }
  section { padding: .9rem .8rem; }
  .facts th { width: 6.5rem; }
  th, td { padding-right: .6rem; }
  figure { padding: .3rem; }
}
@media print {
  @page { margin: 14mm; }
  :root { --ground: #ffffff; --ink: #000000; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, details:not([open]) { display: none; }
  section { border: 0; padding: 0; margin: 0 0 7mm; }
  h2 { break-after: avoid; }
  .badge, .warnings { border: 1px solid #000000; }
  .pictures { grid-template-columns: 1fr 1fr; }
  .pictures > :only-child { grid-column: 1 / -1; }
  tr { break-inside: avoid; }
}
"""
