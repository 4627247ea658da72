"""The program beside this package, which alone reads decks and answers requests about one as JSON (isotherm check
--json); what command lines share; `Failure`: an error message of one line, with an exit code of the program."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

COMMAND_LINE = 2
DATA = 65
FILE_MISSING = 66
UNAVAILABLE = 69  # a program or a library that is not installed
CANNOT_CREATE = 73
IO = 74
DIVERGED = 76  # verification failed, bits differ, or figures are worse
STOPPED_BY_CTRL_C = 130  # as shells call it
NUMBERS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID")


class Failure(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Program:
    """`path`: of isotherm. `is_parent`: it started this process, as `isotherm study`."""

    def __init__(self):
        told = os.environ.pop("ISOTHERM_PROGRAM", "")
        self.is_parent = bool(told)
        self.path = told or shutil.which("isotherm")
        if not self.path:
            raise Failure(UNAVAILABLE, "isotherm is not on PATH (this tool starts it); source build/env.sh, which run.sh makes, or "
                                       "add the folder of the program to PATH")

    def ask(self, deck, overrides, arguments, requests):
        words = [self.path, "check", "--json", deck, *overrides]
        text = json.dumps({"arguments": arguments, "requests": requests})
        done = subprocess.run(words, input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip() or f"{self.path} check --json ended with {done.returncode}"
            raise Failure(done.returncode if done.returncode > 1 else DATA, said)
        return json.loads(done.stdout)["answers"]

    def listed(self):
        """Kernels, reductions, transports and devices of this build and machine."""
        done = subprocess.run([self.path, "list", "--json"], stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise Failure(UNAVAILABLE, f"{self.path} list --json ended with {done.returncode}")
        return json.loads(done.stdout)


def raise_error(answer, key="error"):
    if answer.get(key):
        raise Failure(answer[key]["code"], answer[key]["text"])
    return answer


def is_launched():
    """By mpirun or srun: what a terminal passes on may be a file."""
    return any(os.environ.get(name) for name in LAUNCHED)


def launched_rank():
    """0 too where nobody launched this process."""
    return next((int(os.environ[name]) for name in NUMBERS if os.environ.get(name, "").isdigit()), 0)


def write(stream, text):
    data = text.encode("utf-8", "surrogateescape")
    while data:
        data = data[os.write(stream, data):]


def say(text):
    """A reader that goes away takes nothing from the files, and ends no study."""
    with suppress(OSError):
        write(1, text)


def print_now(text):
    try:
        write(1, text)
    except OSError as error:
        raise Failure(IO, "standard output cannot be written; check where it goes") from error


def write_whole(path, write):
    """`write` gets the name of a file beside `path` that takes its place once it is complete."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        write(part)
        os.replace(part, path)
    except OSError as error:
        raise Failure(CANNOT_CREATE, f"{path} cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):  # there is none, mostly because it has its name
            part.unlink()


def write_text(path, text):
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def warn(text):
    print(f"warning: {text}", file=sys.stderr, flush=True)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"isotherm: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(COMMAND_LINE)


def add_subcommand(subcommands, name, action, text, description, directory="RUN_DIRECTORY"):
    """A subcommand of `python3 -m isotherm_tools`; `directory`: what its first word is called, None where it is another."""
    subcommand = subcommands.add_parser(name, help=text, description=description)
    subcommand.set_defaults(action=action)
    if directory:
        subcommand.add_argument("run", metavar=directory)
    return subcommand


def whole(text):
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 on")


def number_from(least, most, kind=int):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} to {most}")
        return value
    return parse


def positions(words, overrides, first):
    """Where the overrides stand on the command line. They are sought from the end: from the front one could be taken for the deck."""
    places, at = [], len(words)
    for override in reversed(overrides):
        at -= 1
        while at > 0 and words[at] != override:
            at -= 1
        places.insert(0, first + at)
    return places
