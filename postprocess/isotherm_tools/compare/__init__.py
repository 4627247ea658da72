"""isotherm compare: every legal combination of what a deck leaves open, run from the same initial state, held to the same bits, and
ranked. A study over axes of its own: each combination is a run, started as a study starts its cases."""
