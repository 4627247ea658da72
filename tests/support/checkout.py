"""run.sh and test.sh in a separate checkout, with stand-ins for system commands: each logs its call and replies as defined."""

import os
import shutil

from documentation import TOP
from program import finished, write_script


class Checkout:
    def __init__(self, folder):
        self.folder = folder / "o'r check out"  # blanks and quotes in the path must not matter
        self.commands = folder / "bin"
        self.calls = folder / "calls"
        self.user = folder / "user"
        for path in (self.folder / "cmake", self.folder / "inputs", self.commands, self.user):
            path.mkdir(parents=True)
        for name in ("run.sh", "test.sh", "cmake/setup.sh"):
            shutil.copy(TOP / name, self.folder / name)
        (self.folder / "inputs" / "quickstart.yaml").write_text("grid: {}\n")
        self.calls.write_text("")
        self.stand_in("dpkg-query", "printf 'installed '")
        self.stand_in("apt-get", "")
        self.stand_in("sudo", 'exec "$@"')
        self.stand_in("cmake", "")
        self.stand_in("ctest", "")

    def stand_in(self, name, body):
        write_script(self.commands / name, f'#!/bin/bash\necho "{name} $*" >>"{self.calls}"\n{body}\n')

    def program(self, body="echo '  deck         a -> .'", preset="cpu"):
        """Creates what a build leaves; the program prints the directory of its run."""
        build = self.folder / "build" / preset
        build.mkdir(parents=True)
        (build / "build.ninja").touch()
        write_script(build / "isotherm", f'#!/bin/bash\necho "isotherm $*" >>"{self.calls}"\n{body}\n')

    def environment(self, **more):
        return {"PATH": f"{self.commands}:/usr/bin:/bin", "HOME": str(self.user), "ISOTHERM_PRESET": "cpu", **more}

    def call(self, script, *arguments, code=0, **environment):
        return finished([self.folder / script, *arguments], code, cwd=self.user, env=self.environment(**environment))

    def called(self, name):
        return [line for line in self.calls.read_text().splitlines() if line.startswith(f"{name} ")]


def real_checkout(folder):
    """A checkout with the real decks and tools; its build is the program under test."""
    checkout = Checkout(folder)
    shutil.rmtree(checkout.folder / "inputs")
    shutil.copytree(TOP / "inputs", checkout.folder / "inputs")
    (checkout.folder / "postprocess").symlink_to(TOP / "postprocess")
    build = checkout.folder / "build" / "cpu"
    checkout.stand_in("cmake", f'mkdir -p "{build}"; touch "{build}/build.ninja"; ln -sfn "{os.environ["ISOTHERM"]}" "{build}/isotherm"')
    return checkout
