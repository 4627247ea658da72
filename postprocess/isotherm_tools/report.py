"""`report RUN` or `report STUDY`. For a study: the varied keys, the result of each case, and the cases without a result. For a
run: its answer, field, history, performance and the time of each phase. Benchmarks are added to either."""

from collections import Counter
from functools import partial

import numpy as np
from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator

from isotherm_tools import body, figures, studies
from isotherm_tools.bench import FLOPS_PER_POINT, BenchRecord, ladder_figure, roofline_figure
from isotherm_tools.pictures import AXES, Scale, draw_plane, history_figure, is_steady, moment, places_in, slice_figure
from isotherm_tools.program import FILE_MISSING, Failure, add_subcommand, content_of, write_text
from isotherm_tools.report_page import Section, facts, page, paragraph, picture, pictures, table, text_block, tiles, warnings
from isotherm_tools.run import open_run
from isotherm_tools.scaling import STRONG, ModelInputs, modelled, scaling_figure, share, times
from isotherm_tools.studies import Study, is_study, short, why_not
from isotherm_tools.text import (
    counted, extent_text, format_length, format_time, is_number, length_unit, percent, place, shortened, si, split_unit, time_unit)


def add(subcommands):
    subcommand = add_subcommand(subcommands, "report", report,
                                "write one HTML page of a run (field, history, time of each phase) or of a study, without scripts",
                                "RUN_OR_STUDY_DIRECTORY", "default: NAME_report.html in the directory, of a study study_report.html")
    subcommand.add_argument("--bench", metavar="FILE", action="append", default=[],
                      help="put the ladder and roofline of isotherm bench ... --json FILE on the page; may be repeated")


def report(options):
    of_study = is_study(options.run)
    subject = Study(options.run) if of_study else open_run(options.run)
    name = "study" if of_study else subject.name
    path = figures.check_format(options.out or subject.path / f"{name}_report.html", (".html", ".htm"))
    benches = [BenchRecord(bench) for bench in options.bench]
    file, noun, make = ("study.json", "study", study_page) if of_study else ("run.json", "run record", run_page)
    with content_of(subject.path / file, noun), figures.look(**{"axes.titlesize": 10}):
        text = make(subject, subject.record, benches)
    write_text(path, text)
    return path


MOST_VALUES = 12  # values of a key in a line of text
MOST_FAILURES = 8  # in the box at the top; the table of states has all


def study_page(study, record, benches):
    devices = Counter(rank["device"] for case in study.cases if case.run for rank in case.run["ranks"])
    scaled = [part for each in study.scaling for part in series_parts(study, each)]
    sections = [summary(study), Section("scaling", "Scaling", scaled), results(study), against(study), states(study), *(
        bench_section(number, bench, devices) for number, bench in enumerate(benches, 1)), what_was_studied(study, record, devices)]
    lead = f"{counted(len(study.cases), 'case')}: {', '.join(map(study.title, study.varied)) or 'nothing varies'}; " \
           f"collected {record['collected']}"
    return page(study.name, result(study), lead, sections, f"isotherm {record['version']} ({record['git_revision']})")


def result(study):
    found = {case.state for case in study.cases}
    if "failed" in found or any(each.disagreement for each in study.scaling):
        return "FAILED"
    if not all(case.is_finished for case in study.cases):
        return "STOPPED"
    return "NOT CONVERGED" if "not converged" in found else "DONE"


def summary(study):
    failed = [case for case in study.cases if case.state == "failed"]
    lines = shortened([f"{case.name} has failed{'' if case.exit_code is None else f' (exit code {case.exit_code})'}"
                       f"{': ' + case.message if case.message else ''}" for case in failed], MOST_FAILURES, ", in the table of states")
    states_found = Counter(case.state for case in study.cases)
    figures_of_merit = [("finished", str(sum(case.is_finished for case in study.cases)), f"of {counted(len(study.cases), 'case')}")]
    figures_of_merit += [(state, str(count), "see states") for state, count in states_found.items() if state != "done"]
    if wall := [case.value("wall_s") for case in study.cases if is_number(case.value("wall_s"))]:
        figures_of_merit.append(("time of all runs", format_time(sum(wall)), f"the longest {format_time(max(wall))}"))
    if steps := known(study, "step_s"):
        figures_of_merit.append(("quickest sweep", si(steps[0].value("step_s"), "s"), steps[0].name))
    return Section("summary", "In short", [warnings(lines), tiles(figures_of_merit)])


