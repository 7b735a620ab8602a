"""What the supervisors of services have in common: one child that tells its state in snapshots, and those who
wait for news of it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Generic, TypeVar

import msgspec

from penstock.receiver.service.child import Changes, Child

S = TypeVar("S")
NOTICE_SECONDS = 5.0
"""Longest time until the death of the child is noticed by what it had said last."""


class Parent(Generic[S]):
    """A supervisor, but for what its snapshots mean.

    Args:
        snapshot: type of the child's messages.
    """

    def __init__(self, snapshot: type[S]) -> None:
        self._kind = snapshot
        self._child: Child | None = None
        self._version = 0
        self._sent = 0
        self._reviving: asyncio.Task[None] | None = None
        self._closing = self._ending = False
        self._changes = Changes()

    @property
    def alive(self) -> bool:
        """Whether the child runs."""
        return self._child is not None and self._child.alive

    def end_waits(self) -> None:
        """Answer at once from now on whoever waits for another status: the service is about to end."""
        self._ending = True
        self._changes.notify()

    async def _changed(self, seen: int, seconds: float) -> None:
        """Wait at most this long for another version than `seen`."""
        await self._changes.wait_for(lambda: self._ending or self._version != seen, seconds)

    def _take(self, snapshot: S) -> None:
        """Take what the child says."""
        raise NotImplementedError

    def _died(self) -> None:
        """The child is gone."""
        raise NotImplementedError

    @property
    def _has_told(self) -> bool:
        """Whether the child has said something since it was started."""
        raise NotImplementedError

    def _readable(self) -> None:
        """Take all that the child has said meanwhile, its death included."""
        assert self._child is not None
        is_news = False
        while not self._child.is_closed:
            try:
                snapshot = self._child.link.receive(self._kind)
            except EOFError:
                is_news = True
                self._died()
                break
            if snapshot is None:
                break
            is_news = True
            self._take(snapshot)
        if is_news:
            self._changes.notify()

    async def _revived(self) -> None:
        """If the child has died, wait until it runs again or the service is in Error."""
        if self._child is not None and not self.alive and self._has_told:
            # It is gone, but its last snapshot is not read yet.
            await self._changes.wait_for(lambda: self._reviving is not None, NOTICE_SECONDS)
        if self._reviving is not None:
            await self._reviving
            self._reviving = None

    def _send(self, command: Any) -> int:
        """Send a command; return its number."""
        assert self._child is not None
        self._sent += 1
        self._child.link.send(msgspec.structs.replace(command, number=self._sent))
        return self._sent
