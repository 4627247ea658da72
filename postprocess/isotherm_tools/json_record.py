"""JSON that the program wrote: a schema by name, and its version.

A version rises when a key goes, is renamed, or changes its type, unit or meaning; keys are added without that. So this
package reads records of its version and of all before, whose keys it may lack: what came later is put in here, so that nobody
else has to ask whether it is there."""

import copy
import json

from isotherm_tools.program import DATA, FILE_MISSING, Failure

VERSIONS = {"isotherm-run": 3, "isotherm-bench": 2, "isotherm-compare": 2}  # of the others: 1

# Keys that were renamed within a version that has not been released: of a section, old to new.
RENAMED = {
    "isotherm-run": {
        "method": {"policy": "tile", "depth": "halo_width", "fused": "time_block"},
        "profile": {"shells_s": "exterior_s", "walls_s": "boundaries_s"}, "histogram": {"row": "kernel"},
    },
    "isotherm-bench": {
        "options": {"walls": "boundaries", "seconds_per_row_s": "seconds_per_kernel_s"},
        "entries": {"row": "kernel", "policy": "tile", "depth": "time_block"},
    },
}

# The keys that the first records lacked, with what was so then; None: not known. Version 2 of run.json has other words in
# `result`; version 3, as version 2 of a benchmark, has no `baseline`.
LATER = {
    "isotherm-run": {
        "decomposition": {"weights": None},
        "method": {
            "tile": None, "graph": False, "tuning": {"source": "deck"},
        },
        "figures_of_merit": {}, "profile": None,
        "halo": {"hidden_percent": None, "exchange_s": None, "exposed_s": None, "links": []},
        "snapshots": None,
        "residual": {"last_sweep": None, "check": "immediate", "extra_sweeps": 0},
        "histogram": None, "end_state": None, "sources": None, "grid": {"lengths_m": None},
        "continuation": {"checkpoints": 0, "newest_checkpoint": None, "restarted_from": None, "stopped_by": None},
    },
}


def read_record(path, schemas, noun, hint):
    """The object in the file. `schemas`: one, or several; `noun`: what it is to the user; `hint`: how to get one."""
    schemas = (schemas,) if isinstance(schemas, str) else schemas
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Failure(FILE_MISSING, f"{path} does not exist; {hint}") from error
    except OSError as error:
        raise Failure(FILE_MISSING, f"{path} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise Failure(DATA, f"{path} is no JSON ({error})") from error
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema not in schemas:
        raise Failure(DATA, f"{path} is no {noun} of isotherm (its schema is not {' or '.join(schemas)})")
    version = content.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise Failure(DATA, f"{path} is no {noun} of isotherm (its schema_version is {version!r})")
    known = VERSIONS.get(schema, 1)
    if version > known:
        raise Failure(DATA, f"{path} has schema version {version}, and this package knows them to {known}; use the one of the "
                            "isotherm that wrote it")
    return with_later_keys(with_new_names(content), LATER.get(schema, {}))


def with_new_names(content):
    """The record, with the keys of today. It is changed in place."""
    for section, names in RENAMED.get(content.get("schema"), {}).items():
        value = content.get(section)
        for each in value if isinstance(value, list) else [value]:
            for old, new in names.items():
                if isinstance(each, dict) and old in each and new not in each:
                    each[new] = each.pop(old)
    return content


def with_later_keys(content, later):
    """Adds what is not there, at every level; what is there stays, also where it is null."""
    for key, value in later.items():
        if key not in content:
            content[key] = copy.deepcopy(value)
        elif isinstance(value, dict) and isinstance(content[key], dict):
            with_later_keys(content[key], value)
    return content
