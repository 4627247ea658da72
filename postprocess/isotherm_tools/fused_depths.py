"""Points a second against the sweeps that a launch fuses, under the roofs of the copy bandwidth measured beside them: one of a
sweep a pass over memory, which no row passes that does not fuse, and one of as many sweeps a pass as are fused."""

from matplotlib import pyplot

from isotherm_tools import figures
from isotherm_tools.failure import DATA, Failure
from isotherm_tools.ladders import COLOURS, rate, roof

MARKERS = "osD^vP*X"  # a row each
LINES = ("-", "--", ":", "-.")  # a grid each


def draw_depths(record, path):
    if record.subject != "stencil":
        raise Failure(DATA, f"{record.path} holds bench {record.subject}; depths are drawn of bench stencil")
    if all(rung.depth == 1 for ladder in record.ladders for rung in ladder.rungs):
        raise Failure(DATA, f"{record.path} holds no fused sweeps; measure a row that fuses them, as fused or temporal_openmp")
    with pyplot.style.context(["default", figures.STYLE]):
        figures.save(depth_figure(record), path)


def depth_figure(record):
    """A panel for each precision."""
    precisions = list(dict.fromkeys(ladder.precision for ladder in record.ladders))
    figure, panels = pyplot.subplots(1, len(precisions), squeeze=False, figsize=(5.6 * len(precisions), 5.2), layout="constrained")
    figure.suptitle(f"fused sweeps on {record.device}")
    rows = list(dict.fromkeys(rung.row for ladder in record.ladders for rung in ladder.rungs))
    for panel, precision in zip(panels.flat, precisions):
        draw_panel(panel, [ladder for ladder in record.ladders if ladder.precision == precision], dict(zip(rows, MARKERS * len(rows))))
        panel.set_title(precision, loc="left")
    panels.flat[0].set_ylabel("GPts/s")
    return figure


def draw_panel(panel, ladders, markers):
    for ladder, line in zip(ladders, LINES * len(ladders)):
        for row in dict.fromkeys(rung.row for rung in ladder.rungs):
            draw_row(panel, ladder, row, line, markers[row])
    draw_roofs(panel, [rung for ladder in ladders for rung in ladder.rungs if rung.copy])
    panel.set_ylim(bottom=0)
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set_xlabel("sweeps a launch")
    panel.grid(axis="y", color="0.9")
    panel.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)


def draw_row(panel, ladder, row, line, marker):
    """Of each depth the fastest policy."""
    rungs = sorted((rung for rung in ladder.of_best_policies().rungs if rung.row == row), key=lambda rung: rung.depth)
    grid = " x ".join(map(str, ladder.cells))
    panel.plot([rung.depth for rung in rungs], [rate(rung, "stencil") for rung in rungs], line, marker=marker,
               color=COLOURS[ladder.precision] if rungs[-1].depth > 1 else "0.4", label=f"{row}, {grid}")


def draw_roofs(panel, rungs):
    """What sweeps would reach that move their least bytes at the mean of the copies."""
    if not rungs:
        return
    one = sum(roof(rung, "stencil", "copy") / rung.depth for rung in rungs) / len(rungs)
    end = end_of_rising_roof(panel, one, max(rung.depth for rung in rungs))
    panel.axhline(one, color="black", linewidth=1.5, label="roof of one sweep a pass")
    panel.plot([1, end], [one, one * end], color="0.6", linewidth=1.5, label="roof of so many sweeps a pass")


def end_of_rising_roof(panel, one, deepest):
    """Up to where the rising roof stays in sight of what was measured."""
    highest = max(value for drawn in panel.get_lines() for value in drawn.get_ydata())
    return min(deepest, max(1.0, 1.25 * highest / one))
