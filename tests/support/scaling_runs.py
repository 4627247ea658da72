"""Run records with the fields that scaling series read, and simple numbers."""

import json
import math

from isotherm_tools.scaling import RunRecord, ModelInputs, scaling_series

US, GB = 1e-6, 1e9
WIRES = ModelInputs(inside_bandwidth=GB, inside_latency=5 * US, between_bandwidth=GB / 2, between_latency=10 * US)


def write_run(folder, count, step, cells=(64, 64, 64), hosts=1, **changes):
    """The directory of a run of `count` ranks with 1000 sweeps and 10 norms. Of `step`, 1 us is the norm; the rest is 90 % sweeps on one
    rank, 50 % on several. `changes`: keys of sections, as in method={"halo_width": 2}."""
    parts = {1: (1, 1, 1), 2: (1, 1, 2), 4: (1, 2, 2), 8: (2, 2, 2)}[count]
    block = [-(-n // p) for n, p in zip(cells, parts)]
    alone = count == 1
    content = {
        "schema": "isotherm-run", "schema_version": 1, "name": "plate",
        "deck": {"resolved": "boundaries:\n  x_min: {kind: insulated}\n  z_min: {kind: periodic}\n"},
        "grid": {"cells": cells, "precision": "fp64"},
        "decomposition": {"process_grid": parts, "largest_rank_cells": math.prod(block)},
        "ranks": [{"rank": i, "host": f"node{i * hosts // count}", "backend": "cuda", "device": "GPU"}
                  for i in range(count)],
        "method": {"problem": "steady", "kernel": "naive", "tile": "32x8x1", "reduction": "fused", "halo_width": 1,
                   "overlap": "off" if alone else "on"},
        "phases_s": {"sweeps": {"max": 1000 * (step - US) * (0.9 if alone else 0.5)},
                     "halo": {"max": 1000 * (step - US) * (0.1 if alone else 0.5)},
                     "reduction": {"min": 1000 * US}, "stepping": {"max": 1000 * step}},
        "performance": {"sweeps": 1000, "step_s": step, "points_per_s": math.prod(cells) / step,
                        "bytes_per_point": 16.0, "copy_bandwidth_bytes_per_s": 4e12 * count},
        "residual": {"checks": 10},
    }
    for section, values in changes.items():
        content[section] = {**content[section], **values} if isinstance(content.get(section), dict) else values
    run = folder / f"run_{len(list(folder.iterdir()))}"
    run.mkdir()
    (run / "run.json").write_text(json.dumps(content))
    return run


def strong_series(folder):
    """Parallel efficiencies of 100 %, 90 % and 80 %, relative to 64^3 cells in 263 us on one rank; not in order."""
    return [write_run(folder, count, 263 * US / count / share) for count, share in ((4, 0.8), (1, 1.0), (2, 0.9))]


def series_of(runs, inputs=WIRES):
    return scaling_series([RunRecord(run) for run in runs], inputs)
