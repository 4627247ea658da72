"""Paths that a run uses: run directories and decks by name, rejected with 73 or taken literally, never
interpreted; its own directory and MPI's temporary files; tables, datasets and other runs that a deck names.
It starts no program (outside_shim.c observes it)."""

import json
import os
import re
import shutil
import time

import h5py
import numpy as np
import pytest

from program import BASE_DECK, command, DECK, finished, finished_run, isotherm, measured, OTHER_USER, ran, write_deck
from runs import record

RUN_FILES = {"deck.yaml", "deck.resolved.yaml", "history.csv", "run.json", "run.log", "deck.hdf.series",
             "deck.xmf", "deck_00000010.hdf"}


def run(folder, *overrides, deck="deck.yaml", code=0):
    return ran("run", deck, "--progress=off", *overrides, cwd=folder, code=code)


def expect_no_directory(folder, name, why, user=None):
    done = measured("run", "deck.yaml", "--progress=off", f"output.directory={name}", cwd=folder, user=user)
    assert done.returncode == 73
    assert done.stderr == f"cannot use '{name}' as run directory ({why}); choose another with output.directory=...\n"


def test_a_directory_that_cannot_be_used(folder):
    """A file has the name of the folder; the name is too long; the folder is read-only."""
    (folder / "file").write_text("mine")
    expect_no_directory(folder, "file", "it is a file, not a folder")
    expect_no_directory(folder, "file/sub", "'file' is a file, not a folder")
    expect_no_directory(folder, "x" * 300, "a folder cannot be made in '.': File name too long")
    assert (folder / "file").read_text() == "mine"
    (folder / "closed").mkdir(mode=0o555)
    for part in [folder, *folder.parents[:2]]:
        os.chmod(part, os.stat(part).st_mode | 0o055)  # other users may enter the folders, but not write
    expect_no_directory(folder, "closed", "it cannot be written to: Permission denied", OTHER_USER)
    expect_no_directory(folder, "closed/sub/deeper", "a folder cannot be made in 'closed': Permission denied", OTHER_USER)
    assert os.listdir(folder / "closed") == [] and sorted(os.listdir(folder)) == ["closed", "deck.yaml", "file"]


def test_missing_parents_are_made_and_dots_in_paths_have_their_usual_meaning(folder):
    run(folder, "output.directory=a/b/c/")
    assert set(os.listdir(folder / "a" / "b" / "c")) == RUN_FILES
    run(folder, f"output.directory=../{folder.name}/b/./x/..")
    assert (folder / "b" / "run.json").exists() and sorted(os.listdir(folder)) == ["a", "b", "deck.yaml"]


@pytest.mark.parametrize("name", ["%s%n", "{}", "a\nb", "$(touch oops)", "a;b c", "~", "tab\there", "-rf", "Zürich"])
def test_a_name_is_taken_literally(folder, name):
    """The names of directory and deck."""
    stem = name.lstrip("-")  # options start with them
    (folder / "deck.yaml").rename(folder / f"{stem}.yaml")
    assert run(folder, f"output.directory={json.dumps(name)}", deck=f"{stem}.yaml").stderr == ""  # a YAML scalar
    assert sorted(os.listdir(folder)) == sorted([f"{stem}.yaml", name]) and (folder / name / f"{stem}_00000010.hdf").exists()
    assert json.loads((folder / name / "run.json").read_text())["directory"] == name


@pytest.mark.parametrize("letters, code", [(155, 0), (156, 65)])
def test_a_name_must_leave_room_for_all_file_names(folder, letters, code):
    (folder / "deck.yaml").rename(folder / f"{'n' * letters}.yaml")
    slices = f"output.slices=[{{axis: z, cell: 3, name: {'s' * 64}}}]"
    result = run(folder, slices, "output.checkpoint.every_steps=5", deck=f"{'n' * letters}.yaml", code=code)
    assert (code == 0) == (result.stderr == "") and ("rename the deck" in result.stderr) == (code == 65)
    if code == 0:  # names of files may be longer
        ran("run", "--from", f"runs/{'n' * letters}/{'n' * letters}_00000010.hdf", "output.directory=again", cwd=folder)


def test_a_name_with_nul_is_refused(folder):
    assert run(folder, 'output.directory="a\\0b"', code=65).stderr.startswith("argument 4: ") and os.listdir(folder) == ["deck.yaml"]


