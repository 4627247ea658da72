"""kernels/measure.sh with a stand-in for the program: its runs name the kernel whose figures they are."""

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("device, kernel", [("cuda", "tma_pipeline"), ("cpu", "openmp")])
def test_runs_name_their_kernel(tmp_path, device, kernel):
    program = tmp_path / "isotherm"
    program.write_text('#!/bin/bash\necho "$*" >>"$(dirname "$0")/calls"\necho "  kernel  x"\n')
    program.chmod(0o755)
    subprocess.run([TOP / "kernels" / "measure.sh", program, tmp_path / "figures", device, "32,48"], check=True,
                   stdout=subprocess.PIPE)
    calls = (tmp_path / "calls").read_text().splitlines()
    runs = [call for call in calls if call.startswith("run ")]
    assert len(runs) == 4 and len(calls) > 10
    assert all(f" solver.kernel={kernel} " in run and f" parallel.device={device} " in run for run in runs), runs


def test_documented_runs_of_a_kernel_name_it():
    """By the command, or by a deck that has no other."""
    text = "\n".join((TOP / "kernels" / page).read_text() for page in ("README.md", "TUNING.md"))
    commands = re.findall(r"isotherm run\s+(inputs/\S+?\.yaml)([^`]*)", text)
    assert len(commands) > 3
    for deck, words in commands:
        named = re.search(r"^\s+kernel: (?!auto)", (TOP / deck).read_text(), re.MULTILINE)
        assert "solver.kernel=" in words or named or "`auto` takes them" in text[:text.index(deck + words)][-400:], (deck, words)
