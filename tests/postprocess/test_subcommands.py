"""The tools' command lines, their documentation, the directories that they open, records of earlier versions."""

import csv
import errno
import io
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import h5py
import isotherm_tools
import numpy as np
import pytest
from documentation import SUBCOMMANDS, TOP, blocks, name_of, pages, shell_lines
from failures import expect_failure
from isotherm_tools import Failure, open_run
from isotherm_tools import __main__ as cli
from isotherm_tools.__main__ import main, parser
from isotherm_tools.scaling import RunRecord
from program import ran


def test_the_list_of_subcommands(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("    ") and line[4] != " "]
    assert sorted(set(listed) - {"SUBCOMMAND"}) == sorted(SUBCOMMANDS)


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_help_and_missing_arguments_or_files(subcommand, tmp_path, capsys, refused):
    with pytest.raises(SystemExit) as ended:
        main([subcommand, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0 and f"usage: isotherm {subcommand} " in text and "--out FILE" in text
    assert text.split("\n\n")[1].strip().endswith("."), "what it does, in a sentence"
    with pytest.raises(SystemExit) as ended:
        main([subcommand])
    assert ended.value.code == 2 and "required" in capsys.readouterr().err
    missing = tmp_path / "none"
    refused(66, f"isotherm {subcommand}: {missing}", subcommand, missing)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["slice", "closed"], ["baseline", "closed", "closed"]])
def test_a_folder_that_may_not_be_searched_is_one_line(words, monkeypatch, capsys):
    def denied(path):  # root may search all
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    monkeypatch.setattr(Path, "is_dir", denied)
    assert main(words) == 66
    assert capsys.readouterr().err.removeprefix("isotherm slice: ").startswith("'closed' cannot be read (Permission denied); ")


def test_packages_that_cannot_be_loaded_are_one_line(tmp_path):
    ran("slice", tmp_path / "none", code=66, MPLBACKEND="unknown")
    (tmp_path / "h5py.py").write_text("raise ImportError('no libhdf5')")
    done = ran("slice", tmp_path / "none", code=69, PYTHONPATH=f"{tmp_path}:{os.environ['PYTHONPATH']}")
    assert done.stderr.count("\n") == 1 and "(no libhdf5); source build/env.sh" in done.stderr


@pytest.mark.parametrize("encoding, said, printed", [
    ("utf-8", "263 µs", "263 µs".encode()), ("latin-1", "263 µs", b"263 \xb5s"), ("ascii", "263 µs", b"263 us"),
    ("utf-8", os.fsdecode(b"runs/\xff.png"), b"runs/\xff.png")])
def test_text_that_stdout_cannot_encode_is_replaced_and_names_keep_their_bytes(monkeypatch, encoding, said, printed):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    cli.say(said)
    assert sys.stdout.buffer.getvalue() == printed + b"\n"


def test_a_closed_pipe_and_a_full_disk(ramp, tmp_path, monkeypatch, capsys):
    words = ["history", str(ramp), "--out", str(tmp_path / "a.png")]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(words) == 0 and (tmp_path / "a.png").exists()
        print("more", flush=True)  # like the interpreter's output at exit
    with open("/dev/full", "w", encoding="utf-8", buffering=1) as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(words) == 74
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    assert "standard output cannot be written" in capsys.readouterr().err


def test_ctrl_c_is_one_line(ramp, tmp_path, monkeypatch, refused):
    def interrupted(*_):
        raise KeyboardInterrupt
    monkeypatch.setattr(cli, "say", interrupted)
    refused(130, "", "history", ramp, "--out", tmp_path / "a.png")


COMMAND = re.compile(rf"^(?:\$ )?isotherm +((?:{'|'.join(SUBCOMMANDS)}) (?:.*\\\n)*.*)", re.MULTILINE)
PAGES = [page for page in pages(".") if COMMAND.search("\n".join(blocks(page, "sh", "text")))]
PICTURES = TOP / "docs" / "guide" / "pictures.md"
assert len(PAGES) >= 8 and PICTURES in PAGES


@pytest.fixture(scope="module")
def documented_folder(tmp_path_factory):
    """A folder with coarser runs under the names in the examples: of the deck, and of the page's command."""
    top = tmp_path_factory.mktemp("examples")
    command, = (shlex.split(line) for line in shell_lines(PICTURES) if line.startswith("isotherm run "))
    for words in ["inputs/quickstart.yaml", "output.directory=runs/quickstart"], command[2:]:
        ran("run", TOP / words[0], *words[1:], "grid.cells=[40,20,3]", "problem.end_time=4",
            "output.every_time=1", "solver.kernel=reference", "solver.halo_width=1", cwd=top)
    return top


