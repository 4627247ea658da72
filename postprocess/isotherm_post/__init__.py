"""Reads the run directories of isotherm, draws them, and tells how far its runs scale."""
