"""The tables of tests/README.md and docs/promises.md: every fault and promise has its row, and every row a test that exists."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FAULTS, PROMISES = 60, 12


def rows(path, heading):
    """The cells of the table below a heading, without its head."""
    text = path.read_text(encoding="utf-8").split(f"# {heading}", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def is_a_test(name):
    """`signals` or `fuzz_slow` of CTest; unit/test_x.cpp of these folders; tests/... of the checkout."""
    if name.startswith("tests/"):
        return (TESTS.parent / name).exists()
    if "/" in name:
        return (TESTS / name).is_file()
    return name == "fuzz_slow" or any((TESTS / folder / f"test_{name}.py").is_file() for folder in ("faults", "verification"))


FAULT_ROWS = rows(TESTS / "README.md", "Faults")
PROMISE_ROWS = rows(TESTS.parent / "docs" / "promises.md", "Promises")


def test_all_faults_stand_in_their_order():
    numbers = [int(row[0]) for row in FAULT_ROWS]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= FAULTS


def test_all_promises_stand():
    assert len(PROMISE_ROWS) >= PROMISES


@pytest.mark.parametrize("row", FAULT_ROWS + PROMISE_ROWS, ids=lambda row: row[0][:30])
def test_a_row_names_tests_that_exist(row):
    named = re.findall(r"`([^`]+)`", row[-1])
    assert named, "no test is named"
    folder = ""
    for name in named:
        if name.startswith("test_"):  # beside the one before it
            name = folder + name
        folder = name.rsplit("/", 1)[0] + "/" if "/" in name else folder
        assert is_a_test(name), name


@pytest.mark.parametrize("name", ["nonsense", "unit/test_nonsense.cpp", "tests/faults/test_nonsense.py"])
def test_what_is_no_test_is_found(name):
    assert not is_a_test(name)
