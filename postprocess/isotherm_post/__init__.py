"""Reads the runs and benchmarks of isotherm, draws them, and tells how far its runs scale."""

from isotherm_post.failure import Failure
from isotherm_post.run import Run, open_run
from isotherm_post.run_directory import Snapshot, Snapshots
from isotherm_post.tables import Table

__all__ = ["Failure", "Run", "Snapshot", "Snapshots", "Table", "open_run"]
