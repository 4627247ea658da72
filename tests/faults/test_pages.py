"""The pages of the documentation: README.md is a front page, links lead somewhere, and figures say what they were measured with."""

import re

import pytest

from documentation import BLOCK, TOP, blocks, name_of, pages
from program import isotherm, write_deck

README = TOP / "README.md"
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")


def anchors(page):
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ +(.*)", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


def test_the_readme_is_a_front_page():
    text = README.read_text(encoding="utf-8")
    assert text.count("\n") <= 130
    linked = {(README.parent / target).resolve() for target, _ in LINK.findall(text)}
    assert linked >= {page for page in pages("docs")} | {TOP / "ARCHITECTURE.md"} | {TOP / folder / "README.md" for folder in ("kernels", "postprocess", "tests")}


@pytest.mark.parametrize("lack", ["several materials", "radiation", "curved geometry", "time-dependent sources", "adaptive grids"])
def test_the_readme_says_what_it_cannot_do(lack):
    section = README.read_text(encoding="utf-8").split("## What it cannot do\n")[1].split("\n## ")[0]
    assert lack in " ".join(section.split())


def facts():
    section = README.read_text(encoding="utf-8").split("## Four facts\n")[1].split("\n## ")[0]
    return re.split(r"^\d\. ", BLOCK.sub("", section), flags=re.MULTILINE)[1:]


def test_a_figure_of_a_fact_names_what_it_was_measured_with():
    assert len(facts()) == 4
    measured = [fact for fact in facts() if "H200" in fact]
    assert measured and any("740 " in fact for fact in measured)
    for fact in measured:
        for what in (r"driver [\d.]+", r"CUDA [\d.]+", r"commit [0-9a-f]{7}", r"fp(32|64)", r"\d+\^3", r"`[^`]*isotherm (run|bench) "):
            assert re.search(what, fact), (what, fact)


WRONG = """\
grid: {cells: 128, lengths: 0.1}
material: {diffusivity: 1.0e-6}
initial:
  - {shape: constant, value: 300}
problem: {steps: 10, dt: 50}
solver:
  kernal: naive
"""


def test_errors_that_are_shown_are_those_of_the_program(tmp_path):
    """Word for word, from a deck that has them."""
    shown, = blocks(README, "text")
    write_deck(tmp_path, WRONG)
    done = isotherm("run", "deck.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (65, shown)
