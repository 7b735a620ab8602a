"""The status of a service with a number that grows with every change, for those who wait for news."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

LOOK = 0.25
"""Seconds between two looks at the state, for those who wait."""
S = TypeVar("S", bound=Any)


class Versions(Generic[S]):
    """The newest status, a dataclass with a field `version`.

    Args:
        now: returns the state of now; its version counts for nothing.
    """

    def __init__(self, now: Callable[[], S]) -> None:
        self._now = now
        self._ends = asyncio.Event()
        self.newest: S = replace(now(), version=1)

    def look(self) -> S:
        """Return the status of now."""
        found = replace(self._now(), version=self.newest.version)
        if found != self.newest:
            self.newest = replace(found, version=found.version + 1)
        return self.newest

    async def after(self, seen: int, seconds: float) -> S:
        """Wait at most this long for a status of another version than `seen`."""
        due = asyncio.get_running_loop().time() + seconds
        while (status := self.look()).version == seen and not self._ends.is_set():
            rest = due - asyncio.get_running_loop().time()
            if rest <= 0:
                break
            try:
                await asyncio.wait_for(self._ends.wait(), min(LOOK, rest))
            except TimeoutError:
                continue
        return status

    def end(self) -> None:
        """Answer those who wait."""
        self._ends.set()
