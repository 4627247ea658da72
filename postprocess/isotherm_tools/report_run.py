"""What a report says of a run: its answer, its field, its history, how fast it was, where the time went."""

from collections import Counter

import numpy as np
from matplotlib import pyplot

from isotherm_tools import figures, histories, report_figures, slices
from isotherm_tools.failure import DATA, FILE_MISSING, Failure
from isotherm_tools.report_answer import answer, watts
from isotherm_tools.report_bench import bench_section
from isotherm_tools.report_page import Section, facts, page, paragraph, picture, pictures, table, text_block, tiles
from isotherm_tools.units import format_length, length_unit, percent, si

LOOK = {**figures.STYLE, "axes.titlesize": 10}
MOST_LINKS = 16  # of a table; runs on many ranks have thousands
MOST_PROBES = 8  # of which a caption says where they are
MOST_PARTS = 6  # pictures of slices and other parts


def run_page(run, benches):
    """The page's text. `benches`: records of benchmarks to put beside the run."""
    record = run.record
    try:
        with pyplot.style.context(["default", LOOK]):
            sections = [
                answer(record, if_there(run.files.history)), field(run), convergence(run), performance(record),
                time_spent(record),
                *(bench_section(number, bench, devices(record)) for number, bench in enumerate(benches, 1)),
                what_was_run(run),
            ]
            made_by = record["provenance"]
            lead = f"{problem_line(record)}; {devices_line(record)}; {made_by['started'] or 'start unknown'}"
            footer = f"isotherm {made_by['version']} ({made_by['git_revision']}); fingerprint {record['fingerprint'] or '-'}"
            return page(record["name"], record["result"], lead, sections, footer)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise Failure(DATA, f"{run.path}/run.json is no run record of isotherm ({error!r})") from error


def problem_line(record):
    cells = " x ".join(map(str, record["grid"]["cells"]))
    return f"{record['method']['problem']}, {cells} cells, {record['grid']['precision']}"


def devices(record):
    return Counter(rank["device"] for rank in record["ranks"])


def devices_line(record):
    ranks, hosts = len(record["ranks"]), len(record["provenance"]["hosts"])
    counted = f"{ranks} rank{'s' * (ranks > 1)} on {hosts} host{'s' * (hosts > 1)}"
    return f"{counted}, {', '.join(devices(record))}"


def speed_tiles(record):
    speed = record["performance"]
    hidden = (record.get("halo") or {}).get("hidden_percent")
    merits = [
        ("cell updates", si(speed["points_per_s"], "Pts/s"), f"{speed['sweeps']} sweeps"),
        ("time a step", si(speed["step_s"], "s"), "of the slowest rank"),
        ("effective bandwidth", si(speed["effective_bandwidth_bytes_per_s"], "B/s"),
         f"{speed['bytes_per_point']:g} bytes a point, least traffic"),
        ("share of the roof", percent(speed["copy_bandwidth_share_percent"]),
         f"a copy at {si(speed['copy_bandwidth_bytes_per_s'], 'B/s')}"),
    ]
    if hidden is not None:
        merits.append(("halo hidden", percent(hidden), "of an exchange, behind sweeps"))
    return tiles(merits)


def words(name):
    return str(name).replace("_", " ")


def si_or_power(value, unit):
    return "-" if value is None else f"{value:.3g} {unit}"


def if_there(make):
    """What a run was made without is no reason to have no report; what is damaged is."""
    try:
        return make()
    except Failure as failure:
        if failure.code != FILE_MISSING:
            raise
        return None


def field(run):
    snapshots, parts = if_there(lambda: run.snapshots), []
    if snapshots:
        parts = field_pictures(run, snapshots)
    else:
        parts = [paragraph("The run was made without snapshots of the whole field.")]
    shown = [part_picture(name, series) for name, series in list(run.parts.items())[:MOST_PARTS]]
    return Section("field", "The field", parts + ([pictures(*filter(None, shown))] if any(shown) else []))


