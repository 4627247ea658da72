"""What a report says of a benchmark: its ladder, and of stencils the roofline."""

from copy import copy

from isotherm_tools import ladders, rooflines
from isotherm_tools.report_page import Section, paragraph, picture, pictures


def bench_section(number, bench, devices):
    """`devices`: those of the run beside it, for a roof is that of one device."""
    bench.keep_best_policies()
    parts = [paragraph(f"Measured on {bench.device}, of each row the fastest policy.")]
    if bench.device not in devices:
        parts.append(paragraph(f"The run was made on {', '.join(devices)}: its figures stand under another roof."))
    parts.append(pictures(*(ladder_picture(bench, ladder) for ladder in bench.ladders)))
    if bench.subject == "stencil":
        parts.append(pictures(picture(
            rooflines.roofline_figure(bench, narrow=True), "Roofline of the stencil rows", f"{rooflines.FLOPS_A_POINT} flop a point over "
            "least traffic; the roof is the copy bandwidth, the band holds every row's own.")))
    return Section(f"bench{number}", f"Benchmark: {bench.subject}", parts)


def ladder_picture(bench, ladder):
    """A figure for each grid and precision: all in one would be too small on a phone."""
    alone = copy(bench)
    alone.ladders = [ladder]
    figure = ladders.ladder_figure(alone)
    figure.suptitle("")
    return picture(figure, f"Ladder of bench {bench.subject}, {ladder.title}: a bar a row",
                   f"{ladder.title}. The tick across a bar is what its row would reach at the copy bandwidth beside it.")
