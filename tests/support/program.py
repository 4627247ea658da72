"""The built program, started as a user starts it: $ISOTHERM, under $MPIEXEC if a number of ranks is given."""

import atexit
import contextlib
import functools
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

# Open MPI 4 keeps its files in a folder of the user. It was seen to fail when one job starts while another ends; tests of other programs
# run at the same time, some of them as another user.
os.environ["OMPI_MCA_orte_tmpdir_base"] = tempfile.mkdtemp(prefix="ompi.tests-")
os.chmod(os.environ["OMPI_MCA_orte_tmpdir_base"], 0o1777)
atexit.register(shutil.rmtree, os.environ["OMPI_MCA_orte_tmpdir_base"], ignore_errors=True)

MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
LAUNCHER = f"{MPIEXEC} -n {{ranks}}"  # as in decks and options
GATHERED = {"OMPI_MCA_io": "^ompio,romio321,romio341"}  # no MPI-IO is left: rank 0 writes through HDF5 alone

# s: a program still running after this time hangs. Tests do not limit times further, as the machine may be busy.
HANGS = 900

# A block whose values differ everywhere.
UNEVEN = """\
material: {diffusivity: 1.0e-5}
boundaries:
  x_min: {kind: temperature, value: "300 + 10*y"}
initial:
  - {shape: formula, formula: "300 + 50*x + 7*y + 3*z*z"}
"""
# The problem for tests of stops and disks.
SMALL_BLOCK = "grid: {cells: [17, 13, 15], lengths: [0.17, 0.26, 0.45]}\n" + UNEVEN
DECK = f"""\
grid: {{cells: [17, 23, 31], lengths: [0.17, 0.46, 0.93], origin: [-1, 2, 0.5]}}  # no two axes alike
{UNEVEN}problem: {{kind: transient, steps: 40}}
output: {{every_steps: 20}}
"""

# Ends within `problem:`, so that a test can append keys to that section.
BASE_DECK = """\
grid:
  cells: [8, 9, 10]
  lengths: 1
material:
  diffusivity: 1
initial:
  - {shape: constant, value: 300}
problem:
  steps: 10
"""

# A steady deck without its problem; its boundaries are of three kinds.
STEADY_BODY = """\
grid: {cells: [16, 12, 20], lengths: [0.4, 0.3, 0.5]}
material: {conductivity: 15}
boundaries:
  x_min: {kind: temperature, value: "300 + 50*y"}
  x_max: {kind: convection, coefficient: 40, ambient: 280}
  z_max: {kind: flux, value: 1000}
initial:
  - {shape: formula, formula: "290 + 60*x*y + 20*z"}
"""


def write_deck(folder, text=DECK, name="deck.yaml"):
    path = folder / name
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return path


def write_script(path, text):
    """An executable file."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def finished(words, code=None, timeout=HANGS, **options):
    """The finished process of any program, with its output as text; a hang raises TimeoutExpired. `code`: the expected exit code, or a
    set of them."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=timeout, check=False, **options)
    assert code is None or done.returncode in (code if isinstance(code, set) else {code}), done.stdout + done.stderr
    return done


def command(*arguments, ranks=0):
    launcher = [MPIEXEC, "-n", str(ranks)] if ranks else []
    return launcher + [os.environ["ISOTHERM"], *map(str, arguments)]


def isotherm(*arguments, ranks=0, cwd=None, code=None, timeout=HANGS, **environment):
    # Open MPI 4 unloads plugins while its progress thread may resolve a symbol: with lazy binding one run in thousands crashes.
    return finished(command(*arguments, ranks=ranks), code, timeout, cwd=cwd, env={**os.environ, "LD_BIND_NOW": "1", **environment})


ran = functools.partial(isotherm, code=0)  # unless another code is wanted


def listed(kind):
    """The names of the CPU's kernels or reductions, and those of them that are lectures."""
    entries = [each for each in json.loads(ran("list", "--json").stdout)[kind] if each["backend"] == "cpu"]
    return [each["name"] for each in entries], [each["name"] for each in entries if each["purpose"] == "lecture"]


OTHER_USER = 65534 if os.getuid() == 0 else None  # root reads every file


@functools.cache
def program_for_anyone():
    """A copy of the program that every user can reach: the checkout may be in root's home."""
    folder = tempfile.TemporaryDirectory()
    os.chmod(folder.name, 0o755)
    copy = shutil.copy(os.environ["ISOTHERM"], folder.name)
    os.chmod(copy, 0o755)
    return copy, folder  # the copy exists as long as this object


def measured(*arguments, cwd, user=None):
    """Like `isotherm`, run by the user with this number; `megabytes`: peak resident memory."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        words = command(*arguments) if user is None else [program_for_anyone()[0], *map(str, arguments)]
        process = subprocess.Popen(words, cwd=cwd, stdout=out, stderr=err, user=user,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)),  # more time is a hang
                                   env={**os.environ, "LD_PRELOAD": ""})  # preloaded libraries may also be unreachable
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, err):
            file.seek(0)
        done = subprocess.CompletedProcess(words, process.returncode, *(file.read().decode(errors="replace") for file in (out, err)))
    done.megabytes = usage.ru_maxrss / 1024
    return done


def family_of(leader):
    """A launcher and all that it started, ranks in their own process groups too."""
    children = subprocess.run(["ps", "-eo", "pid=,ppid="], stdout=subprocess.PIPE, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in children.splitlines()]
    family = [leader]
    for pid in family:
        family += [child for child, parent in pairs if parent == pid]
    return family


def known_of(pid, file):
    """A /proc file of a process; "" if there is none."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/{file}").read_text()
    return ""


def ranks_of(launcher):
    """The processes of the program started by a launcher."""
    return [pid for pid in family_of(launcher) if known_of(pid, "comm") == "isotherm\n"]


def is_running(pid):
    """A process that has ended stays in the process table until its parent, here perhaps an init that does not, waits for it."""
    return known_of(pid, "stat").rpartition(") ")[2][:1] not in ("", "Z", "X")


def kill(*pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_all(leader):
    kill(*reversed(family_of(leader)))


def finished_run(folder, text, name="deck", *words, **options):
    """The directory of a run of this deck, made in `folder`."""
    write_deck(folder, text, f"{name}.yaml")
    ran("run", f"{name}.yaml", *words, cwd=folder, **options)
    return folder / "runs" / name


def expect_rejected(folder, done, code, line):
    """A job that was rejected before any work. The launcher adds its own lines; the program prints one line once."""
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith(line), done.stderr
    assert done.stderr.count(line) == 1
    assert done.args[0] != os.environ["ISOTHERM"] or done.stderr.count("\n") == 1, done.stderr
    assert "MPI_ABORT" not in done.stderr
    assert os.listdir(folder) == ["deck.yaml"], "a refused job must leave no file"
