"""The figures that only a report has: planes, bars and lines stand where the cells and the record have them."""

import h5py
import numpy as np
import pytest
from matplotlib import pyplot

from isotherm_tools import dark_figures, figures, histories, report_figures, slices
from isotherm_tools.run_directory import History, Snapshot

CELLS, SPACING, CORNER = (12, 7, 5), (1e-3, 2e-3, 4e-3), (0.1, -0.2, 0.0)  # no two axes alike


def snapshot_of(folder, field, spacing=SPACING):
    path = folder / "demo_00000010.hdf"
    with h5py.File(path, "w") as file:
        file["temperature"] = field
        file.create_group("isotherm").attrs.update({"origin": CORNER, "spacing": spacing, "time": 2.5})
    return Snapshot(path, 10)


@pytest.fixture
def snapshot(tmp_path):
    z, y, x = np.meshgrid(*(np.arange(count) for count in reversed(CELLS)), indexing="ij")
    return snapshot_of(tmp_path, 300.0 + x + 20 * y + 500 * z)


def test_the_three_planes_stand_as_in_a_drawing(snapshot):
    planes = report_figures.planes_through(snapshot, (6, 3, 2))
    assert [plane.shape for plane in planes] == [(5, 7), (5, 12), (7, 12)]
    front, above, beside, bar = report_figures.field_figure(snapshot, planes, report_figures.Scale(planes)).axes
    for panel, array, extent in ((front, snapshot.T[2], (100, 112, -200, -186)), (above, snapshot.T[:, 3], (100, 112, 0, 20)),
                                 (beside, snapshot.T[:, :, 6].T, (0, 20, -200, -186))):
        assert np.array_equal(panel.images[0].get_array(), array) and panel.images[0].origin == "lower"
        assert panel.images[0].get_extent() == pytest.approx(extent)
        assert panel.images[0].get_clim() == (planes[0].min(), planes[0].max())
    places = [panel.get_position() for panel in (front, above, beside, bar)]
    assert places[1].y0 > places[0].y1 and places[2].x0 > places[0].x1 and places[3].x0 > places[2].x1
    assert (places[0].x0, places[0].x1) == pytest.approx((places[1].x0, places[1].x1))
    assert (places[0].y0, places[0].y1) == pytest.approx((places[2].y0, places[2].y1))
    assert (front.get_xlabel(), front.get_ylabel(), above.get_ylabel(), beside.get_xlabel()) == (
        "x [mm]", "y [mm]", "z [mm]", "z [mm]")


def test_it_is_to_scale_unless_it_says_so(snapshot, tmp_path):
    planes = report_figures.planes_through(snapshot, (6, 3, 2))
    figure = report_figures.field_figure(snapshot, planes, report_figures.Scale(planes))
    front = figure.axes[0].get_position()
    wide, high = np.array([front.width, front.height]) * figure.get_size_inches()
    assert wide / high == pytest.approx(12 / 14) and report_figures.stretched_axes(snapshot) == []
    thin = snapshot_of(tmp_path, np.ones((2, 8, 16)), (1e-3, 1e-3, 1e-3))
    assert report_figures.stretched_axes(thin) == ["z"]


def test_isotherms_are_shared_round_and_seen():
    """A level is drawn only where the plane has it, and in white on what is dark."""
    cold, hot = np.full((4, 4), 300.0), np.linspace(300.0, 400.0, 16).reshape(4, 4)
    scale = report_figures.Scale([cold, hot])
    assert (scale.low, scale.high) == (300, 400) and scale.isotherms == [320, 340, 360, 380]
    assert scale.distance == 20
    assert (scale.colour_of(310), scale.colour_of(390)) == ("white", "black")
    figure, panels = pyplot.subplots(2)
    for panel, plane in zip(panels, (cold, hot)):
        report_figures.draw_isotherms(panel, plane, (0, 1, 0, 1), scale)
    assert [len(panel.collections) > 0 for panel in panels] == [False, True]
    assert [text.get_text() for text in panels[1].texts] == ["320", "340", "360", "380"]
    assert report_figures.Scale([cold]).isotherms == []
    assert report_figures.Scale([np.full((2, 2), np.nan)]).isotherms == []


def test_bars_are_phases_and_their_shares():
    phases = {name: {"min": mean / 2, "mean": mean, "max": 2 * mean}
              for name, mean in (("setup", 1.0), ("sweeps", 6.0), ("halo", 2.0), ("total", 10.0), ("stepping", 8.0))}
    panel = report_figures.phases_figure(phases).axes[0]
    assert [text.get_text() for text in panel.get_yticklabels()] == ["setup", "halo", "sweeps"]
    assert [bar.get_width() for bar in panel.patches] == [1, 2, 6]
    assert [text.get_text() for text in panel.texts] == ["10.0%", "20.0%", "60.0%"]
    whiskers = [segment for lines in panel.collections for segment in lines.get_segments()]
    assert [list(segment[:, 0]) for segment in whiskers] == [[0.5, 2], [1, 4], [3, 12]]
    assert panel.get_xlabel().startswith("time [s]")


