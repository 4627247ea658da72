"""Scaling: the model, with numbers computed by hand; series of runs, measured and predicted; table, files and picture; then
studies and their runs as written by the program, and predicted grids as run by the program."""

import csv
import json
import math

import pytest
from html_page import report
from isotherm_tools import scaling
from isotherm_tools import scaling_model as model
from isotherm_tools.__main__ import main
from isotherm_tools.program import Failure
from isotherm_tools.scaling import RunRecord, ModelInputs
from isotherm_tools.scaling_model import BETWEEN, INSIDE, Costs, Layout, Machine, Method, Wire
from isotherm_tools.text import format_time
from program import ran, write_deck, write_script
from studies import BASE, changed_study

NS, US, GB = 1e-9, 1e-6, 1e9
WIRES = ModelInputs(inside_bandwidth=GB, inside_latency=5 * US, between_bandwidth=GB / 2, between_latency=10 * US)
COSTS = Costs(cell=NS)
INSIDE_WIRE, BETWEEN_WIRE = Wire(5 * US, GB), Wire(10 * US, GB / 2)
ONE_HOST, TWO_HOSTS = Machine(8, INSIDE_WIRE), Machine(4, INSIDE_WIRE, BETWEEN_WIRE)
FREE = Machine(8, Wire(0.0, math.inf), Wire(0.0, math.inf))
EIGHT = Layout((64, 64, 64), (2, 2, 2))  # blocks of 32^3, each with three neighbours


@pytest.mark.parametrize("method, machine, step, hidden", [
    # 32768 cells of 1 ns; three faces of 32^2 values of 8 bytes take 24.576 us on the wire and 5 us of latency.
    (Method(overlap=False), ONE_HOST, 32.768 + 29.576, 0),
    # 31^3 interior cells do not wait: their 29.791 us hide the exchange, or all but a part of it with 10 us more latency.
    (Method(overlap=True), ONE_HOST, 32.768, 1),
    (Method(overlap=True), ONE_HOST._replace(inside=Wire(15 * US, GB)), 32.768 - 29.791 + 39.576, 29.791 / 39.576),
    # Half the bytes in fp32.
    (Method(value_bytes=4, overlap=False), ONE_HOST, 32.768 + 12.288 + 5, 0),
    # x fastest: the z neighbour is on the other host. Its face takes 16.384 us, the two others together as long.
    (Method(overlap=False), TWO_HOSTS, 32.768 + max(10 + 16.384, 5 + 16.384), 0),
    (Method(overlap=False), TWO_HOSTS._replace(overhead=US), 32.768 + 26.384 + 3, 0),
    # Two sweeps, of 33^3 and 32^3 cells; seven neighbours: faces two layers deep, edges of 4 x 32 and a corner of 8 values.
    (Method(halo_width=2, overlap=False), ONE_HOST, (32.768 + 35.937 + 5 + 8 * (3 * 2048 + 3 * 128 + 8) / 1e3) / 2, 0),
    # A norm every ten sweeps: three doublings for 8 ranks; with two hosts of four ranks, two inside and one between.
    (Method(overlap=True, check_interval=10), ONE_HOST, 32.768 + 3 * 5 / 10, 1),
    (Method(overlap=True, check_interval=10), TWO_HOSTS, 32.768 + (2 * 5 + 10) / 10, 1)])
def test_numbers_worked_out_by_hand(method, machine, step, hidden):
    """`hidden`: the share of the exchange during which the interior is swept."""
    assert model.predict(COSTS, method, machine, EIGHT) == (pytest.approx(step * US), pytest.approx(hidden))


def test_costs_that_do_not_depend_on_the_exchange():
    costs = Costs(cell=NS, launch=3 * US, check=20 * US, check_cell=NS / 2)
    alone = Layout((64, 32, 16), (1, 1, 1))
    assert model.predict(costs, Method(check_interval=4), Machine(1), alone) == (
        pytest.approx((32.768 + 3 + (20 + 16.384) / 4) * US), None)
    for halo_width in 1, 2:
        assert model.predict(costs, Method(halo_width=halo_width), Machine(1), alone).step == pytest.approx(35.768 * US)


def share(layout, place, method=Method(), machine=TWO_HOSTS):
    return model.share_of(place, method, machine, layout)


