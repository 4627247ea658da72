"""`cmake --install` gives a tree that works away from the build."""

import importlib.util
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
    command = [sys.executable, "-c", "import isotherm_tools.cli as cli; print(cli.__file__); cli.parser()"]
    assert output(*command, cwd=tmp_path, env=environment).startswith(str(prefix))


def test_tools_run(prefix, tmp_path):
    shown = output(prefix / "bin/isotherm", "report", "--help", cwd=tmp_path, env=os.environ | {"PATH": "/usr/bin:/bin"})
    assert shown.startswith("usage: isotherm_tools report ")
    (tmp_path / "deck.yaml").write_text("grid: {cells: 8, lengths: 1}\nmaterial: {diffusivity: 1}\nproblem: {steps: 1}\n"
                                        "initial: [{shape: constant, value: 300}]\nparallel: {device: cpu}\nstudy: {list: [{name: a}]}\n")
    assert "1 of 1 case finished" in output(prefix / "bin/isotherm", "study", "deck.yaml", cwd=tmp_path)
    assert "sbatch" in output(prefix / "bin/isotherm", "study", "deck.yaml", "output.directory=other", "--slurm", "--dry-run", cwd=tmp_path)


def test_postprocess_is_a_package_that_needs_no_network(tmp_path):
    """As the page on it says, but into a folder: a virtual environment takes seconds to make."""
    missing = [module for module in ("pip", "setuptools", "wheel") if not importlib.util.find_spec(module)]
    if missing:
        pytest.skip(f"without {', '.join(missing)}")
    shutil.copytree(TOP / "postprocess", tmp_path / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    output(sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "--target", tmp_path / "site",
           tmp_path / "source")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    text = output(tmp_path / "site/bin/isotherm-slice", "--help", cwd=tmp_path, env=environment)
    assert text.startswith("usage: isotherm_tools slice ")


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not installed")
def test_program_loads_nothing_from_the_build(prefix):
    paths = re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", output("readelf", "-d", prefix / "bin/isotherm"))
    assert not [path for line in paths for path in line.split(":") if path.startswith((str(BUILD), str(TOP)))]