def results(study):
    """The table that the program prints: numbers before words, and unknown values last."""
    key = study.record["sort"]
    cases = sorted(study.cases, key=lambda case: place(case.value(key))) if key else study.cases
    rows = [[short(case.value(name)) for name in study.reported] for case in cases]
    order = f"Sorted by {study.title(key)}." if key else "In the order of the deck."
    return Section("results", "Results", [table(list(map(study.title, study.reported)), rows), paragraph(order)])


def against(study):
    reach = {name: known(study, name) for name in study.quantities}
    if not reach:
        return Section("figures", "Against what varies", [])
    if (why := why_not(study)) is not None:
        rows = [(study.title(name), short(cases[0].value(name)), cases[0].name, short(cases[-1].value(name)), cases[-1].name)
                for name, cases in reach.items() if cases]
        return Section("figures", "Least and most", [
            paragraph(f"No figures: {why}."), table(("quantity", "least", "in", "most", "in"), rows)])
    along, others = study.axes[0], study.axes[1:]
    lines = f", a line for each value of {' and '.join(others)}" if others else ""
    values = {name: f"{cases[0].value(name):.5g} to {cases[-1].value(name):.5g}" if cases else "no value" for name, cases in reach.items()}
    items = [picture(studies.quantities_figure(study, [name]), f"{name} against {along}{lines}: {found}",
                     f"{study.title(name)} against {along}{lines}.") for name, found in values.items()]
    together = [key for key in study.varied if key not in study.axes and study.axes != ["name"]
                and len({short(case.value(key)) for case in study.cases}) > 1]
    return Section("figures", "Against what varies", [
        pictures(*items),
        paragraph("Open points have not converged." if any(case.state == "not converged" for case in study.cases) else ""),
        paragraph(together and f"{', '.join(together)} {'varies' if len(together) == 1 else 'vary'} with that.")])


def known(study, name):
    """The finished cases that have a number in this column, in ascending order."""
    cases = [case for case in study.cases if case.is_finished and is_number(case.value(name))]
    return sorted(cases, key=lambda case: case.value(name))


def states(study):
    rows = [(case.name, case.state, short(case.exit_code), case.message or "-") for case in study.cases if case.state != "done"]
    hint = "isotherm study resumes cases that were stopped, interrupted or not started; with --retry also failed cases."
    return Section("states", "States", [
        table(("case", "state", "exit code", "message"), rows) if rows else paragraph("All cases are done."),
        paragraph("" if all(case.is_finished for case in study.cases) else hint)])


def what_was_studied(study, record, devices):
    values = {key: list(dict.fromkeys(short(case.value(key)) for case in study.cases)) for key in study.varied}
    rows = [(study.title(key), ", ".join(shortened(found, MOST_VALUES))) for key, found in values.items()]
    return Section("study", "What was studied", [table(("key", "values"), rows or [("-", "-")]), facts([
        ("deck", record["deck"]), ("cases", len(study.cases)),
        ("ranks", ", ".join(sorted({short(case.value("ranks")) for case in study.cases}, key=float))),
        ("devices", ", ".join(devices)), ("collected", record["collected"]),
        ("program", f"{record['version']}, {record['git_revision']}")])])


HEAD = ("ranks", "grid", "runs", "per sweep", "predicted", "speed-up", "efficiency", "predicted", "hidden", "predicted", "remark")
KINDS = {STRONG: "The grid is the same on all counts: efficiency is T1 / (n Tn).",
         "weak": "The cells of a rank are the same on all counts: efficiency is T1 / Tn."}


def series_parts(study, scaled):
    predicted, drawn = {}, ""
    try:
        series = modelled(study, scaled, ModelInputs(ranks=()))
        predicted = {row.ranks: row.predicted for row in series.rows if row.predicted}
        notes = series.notes
        what = "measured and predicted" if predicted else "measured"
        drawn = pictures(picture(scaling_figure(series), f"Time per sweep and efficiency over ranks, {what}",
                                 f"Time per sweep and efficiency, {what}."))
    except Failure as failure:
        notes = [f"no prediction: {failure}"]
    rows = []
    for row in scaled.rows:
        model = predicted.get(row.ranks)
        rows.append((row.ranks, times(row.cells), row.runs,
                     shown(row.step_s, format_time), shown(model and model.step, format_time), shown(row.speedup, "{:.4g}".format),
                     percent(row.efficiency_percent), shown(model and model.efficiency, share),
                     percent(row.halo_hidden_percent), shown(model and model.hidden, share), row.remark or "-"))
    last = None if any(row.remark for row in scaled.rows) else -1
    return [paragraph(f"{scaled.kind.capitalize()} scaling{f' of {scaled.label}' if scaled.label else ''}, compared with "
                      f"{scaled.base}. {KINDS[scaled.kind]} Of several runs, the run with the median time counts."),
            warnings([scaled.disagreement] if scaled.disagreement else []), drawn,
            table(HEAD[:last], [row[:last] for row in rows]), *map(paragraph, notes)]


