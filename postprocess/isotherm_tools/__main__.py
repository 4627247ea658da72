"""`python3 -m isotherm_tools NAME`, and the commands isotherm-NAME: the command line, or one line on why this Python cannot run it."""

import importlib
import importlib.util
import sys
from pathlib import Path

from isotherm_tools.failure import UNAVAILABLE, Failure

PACKAGES = {"numpy": "numpy", "h5py": "h5py", "matplotlib": "matplotlib", "PIL": "pillow"}
# Need no packages, and start without waiting for them.
STARTERS = {"baseline": "isotherm_tools.baseline", "compare": "isotherm_tools.compare.command", "study": "isotherm_tools.study.command"}


def tool():
    """The command isotherm-NAME, by its own name."""
    return main([Path(sys.argv[0]).name.removeprefix("isotherm-"), *sys.argv[1:]])


def main(arguments=None):
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] and words[0] in STARTERS and sys.version_info >= (3, 9):
        try:
            return importlib.import_module(STARTERS[words[0]]).main(words[1:])
        except Failure as failure:
            print(failure, file=sys.stderr)
            return failure.code
    missing = [package for module, package in PACKAGES.items() if not importlib.util.find_spec(module)]
    if missing or sys.version_info < (3, 9):
        lacks = "has no " + ", ".join(missing) if missing else "is older than 3.9"
        print(f"isotherm_tools: {sys.executable} {lacks}; source build/env.sh, which run.sh makes, or install the package with what it "
              "needs: pip install ./postprocess", file=sys.stderr)
        return UNAVAILABLE
    from isotherm_tools import cli
    return cli.main(words)


if __name__ == "__main__":
    sys.exit(main())