def test_a_finished_run_is_replaced_on_request_alone(folder):
    run(folder, "output.directory=out")
    before = {path: path.read_bytes() for path in (folder / "out").iterdir()}
    result = run(folder, "output.directory=out", code=73)
    assert result.stderr.startswith("cannot use 'out' as run directory (it holds an earlier run: deck.hdf.series, ")
    assert {path: path.read_bytes() for path in (folder / "out").iterdir()} == before
    (folder / "out" / "notes.txt").write_text("mine")
    assert run(folder, "output.directory=out", "output.overwrite=true", "problem.steps=5").stderr == ""
    assert set(os.listdir(folder / "out")) == RUN_FILES - {"deck_00000010.hdf"} | {"deck_00000005.hdf", "notes.txt"}
    assert (folder / "out" / "notes.txt").read_text() == "mine"


def test_in_a_directory_with_a_checkpoint_the_message_offers_to_resume(folder):
    run(folder, "output.directory=out", "output.checkpoint.every_steps=5")
    (folder / "other.yaml").write_text(BASE_DECK)
    offers = "; resume that run with --restart latest, replace it with output.overwrite=true"
    assert offers in run(folder, "output.directory=out", code=73).stderr
    other = run(folder, "output.directory=out", deck="other.yaml", code=73)
    assert "); replace it with output.overwrite=true" in other.stderr  # the checkpoints belong to the other deck


@pytest.mark.parametrize("mark", ["as it is", "of 0.1", "killed"])
def test_a_run_of_another_name_is_replaced_with_all_its_files(folder, mark):
    """Its name is in its mark (deck.resolved.yaml), or in its record if an earlier isotherm wrote the mark."""
    words = ["output.directory=out", "output.slices=[{axis: z, cell: 3}]", "output.checkpoint.every_steps=5", "output.coarse.factor=1",
             "output.region={first_cell: [1, 2, 3], last_cell: [2, 3, 4]}", "output.probes={points: [[0, 0, 0]]}"]
    (folder / "first.yaml").write_text(BASE_DECK)
    run(folder, *words, deck="first.yaml")
    out = folder / "out"
    if mark == "of 0.1":
        (out / "deck.resolved.yaml").write_text((out / "deck.resolved.yaml").read_text().split("\n", 1)[1])
    if mark == "killed":
        (out / "run.json").unlink()
        (out / "first_00000011.hdf.part").write_text("half")
    strangers = {"notes.txt", "first.txt", "first_notes.hdf", "second_00000010.hdf", "first_1.hdf5", "first_00000010.png",
                 "myfirst_00000010.hdf", "history.csv.1"}
    for name in strangers:
        (out / name).write_text("mine")
    assert {"first_00000010.hdf", "first_slice_z3.xmf", "first_00000005.checkpoint.hdf", "probes.csv", "first_coarse.xmf",
            "first_region_00000010.hdf"} <= set(os.listdir(out))
    run(folder, "output.directory=out", "output.overwrite=true")
    assert set(os.listdir(out)) == RUN_FILES | strangers
    assert all((out / name).read_text() == "mine" for name in strangers)


@pytest.mark.parametrize("text", ["{", "[1]", '{"name": 7}', '{"name": "../fir"}', '{"name": null}'])
def test_a_record_that_names_no_run_removes_nothing_more(folder, text):
    run(folder, "output.directory=out")
    out = folder / "out"
    (out / "deck.resolved.yaml").write_text("")
    (out / "run.json").write_text(text)
    (out / "first_00000010.hdf").write_text("mine")
    (folder / "first_00000010.hdf").write_text("mine")
    run(folder, "output.directory=out", "output.overwrite=true")
    assert (out / "first_00000010.hdf").read_text() == (folder / "first_00000010.hdf").read_text() == "mine"


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_writes_to_its_directory_alone(outside_shim, tmp_path, ranks):
    work, temporary, log = tmp_path / "work", tmp_path / "temporary", tmp_path / "log"
    work.mkdir()
    temporary.mkdir()
    words = ["output.directory=out", "output.checkpoint={every_steps: 10}", "output.slices=[{axis: z, cell: 3}]",
             "output.probes={points: [[-0.9, 2.1, 0.6]]}", "output.diagnostics=5"]
    finished_run(work, DECK, "deck", *words, ranks=ranks, LD_PRELOAD=str(outside_shim), ISOTHERM_OUTSIDE=str(log),
                 TMPDIR=str(temporary), OMPI_MCA_orte_tmpdir_base=str(temporary), HOME=str(tmp_path / "home"))
    lines = [line.split(" ", 1) for line in log.read_text(errors="replace").splitlines()]
    own = [path for kind, path in lines if kind == "write" and path.startswith(f"{work}/out/")]
    assert any("checkpoint" in path for path in own) and any(path.endswith("history.csv") for path in own)
    allowed = (f"{work}/out", f"{temporary}/", "/dev/", "/proc/", "/sys/")  # the last are of MPI: devices, shared memory
    above = {str(folder) for folder in [temporary, *temporary.parents]}  # MPI ensures that they exist
    written = {os.path.normpath(path) for kind, path in lines if kind == "write"}
    assert sorted(path for path in written - above if not path.startswith(allowed)) == []
    # The launcher, which starts the ranks, is also preloaded.
    assert {os.path.basename(path) for kind, path in lines if kind == "start"} <= {"isotherm"}
    assert sorted(os.listdir(work)) == ["deck.yaml", "out"]


