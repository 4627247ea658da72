"""What `isotherm bench --json` measured: ladders of rows, one for each grid and precision."""

from pathlib import Path
from typing import NamedTuple, Optional

from isotherm_tools.failure import DATA, Failure
from isotherm_tools.json_record import read_record


class Rung(NamedTuple):
    """One row that was measured. Rates and bandwidths are a second's."""

    label: str
    row: str
    depth: int
    points: Optional[float]  # cell updates of a launch; None where nothing is updated
    moved: float  # bytes of a launch, least traffic
    launch: float  # s, median; of a difference it may be nothing, or less, where it drowns in noise
    launch_low: float  # s, p10
    launch_high: float  # s, p90
    copy: Optional[float]  # bytes, measured beside it
    read: Optional[float]
    speedup: Optional[float]
    difference: bool = False  # launch is what one thing takes longer than another

    @property
    def bandwidth(self):
        return self.moved / self.launch


class Ladder(NamedTuple):
    cells: tuple  # x, y, z
    precision: str
    rungs: list

    @property
    def title(self):
        return f"{' x '.join(map(str, self.cells))}, {self.precision}"

    def of_best_policies(self):
        """With the fastest policy of each row and depth, in the place of its first."""
        best = {}
        for rung in self.rungs:
            kept = best.get((rung.row, rung.depth))
            if kept is None or rung.launch < kept.launch:
                best[rung.row, rung.depth] = rung
        return self._replace(rungs=list(best.values()))


class BenchRecord:
    def __init__(self, path):
        self.path = Path(path)
        hint = "write it with isotherm bench ... --json FILE"
        content = read_record(self.path, "isotherm-bench", "benchmark", hint)
        try:
            self.subject = content["subject"]
            self.device = content["device"]["name"]
            self.ladders = ladders(content["entries"])
        except (KeyError, TypeError, ValueError) as error:
            raise Failure(DATA, f"{path} is no benchmark of isotherm ({error!r})") from error
        if not self.ladders:
            raise Failure(DATA, f"{path} holds no row that was measured and right")

    def keep_best_policies(self):
        self.ladders = [ladder.of_best_policies() for ladder in self.ladders]


def ladders(entries):
    """In the order of the file; rows that were skipped or wrong have no rung."""
    found = {}
    for entry in entries:
        if entry["verdict"] != "right" or entry["launch_s"] is None:
            continue
        found.setdefault((tuple(entry["cells"]), entry["precision"]), []).append(rung(entry))
    return [Ladder(cells, precision, rungs) for (cells, precision), rungs in found.items()]


def rung(entry):
    launch = entry["launch_s"]
    return Rung(
        label(entry),
        entry["row"],
        int(entry["depth"]),
        entry["points_per_launch"],
        float(entry["bytes_per_launch"]),
        float(launch["median"]),
        float(launch["p10"]),
        float(launch["p90"]),
        median(entry["copy_bandwidth_bytes_per_s"]),
        median(entry["read_bandwidth_bytes_per_s"]),
        entry["speedup"],
        entry.get("base_s") is not None,
    )


def label(entry):
    """The row, and what tells its ways to launch apart."""
    parts = [entry["row"]]
    if entry["policy"] != "-":
        parts.append(entry["policy"])
    if entry["depth"] > 1:
        parts.append(f"depth {entry['depth']}")
    return ", ".join(parts)


def median(spread):
    return None if spread is None else float(spread["median"])
