"""`scaling RUN ...` and `scaling STUDY`: its options, and what it does."""

import argparse
import math

from isotherm_tools import figures, scaling_study, scaling_table, scalings
from isotherm_tools.failure import COMMAND_LINE, DATA, Failure
from isotherm_tools.run_record import RunRecord
from isotherm_tools.scaling_fit import Wishes
from isotherm_tools.scaling_series import STRONG, WEAK, scaling_series
from isotherm_tools.study_record import Study, is_study
from isotherm_tools.whole_file import write_text

GB, MICRO = 1e9, 1e-6


def add(verbs):
    verb = verbs.add_parser("scaling", help="runs on several rank counts: measured beside predicted",
                            description="Speed-up and efficiency of runs of one problem, and a model's beside them.")
    verb.set_defaults(action=scaling)
    add_options(verb)
    verb.add_argument("--json", metavar="FILE", help="write everything to this file")
    verb.add_argument("--csv", metavar="FILE", help="write the table to this file")
    verb.add_argument("--out", metavar="FILE",
                      help="draw time a sweep and efficiency into this file: png, pdf or svg by its ending")


def add_options(command):
    command.add_argument("runs", nargs="+", metavar="RUN",
                         help="run directory, or its run.json; or the directory of one study of a deck with scaling:")
    command.add_argument("--series", metavar="LABEL", help="of a study with several, by its label: \"solver.kernel openmp\"")
    command.add_argument("--kind", choices=(STRONG, WEAK), help="default: by the grids of the runs")
    command.add_argument("--ranks", type=counts, default=Wishes().ranks, metavar="N,N",
                         help="predict these too (default: powers of two from 8 to 4096)")

    machine = command.add_argument_group(
        "the machine", "Nothing is assumed: what neither the runs measured nor is given here is not predicted.")
    machine.add_argument("--gpus-per-node", type=whole, metavar="N",
                         help="ranks a host (default: the most that a run had)")
    machine.add_argument("--intra-bandwidth", type=quantity(GB, False), metavar="GB/S",
                         help="of a GPU within a host, each way (default: as measured)")
    machine.add_argument("--intra-latency", type=quantity(MICRO), metavar="US", help="likewise (default: as measured)")
    machine.add_argument("--network-bandwidth", type=quantity(GB, False), metavar="GB/S",
                         help="of a GPU between hosts, each way (default: as measured)")
    machine.add_argument("--network-latency", type=quantity(MICRO), metavar="US",
                         help="likewise (default: as measured)")
    machine.add_argument("--message-overhead", type=quantity(MICRO), default=0.0, metavar="US",
                         help="what a message costs before the next one starts (default: 0)")

    program = command.add_argument_group("the program", "Instead of what the runs did.")
    program.add_argument("--depth", type=whole, metavar="N", help="sweeps for one exchange")
    program.add_argument("--overlap", choices=("on", "off"), help="hide the exchange behind the interior")
    program.add_argument("--check-interval", type=whole, metavar="N", help="sweeps for one norm")
    program.add_argument("--launch-latency", type=quantity(MICRO), default=0.0, metavar="US",
                         help="the part of a sweep that does not shrink with the block (default: 0)")
    program.add_argument("--cell-time", choices=("sweeps", "copy"), default="sweeps",
                         help="from the sweeps of the run on fewest ranks, or from the least traffic at its copy "
                              "bandwidth (default: sweeps)")


def wishes_of(options):
    return Wishes(
        kind=options.kind,
        ranks=options.ranks,
        ranks_a_host=options.gpus_per_node,
        inside_bandwidth=options.intra_bandwidth,
        inside_latency=options.intra_latency,
        between_bandwidth=options.network_bandwidth,
        between_latency=options.network_latency,
        overhead=options.message_overhead,
        launch=options.launch_latency,
        depth=options.depth,
        overlap=options.overlap and options.overlap == "on",
        check_interval=options.check_interval,
        cell_time=options.cell_time,
    )


def read_series(options):
    """What makes each series; of runs there is one."""
    wishes = wishes_of(options)
    study = study_of(options)
    if study is None:
        if options.series is not None:
            raise Failure(COMMAND_LINE, "--series is of a study; runs make one series")
        return [lambda: scaling_series([RunRecord(run) for run in options.runs], wishes)]
    found = study.scaling
    if not found:
        raise Failure(DATA, f"{study.path} is no scaling study (its deck has no section scaling); name directories of its runs")
    if options.series is not None:
        found = [each for each in found if each.label == options.series]
        if not found:
            raise Failure(COMMAND_LINE, f"{study.path} has no series {options.series!r}; use one of "
                                        f"{', '.join(repr(each.label) for each in study.scaling)}")
    return [lambda each=each: scaling_study.modelled(study, each, wishes) for each in found]


def study_of(options):
    studies = [run for run in options.runs if is_study(run)]
    if not studies:
        return None
    if len(options.runs) > 1:
        raise Failure(COMMAND_LINE, f"{studies[0]} is a study; name it alone")
    return Study(studies[0])


def scaling(options):
    if options.out:
        figures.check_format(options.out)
    found = read_series(options)
    if len(found) > 1:
        if options.json or options.csv or options.out:
            raise Failure(COMMAND_LINE, f"a file holds one series, and {options.runs[0]} has {len(found)}; name one with --series")
        return "\n\n".join(map(text_or_why, found))
    series = found[0]()
    for path, text in ((options.json, scaling_table.as_json), (options.csv, scaling_table.as_csv)):
        if path:
            write_text(path, text(series))
    if options.out:
        scalings.draw_scaling(series, options.out)
    return scaling_table.as_text(series)


def text_or_why(make):
    """One series that cannot be made leaves the others."""
    try:
        return scaling_table.as_text(make())
    except Failure as failure:
        return f"note: {failure}"


def counts(text):
    return tuple(whole(part) for part in text.split(","))


def whole(text):
    try:
        if int(text) >= 1:
            return int(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 on")


def quantity(unit, zero_too=True):
    def parse(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if value > 0 or (zero_too and value == 0):
            return value * unit
        raise argparse.ArgumentTypeError(f"{text} is no number {'from 0 on' if zero_too else 'above 0'}")

    return parse
