"""The frames of one series, and the values of its channels that belong to them. No I/O; the clock is asked by
who calls.

A frame is joined once, `ahead` + `late` seconds after it has come: until then a value may come that is its.
Who needs values to process a frame gets them as soon as they are decided, and at the same time at the latest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from penstock.processing.channels import join
from penstock.processing.channels.history import History
from penstock.processing.channels.join import Floats, Places, Rule
from penstock.processing.channels.recording import ENDED
from penstock.processing.config.pipeline_config import ChannelConfig

TOLERANCES = {"exact": 1e-6, "nearest": 0.1, "hold": np.inf}
"""Tolerances in s, where the pipeline's file says nothing."""


class Channel:
    """One channel: how it is joined, what was recorded, and what is said of it.

    Args:
        config: of the channel.
    """

    def __init__(self, config: ChannelConfig) -> None:
        self.config = config
        self.name = config.name
        tolerance = TOLERANCES[config.how] if config.tolerance is None else config.tolerance
        self.rule = None if config.by == "frame" else Rule(config.how, tolerance, config.offset)
        """`None`: joined by frame."""
        self.history = History()
        self.how = ""
        """How it is read, in words."""
        self.problem = ""
        """Why there are no values of it now; a sentence."""
        self.unit = ""
        """Unit of its values, as far as it is known."""

    @property
    def ahead(self) -> float:
        """How long after a frame its value may have been taken, in s."""
        return 0.0 if self.rule is None else self.rule.ahead

    def places(self, indices: Places, times: Floats, started: float) -> tuple[Places, Floats]:
        """Return the place of each frame's value, and the values among which it is."""
        if self.rule is not None:
            recorded, values, said = self.history.since(-np.inf)
            places = join.by_time(self.rule, times, recorded)
            if self.rule.how == "hold" and len(said):
                places[said[places] == ENDED] = join.NONE
            return places, values
        numbers, values = self._numbered(started)
        return join.by_frame(indices, numbers), values

    def is_decided(self, last: int, latest: float, started: float) -> bool:
        """Return whether all values have come that can be those of frames up to a number and a time."""
        if self.rule is not None:
            return bool(np.isnan(latest)) or join.is_decided(self.rule, latest, self.history.newest)
        numbers, _ = self._numbered(started)
        return bool(len(numbers)) and int(numbers.max()) >= last

    def _numbered(self, started: float) -> tuple[Places, Floats]:
        """Return values since the begin of a series, and which frames they say they belong to; values that
        do not say so are counted."""
        _, values, numbers = self.history.since(started)
        if len(numbers) and not (numbers >= 0).any():
            numbers = np.arange(len(values))
        return numbers, values


class Column(NamedTuple):
    """Values of one channel."""

    values: Floats
    """(frames,), NaN where there is none."""
    matched: np.ndarray[Any, np.dtype[np.bool_]]
    """(frames,)."""


class Joined(NamedTuple):
    """Frames, and the values that are theirs."""

    indices: Places
    columns: dict[str, Column]


@dataclass
class _Chunk:
    """Frames that came together."""

    indices: Places
    times: Floats
    due: float
    given: dict[str, Column] = field(default_factory=dict)
    """Values with which they were processed."""