def shown(value, form, otherwise="-"):
    return otherwise if value is None else form(value)


kelvins = partial(shown, form="{:.3g} K".format)  # for temperature differences
kelvin = partial(shown, form="{:.6g} K".format, otherwise="not finite")
watts = partial(shown, form="{:.5g} W".format)


MOST_LINKS = 16  # rows of the table; runs on many ranks have thousands of links
MOST_PROBES, MOST_NAMES = 8, 12  # probes with their places in the caption; named curves
MOST_PARTS = 6  # pictures of slices and other parts


def run_page(run, record, benches):
    devices = Counter(rank["device"] for rank in record["ranks"])
    cells = extent_text(record["grid"]["cells"])
    problem, phases = f"{record['method']['problem']}, {cells} cells, {record['grid']['precision']}", record["phases_s"]
    chart = picture(phases_figure(phases), "Time of each phase", "Share of the whole run. Files that are written "
                    "during the sweeps count as output only as far as sweeps waited for them.")
    rows = [(name, *(si(phases[name][key], "s") for key in ("min", "mean", "max")))
            for name in (*PHASES, "total") if name in phases]
    sections = [
        answer(record, if_there(lambda: run.history)), body_section(run), field(run), convergence(run), performance(record),
        Section("time", "Where the time went", [pictures(chart, table(("phase", "least", "mean", "most"), rows))]),
        *(bench_section(number, bench, devices) for number, bench in enumerate(benches, 1)), what_was_run(run, problem)]
    made_by = record["provenance"]
    where = f"{counted(len(record['ranks']), 'rank')} on {counted(len(made_by['hosts']), 'host')}"
    lead = f"{problem}; {where}, {', '.join(devices)}; {made_by['started'] or 'start unknown'}"
    footer = f"isotherm {made_by['version']} ({made_by['git_revision']}); fingerprint {record['fingerprint'] or '-'}"
    return page(record["name"], record["result"], lead, sections, footer)


def if_there(make):
    """The result of `make`, or None if its file is missing: a run need not write all files. Damaged files are an error."""
    try:
        return make()
    except Failure as failure:
        if failure.code != FILE_MISSING:
            raise
        return None


def body_section(run):
    """The section on a body of several materials; empty for records that have only the names of materials."""
    materials = run.record.get("materials") or []
    if not materials or "highest" not in materials[0]:
        return Section("body", "The body", [])
    snapshots = if_there(lambda: run.snapshots)
    drawn = snapshots and if_there(lambda: body.body_pictures(run, snapshots[-1], planes_cell(run.record, snapshots[-1])[0]))
    return Section("body", "The body", [
        table(body.MATERIALS, body.material_rows(materials)), pictures(*drawn or []),
        table(("face", "boundary conditions"), [(face, body.laws_text(laws)) for face, laws in run.record["boundaries"].items()])])


def field(run):
    snapshots = if_there(lambda: run.snapshots)
    parts = field_pictures(run, snapshots) if snapshots else [paragraph(
        "The run ended before a snapshot of the whole field was due." if run.ended_early else
        "The run was made without snapshots of the whole field.")]
    # The last file of slices, region and coarse field, unless it is a line or a point.
    flat = {name: series for name, series in list(run.parts.items())[:MOST_PARTS] if sorted(series[-1].cells)[1] > 1}
    drawn = {name: plane_picture(name, series[-1], series) for name, series in flat.items()}
    empty = [name for name, drawing in drawn.items() if not drawing]
    blank = paragraph(f"No cell in the plane of {' and '.join(empty)} has a temperature." if empty else "")
    return Section("field", "The field", [*parts, pictures(*filter(None, drawn.values())), blank])