def test_the_work_and_the_messages_of_a_rank():
    """A boundary has no neighbour; a periodic axis has one on both sides if it has two parts, none if it has one."""
    row = Layout((10, 6, 11), (1, 1, 4))
    assert share(row, (0, 0, 0)) == ((10, 6, 3), (0, 0, 1), ((INSIDE, 60),))
    assert share(row, (0, 0, 3)) == ((10, 6, 2), (0, 0, 1), ((INSIDE, 60),))
    assert share(row, (0, 0, 1)) == ((10, 6, 3), (0, 0, 2), ((INSIDE, 60), (INSIDE, 60)))
    assert share(row._replace(periodic=(True, True, True)), (0, 0, 0)).messages == ((INSIDE, 60), (INSIDE, 60))
    two = Layout((10, 6, 11), (1, 1, 2), (False, False, True))
    assert share(two, (0, 0, 0)) == ((10, 6, 6), (0, 0, 2), ((INSIDE, 120),))
    assert share(row, (0, 0, 1), machine=Machine(2)).messages == ((BETWEEN, 60), (INSIDE, 60))
    box = Layout((6, 10, 14), (2, 2, 2))  # two ranks per host: x neighbours share one
    assert share(box, (0, 0, 0), machine=Machine(2)).messages == ((BETWEEN, 15), (BETWEEN, 21), (INSIDE, 35))


def test_the_slowest_rank_is_the_time_of_all():
    layout = Layout((1, 1, 7), (1, 1, 3))  # blocks of 3, 2 and 2
    assert model.predict(COSTS, Method(), FREE, layout).step == pytest.approx(3 * NS)
    # Three equal subdomains: the middle one sends two messages.
    layout = Layout((10, 10, 30), (1, 1, 3))
    assert model.predict(COSTS, Method(overlap=False), ONE_HOST, layout).step == pytest.approx((1 + 5 + 1.6) * US)


