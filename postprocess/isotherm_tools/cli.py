"""The command line: `python3 -m isotherm_tools slice RUN_DIRECTORY`."""

import argparse
import os
import sys

import isotherm_tools
from isotherm_tools import bench, histories, report, scaling_command, slices, studies, volumes
from isotherm_tools.failure import IO, STOPPED_BY_CTRL_C, Failure


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        say(options.action(options))
    except Failure as failure:
        print(f"isotherm_tools: {failure}", file=sys.stderr)
        return failure.code
    except KeyboardInterrupt:
        print("isotherm_tools: stopped by Ctrl-C; files are whole, or as they were before", file=sys.stderr)
        return STOPPED_BY_CTRL_C
    return 0


def say(result):
    """On stdout. A reader that goes away (`| head`) has read enough."""
    stdout = sys.stdout
    try:
        stdout.flush()
        stdout.buffer.write(encoded(f"{result}\n", stdout.encoding or "ascii"))
        stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())  # or the interpreter complains at its end
    except OSError as error:
        raise Failure(IO, f"standard output cannot be written ({error.strerror}); check where it goes") from error


def encoded(text, encoding):
    """Names of files as the bytes that they have; "us" where there is no "µs"."""
    for each in (text, text.replace("µ", "u")):
        try:
            return each.encode(encoding, "surrogateescape")
        except UnicodeEncodeError:
            pass
    return text.encode(encoding, "replace")


def parser():
    top = argparse.ArgumentParser(prog="isotherm_tools", description=isotherm_tools.__doc__)
    subcommands = top.add_subparsers(title="subcommands", required=True, metavar="SUBCOMMAND")
    slices.add_slice(subcommands)
    for module in (histories, bench, scaling_command, report, studies):
        module.add(subcommands)
    slices.add_animate(subcommands)
    volumes.add(subcommands)
    return top
