"""`report RUN` or `report STUDY`, and what it says of a study: what varied, what each case has come to, what is
missing, and why."""

from collections import Counter
from pathlib import Path

from isotherm_tools import figures, studies
from isotherm_tools.bench import BenchRecord
from isotherm_tools.failure import COMMAND_LINE, DATA, Failure
from isotherm_tools.program import add_subcommand
from isotherm_tools.report_page import Section, facts, page, paragraph, picture, pictures, table, tiles, warnings
from isotherm_tools.report_run import bench_section, run_page
from isotherm_tools.run import open_run
from isotherm_tools.scaling import STRONG, Wishes, modelled, times
from isotherm_tools.scaling_command import scaling_figure, share
from isotherm_tools.studies import Study, is_study, short, why_not
from isotherm_tools.text import counted, format_time, is_number, si
from isotherm_tools.whole_file import write_text

ENDINGS = (".html", ".htm")


def add(subcommands):
    subcommand = add_subcommand(subcommands, "report", report,
                    "one HTML page of a run (field, history, where the time went) or of a study",
                    "Writes one page that needs no network, no script and no other file.", "RUN_OR_STUDY_DIRECTORY")
    subcommand.add_argument("--bench", metavar="FILE", action="append", default=[],
                      help="put the ladder and roofline of isotherm bench ... --json FILE on the page; may be repeated")
    subcommand.add_argument("--out", metavar="FILE.html", help="default: NAME_report.html in the directory, of a study study_report.html")


def report(options):
    of_study = is_study(options.run)
    subject = Study(options.run) if of_study else open_run(options.run)
    name = "study" if of_study else subject.name
    path = Path(options.out) if options.out else subject.path / f"{name}_report.html"
    if path.suffix.lower() not in ENDINGS:
        raise Failure(COMMAND_LINE, f"{path}: a report is a page; end the name in {ENDINGS[0]}")
    benches = [BenchRecord(bench) for bench in options.bench]
    write_text(path, study_page(subject, benches) if of_study else run_page(subject, benches))
    return path


MOST_VALUES = 12  # of a key, in a line of text
MOST_TOLD = 8  # failures in the box that is seen first; all are in the table of states


def study_page(study, benches):
    """The page's text. `benches`: records of benchmarks to put beside the study."""
    try:
        with figures.look(**{"axes.titlesize": 10}):
            devices = Counter(rank["device"] for case in study.cases if case.run for rank in case.run["ranks"])
            sections = [
                summary(study),
                Section("scaling", "Scaling", [part for each in study.scaling for part in series_parts(study, each)]),
                results(study), against(study), states(study),
                *(bench_section(number, bench, devices) for number, bench in enumerate(benches, 1)),
                what_was_studied(study, devices),
            ]
            made_by = study.record
            lead = f"{counted(len(study.cases), 'case')}: {', '.join(map(study.title, study.varied)) or 'nothing varies'}; " \
                   f"collected {made_by['collected']}"
            return page(study.name, result(study), lead, sections, f"isotherm {made_by['version']} ({made_by['git_revision']})")
    except (KeyError, TypeError, AttributeError) as error:
        raise Failure(DATA, f"{study.path}/study.json is no study of isotherm ({error!r})") from error


def result(study):
    found = {case.state for case in study.cases}
    if "failed" in found or any(each.disagreement for each in study.scaling):
        return "FAILED"
    if not all(case.is_finished for case in study.cases):
        return "STOPPED"
    return "NOT CONVERGED" if "not converged" in found else "DONE"


def summary(study):
    failed = [case for case in study.cases if case.state == "failed"]
    by_state = Counter(case.state for case in study.cases)
    parts = []
    if failed:
        more = [f"and {len(failed) - MOST_TOLD} more, in the table of states"] if len(failed) > MOST_TOLD else []
        codes = ["" if case.exit_code is None else f" (exit code {case.exit_code})" for case in failed[:MOST_TOLD]]
        lines = [f"{case.name} has failed{code}{': ' + case.message if case.message else ''}"
                 for case, code in zip(failed, codes)]
        parts.append(warnings([*lines, *more]))
    wall = [case.value("wall_s") for case in study.cases if is_number(case.value("wall_s"))]
    best = min((case for case in study.cases if case.is_finished and is_number(case.value("step_s"))),
               key=lambda case: case.value("step_s"), default=None)
    figures_of_merit = [("finished", str(sum(case.is_finished for case in study.cases)), f"of {counted(len(study.cases), 'case')}")]
    figures_of_merit += [(state, str(count), "see states") for state, count in by_state.items() if state != "done"]
    if wall:
        figures_of_merit.append(("time of all runs", format_time(sum(wall)), f"the longest {format_time(max(wall))}"))
    if best is not None:
        figures_of_merit.append(("quickest step", si(best.value("step_s"), "s"), best.name))
    return Section("summary", "In short", [*parts, tiles(figures_of_merit)])


def cell(value):
    return "-" if value is None else f"{value:.6g}" if is_number(value) else str(value)


