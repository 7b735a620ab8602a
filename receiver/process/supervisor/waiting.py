"""A receiver that waits until another one of its name and data root has ended, and says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from penstock.receiver.process.supervisor.receiver_lock import ReceiverLock
from penstock.service.refusal import Refused

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""Time in seconds between two looks whether the other receiver has ended."""


class Waiting:
    """The beginning of a receiver: at once, or when the other one has ended.

    Args:
        lock: that only one of them holds.
        start: starts this receiver.
        failed: told why that failed, if it had to wait.
        news: called when `sentence` has changed.
    """

    def __init__(
        self, lock: ReceiverLock, start: Callable[[], Awaitable[None]], failed: Callable[[str], None],
        news: Callable[[], None],
    ) -> None:  # fmt: skip
        self._lock, self._start, self._failed, self._news = lock, start, failed, news
        self._task: asyncio.Task[None] | None = None
        self._when_over: Callable[[], None] = lambda: None
        self.sentence = ""
        """Sentence that says for whom it waits; "" if it does not."""

    async def begin(self) -> None:
        """Start the receiver, or begin to wait.

        Raises:
            RuntimeError: it could not be started.
        """
        self.sentence = await asyncio.to_thread(self._lock.take)
        if self.sentence:
            log.warning("%s", self.sentence)
            self._task = asyncio.get_running_loop().create_task(self._wait())
            return
        self._warn()
        await self._start()

    def when_over(self, call: Callable[[], None]) -> None:
        """Call when it waits no more, or now."""
        if self.sentence:
            self._when_over = call
        else:
            call()

    def check(self) -> None:
        """Check that it does not wait.

        Raises:
            Refused: it does.
        """
        if self.sentence:
            raise Refused("waiting", self.sentence)

    def cancel(self) -> None:
        """Wait no more, since the service ends."""
        if self._task is not None:
            self._task.cancel()

    async def _wait(self) -> None:
        while sentence := await asyncio.to_thread(self._lock.take):
            if sentence != self.sentence:
                log.warning("%s", sentence)
                self.sentence = sentence
                self._news()
            await asyncio.sleep(LOOK_SECONDS)
        log.info("the other receiver has ended")
        self._warn()
        try:
            await self._start()
        except RuntimeError as error:
            self._failed(str(error))
        self.sentence = ""
        self._news()
        self._when_over()

    def _warn(self) -> None:
        if self._lock.unguarded:
            log.warning("%s", self._lock.unguarded)
