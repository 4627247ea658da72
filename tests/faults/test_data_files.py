"""Decks name files: tables, datasets, other runs. A run that is resumed or repeated, and a study, take them by what they hold and not by
where they are: other contents are an error, and another place is none."""

import json
import re
import shutil

import h5py
import numpy as np
import pytest

from program import command, finished, ran, write_deck
from runs import record

DECK = """\
grid: {cells: [6, 5, 4], lengths: [0.06, 0.05, 0.04]}
materials: {steel: {conductivity: 16, density: 8000, heat_capacity: 500}, copper: {conductivity: 400, density: 8960, heat_capacity: 385}}
regions: [{shape: dataset, file: ids.h5, dataset: /ids, map: {0: steel, 1: copper}}]
boundaries: {x_min: {kind: flux, value: {table: flux.csv, time: t, column: q, interpolation: step}}}
sources: [{shape: dataset, file: heat.h5, dataset: /heat}]
initial: [{shape: dataset, file: first/runs/first}]
problem: {steps: 20, dt: 0.05}
output: {checkpoint: {final: true}}
"""
FIRST = """\
grid: {cells: [6, 5, 4], lengths: [0.06, 0.05, 0.04]}
material: {conductivity: 16, density: 8000, heat_capacity: 500}
initial: [{shape: constant, value: 293}]
problem: {steps: 3}
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
    return lambda folder: ran("run", "deck.yaml", "output.overwrite=true", f"initial.0.value={initial}", cwd=folder / "first")


IDS = np.arange(120).reshape(4, 5, 6) % 2
OTHERS = {"regions": write_dataset("ids", 1 - IDS), "boundaries.x_min.value": write_flux(2e4),
          "sources": write_dataset("heat", np.full((4, 5, 6), 2e5)), "initial": start(300)}


@pytest.fixture
def project(tmp_path):
    """A folder with all files, and a run of half of the steps."""
    folder = tmp_path / "project"
    (folder / "first").mkdir(parents=True)
    write_deck(folder / "first", FIRST.replace("problem", "output: {directory: runs/first}\nproblem"))
    for write in (write_dataset("ids", IDS), write_dataset("heat", np.full((4, 5, 6), 1e5)), write_flux(1e4), start(293)):
        write(folder)
    write_deck(folder, DECK)
    ran("run", "deck.yaml", "problem.steps=10", cwd=folder)
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


def test_the_folder_may_move_and_the_same_values_may_be_written_anew(project, tmp_path):
    ran("run", "deck.yaml", "output.directory=whole", cwd=project)
    moved = project.rename(tmp_path / "moved")
    (moved / "flux.csv").write_text("t, q, other\n# again\n0, 1e4, 5\n9, 10000, 6\n")
    resumed = ran("run", "deck.yaml", "--restart", "latest", cwd=moved, ranks=2)
    assert "another" not in resumed.stderr
    assert record(moved / "runs" / "deck")["fingerprint"] == record(moved / "whole")["fingerprint"]


def test_a_study_has_cases_of_the_files_that_it_finds(project, tmp_path):
    write_deck(project, DECK + "study: {matrix: {materials.steel.conductivity: [1, 2]}}\n", "study.yaml")
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
