"""The values of regions of interest in the file: one row per frame in each dataset.

There is one group per region, `rois/<name>` in the NXdetector group, an NXdata that plots its sums. Rows are
written in batches, at a flush; a row that was never written reads as NaN. A file that an older receiver began
has no dataset `saturated`, and gets none when it is resumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.regions.pixels import UNITS, VALUES
from penstock.receiver.regions.series import RegionSeries, Row

GROUP = "rois"
CHUNK = 1024
"""Rows per chunk."""
LONG_NAMES = {
    "sum": "sum of the pixels that count",
    "mean": "mean of the pixels that count",
    "max": "maximum of the pixels that count",
    "saturated": "saturated pixels among them",
}


def create(detector: Any, rois: Mapping[str, Rectangle]) -> None:
    """Create the groups, without rows.

    Args:
        detector: NXdetector group.
        rois: rectangles by name; no group is created for an empty mapping.
    """
    if not rois:
        return
    parent = detector.create_group(GROUP)
    parent.attrs["NX_class"] = "NXcollection"
    for name, region in rois.items():
        group = parent.create_group(name)
        group.attrs.update(NX_class="NXdata", signal=VALUES[0], auxiliary_signals=list(VALUES[1:]))
        for value in VALUES:
            dataset = group.create_dataset(
                value, (0,), "float64", maxshape=(None,), chunks=(CHUNK,), fillvalue=np.nan
            )
            dataset.attrs.update(units=UNITS[value], long_name=LONG_NAMES[value])
        for field in Rectangle.__struct_fields__:
            group[field] = getattr(region, field)
            group[field].attrs["units"] = "pixel"


def found_in(detector: Any) -> dict[str, Rectangle]:
    """Return the rectangles of a file's regions by name."""
    return {
        name: Rectangle(*(int(group[field][()]) for field in Rectangle.__struct_fields__))
        for name, group in _groups(detector).items()
    }


def read(detector: Any, rows: int) -> dict[int, Row]:
    """Return the values of the first frames of a file, by index; frames without values are left out."""
    groups = _groups(detector)
    if not groups:
        return {}
    found = np.full((rows, len(groups), len(VALUES)), np.nan)
    for number, group in enumerate(groups.values()):
        for column, dataset in _there(group):
            found[:, number, column] = dataset[:rows]
    there = np.flatnonzero(~np.isnan(found).all(axis=(1, 2)))
    return {int(index): found[index] for index in there}


def forget(detector: Any, kept: np.ndarray[Any, Any]) -> None:
    """Truncate the rows, and erase those of frames that are not in the file.

    Args:
        detector: NXdetector group, open for writing.
        kept: one bool per index: frames whose values stay.
    """
    for dataset in _datasets(detector):
        values = np.full(len(kept), np.nan)
        there = dataset[: len(kept)]
        values[: len(there)][kept[: len(there)]] = there[kept[: len(there)]]
        dataset.resize(0, axis=0)  # rows beyond the end of the last chunk would reappear
        dataset.resize(len(kept), axis=0)
        dataset[:] = values


def cut(detector: Any, rows: int) -> None:
    """Truncate to so many rows."""
    for dataset in _datasets(detector):
        dataset.resize(rows, axis=0)


class RegionRows:
    """The rows of one series.

    Args:
        detector: NXdetector group with the datasets.
        series: source of the values; `None` if there are no regions.
    """

    def __init__(self, detector: Any, series: RegionSeries | None) -> None:
        self._series = series if series is not None and series.rois else None
        # In the order of the values, which differs from that in the file.
        names = () if self._series is None else self._series.rois
        self._datasets = [list(_there(detector[GROUP][name])) for name in names]

    @property
    def unwritten(self) -> bool:
        """True if values are not in the file yet."""
        return self._series is not None and bool(self._series.to_write)

    @property
    def room(self) -> int:
        """Most bytes that a flush needs in addition to the rows: a chunk of each dataset, and the next."""
        return 2 * CHUNK * 8 * len(VALUES) * len(self._datasets)

    def resize(self, rows: int) -> None:
        """Make room for so many frames."""
        for region in self._datasets:
            for _, dataset in region:
                dataset.resize(rows, axis=0)

    def write(self, rows: int) -> None:
        """Write all waiting values into the datasets.

        Args:
            rows: length of the datasets.
        """
        waiting = None if self._series is None else self._series.to_write
        if not waiting:
            return
        latest = dict(waiting.popleft() for _ in range(len(waiting)))
        indices = np.array(sorted(index for index in latest if index < rows), np.int64)
        if not len(indices):
            return
        values = np.array([latest[index] for index in indices.tolist()])
        runs = np.split(np.arange(len(indices)), np.flatnonzero(np.diff(indices) > 1) + 1)
        for number, region in enumerate(self._datasets):
            for column, dataset in region:
                for run in runs:
                    first, last = int(indices[run[0]]), int(indices[run[-1]])
                    dataset[first : last + 1] = values[run, number, column]


def _groups(detector: Any) -> dict[str, Any]:
    return dict(detector.get(GROUP, {}).items())


def _datasets(detector: Any) -> Iterator[Any]:
    for group in _groups(detector).values():
        for _, dataset in _there(group):
            yield dataset


def _there(group: Any) -> Iterator[tuple[int, Any]]:
    """Yield the place in a row of each of a region's values, and its dataset."""
    for column, value in enumerate(VALUES):
        if value in group:
            yield column, group[value]
