"""Series that are over, by name and by what their start messages said.

A name that has been is no proof that a start message came twice: detectors that number their series begin at
1 again when they are restarted.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from penstock.stins.messages import Header

_Known = OrderedDict[str, frozenset[bytes] | None]

REMEMBERED_SERIES = 64
"""So many are known; messages of older ones are taken for those of a series that is to come."""


class PastSeries:
    """The last series that are over."""

    def __init__(self) -> None:
        self._known: _Known = OrderedDict()
        self._before: _Known = OrderedDict()  # connections were lost

    def add(self, name: str, headers: Iterable[Header] | None) -> None:
        """This one is over.

        Args:
            name: of the series; "" of one without: the last of them is remembered.
            headers: of its start messages; `None` where some were still to come.
        """
        self._known[name] = None if headers is None else frozenset(map(_print, headers))
        self._known.move_to_end(name)
        if len(self._known) > REMEMBERED_SERIES:
            self._known.popitem(last=False)

    def on_reconnect(self) -> None:
        """All connections were lost: what comes now may be of another streamer, that has other series."""
        self._before |= self._known
        self._known = OrderedDict()
        while len(self._before) > REMEMBERED_SERIES:
            self._before.popitem(last=False)

    def forget(self, name: str | None) -> None:
        """What bears this name from now on is another series."""
        if name is not None:
            self._known.pop(name, None)
            self._before.pop(name, None)

    def __contains__(self, name: str | None) -> bool:
        """Whether a series of this name has been."""
        return name is not None and name in self._known

    def has_begun(self, header: Header) -> bool:
        """Whether a start message began one of them."""
        return _is_among(self._known, header)

    def had_begun(self, header: Header) -> bool:
        """Whether a start message of these words began one before connections were lost."""
        return _is_among(self._before, header)


def _is_among(known: _Known, header: Header) -> bool:
    name = header.series or ""
    if name not in known:
        return False
    prints = known[name]
    return prints is None or _print(header) in prints


def _print(header: Header) -> bytes:
    """What is kept of a header: it may be long."""
    return hashlib.blake2b(msgspec.json.encode(header), digest_size=16).digest()
