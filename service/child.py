"""A process that a service starts and watches, with the link to it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from penstock.service.datagrams import Datagrams, pair


class Child:
    """A Python process whose first argument is the descriptor of its end of the link.

    Args:
        module: what it runs.
        descriptors: further ones that it inherits; they are its further arguments.
        held: further ones that it keeps open, as long as it lives.
        env: its environment.
        own_session: whether signals of the terminal do not reach it.

    Raises:
        OSError: no process, or no link to it, can be made.
    """

    def __init__(
        self,
        module: str,
        env: Mapping[str, str],
        descriptors: Sequence[int] = (),
        held: Sequence[int] = (),
        *,
        own_session: bool = False,
    ) -> None:
        ours, theirs = pair()
        passed = (theirs.fileno(), *descriptors)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, *map(str, passed)],
                pass_fds=(*passed, *held), env=env, stdin=subprocess.DEVNULL, start_new_session=own_session,
            )  # fmt: skip
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self.link = Datagrams(ours)
        self.is_closed = False
        """True if its death was noticed, and the link is closed."""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True if it runs."""
        return self._process.poll() is None

    def wait(self, seconds: float) -> bool:
        """Wait for its end; kill it if it does not end in time. Return whether it ended of its own accord."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return False
        return True

    def close(self, seconds: float) -> tuple[int, str]:
        """Close the link to a child that is gone; return its exit status, and how it ended, in words."""
        self.is_closed = True
        self.link.close()
        self.wait(seconds)
        return self._process.returncode, ending(self._process.returncode)


def ending(status: int) -> str:
    """Return how a process ended, in words.

    Args:
        status: its exit status; minus the signal's number if a signal has ended it.
    """
    return f"by signal {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"


class Changes:
    """Tells those who wait that something has changed."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()  # a new one after each change

    def notify(self) -> None:
        """Let everybody look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait at most this long for a condition; return whether it holds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not condition():
                    await self._changed.wait()
        return condition()
