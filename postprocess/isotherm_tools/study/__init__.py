"""isotherm study: runs the cases of a deck with `study:` or `scaling:`, each as a process of its own, and collects their results. It
needs only the standard library: the program reads decks, checks cases and solves them. This package sends it requests (../program.py),
expands the deck into cases (deck.py), finds the state of each case and the process that runs it (state.py), runs the cases
(runner.py) or submits them to Slurm (slurm.py), and collects records and tables (collection.py). command.py is the command line."""