def field_pictures(run, snapshots):
    """First and last state in the planes through the hottest cell, with one scale; of a flat grid its plane, of a row of cells a
    curve."""
    ends = [snapshots[0]] + ([snapshots[-1]] if len(snapshots) > 1 else [])
    if sorted(ends[0].cells)[:2] == [1, 1]:
        labels = [moment(snapshot, snapshots) for snapshot in ends]
        figure = report_figures.profile_figure(ends, labels)
        return [pictures(picture(figure, "Temperature along the line of cells", f"{run.name} at {', '.join(labels)}."))]
    if ends[0].thin_axis:
        return [pictures(*(plane_picture(run.name, snapshot, ends) for snapshot in ends))]
    cell, which = planes_cell(run.record, ends[0])
    planes = [report_figures.planes_through(snapshot, cell) for snapshot in ends]
    scale = report_figures.Scale([plane for state in planes for plane in state])
    unit = length_unit(max(ends[0].bounds[1] - ends[0].bounds[0]))
    cuts = [format_length(centre + step * index, unit)
            for centre, step, index in zip(ends[0].centre, ends[0].spacing, cell)]
    items = []
    for snapshot, state in zip(ends, planes):
        when, values = moment(snapshot, snapshots), span(state)
        items.append(picture(
            report_figures.field_figure(snapshot, state, scale), form="png",
            alt=f"Temperature in the planes {which}, {when}: {values}",
            caption=f"At {when}: {values} in these planes."))
    lines = f" Isotherms every {scale.distance:g} K." if scale.distance else ""
    stretched = report_figures.stretched_axes(ends[0])
    note = f" Drawn to scale, but {' and '.join(stretched)} stretched." if stretched else ""
    return [pictures(*items), paragraph(f"Planes {which}: z = {cuts[2]}; above it y = {cuts[1]}; beside it x = {cuts[0]}."
                                        f"{lines}{note} One scale of colours, inferno, for all times.")]


