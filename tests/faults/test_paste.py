"""Commands that are printed to be pasted: a shell reads them as the words that were meant, whatever names hold."""

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

from job import ENDLESS
from program import DECK, command, isotherm, write_deck

NAME = "it's $HOME; a deck.yaml"


def pasted(folder, line):
    """As bash runs it, where isotherm is on the PATH."""
    path = f"{Path(os.environ['ISOTHERM']).parent}:{os.environ['PATH']}"
    return subprocess.run(["bash", "-c", line], cwd=folder, env={**os.environ, "PATH": path}, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def test_a_run_is_started_again(tmp_path):
    write_deck(tmp_path, DECK, NAME)
    words = ["problem={kind: transient, steps: 20}", "output.directory=a 'run' of $HOME", "solver.walltime=0.001"]
    done = isotherm("run", NAME, *words, cwd=tmp_path)
    assert done.returncode == 75, done.stderr
    again = re.search(r"; start it again: (.*)$", done.stderr, re.MULTILINE)[1]
    assert shlex.split(again) == ["isotherm", "run", NAME, *words, "output.overwrite=true"]
    done = pasted(tmp_path, again.replace("solver.walltime=0.001", "solver.walltime=100"))
    assert done.returncode == 0, done.stderr


def test_a_stopped_run_goes_on(tmp_path):
    write_deck(tmp_path, ENDLESS, NAME)
    words = [NAME, "output={snapshots: false, directory: 'a {run} of $HOME'}"]
    run = subprocess.Popen(command("run", *words), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "a {run} of $HOME" / "history.csv").exists():
        assert time.monotonic() < deadline and run.poll() is None
        time.sleep(0.01)
    run.send_signal(signal.SIGTERM)
    err = run.communicate(timeout=60)[1]
    assert run.returncode == 75, err
    again = re.search(r"; go on with: (.*)$", err, re.MULTILINE)[1]
    assert shlex.split(again) == ["isotherm", "run", *words, "--restart", "a {run} of $HOME"]


def test_a_study_is_started(tmp_path):
    write_deck(tmp_path, DECK + "study: {list: [{name: one}]}\n", NAME)
    done = isotherm("run", NAME, cwd=tmp_path)
    assert done.returncode == 65
    command = re.search(r"start them with (isotherm study .*)$", done.stderr, re.MULTILINE)[1]
    assert shlex.split(command) == ["isotherm", "study", NAME]
    done = pasted(tmp_path, command + " --dry-run")
    assert done.returncode == 0, done.stderr


def test_a_study_goes_on(tmp_path):
    write_deck(tmp_path, DECK + "study: {list: [{name: one, ranks: 2}], launcher: false}\n", NAME)
    done = isotherm("study", NAME, "problem={kind: transient, steps: 2}", cwd=tmp_path)
    command = re.search(r"start again what failed with: (.*)$", done.stderr, re.MULTILINE)[1]
    assert shlex.split(command) == ["isotherm", "study", NAME, "problem={kind: transient, steps: 2}", "--retry"]


def test_a_file_where_a_verb_is_wanted(tmp_path):
    write_deck(tmp_path, DECK, NAME)
    done = isotherm(NAME, "problem={kind: transient, steps: 2}", cwd=tmp_path)
    command = re.search(r"write: (.*)$", done.stderr)[1]
    assert pasted(tmp_path, command).returncode == 0
