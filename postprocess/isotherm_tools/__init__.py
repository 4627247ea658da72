"""Reads and draws the runs and benchmarks of isotherm, and evaluates how its runs scale."""

import importlib

# Loaded on first use, so that the command line can report that numpy, h5py or matplotlib is missing.
_MODULES = {"Failure": "program", **dict.fromkeys(("Run", "Snapshot", "Snapshots", "Table", "open_run"), "run")}
__all__ = sorted(_MODULES)


def __getattr__(name):
    if name not in _MODULES and name not in _MODULES.values():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, name)}")
    return getattr(module, name) if name in _MODULES else module
