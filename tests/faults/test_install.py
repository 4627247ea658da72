"""`cmake --install` gives a tree that works away from the build."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["ISOTHERM"]).parent


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Installed, then moved: no path of the installation may matter either."""
    folder = tmp_path_factory.mktemp("install")
    output("cmake", "--install", BUILD, "--prefix", folder / "first")
    (folder / "first").rename(folder / "second")
    return folder / "second"


def test_program_runs(prefix, tmp_path):
    assert output(prefix / "bin/isotherm", "--version", cwd=tmp_path).startswith("isotherm ")


def test_decks_are_there(prefix):
    installed = sorted(path.name for path in (prefix / "share/isotherm/inputs").iterdir())
    assert installed == sorted(path.name for path in (TOP / "inputs").iterdir())
    assert "quickstart.yaml" in installed


def test_postprocess_runs(prefix, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(prefix / "share/isotherm/postprocess")}
    command = [sys.executable, "-c", "import isotherm_post.cli as cli; print(cli.__file__); cli.parser()"]
    assert output(*command, cwd=tmp_path, env=environment).startswith(str(prefix))


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not installed")
def test_program_loads_nothing_from_the_build(prefix):
    paths = re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", output("readelf", "-d", prefix / "bin/isotherm"))
    assert not [path for line in paths for path in line.split(":") if path.startswith((str(BUILD), str(TOP)))]
