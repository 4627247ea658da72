"""For all tests of this folder."""

import sys

import pytest


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def refused(capsys):
    """Exit code and message of a command that must fail: one line, on stderr."""
    from isotherm_tools.__main__ import main  # not where it is asked which modules are loaded

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("isotherm_tools: ") and err.count("\n") == 1
        return code, err.removeprefix("isotherm_tools: ").rstrip("\n")

    return run