@pytest.mark.parametrize("lure", ["$(touch lured)", "; touch lured #", "../%s%nlured"])
def test_texts_of_a_deck_are_no_commands(outside_shim, tmp_path, lure):
    """As names of slices and probes, the run's directory, and a dataset: rejected or taken literally."""
    log, work = tmp_path / "log", tmp_path / "work" / "in"
    work.mkdir(parents=True)
    write_deck(work, DECK)
    for word in ("output.slices=[{axis: z, cell: 3, name: '%s'}]", "output.probes={points: [{at: [-0.9, 2.1, 0.6], name: '%s'}]}",
                 "initial=[{shape: dataset, file: '%s', dataset: data}]", "initial=[{shape: dataset, file: deck.yaml, dataset: '%s'}]",
                 "output.directory='%s'"):
        isotherm("run", "deck.yaml", word.replace("%s'", lure + "'"), cwd=work, LD_PRELOAD=str(outside_shim),
                 ISOTHERM_OUTSIDE=str(log))
    assert "touch" not in [line.split()[1] for line in log.read_text().splitlines() if line.startswith("start")]
    assert not [path for path in tmp_path.rglob("lured") if path.is_file()]


@pytest.mark.parametrize("ranks, words", [(0, []), (2, ["output.asynchronous=false"])])
def test_a_series_is_replaced_by_the_clock_and_not_for_every_file(outside_shim, tmp_path, ranks, words):
    """At most once a second, and at checkpoints and the end: a write costs as much as the number of files in the series."""
    log, start = tmp_path / "log", time.monotonic()
    ran("run", write_deck(tmp_path, DECK), "output.directory=out", "output.snapshots=false", "problem.steps=120",
        "output.slices=[{axis: z, cell: 3, every_steps: 1}]", "output.checkpoint={every_steps: 40}", *words,
        ranks=ranks, cwd=tmp_path, LD_PRELOAD=str(outside_shim), ISOTHERM_OUTSIDE=str(log))
    seconds = time.monotonic() - start
    out = tmp_path / "out"
    written = [path.removeprefix(f"write {out}/") for path in log.read_text(errors="replace").splitlines()]
    for name in ("deck_slice_z3.hdf.series", "deck_slice_z3.xmf"):
        assert 1 < written.count(name) <= 1 + seconds + 3 + 1  # the first, by the clock, at checkpoints, at the end
    names = [f"deck_slice_z3_{sweep:08d}.hdf" for sweep in range(121)]
    assert all(written.count(name) == 1 for name in names)
    assert [entry["name"] for entry in json.loads((out / "deck_slice_z3.hdf.series").read_text())["files"]] == names

    def last(name, before):
        return max(index for index in range(before) if written[index] == name)

    for sweep in (40, 80):  # when a run resumes from a checkpoint, the series has all slices up to it
        goes_on = written.index(f"deck_slice_z3_{sweep + 1:08d}.hdf.part")
        checkpoint, newest = (last(name, goes_on) for name in (f"deck_{sweep:08d}.checkpoint.hdf", names[sweep]))
        assert newest < checkpoint and last("deck_slice_z3.xmf", goes_on) > newest


# A run that is resumed or repeated, and a study, identify the files that a deck names by their contents, not
# by their paths: other contents are an error, another path is none.

OF_FILES = """\
grid: {cells: [6, 5, 4], lengths: [0.06, 0.05, 0.04]}
materials: {steel: {conductivity: 16, density: 8000, heat_capacity: 500}, copper: {conductivity: 400, density: 8960, heat_capacity: 385}}
regions: [{shape: dataset, file: ids.h5, dataset: /ids, map: {0: steel, 1: copper}}]
boundaries: {x_min: {kind: flux, value: {table: flux.csv, time: t, column: q, interpolation: step}}}
sources: [{shape: dataset, file: heat.h5, dataset: /heat}]
initial: [{shape: dataset, file: first/runs/first}]
problem: {steps: 20, dt: 0.05}
output: {checkpoint: {final: true}}
"""


