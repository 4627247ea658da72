"""The command line: `python3 -m isotherm_tools slice RUN_DIRECTORY`."""

import argparse
import os
import sys

import isotherm_tools
from isotherm_tools import animations, figures, fused_depths, histories, ladders, report_command, rooflines, scaling_command, slices, study_figures, volumes
from isotherm_tools.bench_record import BenchRecord
from isotherm_tools.failure import IO, STOPPED_BY_CTRL_C, Failure
from isotherm_tools.run_directory import RunDirectory

OUT_HELP = "png, pdf or svg by its ending (default: in the run directory)"


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        say(options.action(options))
    except Failure as failure:
        print(f"isotherm_tools: {failure}", file=sys.stderr)
        return failure.code
    except KeyboardInterrupt:
        print("isotherm_tools: stopped by Ctrl-C; files are whole, or as they were before", file=sys.stderr)
        return STOPPED_BY_CTRL_C
    return 0


def say(result):
    """On stdout. A reader that goes away (`| head`) has read enough."""
    stdout = sys.stdout
    try:
        stdout.flush()
        stdout.buffer.write(encoded(f"{result}\n", stdout.encoding or "ascii"))
        stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())  # or the interpreter complains at its end
    except OSError as error:
        raise Failure(IO, f"standard output cannot be written ({error.strerror}); check where it goes") from error


def encoded(text, encoding):
    """Names of files as the bytes that they have; "us" where there is no "µs"."""
    for each in (text, text.replace("µ", "u")):
        try:
            return each.encode(encoding, "surrogateescape")
        except UnicodeEncodeError:
            pass
    return text.encode(encoding, "replace")


def parser():
    top = argparse.ArgumentParser(prog="isotherm_tools", description=isotherm_tools.__doc__)
    verbs = top.add_subparsers(title="verbs", required=True, metavar="VERB")
    add_slice(verbs)
    add_history(verbs)
    add_bench(verbs, "ladder", ladders.draw_ladders, "draw the rows of a benchmark as bars, under their roof")
    add_bench(verbs, "roofline", rooflines.draw_roofline,
              "draw stencil rows over their arithmetic intensity, under their roof")
    add_bench(verbs, "depths", fused_depths.draw_depths,
              "draw points a second against the sweeps that a launch fuses, with the roofs of memory")
    scaling_command.add(verbs)
    report_command.add(verbs)
    study_figures.add(verbs)
    animations.add(verbs)
    volumes.add(verbs)
    return top


def add_slice(verbs):
    verb = verbs.add_parser("slice", help="draw the temperature in a plane of cells, at one time or several",
                              description="Draws the temperature in a plane of cells, with isotherms. Only that plane is read.")
    verb.set_defaults(action=draw_slice)
    verb.add_argument("run", metavar="RUN_DIRECTORY")
    slices.add_plane_options(verb)
    slices.add_time_options(verb).add_argument("--all-times", action="store_true",
                                               help=f"up to {slices.MOST_PANELS} snapshots, evenly over the run")
    verb.add_argument("--out", metavar="FILE", help=OUT_HELP)


def add_history(verbs):
    verb = verbs.add_parser("history", help="draw the residual, or columns of the diagnostics, over sweeps",
                              description="Draws the residual over sweeps, or columns of history.csv.")
    verb.set_defaults(action=draw_history)
    verb.add_argument("run", metavar="RUN_DIRECTORY")
    verb.add_argument("--columns", metavar="NAME,NAME", help="of history.csv, e.g. min_K,mean_K,max_K,balance_W")
    verb.add_argument("--out", metavar="FILE", help=OUT_HELP)


def add_bench(verbs, name, draw, text):
    verb = verbs.add_parser(name, help=text, description=f"Reads what a benchmark measured, to {text}.")
    verb.set_defaults(action=draw_bench, figure=name, draw=draw)
    verb.add_argument("bench", metavar="BENCH.json", help="written by isotherm bench ... --json")
    verb.add_argument("--best", action="store_true", help="of each row only the fastest policy")
    verb.add_argument("--out", metavar="FILE", help="png, pdf or svg by its ending (default: beside the JSON)")


def draw_slice(options):
    run = RunDirectory(options.run)
    kind = "slices" if options.all_times else "slice"
    snapshots, axis = slices.chosen_series(run, options)
    path = options.out or run.path / f"{options.series or run.name}_{kind}_{axis}.png"
    figures.check_format(path)
    chosen = slices.spread(snapshots) if options.all_times else [slices.chosen_snapshot(snapshots, options)]
    position = slices.chosen_position(run, chosen[0], slices.AXES.index(axis), options)
    slices.draw_slices(run.name, chosen, slices.AXES.index(axis), position, path)
    return path


def draw_history(options):
    run = RunDirectory(options.run)
    kind = "diagnostics" if options.columns else "history"
    path = options.out or run.path / f"{run.name}_{kind}.png"
    figures.check_format(path)
    if options.columns:
        histories.draw_columns(run.name, run.history(), options.columns.split(","), path)
    else:
        histories.draw_history(run.name, run.history(), path)
    return path


def draw_bench(options):
    record = BenchRecord(options.bench)
    if options.best:
        record.keep_best_policies()
    path = options.out or record.path.with_name(f"{record.path.stem}_{options.figure}.png")
    figures.check_format(path)
    options.draw(record, path)
    return path
