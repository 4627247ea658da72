"""A body of several materials on the page of its run: the material of the cells in planes through it, the faces with contacts, the
boundary conditions, and the temperatures of each material."""

import numpy as np
from matplotlib import colors, pyplot
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from isotherm_tools import figures
from isotherm_tools.pictures import AXES, places_in
from isotherm_tools.report_page import picture
from isotherm_tools.text import as_number, counted, format_length, length_unit, printable

COLOURS = ("#4e79a7", "#f2a154", "#59a14f", "#a9a9a9", "#9a7fb8", "#edd060", "#76b7b2", "#9c755f", "#2f4b7c", "#a5d66f",
           "#c9b49a", "#5f6b6d")  # of materials in the order of the deck; repeated if there are more
CONTACT = "#c2006b"  # distinct from these
SLIVER = 1 / 6  # of the longer side: a thinner side is stretched to this share
LEFT, RIGHT, BOTTOM, TOP = 0.95, 0.35, 0.62, 0.35  # inches
WIDE, HIGH = 4.3, 3.2  # inches of the plane, at most
LETTERS = 13  # letters per inch
LONGEST = 24  # letters, of a name or formula
LINE = 0.19  # inches, a line of the legend
MOST_NAMES = 24  # names in the legend


def body_pictures(run, snapshot, cell):
    """Pictures of the planes through `cell`; if the body is one layer of cells, only of this layer."""
    thin = [axis for axis in range(3) if snapshot.cells[axis] == 1]
    return [plane_picture(run, snapshot, axis, cell[axis]) for axis in thin[:1] or (2, 1, 0)]


def plane_picture(run, snapshot, axis, index):
    plane = run.materials(axis, index)
    figure, stretched, lines = plane_figure(run.record, snapshot, axis, plane)
    unit = length_unit(max(snapshot.bounds[1] - snapshot.bounds[0]))
    names = [run.record["materials"][number]["name"] for number in np.unique(plane)]
    caption = f"Materials at {AXES[axis]} = {format_length(snapshot.centres(axis)[index], unit)}, and the boundary conditions at the edges."
    if lines:
        caption += " Thick lines: faces with a contact."
    if stretched:
        caption += f" Not to scale: {stretched} is stretched."
    return picture(figure, form="png", alt=f"Materials in the plane across {AXES[axis]}: {', '.join(names)}", caption=caption)


