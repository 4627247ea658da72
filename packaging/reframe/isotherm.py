"""isotherm under ReFrame (4.0 or later): strong and weak scaling on 1 to 8 ranks.

    reframe -c packaging/reframe/isotherm.py --tag cpu --prefix runs/reframe --run
    reframe -c packaging/reframe/isotherm.py --tag gpu --prefix runs/reframe -S Isotherm.program=$HOME/isotherm/bin/isotherm --run

Runs of decks for GPUs go to partitions with the feature `gpu`. Set references for your system by a class of your own
that inherits from this one, or in a copy of this file.
"""

import pathlib

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import (parameter, run_after, run_before, sanity_function, variable)

DECKS = pathlib.Path(__file__).resolve().parents[2] / "inputs" / "scaling"

# Not each run has all of them: one rank hides no exchange, and who writes no snapshot has no speed of writing.
FIGURES = {
    "cell_updates": "GLUP/s",
    "effective_bandwidth": "GB/s",
    "copy_bandwidth_share": "%",
    "time_per_step": "ms",
    "halo_fraction": "%",
    "halo_hidden": "%",
    "write_bandwidth": "GB/s",
    "write_hidden": "%",
}

# One problem has one answer, on any number of ranks of any machine.
FINGERPRINTS = {"strong_cpu": "b9e2856a1e9ab450"}


def figure_pattern(name):
    return rf"^FOM {name}: ([0-9]+\.[0-9]+) {FIGURES[name]}$"


def fact_patterns(deck, ranks):
    """What the output of a sound run has: its verdict, ranks that found each other, and the answer where it is known."""
    return [r"^RESULT: (?:DONE|CONVERGED|VERIFIED)$", rf"^  ranks +{ranks} ranks? on ", rf"^  fingerprint +{FINGERPRINTS.get(deck, '[0-9a-f]+')}$"]


@rfm.simple_test
class Isotherm(rfm.RunOnlyRegressionTest):
    deck = parameter(["strong_cpu", "weak_cpu", "strong_512", "weak_512"])
    ranks = parameter([1, 2, 4, 8])
    program = variable(str, value="isotherm")
    decks = variable(str, value=str(DECKS))
    overrides = variable(typ.List[str], value=[])  # key=value of any key of the deck

    descr = "Cell updates a second of isotherm"
    valid_prog_environs = ["*"]
    time_limit = "15m"

    @run_after("init")
    def find_a_place(self):
        on_gpus = not self.deck.endswith("_cpu")
        self.tags |= {"gpu" if on_gpus else "cpu", self.deck.split("_")[0]}
        self.valid_systems = ["+gpu"] if on_gpus else ["*"]
        self.num_tasks = self.ranks

    @run_after("setup")
    def fill_nodes(self):
        """A rank a GPU, all of which every rank of the node sees."""
        gpus = sum(device.num_devices or 0 for device in self.current_partition.devices if device.type == "gpu")
        if "gpu" in self.tags and gpus:
            self.num_tasks_per_node = self.num_gpus_per_node = min(self.ranks, gpus)

    @run_before("run")
    def say_what_to_run(self):
        device = "cuda" if "gpu" in self.tags else "cpu"
        self.executable = self.program
        self.executable_opts = ["run", f"{self.decks}/{self.deck}.yaml", f"parallel.device={device}", "output.directory=run",
                                *self.overrides]
        if "weak" in self.tags:  # by the program's rule
            self.prerun_cmds = [f"isotherm={self.program}; source {self.decks}/weak_cells.sh"]
            self.executable_opts.append(f"grid.cells=$(weak_cells {self.decks}/{self.deck}.yaml {self.ranks})")

    @sanity_function
    def ended_well(self):
        return sn.all([sn.assert_found(pattern, self.stdout) for pattern in fact_patterns(self.deck, self.ranks)])

    @run_before("performance")
    def read_figures(self):
        output = pathlib.Path(self.stagedir, sn.evaluate(self.stdout))
        printed = sn.evaluate(sn.extractall(r"^FOM (\w+): ", str(output), 1))
        self.perf_variables = {
            name: sn.make_performance_function(sn.extractsingle(figure_pattern(name), self.stdout, 1, float), unit)
            for name, unit in FIGURES.items() if name in printed
        }
