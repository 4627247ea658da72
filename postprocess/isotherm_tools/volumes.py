"""Isotherms as surfaces in the box. Drawn by PyVista, which this package does without where nobody asks for it."""

import math
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from isotherm_tools import slices
from isotherm_tools.failure import COMMAND_LINE, DATA, UNAVAILABLE, Failure
from isotherm_tools.program import add_subcommand
from isotherm_tools.run import Run
from isotherm_tools.text import length_unit
from isotherm_tools.whole_file import write_whole

MOST_CELLS = 256**3  # of which surfaces are drawn: of larger fields every other cell, every third, ...
SURFACES = 7
SIZE = (1400, 950)  # pixels
COLOURS = {"vertical": True, "position_x": 0.9, "position_y": 0.2, "height": 0.6, "width": 0.06, "color": "black",
           "fmt": "%.4g"}


def add(subcommands):
    subcommand = add_subcommand(subcommands, "volume", draw_volume, "isotherms as surfaces in the box (needs PyVista)",
                    "Draws isotherms as surfaces in the box, by PyVista.")
    subcommand.add_argument("--series", metavar="NAME", help="the region or the coarse field, e.g. demo_coarse")
    slices.add_time_options(subcommand)
    subcommand.add_argument("--isotherms", metavar="K,K", help=f"their temperatures (default: about {SURFACES} round ones)")
    subcommand.add_argument("--out", metavar="FILE.png", help="default: in the run directory")


def draw_volume(options):
    pyvista = load_pyvista()
    run = Run(options.run)
    name = options.series or run.name
    path = Path(options.out or run.path / f"{name}_volume.png")
    if path.suffix.lower() != ".png":
        raise Failure(COMMAND_LINE, f"{path}: a picture of surfaces is made of pixels; end the name in .png")
    snapshot = slices.chosen_snapshot(run.series(options.series), options)
    if snapshot.thin_axis:
        raise Failure(DATA, f"{snapshot.path} is one cell thick along {snapshot.thin_axis} and holds no surfaces; slice draws it")
    stride = stride_of(snapshot)
    if stride > 1:
        print(f"note: of {snapshot.path} one cell in {stride} along each axis is drawn", file=sys.stderr)
    field = snapshot.every(stride)
    levels = levels_of(field, options.isotherms, snapshot.path)
    pixels = surfaces(pyvista, name, snapshot, stride, field, levels)
    write_whole(path, lambda part: Image.fromarray(pixels).save(part, format="PNG"))
    return path


def load_pyvista():
    try:
        import pyvista
        from vtkmodules.vtkCommonCore import vtkLogger
    except ImportError as error:
        raise Failure(UNAVAILABLE, f"volume needs PyVista, which cannot be loaded ({error}); install it with pip install "
                      "pyvista, or open the run's .xmf in ParaView") from error
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)  # that there is no display is no news
    pyvista.OFF_SCREEN = True
    return pyvista


def stride_of(snapshot):
    return max(1, math.ceil((math.prod(snapshot.cells) / MOST_CELLS) ** (1 / 3) - 1e-9))


def levels_of(field, wish, path):
    """Kelvin of the surfaces: as wished, or round ones between the coldest and the hottest cell."""
    low, high = (float(end) for end in slices.colour_range([field]))
    if wish is None:
        levels = slices.round_levels(low, high, SURFACES)
    else:
        try:
            levels = [float(text) for text in wish.split(",")]
        except ValueError as error:
            raise Failure(COMMAND_LINE, f"--isotherms {wish} are no temperatures; give kelvins such as 300,350") from error
    inside = [level for level in levels if np.nanmin(field) < level < np.nanmax(field)]
    if not inside:
        raise Failure(DATA, f"{path} holds no such isotherm; it has {np.nanmin(field):.6g} K to {np.nanmax(field):.6g} K")
    return inside


def surfaces(pyvista, name, snapshot, stride, field, levels):
    """The picture as an array (height, width, 3)."""
    low, high = snapshot.bounds
    unit = length_unit(max(high - low))
    grid = pyvista.ImageData(dimensions=field.shape[::-1], spacing=snapshot.spacing * stride / unit.si,
                             origin=snapshot.centre / unit.si)
    box = [end / unit.si for ends in zip(low, high) for end in ends]
    grid.point_data["temperature [K]"] = field.ravel()
    plotter = pyvista.Plotter(off_screen=True, window_size=SIZE)
    try:
        plotter.set_background("white")
        plotter.enable_anti_aliasing("ssaa")
        plotter.add_mesh(pyvista.Box(box).outline(), color="black", line_width=2)
        plotter.add_mesh(grid.contour(levels), cmap="inferno", clim=slices.colour_range([field]), opacity=0.55,
                         smooth_shading=True, scalar_bar_args=COLOURS)
        plotter.show_bounds(bounds=box, color="black", location="outer", grid=False, font_size=11, n_xlabels=4, n_ylabels=4,
                            n_zlabels=2, **{f"{axis}title": f"{axis} [{unit.name}]" for axis in slices.AXES})
        when = slices.moment(snapshot, not snapshot.time)
        isotherms = ", ".join(f"{level:g}" for level in levels)
        plotter.add_text(f"{name}, {when}\nisotherms {isotherms} K", position="upper_left", font_size=12, color="black")
        plotter.view_vector((-0.45, -1.0, 0.75), viewup=(0, 0, 1))  # x to the right, y away, z up
        plotter.camera.SetWindowCenter(0.1, 0)  # leaves the right to the colours
        return plotter.screenshot(None, return_img=True)
    finally:
        plotter.close()
