"""All verbs alike: help that says what they take, one line where something is missing; and a stdout of any kind."""

import importlib.util
import io
import os
import sys

import pytest

from isotherm_tools import cli
from isotherm_tools.cli import main
from scaling_runs import strong_series

VERBS = ("slice", "history", "ladder", "roofline", "depths", "scaling", "report", "study-plot", "animate", "volume")


def test_these_are_the_verbs(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("    ") and line[4] != " "]
    assert sorted(set(listed) - {"VERB"}) == sorted(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_and_what_is_missing(verb, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0 and f"isotherm_tools {verb} " in text and "--out FILE" in text
    assert text.split("\n\n")[1].strip().endswith("."), "what it does, in a sentence"
    with pytest.raises(SystemExit) as ended:
        main([verb])
    assert ended.value.code == 2 and "required" in capsys.readouterr().err
    missing = tmp_path / "none"
    lacks_pyvista = verb == "volume" and not importlib.util.find_spec("pyvista")
    assert main([verb, str(missing)]) == (69 if lacks_pyvista else 66)
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"isotherm_tools: {'volume needs PyVista' if lacks_pyvista else missing}")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def stdout_of(encoding):
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def test_a_stdout_without_greek_gets_all_the_same(tmp_path, monkeypatch):
    words = ["scaling", *map(str, strong_series(tmp_path))]
    shown = {}
    for encoding in ("utf-8", "latin-1", "ascii"):
        monkeypatch.setattr(sys, "stdout", stdout_of(encoding))
        assert main(words) == 0
        shown[encoding] = sys.stdout.buffer.getvalue().decode(encoding)
    assert "263 µs" in shown["utf-8"] and shown["latin-1"] == shown["utf-8"]
    assert shown["ascii"] == shown["utf-8"].replace("µ", "u")


def test_a_name_that_is_no_text_is_printed_as_it_is(monkeypatch):
    monkeypatch.setattr(sys, "stdout", stdout_of("utf-8"))
    cli.say(os.fsdecode(b"runs/\xff.png"))
    assert sys.stdout.buffer.getvalue() == b"runs/\xff.png\n"


def test_a_reader_that_goes_away_and_a_full_disk(tmp_path, monkeypatch, capsys):
    words = ["scaling", *map(str, strong_series(tmp_path)), "--csv", str(tmp_path / "a.csv")]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(words) == 0 and (tmp_path / "a.csv").exists()
        print("more", flush=True)  # as the interpreter does at its end
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w", encoding="utf-8", buffering=1) as stdout:
            monkeypatch.setattr(sys, "stdout", stdout)
            assert main(words) == 74
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    assert "standard output cannot be written" in capsys.readouterr().err


def test_ctrl_c_is_one_line(tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt
    monkeypatch.setattr(cli, "say", interrupted)
    assert main(["scaling", *map(str, strong_series(tmp_path))]) == 130
    assert capsys.readouterr().err.count("\n") == 1
