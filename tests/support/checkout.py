"""run.sh and test.sh in a separate checkout, with stand-ins for system commands: each logs its call and replies as defined."""

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
        self.stand_in("sudo", 'exec "$@"')
        for name in ("apt-get", "cmake", "ctest"):
            self.stand_in(name)

    def stand_in(self, name, body="", folder=None):
        script = f'#!/bin/bash\necho "{name} $*" >>"{self.calls}"\n{body}\n'
        write_script((folder or self.commands) / name, script)

    def program(self, body="echo '  deck         a -> .'", preset="cpu"):
        """Creates the files of a build; the program prints the directory of its run."""
        build = self.folder / "build" / preset
        build.mkdir(parents=True)
        (build / "build.ninja").touch()
        self.stand_in("isotherm", body, build)

    def environment(self, **more):
        return {"PATH": f"{self.commands}:/usr/bin:/bin", "HOME": str(self.user), "ISOTHERM_PRESET": "cpu", **more}

    def call(self, script, *arguments, code=0, **environment):
        return finished([self.folder / script, *arguments], code, cwd=self.user, env=self.environment(**environment))

    def called(self, name):
        return [line for line in self.calls.read_text().splitlines() if line.startswith(f"{name} ")]
