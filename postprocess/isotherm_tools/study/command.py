"""isotherm study: the command line."""

import argparse
import signal
from math import prod

from isotherm_tools import program
from isotherm_tools.program import COMMAND_LINE, Failure, Parser, number_from
from isotherm_tools.study import state
from isotherm_tools.study.collection import Collection, value_at
from isotherm_tools.study.deck import StudyDeck
from isotherm_tools.study.runner import Runner, signal_name
from isotherm_tools.study.slurm import LAUNCHER, Submission, check_unchanged_since_submission, read_submission
from isotherm_tools.text import (
    aligned, counted, extent_text, grouped, human_bytes, human_duration, in_quotes, meant, printable, shell_words, shortened)


def parse(words):
    top = Parser(prog="isotherm study", allow_abbrev=False,
                 description="Runs the cases of a deck with study: or scaling:, and collects their results.")
    top.add_argument("deck", help="the deck, a YAML file")
    top.add_argument("overrides", nargs="*", metavar="key.path=value", help="replaces any key of the deck that does not vary")
    top.add_argument("--dry-run", action="store_true",
                     help="print the cases with estimates of time and space (with --slurm the job scripts); start nothing")
    top.add_argument("--jobs", type=number_from(1, 4096), default=0, metavar="N",
                     help="cases at once (default: 1; with --slurm no limit)")
    top.add_argument("--retry", action="store_true", help="start failed cases again")
    top.add_argument("--slurm", action="store_true", help="submit the cases as Slurm job arrays instead of running them here")
    top.add_argument("--case", metavar="NAME", default="", help="run this case alone, and collect nothing")
    top.add_argument("--collect", action="store_true", help="start nothing; collect the results that exist")
    top.add_argument("--limit", type=number_from(1, 100000), default=0, metavar="N", help="the most cases (default: study.limit)")
    top.add_argument("--force", action="store_true", help="use the study's directory even if another study seems to write there")
    # isotherm check of a deck with cases starts this command with --check and with its own options; those for one case have no effect.
    flags = ("--check", "--resolved", "--ranks-table")
    for name in ("--ranks", "--gpu-memory", *flags):
        top.add_argument(name, action="store_true" if name in flags else "store", help=argparse.SUPPRESS)
    options = top.parse_intermixed_args(words)
    alone = [name for name in ("case", "collect", "slurm", "dry_run") if getattr(options, name)]
    if len(alone) > 1 and alone != ["slurm", "dry_run"]:
        top.error(f"--{alone[0].replace('_', '-')} excludes --{alone[1].replace('_', '-')}")
    return options


def main(words):
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # default handling until cases run
    options, starter = parse(words), program.Program()
    asked = starter, options.deck, options.overrides, starter.positions(words, options.overrides)
    if options.check:
        return check(asked)
    deck = load(asked, options)
    if deck.scaling and options.jobs > 1 and not options.slurm:
        program.warn(f"--jobs {options.jobs}: cases that run at once share this host, and so their times do")
    if options.case:
        check_unchanged_since_submission(deck)
    elif options.dry_run:
        text = Submission(deck, options).dry_run_text() if options.slurm else dry_run_text(deck, options.retry)
        program.say(text, needed=True)
        return state.DONE
    state.check_unchanged(deck)
    state.make_folder(deck.directory, "cannot use {folder} as the study's directory ({why}); choose another with output.directory=...")
    if options.case:
        # One task of many that run at once: it uses only the case's lock and writes only the case's files.
        stopped_by = Runner(deck, options.jobs, options.retry).run()
        return conclude(options, deck, Collection(deck), stopped_by)
    with state.DirectoryLock(deck.directory, options.force) as lock:
        if lock.warning:
            program.warn(lock.warning)
        if options.slurm and Submission(deck, options).submit():
            return state.DONE
        stopped_by = 0 if options.collect or options.slurm else Runner(deck, options.jobs, options.retry, lock).run()
        collection = Collection(deck)
        for name in deck.sections["report"]:
            if "." in name and collection.finished and all(row.get(name) is None for row in collection.rows):
                program.warn(f"study.report: no run.json has a value at '{printable(name)}'; look for its path in one, or remove it")
        program.write_text(deck.directory / "study.csv", collection.csv)
        state.write_json(deck.directory / "study.json", collection.record)
        program.say(f"\n{collection.table}\n{collection.finished} of {counted(len(deck.cases), 'case')} finished; all columns in "
                    f"{in_quotes(deck.directory / 'study.csv')}, all records in study.json next to it\n")
        return conclude(options, deck, collection, stopped_by)


def load(asked, options):
    host = "" if options.collect else "another" if options.slurm else "this"  # where the cases are to run; empty: nowhere
    deck = StudyDeck(*asked, options.limit, host, plan=options.dry_run and not options.slurm)
    if name := options.case:
        names = [case.name for case in deck.cases]
        if name not in names:
            raise Failure(COMMAND_LINE, f"--case {printable(name)}: the study has no case of this name; "
                                        + meant(name, names, "see isotherm study --dry-run"))
        deck.cases = [case for case in deck.cases if case.name == name]
    if host:
        deck.check_cases()
    for warning in deck.warnings:
        program.warn(warning)
    return deck


