"""The frames of a series that have no row in its result file: planned ones behind the last that came.

All of them are in one state, so that a plan takes neither space nor time, however large it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.processing.results import layout


class Beyond(NamedTuple):
    """Consecutive frames without a row; none if `first` is `end`."""

    first: int
    """The first of them: so many frames have a row."""
    end: int
    """Number of all frames of the series."""
    state: int
    """State of each, see `layout.CODES`."""


def beyond(file: Any) -> Beyond:
    """Return the frames without a row.

    Args:
        file: h5py file.
    """
    rows = len(file[layout.STATUS])
    counts = {name: int(file[f"{layout.COUNTED}/{name}"][()]) for name in layout.COUNTS}
    # While the number is unknown there may be more rows than frames. What is counted is counted at the end.
    end = max(rows, counts.pop("planned"), sum(counts.values()))
    state = int(file[layout.BEYOND][()]) if layout.BEYOND in file else layout.PENDING
    return Beyond(rows, end, state)


def padded(values: np.ndarray[Any, Any], count: int, blank: Any) -> np.ndarray[Any, Any]:
    """Return values, (count, …), of frames of which those at the end have no row.

    Args:
        values: of those that have one.
        count: number of frames.
        blank: value of the others.
    """
    missing = count - len(values)
    if not missing:
        return values
    return np.concatenate([values, np.full((missing, *values.shape[1:]), blank, values.dtype)])
