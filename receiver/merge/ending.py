"""The end of a joined series: the end messages of all modules, or reasons not to wait for them.

The series does not wait for a module whose connection is lost, that has begun the next series, or that stays
silent after another module has ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.receiver.connection.events import Cut
from penstock.receiver.connection.expected_frames import (
    Certainty,
    Expected,
    expected_frames,
    triggered_frames,
)
from penstock.receiver.merge import messages
from penstock.receiver.merge.stream import Stream
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import SeriesEnd
from penstock.stins.texts import of_series


class Ending:
    """The modules for whose end the running series still waits.

    Args:
        streams: one per module; the reason why one is `lost` is set here.
        gone_after: seconds without a connection after which a streamer counts as gone.
        within: seconds for which a module may be silent once another has ended.
    """

    def __init__(self, streams: Sequence[Stream], gone_after: float, within: float) -> None:
        self._streams = streams
        self._gone_after = gone_after
        self._within = within
        self._ended_at = 0.0

    @property
    def is_due(self) -> bool:
        """True if the series waits for no module any more."""
        return all(stream.is_done for stream in self._streams)

    @property
    def warning(self) -> str:
        """Modules that are missing from the running series, in a sentence; "" for none."""
        lost = [f"{stream.endpoint}: {stream.lost}" for stream in self._streams if stream.lost]
        silent = [
            f"{stream.endpoint} sends nothing"
            for stream in self._streams
            if stream.absent and not stream.is_done
        ]
        return f"frames are partial: {'; '.join((*lost, *silent))}" if lost or silent else ""

    def has_ended(self, stream: Stream, end: SeriesEnd, now: float) -> None:
        """Take the end message of a module."""
        stream.end, stream.lost = end, ""
        stream.expects_start = True
        self._ended_at = now

    def has_begun_next(self, stream: Stream, now: float) -> None:
        """Note that a module has begun the next series without ending this one."""
        stream.lost = "its end message was lost, it has begun the next series"
        self._ended_at = now

    def observe(self, now: float, connected: Sequence[bool]) -> None:
        """Note since when a module has had no connection."""
        for stream, is_connected in zip(self._streams, connected, strict=True):
            if is_connected:
                stream.gone_since = None
            elif stream.gone_since is None:
                stream.gone_since = now

    def gone(self, series: str, now: float, idle: Sequence[bool]) -> list[StinsError]:
        """Give up modules whose streamer is gone; return an event for each.

        Args:
            idle: for each module, whether its socket is empty.
        """
        errors: list[StinsError] = []
        for stream, is_idle in zip(self._streams, idle, strict=True):
            since = stream.gone_since
            if since is None or stream.is_done or not is_idle:
                continue
            if now - max(since, stream.last) <= self._gone_after:
                continue
            stream.lost = f"its streamer is gone, no connection for {now - since:.1f} s and no end message"
            errors.append(
                RemoteError(
                    "module_gone",
                    f"{stream.endpoint}: {stream.lost}; look whether it still runs{of_series(series)}",
                )
            )
        return errors

    def clock(self, now: float, idle: Sequence[bool]) -> bool:
        """Give up modules that stay silent after another has ended: their end message is lost. Return whether
        there was one.

        Args:
            idle: for each module, whether its socket is empty.
        """
        if not any(stream.end is not None or stream.next is not None for stream in self._streams):
            return False
        lost = False
        for stream, is_idle in zip(self._streams, idle, strict=True):
            if not stream.is_done and is_idle and now - max(self._ended_at, stream.last) > self._within:
                stream.lost = "its end message was lost"
                lost = True
        return lost

    def message(self, series: str, frames: int) -> SeriesEnd | Cut:
        """Return the end message of the joined series.

        Args:
            frames: number of frames that have left.
        """
        ends = [stream.end for stream in self._streams if stream.end is not None]
        if len(ends) < len(self._streams):
            causes = (f"{stream.endpoint}: {stream.lost}" for stream in self._streams if stream.lost)
            return Cut("; ".join(causes))
        facts = [
            stream.numbering.facts(stream.end, stream.numbering.messages)
            for stream in self._streams
            if stream.numbering is not None
        ]
        parts = [expected_frames(each) for each in facts]
        triggered = [
            triggered_frames(each.end, each.arrived + (part.lost or 0))
            for each, part in zip(facts, parts, strict=True)
        ]
        endpoints = [stream.endpoint for stream in self._streams]
        return messages.end(endpoints, ends, series, _sent(frames, parts), triggered)


def _sent(frames: int, parts: Sequence[Expected]) -> int | None:
    """Return how many frames the modules have sent; `None` if unknown.

    Args:
        frames: number of frames of which a module was received.
        parts: what each module must have sent. Of a frame that nobody saw, every module has lost its part.
    """
    known = [part.lost for part in parts if part.lost is not None]
    if len(known) < len(parts) or (any(known) and not all(known)):
        return None
    if not all(known) and any(part.certainty is not Certainty.EXACTLY for part in parts):
        return None  # no loss is known, which does not mean that there was none
    return frames + min(known)