def plane_figure(record, snapshot, axis, plane):
    """Returns the figure, the axis that is stretched (or None), and the number of its lines for contacts."""
    (across, up), places, unit = places_in(snapshot, axis)
    sides = np.ptp(places[0]), np.ptp(places[1])
    drawn = np.maximum(sides, SLIVER * max(sides))
    drawn *= min(WIDE / drawn[0], HIGH / drawn[1])
    materials = record["materials"]
    colours = ["none" if material["conductivity_W_per_m_K"] is None else COLOURS[number % len(COLOURS)]  # voids have none
               for number, material in enumerate(materials)]
    handles = [Patch(facecolor=colour, edgecolor="0.5", linewidth=0.6, label=figures.plain(printable(material["name"], LONGEST)))
               for number, (material, colour) in enumerate(zip(materials, colours)) if np.any(plane == number)][:MOST_NAMES]
    lines = contact_lines(record, plane, *places)
    if lines:
        handles.append(Line2D([], [], color=CONTACT, linewidth=2.5, label="contact"))
    longest = max(len(handle.get_label()) for handle in handles)
    width = max(LEFT + drawn[0] + RIGHT, 3.2)
    columns = max(1, min(len(handles), int(width / (longest / LETTERS + 0.5))))
    bottom = BOTTOM + LINE * (-(-len(handles) // columns)) + 0.1
    size = width, bottom + drawn[1] + TOP
    figure = pyplot.figure(figsize=size)
    panel = figure.add_axes((LEFT / size[0], bottom / size[1], drawn[0] / size[0], drawn[1] / size[1]))
    panel.pcolorfast(*places, colors.to_rgba_array(colours)[plane])
    figures.stays(panel.add_collection(LineCollection(lines, colors=CONTACT, linewidths=2.5)))
    panel.spines[["top", "right"]].set_visible(True)
    for along, length in ((panel.xaxis, drawn[0]), (panel.yaxis, drawn[1])):
        along.set_major_locator(MaxNLocator(max(2, int(2 * length))))
    def law(axis, end, length):
        return laws_text(record["boundaries"][f"{AXES[axis]}_{end}"], int(LETTERS * length) + 4)

    panel.set_xlabel(f"{law(up, 'min', drawn[0])}\n{AXES[across]} [{unit.name}]", fontsize=figures.SMALL)
    panel.set_ylabel(f"{AXES[up]} [{unit.name}]\n{law(across, 'min', drawn[1])}", fontsize=figures.SMALL)
    panel.set_title(law(up, "max", drawn[0]), fontsize=figures.SMALL)
    panel.text(1.02, 0.5, law(across, "max", drawn[1]), rotation=270, ha="left", va="center", transform=panel.transAxes, fontsize=figures.SMALL)
    legend = figure.legend(handles=handles, loc="lower center", ncol=columns, handlelength=1.2,
                           columnspacing=1.2, labelspacing=0.3, borderpad=0.2)
    figures.stays(*legend.get_patches(), *legend.get_lines())
    return figure, AXES[(across, up)[sides.index(min(sides))]] if min(sides) < SLIVER * max(sides) * (1 - 1e-9) else None, len(lines)


def contact_lines(record, plane, across, up):
    """The two ends of each line along faces whose two materials have a contact. `across`, `up`: positions of the faces."""
    numbers = {material["name"]: number for number, material in enumerate(record["materials"])}
    touching = np.zeros((256, 256), dtype=bool)
    for contact in record["contacts"]:
        one, other = (numbers[name] for name in contact["between"])
        touching[one, other] = touching[other, one] = True
    lines = []
    for cells, at, along, turned in ((plane, across, up, False), (plane.T, up, across, True)):
        found = touching[cells[:, :-1], cells[:, 1:]]
        for face in np.flatnonzero(found.any(axis=0)):
            ends = np.flatnonzero(np.diff(found[:, face].astype(np.int8), prepend=0, append=0))
            for first, last in zip(ends[::2], ends[1::2]):
                line = (at[face + 1], along[first]), (at[face + 1], along[last])
                lines.append([point[::-1] for point in line] if turned else line)
    return lines


def value(text):
    number = as_number(text)
    return printable(text, LONGEST) if number is None else f"{number:.4g}" if abs(number) >= 1e5 else f"{number:.6g}"


def law_text(law):
    kind = law["kind"]
    text = {"temperature": "{value} K", "flux": "flux {value} W/m\u00b2", "convection": "h {coefficient}, {value} K"}.get(kind, kind)
    text = text.format(**{key: value(law[key]) for key in ("value", "coefficient") if law[key] is not None})
    return text if law["everywhere"] else f"{text} on a part"


def laws_text(laws, room=None):
    """Text on the boundary conditions of one face; if it is longer than `room`, only their number, or the kind of the single one."""
    text = " + ".join(map(law_text, laws))
    if room is None or len(text) <= room:
        return figures.plain(text) if room else text
    return laws[0]["kind"] if len(laws) == 1 else counted(len(laws), "condition")


MATERIALS = ("material", "k [W/(m K)]", "rho c [J/(m\u00b3 K)]", "cells", "lowest", "highest", "at")


def material_rows(materials):
    unit = length_unit(max((abs(metres) for each in materials if each["highest"] for metres in each["highest"]["position_m"]), default=1))
    rows = []
    for each in materials:
        k, name, hottest = each["conductivity_W_per_m_K"], each["name"], each["highest"]
        if each["coefficient_W_per_m2_K"] is not None:
            name += f" (void: h {each['coefficient_W_per_m2_K']:.6g}, {each['ambient_K']:.6g} K)"
        elif k is None and name != "void":
            name += " (void)"
        rows.append((name, "-" if k is None else f"{k[0]:.6g}" if k[0] == k[1] == k[2] else ", ".join(f"{along:.6g}" for along in k),
            "-" if each["heat_capacity_J_per_m3_K"] is None else f"{each['heat_capacity_J_per_m3_K']:.6g}", each["cells"],
            *(f"{each[end]['temperature_K']:.6g} K" if each[end] else "-" for end in ("lowest", "highest")),
            f"({', '.join(f'{metres / unit.si:.6g}' for metres in hottest['position_m'])}) {unit.name}" if hottest else "-"))
    return rows
