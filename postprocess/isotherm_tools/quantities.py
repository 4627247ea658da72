"""Columns of history.csv and study.csv in words: what a reader of a figure is told, instead of their names."""

from typing import NamedTuple

from isotherm_tools.units import split_unit

WORDS = {
    "min_K": "lowest temperature", "max_K": "peak temperature", "mean_K": "mean temperature", "residual_K": "residual",
    "max_error_K": "largest error", "l2_error_K": "root mean square error", "heat_J": "heat in the domain",
    "rate_W": "stored heat", "source_W": "heat from sources", "balance_W": "heat unaccounted for",
    "relative_balance": "share of the heat that is unaccounted for", "nan_cells": "cells that are not a number",
    "time_s": "time of the problem", "wall_s": "wall time", "step_s": "time per step", "points_per_s": "cell updates",
    "effective_bandwidth_bytes_per_s": "effective bandwidth", "copy_bandwidth_share_percent": "share of the copy bandwidth",
    "halo_fraction_percent": "share of the halo", "halo_hidden_percent": "hidden share of the halo",
    "host_peak_bytes": "peak memory", "efficiency_percent": "efficiency", "speedup": "speed-up",
    **{f"wall_{axis}_{end}_W": f"heat through {axis}_{end}" for axis in "xyz" for end in ("min", "max")},
}
AXES = {"K": "temperature", "W": "heat into the domain", "J": "heat in the domain", "s": "time"}  # of several columns
SHORT = {"min_K": "lowest", "max_K": "peak", "mean_K": "mean", "rate_W": "stored", "source_W": "sources", "balance_W": "unaccounted",
         **{f"wall_{axis}_{end}_W": f"{axis}_{end}" for axis in "xyz" for end in ("min", "max")}}  # beside such an axis


class Quantity(NamedTuple):
    words: str  # "peak temperature"
    short: str  # "peak": beside others on one axis
    axis: str  # "temperature": of all that can share one
    unit: str  # "K"; "" of counts and shares

    def __str__(self):
        return titled(self.words, self.unit)


def quantity(column):
    """Of a column of history.csv. What has no words here keeps its name."""
    name, unit = split_unit(column)
    if column.startswith("hist_"):
        return Quantity(f"cells in {column}", column, "cells", "")
    if column in ("residual", "relative_residual"):
        return Quantity(column.replace("_", " "), column.replace("_", " "), column.replace("_", " "), "K" if column == "residual" else "")
    words = WORDS.get(column, name.replace("_", " "))
    return Quantity(words, SHORT.get(column, words), AXES.get(unit, words), unit)


def titled(words, unit):
    return f"{words} [{unit}]" if unit else words
