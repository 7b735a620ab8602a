"""What the receiver says of its series, asked over HTTP; who calls waits for the answers."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any, TypeAlias

import numpy as np

from penstock.processing.distributor.receiver.events import Begun, Forgotten, Over, OverMarks, mark_of
from penstock.receiver.client import ReceiverClient, ReceiverRefused
from penstock.receiver.models import Counts, LostRange, PastSeries, Series, Status

LOOKS = (10, 100, 1000)
"""Series of the receiver's past that are looked at: more, if all of fewer are new. It has no more than the
last number."""
TOLD = 10 * LOOKS[-1]
"""Series that are remembered as told: more than the receiver's past can have."""
ABSENT = ("missing", "corrupt", "not_triggered")
"""Fates of frames that the receiver does not have."""
_Key: TypeAlias = tuple[str, float]


class Word:
    """The receiver's word, with what was told already.

    Args:
        client: of the receiver.
        since: series that have ended before this time (seconds since 1970) are old; only the last of these is
            told.
        over: marks of series that are over for an earlier distributor, and are not told.
    """

    def __init__(self, client: ReceiverClient, since: float, over: bytes = b"") -> None:
        self._client = client
        self._since = since
        self._over_before = OverMarks(over)
        self._told: dict[_Key, None] = {}
        """Series of which it was told that they are over."""
        self._listed: dict[_Key, None] = {}
        """Series that were seen in the past: what is older was seen, too."""
        self.has_looked = False
        """True if the past was looked at."""

    def begun(self, series: str, channels: Sequence[str] | None) -> Begun:
        """Return what is known of a series that has begun, with its mask.

        Raises:
            NoAnswer: the receiver does not answer, or cannot tell now.
        """
        found = self._client.series(series)
        if found is None:
            return Begun(series, None, "", 0.0, None)
        known = found.series
        mask = None if channels is None else self._mask(series, channels)
        return Begun(series, known.filename, _group(known), known.started, mask)

    def over(self, series: str) -> Over | Forgotten | None:
        """Return what has become of a series; `None` while it runs.

        Raises:
            NoAnswer: the receiver does not answer, or cannot tell now.
        """
        found = self._client.series(series)
        if found is None:
            return Forgotten(series)
        if found.series.active:
            return None
        over = self._over(found.series, found.counts)
        _remember(self._told, found.series)
        return over

    def ended(self, status: Status) -> list[Over]:
        """Return the series that have ended since the last call and were not told, the oldest first.

        Raises:
            NoAnswer: the receiver does not answer.
        """
        past = self._past()
        if status.series is not None and not status.series.active:
            past = [PastSeries(series=status.series, counts=status.counts), *past]
        newest = True
        new: dict[_Key, PastSeries] = {}  # the last series may stand in status and past
        for each in past:
            series = each.series
            if not series.taken or not series.id:
                continue
            is_old = series.ended < self._since and (self.has_looked or not newest)
            newest = False
            if _key(series) in self._told:
                continue
            if is_old or self._over_before.has((mark_of(series.id, series.started),)):
                _remember(self._told, series)
            else:
                new.setdefault(_key(series), each)
        overs = [self._over(each.series, each.counts) for each in reversed(new.values())]
        # Not before: the receiver may not have answered.
        for each in new.values():
            _remember(self._told, each.series)
        for each in reversed(past):
            _remember(self._listed, each.series)
        self.has_looked = True
        return overs

    def _past(self) -> list[PastSeries]:
        """Return the past series as far back as they are new, or further; the newest first."""
        past: list[PastSeries] = []
        for most in LOOKS:
            past = self._client.history(most)
            if len(past) < most:
                break
            oldest = past[-1].series
            if oldest.ended < self._since or _key(oldest) in self._listed:
                break
        return past

    def _over(self, series: Series, counts: Counts) -> Over:
        parts = (
            counts.stored, counts.partial, counts.delivered, counts.discarded, counts.corrupt,
            counts.missing, counts.not_triggered, counts.pending,
        )  # fmt: skip
        frames = counts.planned if counts.planned is not None else sum(parts)
        absent: list[tuple[int, int]] = []
        if counts.missing or counts.corrupt or counts.not_triggered:
            absent = [(lost.first, lost.last) for lost in self._lost(series) if lost.fate in ABSENT]
        return Over(
            series.id, series.filename, _group(series), series.started, series.ended, frames, tuple(absent),
            "" if series.complete else series.reason,
        )  # fmt: skip

    def _lost(self, series: Series) -> list[LostRange]:
        """Return the ranges of frames that were lost; of a series before the last one, the first hundred."""
        found: list[LostRange] = []
        first: int | None = 0
        try:
            while first is not None:
                answer = self._client.lost_frames(first, 10_000, series.id)
                found += answer.ranges
                first = answer.next
        except ReceiverRefused:
            return [LostRange(*each) for each in series.lost]
        return found

    def _mask(self, series: str, channels: Sequence[str]) -> bytes | None:
        try:
            masks = [self._client.mask(channel, series) for channel in channels or (None,)]
        except ReceiverRefused:
            return None
        alike = all(np.array_equal(masks[0], mask) for mask in masks[1:])
        mask: Any = masks[0] if alike else np.stack(masks)
        file = BytesIO()
        np.save(file, mask, allow_pickle=False)
        return file.getvalue()


def _key(series: Series) -> _Key:
    """Return what tells a series from all others: an id may be used again by its sender."""
    return series.id, series.started


def _remember(found: dict[_Key, None], series: Series) -> None:
    key = _key(series)
    found.pop(key, None)
    found[key] = None
    while len(found) > TOLD:
        del found[next(iter(found))]


def _group(series: Series) -> str:
    """Return the path of the detector's group in the raw file."""
    return f"/{series.dataset.strip('/').rpartition('/')[0]}" if "/" in series.dataset else ""
