"""What the command lines of tools that start the program have in common."""

import argparse
import sys

from isotherm_tools.failure import COMMAND_LINE


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"isotherm: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(COMMAND_LINE)


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
