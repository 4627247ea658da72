"""CSV files of the program as tables: a column is an array, and has a unit."""

import csv

import numpy as np

from isotherm_tools.failure import DATA, FILE_MISSING, Failure
from isotherm_tools.units import split_unit


class Table(dict):
    """Column -> array, in the order of the file. `sweep` holds whole numbers, all others floats: NaN where nothing was due."""

    @property
    def units(self):
        """Column -> "s", "K", "W", "J"; "" of counts and shares."""
        return {name: split_unit(name)[1] for name in self}


def read_table(path, hint):
    """The table, and the lines before it that begin with #. `hint`: what a run without the file may have lacked."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError as error:
        raise Failure(FILE_MISSING, f"{path} does not exist; {hint}") from error
    remarks = [line[1:].strip() for line in lines if line.startswith("#")]
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    try:
        texts = list(rows)
        table = Table((name, column(name, [row[name] for row in texts])) for name in rows.fieldnames or [])
    except (KeyError, TypeError, ValueError) as error:
        raise Failure(DATA, f"{path} is no table of isotherm ({error})") from error
    return table, remarks


def column(name, texts):
    if name == "sweep":
        return np.array([int(text) for text in texts], dtype=np.int64)
    return np.array([np.nan if text == "" else float(text) for text in texts])
