"""The scaling model: numbers worked out by hand, and its limits."""

import math

import pytest

from isotherm_tools import scaling_model as model
from isotherm_tools.process_grids import process_grid
from isotherm_tools.scaling_model import BETWEEN, INSIDE, Costs, Layout, Machine, Method, Wire

NS, US, GB = 1e-9, 1e-6, 1e9
COSTS = Costs(cell=NS)
INSIDE_WIRE, BETWEEN_WIRE = Wire(5 * US, GB), Wire(10 * US, GB / 2)
ONE_HOST, TWO_HOSTS = Machine(8, INSIDE_WIRE), Machine(4, INSIDE_WIRE, BETWEEN_WIRE)
FREE = Machine(8, Wire(0.0, math.inf), Wire(0.0, math.inf))
EIGHT = Layout((64, 64, 64), (2, 2, 2))  # blocks of 32^3, each with three neighbours
POWERS = [2**i for i in range(13)]


def microseconds(prediction):
    return prediction.step / US


def strong(costs, method, machine, ranks, cells=(256, 256, 256)):
    return model.predict(costs, method, machine, Layout(cells, process_grid(ranks, cells, method.depth)))


def efficiencies(costs, method, machine, counts=POWERS, cells=(256, 256, 256)):
    steps = [strong(costs, method, machine, ranks, cells).step for ranks in counts]
    return [steps[0] * counts[0] / (step * ranks) for step, ranks in zip(steps, counts)]


@pytest.mark.parametrize(
    "method, machine, step",
    [
        # 32768 cells of 1 ns; three faces of 32^2 values of 8 bytes are 24.576 us of the wire, and 5 us of latency.
        (Method(overlap=False), ONE_HOST, 32.768 + 29.576),
        # 31^3 cells do not wait: 29.791 us of work cover the exchange, or all but a part of one of 10 us more.
        (Method(overlap=True), ONE_HOST, 32.768),
        (Method(overlap=True), ONE_HOST._replace(inside=Wire(15 * US, GB)), 32.768 - 29.791 + 39.576),
        # Half the bytes in fp32.
        (Method(value_bytes=4, overlap=False), ONE_HOST, 32.768 + 12.288 + 5),
        # x fastest: the z neighbour is on the other host. Its face takes 16.384 us, the two others together as long.
        (Method(overlap=False), TWO_HOSTS, 32.768 + max(10 + 16.384, 5 + 16.384)),
        (Method(overlap=False), TWO_HOSTS._replace(overhead=US), 32.768 + 26.384 + 3),
        # Two sweeps, 33^3 and 32^3; seven neighbours: faces two deep, edges of 4 x 32 and a corner of 8 values.
        (Method(depth=2, overlap=False), ONE_HOST, (32.768 + 35.937 + 5 + 8 * (3 * 2048 + 3 * 128 + 8) / 1e3) / 2),
        # Every ten sweeps a norm, and three doublings of 8 ranks; two and one of two hosts of four.
        (Method(overlap=True, check_interval=10), ONE_HOST, 32.768 + 3 * 5 / 10),
        (Method(overlap=True, check_interval=10), TWO_HOSTS, 32.768 + (2 * 5 + 10) / 10),
    ],
)
def test_numbers_worked_out_by_hand(method, machine, step):
    assert microseconds(model.predict(COSTS, method, machine, EIGHT)) == pytest.approx(step)


def test_what_does_not_scale_with_the_exchange():
    costs = Costs(cell=NS, launch=3 * US, check=20 * US, check_cell=NS / 2)
    alone = Layout((64, 32, 16), (1, 1, 1))
    assert model.predict(costs, Method(check_interval=4), Machine(1), alone) == (
        pytest.approx((32.768 + 3 + (20 + 16.384) / 4) * US), 0.0, None)
    for depth in 1, 2:
        assert microseconds(model.predict(costs, Method(depth=depth), Machine(1), alone)) == pytest.approx(35.768)


def test_hidden_is_the_share_behind_the_interior():
    slow = ONE_HOST._replace(inside=Wire(15 * US, GB))
    assert model.predict(COSTS, Method(overlap=True), ONE_HOST, EIGHT).hidden == 1
    assert model.predict(COSTS, Method(overlap=True), slow, EIGHT).hidden == pytest.approx(29.791 / 39.576)
    assert model.predict(COSTS, Method(overlap=False), slow, EIGHT).hidden == 0
    assert model.predict(COSTS, Method(), FREE, EIGHT).hidden is None
    assert model.predict(COSTS, Method(), slow, EIGHT).exchange == pytest.approx(39.576 * US)
    assert model.predict(COSTS, Method(depth=2), slow, EIGHT).exchange == pytest.approx((15 + 52.288) / 2 * US)


def share(layout, place, method=Method(), machine=TWO_HOSTS):
    return model.share_of(place, method, machine, layout)


