"""The command line: `python3 -m isotherm_tools NAME` and isotherm-NAME; if it cannot run, one line says why."""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

import isotherm_tools
from isotherm_tools.program import FILE_MISSING, IO, STOPPED_BY_CTRL_C, UNAVAILABLE, Failure, failing
from isotherm_tools.text import in_quotes, printable

REMEDY = "source build/env.sh (made by run.sh), set ISOTHERM_PYTHON to a Python 3.9 or newer with numpy, h5py, matplotlib, or pip install ./postprocess"
PACKAGES = {"numpy": "numpy", "h5py": "h5py", "matplotlib": "matplotlib", "PIL": "pillow"}
# Subcommands that need none of these packages, and start without loading them.
STARTERS = {"baseline": "baseline", "compare": "compare", "study": "study.command"}


def tool():
    """The command isotherm-NAME, named after the subcommand."""
    return main([Path(sys.argv[0]).name.removeprefix("isotherm-"), *sys.argv[1:]])


def main(arguments=None):
    words = sys.argv[1:] if arguments is None else arguments
    name = " ".join(["isotherm", *words[:1]])  # the command, for messages
    is_old = sys.version_info < (3, 9)
    starter = STARTERS.get(words[0]) if words and not is_old else None
    missing = [] if starter else [package for module, package in PACKAGES.items() if not importlib.util.find_spec(module)]
    if missing or is_old:
        lacks = "has no " + ", ".join(missing) if missing else "is older than 3.9"
        print(f"{name}: {sys.executable} {lacks}; {REMEDY}", file=sys.stderr)
        return UNAVAILABLE
    try:
        if starter:
            return importlib.import_module(f"isotherm_tools.{starter}").main(words[1:])
        options = parser().parse_args(words)
        say(options.action(options))
    except (Failure, PermissionError, IsADirectoryError) as error:  # folders: without permission, or in place of files
        failure = error if isinstance(error, Failure) else Failure(
            FILE_MISSING, f"{in_quotes(error.filename)} cannot be read ({error.strerror}); check it, its permissions and its folders")
        print(failure if starter else f"{name}: {failure}", file=sys.stderr)
        return failure.code
    except KeyboardInterrupt:
        print(f"{name}: stopped by Ctrl-C; files are whole, or as they were before", file=sys.stderr)
        return STOPPED_BY_CTRL_C
    return 0


def parser():
    os.environ["MPLBACKEND"] = "Agg"  # with an unknown name from the user, matplotlib cannot be imported
    with failing(ImportError, UNAVAILABLE, lambda error: f"{sys.executable} cannot load a package ({printable(str(error), 200)}); {REMEDY}"):
        from isotherm_tools import bench, pictures, report, scaling, studies  # which need the packages

    top = argparse.ArgumentParser(prog="isotherm", description=isotherm_tools.__doc__)
    subcommands = top.add_subparsers(title="subcommands", required=True, metavar="SUBCOMMAND")
    for module in (pictures, bench, scaling, report, studies):
        module.add(subcommands)
    return top


def say(result):
    """Prints to stdout; names of files keep their bytes. A reader that closes the pipe (`| head`) is no error."""
    stdout, text = sys.stdout, f"{result}\n"
    encoding = stdout.encoding or "ascii"
    try:
        data = text.encode(encoding, "surrogateescape")
    except UnicodeEncodeError:  # "us" if the encoding has no "µ"
        data = text.replace("µ", "u").encode(encoding, "replace")
    with failing(OSError, IO, lambda error: f"standard output cannot be written ({error.strerror}); check where it goes"):
        try:
            stdout.flush()
            stdout.buffer.write(data)
            stdout.buffer.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())  # else the interpreter reports an error at its exit


if __name__ == "__main__":
    sys.exit(main())
