"""The series of which a pipeline has told: their results can be asked for while their files are there."""

from __future__ import annotations

from penstock.processing.models import Series, Status
from penstock.processing.service.result_values import NoResults

MOST = 100
"""Series that are kept."""


class KeptSeries:
    """The newest series, by id."""

    def __init__(self) -> None:
        self._known: dict[str, Series] = {}

    def take(self, status: Status) -> None:
        """Take what a status says of series."""
        for series in reversed([*([] if status.series is None else [status.series]), *status.others]):
            self._known[series.id] = series  # an id that is known keeps its place
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def of(self, series: str) -> Series:
        """Return what was said last of a series.

        Raises:
            NoResults: it is not known (any more).
        """
        if (found := self._known.get(series)) is None:
            raise NoResults(
                "no_such_series",
                f"series {series} is none of the last {MOST} since this pipeline was started; open its "
                "result file, if there is one",
            )
        return found
