"""Starts the isotherm program, which reads all decks (it answers requests on a deck as JSON, isotherm check --json); reads its records;
common parts of command lines; `Failure`: an error message of one line, with an exit code of the program."""

import argparse
import copy
import errno
import json
import math
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from isotherm_tools.text import in_quotes, printable

COMMAND_LINE = 2
DATA = 65
FILE_MISSING = 66
UNAVAILABLE = 69  # a program or a library that is not installed
CANNOT_CREATE = 73
IO = 74
DIVERGED = 76  # verification failed, bits differ, or figures are worse
STOPPED_BY_CTRL_C = 130  # as in shells
NUMBERS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID")


class Failure(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


@contextmanager
def failing(kinds, code, message_of):
    """Turns exceptions of these kinds into a Failure."""
    try:
        yield
    except kinds as error:
        raise Failure(code, message_of(error)) from error


class Program:
    """`path`: of isotherm. `is_parent`: isotherm started this process, as `isotherm study` does."""

    def __init__(self):
        parent = os.environ.pop("ISOTHERM_PROGRAM", "")
        self.is_parent = bool(parent)
        self.path = parent or shutil.which("isotherm")
        if not self.path:
            raise Failure(UNAVAILABLE, "isotherm is not on PATH (this tool starts it); source build/env.sh, which run.sh "
                                       "makes, or add the folder of the program to PATH")

    def output(self, *words, given=None):
        done = subprocess.run([self.path, *words], input=given, capture_output=True, check=False)
        if done.returncode == 0:
            return done.stdout
        said = done.stderr.decode(errors="replace").strip() or f"{self.path} {words[0]} ended with {done.returncode}"
        raise Failure(done.returncode if done.returncode > 1 else DATA, said)

    def ask(self, deck, overrides, arguments, requests):
        text = json.dumps({"arguments": arguments, "requests": requests})
        return json.loads(self.output("check", "--json", deck, *overrides, given=text.encode()))["answers"]

    def positions(self, words, overrides):
        """Positions of the overrides on the command line, searched from the end: a search from the front could take the deck
        for an override."""
        places, at = [], len(words)
        for override in reversed(overrides):
            at = next((i for i in range(at - 1, 0, -1) if words[i] == override), 0)
            places.insert(0, at + (2 if self.is_parent else 1))
        return places


def raise_error(answer, key="error"):
    if answer.get(key):
        raise Failure(answer[key]["code"], answer[key]["text"])
    return answer


def is_launched():
    """True if mpirun or srun started this process. They emulate a terminal, although the output may be written to a file."""
    return any(os.environ.get(name) for name in LAUNCHED)


def launched_rank():
    """The rank; 0 if no launcher started this process."""
    return next((int(os.environ[name]) for name in NUMBERS if os.environ.get(name, "").isdigit()), 0)


# Records: JSON with the name of a schema and its version. A version is raised when a key is removed, renamed, or changes its type, unit
# or meaning; new keys do not raise it. So this package reads records of its version and of all earlier ones: it adds the keys
# that these lack, so that no other code has to check for them.

VERSIONS = {"isotherm-run": 3, "isotherm-bench": 2, "isotherm-compare": 2}  # of the others: 1
# Keys, by section, and kernels renamed within a version that has not been released: old to new.
RENAMED = {
    "isotherm-run": {"method": {"policy": "tile", "depth": "halo_width", "fused": "time_block"}, "histogram": {"row": "kernel"},
                     "profile": {"shells_s": "exterior_s", "walls_s": "boundaries_s"}},
    "isotherm-bench": {"options": {"walls": "boundaries", "seconds_per_row_s": "seconds_per_kernel_s"},
                       "entries": {"row": "kernel", "policy": "tile", "depth": "time_block"}}}
KERNELS = {"bulk_pipeline": "tma_pipeline", "fused": "temporal", "fused_openmp": "temporal_openmp"}
# Keys that the first records lack, with the value that applied then; None: not known. Version 2 of run.json has other words in `result`;
# version 3, like version 2 of a benchmark, has no `baseline`, and no `weights` of its decomposition.
LATER = {
    "method": {"tile": None, "graph": False, "tuning": {"source": "deck"}},
    "figures_of_merit": {}, "profile": None, "snapshots": None,
    "halo": {"hidden_percent": None, "exchange_s": None, "exposed_s": None, "links": []},
    "residual": {"last_sweep": None, "check": "immediate", "extra_sweeps": 0},
    "histogram": None, "end_state": None, "sources": None, "grid": {"lengths_m": None},
    "continuation": {"checkpoints": 0, "newest_checkpoint": None, "restarted_from": None, "stopped_by": None}}


def read_record(path, schemas, noun, hint):
    """Reads the object in the file. `schemas`: one, or several; `noun`: its name for the user; `hint`: how to get one."""
    schemas = (schemas,) if isinstance(schemas, str) else schemas
    with failing(ValueError, DATA, lambda error: f"{path} is no JSON ({error}); {hint}"), \
            failing(OSError, FILE_MISSING, lambda error: f"{path} cannot be read ({error.strerror}); {hint}"), \
            failing(FileNotFoundError, FILE_MISSING, lambda _: f"{path} does not exist; {hint}"):
        content = json.loads(path.read_text(encoding="utf-8"))
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema not in schemas:
        raise Failure(DATA, f"{path} is no {noun} of isotherm (its schema is not {' or '.join(schemas)}); {hint}")
    version, known = content.get("schema_version"), VERSIONS.get(schema, 1)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise Failure(DATA, f"{path} is no {noun} of isotherm (its schema_version is {version!r})")
    if version > known:
        raise Failure(DATA, f"{path} has schema version {version}, and this package reads versions up to {known}; "
                            "use that of the isotherm that wrote it")
    return in_present_form(content)


def content_of(path, noun):
    """A context to read a file in: content that is missing or of another type raises a Failure, "is no `noun`"."""
    kinds = KeyError, IndexError, TypeError, ValueError, AttributeError
    return failing(kinds, DATA, lambda error: f"{path} is no {noun} of isotherm ({printable(repr(error), 200)})")


def in_present_form(content):
    """Gives the record the present names and the keys that it lacks, in place; returns the record."""
    schema = content.get("schema")
    for section, names in RENAMED.get(schema, {}).items():
        value = content.get(section)
        for each in [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]:
            for old, new in names.items():
                if old in each and new not in each:
                    each[new] = each.pop(old)
            if "kernel" in each and content.get("subject") != "reduction":  # the reduction `fused` keeps its name
                each["kernel"] = KERNELS.get(str(each["kernel"]), each["kernel"])
    for section, later in LATER.items() if schema == "isotherm-run" else ():  # keys that exist are kept, also if they are null
        found = content.setdefault(section, copy.deepcopy(later))
        if isinstance(later, dict) and isinstance(found, dict):
            content[section] = {**copy.deepcopy(later), **found}
    return content


# Output


def write(stream, text):
    data = text.encode("utf-8", "surrogateescape")
    while data:
        data = data[os.write(stream, data):]


def say(text, needed=False):
    """Prints to stdout. Errors are ignored, as a closed pipe must not end a study; `needed`: an error raises a Failure."""
    with failing(OSError, IO, lambda _: "standard output cannot be written; check where it goes") if needed else suppress(OSError):
        write(1, text)


def cannot_write(path, error):
    remedy = {errno.EISDIR: "name a file in it", **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space")}.get(
        error.errno, "check the folder and its free space")
    return f"cannot write {in_quotes(path)} ({error.strerror}); {remedy}"


def check_outputs(outputs, inputs):
    """Outputs that the user names are files of their own: neither an input of the command nor named twice."""
    known = {os.path.realpath(path) for path in inputs if path}
    for path in filter(None, outputs):
        if os.path.realpath(path) in known:
            raise Failure(COMMAND_LINE, f"cannot write {in_quotes(path)} (it is an input, or named for two outputs); name another file")
        known.add(os.path.realpath(path))


def file_to_replace(path):
    """The file, with symbolic links resolved; None for a device or a pipe, which is written directly. A folder raises a Failure."""
    if os.path.isdir(path):
        raise Failure(CANNOT_CREATE, cannot_write(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))))
    return Path(os.path.realpath(path)) if os.path.isfile(path) or not os.path.exists(path) else None


