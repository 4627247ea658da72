"""Decks with several cases, and the contents of a study's directory."""

import csv
import json

from program import SMALL_BLOCK, write_deck

BASE = SMALL_BLOCK + """\
problem: {kind: transient, steps: 4}
parallel: {device: cpu}
solver: {kernel: reference, reduction: reference}
output: {directory: out, snapshots: false, diagnostics: 2}
"""


def write_study(folder, study, base=BASE):
    return write_deck(folder, base + "study:\n" + study)


def rows(folder):
    """The rows of study.csv by case name."""
    with open(folder / "study.csv", encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def states(folder):
    return {name: row["state"] for name, row in rows(folder).items()}


def collected(folder):
    return json.loads((folder / "study.json").read_text(encoding="utf-8"))


def folders(folder):
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def started(folder):
    """The start time of a case's run, from the file that it writes first."""
    return (folder / "deck.resolved.yaml").stat().st_mtime_ns


def changed_study(study, folder, change):
    """A study that consists of its record only, modified by `change`."""
    record = collected(study)
    change(record)
    folder.mkdir(exist_ok=True)
    (folder / "study.json").write_text(json.dumps(record))
    return folder
