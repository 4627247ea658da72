"""More ranks than cores, odd numbers of them, blocks of one cell: the same bits as one rank."""

import pytest
from cli import BASE_DECK

from program import isotherm, write_deck
from runs import expect_same_answer

WAVES = 'initial=[{shape: formula, formula: "300 + 50*x + 7*y*y + 3*sin(9*z)"}]'


@pytest.mark.parametrize("cells, ranks", [
    ("[7, 1, 1]", 7),  # a cell a rank
    ("[1, 13, 1]", 13),
    ("[5, 7, 13]", 13),
])
def test_odd_numbers_of_ranks(tmp_path, cells, ranks):
    write_deck(tmp_path, BASE_DECK)
    words = [f"grid.cells={cells}", WAVES, "solver.reduction=reproducible", "problem.check_interval=3"]
    for n, out in ((0, "one"), (ranks, "many")):
        done = isotherm("run", "deck.yaml", *words, f"output.directory={out}", ranks=n, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    expect_same_answer(tmp_path / "one", tmp_path / "many")