def write_dataset(name, values):
    def write(folder):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file[name] = values
    return write


def write_flux(flux):
    return lambda folder: (folder / "flux.csv").write_text(f"t,q\n0,{flux}\n9,{flux}\n")


def start(initial):
    """Another run in the place of the first."""
    words = ["grid={cells: [6, 5, 4], lengths: [0.06, 0.05, 0.04]}", f"initial.0.value={initial}",
             "output={directory: runs/first, overwrite: true}"]
    return lambda folder: ran("run", write_deck(folder / "first", BASE_DECK), *words, cwd=folder / "first")


IDS = np.arange(120).reshape(4, 5, 6) % 2
OTHERS = {"regions": write_dataset("ids", 1 - IDS), "boundaries.x_min.value": write_flux(2e4),
          "sources": write_dataset("heat", np.full((4, 5, 6), 2e5)), "initial": start(300)}


@pytest.fixture
def project(tmp_path):
    """A folder with all files, and a run of half of the steps."""
    folder = tmp_path / "project"
    (folder / "first").mkdir(parents=True)
    for write in (write_dataset("ids", IDS), write_dataset("heat", np.full((4, 5, 6), 1e5)), write_flux(1e4), start(293)):
        write(folder)
    finished_run(folder, OF_FILES, "deck", "problem.steps=10")
    return folder


@pytest.mark.parametrize("key", OTHERS)
def test_other_contents_are_refused(project, key):
    OTHERS[key](project)
    restart = ran("run", "deck.yaml", "--restart", "latest", cwd=project, code=65).stderr
    assert key in restart and "contents: " in restart and "is of another problem" in restart
    again = ran("run", "--from", "runs/deck/deck_00000010.hdf", "output.directory=again", cwd=project, code=65).stderr
    assert key in again and "than when this deck was resolved" in again
    assert not (project / "again").exists()


@pytest.mark.parametrize("key, file, name", [
    ("initial.0.file", None, ""), ("sources.0.file", "heat.h5", "deck_00000099.hdf"), ("regions.0.file", "ids.h5", "deck_material.h5"),
    ("boundaries.x_min.value.table", "flux.csv", "probes.csv")])
def test_a_run_does_not_replace_the_files_that_it_reads(project, key, file, name):
    folder = project / "runs" / "deck"
    if file:
        shutil.copy(project / file, folder / name)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for subcommand in ("check", "run"):
        refused = ran(subcommand, "deck.yaml", "output.overwrite=true", f"{key}=runs/deck/{name}", cwd=project, code=65).stderr
        assert key.removesuffix(".table") in refused and "output.overwrite would replace" in refused
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_may_move_and_the_same_values_may_be_written_again(project, tmp_path):
    ran("run", "deck.yaml", "output.directory=whole", cwd=project)
    moved = project.rename(tmp_path / "moved")
    (moved / "flux.csv").write_text("t, q, other\n# again\n0, 1e4, 5\n9, 10000, 6\n")
    resumed = ran("run", "deck.yaml", "--restart", "latest", cwd=moved, ranks=2)
    assert "another" not in resumed.stderr
    assert record(moved / "runs" / "deck")["fingerprint"] == record(moved / "whole")["fingerprint"]


def test_a_study_identifies_files_by_their_contents(project, tmp_path):
    write_deck(project, OF_FILES + "study: {matrix: {materials.steel.conductivity: [1, 2]}}\n", "study.yaml")
    ran("study", "study.yaml", cwd=project)
    moved = project.rename(tmp_path / "moved")
    assert "2 finished before, 0 to run" in ran("study", "study.yaml", cwd=moved).stdout
    write_flux(3e4)(moved)
    assert "another deck" in ran("study", "study.yaml", cwd=moved, code=73).stderr
    ran("study", "study.yaml", "output.overwrite=true", cwd=moved)
    assert "2 finished before, 0 to run" in ran("study", "study.yaml", cwd=moved).stdout


def test_decks_of_earlier_versions_are_compared_by_their_paths(project):
    now = (project / "runs" / "deck" / "deck.resolved.yaml").read_text()
    before = re.sub(", contents: [^,}]+", "", now)
    requests = [{"before": before, "now": now}, {"before": before.replace("flux.csv", "other.csv"), "now": now}]
    done = finished(command("check", "--json", "deck.yaml"), 0, cwd=project, input=json.dumps({"requests": requests}))
    same, other = (answer["changes"] for answer in json.loads(done.stdout)["answers"])
    assert before != now and not same and [change["key"] for change in other] == ["boundaries.x_min.value"]
