"""README.md, then docs/tour.md, typed from the first command to the last in a fresh checkout, with decks of fewer cells: all end well,
and what the tour shows of their output is what they print, all but the numbers."""

import os
import re
import subprocess
import sys

import pytest

from checkout import real_checkout
from documentation import BLOCK, TOP, blocks

TOUR = TOP / "docs" / "tour.md"
README = TOP / "README.md"
# What makes decks small: they, and nothing of a command, are changed.
COARSER = {
    "quickstart.yaml": [("cells: [160, 80, 10]", "cells: [40, 20, 4]")],
    "heated_chip.yaml": [("cells: [80, 60, 8]", "cells: [40, 30, 8]"), ("tolerance: 1e-9", "tolerance: 1e-3")],
    "study_thickness.yaml": [("cells: [40, 30, 4]", "cells: [20, 15, 4]"), ("tolerance: 1e-7", "tolerance: 1e-3")],
    "study_scaling.yaml": [("cells: 64", "cells: 16"), ("repeats: 3", "repeats: 1")],
    "plate.yaml": [("cells: [160, 80, 10]", "cells: [40, 20, 4]")],
}
NUMBER = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?(?: \d{3}\b)*")
MARK = "---- typed"
ROOT_MAY = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")  # which the shell of a user lacks
TIME = re.compile(r"# (?:[numµ]?s\b|min #? ?s?|h # min)")


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


def write_coarser(folder, name, text):
    for fine, coarse in COARSER.get(name, []):
        assert text.count(fine) == 1, (name, fine)
        text = text.replace(fine, coarse)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def checkout(tmp_path):
    """Fresh, with coarser decks, and a user whose first python3 has no packages."""
    checkout = real_checkout(tmp_path)
    for name in COARSER:
        deck = TOP / "inputs" / name
        if deck.is_file():
            write_coarser(checkout.folder / "inputs", name, deck.read_text(encoding="utf-8"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "pure"], check=True)
    checkout.stand_in("python3", f'exec "{tmp_path}/pure/bin/python3" "$@"')
    return checkout


def type_pages(checkout, *pages):
    """All lines for a shell, in one shell and in their order; what each block printed."""
    script = "".join(f"{text}echo {MARK}\n" for page in pages for text in blocks(page, "sh"))
    told = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", *ROOT_MAY)}
    done = subprocess.run(["bash", "-e"], input=script, cwd=checkout.folder, text=True, capture_output=True, check=False,
                          env={**told, **checkout.environment(ISOTHERM_PYTHON=sys.executable)})
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.split(MARK + "\n")[:-1]


def test_readme_and_tour_are_typed_word_for_word(checkout):
    """One behind the other, as somebody does who reads on. A deck that a page shows whole is saved by the name that it says."""
    deck, = blocks(README, "yaml")
    assert "`plate.yaml`" in README.read_text(encoding="utf-8")
    write_coarser(checkout.folder, "plate.yaml", deck)
    printed = type_pages(checkout, README, TOUR)
    assert (checkout.folder / "runs/first_run/picture.png").is_file() and (checkout.folder / "runs/plate/run.json").is_file()
    of_tour = iter(printed[len(blocks(README, "sh")):])
    shown, said = 0, ""
    for kind, text in BLOCK.findall(TOUR.read_text(encoding="utf-8")):
        if kind == "sh":
            said = next(of_tour)
        elif kind == "text":
            expect_shown(text, said)
            shown += 1
    assert shown >= 5


def test_a_folder_without_the_file_to_source_is_told_in_one_line(checkout):
    """By the first python3: it finds the tools, but not what they need."""
    done = subprocess.run(["python3", "-m", "isotherm_tools", "slice", "runs/quickstart"], cwd=checkout.folder / "postprocess",
                          env=checkout.environment(), text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (69, "")
    assert re.fullmatch(r"isotherm_tools: \S+/python3 has no numpy, h5py, matplotlib, pillow; source build/env\.sh, which run\.sh makes, "
                        r"or install the package with what it needs: pip install \./postprocess\n", done.stderr)


def test_pieces_of_decks_stand_in_the_decks():
    decks = [path.read_text(encoding="utf-8") for path in (TOP / "inputs").glob("*.yaml")]
    pieces = [text for kind, text in BLOCK.findall(TOUR.read_text(encoding="utf-8")) if kind == "yaml"]
    assert pieces and all(any(text in deck for deck in decks) for text in pieces)


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
