"""The first card of a run's report: how hot it gets, where, and where the heat goes."""

from isotherm_tools.report_page import Section, paragraph, table, tiles, warnings
from isotherm_tools.units import format_length, format_time, length_unit

# Of the result, in a sentence; None: the message says it.
MEANING = {
    "VERIFIED": "The errors against the exact solution are within the bounds of the deck.",
    "CONVERGED": "The residual has reached its tolerance.",
    "NOT CONVERGED": "The last sweep that was allowed was done before the residual reached its tolerance.",
}


def answer(record, history):
    """`history`: None without one."""
    told = ([record["message"]] if record["message"] else []) + record["warnings"]
    parts = [warnings(told)] if told else []
    end = record["end_state"]
    if end is None:
        parts.append(paragraph("run.json does not say which temperatures the run ended with."))
        return Section("answer", "The answer", parts)
    steady = record["method"]["problem"] == "steady"
    figures = [extreme(f"{name} temperature", end[name], places(end)) for name in ("highest", "lowest") if end[name]]
    figures += peak(end, history)
    figures.append(("at the end", f"sweep {end['sweep']}", "of a steady problem") if steady else
                   ("at the end", format_time(end["time_s"]), f"sweep {end['sweep']}"))
    if end["nan_cells"]:
        figures.append(("not a number", str(end["nan_cells"]), "cells"))
    parts.append(tiles(figures))
    parts += [heat_table(end["heat"])] if end["heat"] else [paragraph(f"Heat is not known: {end['why_no_heat']}.")]
    if record["result"] in MEANING:
        parts.append(paragraph(MEANING[record["result"]]))
    return Section("answer", "The answer", parts)


def places(end):
    """The unit of the positions."""
    return length_unit(max(abs(metres) for name in ("highest", "lowest") if end[name] for metres in end[name]["position_m"]))


def kelvin(value):
    return "not finite" if value is None else f"{value:.6g} K"


def extreme(name, found, unit):
    position = ", ".join(f"{metres / unit.si:.4g}" for metres in found["position_m"])
    return name, kelvin(found["temperature_K"]), f"at ({position}) {unit.name}, cell ({', '.join(map(str, found['cell']))})"


def peak(end, history):
    """Of all lines of history.csv, where one was hotter than the end."""
    if history is None or "max_K" not in history.columns or not end["highest"] or end["highest"]["temperature_K"] is None:
        return []
    _, times, values = history.column("max_K")
    if not len(values) or not values.max() > end["highest"]["temperature_K"]:
        return []
    return [("peak over time", kelvin(values.max()), f"at {format_time(times[values.argmax()])}, of the lines of history.csv")]


def heat_table(heat):
    rows = [(f"through {face}", watts(value)) for face, value in heat["faces_W"].items() if value is not None]
    rows.append(("from sources", watts(heat["sources_W"])))
    if heat["stored_W"] is not None:
        rows.append(("stored", watts(heat["stored_W"])))
    share = heat["relative_balance"]
    rows.append(("unaccounted for" if share is None else f"unaccounted for ({share:.2g} of all)", watts(heat["balance_W"])))
    return table(("heat into the domain", "power"), rows)


def watts(value):
    return "-" if value is None else f"{value:.5g} W"
