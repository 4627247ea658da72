"""Scaling series: what the records tell, what the model is fed with, measured and predicted side by side."""

import math

import pytest

from isotherm_tools import scaling_fit
from isotherm_tools.run_record import Link, RunRecord
from isotherm_tools.scaling_fit import Wishes
from isotherm_tools.scaling_model import Wire
from scaling_runs import GB, US, WEIGHTS, WIRES, series_of, strong_series, write_run


@pytest.fixture
def strong(tmp_path):
    return strong_series(tmp_path)


def measured(series, field):
    return [getattr(row.measured, field) for row in series.rows if row.measured]


def predicted(series, field):
    return [row.predicted and getattr(row.predicted, field) for row in series.rows]


def test_measured_speedup_and_efficiency(strong):
    series = series_of(strong)
    assert series.kind == "strong" and series.base.ranks == 1
    assert [row.ranks for row in series.rows] == [1, 2, 4, *(2**i for i in range(3, 13))]
    assert measured(series, "efficiency") == pytest.approx([1, 0.9, 0.8])
    assert measured(series, "speedup") == pytest.approx([1, 1.8, 3.2])
    assert [row.rank_cells for row in series.rows[:4]] == [64**3, 64**3 // 2, 64**3 // 4, 32**3]
    assert [row.parts for row in series.rows[1:4]] == [(1, 1, 2), (1, 2, 2), (2, 2, 2)]


def test_rows_stand_in_the_order_of_ranks(strong):
    series = series_of(strong[:2], WIRES._replace(ranks=(8, 2)))
    assert [(row.ranks, row.measured is None) for row in series.rows] == [(1, False), (2, True), (4, False), (8, True)]


def test_weak_by_the_cells_a_rank(tmp_path):
    runs = [write_run(tmp_path, ranks, step, (64, 64, 64 * ranks)) for ranks, step in ((1, 1e-4), (2, 1.25e-4))]
    series = series_of(runs, Wishes(ranks=(16,), ranks_a_host=16, inside_bandwidth=GB, inside_latency=0.0))
    assert series.kind == "weak"
    assert measured(series, "efficiency") == pytest.approx([1, 0.8])
    assert measured(series, "speedup") == pytest.approx([1, 1.6])
    assert [(row.ranks, row.cells, row.parts) for row in series.rows[2:]] == [(16, (128, 128, 256), (2, 2, 4))]


def test_against_a_run_of_several_ranks(strong):
    series = series_of([strong[0], strong[2]])
    assert measured(series, "speedup") == pytest.approx([2, 4 * 0.8 / 0.9])
    assert measured(series, "efficiency") == pytest.approx([1, 0.8 / 0.9])
    assert predicted(series, "efficiency")[0] == pytest.approx(1)


def test_the_model_is_fed_with_the_smallest_run(strong):
    """On one rank ghosts of walls are a part of the sweeps; on two, half of the time was waiting."""
    series = series_of(strong)
    assert series.costs == pytest.approx((262e-6 / 64**3, 0, 100e-6, 0))
    assert predicted(series, "step")[0] == pytest.approx(263e-6)
    assert series.method == (8, 1, True, 100)
    two = (263e-6 / 2 / 0.9 - US) / 2
    assert series_of([strong[0], strong[2]]).costs == pytest.approx((two / 32 / 64**2, 0, 100e-6, 0))


def test_predicted_beside_measured(strong):
    """z is periodic: two ranks send each other both faces, 65.536 us of the wire, behind 62 of 64 planes."""
    series = series_of(strong)
    cell, norm = 262 / 64**3, (100 + 5) / 100
    assert predicted(series, "step")[1] == pytest.approx((131 + norm) * US)
    assert predicted(series, "hidden")[:2] == [None, pytest.approx(1)]
    slow = series_of(strong, WIRES._replace(inside_bandwidth=GB / 4))
    waits = 5 + 4 * 65.536
    assert predicted(slow, "step")[1] == pytest.approx((waits + cell * 2 * 64**2 + norm) * US)
    assert predicted(slow, "speedup")[1] == pytest.approx(263 / (waits + cell * 2 * 64**2 + norm))
    off = series_of(strong, WIRES._replace(overlap=False))
    assert predicted(off, "step")[1] == pytest.approx((131 + 5 + 65.536 + norm) * US)


@pytest.mark.parametrize(
    "wishes, costs",
    [
        (Wishes(launch=100 * US), (162e-6 / 64**3, 100 * US, 100 * US, 0)),
        (Wishes(cell_time="copy"), (16 / 4e12, 0, 100 * US, 0)),
    ],
)
def test_costs_as_wished(strong, wishes, costs):
    assert scaling_fit.costs_of(RunRecord(strong[1]), wishes) == pytest.approx(costs)


def test_a_norm_that_is_not_fused_grows_with_the_block(tmp_path):
    run = RunRecord(write_run(tmp_path, 1, 1e-3, method={"reduction": "cub"}))
    assert scaling_fit.costs_of(run, Wishes())[2:] == (0.0, pytest.approx(100 * US / 64**3))
    run = RunRecord(write_run(tmp_path, 1, 1e-3, residual={"checks": 0}))
    assert scaling_fit.costs_of(run, Wishes())[2:] == (0.0, 0.0)
    assert scaling_fit.method_of(run, Wishes()).check_interval == math.inf


def test_cells_that_neighbours_compute_too_are_no_cells_more(tmp_path):
    """Depth 2 on two ranks, periodic in z: 32 and 34 planes for every 64 computed."""
    record = RunRecord(write_run(tmp_path, 2, 1e-3, method={"depth": 2}))
    assert scaling_fit.costs_of(record, Wishes()).cell == pytest.approx((1e-3 - US) / 2 / (33 * 64**2))


@pytest.mark.parametrize(
    "ranks, changes, wishes, method",
    [
        (2, {}, Wishes(), (8, 1, True, 100)),
        (2, {"method": {"overlap": "off", "depth": 3}, "grid": {"precision": "fp32"}}, Wishes(), (4, 3, False, 100)),
        (2, {}, Wishes(depth=2, overlap=False, check_interval=7), (8, 2, False, 7)),
        (1, {}, Wishes(), (8, 1, True, 100)),  # one rank overlaps nothing; more would
        (1, {"ranks": [{"host": "a", "backend": "cpu", "device": "CPU"}]}, Wishes(), (8, 1, False, 100)),
    ],
)
def test_method_of_a_run(tmp_path, ranks, changes, wishes, method):
    assert scaling_fit.method_of(RunRecord(write_run(tmp_path, ranks, 1e-3, **changes)), wishes) == method


FAST, SLOW = {"bandwidth_bytes_per_s": 300e9, "latency_s": 5e-6}, {"bandwidth_bytes_per_s": 20e9, "latency_s": 9e-6}


@pytest.mark.parametrize(
    "hosts, halo, found",
    [
        (1, {"neighbours": [{"peer": 1, "transport": "peer", **FAST}]}, [(True, 300e9, 5e-6)]),
        (1, [{"bandwidth": 3e9, "latency": {"mean": 2e-6, "max": 3e-6}}], [(True, 3e9, 2e-6)]),
        (2, {"neighbours": [{"rank": 0, "peer": 1, **FAST}, {"rank": 1, "peer": 2, **SLOW}]},
         [(True, 300e9, 5e-6), (False, 20e9, 9e-6)]),
        (2, {"ranks": [{"rank": 3, "neighbours": [{"peer": 1, **SLOW}]}]}, [(False, 20e9, 9e-6)]),
        (2, {"neighbours": [{"transport": "host", **SLOW}, {"rank": 0, "peer": 99, **SLOW}]},
         [(None, 20e9, 9e-6)] * 2),
        (1, {"neighbours": [{"bandwidth_bytes_per_s": None, "latency_s": None}, {"latency": 1}, "x", 3]}, []),
        (1, {"transport": "host", "bytes": 12}, []),
        (1, "host", []),
        (1, None, []),
    ],
)
def test_links_are_read_where_the_record_has_them(tmp_path, hosts, halo, found):
    record = RunRecord(write_run(tmp_path, 4, 1e-3, hosts=hosts, halo=halo))
    assert record.links == [Link(*link) for link in found] and record.hidden is None


def test_hidden_is_read_where_the_record_has_it(tmp_path):
    halo = {"hidden_percent": 87.5, "neighbours": [{"peer": 1, **FAST}]}
    record = RunRecord(write_run(tmp_path, 2, 1e-3, halo=halo))
    assert record.hidden == 0.875 and len(record.links) == 1
    assert measured(series_of([write_run(tmp_path, 1, 2e-3), record.path]), "hidden") == [None, 0.875]


def test_wires_are_the_median_of_the_largest_run_unless_given(tmp_path):
    def record(ranks, *figures, hosts=1):
        halo = [{"rank": 0, "peer": ranks - 1, "bandwidth": b, "latency": l} for b, l in figures]
        return RunRecord(write_run(tmp_path, ranks, 1e-3, hosts=hosts, halo=halo))

    runs = [record(4, (1e9, 1e-6), (3e9, 2e-6), (2e9, 9e-6)), record(2, (9e9, 1e-6)), record(8)]
    machine = scaling_fit.machine_of(runs, Wishes())
    assert machine == (8, Wire(2e-6, 2e9), None, 0.0)
    machine = scaling_fit.machine_of(runs, Wishes(inside_latency=0.0, ranks_a_host=2, between_latency=1.0, overhead=US))
    assert machine == (2, Wire(0.0, 2e9), None, US)
    machine = scaling_fit.machine_of([*runs, record(8, (4e9, 7e-6), hosts=2)], Wishes())
    assert machine == (8, Wire(2e-6, 2e9), Wire(7e-6, 4e9), 0.0)


@pytest.mark.parametrize(
    "wishes, known, note",
    [
        (Wishes(), [1], "no prediction from 2 ranks on (the wires within a host are unknown); "
                        "give --intra-bandwidth and --intra-latency"),
        (WIRES._replace(between_latency=None), [1, 2, 4], "no prediction from 8 ranks on (the wires between hosts are "
                                                          "unknown); give --network-bandwidth and --network-latency"),
        (WIRES._replace(depth=16), [1, 2, 4, 8, 16, 32, 64], "no prediction for 128, 256, 512, 1024, 2048, 4096 ranks "
                                                             "(their blocks are thinner than the halo, 16 cells)"),
        (WIRES._replace(depth=16), [1, 2, 4, 8, 16, 32, 64], "predicted for depth 16, measured at 1"),
    ],
)
def test_what_cannot_be_predicted_is_said(strong, wishes, known, note):
    series = series_of(strong, wishes)
    assert [row.ranks for row in series.rows if row.predicted] == known
    assert [row.ranks for row in series.rows if row.measured] == [1, 2, 4]
    assert note in series.notes


def test_without_a_prediction_of_the_smallest_run_there_is_none(strong):
    series = series_of([strong[0], strong[2]], Wishes())
    assert predicted(series, "step") == [None, None]
    assert series.notes == ["no prediction, for the run that all is compared with has none (the wires within a host "
                            "are unknown); give --intra-bandwidth and --intra-latency"]


def test_different_kernels_are_said(strong, tmp_path):
    other = write_run(tmp_path, 8, 1e-4, method={"kernel": "tiled", "policy": None, "depth": 2})
    assert series_of([*strong, other]).notes == [
        "kernel differs: naive 32x8x1 on 1, 2, 4; tiled on 8", "depth differs: 1 on 1, 2, 4; 2 on 8"]


def test_process_grids_are_by_the_weights_of_the_record(tmp_path):
    weights = {**WEIGHTS, "sector_bytes": 32, "wire_bytes_per_s": 4.5e11, "wire_sector_bytes": 32, "touches": 4}
    parts = {}
    for name, known in (("gpu", weights), ("surface", WEIGHTS), ("unknown", None)):
        run = write_run(tmp_path, 1, 1e-3, (1024,) * 3, decomposition={"weights": known})
        series = series_of([run], WIRES._replace(kind="strong", ranks=(8,)))
        parts[name] = series.rows[1].parts
        assert series.notes[0] == "the prediction is from one run (1 rank): no other run tests it"
        assert bool(series.notes[1:]) == (known is None)
    assert parts == {"gpu": (1, 2, 4), "surface": (2, 2, 2), "unknown": (2, 2, 2)}
    assert series.notes[1:] == [f"process grids of least surface are predicted ({run / 'run.json'} does not tell what the "
                                "program weighs)"]


def test_every_run_has_a_row_and_the_fastest_is_compared_with(strong, tmp_path):
    slower = write_run(tmp_path, 1, 300e-6)
    series = series_of([slower, *strong])
    assert [row.ranks for row in series.rows[:4]] == [1, 1, 2, 4]
    assert measured(series, "efficiency") == pytest.approx([1, 263 / 300, 0.9, 0.8])
