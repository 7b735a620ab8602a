"""The parameters of a pipeline while it runs: all workers prepare a change, then all use it, or none does.

No I/O: who calls sends `Configure` and `Use`, and tells who has answered. In messages every change has a
number of its own, since some workers may have prepared one that others have refused. What users see, and what
is stored, is the version: one more with every change that was taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec


class Change(msgspec.Struct):
    """A change that workers are preparing."""

    number: int
    """Number of the change in messages; never used again."""
    version: int
    """Version that the parameters have if it is taken."""
    values: dict[str, Any]
    waits: set[int]
    """Workers that have not answered."""
    acknowledged: list[int] = []
    refused: dict[int, str] = {}
    """Sentences by worker."""


class Versions:
    """The version in use, and the change that is under way, if one is.

    Args:
        values: at first, all that differ from the defaults of the classes.
        version: of these.
    """

    def __init__(self, values: Mapping[str, Any], version: int = 1) -> None:
        self.version = version
        self.number = self._latest = version
        """Number of the parameters in use, in messages."""
        self.values = dict(values)
        self.change: Change | None = None
        self._taken = {version: version}  # version by number

    def version_of(self, number: int) -> int:
        """Return the version of a change that was taken, by its number in messages.

        Raises:
            KeyError: none of this number was taken.
        """
        return self._taken[number]

    def begin(self, values: Mapping[str, Any], workers: Iterable[int]) -> Change:
        """Begin a change: these workers are to prepare it.

        Args:
            values: those that change.
            workers: all that are ready.
        """
        assert self.change is None
        self._latest += 1
        self.change = Change(self._latest, self.version + 1, self.values | dict(values), set(workers))
        return self.change

    def asked(self, worker: int) -> None:
        """One more worker has become ready, and is to prepare the change."""
        assert self.change is not None
        self.change.waits.add(worker)

    def answered(self, worker: int, number: int, why: str | None = None) -> None:
        """A worker has prepared the change of this number, or has refused it for a reason."""
        change = self.change
        if change is None or number != change.number or worker not in change.waits:
            return
        change.waits.discard(worker)
        if why is None:
            change.acknowledged.append(worker)
        else:
            change.refused[worker] = why

    def gone(self, worker: int) -> None:
        """A worker is gone; nobody waits for its answer."""
        if self.change is not None:
            self.change.waits.discard(worker)

    def settled(self) -> Change | None:
        """Return the change once every worker has answered, or one has refused; it holds from now on, if none
        has and one at least has taken it."""
        change = self.change
        if change is None or (change.waits and not change.refused):
            return None
        self.change = None
        if change.acknowledged and not change.refused:
            self.version, self.number, self.values = change.version, change.number, change.values
            self._taken[change.number] = change.version
        return change