@pytest.mark.parametrize("example", blocks(PICTURES, "python"), ids=lambda text: f"{len(text)}")
def test_examples_run(documented_folder, monkeypatch, capsys, example):
    monkeypatch.chdir(documented_folder)
    exec(compile(example, "pictures.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_documented_commands_are_valid(page):
    found = [words for text in blocks(page, "sh", "text") for words in COMMAND.findall(text)]
    assert found, "no command was found"
    for words in found:
        parser().parse_args(shlex.split(words.replace("\\\n", " "), comments=True))


@pytest.fixture
def run(ramp):
    return open_run(ramp)


def test_snapshots_have_cells_coordinates_and_times(run):
    assert run.name == "ramp" and len(run.snapshots) == 3 and list(run.snapshots.sweeps) == [0, 10, 20]
    first = run.snapshots[0]
    assert first.T.shape == (5, 7, 12) and first.T.dtype == np.float32
    expected = 300 + 1000 * first.x[None, None, :] + 100 * first.y[None, :, None] + 10 * first.z[:, None, None]
    assert first.T == pytest.approx(expected, rel=1e-7)
    assert (first.x[0], first.y[-1], first.z[0]) == pytest.approx((0.1005, -0.187, 0.002))
    assert run.snapshots[-1].time == pytest.approx(run.record["time_s"]) == run.snapshots.times[-1]
    half = run.snapshots[-1].time / 2
    assert run.snapshots.nearest(1.1 * half).sweep == 10
    assert [snapshot.sweep for snapshot in run.snapshots[1:]] == [10, 20]
    for axis, index in (0, 3), (1, -1), (2, 4):
        assert np.array_equal(first.plane(axis, index), first.T.take(index, 2 - axis))
    for axis, index in (3, 0), (2, 5), (0, -13):
        expect_failure(2, f"no plane has index {index} along axis {axis}; axes 0, 1, 2 = x, y, z have (12, 7, 5) cells", first.plane, axis, index)


def test_parts_are_the_cells_of_the_whole_field(run):
    assert list(run.parts) == ["ramp_region", "ramp_slice_y3"]
    plane, box, whole = run.parts["ramp_slice_y3"], run.parts["ramp_region"], run.snapshots[-1]
    assert list(plane.sweeps) == [0, 5, 10, 15, 20] and plane[-1].T.shape == (5, 1, 12)
    assert np.array_equal(plane[-1].T[:, 0], whole.T[:, 3]) and plane[-1].y == pytest.approx(whole.y[3:4])
    assert np.array_equal(box[-1].T, whole.T[3:5, 2:6, 1:7]) and box[-1].x == pytest.approx(whole.x[1:7])
    expect_failure(2, " holds no series none; it has ramp_region, ramp_slice_y3", run.series, "none")


def test_tables_hold_every_line(run, ramp):
    with open(ramp / "history.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    history = run.history
    assert list(history) == list(lines[0]) and history["sweep"].dtype == np.int64
    for name, values in history.items():
        assert len(values) == len(lines) > 5
        for line, value in zip(lines, values):
            assert np.isnan(value) if line[name] == "" else value == float(line[name])
    assert [history.units[name] for name in ("sweep", "time_s", "mean_K", "residual", "relative_residual")] == ["", "s", "K", "K", ""]
    assert list(run.probes) == ["sweep", "time_s", "p0_K", "right_K"] and list(run.probes["sweep"]) == [0, 10, 20]
    assert run.probe_places == {"p0": (0.105, -0.19, 0.01), "right": (0.11, -0.19, 0.01)}
    expect_failure(2, "probes.csv has no column left_K; it has sweep, time_s, p0_K, right_K", lambda: run.probes["left_K"])
    assert run.record == json.loads((ramp / "run.json").read_text())


def test_nothing_is_read_before_it_is_requested(tmp_path):
    for sweep in range(3):
        with h5py.File(tmp_path / f"demo_{sweep:08d}.hdf", "w") as file:
            file.create_group("isotherm").attrs["no"] = "snapshot"
    run = open_run(tmp_path)
    assert len(run.snapshots) == 3 and list(run.snapshots.sweeps) == [0, 1, 2]
    expect_failure(65, "demo_00000001.hdf is no snapshot of isotherm", lambda: run.snapshots[1].T)


def test_a_missing_file_is_a_failure_with_one_line(tmp_path):
    expect_failure(66, "is no folder; name the run directory", open_run, tmp_path / "nowhere")
    run = open_run(tmp_path)
    for what, line in (("snapshots", "holds no snapshots"), ("history", "history.csv does not exist; was the run made"),
                       ("probes", "was the run made with output.probes"), ("record", "run.json does not exist")):
        expect_failure(66, line, getattr, run, what)
    assert run.parts == {}
    expect_failure(66, "it has no run.json", lambda: run.snapshots)
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "run.json").touch()
    expect_failure(66, f"name one, such as {tmp_path / 'case'}", lambda: run.snapshots)
    early = "ended before one was due (stopped by SIGTERM; resume it)"
    for result, snapshots, said in (("STOPPED", "true", early), ("FAIL", "true", early),
                                    ("STOPPED", "false", "was the run made with"), ("DONE", "true", "was the run made with")):
        (tmp_path / "run.json").write_text(json.dumps({**json.loads(RECORDS[0].read_text()), "result": result, "deck": {
            "resolved": f"output:\n  snapshots: {snapshots}\n"}, "message": "stopped by SIGTERM; resume it"}))
        expect_failure(66, said, lambda: open_run(tmp_path).snapshots)
    (tmp_path / "history.csv").write_text("sweep,time_s\n1,x\n")
    (tmp_path / "probes.csv").write_text("# p0: here\nsweep,time_s,p0_K\n1,0.5\n")
    for what in ("history", "probes"):
        expect_failure(65, "is no table of isotherm", getattr, open_run(tmp_path), what)
    for content in (b"", b"sweep\n" + 400 * b"\xff"):
        (tmp_path / "history.csv").write_bytes(content)
        said = expect_failure(65, "is no table of isotherm", getattr, open_run(tmp_path), "history")
        assert len(said) < 300 + len(str(tmp_path)), "not the whole file"
    assert isotherm_tools.Failure is Failure


RECORDS = sorted((Path(__file__).parents[1] / "faults/fixtures/records").glob("run_*.json"))


@pytest.fixture(params=RECORDS, ids=lambda path: path.stem)
def earlier_run(request, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(request.param, folder / "run.json")
    return folder


def test_earlier_records_are_read_by_open_run_scaling_and_report(earlier_run, tmp_path, capsys):
    record = RunRecord(earlier_run)
    assert (record.cells, record.parts, record.ranks, record.backend) == ((100, 100, 50), (1, 1, 2), 2, "cpu")
    assert (record.step, record.rate, record.sweeps, record.checks) == (0.001, 5e8, 2000, 20)
    assert record.hidden is None or record.hidden == pytest.approx(2 / 3)
    assert [wire.latency for _, wire in record.links] == ([4e-6] if record.hidden else [])
    record, written = open_run(earlier_run).record, json.loads((earlier_run / "run.json").read_text())
    assert open_run(earlier_run).name == written["name"] != earlier_run.name
    assert record["continuation"] is not None and record["figures_of_merit"] == {} and record["profile"] is None
    for key, value in written.items():
        if not isinstance(value, dict):
            assert record[key] == value
    assert main(["report", str(earlier_run), "--out", str(tmp_path / "page.html")]) == 0, capsys.readouterr().err
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "500 M" in text and "0.5 K" in text and "at sweep None" not in text


def test_two_runs_share_nothing(earlier_run, tmp_path):
    shutil.copytree(earlier_run, tmp_path / "other")
    one, other = open_run(earlier_run).record, open_run(tmp_path / "other").record
    one["continuation"]["checkpoints"] = 7
    one["figures_of_merit"]["speed"] = 1
    assert other["continuation"]["checkpoints"] == 0 and other["figures_of_merit"] == {}


@pytest.mark.parametrize("version, problem", [
    (4, "has schema version 4, and this package reads versions up to 3; "),
    *((version, f"is no run record of isotherm (its schema_version is {version!r})") for version in (0, True, "1", None))])
def test_another_version_is_refused(tmp_path, version, problem):
    content = {**json.loads(RECORDS[0].read_text()), "schema_version": version}
    (tmp_path / "run.json").write_text(json.dumps(content))
    for read in (RunRecord, lambda path: open_run(path).record):
        assert expect_failure(65, problem, read, tmp_path).startswith(f"{tmp_path}/run.json {problem}")
