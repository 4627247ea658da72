"""Runs the built program (environment variable ISOTHERM) and measures what it cost."""

import functools
import os
import resource
import shutil
import subprocess
import tempfile
from collections import namedtuple

PROGRAM = os.environ["ISOTHERM"]
NOBODY = 65534  # root reads every file

# Ends within `problem:`, so that a test can go on there.
BASE_DECK = """grid:
  cells: [8, 9, 10]
  lengths: 1
material:
  diffusivity: 1
initial:
  - {shape: constant, value: 300}
problem:
  steps: 10
"""


Result = namedtuple("Result", "code out err megabytes")  # peak resident memory


@functools.cache
def program_for_anyone():
    """A copy of the program that every user can reach: the checkout may lie in root's home."""
    folder = tempfile.TemporaryDirectory()
    os.chmod(folder.name, 0o755)
    copy = shutil.copy(PROGRAM, folder.name)
    os.chmod(copy, 0o755)
    return copy, folder  # which lives as long as this


def limit_time():
    """Of the processor, as other tests run beside this one: what takes so long hangs, and is ended by a signal."""
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


def isotherm(*arguments, cwd, user=None, code=None):
    """One process of the program in the folder `cwd`, as the user of this number. `code`: with which it must end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        program = PROGRAM if user is None else program_for_anyone()[0]
        process = subprocess.Popen([program, *arguments], cwd=cwd, stdout=out, stderr=err, user=user, preexec_fn=limit_time,
                                   env={**os.environ, "LD_PRELOAD": ""})  # what is preloaded may lie there too
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, err):
            file.seek(0)
        texts = [file.read().decode(errors="replace") for file in (out, err)]
    assert code in (None, process.returncode), texts
    return Result(process.returncode, *texts, usage.ru_maxrss / 1024)