def test_what_a_rank_has_to_do():
    """Walls have no neighbour; a periodic axis of two parts has one on both sides, one of one part none."""
    row = Layout((10, 6, 11), (1, 1, 4))
    assert share(row, (0, 0, 0)) == ((10, 6, 3), (0, 0, 1), ((INSIDE, 60),))
    assert share(row, (0, 0, 3)) == ((10, 6, 2), (0, 0, 1), ((INSIDE, 60),))
    assert share(row, (0, 0, 1)) == ((10, 6, 3), (0, 0, 2), ((INSIDE, 60), (INSIDE, 60)))
    assert share(row._replace(periodic=(True, True, True)), (0, 0, 0)).messages == ((INSIDE, 60), (INSIDE, 60))
    two = Layout((10, 6, 11), (1, 1, 2), (False, False, True))
    assert share(two, (0, 0, 0)) == ((10, 6, 6), (0, 0, 2), ((INSIDE, 120),))
    assert share(row, (0, 0, 1), machine=Machine(2)).messages == ((BETWEEN, 60), (INSIDE, 60))
    box = Layout((6, 10, 14), (2, 2, 2))  # two ranks a host: x neighbours share one
    assert share(box, (0, 0, 0), machine=Machine(2)).messages == ((BETWEEN, 15), (BETWEEN, 21), (INSIDE, 35))


def test_the_slowest_rank_is_the_time_of_all():
    layout = Layout((1, 1, 7), (1, 1, 3))  # blocks of 3, 2 and 2
    assert model.predict(COSTS, Method(), FREE, layout).step == pytest.approx(3 * NS)
    # Three blocks of equal size: the one in the middle sends two messages.
    layout = Layout((10, 10, 30), (1, 1, 3))
    assert microseconds(model.predict(COSTS, Method(overlap=False), ONE_HOST, layout)) == pytest.approx(1 + 5 + 1.6)


def test_blocks_are_no_thinner_than_the_halo():
    assert model.fits(Layout((8, 8, 7), (1, 1, 2)), 3) and not model.fits(Layout((8, 8, 7), (1, 1, 2)), 4)
    assert model.fits(Layout((8, 8, 2), (1, 2, 1)), 4)
    assert not model.fits(Layout((8, 8, 2), (1, 2, 1), (False, False, True)), 4)


def test_wires_are_needed_where_they_are_used():
    assert model.unknown_wires(Machine(4), 1) == []
    assert model.unknown_wires(Machine(4), 4) == [INSIDE]
    assert model.unknown_wires(Machine(4), 5) == [INSIDE, BETWEEN]
    assert model.unknown_wires(Machine(1), 5) == [BETWEEN]
    assert model.unknown_wires(TWO_HOSTS, 5) == []


@pytest.mark.parametrize("overlap", [False, True])
def test_wires_that_cost_nothing_scale_perfectly(overlap):
    assert efficiencies(COSTS, Method(overlap=overlap), FREE) == pytest.approx([1] * len(POWERS), rel=1e-12)


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("cell", [1e-12, 4e-12, 1e-9])
def test_strong_scaling_only_falls(overlap, depth, cell):
    machine = Machine(8, Wire(5 * US, 300 * GB), Wire(8 * US, 25 * GB))
    method = Method(depth=depth, overlap=overlap, check_interval=50)
    found = efficiencies(Costs(cell, launch=2 * US, check=10 * US), method, machine, POWERS[:10])
    assert found[0] == 1 and all(after < before for before, after in zip(found, found[1:])) and found[-1] > 0


def test_overlap_never_costs():
    machine = Machine(8, Wire(5 * US, 300 * GB), Wire(8 * US, 25 * GB))
    for ranks in POWERS[1:]:
        with_it, without = (strong(Costs(4e-12), Method(overlap=overlap), machine, ranks) for overlap in (True, False))
        assert with_it.step < without.step
        assert without.step - with_it.step == pytest.approx(with_it.hidden * with_it.exchange)


def test_depth_pays_where_latency_dominates_and_costs_where_wires_are_free():
    slow = Machine(8, Wire(100 * US, math.inf), Wire(100 * US, math.inf))
    by_depth = [efficiencies(Costs(1e-12), Method(depth=depth), slow, [1, 512])[-1] for depth in (1, 2, 4)]
    assert by_depth[0] < by_depth[1] < by_depth[2]
    assert by_depth[2] == pytest.approx(4 * by_depth[0], rel=0.01)
    by_depth = [efficiencies(Costs(1e-12), Method(depth=depth), FREE, [1, 512])[-1] for depth in (1, 2, 4)]
    assert by_depth[0] > by_depth[1] > by_depth[2]


def test_weak_scaling_settles_once_every_axis_is_cut():
    """From 4 parts an axis on there are ranks with six neighbours; without norms nothing grows any more."""
    layouts = [Layout(tuple(64 * p for p in parts), parts) for parts in map(process_grid, POWERS)]
    machine = Machine(1, None, Wire(8 * US, 25 * GB))
    steps = [model.predict(COSTS, Method(overlap=False), machine, layout).step for layout in layouts]
    assert all(before <= after for before, after in zip(steps, steps[1:]))
    assert len(set(steps[POWERS.index(64):])) == 1 and steps[0] < steps[1] < steps[-1]
