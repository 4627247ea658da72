"""`python3 -m isotherm_post`, and the command isotherm-post: the command line, or one line on why this Python cannot run it."""

import importlib.util
import sys

from isotherm_post.failure import UNAVAILABLE

PACKAGES = {"numpy": "numpy", "h5py": "h5py", "matplotlib": "matplotlib", "PIL": "pillow"}


def main():
    missing = [package for module, package in PACKAGES.items() if not importlib.util.find_spec(module)]
    if missing or sys.version_info < (3, 9):
        lacks = "has no " + ", ".join(missing) if missing else "is older than 3.9"
        print(f"isotherm_post: {sys.executable} {lacks}; source build/env.sh, which run.sh makes, or install the package with what it "
              "needs: pip install ./postprocess", file=sys.stderr)
        return UNAVAILABLE
    from isotherm_post import cli
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
