"""Nobody listens: a pipe that breaks, streams that are closed or lead to a full disk. A run goes on, and its files are whole."""

import os
import subprocess

import pytest

from program import DECK, HANGS, command, isotherm, write_deck
from runs import record, snapshots

STREAMS = {
    "a pipe that breaks": '"$@" | head -n 1',
    "closed output": '"$@" >&-',
    "all closed": '"$@" <&- >&- 2>&-',
    "a full disk": '"$@" >/dev/full 2>/dev/full',
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_run_goes_on(tmp_path, name):
    if "full" in name and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    write_deck(tmp_path, DECK)
    line = command("run", "deck.yaml", "output.directory=out", "output.every_steps=2")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", STREAMS[name], "bash", *line], cwd=tmp_path, timeout=HANGS,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    assert record(out)["exit_code"] == 0 and len(snapshots(out)) == 21
    assert "RESULT: DONE" in (out / "run.log").read_text()
    assert isotherm("info", out / snapshots(out)[-1]).returncode == 0


PRINTED = [["list"], ["list", "--json"], ["init"], ["init", "--minimal"], ["schema"], ["check", "deck.yaml"],
           ["check", "study.yaml"], ["info", "out/deck_00000040.hdf"], ["info", "--deck", "out/deck_00000040.hdf"]]


@pytest.mark.parametrize("words", PRINTED, ids=" ".join)
def test_what_is_only_printed_fails_with_its_stream(tmp_path, words):
    deck = write_deck(tmp_path, DECK).read_text()
    write_deck(tmp_path, deck + "study: {matrix: {precision: [fp32, fp64]}}\n", "study.yaml")
    if "info" in words:
        assert isotherm("run", "deck.yaml", "output.directory=out", cwd=tmp_path).returncode == 0
    done = subprocess.run(["bash", "-c", '"$@" >/dev/full', "bash", *command(*words)], cwd=tmp_path, timeout=HANGS,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (74, "standard output cannot be written; check where it goes\n")
