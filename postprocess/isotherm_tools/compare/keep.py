"""--keep: the fastest kernels of a comparison in a tuning file, which later runs of the deck read.

The program alone knows by what a tuning file finds its entries. So the deck is run once, up to its first check, with a tuning file of its own
and every process grid that was compared: its entry gets the choice of the comparison, and a second run must take it."""

import json
from pathlib import Path

from isotherm_tools.compare.axes import Combination
from isotherm_tools.compare.measure import Entry
from isotherm_tools.failure import DATA, Failure
from isotherm_tools.study import state
from isotherm_tools.study.text import escaped, extent_text, in_quotes


def read(path):
    """The file's content; None where there is none."""
    if not Path(path).exists():
        return None
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if content["schema"] != "isotherm-tuning" or not isinstance(content["entries"], list):
            raise ValueError("it has another schema")
        return content
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(DATA, f"{in_quotes(path)} is no tuning file ({error}); name another with --keep, or remove it") from error


def grid_of(entry):
    return tuple(entry.run["decomposition"]["process_grid"])


def keep(path, job, measurement, entries):
    """Returns a line for each process grid."""
    automatic = {row["name"] for table in ("kernels", "reductions") for row in job.listed[table] if row["automatic"]}
    fit = [entry for entry in entries
           if entry.verdict == "same" and {entry.run["method"][key] for key in ("kernel", "reduction")} <= automatic]
    text = ""
    for grid in dict.fromkeys(map(grid_of, fit)):
        text += keep_grid(path, job, measurement, grid, [entry for entry in fit if grid_of(entry) == grid])
    return text or f"nothing is kept in {escaped(path)}: a run of the deck takes none of these kernels from a file\n"


def keep_grid(path, job, measurement, grid, entries):
    """Of the entries, the fastest first, the first that a run takes."""
    settings = {"parallel.process_grid": "[{},{},{}]".format(*grid)} if job.ranks > 1 else {}
    file = measurement.work / "kept.json"
    file.unlink(missing_ok=True)
    short_run(job, measurement, settings, file)
    found = read(file)
    for entry in entries if found and found["entries"] else []:
        method = entry.run["method"]
        found["entries"][-1]["choice"].update({
            "kernel": method["kernel"], "tile": method["policy"] or "-", "reduction": method["reduction"], "graph": method["graph"],
            "overlap": method["overlap"], "time_block": method["fused"], "halo_width": method["depth"], "seconds": entry.median,
            "complete": True})
        file.write_text(json.dumps(found), encoding="utf-8")
        if short_run(job, measurement, settings, file)["tuning"]["source"] != "file":
            continue
        kept = read(path) or {**found, "entries": []}
        kept["entries"] = [each for each in kept["entries"] if each["key"] != found["entries"][-1]["key"]] + found["entries"][-1:]
        state.write_whole(Path(path), json.dumps(kept, indent=1) + "\n")
        kernel = f"{method['kernel']} {method['policy'] or ''}".rstrip()
        return (f"kept in {escaped(path)}: kernel {kernel}, reduction {method['reduction']}, halo width {method['depth']}, for process "
                f"grid {extent_text(grid)}\n")
    return ""


def short_run(job, measurement, settings, file):
    """The method of a run of the deck as it is, up to its first check."""
    entry = Entry("the deck", Combination((), settings))
    measurement.run([entry], [0], sweeps=job.base["interval"], check_interval=job.base["interval"], tuning_file=str(file))
    if not entry.run:
        raise Failure(entry.code, f"compare: --keep: {entry.note}")
    return entry.run["method"]
