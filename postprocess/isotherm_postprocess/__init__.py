"""Reads the run directories of isotherm and draws them."""
