"""What a report says of a study whose deck has `scaling:`: each series measured, and the model beside it."""

from isotherm_tools.failure import Failure
from isotherm_tools.report_page import Section, paragraph, picture, pictures, table, warnings
from isotherm_tools.scaling_fit import Wishes
from isotherm_tools.scaling_series import STRONG, times
from isotherm_tools.scaling_study import modelled
from isotherm_tools.scaling_table import share
from isotherm_tools.scalings import scaling_figure
from isotherm_tools.units import format_time

HEAD = ("ranks", "grid", "runs", "a sweep", "predicted", "speed-up", "efficiency", "predicted", "hidden", "predicted", "remark")
MEANING = {
    STRONG: "The grid is the same on all counts: efficiency is T1 / (n Tn).",
    "weak": "The cells of a rank are the same on all counts: efficiency is T1 / Tn.",
}


def scaling_section(study):
    """None where the deck has no such section."""
    if not study.scaling:
        return None
    parts = []
    for scaled in study.scaling:
        parts += series_parts(study, scaled)
    return Section("scaling", "Scaling", parts)


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
        parts.append(pictures(picture(scaling_figure(series), f"Time a sweep and efficiency over ranks, {what}",
                                      f"Time a sweep and efficiency, {what}.")))
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
