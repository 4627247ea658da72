"""Unusual environments: threads, locale, time zone, home, umask, process limits, read-only folders, closed streams, terminals. A run
continues with sensible defaults, or one line says why not; no rank waits for another."""

import os
import re
import shutil
import stat
import tempfile

import pytest

from job import ENDLESS
from program import command, DECK, family_of, finished, finished_run, isotherm, measured, MPIEXEC, OTHER_USER, ran, write_deck
from runs import expect_whole_files, record, snapshots
from studies import write_study
from terminal import OnTerminal, moved, shown

ARGUMENTS = ("run", "deck.yaml", "--progress=off", "output.directory=out")


@pytest.mark.parametrize("text, problem", [
    ("0", "at least 1 thread is needed"), ("2.5", "it is not a whole number"), ("", "it is empty"),
    ("99999999999999999999", "more than ")])
def test_invalid_thread_numbers(folder, text, problem):
    done = ran(*ARGUMENTS, cwd=folder, OMP_NUM_THREADS=text)
    warning, = [line for line in done.stderr.splitlines() if line and not line.startswith("libgomp: ")]
    assert warning.startswith(f"warning: OMP_NUM_THREADS='{text}' is ignored ({problem}")
    assert warning.removeprefix("warning: ") in (folder / "out" / "run.json").read_text()


def test_more_ranks_than_cores_are_reported_once(folder):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    *launcher, program = command(ranks=2)
    one_core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]  # launchers bind ranks in their own way
    done = finished([*launcher, *one_core, program, *ARGUMENTS], 0, cwd=folder, env=environment)
    line, = [line for line in done.stderr.splitlines() if "take turns" in line]
    assert line == "warning: 2 ranks share 1 core of this host and take turns; start no more ranks than cores"


@pytest.mark.parametrize("umask, file_mode, folder_mode, change", [
    (0o077, 0o600, 0o700, {"TZ": None, "HOME": None, "TMPDIR": "/dev/null"}), (0o022, 0o644, 0o755, {"TZ": "Nowhere/Atlantis"})])
def test_the_umask_is_obeyed_and_time_zone_home_and_temporary_folder_change_nothing(folder, umask, file_mode, folder_mode, change):
    environment = {name: value for name, value in {**os.environ, **change}.items() if value is not None}
    assert finished(command(*ARGUMENTS), 0, cwd=folder, umask=umask, env=environment).stderr == ""
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder / "out").iterdir()}
    assert len(modes) == 8 and set(modes.values()) == {file_mode}
    assert stat.S_IMODE((folder / "out").stat().st_mode) == folder_mode


def test_a_locale_with_decimal_commas(folder):
    locales = finished(["locale", "-a"], 0).stdout.split()
    found = [name for name in locales if name.lower() in ("de_de.utf8", "de_de.utf-8", "fr_fr.utf8", "fr_fr.utf-8")]
    if not found:
        pytest.skip("no locale with decimal commas is installed (de_DE.UTF-8 or fr_FR.UTF-8)")
    assert ran(*ARGUMENTS, "problem.dt=0.0005", cwd=folder, LC_ALL=found[0]).stderr == ""
    assert "dt: 0.0005\n" in (folder / "out" / "deck.resolved.yaml").read_text()
    assert "." in (folder / "out" / "history.csv").read_text().splitlines()[-1].split(",")[1]


def run_under(limit, folder, ranks, *words, code=0):
    """The ranks run under the limit, the launcher does not, as it may fail under it."""
    line = command("run", "deck.yaml", "output.directory=out", *words, ranks=ranks)
    line[3:3] = ["sh", "-c", f'ulimit {limit} && exec "$0" "$@"']
    done = finished(line, code, cwd=folder, env={**os.environ, "ISOTHERM_IO_TIMEOUT": "120"})
    assert "did not finish within" not in done.stderr, "only the watchdog has ended it"
    expect_whole_files(folder / "out")
    return done


@pytest.mark.parametrize("limit", ["-n 32", "-s 256", "-v 4000000"])
def test_limits_that_are_enough(folder, limit):
    """File descriptors, KiB of stack, KiB of address space."""
    run_under(limit, folder, 2)
    assert snapshots(folder / "out")


@pytest.mark.parametrize("files", [16, 18, 19, 20, 22])
def test_too_few_descriptors(folder, files):
    """Any call may fail first, on any rank; a rank may lack MPI-IO as a result."""
    done = run_under(f"-n {files}", folder, 3, code={0, 1, 73, 74})  # 1: MPI itself cannot start
    if done.returncode in (73, 74):
        assert "Too many open files" in done.stderr and done.stdout.endswith("RESULT: FAILED\n")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_limit_of_file_sizes_is_an_error_and_no_signal(folder, ranks):
    # The shell counts in KiB or half of it; the cells have 512000 bytes.
    done = run_under("-f 500", folder, ranks, "grid.cells=40", code=74)
    assert "no room for the file (File too large: " in done.stderr and " bytes wanted, " in done.stderr
    assert "; raise the limit of file sizes (ulimit -f), or write less with " in done.stderr
    assert snapshots(folder / "out") == [] and not list((folder / "out").glob("*.part"))


