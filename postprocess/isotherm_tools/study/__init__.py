"""isotherm study: the cases of a deck with `study:` or `scaling:`, each as a process of its own, and what they have come
to. It needs the standard library alone: the program reads decks, checks cases and solves them; this package asks it
(../program.py), expands the deck into cases (deck.py), looks where each stands and who works there (state.py), runs them
(runner.py) or submits them to Slurm (slurm.py), and collects records and tables (collection.py), as command.py says."""
