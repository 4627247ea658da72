"""Names of run directories and decks: refused with 73, or taken literally; never interpreted."""

import json
import os

import pytest
from cli import BASE_DECK, NOBODY, isotherm

ANOTHER = "; choose another with output.directory=..."
RUN_FILES = {"deck.yaml", "deck.resolved.yaml", "history.csv", "run.json", "run.log", "deck.hdf.series",
             "deck.xmf", "deck_00000010.hdf"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "deck.yaml").write_text(BASE_DECK)
    return tmp_path / "work"


def run(folder, *overrides, user=None):
    return isotherm("run", "deck.yaml", "--progress=off", *overrides, cwd=folder, user=user)


def quoted(name):  # as a YAML scalar of an override
    return f"output.directory={json.dumps(name)}"


def test_a_file_where_the_folder_should_be(folder):
    (folder / "file").write_text("mine")
    result = run(folder, "output.directory=file")
    assert (result.code, result.err) == (
        73, f"cannot use 'file' as run directory (it is a file, not a folder){ANOTHER}\n")
    result = run(folder, "output.directory=file/sub")
    assert (result.code, result.err) == (
        73, f"cannot use 'file/sub' as run directory ('file' is a file, not a folder){ANOTHER}\n")
    assert (folder / "file").read_text() == "mine"
    assert sorted(os.listdir(folder)) == ["deck.yaml", "file"]


def test_missing_parents_are_made(folder):
    assert run(folder, "output.directory=a/b/c/").code == 0
    assert set(os.listdir(folder / "a" / "b" / "c")) == RUN_FILES


def test_a_folder_that_may_not_be_written(folder):
    (folder / "closed").mkdir(mode=0o555)
    for part in [folder, *folder.parents[:3]]:
        os.chmod(part, os.stat(part).st_mode | 0o055)  # nobody may come here, but not write
    user = NOBODY if os.getuid() == 0 else None
    result = run(folder, "output.directory=closed", user=user)
    assert (result.code, result.err) == (
        73, f"cannot use 'closed' as run directory (it cannot be written to: Permission denied){ANOTHER}\n")
    result = run(folder, "output.directory=closed/sub/deeper", user=user)
    assert (result.code, result.err) == (
        73, "cannot use 'closed/sub/deeper' as run directory (a folder cannot be made in 'closed': Permission "
            f"denied){ANOTHER}\n")
    assert os.listdir(folder / "closed") == []


def test_a_name_that_is_too_long(folder):
    name = "x" * 300
    result = run(folder, f"output.directory={name}")
    assert (result.code, result.err) == (
        73, f"cannot use '{name}' as run directory (a folder cannot be made in '.': File name too long){ANOTHER}\n")
    assert os.listdir(folder) == ["deck.yaml"]


@pytest.mark.parametrize("name", ["%s%n", "{}", "a\nb", "$(touch oops)", "a;b", "~", "tab\there", "-rf", "Zürich"])
def test_a_name_is_taken_literally(folder, name):
    result = run(folder, quoted(name))
    assert (result.code, result.err) == (0, "")
    assert sorted(os.listdir(folder)) == sorted(["deck.yaml", name])
    record = json.loads((folder / name / "run.json").read_text())
    assert record["directory"] == name


def test_dots_lead_where_they_lead_anywhere(folder):
    assert run(folder, "output.directory=../beside/./x/..").code == 0
    assert (folder.parent / "beside" / "run.json").exists()
    assert os.listdir(folder) == ["deck.yaml"]


@pytest.mark.parametrize("stem", ["%s%n", "{}", "a b", "a\nb"])
def test_the_deck_s_name_is_taken_literally(folder, stem):
    (folder / "deck.yaml").rename(folder / f"{stem}.yaml")
    result = isotherm("run", f"{stem}.yaml", "--progress=off", "output.directory=out", cwd=folder)
    assert (result.code, result.err) == (0, "")
    assert (folder / "out" / f"{stem}_00000010.hdf").exists()


def test_a_finished_run_is_not_replaced_unasked(folder):
    assert run(folder, "output.directory=out").code == 0
    before = {path: path.read_bytes() for path in (folder / "out").iterdir()}
    result = run(folder, "output.directory=out")
    assert (result.code, result.err) == (
        73, "cannot use 'out' as run directory (it holds an earlier run: deck.hdf.series, deck.resolved.yaml, "
            "deck.xmf and 5 more); replace it with output.overwrite=true" + ANOTHER.replace(";", ", or") + "\n")
    assert {path: path.read_bytes() for path in (folder / "out").iterdir()} == before


def test_where_a_checkpoint_is_a_run_is_gone_on_with(folder):
    assert run(folder, "output.directory=out", "output.checkpoint.every_steps=5").code == 0
    (folder / "other.yaml").write_text(BASE_DECK)
    offers = "; go on with that run by --restart latest, replace it with output.overwrite=true"
    assert offers in run(folder, "output.directory=out").err
    other = isotherm("run", "other.yaml", "--progress=off", "output.directory=out", cwd=folder)
    assert other.code == 73 and "); replace it with output.overwrite=true" in other.err  # the checkpoints are not its own


@pytest.mark.parametrize("mark", ["as it is", "of 0.1", "killed"])
def test_a_run_of_another_name_is_replaced_with_all_its_files(folder, mark):
    """By the name that its mark has, or where an earlier isotherm wrote that, its record."""
    words = ["output.directory=out", "output.slices=[{axis: z, cell: 3}]", "output.checkpoint.every_steps=5"]
    (folder / "first.yaml").write_text(BASE_DECK)
    assert isotherm("run", "first.yaml", "--progress=off", *words, cwd=folder).code == 0
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
    assert {"first_00000010.hdf", "first_slice_z3.xmf", "first_00000005.checkpoint.hdf"} <= set(os.listdir(out))
    assert run(folder, "output.directory=out", "output.overwrite=true").code == 0
    assert set(os.listdir(out)) == RUN_FILES | strangers
    assert all((out / name).read_text() == "mine" for name in strangers)


@pytest.mark.parametrize("record", ["{", "[1]", '{"name": 7}', '{"name": "../fir"}', '{"name": null}'])
def test_a_record_that_names_no_run_removes_nothing_more(folder, record):
    assert run(folder, "output.directory=out").code == 0
    out = folder / "out"
    (out / "deck.resolved.yaml").write_text("")
    (out / "run.json").write_text(record)
    (out / "first_00000010.hdf").write_text("mine")
    (folder / "first_00000010.hdf").write_text("mine")
    assert run(folder, "output.directory=out", "output.overwrite=true").code == 0
    assert (out / "first_00000010.hdf").read_text() == (folder / "first_00000010.hdf").read_text() == "mine"


def test_a_finished_run_is_replaced_on_request(folder):
    assert run(folder, "output.directory=out").code == 0
    (folder / "out" / "notes.txt").write_text("mine")
    result = run(folder, "output.directory=out", "output.overwrite=true", "problem.steps=5")
    assert (result.code, result.err) == (0, "")
    assert set(os.listdir(folder / "out")) == RUN_FILES - {"deck_00000010.hdf"} | {"deck_00000005.hdf", "notes.txt"}
    assert (folder / "out" / "notes.txt").read_text() == "mine"