def test_a_phase_of_nothing_has_no_bar():
    phases = {name: {"min": mean, "mean": mean, "max": mean}
              for name, mean in (("setup", 0.0), ("sweeps", 9.9996), ("halo", 0.0004), ("total", 10.0))}
    panel = report_figures.phases_figure(phases).axes[0]
    assert [bar.get_width() for bar in panel.patches] == [9.9996]
    nothing = {name: {"min": 0.0, "mean": 0.0, "max": 0.0} for name in ("sweeps", "total")}
    assert list(report_figures.phases_figure(nothing).axes[0].patches) == []


def test_a_dark_figure_keeps_its_map_and_turns_its_ink():
    """Paper and ink change places, curves get lighter; colours and isotherms of a field stay."""
    figure, (panel, field) = pyplot.subplots(2)
    line, = panel.plot([0, 1], [1, 2], color="#0072b2", marker=".")
    panel.grid(color="0.9")
    plane = np.linspace(300.0, 400.0, 64).reshape(8, 8)
    image = field.imshow(plane, cmap="inferno")
    slices.draw_contours(field, plane, (0, 8, 0, 8), 300, 400)
    figure.canvas.draw()
    lines = [tuple(colour) for each in field.collections for colour in each.get_edgecolor()]
    values = [text.get_color() for text in field.texts]
    assert len(values) > 3
    dark_figures.darken(figure)
    assert figure.get_facecolor() == panel.get_facecolor() == pyplot.matplotlib.colors.to_rgba(dark_figures.PAPER)
    assert min(panel.xaxis.label.get_color()[:3]) > 0.8 and max(panel.get_xgridlines()[0].get_color()[:3]) < 0.3
    assert line.get_color() == line.get_markerfacecolor() == pytest.approx((0.35, 0.35 + 0.65 * 0x72 / 255, 0.35 + 0.65 * 0xb2 / 255, 1))
    assert [tuple(colour) for each in field.collections for colour in each.get_edgecolor()] == lines
    assert [text.get_color() for text in field.texts] == values and image.get_cmap().name == "inferno"


def test_names_of_curves_stand_beside_the_panel(tmp_path):
    (tmp_path / "history.csv").write_text("sweep,time_s,residual,wall_s,min_K,max_K\n0,0,,0,290,310\n9,1,,1,291,309\n")
    figure = histories.columns_figure("demo", History(tmp_path / "history.csv"), ["min_K", "max_K"])
    figure.canvas.draw()
    panel = figure.axes[0]
    assert panel.get_legend().get_window_extent().x0 > panel.get_window_extent().x1
    figure, panel = pyplot.subplots(figsize=(5.6, 3.6), layout="constrained")
    for number in range(2):
        panel.plot([0, 1], [0, number], label=f"{number} and a name that would take all the room that there is")
    figures.name_curves(panel, title="a_title_without_blanks_that_is_as_long_as_the_figure_is_wide")
    figure.canvas.draw()
    assert panel.get_position().width > 0.4
    alone = histories.columns_figure("demo", History(tmp_path / "history.csv"), ["max_K"]).axes[0]
    assert alone.get_legend() is None and alone.get_ylabel() == "peak temperature [K]"


@pytest.mark.parametrize("effective, copy, text", [(3e12, 4e12, "75.0% of the roof"), (6e9, 4e9, "150.0% of the roof")])
def test_a_run_under_its_roof_and_above(effective, copy, text):
    panel = report_figures.roof_figure(effective, copy).axes[0]
    assert panel.patches[0].get_width() == effective / 1e9 and panel.get_lines()[0].get_xdata()[0] == copy / 1e9
    assert panel.texts[0].get_text() == text and panel.get_xlim()[1] > max(effective, copy) / 1e9


def test_probes_are_lines_over_time_or_sweeps():
    probes = {"sweep": np.array([0, 10, 20]), "time_s": np.array([0, 0.5e-3, 1e-3]), "a_K": np.array([300.0, 310, 320]),
              "b_K": np.array([300.0, 299, 298])}
    panel = report_figures.probes_figure(probes).axes[0]
    assert [line.get_label() for line in panel.get_lines()] == ["a", "b"] and panel.get_xlabel() == "time [ms]"
    assert panel.get_lines()[1].get_xydata().tolist() == [[0, 300], [0.5, 299], [1, 298]]
    panel = report_figures.probes_figure({**probes, "time_s": np.zeros(3)}).axes[0]
    assert panel.get_xlabel() == "sweep" and panel.get_lines()[0].get_xdata().tolist() == [0, 10, 20]


def test_a_row_of_cells_is_a_curve_along_it(tmp_path):
    row = snapshot_of(tmp_path, np.arange(300.0, 305.0).reshape(1, 5, 1))
    panel = report_figures.profile_figure([row], ["t = 2.5 s"]).axes[0]
    along, values = panel.get_lines()[0].get_data()
    assert along == pytest.approx([-199, -197, -195, -193, -191]) and list(values) == [300, 301, 302, 303, 304]
    assert panel.get_xlabel() == "y [mm]"