def write_whole(path, write_part):
    """`write_part` gets the name of a file next to `path`, which replaces `path` once it is complete and on the disk."""
    if not (file := file_to_replace(path)):
        with failing(OSError, IO, lambda error: cannot_write(path, error)):
            return write_part(Path(path))
    part = file.with_name(file.name + ".part")
    try:
        write_part(part)
        with open(part, "rb") as written:
            os.fsync(written.fileno())
        os.replace(part, file)
    except OSError as error:
        raise Failure(IO if os.path.exists(part) else CANNOT_CREATE, cannot_write(path, error)) from error
    finally:
        with suppress(OSError):  # usually it was renamed
            part.unlink()


def write_text(path, text):
    write_whole(path, lambda part: part.write_bytes(text.encode("utf-8", "surrogateescape")))


def warn(text):
    print(f"warning: {text}", file=sys.stderr, flush=True)


# Command lines


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"isotherm: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(COMMAND_LINE)


def add_subcommand(subcommands, name, action, text, directory="RUN_DIRECTORY",
                   out="png, pdf or svg by its ending (default: in that directory)"):
    """Adds a subcommand of `python3 -m isotherm_tools`. `text`: what it does; `directory`: the name of its first argument, None if that
    is no directory; `out`: the file that it writes."""
    subcommand = subcommands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    subcommand.set_defaults(action=action)
    if directory:
        subcommand.add_argument("run", metavar=directory)
    subcommand.add_argument("--out", metavar="FILE", help=out)
    return subcommand


def number_from(least, most=math.inf, kind=int, unit=1):
    """The type of a numeric option; the result is multiplied by `unit`."""
    def parse(text):
        with suppress(ValueError):
            if least <= kind(text) <= most:
                return kind(text) * unit
        what = f"number from {least} to {most}" if most < math.inf else f"{'whole ' if kind is int else ''}number from {least} on"
        raise argparse.ArgumentTypeError(f"'{text}' is no {what}")
    return parse