def planes_cell(record, snapshot):
    """The hottest cell of the end, and how to say so; the middle of a field of one temperature, or of a record without it."""
    end = record["end_state"] or {}
    hot, cold = end.get("highest"), end.get("lowest")
    if hot and record["grid"]["cells"] == list(snapshot.cells) and hot["temperature_K"] != cold["temperature_K"]:
        return hot["cell"], "through the hottest cell at the end"
    return [count // 2 for count in snapshot.cells], "in the middle"


def moment(snapshot, snapshots):
    return slices.sweep_label(snapshot) if slices.is_steady(snapshots) else slices.time_label(snapshot)


def plane_picture(name, snapshot, series):
    axis = slices.AXES.index(snapshot.thin_axis or "z")
    index = snapshot.cells[axis] // 2
    plane = snapshot.plane(axis, index)
    figure = slices.slice_figure(name, [snapshot], axis, index, [plane])
    wide, high = figure.get_size_inches()
    shrink = min(report_figures.WIDTH / wide, report_figures.HEIGHT / high)
    figure.set_size_inches(max(2.5, wide * shrink), max(1.6, high * shrink))
    figure.axes[0].set_title("")
    when, values = moment(snapshot, series), span([plane])
    return picture(figure, form="png", alt=f"Temperature of {name}, {when}: {values}", caption=f"{name} at {when}: {values}.")


def span(planes):
    """In words, of what is finite."""
    finite = np.concatenate([plane[np.isfinite(plane)] for plane in planes])
    if not finite.size:
        return "no finite temperature"
    least, most = f"{finite.min():.5g} K", f"{finite.max():.5g} K"
    return least if least == most else f"{least} to {most}"


def part_picture(name, series):
    """The last file of a slice, the region, the coarse field; nothing of one that is a line or a point."""
    last = series[-1]
    flat = [count for axis, count in zip("xyz", last.cells) if axis != (last.thin_axis or "z")]
    return plane_picture(name, last, series) if min(flat) > 1 else None


def convergence(run):
    residual, history, parts, items = run.record["residual"], if_there(lambda: run.files.history()), [], []
    if history is not None and len(history.sweep):
        items.append(small(histories.history_figure(run.name, history), "Residual over sweeps",
                           f"Residual ({residual['norm']} norm of the update), checked {residual['checks']} times."))
    for names, what in ((("min_K", "mean_K", "max_K"), "Extremes and mean of the temperature"), (heat_columns(history), "Heat")):
        names = [name for name in names if history is not None and holds(history, name)]
        if names:
            items.append(small(histories.columns_figure(run.name, history, names), f"{what} over sweeps", f"{what} over sweeps."))
    probes = if_there(lambda: run.probes)
    if probes is not None and len(probes["sweep"]) > 1:
        items.append(picture(report_figures.probes_figure(probes), "Temperature at the probes", probes_line(run.probe_places)))
    parts += [pictures(*items)] if items else [paragraph(
        "The run was made without a history." if history is None else "The run ended before its first check.")]
    parts.append(facts([
        ("norm", residual["norm"]), ("first residual", si_or_power(residual["first_K"], "K")),
        ("last residual", None if residual["last_K"] is None else si_or_power(residual["last_K"], "K")
         + ("" if residual["last_sweep"] is None else f" at sweep {residual['last_sweep']}")),
        ("tolerance", residual["tolerance"] and f"{residual['tolerance']:g} ({residual['criterion']})"),
        ("convergence", words(residual["convergence"])), ("sweeps beyond it", residual["extra_sweeps"] or None),
        *verification(run.record["verification"]),
    ]))
    return Section("convergence", "Convergence and history", parts)


def probes_line(places):
    told = [f"{name} at ({', '.join(f'{metres:g}' for metres in place)}) m" for name, place in places.items()]
    more = f"; and {len(told) - MOST_PROBES} more" if len(told) > MOST_PROBES else ""
    return f"Probes: {'; '.join(told[:MOST_PROBES])}{more}."


def holds(history, name):
    return name in history.columns and len(history.column(name)[0]) > 1


def heat_columns(history):
    """Heat through the walls that let some through, of the sources, and what remains."""
    if history is None:
        return []
    candidates = [name for name in history.columns if name.endswith("_W")]
    return [name for name in candidates if len(history.column(name)[2]) and np.any(history.column(name)[2] != 0)]


def small(figure, alt, caption):
    """A figure of another verb at the width of the page's, without its title: the caption says it."""
    figure.set_size_inches(report_figures.WIDTH, max(3.4, 0.75 * figure.get_figheight()))
    for panel in figure.axes:
        panel.set_title("", loc="left")
    return picture(figure, alt, caption)


def verification(found):
    if not found:
        return []
    # Null where two grids have no error.
    order = ", ".join("-" if value is None else f"{value:.3f}" for value in found["order"])
    return [("exact solution", found["solution"]), ("largest error", si_or_power(found["max_error_K"], "K")),
            ("root mean square error", si_or_power(found["l2_error_K"], "K")),
            ("tolerance of the error", si_or_power(found["tolerance_K"], "K") if found["tolerance_K"] else None),
            ("observed order", order), ("verdict", words(found["verdict"]))]


def time_spent(record):
    phases = record["phases_s"]
    rows = [(name, *(si(phases[name][key], "s") for key in ("min", "mean", "max")))
            for name in (*report_figures.PHASES, "total") if name in phases]
    chart = picture(report_figures.phases_figure(phases), "Time of each phase", "Share of the whole run. Files that are written "
                    "beside the sweeps count as output only as far as sweeps waited for them.")
    return Section("time", "Where the time went", [
        pictures(chart, table(("phase", "least", "mean", "most"), rows))])


def performance(record):
    speed, halo, writing = record["performance"], record.get("halo") or {}, record.get("snapshots") or {}
    effective, copy = speed["effective_bandwidth_bytes_per_s"], speed["copy_bandwidth_bytes_per_s"]
    beside = []
    if effective and copy:
        figure = report_figures.roof_figure(effective, copy)
        beside.append(picture(
            figure, f"Effective bandwidth {si(effective, 'B/s')} of a copy bandwidth of {si(copy, 'B/s')}",
            f"Effective bandwidth {si(effective, 'B/s')}, halo and norms included; roof: {si(copy, 'B/s')}, a copy measured in "
            "this run on its own devices. Blocks that fit a cache can pass it."))
    beside.append(facts([
        ("halo", None if speed["halo_fraction_percent"] is None else
         f"{percent(speed['halo_fraction_percent'])} of the stepping time"),
        ("an exchange", si(halo["exchange_s"], "s") if halo.get("exchange_s") else None),
        ("it adds to a step", si(halo["exposed_s"], "s") if halo.get("exposed_s") is not None else None),
        ("hidden", percent(halo["hidden_percent"]) if halo.get("hidden_percent") is not None else None),
        ("files of the field", written(writing)),
        ("memory", f"{si(record['memory']['host_peak_bytes'], 'B')} host peak of a rank, "
                   f"{si(record['memory']['estimate_bytes'], 'B')} estimated"),
    ]))
    parts = [speed_tiles(record), pictures(*beside)]
    links = halo.get("links") or []
    if links:
        rows = [(f"{link['rank']} - {link['peer']}", " ".join(link["directions"]), link["transport"], si(link["bytes"], "B"),
                 si(link["bandwidth_bytes_per_s"], "B/s"), si(link["latency_s"], "s")) for link in links[:MOST_LINKS]]
        parts.append(table(("ranks", "faces", "transport", "bytes each way", "bandwidth", "latency"), rows))
    if len(links) > MOST_LINKS:
        parts.append(paragraph(f"{len(links) - MOST_LINKS} more are in run.json."))
    return Section("performance", "Performance and roof", parts)


def written(writing):
    if not writing.get("files"):
        return None
    hidden = "" if writing["hidden_percent"] is None else f", {percent(writing['hidden_percent'])} hidden behind sweeps"
    return f"{writing['files']} of {si(writing['bytes'], 'B')} in {si(writing['write_s'], 's')}{hidden}"


def what_was_run(run):
    record = run.record
    method, made_by, split = record["method"], record["provenance"], record["decomposition"]
    kernel = " ".join(word for word in (method["kernel"], method["policy"]) if word)
    by_place = Counter((rank["host"], rank["backend"], rank["device"]) for rank in record["ranks"])
    given = run.path / "deck.yaml"
    parts = [
        facts([
            ("command", made_by["command_line"]), ("deck", record["deck"]["path"]), ("directory", record["directory"]),
            ("problem", problem_line(record)),
            ("sources", record["sources"] and f"{watts(record['sources']['power_W'])} in {record['sources']['cells']} cells"),
            ("process grid", " x ".join(map(str, split["process_grid"]))),
            ("cells a rank", f"{split['smallest_rank_cells']} to {split['largest_rank_cells']}"),
            ("time step", method["dt_s"] and f"{si(method['dt_s'], 's')} (limit {si(method['dt_limit_s'], 's')})"),
            ("weight", method["weight"]), ("kernel", f"{kernel}, {method['instruction_set'] or 'CUDA'}"),
            ("reduction", method["reduction"]), ("depth", method["depth"]), ("transport", method["transport"]),
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
    ]
    if given.is_file():
        parts.append(text_block("The deck as it was given", given.read_text(encoding="utf-8", errors="replace"), open_too=True))
    parts.append(text_block("Every key as it was resolved", record["deck"]["resolved"]))
    return Section("run", "What was run", parts)