def test_a_working_directory_that_cannot_be_written_to(folder):
    """A run whose directory is elsewhere does not need it; test_paths.py tests the others. Not below pytest's
    own folder, which other pytest processes close to other users when they start."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(folder / "deck.yaml", name)
        os.mkdir(f"{name}/elsewhere")
        os.chmod(f"{name}/elsewhere", 0o777)
        os.chmod(name, 0o555)
        done = measured("run", "deck.yaml", f"output.directory={name}/elsewhere/out", cwd=name, user=OTHER_USER)
        assert (done.returncode, done.stderr) == (0, "")
        os.chmod(name, 0o755)


STREAMS = {"a pipe that breaks": '"$@" | head -n 1', "closed output": '"$@" >&-', "all closed": '"$@" <&- >&- 2>&-',
           "a full disk": '"$@" >/dev/full 2>/dev/full'}


@pytest.mark.parametrize("name", STREAMS)
def test_a_run_continues_without_its_streams(tmp_path, name):
    write_deck(tmp_path, DECK)
    line = command("run", "deck.yaml", "output.directory=out", "output.every_steps=2")
    finished(["bash", "-o", "pipefail", "-c", STREAMS[name], "bash", *line], 0, cwd=tmp_path)
    out = tmp_path / "out"
    assert record(out)["exit_code"] == 0 and len(snapshots(out)) == 21
    assert "RESULT: DONE" in (out / "run.log").read_text()
    ran("info", out / snapshots(out)[-1])


@pytest.fixture(scope="module")
def folder_of_a_run(tmp_path_factory):
    """A folder with a run, its deck, and a study."""
    folder = tmp_path_factory.mktemp("run")
    write_deck(folder, DECK + "study: {matrix: {precision: [fp32, fp64]}}\n", "study.yaml")
    finished_run(folder, DECK, "deck", "output.directory=out")
    return folder


@pytest.mark.parametrize("words", [
    ["list"], ["list", "--json"], ["init"], ["init", "--minimal"], ["schema"], ["check", "deck.yaml"], ["check", "study.yaml"],
    ["info", "out/deck_00000040.hdf"], ["info", "--deck", "out/deck_00000040.hdf"]], ids=" ".join)
def test_commands_that_only_print_fail_if_their_stream_fails(folder_of_a_run, words):
    done = finished(["bash", "-c", '"$@" >/dev/full', "bash", *command(*words)], 74, cwd=folder_of_a_run)
    assert done.stderr == "standard output cannot be written; check where it goes\n"


# Terminals: the progress line that is rewritten, and the text that remains. Pipes and job logs get lines.


def interrupted(folder, look=lambda run: None, **options):
    """A run on a terminal that rewrites its line; `look` inspects it, then Ctrl-C stops it."""
    write_deck(folder, ENDLESS)
    run = OnTerminal(command("run", "deck.yaml", "output.directory=out", "output.overwrite=true"), folder, **options)
    line = r"step \d+/1000000000000  0\.0 %  ETA \d+ d \d\d h  .*Pts/s( .*)?  t .* s$"
    run.read_until(lambda text: re.match(line, "".join(moved(text)[-1:])))
    look(run)
    run.type(b"\x03")
    assert run.end() == 75
    return run


def test_the_progress_line_is_rewritten_and_erased(tmp_path):
    with open(tmp_path / "stdout", "w", encoding="utf-8") as stdout:
        run = interrupted(tmp_path, stdout=stdout)
    assert run.text.count("\033[?7l") == run.text.count("\033[?7h") > 0, "the terminal cuts the line, and wraps all else"
    assert not any("ETA" in line for line in shown(run.text)), shown(run.text)
    assert any("stopped by SIGINT" in line for line in shown(run.text))
    out = (tmp_path / "stdout").read_text()
    assert "\033" not in out and "\r" not in out and "RESULT: " in out


def test_no_line_is_rewritten_where_it_would_disturb(tmp_path):
    """In the background of a shell, on a dumb terminal, in a job of several ranks, in a pipe."""
    write_deck(tmp_path, DECK)
    run = ("run", "deck.yaml", "output.overwrite=true")

    def on_terminal(*words, **environment):
        terminal = OnTerminal(words, tmp_path, **environment)
        assert terminal.end() == 0
        return terminal.text

    assert moved(on_terminal(*command(*run)))
    for text in (on_terminal("bash", "-c", 'set -m; "$@" & wait $!', "bash", *command(*run)),
                 on_terminal(*command(*run), TERM="dumb"),
                 on_terminal(*command(*run, ranks=1))):
        assert "\033" not in text and "\r" not in text.replace("\r\n", "\n") and "RESULT: DONE" in text
    done = isotherm(*run, cwd=tmp_path, TERM="xterm")
    assert "\033" not in done.stdout + done.stderr


def test_a_run_without_a_launcher_starts_no_daemon_unless_the_user_says_so(tmp_path):
    """With the daemon, MPI_Init sets PMIX_RANK as launchers do: the line is rewritten nevertheless."""
    families = []

    def look(run):
        families.append(family_of(run.process.pid))

    run = interrupted(tmp_path, look)
    assert families == [[run.process.pid]]
    version = finished([MPIEXEC, "--version"], 0).stdout
    if re.search(r"\(Open(RTE| MPI)\) 4\.", version):  # only this version has that daemon
        interrupted(tmp_path, look, OMPI_MCA_ess_singleton_isolated="0")
        assert len(families[1]) > 1


def test_a_study_says_which_cases_run(tmp_path):
    write_study(tmp_path, "  list: [{name: first}, {name: second}]\n")
    study = OnTerminal(command("study", "deck.yaml"), tmp_path, columns=30)
    assert study.end() == 0
    lines, final = moved(study.text), shown(study.text)
    assert any(re.match(r"\[0/2\]  first for ", line) for line in lines) and all(len(line) < 30 for line in lines)
    assert re.fullmatch(r"\[1/2\] first: done after .*; about .* left", final[1]), final
    assert re.fullmatch(r"\[2/2\] second: done after [^;]*", final[2]), final