class Joining:
    """Joins values to the frames of one series.

    Args:
        channels: of the pipeline.
        late: seconds for which values may come later than their frames.
        started: begin of the series, in s since 1970.
    """

    def __init__(self, channels: Sequence[Channel], late: float, started: float) -> None:
        self.started = started
        self.unmatched = {channel.name: 0 for channel in channels}
        """Frames that have come and have no value, by name."""
        self.wait = late + max((channel.ahead for channel in channels), default=0.0)
        """Seconds until a frame that has come is joined."""
        self.needs: tuple[str, ...] = ()
        """Names of the channels whose values frames need to be processed."""
        self.earlier: dict[str, Column] = {}
        """Values by name of a channel that the first frames of the series are known to have."""
        self._channels = channels
        self._chunks: deque[_Chunk] = deque()
        self._held: deque[_Chunk] = deque()
        self._seen = np.zeros(4096, bool)
        self._has_begun = False

    @property
    def units(self) -> dict[str, str]:
        """Units by name of a channel, as far as they are known."""
        return {channel.name: channel.unit for channel in self._channels if channel.unit}

    def come(self, indices: Places, times: Floats, due: float, *, held: bool = False) -> None:
        """Take frames that have come, each once.

        Args:
            indices: of the frames.
            times: of the frames, in s since 1970; NaN where they are unknown.
            due: the caller's time at which they are joined.
            held: whether they are not given to workers before `ripe` returns them.
        """
        if not len(indices):
            return
        self._has_begun = True
        self._reach(int(indices.max()))
        is_new = ~self._seen[indices]
        self._seen[indices] = True
        new = indices if is_new.all() else indices[is_new]
        if len(new):
            self._chunks.append(_Chunk(new, times if new is indices else times[is_new], due))
        if held:
            chunk = self._chunks[-1] if len(new) == len(indices) else _Chunk(indices, times, due)
            self._held.append(chunk)

    @property
    def has_begun(self) -> bool:
        """True if a frame has come."""
        return self._has_begun

    def know(self, indices: Places) -> None:
        """Take frames as joined: an earlier distributor has stored their values."""
        if len(indices):
            self._reach(int(indices.max()))
            self._seen[indices] = True

    def unseen(self, indices: Places) -> Places:
        """Return those frames that have not come."""
        if len(indices):
            self._reach(int(indices.max()))
        return indices[~self._seen[indices]]

    @property
    def waits(self) -> bool:
        """True if frames are still to be joined."""
        return bool(self._chunks)

    @property
    def held(self) -> int:
        """Frames that wait for values to be processed."""
        return sum(len(chunk.indices) for chunk in self._held)

    def ripe(self, now: float) -> list[Joined]:
        """Return the held frames whose values that they need are decided, or that have waited long enough,
        in the order in which they came."""
        found = []
        channels = [channel for channel in self._channels if channel.name in self.needs]
        while self._held and (self._held[0].due <= now or self._is_decided(channels, self._held[0])):
            chunk = self._held.popleft()
            chunk.given = self.values(channels, chunk.indices, chunk.times)
            found.append(Joined(chunk.indices, chunk.given))
        return found

    def release(self) -> None:
        """Hold no frames any more: nobody needs the values."""
        self._held.clear()

    def due(self, now: float) -> Joined | None:
        """Return the frames whose time has come, with the values of all channels; `None` if there are none.
        What has no value is counted."""
        chunks: list[_Chunk] = []
        while self._chunks and self._chunks[0].due <= now:
            chunks.append(self._chunks.popleft())
        if not chunks:
            return None
        indices = np.concatenate([chunk.indices for chunk in chunks])
        columns = self.values(self._channels, indices, np.concatenate([chunk.times for chunk in chunks]))
        begin = 0
        for chunk in chunks:
            end = begin + len(chunk.indices)
            for name, given in chunk.given.items():
                columns[name].values[begin:end] = given.values
                columns[name].matched[begin:end] = given.matched
            begin = end
        for name, column in columns.items():
            self.unmatched[name] += int(np.count_nonzero(~column.matched))
        return Joined(indices, columns)

    def values(self, channels: Sequence[Channel], indices: Places, times: Floats) -> dict[str, Column]:
        """Return the values of frames as they are recorded by now."""
        found = {}
        for channel in channels:
            places, values = channel.places(indices, times, self.started)
            matched = places != join.NONE
            column = np.full(len(indices), np.nan)
            column[matched] = values[places[matched]]
            if (earlier := self.earlier.get(channel.name)) is not None:
                known = indices < len(earlier.values)
                column[known] = earlier.values[indices[known]]
                matched[known] = earlier.matched[indices[known]]
            found[channel.name] = Column(column, matched)
        return found

    def _is_decided(self, channels: Sequence[Channel], chunk: _Chunk) -> bool:
        known = chunk.times[~np.isnan(chunk.times)]
        latest = float(known.max()) if len(known) else np.nan
        return all(channel.is_decided(int(chunk.indices.max()), latest, self.started) for channel in channels)

    def _reach(self, index: int) -> None:
        if index >= len(self._seen):
            self._seen = np.concatenate([self._seen, np.zeros(max(index + 1, len(self._seen)), bool)])
