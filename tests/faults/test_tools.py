"""`isotherm NAME` starts the tool isotherm-NAME: where it is searched, and the messages if something is missing."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from documentation import TOP
from program import BASE_DECK, finished, isotherm, ran, write_deck, write_script

TOOLS = re.findall(r"^isotherm-([a-z-]+) = ", (TOP / "postprocess" / "pyproject.toml").read_text(), re.MULTILINE)


@pytest.fixture
def own(tmp_path):
    """A folder with a user's own tool."""
    folder = tmp_path / "own tools"
    folder.mkdir()
    for name in ("hello", "study"):
        write_script(folder / f"isotherm-{name}", '#!/bin/sh\nprintf "<%s>" "$0" "$@"\nexit 7\n')
    (folder / "isotherm-no-program").write_text("")
    return folder


def path_of(folder):
    return {"PATH": f"{folder}:/usr/bin:/bin"}


@pytest.fixture
def alone(tmp_path):
    """The program alone, without its build or installation."""
    (tmp_path / "bin").mkdir()
    return shutil.copy(os.environ["ISOTHERM"], tmp_path / "bin" / "isotherm")


def call(program, *words, **environment):
    return finished([program, *words], env={**os.environ, "PATH": "/usr/bin:/bin", **environment})


def test_the_help_lists_what_is_there(own):
    assert sorted(TOOLS) == TOOLS and "study" in TOOLS
    assert f"Tools: {', '.join(TOOLS)} (isotherm NAME --help has more).\n" in isotherm("--help", PATH="/usr/bin").stdout
    listed = isotherm("--help", **path_of(own)).stdout
    assert " hello," in listed and "no-program" not in listed


def test_a_tool_on_path_gets_its_words_and_gives_its_exit_code(own):
    done = isotherm("hello", "a b", "--help", "", **path_of(own))
    assert (done.returncode, done.stdout) == (7, f"<{own}/isotherm-hello><a b><--help><>")


def test_those_of_the_build_come_before_those_on_path(own):
    assert isotherm("study", "--help", **path_of(own)).stdout.startswith("usage: isotherm study ")


def test_a_tool_that_is_missing_is_reported_in_one_line(alone, own):
    done = call(alone, "study", "deck.yaml")
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith(f"isotherm: the tool isotherm-study is not installed (it is neither next to '{alone}' nor on PATH); ")
    assert call(alone, "study", "deck.yaml", PATH=str(own)).returncode == 7


def test_a_python_or_a_package_that_is_missing_is_reported_in_one_line_and_a_study_needs_none(tmp_path):
    done = ran("study", "deck.yaml", ISOTHERM_PYTHON="/no/python3", code=69)
    assert done.stderr.startswith("isotherm study: there is no /no/python3; install Python 3.9 or newer")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "pure"], check=True)
    pure = {"ISOTHERM_PYTHON": str(tmp_path / "pure/bin/python3")}
    done = ran("slice", "runs/a", **pure, code=69)
    assert done.stderr.count("\n") == 1
    assert "python3 has no numpy, h5py, matplotlib, pillow; source build/env.sh, which run.sh makes, or " in done.stderr
    write_deck(tmp_path, BASE_DECK + "parallel: {device: cpu}\nstudy: {list: [{name: a}]}\n")
    ran("study", "deck.yaml", cwd=tmp_path, **pure)
