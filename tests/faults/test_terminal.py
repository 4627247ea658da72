"""A terminal: the line of progress that is rewritten on it, and what is left there. Pipes and job logs get lines."""

import re

import subprocess

import pytest

from job import ENDLESS
from program import DECK, command, family_of, isotherm, write_deck
from studies import write_study
from terminal import OnTerminal, moved, shown

LINE = re.compile(r"step \d+/1000000000000  0\.0 %  ETA \d+ d \d\d h  .*Pts/s( .*)?  t .* s$")


def test_a_line_is_rewritten_and_leaves_nothing(tmp_path):
    write_deck(tmp_path, ENDLESS)
    with open(tmp_path / "stdout", "w", encoding="utf-8") as stdout:
        run = OnTerminal(command("run", "deck.yaml", "output.directory=out"), tmp_path, stdout=stdout)
    run.read_until(lambda text: LINE.match("".join(moved(text)[-1:])))
    run.type(b"\x03")  # Ctrl-C
    assert run.end() == 75
    assert run.text.count("\033[?7l") == run.text.count("\033[?7h") > 0, "the terminal cuts the line, and wraps all else"
    assert not any("ETA" in line for line in shown(run.text)), shown(run.text)
    assert any("stopped by SIGINT" in line for line in shown(run.text))
    out = (tmp_path / "stdout").read_text()
    assert "\033" not in out and "\r" not in out and "RESULT: " in out


def test_nothing_moves_where_it_would_disturb(tmp_path):
    """In the background of a shell, on a terminal that cannot, in a job of several ranks, in a pipe."""
    write_deck(tmp_path, DECK)
    run = ("run", "deck.yaml", "output.overwrite=true")

    def on_terminal(*words, **environment):
        terminal = OnTerminal(words, tmp_path, **environment)
        assert terminal.end() == 0
        return terminal.text

    assert moved(on_terminal(*command(*run)))
    for text in (on_terminal("bash", "-c", 'set -m; "$@" & wait $!', "bash", *command(*run)),
                 on_terminal(*command(*run), TERM="dumb"),
                 on_terminal(*command(*run), SLURM_STEP_ID="0"),
                 on_terminal(*command(*run, ranks=1))):
        assert "\033" not in text and "\r" not in text.replace("\r\n", "\n") and "RESULT: DONE" in text
    done = isotherm(*run, cwd=tmp_path, TERM="xterm")
    assert "\033" not in done.stdout + done.stderr


def test_a_run_without_a_launcher_starts_no_daemon(tmp_path):
    write_deck(tmp_path, ENDLESS)
    run = OnTerminal(command("run", "deck.yaml", "output.directory=out"), tmp_path)
    run.read_until(lambda text: "ETA" in text)
    assert family_of(run.process.pid) == [run.process.pid]
    run.type(b"\x03")
    assert run.end() == 75


def test_what_the_user_says_of_the_daemon_holds_and_the_line_is_rewritten_all_the_same(tmp_path):
    """With it MPI_Init sets PMIX_RANK, as launchers do."""
    version = subprocess.run([command(ranks=1)[0], "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    if not re.search(r"\(Open(RTE| MPI)\) 4\.", version):
        pytest.skip("only Open MPI 4 has that daemon")
    write_deck(tmp_path, ENDLESS)
    run = OnTerminal(command("run", "deck.yaml", "output.directory=out"), tmp_path, OMPI_MCA_ess_singleton_isolated="0")
    run.read_until(lambda text: "ETA" in text)
    assert moved(run.text) and len(family_of(run.process.pid)) > 1
    run.type(b"\x03")
    assert run.end() == 75


def test_a_study_says_which_cases_run(tmp_path):
    write_study(tmp_path, "  list: [{name: first}, {name: second}]\n")
    study = OnTerminal(command("study", "deck.yaml"), tmp_path, columns=30)
    assert study.end() == 0
    lines = moved(study.text)
    assert any(re.match(r"\[0/2\]  first for ", line) for line in lines)
    assert all(len(line) < 30 for line in lines)
    final = shown(study.text)
    assert re.fullmatch(r"\[1/2\] first: done after .*; about .* left", final[1]), final
    assert re.fullmatch(r"\[2/2\] second: done after [^;]*", final[2]), final