@pytest.mark.parametrize("overlap", [False, True])
def test_wires_that_cost_nothing_scale_perfectly(overlap):
    for i in range(13):
        ranks, layout = 2**i, Layout((256, 256, 256), tuple(2 ** ((i + axis) // 3) for axis in range(3)))
        expected = pytest.approx(256**3 * NS / ranks, rel=1e-12), None  # nothing to hide
        assert model.predict(COSTS, Method(overlap=overlap), FREE, layout) == expected


def test_blocks_are_no_thinner_than_the_halo():
    assert model.fits(Layout((8, 8, 7), (1, 1, 2)), 3) and not model.fits(Layout((8, 8, 7), (1, 1, 2)), 4)
    assert model.fits(Layout((8, 8, 2), (1, 2, 1)), 4)
    assert not model.fits(Layout((8, 8, 2), (1, 2, 1), (False, False, True)), 4)


def write_run(folder, count, step, cells=(64, 64, 64), hosts=1, **changes):
    """The directory of a run of `count` ranks with 1000 sweeps and 10 norms. Of `step`, 1 us is the norm; the rest is 90 % sweeps on one
    rank, 50 % on several. `changes`: keys of sections, as in method={"halo_width": 2}."""
    parts = {1: (1, 1, 1), 2: (1, 1, 2), 4: (1, 2, 2), 8: (2, 2, 2)}[count]
    block = [-(-n // p) for n, p in zip(cells, parts)]
    alone = count == 1
    content = {
        "schema": "isotherm-run", "schema_version": 1, "name": "plate",
        "deck": {"resolved": "boundaries:\n  x_min: {kind: insulated}\n  z_min: {kind: periodic}\n"},
        "grid": {"cells": cells, "precision": "fp64"},
        "decomposition": {"process_grid": parts, "largest_rank_cells": math.prod(block)},
        "ranks": [{"rank": i, "host": f"node{i * hosts // count}", "backend": "cuda", "device": "GPU"}
                  for i in range(count)],
        "method": {"problem": "steady", "kernel": "naive", "tile": "32x8x1", "reduction": "fused", "halo_width": 1,
                   "overlap": "off" if alone else "on"},
        "phases_s": {"sweeps": {"max": 1000 * (step - US) * (0.9 if alone else 0.5)},
                     "halo": {"max": 1000 * (step - US) * (0.1 if alone else 0.5)},
                     "reduction": {"min": 1000 * US}, "stepping": {"max": 1000 * step}},
        "performance": {"sweeps": 1000, "step_s": step, "points_per_s": math.prod(cells) / step,
                        "bytes_per_point": 16.0, "copy_bandwidth_bytes_per_s": 4e12 * count},
        "residual": {"checks": 10},
    }
    for section, values in changes.items():
        content[section] = {**content[section], **values} if isinstance(content.get(section), dict) else values
    run = folder / f"run_{len(list(folder.iterdir()))}"
    run.mkdir()
    (run / "run.json").write_text(json.dumps(content))
    return run


def series_of(runs, inputs=WIRES):
    return scaling.scaling_series([RunRecord(run) for run in runs], inputs)


@pytest.fixture
def strong(tmp_path):
    """Parallel efficiencies of 100 %, 90 % and 80 %, relative to 64^3 cells in 263 us on one rank; not in order."""
    return [write_run(tmp_path, count, 263 * US / count / share) for count, share in ((4, 0.8), (1, 1.0), (2, 0.9))]


def measured(series, *fields):
    return [getattr(row.measured, field) for field in fields for row in series.rows if row.measured]


def predicted(series, field):
    return [row.predicted and getattr(row.predicted, field) for row in series.rows]


def test_measured_speedup_and_efficiency(strong):
    series = series_of(strong)
    assert series.kind == "strong" and series.base.ranks == 1
    assert [row.ranks for row in series.rows] == [1, 2, 4, *(2**i for i in range(3, 13))]
    assert measured(series, "efficiency", "speedup") == pytest.approx([1, 0.9, 0.8, 1, 1.8, 3.2])
    assert [row.rank_cells for row in series.rows[:4]] == [64**3, 64**3 // 2, 64**3 // 4, 32**3]
    assert [row.parts for row in series.rows[1:4]] == [(1, 1, 2), (1, 2, 2), (1, 8, 1)]


def test_weak_scaling_by_the_cells_per_rank(tmp_path):
    runs = [write_run(tmp_path, ranks, step, (64, 64, 64 * ranks)) for ranks, step in ((1, 1e-4), (2, 1.25e-4))]
    series = series_of(runs, ModelInputs(ranks=(16,), ranks_per_host=16, inside_bandwidth=GB, inside_latency=0.0))
    assert series.kind == "weak"
    assert measured(series, "efficiency", "speedup") == pytest.approx([1, 0.8, 1, 1.6])
    assert [(row.ranks, row.cells, row.parts) for row in series.rows[2:]] == [(16, (128, 128, 256), (1, 16, 1))]


def test_against_a_run_of_several_ranks(strong):
    series = series_of([strong[0], strong[2]])
    assert measured(series, "efficiency", "speedup") == pytest.approx([1, 0.8 / 0.9, 2, 4 * 0.8 / 0.9])
    assert predicted(series, "efficiency")[0] == pytest.approx(1)


def test_the_model_uses_the_smallest_run(strong):
    """On one rank ghosts of boundaries are a part of the sweeps; on two, half of the time was waiting."""
    series = series_of(strong)
    assert series.costs == pytest.approx((262e-6 / 64**3, 0, 100e-6, 0))
    assert predicted(series, "step")[0] == pytest.approx(263e-6)
    assert series.method == (8, 1, True, 100)
    two = (263e-6 / 2 / 0.9 - US) / 2
    assert series_of([strong[0], strong[2]]).costs == pytest.approx((two / 32 / 64**2, 0, 100e-6, 0))


def test_predictions_next_to_measurements(strong):
    """z is periodic: two ranks send each other both faces, 65.536 us on the wire, hidden by 30 of 32 planes."""
    series = series_of(strong)
    cell, norm = 262 / 64**3, (100 + 5) / 100
    assert predicted(series, "step")[1] == pytest.approx((131 + norm) * US)
    assert predicted(series, "hidden")[:2] == [None, pytest.approx(1)]
    slow = series_of(strong, WIRES._replace(inside_bandwidth=GB / 4))
    waits = 5 + 4 * 65.536
    assert predicted(slow, "step")[1] == pytest.approx((waits + cell * 2 * 64**2 + norm) * US)
    assert predicted(slow, "speedup")[1] == pytest.approx(263 / (waits + cell * 2 * 64**2 + norm))


def test_given_costs_are_used_and_a_norm_that_is_not_fused_grows_with_the_block(strong, tmp_path):
    for inputs, costs in ((ModelInputs(launch=100 * US), (162e-6 / 64**3, 100 * US, 100 * US, 0)),
                          (ModelInputs(cell_time="copy"), (16 / 4e12, 0, 100 * US, 0))):
        assert scaling.costs_of(RunRecord(strong[1]), inputs) == pytest.approx(costs)
    run = RunRecord(write_run(tmp_path, 1, 1e-3, method={"reduction": "cub"}))
    assert scaling.costs_of(run, ModelInputs())[2:] == (0.0, pytest.approx(100 * US / 64**3))
    run = RunRecord(write_run(tmp_path, 1, 1e-3, residual={"checks": 0}))
    assert scaling.costs_of(run, ModelInputs())[2:] == (0.0, 0.0)
    assert scaling.method_of(run, ModelInputs()).check_interval == math.inf
    run = RunRecord(write_run(tmp_path, 1, 1e-3, performance={"sweeps": 1500}))  # 500 of the autotuner, which phases omit
    assert scaling.costs_of(run, ModelInputs()).cell == pytest.approx((1e-3 - US) / 64**3)


def test_cells_that_neighbours_compute_too_count_once(tmp_path):
    """Halo width 2 on two ranks, periodic in z: sweeps of 32 and 34 planes, for every 64 planes of results."""
    record = RunRecord(write_run(tmp_path, 2, 1e-3, method={"halo_width": 2}))
    assert scaling.costs_of(record, ModelInputs()).cell == pytest.approx((1e-3 - US) / 2 / (33 * 64**2))


@pytest.mark.parametrize("ranks, changes, inputs, method", [
    (2, {}, ModelInputs(), (8, 1, True, 100)),
    (2, {"method": {"overlap": "off", "halo_width": 3}, "grid": {"precision": "fp32"}}, ModelInputs(), (4, 3, False, 100)),
    (2, {}, ModelInputs(halo_width=2, overlap=False, check_interval=7), (8, 2, False, 7)),
    (1, {}, ModelInputs(), (8, 1, True, 100)),  # one rank has nothing to overlap; several would
    (1, {"ranks": [{"host": "a", "backend": "cpu", "device": "CPU"}]}, ModelInputs(), (8, 1, False, 100))])
def test_method_of_a_run(tmp_path, ranks, changes, inputs, method):
    assert scaling.method_of(RunRecord(write_run(tmp_path, ranks, 1e-3, **changes)), inputs) == method


FAST, SLOW = {"bandwidth_bytes_per_s": 300e9, "latency_s": 5e-6}, {"bandwidth_bytes_per_s": 20e9, "latency_s": 9e-6}


@pytest.mark.parametrize("hosts, halo, found", [
    (1, {"links": [{"rank": 0, "peer": 1, "transport": "peer", **FAST}]}, [(True, Wire(5e-6, 300e9))]),
    (2, {"links": [{"rank": 0, "peer": 1, **FAST}, {"rank": 1, "peer": 2, **SLOW}]}, [(True, Wire(5e-6, 300e9)), (False, Wire(9e-6, 20e9))]),
    (1, {"links": [{"rank": 0, "peer": 1, "bandwidth_bytes_per_s": None, "latency_s": None}]}, []),
    (1, {"transport": "host", "bytes": 12}, []),
    (1, None, [])])
def test_links_are_read_where_the_record_has_them(tmp_path, hosts, halo, found):
    record = RunRecord(write_run(tmp_path, 4, 1e-3, hosts=hosts, halo=halo))
    assert record.links == found and record.hidden is None


def test_hidden_is_read_where_the_record_has_it(tmp_path):
    hides = write_run(tmp_path, 2, 1e-3, halo={"hidden_percent": 87.5})
    assert measured(series_of([write_run(tmp_path, 1, 2e-3), hides]), "hidden") == [None, 0.875]


def test_wires_are_the_median_of_the_largest_run_unless_given(tmp_path):
    def record(ranks, *figures, hosts=1):
        links = [{"rank": 0, "peer": ranks - 1, "bandwidth_bytes_per_s": b, "latency_s": l} for b, l in figures]
        return RunRecord(write_run(tmp_path, ranks, 1e-3, hosts=hosts, halo={"links": links}))

    runs = [record(4, (1e9, 1e-6), (3e9, 2e-6), (2e9, 9e-6)), record(2, (9e9, 1e-6)), record(8)]
    machine = scaling.machine_of(runs, ModelInputs())
    assert machine == (8, Wire(2e-6, 2e9), None, 0.0)
    machine = scaling.machine_of(runs, ModelInputs(inside_latency=0.0, ranks_per_host=2, between_latency=1.0, overhead=US))
    assert machine == (2, Wire(0.0, 2e9), None, US)
    machine = scaling.machine_of([*runs, record(8, (4e9, 7e-6), hosts=2)], ModelInputs())
    assert machine == (8, Wire(2e-6, 2e9), Wire(7e-6, 4e9), 0.0)


@pytest.mark.parametrize("inputs, known, note", [
    (ModelInputs(), [1], "no prediction from 2 ranks on (the wires within a host are unknown); "),
    (ModelInputs(), [1], "no prediction from 8 ranks on (the wires between hosts are unknown); "),
    (ModelInputs(ranks_per_host=1), [1], "no prediction from 2 ranks on (the wires between hosts are unknown); "),
    (WIRES._replace(between_latency=None), [1, 2, 4], "no prediction from 8 ranks on (the wires between hosts are unknown); "),
    (WIRES._replace(halo_width=16), [1, 2, 4, 8, 16, 32, 64], "no prediction for 128, 256, 512, 1024, 2048, 4096 ranks ("),
    (WIRES._replace(halo_width=16), [1, 2, 4, 8, 16, 32, 64], "predicted for halo width 16, measured at 1")])
def test_the_reason_is_given_if_there_is_no_prediction(strong, inputs, known, note):
    series = series_of(strong, inputs)
    assert [row.ranks for row in series.rows if row.predicted] == known
    assert [row.ranks for row in series.rows if row.measured] == [1, 2, 4]
    assert any(each.startswith(note) for each in series.notes)


def test_without_a_prediction_of_the_smallest_run_there_is_none(strong):
    series = series_of([strong[0], strong[2]], ModelInputs())
    assert predicted(series, "step") == [None, None]
    assert len(series.notes) == 1 and series.notes[0].startswith("no prediction, as the run that others are compared with has none (")


def test_different_kernels_are_reported(strong, tmp_path):
    other = write_run(tmp_path, 8, 1e-4, method={"kernel": "tiled", "tile": None, "halo_width": 2})
    assert series_of([*strong, other]).notes == [
        "kernel differs: naive 32x8x1 on 1, 2, 4; tiled on 8", "halo width differs: 1 on 1, 2, 4; 2 on 8"]


@pytest.mark.parametrize("kind", ["strong", "weak"])
def test_grids_that_do_not_fit_the_kind_are_reported(tmp_path, kind):
    runs = [write_run(tmp_path, ranks, 1e-3, cells) for ranks, cells in ((1, (64, 64, 64)), (2, (64, 64, 96)))]
    assert f"64x64x64 on 1, 64x64x96 on 2 ranks are no {kind} series: " in "".join(series_of(runs, WIRES._replace(kind=kind)).notes)


def test_process_grids_are_the_programs(tmp_path, monkeypatch):
    wanted = WIRES._replace(kind="strong", ranks=(8,))
    for backend, parts in (("cuda", (1, 8, 1)), ("cpu", (1, 2, 4))):
        run = write_run(tmp_path, 1, 1e-3, (256,) * 3, ranks=[{"rank": 0, "host": "a", "backend": backend, "device": "D"}])
        series = series_of([run], wanted)
        assert series.rows[1].parts == parts
        assert series.notes == ["the prediction is from one run (1 rank): no other run tests it"]
    write_script(tmp_path / "isotherm", "#!/bin/sh\necho '{\"answers\": [{\"error\": {\"code\": 66, \"text\": \"- does not exist\"}}]}'")
    monkeypatch.setenv("PATH", str(tmp_path))  # a program that does not know the request
    with pytest.raises(Failure, match="- does not exist"):
        series_of([run], wanted)
    monkeypatch.setenv("PATH", "")
    series = series_of([run], wanted)
    assert [row.ranks for row in series.rows] == [1]
    assert len(series.notes) == 1 and series.notes[0].startswith("no prediction for other counts of ranks: isotherm is not on PATH (")


def test_every_run_has_a_row_and_the_fastest_is_compared_with(strong, tmp_path):
    slower = write_run(tmp_path, 1, 300e-6)
    series = series_of([slower, *strong])
    assert [row.ranks for row in series.rows[:4]] == [1, 1, 2, 4]
    assert measured(series, "efficiency") == pytest.approx([1, 263 / 300, 0.9, 0.8])


def test_csv_and_json_hold_the_table(strong, tmp_path, capsys):
    wires = ["--intra-bandwidth", "1", "--intra-latency", "5", "--network-bandwidth", "0.5", "--network-latency", "10"]
    files = ["--csv", str(tmp_path / "a.csv"), "--json", str(tmp_path / "a.json")]
    assert main(["scaling", *map(str, strong), *wires, *files, "--halo-width", "16"]) == 0
    series = series_of(strong, WIRES._replace(halo_width=16))
    assert capsys.readouterr().out == scaling.as_text(series) + "\n"
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    content = json.loads((tmp_path / "a.json").read_text())
    assert (content["schema"], content["schema_version"], content["kind"]) == ("isotherm-scaling", 1, "strong")
    assert content["notes"] == series.notes and len(content["notes"]) == 2
    assert content["model"]["between_hosts"] == {"latency_s": 10 * US, "bandwidth_bytes_per_s": GB / 2}
    assert len(rows) == len(content["rows"]) == len(series.rows) == 7
    for line, entry, row in zip(rows, content["rows"], series.rows):
        assert int(line["ranks"]) == entry["ranks"] == row.ranks
        assert line["process_grid"] == "x".join(map(str, row.parts)) and entry["process_grid"] == list(row.parts)
        for source in ("measured", "predicted"):
            assert (entry[source] is None) == (getattr(row, source) is None)
            for name in ("step_s", "efficiency"):
                figure = getattr(getattr(row, source), name.removesuffix("_s"), None)
                assert line[f"{source}_{name}"] == ("" if figure is None else repr(figure))
                assert (entry[source] or {}).get(name) == figure
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a.csv", "a.json"]


def test_json_has_null_for_infinite_values(tmp_path):
    run = write_run(tmp_path, 1, 263e-6, residual={"checks": 0})
    path = tmp_path / "a.json"
    assert main(["scaling", str(run), "--kind", "weak", "--network-bandwidth", "inf", "--network-latency", "0",
                 "--json", str(path)]) == 0
    content = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert content["model"]["between_hosts"] == {"latency_s": 0.0, "bandwidth_bytes_per_s": None}
    assert content["model"]["check_interval"] is None and content["rows"][-1]["predicted"]["efficiency"] == 1


def line_of(panel, label):
    return next(line for line in panel.get_lines() if line.get_label() == label).get_data()


def test_dots_and_lines_are_where_the_figures_are(strong, tmp_path):
    slower = write_run(tmp_path, 2, 300e-6, method={"overlap": "off"})
    series = series_of([*strong, slower])
    figure = scaling.scaling_figure(series)
    above, below = figure.axes
    for panel, value in ((above, lambda row: 1e3 * row.step), (below, lambda row: row.efficiency)):
        ranks, values = line_of(panel, "measured")
        assert list(ranks) == [1, 2, 2, 4]
        assert list(values) == [value(row.measured) for row in series.rows if row.measured]
        ranks, values = line_of(panel, "predicted")
        assert list(ranks) == [2**i for i in range(13)]
        fastest = [row.predicted for row in series.rows if row.run != str(slower / "run.json")]
        assert list(values) == [value(row) for row in fastest]
    ranks, values = line_of(above, "ideal")
    assert list(values) == pytest.approx([0.263 / n for n in ranks])
    assert above.get_title(loc="left") == "plate:\nstrong scaling on GPU"
    assert [text.get_text() for text in below.get_xticklabels()] == [str(2**i) for i in range(13)]


def test_ideal_of_weak_scaling_is_level_and_nothing_predicted_is_no_line(tmp_path):
    runs = [write_run(tmp_path, ranks, 1e-4, (64, 64, 64 * ranks), name=r"a$\foo$b") for ranks in (2, 4)]
    figure = scaling.scaling_figure(series_of(runs, ModelInputs()))
    figure.draw_without_rendering()  # dollar signs in a name are not a formula
    above, below = figure.axes
    assert list(line_of(above, "ideal")[1]) == pytest.approx([0.1, 0.1])
    assert {line.get_label() for line in above.get_lines()} == {"ideal", "measured"}
    assert list(line_of(below, "measured")[1]) == pytest.approx([1, 1])


def test_folders_without_a_run_and_runs_of_no_series_are_refused(strong, tmp_path, refused):
    for changes in ({"schema": "isotherm-bench"}, {"schema_version": 4}, {"ranks": []}, {"grid": {"precision": "fp8"}},
                    {"phases_s": {"sweeps": None}}):
        refused(65, "", "scaling", write_run(tmp_path, 1, 1e-3, **changes))
    early = write_run(tmp_path, 1, 1e-3, performance={"step_s": None, "points_per_s": None})
    why = f"scaling: {early}/run.json holds no measured sweeps (the run ended before its first)\n"
    refused(65, why, "scaling", early)
    why = "scaling: runs of one rank count (4) are neither weak nor strong; add runs, or give --kind\n"
    refused(2, why, "scaling", strong[0])
    why = "scaling: the runs have neither one grid nor the same cells per rank (64x64x64 on 1, 64x64x96 on 2); "
    refused(65, why, "scaling", strong[1], write_run(tmp_path, 2, 1e-3, (64, 64, 96)))
    for what, changes in (("problem", {"method": {"problem": "transient"}}),
                          ("precision", {"grid": {"precision": "fp32"}}),
                          ("devices", {"ranks": [{"host": "a", "backend": "cuda", "device": "Other"}] * 2})):
        why = f"scaling: runs of different {what} make no series ({strong[1]}/run.json: "
        refused(65, why, "scaling", strong[1], write_run(tmp_path, 2, 1e-3, **changes))


def test_costs_and_files_that_cannot_be_are_refused(strong, tmp_path, refused):
    why = f"scaling: {strong[1]}/run.json leaves no time for the cells of a sweep"
    refused(65, why, "scaling", *strong, "--launch-latency", "262")
    run = write_run(tmp_path, 1, 1e-3, performance={"copy_bandwidth_bytes_per_s": None})
    why = f"scaling: {run}/run.json holds no copy bandwidth; leave out --cell-time copy\n"
    refused(65, why, "scaling", run, "--kind", "weak", "--cell-time", "copy")
    for code, option, out in ((73, "--json", "missing/x.json"), (73, "--csv", "missing/x.csv"), (2, "--out", "x.gif")):
        refused(code, "", "scaling", *strong, option, tmp_path / out)
    for option in ("--json", "--out"):  # one file for two
        refused(2, "", "scaling", *strong, "--csv", tmp_path / "x.svg", option, f"{tmp_path}/./x.svg")
    refused(2, "", "scaling", *strong, "--json", f"{strong[1]}/run.json")
    assert not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize("option, value, why", [
    ("--ranks", "8,0", "'0' is no whole number from 1 on"), ("--ranks", "8,x", "'x' is no whole number from 1 on"),
    ("--gpus-per-node", "0", "'0' is no whole number from 1 on"), ("--halo-width", "1.5", "'1.5' is no whole number from 1 on"),
    ("--intra-bandwidth", "0", "'0' is no number from 1e-09 on"), ("--network-latency", "-1", "'-1' is no number from 0 on"),
    ("--message-overhead", "nan", "'nan' is no number from 0 on"), ("--kind", "odd", "invalid choice: 'odd'")])
def test_wrong_options_are_2(strong, capsys, option, value, why):
    with pytest.raises(SystemExit) as stop:
        main(["scaling", str(strong[1]), f"{option}={value}"])
    assert stop.value.code == 2 and why in capsys.readouterr().err


# Studies

DECK = BASE.replace("boundaries:\n", "boundaries:\n  y_min: periodic\n  y_max: periodic\n") + (
    "study: {matrix: {precision: [fp64]}}\nscaling: {kind: weak, ranks: [1, 2]}\n")
MACHINE = ["--gpus-per-node", "2", "--intra-bandwidth", "4", "--intra-latency", "3", "--network-bandwidth", "25",
           "--network-latency", "2"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weak")
    write_deck(folder, DECK)
    assert "weak scaling of precision fp64, compared with 1 rank\n" in ran("study", "deck.yaml", cwd=folder).stdout
    return folder / "out"


def runs_of(study):
    return [json.loads((study / f"ranks-{ranks}_precision-fp64" / "run.json").read_text()) for ranks in (1, 2)]


def test_a_study_is_a_series_of_its_runs(study, tmp_path, capsys):
    path = tmp_path / "a.json"
    assert main(["scaling", str(study), *MACHINE, "--ranks", "4", "--json", str(path), "--out", str(tmp_path / "a.svg")]) == 0
    assert capsys.readouterr().out.startswith("weak scaling of deck (precision fp64): 3315 cells per rank, fp64, on ")
    content = json.loads(path.read_text())
    assert (content["kind"], [row["ranks"] for row in content["rows"]]) == ("weak", [1, 2, 4])
    runs = runs_of(study)
    steps = [run["performance"]["step_s"] for run in runs]
    assert [row["measured"]["step_s"] for row in content["rows"][:2]] == steps
    assert content["rows"][1]["measured"]["efficiency"] == pytest.approx(steps[0] / steps[1])
    assert content["rows"][1]["cells"] == runs[1]["grid"]["cells"] == [17, 13, 30]
    assert content["rows"][0]["predicted"]["step_s"] == pytest.approx(steps[0])
    assert content["rows"][2]["measured"] is None and 0 < content["rows"][2]["predicted"]["efficiency"] < 1
    assert (tmp_path / "a.svg").stat().st_size > 10000

    def age(record):
        for run in (case["run"] for case in record["cases"]):
            run["schema_version"], run["method"]["depth"] = 1, run["method"].pop("halo_width")
            run["method"].pop("tile"), run.pop("halo")

    assert main(["scaling", str(changed_study(study, tmp_path, age)), *MACHINE, "--ranks", "4", "--json", str(path)]) == 0
    aged = json.loads(path.read_text())["rows"]
    assert [row["predicted"] for row in aged] == [row["predicted"] for row in content["rows"]]


def test_the_page_has_figure_and_table(study, tmp_path):
    page, (one, two) = report(study, tmp_path / "page.html"), runs_of(study)
    text = " ".join(page.text.split())
    efficiency = one["performance"]["step_s"] / two["performance"]["step_s"]
    for said in ("Weak scaling of precision fp64, compared with 1 rank.", "efficiency is T1 / Tn", "17x13x15", "17x13x30",
                 format_time(one["performance"]["step_s"]), format_time(two["performance"]["step_s"]), scaling.share(efficiency),
                 f"{2 * efficiency:.4g}", "predicted"):
        assert said in text, said
    assert page.pictures[0]["alt"].startswith("Time per sweep and efficiency over ranks, measured")


def test_a_failed_base_is_reported(study, tmp_path, refused):
    def fail_base(record):
        series = record["scaling"]["series"][0]
        series["base"] = "none (ranks-1: failed)"
        series["rows"][0].update(case=None, runs=0, step_s=None, speedup=None, efficiency_percent=None, remark="ranks-1: failed")
        series["rows"][1].update(speedup=None, efficiency_percent=None)
        record["cases"][0].update(state="failed", run=None)

    broken = changed_study(study, tmp_path, fail_base)
    why = "deck (precision fp64) has nothing to be compared with (none (ranks-1: failed))"
    text = " ".join(report(broken, tmp_path / "page.html").text.split())
    assert f"no prediction: {broken}: {why}" in text and "ranks-1: failed" in text and "Time per sweep" not in text
    refused(65, why, "scaling", broken)


def test_two_answers_are_a_failure(study, tmp_path):
    said = "2 different fingerprints"
    changed_study(study, tmp_path, lambda record: record["scaling"]["series"][0].update(disagreement=said))
    page = report(tmp_path, tmp_path / "page.html")
    assert said in page.text and "deck FAIL" in " ".join(page.text.split())


def test_of_several_series_a_file_holds_one(study, tmp_path, capsys, refused):
    def double(record):
        series = record["scaling"]["series"]
        series.append({**series[0], "label": "precision fp32"})

    two, out = changed_study(study, tmp_path, double), str(tmp_path / "a.csv")
    assert main(["scaling", str(two), "--ranks", "1"]) == 0
    said = capsys.readouterr().out
    assert "of deck (precision fp64):" in said and "of deck (precision fp32):" in said
    refused(2, "", "scaling", two, "--csv", out)
    assert main(["scaling", str(two), "--csv", out, "--series", "precision fp32", "--ranks", "1"]) == 0
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 3
    for words, why in ((["--series", "x"], "use one of 'precision fp64', 'precision fp32'"), ([str(study)], "name it alone")):
        refused(2, why, "scaling", two, *words)


def test_series_are_of_studies_that_have_them(study, tmp_path, refused):
    plain = changed_study(study, tmp_path, lambda record: record.pop("scaling"))
    refused(65, "is no scaling study (", "scaling", plain)
    refused(2, "", "scaling", study / "ranks-1_precision-fp64", "--series", "x")
    assert "Scaling" not in report(plain, tmp_path / "page.html").text


def test_what_is_predicted_is_what_the_program_runs(study):
    """The grid of a weak series, and how it is cut. test_subcommands.py compares more of a record."""
    one, two = (RunRecord(study / f"ranks-{ranks}_precision-fp64") for ranks in (1, 2))
    for ranks, record, content in ((1, one, runs_of(study)[0]), (2, two, runs_of(study)[1])):
        assert record.layout == ((17, 13, 15 * ranks), tuple(content["decomposition"]["process_grid"]), (False, True, False))
        assert (record.problem, record.kernel, record.fused_norm, record.ranks_per_host) == ("transient", "reference", False, ranks)
        assert (record.sweeps, record.checks, record.rank_cells) == (4, content["residual"]["checks"], 17 * 13 * 15)
    predicted, = scaling.layouts("weak", one, [2], 1)
    assert predicted == two.layout
    assert scaling.layouts("strong", one, [13 * 17 * 15, 4000], 2) == [None, None]
