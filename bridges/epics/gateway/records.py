"""The records of a driver whom others arm, over pvAccess: what they say now, and every change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from p4p.client.raw import Context as RawContext
from p4p.client.thread import Context, RemoteError

SECONDS = 2.0
"""Within which records answer."""
UPDATES = 64
"""Changes of a record that wait: none may be left out."""


class Reading(NamedTuple):
    """A record as the IOC has it, or had it."""

    value: Any
    """A number or text; of an enumeration the number of its choice."""
    text: str
    """The choice, if it is an enumeration."""
    stamp: float
    """Seconds since 1970."""


class Records:
    """The connection to an IOC.

    Args:
        servers: HOST:PORT of name servers; empty: as the variables EPICS_PVA_… say.
        come: called, in threads of the client, when something has come.
    """

    def __init__(self, servers: Sequence[str], come: Callable[[], None]) -> None:
        conf = {
            "EPICS_PVA_NAME_SERVERS": " ".join(servers), "EPICS_PVA_AUTO_ADDR_LIST": "NO",
            "EPICS_PVA_ADDR_LIST": "",
        }  # fmt: skip
        # Without useenv, p4p ignores the variables and broadcasts.
        self._context = Context("pva", conf=conf if servers else None, useenv=not servers, nt=False)
        self._come = come

    def get(self, names: Sequence[str]) -> dict[str, Reading]:
        """Return the records that answer, by name."""
        found: dict[str, Reading] = {}
        wanted = list(names)
        for _ in range(3):  # a server whose connection is full of arrays refuses, for no other reason
            answers = self._context.get(wanted, timeout=SECONDS, throw=False)
            again = [
                name for name, each in zip(wanted, answers, strict=True) if isinstance(each, RemoteError)
            ]
            found |= {
                name: reading(each)
                for name, each in zip(wanted, answers, strict=True)
                if not isinstance(each, Exception)
            }
            if not (wanted := again):
                break
        return found

    def has_arrays(self, name: str) -> bool:
        """Return whether a record that answers is one of arrays."""
        found = self._context.get(name, timeout=SECONDS, throw=False)
        return isinstance(found, Exception) or is_array(found)

    def monitor(self, name: str, queue: int = UPDATES) -> Monitor:
        """Follow a record."""
        request = f"record[queueSize={queue}]"
        return Monitor(RawContext.monitor(self._context, name, lambda: self._come(), request=request))

    def ask(self, name: str, answered: Callable[[], None]) -> Any:
        """Get a record without waiting; `answered` is called, in another thread, once the IOC has answered.
        Keep what is returned."""

        def handler(value: Any) -> None:
            if isinstance(value, RemoteError) or not isinstance(value, Exception):
                answered()

        return RawContext.get(self._context, name, handler)

    def close(self) -> None:
        """End all subscriptions."""
        self._context.close()


class Monitor:
    """The updates of one record."""

    def __init__(self, monitor: Any) -> None:
        self._monitor = monitor
        self.is_there = False
        """True if the record is connected, as far as the updates taken say."""
        self.is_refused = False
        """True if the IOC has refused the subscription, as one does whose connection is full of arrays."""

    def updates(self) -> Iterator[Any]:
        """Yield the updates that have come, as structures; `None` where the record was lost."""
        while (found := self._monitor.pop()) is not None:
            if not isinstance(found, Exception):
                self.is_there = True
                yield found
            elif isinstance(found, RemoteError):
                self.is_refused = True
            elif self.is_there:
                self.is_there = False
                yield None

    def close(self) -> None:
        """End the subscription."""
        self._monitor.close()


def is_array(found: Any) -> bool:
    """Return whether a structure is an NTNDArray."""
    return all(name in found for name in ("dimension", "codec", "uniqueId", "value"))


def reading(found: Any) -> Reading:
    """Return a structure of normative types, NTScalar or NTEnum, as a reading."""
    value: Any = found.value
    stamp = found.get("timeStamp")
    when = 0.0 if stamp is None else int(stamp.secondsPastEpoch) + int(stamp.nanoseconds) / 1e9
    if hasattr(value, "choices"):
        choices, index = [str(each) for each in value.choices], int(value.index)
        return Reading(index, choices[index] if 0 <= index < len(choices) else str(index), when)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.itemsize == 1:
        value = bytes(value.view(np.uint8)).split(b"\0")[0].decode("utf-8", "replace")
    return Reading(value, str(value), when)
