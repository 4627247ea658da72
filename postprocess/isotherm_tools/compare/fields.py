"""Two snapshots, bit by bit."""

import h5py
import numpy as np

from isotherm_tools.text import grouped


def field_difference(expected, found):
    """"2 of 3 520 cells; the first, (1, 0, 7), is 300.1 and should be 300"; empty where there is none. A plane at a time."""
    count, first = 0, None
    with h5py.File(expected) as a, h5py.File(found) as b:
        cells, others = a["temperature"], b["temperature"]
        if cells.shape != others.shape or cells.dtype != others.dtype:
            return f"the file has {others.dtype} {others.shape} and should have {cells.dtype} {cells.shape}"
        for z in range(cells.shape[0]):
            plane, other = cells[z], others[z]
            bits = f"u{plane.itemsize}"
            differ = np.argwhere(plane.view(bits) != other.view(bits))
            count += len(differ)
            if len(differ) and not first:
                y, x = map(int, differ[0])
                first = f"the first, ({x}, {y}, {z}), is {other[y, x]!s} and should be {plane[y, x]!s}"
        return f"{grouped(count)} of {grouped(cells.size)} cells; {first}" if count else ""