def check(asked):
    """Prints a line for each case. If a launcher started several ranks, only one prints."""
    deck = StudyDeck(*asked, None, "either", plan=True)
    deck.check_cases()
    if program.launched_rank() > 0:
        return state.DONE
    text = f"study           {counted(len(deck.cases), 'case')} in {deck.directory}\n"
    if scaling := deck.scaling:
        unit = "ranks" if scaling["unit"] == "ranks" else "GPUs with a rank each"
        text += (f"scaling         {scaling['kind']}, on {', '.join(map(str, scaling['counts']))} {unit}, "
                 f"{counted(scaling['repeats'], 'run')} of each\n")
    text += aligned("lrrrrrl", plan_rows(deck, state.case_statuses(deck, deck.cases)), 2)
    program.say(text + "".join(f"warning: {warning}\n" for warning in deck.warnings), needed=True)
    return state.DONE


def resuming(options, deck, retry):
    """The command line that resumes the study: for a task or the collection of cases that were submitted, the one that submits them."""
    slurm = options.slurm or (options.case or options.collect) and any(map(read_submission, deck.cases))
    overrides = [word for word in options.overrides if not slurm or word != LAUNCHER]
    names = ("jobs", "limit", "case")[:2 if slurm else 3]
    given = [word for name in names if (value := getattr(options, name)) for word in (f"--{name}", value)]
    return shell_words(["isotherm", "study", options.deck, *overrides, *given, *["--slurm"] * bool(slurm), *["--retry"] * bool(retry)])


def conclude(options, deck, collection, stopped_by):
    """Returns the exit code, or raises a failure that says what to do about the results of the cases."""
    cases = counted(len(deck.cases), "case")
    stops = [value_at(case["run"], "continuation.stopped_by") for case in collection.cases]
    # Without more time these cases never complete a step.
    no_step = [case["name"] for case, by in zip(collection.cases, stops)
               if by == "the wall time" and not value_at(case["run"], "performance.sweeps")]
    why = f" (no time for a step: {', '.join(shortened(no_step, 3))}; give more solver.walltime)" if no_step else (
        f" (stopped by {state.END_OF_JOB})" if state.END_OF_JOB in stops else "")
    runs = {case["state"] for case in collection.cases} - set(state.FINISHED) == {"running"}
    todo = "wait for the end of those that are running" if runs else f"resume with: {resuming(options, deck, options.retry)}"
    finished = f"{collection.finished} of {cases} finished{why}; {todo}"
    if stopped_by:
        raise Failure(state.STOPPED, f"stopped by {signal_name(stopped_by)} with {finished}")
    if collection.failed:
        where = "see case.json and stderr.txt in its folder" if options.case else "see state and message in study.csv"
        rest = [case["name"] for case in collection.cases if case["state"] not in (*state.FINISHED, "failed")]
        others = f", unfinished: {', '.join(shortened(rest, 3))}{why}; resume and" if rest else ";"
        raise Failure(collection.exit_code, f"{collection.failed} of {cases} failed ({where}){others} start again what failed with: "
                                            f"{resuming(options, deck, retry=True)}")
    if collection.exit_code == state.STOPPED:
        raise Failure(state.STOPPED, finished)
    if collection.disagreement:
        raise Failure(state.DIVERGED, f"{collection.disagreement}; see kernel, transport and fingerprint of each in study.csv")
    return collection.exit_code


def plan_rows(deck, statuses):
    return [["name", "ranks", "cells", "sweeps", "memory", "files", "state"], *(
        [case.name, str(case.ranks), extent_text(case.plan["cells"]), grouped(case.plan["sweeps"]),
         human_bytes(case.plan["memory_bytes"]), human_bytes(case.plan["file_bytes"]), status.state]
        for case, status in zip(deck.cases, statuses))]


def dry_run_text(deck, retry):
    """The text of a dry run. Measures the copy bandwidth of this host to estimate times; starts no case, writes no file."""
    statuses = state.case_statuses(deck, deck.cases)
    # The size of the arrays of the copy: the cells of the first case of each backend.
    cells = {case.plan["backend"]: prod(case.plan["cells"]) for case in reversed(deck.cases)}
    answers = deck.ask([{"bandwidth": backend, "bytes": 8 * count} for backend, count in cells.items()])
    bandwidths = {backend: program.raise_error(answer)["bytes_per_s"] for backend, answer in zip(cells, answers)}
    times = {case.name: case.plan["traffic_bytes"] / bandwidths[case.plan["backend"]]
             for case, status in zip(deck.cases, statuses) if status.is_due(retry)}
    files = sum(case.plan["file_bytes"] for case in deck.cases if case.name in times)
    memory = max(case.plan["memory_bytes"] for case in deck.cases)
    head, *rows = plan_rows(deck, statuses)
    text = aligned("lrrrrrlr", [[*head, "time"], *([*row, human_duration(times[row[0]]) if row[0] in times else "-"] for row in rows)])
    text += (f"\n{len(times)} of {counted(len(deck.cases), 'case')} to run in {in_quotes(deck.directory)}: "
             f"{human_duration(sum(times.values()))} of sweeps, {human_bytes(files)} of files of the field, at most {human_bytes(memory)} "
             "of memory per case\n")
    for backend in sorted(bandwidths):
        text += ("Times are estimates: the least traffic of all sweeps (of a steady problem as if it took them all) over a copy bandwidth "
                 f"of {bandwidths[backend] / 1e9:.1f} GB/s, measured here ({backend}).\n")
    if any(case.plan["may_divide_steps"] for case in deck.cases):
        text += "They count whole steps: those that problem.tolerance divides take more.\n"
    return text