def results(study):
    """The table that the program prints."""
    rows = [[cell(case.value(name)) for name in study.reported] for case in study.sorted_cases()]
    key = study.record["sort"]
    order = f"Sorted by {study.title(key)}." if key else "In the order of the deck."
    return Section("results", "Results", [table(list(map(study.title, study.reported)), rows), paragraph(order)])


def against(study):
    names = study.quantities
    if not names:
        return Section("figures", "Against what varies", [])
    if (why := why_not(study)) is not None:
        return Section("figures", "Least and most", [paragraph(f"No figures: {why}."), extremes(study, names)])
    along, others = study.axes[0], study.axes[1:]
    lines = f", a line for each value of {' and '.join(others)}" if others else ""
    items = [picture(studies.quantities_figure(study, [name]), f"{name} against {along}{lines}: {span(study, name)}",
                     f"{study.title(name)} against {along}{lines}.") for name in names]
    parts = [pictures(*items)]
    if any(case.state == "not converged" for case in study.cases):
        parts.append(paragraph("Open points have not converged."))
    together = [key for key in study.varied if key not in study.axes and len({cell(case.value(key)) for case in study.cases}) > 1]
    if together and study.axes != ["name"]:
        parts.append(paragraph(f"{', '.join(together)} {'varies' if len(together) == 1 else 'vary'} with that."))
    return Section("figures", "Against what varies", parts)


def known(study, name):
    """The cases that have a number, in its order."""
    cases = [case for case in study.cases if case.is_finished and is_number(case.value(name))]
    return sorted(cases, key=lambda case: case.value(name))


def span(study, name):
    cases = known(study, name)
    return f"{cases[0].value(name):.5g} to {cases[-1].value(name):.5g}" if cases else "no value"


def extremes(study, names):
    rows = []
    for name in names:
        cases = known(study, name)
        if cases:
            rows.append((study.title(name), cell(cases[0].value(name)), cases[0].name, cell(cases[-1].value(name)), cases[-1].name))
    return table(("quantity", "least", "in", "most", "in"), rows)


def states(study):
    """Of the cases that are not simply done."""
    rows = [(case.name, case.state, cell(case.exit_code), case.message or "-") for case in study.cases if case.state != "done"]
    if not rows:
        return Section("states", "States", [paragraph("All cases are done.")])
    parts = [table(("case", "state", "exit code", "message"), rows)]
    if not all(case.is_finished for case in study.cases):
        parts.append(paragraph("isotherm study goes on with what was stopped, interrupted or not started; with --retry also with "
                               "what has failed."))
    return Section("states", "States", parts)


def what_was_studied(study, devices):
    made_by = study.record
    return Section("study", "What was studied", [
        table(("key", "values"), [(study.title(key), values_line(study, key)) for key in study.varied] or [("-", "-")]),
        facts([
            ("deck", made_by["deck"]), ("cases", len(study.cases)),
            ("ranks", ", ".join(sorted({cell(case.value("ranks")) for case in study.cases}, key=float))),
            ("devices", ", ".join(devices)), ("collected", made_by["collected"]),
            ("program", f"{made_by['version']}, {made_by['git_revision']}"),
        ]),
    ])


def values_line(study, key):
    values = list(dict.fromkeys(short(case.value(key)) for case in study.cases))
    more = f", and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
    return ", ".join(values[:MOST_VALUES]) + more


HEAD = ("ranks", "grid", "runs", "a sweep", "predicted", "speed-up", "efficiency", "predicted", "hidden", "predicted", "remark")
MEANING = {
    STRONG: "The grid is the same on all counts: efficiency is T1 / (n Tn).",
    "weak": "The cells of a rank are the same on all counts: efficiency is T1 / Tn.",
}


def series_parts(study, scaled):
    parts = [paragraph(f"{scaled.kind.capitalize()} scaling{f' of {scaled.label}' if scaled.label else ''}, compared with "
                       f"{scaled.base}. {MEANING[scaled.kind]} Of several runs the one in the middle counts.")]
    if scaled.disagreement:
        parts.append(warnings([scaled.disagreement]))
    predicted, notes = {}, []
    try:
        series = modelled(study, scaled, Wishes(ranks=()))
        predicted = {row.ranks: row.predicted for row in series.rows if row.predicted}
        notes = series.notes
        what = "measured and predicted" if predicted else "measured"
        parts.append(pictures(picture(scaling_figure(series), f"Time per sweep and efficiency over ranks, {what}",
                                      f"Time per sweep and efficiency, {what}.")))
    except Failure as failure:
        notes = [f"no prediction: {failure}"]
    remarked = any(row.remark for row in scaled.rows)
    rows = [line(row, predicted.get(row.ranks))[:None if remarked else -1] for row in scaled.rows]
    parts.append(table(HEAD[:None if remarked else -1], rows))
    return [*parts, *map(paragraph, notes)]


def line(row, predicted):
    return (str(row.ranks), times(row.cells), str(row.runs),
            text(row.step, format_time), text(predicted and predicted.step, format_time),
            text(row.speedup, lambda value: f"{value:.4g}"),
            text(row.efficiency, share), text(predicted and predicted.efficiency, share),
            text(row.hidden, share), text(predicted and predicted.hidden, share),
            row.remark or "-")


def text(value, form):
    return "-" if value is None else form(value)
