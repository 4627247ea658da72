"""The examples in the documentation run, and the commands in it are commands."""

import re
import shlex

import pytest

from documentation import TOP, blocks, name_of
from isotherm_tools.cli import parser
from program import isotherm

PAGES = [TOP / name for name in ("README.md", "docs/tour.md", "docs/studies.md", "docs/cluster.md", "kernels/README.md", "postprocess/README.md")]
COMMAND = re.compile(r"^(?:\$ )?python3 -m isotherm_tools +((?:.*\\\n)*.*)", re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the run that the examples name, coarser, and with all that they ask it for."""
    top = tmp_path_factory.mktemp("examples")
    done = isotherm("run", TOP / "inputs/quickstart.yaml", "grid.cells=[40,20,3]", "problem.end_time=4",
                    "output.every_time=1", "output.diagnostics=2", "solver.kernel=reference", "solver.halo_width=1",
                    "output.slices=[{axis: z, cell: 2, every_time: 2}]", "output.probes={points: [[0.02, 0.04, 0.009]]}",
                    "output.directory=runs/quickstart", cwd=top)
    assert done.returncode == 0, done.stderr
    return top


@pytest.mark.parametrize("example", blocks(TOP / "postprocess/README.md", "python"), ids=lambda text: f"{len(text)}")
def test_examples_run(folder, monkeypatch, capsys, example):
    monkeypatch.chdir(folder)
    exec(compile(example, "postprocess/README.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_commands(page):
    found = [words for text in blocks(page, "sh", "text") for words in COMMAND.findall(text)]
    assert found, "no command was found"
    for words in found:
        parser().parse_args(shlex.split(words.replace("\\\n", " "), comments=True))
