"""packaging/reframe: ReFrame itself lists and runs the test. No distribution has it: pip install reframe-hpc."""

import os
import re
import shutil
import subprocess

import pytest

import recipes
from program import HANGS
from runs import record

REFRAME = shutil.which("reframe")
pytestmark = pytest.mark.skipif(not REFRAME, reason="reframe is not installed (pip install reframe-hpc)")

# What a site writes down of itself.
SETTINGS = """\
site_configuration = {
    "systems": [{"name": "one", "hostnames": [".*"], "partitions": [
        {"name": "host", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"], "max_jobs": 1},
        {"name": "gpus", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"], "features": ["gpu"]}]}],
}
"""


def reframe(folder, *words):
    """In a home of its own, where it keeps reports."""
    (folder / "settings.py").write_text(SETTINGS)
    done = subprocess.run(
        [REFRAME, "--nocolor", "-C", "settings.py", "-c", recipes.REFRAME, "-S", f"Isotherm.program={os.environ['ISOTHERM']}",
         *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANGS, check=False,
        env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)})
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("tag, decks", [
    ("cpu", {"strong_cpu", "weak_cpu"}), ("gpu", {"strong_512", "weak_512"}), ("weak", {"weak_cpu", "weak_512"})])
def test_tags_choose_decks(tmp_path, tag, decks):
    listed = re.findall(r"^- Isotherm %deck=(\w+) %ranks=([1248]) ", reframe(tmp_path, "--system=one", "--list", "--tag", tag), re.MULTILINE)
    assert len(listed) == 8 and {deck for deck, _ in listed} == decks


@pytest.mark.parametrize("deck, cells", [("strong_cpu", [64] * 3), ("weak_cpu", [48, 48, 96])])
def test_a_run_on_two_ranks(tmp_path, deck, cells):
    said = reframe(tmp_path, "--run", "--keep-stage-files", "--system=one:host", "--name", f"%deck={deck}.*%ranks=2$")
    assert "[  PASSED  ] Ran 1/1 test case(s)" in said
    written, = [record(path.parent) for path in tmp_path.rglob("run.json")]
    assert (written["grid"]["cells"], len(written["ranks"])) == (cells, 2)
    figures = dict(re.findall(r"^P: (\w+): ([\d.]+) ", said, re.MULTILINE))
    assert set(figures) == set(recipes.reframe_test()["FIGURES"]) - {"write_bandwidth", "write_hidden"}
    assert float(figures["cell_updates"]) == pytest.approx(written["performance"]["points_per_s"] / 1e9, rel=6e-3)


def test_another_answer_fails(tmp_path):
    """The fingerprint of a deck is known: a run of one more step does not have it."""
    with pytest.raises(AssertionError, match="Failing phase: sanity"):
        reframe(tmp_path, "--run", "--system=one:host", "--name", "%deck=strong_cpu.*%ranks=1$", "-S", "Isotherm.overrides=problem.steps=201")
