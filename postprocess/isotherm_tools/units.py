"""Units in which a reader thinks: one for all lengths of a figure, one for a time."""

from typing import NamedTuple


class Unit(NamedTuple):
    name: str
    si: float  # metres or seconds


LENGTHS = [Unit("nm", 1e-9), Unit("µm", 1e-6), Unit("mm", 1e-3), Unit("m", 1.0), Unit("km", 1e3)]
# A unit of time is taken when there are at least this many seconds.
TIMES = [
    (0.0, Unit("ns", 1e-9)),
    (1e-6, Unit("µs", 1e-6)),
    (1e-3, Unit("ms", 1e-3)),
    (1.0, Unit("s", 1.0)),
    (600.0, Unit("min", 60.0)),
    (3 * 3600.0, Unit("h", 3600.0)),
    (3 * 86400.0, Unit("d", 86400.0)),
]


def length_unit(metres):
    """The largest unit of which `metres` holds at least one; lengths from 1 nm on."""
    fitting = [unit for unit in LENGTHS if abs(metres) >= unit.si * (1 - 1e-9)]
    return fitting[-1] if fitting else LENGTHS[0]


def split_unit(column):
    """("wall_x_min", "W") of the column wall_x_min_W; those without a unit have counts and shares."""
    quantity, _, unit = column.rpartition("_")
    return (quantity, unit) if unit in ("K", "J", "W", "s") else (column, "")


def time_unit(seconds):
    if seconds == 0:
        return Unit("s", 1.0)
    return [unit for least, unit in TIMES if abs(seconds) >= least][-1]


def format_time(seconds):
    unit = time_unit(seconds)
    return f"{seconds / unit.si:.4g} {unit.name}"


def format_length(metres, unit):
    return f"{metres / unit.si:.4g} {unit.name}"


def si(value, unit):
    """"7.12 GB/s" of 7.12e9 and "B/s"; a dash where there is no value."""
    if value is None:
        return "-"
    prefixes = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")]
    size, prefix = next(((size, name) for size, name in prefixes if abs(value) >= size * (1 - 1e-9)), (1.0, ""))
    return f"{value / size:.3g} {prefix}{unit}".rstrip()


def percent(value):
    return "-" if value is None else f"{value:.1f} %"
