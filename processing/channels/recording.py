"""The recording: values on their way from the process that records them to the distributor.

Two files in memory. Of the values, 32 bytes each, written behind the last one by one call: whoever reads sees
whole ones only, and nothing is lost of what was written when either process is killed. The oldest are let go
of (their pages are given back), so that it takes no more than `KEPT` bytes, twice over at most. The other
file has what is said of the channels, one line of JSON each.

Their owner is the pipeline's HTTP process; the others open them by its descriptors in /proc.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import msgspec
import numpy as np

RECORD = np.dtype([("channel", "<i8"), ("number", "<i8"), ("time", "<f8"), ("value", "<f8")])
"""Place of the channel in the pipeline's file, and of the value: number of its frame, time in s, value."""
NO_NUMBER = -1
"""Number of a value that does not say to which frame it belongs."""
ENDED = -2
"""Number of what is no value: from its time on there is none, since its source says so, or is away. Only of
channels whose values hold."""
KEPT = 2**20 * RECORD.itemsize
"""Bytes of the newest values of all channels that a new reader finds at least."""
_PUNCH_HOLE, _KEEP_SIZE = 2, 1

Records = np.ndarray[Any, np.dtype[np.void]]


class Places(msgspec.Struct, frozen=True):
    """Paths of the two files."""

    values: str
    news: str


class News(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is said of a channel; it holds until something else is said."""

    channel: int
    """Its place in the pipeline's file."""
    how: str = ""
    """How it is read, such as "events"; "" as long as it is not."""
    problem: str = ""
    """Why there are no values of it now; a sentence without the name of the channel."""
    unit: str = ""
    """Unit of its values, as their source says."""


class Recording:
    """The two files, as long as their owner has them open."""

    def __init__(self) -> None:
        self._values = os.memfd_create("penstock-channel-values")
        self._news = os.memfd_create("penstock-channel-news")
        self.places = Places(*(f"/proc/{os.getpid()}/fd/{each}" for each in (self._values, self._news)))

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._values)
        os.close(self._news)


class Writer:
    """Writes values and news; may be used by several threads.

    Args:
        places: of a recording whose owner lives.
        kept: see `KEPT`.
    """

    def __init__(self, places: Places, kept: int = KEPT) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._values, self._news = os.open(places.values, flags), os.open(places.news, flags)
        self._kept = kept
        self._written = os.fstat(self._values).st_size
        self._given_back = 0

    def value(self, channel: int, time: float, value: float, number: int = NO_NUMBER) -> None:
        """Write one value of a channel."""
        self.values(np.array([(channel, number, time, value)], RECORD))

    def ends(self, channel: int, time: float) -> None:
        """Write that a channel has no value from a time on, until there is another one."""
        self.value(channel, time, np.nan, ENDED)

    def values(self, records: Records) -> None:
        """Write values, in the order in which they were recorded."""
        os.write(self._values, records.tobytes())
        self._written += records.nbytes
        if self._written - self._given_back > 2 * self._kept:
            self._give_back(self._written - self._kept)

    def say(self, news: News) -> None:
        """Write what is known of a channel."""
        os.write(self._news, msgspec.json.encode(news) + b"\n")

    def close(self) -> None:
        """Close the files."""
        os.close(self._values)
        os.close(self._news)

    def _give_back(self, end: int) -> None:
        """Give the memory of the oldest values back."""
        self._given_back = end
        _libc.fallocate(self._values, _PUNCH_HOLE | _KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(end))


class Reader:
    """Reads what is new.

    Args:
        places: of a recording whose owner lives.
        kept: as of its writer.
    """

    def __init__(self, places: Places, kept: int = KEPT) -> None:
        flags = os.O_RDONLY | os.O_CLOEXEC
        self._values, self._news = os.open(places.values, flags), os.open(places.news, flags)
        self._kept = kept
        self._at = self._told = 0

    def values(self) -> Records:
        """Return the values that have come since the last time, in the order in which they were recorded."""
        end = os.fstat(self._values).st_size
        first = max(self._at, end - self._kept)
        self._at = end - end % RECORD.itemsize
        first -= first % RECORD.itemsize
        return np.frombuffer(os.pread(self._values, self._at - first, first), RECORD)

    def news(self) -> list[News]:
        """Return what was said since the last time."""
        text = os.pread(self._news, os.fstat(self._news).st_size - self._told, self._told)
        whole = text[: text.rfind(b"\n") + 1]
        self._told += len(whole)
        return [_news.decode(line) for line in whole.splitlines()]

    def close(self) -> None:
        """Close the files."""
        os.close(self._values)
        os.close(self._news)


_libc = ctypes.CDLL(None, use_errno=True)
_news = msgspec.json.Decoder(News)
