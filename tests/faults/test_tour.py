"""docs/tour.md from its first command to the last, on coarser grids: all end well, and what the page shows of their output is
what they print, all but the numbers."""

import os
import re
import shlex
import subprocess

import pytest

from documentation import BLOCK, TOP
from isotherm_post.cli import main

TOUR = TOP / "docs" / "tour.md"
# What makes a deck small, and nothing else of a command is changed.
SMALLER = {
    "inputs/quickstart.yaml": ["grid.cells=[40,20,4]"],
    "inputs/heated_chip.yaml": ["grid.cells=[40,30,8]", "problem.tolerance=1e-3"],
    "inputs/study_thickness.yaml": ["grid.cells.0=20", "grid.cells.1=15", "problem.tolerance=1e-3"],
    "inputs/study_scaling.yaml": ["grid.cells=16", "scaling.repeats=1"],
}
NUMBER = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?(?: \d{3}\b)*")
TIME = re.compile(r"# (?:[numµ]?s\b|min #? ?s?|h # min)")


def words_of(line):
    """Of a line to be typed: what is started, as a list."""
    words = shlex.split(line, comments=True)
    deck = next((word for word in words if word in SMALLER), None)
    return words + SMALLER.get(deck, [])


def run(line, folder, capsys):
    """What the line prints."""
    words = words_of(line)
    if words[:3] == ["python3", "-m", "isotherm_post"]:
        assert main(words[3:]) == 0, line
        return capsys.readouterr().out
    assert words[0] == "isotherm", line
    done = subprocess.run([os.environ["ISOTHERM"], *words[1:]], cwd=folder, capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout


def blurred(line):
    """Without what differs from run to run: numbers, units of time, widths of columns."""
    return " ".join(TIME.sub("# s", NUMBER.sub("#", line)).split())


def expect_shown(text, printed):
    """Of each line that is shown, one that is printed; "..." stands for anything."""
    all_printed = [blurred(line) for line in printed.splitlines()]
    for line in text.splitlines():
        if line.strip() in ("", "..."):
            continue
        pattern = ".*".join(re.escape(blurred(part)) for part in line.split("..."))
        assert any(re.fullmatch(pattern, each) for each in all_printed), (line, printed)


def test_every_command_prints_what_the_tour_shows(tmp_path, monkeypatch, capsys):
    (tmp_path / "inputs").symlink_to(TOP / "inputs")
    monkeypatch.chdir(tmp_path)
    tried, printed = 0, ""
    for kind, text in BLOCK.findall(TOUR.read_text(encoding="utf-8")):
        if kind == "sh":
            lines = [line for line in text.splitlines() if not line.startswith("export PATH=$PWD/build/")]
            printed = "\n".join(run(line, tmp_path, capsys) for line in lines)
            tried += len(lines)
        elif kind == "text":
            expect_shown(text, printed)
    assert tried >= 12


def test_pieces_of_decks_stand_in_the_decks():
    decks = [path.read_text(encoding="utf-8") for path in (TOP / "inputs").glob("*.yaml")]
    pieces = [text for kind, text in BLOCK.findall(TOUR.read_text(encoding="utf-8")) if kind == "yaml"]
    assert pieces and all(any(text in deck for deck in decks) for text in pieces)


def test_pictures_and_links_are_there():
    targets = re.findall(r"\]\((?!http)([^)#]+)", TOUR.read_text(encoding="utf-8"))
    assert len(targets) > 8
    for target in targets:
        assert (TOUR.parent / target).exists(), target


@pytest.mark.parametrize("line, printed, same", [
    ("  grid   160 x 80 x 10 = 128 000 cells", "  grid         40 x 20 x 4 = 3 200 cells", True),
    ("[1/2] a: done after 1.30 s; ...", "[2/2] a: done after 12 ms; about 1 min 02 s left", True),
    ("[1/2] a: done after 1.30 s", "[2/2] a: failed after 12 ms", False),
])
def test_only_numbers_may_differ(line, printed, same):
    if same:
        return expect_shown(line, printed)
    with pytest.raises(AssertionError):
        expect_shown(line, printed)