def field_pictures(run, snapshots):
    """First and last state in the planes through the hottest cell, with one colour scale; for a flat grid only its plane, for a row of
    cells a curve."""
    ends, steady = [snapshots[0]] + ([snapshots[-1]] if len(snapshots) > 1 else []), is_steady(snapshots)
    if sorted(ends[0].cells)[:2] == [1, 1]:
        labels = [moment(snapshot, steady) for snapshot in ends]
        return [pictures(picture(profile_figure(ends, labels), "Temperature along the line of cells",
                                 f"{run.name} at {', '.join(labels)}."))]
    if ends[0].thin_axis:
        return [pictures(*(plane_picture(run.name, snapshot, ends) for snapshot in ends))]
    cell, which = planes_cell(run.record, ends[0])
    planes = [[snapshot.plane(axis, cell[axis]) for axis in range(3)] for snapshot in ends]
    scale = Scale([plane for state in planes for plane in state], ISOTHERMS)
    unit = length_unit(max(ends[0].bounds[1] - ends[0].bounds[0]))
    cuts = [format_length(ends[0].centres(axis)[i], unit) for axis, i in enumerate(cell)]
    items = [picture(field_figure(snapshot, state, scale), form="png", caption=f"At {when}: {span(state)} in these planes.",
                     alt=f"Temperature in the planes {which}, {when}: {span(state)}")
             for snapshot, state in zip(ends, planes) for when in [moment(snapshot, steady)]]
    lines = f" Isotherms every {scale.isotherms[1] - scale.isotherms[0]:g} K." if len(scale.isotherms) > 1 else ""
    stretched = stretched_axes(ends[0])
    note = f" Drawn to scale, but {' and '.join(stretched)} stretched." if stretched else ""
    return [pictures(*items), paragraph(f"Planes {which}: z = {cuts[2]}; above it y = {cuts[1]}; to its right x = {cuts[0]}."
                                        f"{lines}{note} One scale of colours, inferno, for all times.")]


