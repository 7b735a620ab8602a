"""Start messages of earlier series: a repeated one must not empty the file of its series."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import NamedTuple

import msgspec

from penstock.stins.messages import Header

REMEMBERED = 64
"""Number of series remembered."""


class _Known(NamedTuple):
    session: int
    digests: frozenset[bytes] | None
    """Digests of its start messages; `None` if every start message of this name counts as known."""


class KnownStarts:
    """The start messages of the last series by name; of series without a name, only the last.

    A name alone proves nothing: detectors that number their series begin at 1 again after a restart.
    """

    def __init__(self) -> None:
        self._session = 0
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def on_reconnect(self) -> None:
        """Begin a session: later messages may be from another streamer."""
        self._session += 1

    def add(self, *headers: Header) -> None:
        """Remember the start message of a series that is over; with joined modules, all of them."""
        name = next((header.series for header in headers if header.series is not None), "")
        self._add(name, frozenset(map(_digest, headers)))

    def add_name(self, series: str) -> None:
        """Remember the start messages of a series that was given up before all of them had arrived."""
        self._add(series, None)

    def _add(self, name: str, digests: frozenset[bytes] | None) -> None:
        self._known[name] = _Known(self._session, digests)
        self._known.move_to_end(name)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def __contains__(self, header: Header) -> bool:
        """Return whether this start message was received before."""
        known = self._known.get(header.series or "")
        return known is not None and (known.digests is None or _digest(header) in known.digests)

    def is_of_this_session(self, header: Header) -> bool:
        """Return whether a message was received before in this session."""
        return self._known[header.series or ""].session == self._session


def _digest(header: Header) -> bytes:
    """Return the digest that is kept of a header, which may be long."""
    return hashlib.blake2b(msgspec.json.encode(header), digest_size=16).digest()
