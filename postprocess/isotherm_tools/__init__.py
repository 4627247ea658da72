"""Reads the runs and benchmarks of isotherm, draws them, and tells how far its runs scale."""

import importlib

# Loaded when they are asked for: without numpy, h5py or matplotlib the command line can still say what is missing.
_MODULES = {"Failure": "program", "Run": "run", "Snapshot": "run", "Snapshots": "run", "Table": "run",
            "open_run": "run"}
__all__ = sorted(_MODULES)


def __getattr__(name):
    if name in _MODULES.values():
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