def planes_cell(record, snapshot):
    """The hottest cell at the end, and a description; the middle for a field of one temperature, or if the record has no such cell."""
    end = record["end_state"] or {}
    hot, cold = end.get("highest"), end.get("lowest")
    if hot and record["grid"]["cells"] == list(snapshot.cells) and hot["temperature_K"] != cold["temperature_K"]:
        return hot["cell"], "through the hottest cell at the end"
    return [count // 2 for count in snapshot.cells], "in the middle"


def plane_picture(name, snapshot, series):
    """The plane in the middle; "" if none of its cells has a temperature."""
    axis = AXES.index(snapshot.thin_axis or "z")
    index = snapshot.cells[axis] // 2
    plane = snapshot.plane(axis, index)
    if not np.isfinite(plane).any():
        return ""
    figure = slice_figure(name, [snapshot], axis, index, [plane])
    wide, high = figure.get_size_inches()
    shrink = min(figures.WIDTH / wide, HEIGHT / high)
    figure.set_size_inches(max(2.5, wide * shrink), max(1.6, high * shrink))
    figure.axes[0].set_title("", loc="left")
    where = format_length(snapshot.centres(axis)[index], places_in(snapshot, axis)[2])
    when, values = moment(snapshot, is_steady(series)), f"{span([plane])} in the plane {AXES[axis]} = {where}"
    return picture(figure, form="png", alt=f"Temperature of {name}, {when}: {values}", caption=f"{name} at {when}: {values}.")


def span(planes):
    finite = np.concatenate([plane[np.isfinite(plane)] for plane in planes])
    if not finite.size:
        return "no finite temperature"
    least, most = f"{finite.min():.5g} K", f"{finite.max():.5g} K"
    return least if least == most else f"{least} to {most}"


def convergence(run):
    residual, history, items = run.record["residual"], if_there(lambda: run.history), []
    if history is not None and len(history.due("residual")[0]):
        items.append(small(history_figure(run.name, history), "Residual over sweeps",
                           f"Residual ({residual['norm']} norm of the update), checked {residual['checks']} times."))
    # Heat through boundaries where it is not 0, heat of the sources, and the balance.
    heat = [name for name in history or [] if name.endswith("_W") and np.any(history.due(name)[2] != 0)]
    for names, what in ((("min_K", "mean_K", "max_K"), "Extremes and mean of the temperature"), (heat, "Heat")):
        if names := [name for name in names if history is not None and name in history and len(history.due(name)[0]) > 1]:
            items.append(small(history_figure(run.name, history, names), f"{what} over sweeps", f"{what} over sweeps."))
    probes = if_there(lambda: run.probes)
    if probes is not None and len(probes["sweep"]) > 1:
        where = [f"{name} at ({', '.join(map('{:g}'.format, place))}) m" for name, place in run.probe_places.items()]
        items.append(picture(probes_figure(probes), "Temperature at the probes", f"Probes: {'; '.join(shortened(where, MOST_PROBES))}."))
    why = "The run was made without a history." if history is None else "The run ended before its first check."
    return Section("convergence", "Convergence and history", [pictures(*items) if items else paragraph(why), facts([
        ("norm", residual["norm"]), ("first residual", kelvins(residual["first_K"])),
        ("last residual", None if residual["last_K"] is None else kelvins(residual["last_K"])
         + shown(residual["last_sweep"], " at sweep {}".format, "")),
        ("tolerance", residual["tolerance"] and f"{residual['tolerance']:g} ({residual['criterion']})"),
        ("convergence", str(residual["convergence"]).replace("_", " ")),
        ("sweeps beyond it", residual["extra_sweeps"] or None), *verification(run.record["verification"])])])


def small(figure, alt, caption):
    """A figure of another subcommand at the page's width, without its title, which the caption replaces."""
    figure.set_size_inches(figures.WIDTH, max(3.4, 0.75 * figure.get_figheight()))
    for panel in figure.axes:
        panel.set_title("", loc="left")
    return picture(figure, alt, caption)


def verification(found):
    if not found:
        return []
    # The order is null if two grids have no error.
    order = ", ".join("-" if value is None else f"{value:.3f}" for value in found["order"])
    return [("exact solution", found["solution"]), ("largest error", kelvins(found["max_error_K"])),
            ("root mean square error", kelvins(found["l2_error_K"])),
            ("tolerance of the error", kelvins(found["tolerance_K"]) if found["tolerance_K"] else None),
            ("observed order", order), ("verdict", str(found["verdict"]).replace("_", " "))]


def performance(record):
    speed, halo, writing = record["performance"], record.get("halo") or {}, record.get("snapshots") or {}
    effective, copy, memory = speed["effective_bandwidth_bytes_per_s"], speed["copy_bandwidth_bytes_per_s"], record["memory"]
    parts = []
    if effective and copy:
        parts.append(picture(
            bandwidth_figure(effective, copy), f"Effective bandwidth {si(effective, 'B/s')} of a copy bandwidth of {si(copy, 'B/s')}",
            f"Effective bandwidth {si(effective, 'B/s')}, halo and norms included; copy bandwidth: {si(copy, 'B/s')}, measured in "
            "this run on its own devices. Subdomains that fit a cache can exceed it."))
    parts.append(facts([
        ("halo", shown(speed["halo_fraction_percent"], "{:.1f} % of the stepping time".format, None)),
        ("varying values of boundaries and sources",
         shown(speed.get("values_fraction_percent"), "{:.1f} % of the stepping time".format, None)),
        ("time of an exchange", halo.get("exchange_s") and si(halo["exchange_s"], "s")),
        ("added to each sweep", shown(halo.get("exposed_s"), lambda value: si(value, "s"), None)),
        ("hidden", shown(halo.get("hidden_percent"), percent, None)),
        ("files of the field", writing.get("files") and
         f"{writing['files']} of {si(writing['bytes'], 'B')} in {si(writing['write_s'], 's')}"
         + shown(writing["hidden_percent"], ", {:.1f} % hidden behind sweeps".format, "")),
        ("memory", f"{si(memory['host_peak_bytes'], 'B')} host peak of a rank, {si(memory['estimate_bytes'], 'B')} estimated")]))
    figures_of_merit = [
        ("cell updates", si(speed["points_per_s"], "Pts/s"), f"{speed['sweeps']} sweeps"),
        ("time per sweep", si(speed["step_s"], "s"), "of the slowest rank"),
        ("effective bandwidth", si(effective, "B/s"), f"{speed['bytes_per_point']:g} bytes per point, least traffic"),
        ("share of the copy bandwidth", percent(speed["copy_bandwidth_share_percent"]), f"a copy at {si(copy, 'B/s')}")]
    if halo.get("hidden_percent") is not None:
        figures_of_merit.append(("halo hidden", percent(halo["hidden_percent"]), "of an exchange, behind sweeps"))
    links = halo.get("links") or []
    rows = [(f"{link['rank']} - {link['peer']}", " ".join(link["directions"]), link["transport"], si(link["bytes"], "B"),
             si(link["bandwidth_bytes_per_s"], "B/s"), si(link["latency_s"], "s")) for link in links[:MOST_LINKS]]
    return Section("performance", "Performance", [
        tiles(figures_of_merit), pictures(*parts),
        table(("ranks", "faces", "transport", "bytes each way", "bandwidth", "latency"), rows) if rows else "",
        paragraph(f"{len(links) - MOST_LINKS} more are in run.json." if len(links) > MOST_LINKS else "")])


def what_was_run(run, problem):
    record = run.record
    method, made_by, split = record["method"], record["provenance"], record["decomposition"]
    kernel = " ".join(word for word in (method["kernel"], method["tile"]) if word)
    by_place = Counter((rank["host"], rank["backend"], rank["device"]) for rank in record["ranks"])
    given = run.path / "deck.yaml"
    given = "" if not given.is_file() else text_block(
        "The deck as it was given", given.read_text(encoding="utf-8", errors="replace"), open_too=True)
    return Section("run", "What was run", [
        facts([
            ("command", made_by["command_line"]), ("deck", record["deck"]["path"]), ("directory", record["directory"]),
            ("problem", problem),
            ("sources", record["sources"] and f"{watts(record['sources']['power_W'])} in {record['sources']['cells']} cells"),
            ("process grid", extent_text(split["process_grid"])),
            ("cells per rank", f"{split['smallest_rank_cells']} to {split['largest_rank_cells']}"),
            ("time step", method["dt_s"] and f"{si(method['dt_s'], 's')} (limit {si(method['dt_limit_s'], 's')})"),
            ("weight", method["weight"]), ("kernel", f"{kernel}, {method['instruction_set'] or 'CUDA'}"),
            ("reduction", method["reduction"]), ("halo width", method["halo_width"]), ("transport", method["transport"]),
            ("overlap", method["overlap"]), ("graph", "yes" if method["graph"] else "no"), ("threads", method["threads"]),
            ("device chosen", method["device_note"]), ("kernel chosen by", method["tuning"]["source"]),
            ("restarted from", (record["continuation"]["restarted_from"] or {}).get("file")),
            ("stopped by", record["continuation"]["stopped_by"]),
            ("program", f"{made_by['version']}, {made_by['git_revision']}, {made_by['build_type']}"),
            ("built with", "; ".join(text for text in (made_by["compiler"], made_by["cuda"] and f"CUDA {made_by['cuda']}",
                                                       made_by["mpi"], f"HDF5 {made_by['hdf5']}") if text)),
            ("from, to", f"{made_by['started']}, {made_by['finished']}"), ("exit code", record["exit_code"]),
            ("fingerprint", record["fingerprint"]),
        ]),
        table(("host", "backend", "device", "ranks"), [(*place, count) for place, count in by_place.items()]),
        given, text_block("Every key as it was resolved", record["deck"]["resolved"])])


# A sentence for each result; other results are explained by the message.
MEANING = {"VERIFIED": "The errors against the exact solution are within the bounds of the deck.",
           "CONVERGED": "The residual has reached its tolerance.",
           "NOT CONVERGED": "The run ended before the residual reached its tolerance."}


def answer(record, history):
    """`history`: None if there is none."""
    box = warnings(([record["message"]] if record["message"] else []) + record["warnings"])
    end = record["end_state"]
    if end is None:
        return Section("answer", "The answer", [box, paragraph("run.json does not say which temperatures the run ended with.")])
    ends = [(name, end[name]) for name in ("highest", "lowest") if end[name]]
    unit = length_unit(max((abs(metres) for _, found in ends for metres in found["position_m"]), default=1))
    figures = []
    for name, found in ends:
        place = ", ".join(f"{metres / unit.si:.6g}" for metres in found["position_m"])
        figures.append((f"{name} temperature", kelvin(found["temperature_K"]),
                        f"at ({place}) {unit.name}, cell ({', '.join(map(str, found['cell']))})"))
    # The maximum over all lines of history.csv, if it is above the temperature at the end; a steady run has no times.
    highest, steady = end["highest"] and end["highest"]["temperature_K"], record["method"]["problem"] == "steady"
    if not steady and history is not None and "max_K" in history and highest is not None:
        _, times, values = history.due("max_K")
        if len(values) and values.max() > highest:
            figures.append(("peak over time", kelvin(values.max()),
                            f"at {format_time(times[values.argmax()])}, of the lines of history.csv"))
    figures.append(("at the end", f"sweep {end['sweep']}", "of a steady problem") if steady else
                   ("at the end", format_time(end["time_s"]), f"sweep {end['sweep']}"))
    if end["nan_cells"]:
        figures.append(("not a number", str(end["nan_cells"]), "cells"))
    if heat := end["heat"]:
        share = heat["relative_balance"]
        rows = [(f"through {face}", watts(value)) for face, value in heat["faces_W"].items() if value is not None]
        rows += [(f"from the void {each['name']}", watts(each["watts"])) for each in heat.get("voids_W", [])]
        rows += [("from sources", watts(heat["sources_W"])), ("stored", watts(heat["stored_W"])),
                 (f"unaccounted for{'' if share is None else f' ({share:.2g} of all)'}", watts(heat["balance_W"]))]
    return Section("answer", "The answer", [
        box, tiles(figures), table(("heat into the domain", "power"), [row for row in rows if row != ("stored", "-")]) if heat else
        paragraph(f"Heat is not known: {end['why_no_heat']}."), paragraph(MEANING.get(record["result"], ""))])


HEIGHT = 4.6  # inches, at most
DRAWING = 3.9  # inches, the longer side of all planes together
LEFT, RIGHT, BOTTOM, TOP, GAP = 0.75, 0.95, 0.55, 0.2, 0.15  # inches
ISOTHERMS = 8  # approximate number, between the coldest and the hottest cell
MOST_CONTOUR_CELLS = 400  # along a side
LEAST_SHARE = 0.0005  # of the time, below which a phase has no bar
# Phases of run.json, from the bottom up; `stepping` and `total` are sums of others.
PHASES = dict(zip(("sweeps", "halo", "reduction", "diagnostics", "output", "setup", "other"), (*figures.PALETTE, figures.LESS)))


def field_figure(snapshot, planes, scale):
    """As in a technical drawing, to scale: the plane normal to z; above it the plane normal to y, to its right that normal to x."""
    low, high = snapshot.bounds
    unit = length_unit(max(high - low))
    lengths = np.maximum(high - low, body.SLIVER * max(high - low))
    lengths *= DRAWING / max(lengths[0] + lengths[2], lengths[1] + lengths[2])
    wide, high_, deep = lengths
    size = (LEFT + wide + GAP + deep + RIGHT, BOTTOM + high_ + GAP + deep + TOP)
    figure = pyplot.figure(figsize=size)

    def panel(across, up, left, bottom, plane):
        axes = figure.add_axes((left / size[0], bottom / size[1], lengths[across] / size[0], lengths[up] / size[1]))
        image = draw_plane(axes, *(snapshot.edges[along] / unit.si for along in (across, up)), plane, scale,
                           most_cells=MOST_CONTOUR_CELLS, linewidths=0.7, alpha=0.75)
        for along, length in ((axes.xaxis, lengths[across]), (axes.yaxis, lengths[up])):
            along.set_major_locator(MaxNLocator(max(2, int(2 * length)), prune="upper"))
        axes.spines[["top", "right"]].set_visible(True)
        # Labels only at the edges of the drawing.
        axes.set_xlabel(f"{AXES[across]} [{unit.name}]" if bottom == BOTTOM else "")
        axes.set_ylabel(f"{AXES[up]} [{unit.name}]" if left == LEFT else "")
        axes.tick_params(labelbottom=bottom == BOTTOM, labelleft=left == LEFT)
        return image

    image = panel(0, 1, LEFT, BOTTOM, planes[2])
    panel(0, 2, LEFT, BOTTOM + high_ + GAP, planes[1])
    panel(2, 1, LEFT + wide + GAP, BOTTOM, planes[0].T)
    bar = figure.add_axes(((size[0] - RIGHT + 0.12) / size[0], BOTTOM / size[1], 0.14 / size[0], 1 - (BOTTOM + TOP) / size[1]))
    colours = figure.colorbar(image, cax=bar, label="temperature [K]")
    if scale.isotherms:
        colours.set_ticks(scale.isotherms)
        for level in scale.isotherms:
            figures.stays(bar.axhline(level, color=scale.ink(level), linewidth=0.8))
    return figure


def profile_figure(snapshots, labels):
    """For a row of cells: the temperature along it, one line per time."""
    axis = int(np.argmax(snapshots[0].cells))
    unit = length_unit(np.ptp(snapshots[0].edges[axis]))
    return curves_figure([(snapshot.centres(axis) / unit.si, snapshot.T.ravel(), label)
                          for snapshot, label in zip(snapshots, labels)], f"{AXES[axis]} [{unit.name}]")


def curves_figure(curves, along, named=True):
    """Draws temperatures: (places, kelvin, name) for each curve."""
    figure, panel = pyplot.subplots(figsize=(figures.WIDTH, 3.4), layout="constrained")
    for places, values, name in curves:
        panel.plot(places, values, label=name)
    panel.set(xlabel=along, ylabel="temperature [K]")
    panel.grid()
    if named:
        figures.name_curves(panel)
    return figure


def stretched_axes(snapshot):
    """The axes that are drawn longer than to scale."""
    low, high = snapshot.bounds
    return [AXES[axis] for axis in range(3) if (high - low)[axis] < body.SLIVER * max(high - low) * (1 - 1e-9)]


def phases_figure(phases):
    """Mean over ranks as a bar, least and most as a whisker; omits phases whose share would be shown as 0.0 %."""
    whole = phases["total"]["mean"]
    names = [name for name in PHASES if name in phases and phases[name]["mean"] >= LEAST_SHARE * whole > 0][::-1]
    unit = time_unit(phases["total"]["max"])
    figure, panel = pyplot.subplots(figsize=(figures.WIDTH, 0.9 + 0.36 * len(names)), layout="constrained")
    for number, name in enumerate(names):
        least, mean, most = (phases[name][key] / unit.si for key in ("min", "mean", "max"))
        panel.barh(number, mean, color=PHASES[name], height=0.7, xerr=[[max(0.0, mean - least)], [max(0.0, most - mean)]],
                   ecolor="0.25", capsize=2)
        panel.annotate(f"{phases[name]['mean'] / whole:.1%}", (1.01, number), xycoords=("axes fraction", "data"), va="center",
                       fontsize=figures.SMALL)
    panel.set_yticks(range(len(names)), names)
    panel.set_xlim(left=0)
    panel.set_xlabel(f"time [{unit.name}], mean of the ranks; least and most of one")
    panel.grid(axis="x")
    return figure


def bandwidth_figure(effective, copy):
    """Bytes per second of the sweeps, and as a line those of a copy, which sweeps of large subdomains cannot exceed."""
    figure, panel = pyplot.subplots(figsize=(figures.WIDTH, 1.35), layout="constrained")
    panel.barh(0, effective / 1e9, color=figures.MEASURED, height=0.6)
    panel.axvline(copy / 1e9, color=figures.LIMIT, linewidth=2)
    panel.annotate(f"{effective / copy:.1%} of the copy bandwidth", (effective / 1e9, 0), xytext=(5, 0), textcoords="offset points",
                   va="center", ha="left", fontsize=figures.SMALL,
                   bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1})
    panel.set_yticks([0], ["this run"])
    panel.set(xlim=(0, 1.25 * max(copy, effective) / 1e9), ylim=(-0.6, 0.6),
              xlabel="bandwidth of least traffic [GB/s]; the upright line is that of a copy")
    return figure


