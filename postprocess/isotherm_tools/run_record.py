"""What a run measured, of its run.json: as much as a scaling series needs."""

import re
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, Optional

from isotherm_tools.failure import DATA, Failure
from isotherm_tools.json_record import read_record
from isotherm_tools.process_grids import Weights

VALUE_BYTES = {"fp32": 4, "fp64": 8}


class Link(NamedTuple):
    """Measured between a rank and one of its neighbours."""

    same_host: Optional[bool]  # None: the record does not tell
    bandwidth: float  # bytes/s
    latency: float  # s


class RunRecord:
    """Times are those of the slowest rank, over the whole run, but `least_reduction`: of the rank that waited least."""

    def __init__(self, run):
        """`run`: its directory, or the file itself."""
        path = Path(run)
        self.path = path / "run.json" if path.is_dir() else path
        self._take(read_record(self.path, "isotherm-run", "run record", "name the directory of a finished run"))

    @classmethod
    def of_case(cls, path, content):
        """Of a study, which holds the records of its runs. `path`: for messages."""
        record = cls.__new__(cls)
        record.path = Path(path)
        record._take(content)
        return record

    def _take(self, content):
        try:
            self._read(content)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise Failure(DATA, f"{self.path} is no run record of isotherm ({error!r})") from error

    def _read(self, content):
        performance, method, phases = content["performance"], content["method"], content["phases_s"]
        if performance["step_s"] is None:
            raise Failure(DATA, f"{self.path} holds no measured sweeps (the run ended before its first)")
        self.name = content["name"]
        self.cells = tuple(map(int, content["grid"]["cells"]))
        self.precision = content["grid"]["precision"]
        self.value_bytes = VALUE_BYTES[self.precision]
        self.parts = tuple(map(int, content["decomposition"]["process_grid"]))
        self.rank_cells = int(content["decomposition"]["largest_rank_cells"])
        self.weights = weights(content["decomposition"].get("weights"))
        self.periodic = periodic_axes(content["deck"]["resolved"])
        self.hosts = [rank["host"] for rank in content["ranks"]]
        self.devices = sorted({rank["device"] for rank in content["ranks"]})
        self.on_gpu = content["ranks"][0]["backend"] == "cuda"

        self.problem = method["problem"]
        self.kernel = " ".join(word for word in (method["kernel"], method["policy"]) if word not in (None, "-"))
        self.depth = int(method["depth"])
        self.overlap = method["overlap"] in ("on", "in_kernel")
        self.fused_norm = method["reduction"] == "fused"

        self.sweeps = int(performance["sweeps"])
        self.step = float(performance["step_s"])  # s a sweep
        self.rate = float(performance["points_per_s"])
        self.bytes_a_point = float(performance["bytes_per_point"])
        self.copy_bandwidth = performance["copy_bandwidth_bytes_per_s"]  # of all ranks, bytes/s; None: not measured
        self.checks = int(content["residual"]["checks"])
        self.sweeping = float(phases["sweeps"]["max"])
        self.waiting = float(phases["halo"]["max"])
        self.least_reduction = float(phases["reduction"]["min"])

        halo = content.get("halo")
        self.links = list(links(halo, self.hosts))
        self.hidden = hidden_share(halo)

    @property
    def ranks(self):
        return len(self.hosts)

    @property
    def ranks_a_host(self):
        return max(map(self.hosts.count, set(self.hosts)))


def weights(found):
    """What `process_grid: auto` weighs on this run's devices; None where the record does not tell."""
    if found is None:
        return None
    return Weights(
        int(found["cell_bytes"]), float(found["memory_bytes_per_s"]), int(found["sector_bytes"]), int(found["touches"]),
        float(found["wire_bytes_per_s"]), int(found["wire_sector_bytes"]), float(found["message_s"]),
        int(found["tile_columns"]), int(found["tile_rows"]), float(found.get("message_across_xz_s", 0)))


def periodic_axes(deck):
    """Of a resolved deck, in which a wall is a line; where one side is periodic the other is too."""
    return tuple(bool(re.search(rf"^ +{axis}_min: *{{kind: periodic\b", deck, re.MULTILINE)) for axis in "xyz")


def links(halo, hosts, rank=None):
    """Everything within `halo` that tells a bandwidth and a latency. Records of programs that did not measure them
    have none; the ranks at its ends are in it (`rank`, `peer`), or around it."""
    if isinstance(halo, list):
        for entry in halo:
            yield from links(entry, hosts, rank)
    if not isinstance(halo, dict):
        return
    rank = halo.get("rank", rank)
    bandwidth, latency = (number(halo, names) for names in (("bandwidth_bytes_per_s", "bandwidth"),
                                                            ("latency_s", "latency")))
    if bandwidth and latency is not None:
        yield Link(same_host(hosts, rank, halo.get("peer")), bandwidth, latency)
        return
    for entry in halo.values():
        yield from links(entry, hosts, rank)


def same_host(hosts, *ranks):
    if len(set(hosts)) == 1:
        return True
    known = all(isinstance(rank, int) and 0 <= rank < len(hosts) for rank in ranks)
    return len({hosts[rank] for rank in ranks}) == 1 if known else None


def hidden_share(halo):
    """Of the communication, 0 to 1; None where the run did not measure it."""
    if not isinstance(halo, dict):
        return None
    percent = number(halo, ("hidden_percent", "hidden_share_percent"))
    return None if percent is None else percent / 100


def number(record, names):
    """The first of these keys that holds a number, or a spread of them."""
    for name in names:
        value = record.get(name)
        if isinstance(value, dict):
            value = value.get("mean")
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return None

