"""What the supervisors of services have in common: one child that tells its state in snapshots, and those who
wait for news of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from penstock.service.child import Changes, Child

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""Seconds between two looks at how long the child has been silent."""
NOTICE_SECONDS = 5.0
"""Longest time until the death of the child is noticed by what it had said last."""


class Told(Protocol):
    """What a child tells."""

    @property
    def status(self) -> Any:
        """Its state. Versions count from 1 for each child; before its first, and after a death, there is
        version 0."""


S = TypeVar("S", bound=Told)


class Parent(Generic[S]):
    """A supervisor, but for what its snapshots mean.

    Args:
        snapshot: what is known before the child has told anything.
    """

    def __init__(self, snapshot: S) -> None:
        self._snapshot = snapshot
        self._kind = type(snapshot)
        self._child: Child | None = None
        self._silent = 0.0  # seconds since the newest snapshot, as far as watched
        self._watch: asyncio.Task[None] | None = None
        self._version = 0
        self._sent = 0
        self._reviving: asyncio.Task[None] | None = None
        self._closing = self._ending = False
        self._changes = Changes()

    @property
    def alive(self) -> bool:
        """True if the child runs."""
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
        """True if the child has said something since it was started."""
        return bool(self._snapshot.status.version > 0)

    async def _begin(self, child: Child, setup: Any, seconds: float) -> bool:
        """Watch a child from now on; return whether it has told something.

        Args:
            child: just started.
            setup: its first message.
            seconds: how long to wait at most.
        """
        self._child = child
        child.link.send(setup)
        self._sent, self._silent = 0, 0.0
        loop = asyncio.get_running_loop()
        loop.add_reader(child.link.fileno, self._readable)
        if self._watch is None:
            self._watch = loop.create_task(self._watch_silence())
        await self._changes.wait_for(lambda: self._has_told or not self.alive, seconds)
        return self._has_told

    async def _watch_silence(self) -> None:
        """Measure the silence of the child by counting looks, so that time in which this process itself was
        stopped does not count."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._look()

    def _look(self) -> None:
        self._silent += LOOK_SECONDS
        self._readable()  # a snapshot received meanwhile ends the silence

    def _leave(self) -> None:
        """Watch no more, as the service ends."""
        self._closing = True
        if self._watch is not None:
            self._watch.cancel()

    async def _quit(self, command: Any, seconds: float, name: str) -> None:
        """Let the child end, and take its last snapshot.

        Args:
            command: that tells it to.
            seconds: how long to wait before it is killed.
            name: of the child, for a sentence.
        """
        child = self._child
        if child is None or not child.alive:
            return
        with contextlib.suppress(OSError):  # it has just died
            self._send(command)
        if not await asyncio.to_thread(child.wait, seconds):
            log.error("the %s did not end within %g s and was killed", name, seconds)
        self._readable()

    def _closed(self, name: str, seconds: float) -> str:
        """Close the link to the child, which is gone; return how it ended, in a sentence.

        Args:
            name: of the child.
            seconds: how long to wait for its end before it is killed.
        """
        assert self._child is not None
        asyncio.get_running_loop().remove_reader(self._child.link.fileno)
        code, how = self._child.close(seconds)
        sentence = f"{name} ended {how}"
        if code != 0:
            log.error("%s", sentence)
        return sentence

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