def probes_figure(probes):
    """Temperatures at points over time, or over sweeps for a steady problem."""
    steady, unit = not np.any(probes["time_s"]), time_unit(probes["time_s"][-1])
    along, title = (probes["sweep"], "sweep") if steady else (probes["time_s"] / unit.si, f"time [{unit.name}]")
    curves = [(along, probes[name], split_unit(name)[0]) for name in list(probes)[2:]]
    return curves_figure(curves, title, len(curves) <= MOST_NAMES)


def bench_section(number, bench, devices):
    """`devices`: those of the run on this page; the copy bandwidth of another device does not apply to it."""
    bench.keep_best_tiles()
    of_another = "" if bench.device in devices else f"The run was made on {', '.join(devices)}, with another copy bandwidth."
    items = []
    for ladder in bench.ladders:  # one figure each: a joint figure would be too small on a phone
        figure = ladder_figure(bench, [ladder])
        figure.suptitle("")
        items.append(picture(figure, f"Kernels of bench {bench.subject}, {ladder.title}: a bar per kernel",
                             f"{ladder.title}. The tick across a bar is the rate at the copy bandwidth measured with it."))
    roofline = [picture(roofline_figure(bench), "Roofline of the stencil kernels", f"{FLOPS_PER_POINT} flop per point "
                        "over least traffic; the slanted line is the copy bandwidth, the band those measured with each kernel.")
                ] if bench.subject == "stencil" else []
    return Section(f"bench{number}", f"Benchmark: {bench.subject}", [
        paragraph(f"Measured on {bench.device}, of each kernel the fastest tile."), paragraph(of_another),
        pictures(*items), pictures(*roofline)])
