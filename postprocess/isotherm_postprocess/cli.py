"""The command line: `python3 -m isotherm_postprocess plot slice RUN_DIRECTORY`."""

import argparse
import sys

import isotherm_postprocess
from isotherm_postprocess import figures, histories, ladders, rooflines, scaling_command, slices
from isotherm_postprocess.bench_record import BenchRecord
from isotherm_postprocess.failure import Failure
from isotherm_postprocess.run_directory import RunDirectory

OUT_HELP = "png, pdf or svg by its ending (default: in the run directory)"


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        print(options.action(options))
    except Failure as failure:
        print(f"isotherm_postprocess: {failure}", file=sys.stderr)
        return failure.code
    return 0


def parser():
    top = argparse.ArgumentParser(prog="isotherm_postprocess", description=isotherm_postprocess.__doc__)
    verbs = top.add_subparsers(title="verbs", required=True, metavar="plot|scaling")
    plot = verbs.add_parser("plot", help="draw a run directory or a benchmark")
    figure = plot.add_subparsers(title="figures", required=True, metavar="slice|history|ladder|roofline|scaling")

    one = figure.add_parser("slice", help="temperature in a plane of cells, at one time or several")
    one.set_defaults(action=plot_slice)
    one.add_argument("run", metavar="RUN_DIRECTORY")
    one.add_argument("--series", metavar="NAME", help="files of a part of the cells, e.g. demo_slice_z12, demo_coarse")
    one.add_argument("--axis", choices=tuple(slices.AXES), help="the plane's normal (default: z; of a slice, its own)")
    one.add_argument("--position", default="50%", metavar="METRES|SHARE",
                     help="where on that axis, e.g. 0.01 or 25%% (default: 50%%)")
    when = one.add_mutually_exclusive_group()
    when.add_argument("--time", default="last", metavar="first|last|SECONDS",
                      help="the snapshot nearest to it (default: last)")
    when.add_argument("--index", type=int, help="the snapshot by number from 0; -1 is the last")
    when.add_argument("--all-times", action="store_true",
                      help=f"up to {slices.MOST_PANELS} snapshots, evenly over the run")
    one.add_argument("--out", metavar="FILE", help=OUT_HELP)

    two = figure.add_parser("history", help="residual, or columns of the diagnostics, over sweeps")
    two.set_defaults(action=plot_history)
    two.add_argument("run", metavar="RUN_DIRECTORY")
    two.add_argument("--columns", metavar="NAME,NAME", help="of history.csv, e.g. min_K,mean_K,max_K,balance_W")
    two.add_argument("--out", metavar="FILE", help=OUT_HELP)

    for name, draw, text in (
        ("ladder", ladders.draw_ladders, "the rows of a benchmark as bars, under their roof"),
        ("roofline", rooflines.draw_roofline, "stencil rows over their arithmetic intensity, under their roof"),
    ):
        three = figure.add_parser(name, help=text)
        three.set_defaults(action=plot_bench, figure=name, draw=draw)
        three.add_argument("bench", metavar="BENCH.json", help="written by isotherm bench ... --json")
        three.add_argument("--best", action="store_true", help="of each row only the fastest policy")
        three.add_argument("--out", metavar="FILE", help="png, pdf or svg by its ending (default: beside the JSON)")

    scaling_command.add_plot(figure)
    scaling_command.add_table(verbs)
    return top


def plot_slice(options):
    run = RunDirectory(options.run)
    kind = "slices" if options.all_times else "slice"
    snapshots = run.series(options.series) if options.series else run.snapshots()
    axis = options.axis or snapshots[0].thin_axis or "z"
    path = options.out or run.path / f"{options.series or run.name}_{kind}_{axis}.png"
    figures.check_format(path)
    if options.all_times:
        chosen = slices.spread(snapshots)
    elif options.index is not None:
        chosen = [slices.choose_index(snapshots, options.index)]
    else:
        chosen = [slices.choose_time(snapshots, options.time)]
    slices.draw_slices(run.name, chosen, slices.AXES.index(axis), options.position, path)
    return path


def plot_history(options):
    run = RunDirectory(options.run)
    kind = "diagnostics" if options.columns else "history"
    path = options.out or run.path / f"{run.name}_{kind}.png"
    figures.check_format(path)
    if options.columns:
        histories.draw_columns(run.name, run.history(), options.columns.split(","), path)
    else:
        histories.draw_history(run.name, run.history(), path)
    return path


def plot_bench(options):
    record = BenchRecord(options.bench)
    if options.best:
        record.keep_best_policies()
    path = options.out or record.path.with_name(f"{record.path.stem}_{options.figure}.png")
    figures.check_format(path)
    options.draw(record, path)
    return path
