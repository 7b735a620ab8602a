"""The workers of this machine: as many as the pipeline has, started again when they die."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable

from penstock.processing.service import lifelines
from penstock.processing.worker.thread_counts import limit
from penstock.processing.worker.worker import LEAVE, WITH_PARENT
from penstock.service.child import ending

log = logging.getLogger(__name__)

WORKER = "penstock.processing.worker.worker"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
"""Seconds before a worker that has died without a frame is started again; they double up to the longest."""
LEAVE_SECONDS = 10.0
"""Longest time for which a worker may end its bunch and hand over; then it is killed."""


class LocalWorkers:
    """The workers.

    Args:
        count: how many.
        threads: of the numerical libraries in each.
        has_worked: whether the worker with this process id has processed a frame.
    """

    def __init__(self, count: int, threads: int, has_worked: Callable[[int], bool]) -> None:
        self._count = count
        self._threads = threads
        self._has_worked = has_worked
        self._leaving = False
        self._address = ""
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._hurry = asyncio.Event()  # a new one each time

    @property
    def processes(self) -> dict[str, int]:
        """Process ids of those that run, by name."""
        return {self._name(number): worker.pid for number, worker in sorted(self._running.items())}

    def use(self, address: str) -> None:
        """Let the workers connect to this address; start them, unless they do already."""
        if address == self._address:
            return
        self._address = address
        for worker in self._running.values():
            _let_go(worker)  # it waits for a distributor that is gone
        if not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._keep(number)) for number in range(1, self._count + 1)]

    def hurry(self) -> None:
        """Start those at once that are waiting to be started again."""
        self._hurry.set()
        self._hurry = asyncio.Event()

    def kill(self, pid: int) -> None:
        """Kill a worker that hangs, if it is one of these: another one is started in its place."""
        for worker in self._running.values():
            if worker.pid == pid:
                lifelines.tell(worker, signal.SIGKILL)

    def leave(self) -> None:
        """Start none again from now on: they are about to be ended."""
        self._leaving = True

    async def close(self) -> None:
        """Let all workers end their bunch, hand over and leave."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        left = list(self._running.values())
        for worker in left:
            _let_go(worker)
        await asyncio.gather(
            *(
                asyncio.to_thread(lifelines.end, each, "a worker", LEAVE_SECONDS, has_group=True)
                for each in left
            )
        )
        self._running.clear()

    async def _keep(self, number: int) -> None:
        """Start a worker whenever there is none of this number."""
        pause = 0.0
        while True:
            address = self._address
            worker = self._running[number] = self._start(number, address)
            status = await lifelines.ended(worker, has_group=True)
            del self._running[number]
            if self._leaving:
                return
            if address != self._address:
                continue
            pause = 0.0 if self._has_worked(worker.pid) else min(LONGEST_PAUSE, 2 * pause or FIRST_PAUSE)
            log.warning(
                "worker %s (process %d) ended %s; it is started again%s",
                self._name(number), worker.pid, ending(status), f" in {pause:g} s" if pause else "",
            )  # fmt: skip
            if pause:
                hurry = self._hurry
                try:
                    await asyncio.wait_for(hurry.wait(), pause)
                except TimeoutError:
                    continue
                pause = 0.0

    def _start(self, number: int, address: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, **limit(self._threads)}
        no_key = ""  # their address takes connections of this user alone, and none that are encrypted
        arguments = [address, self._name(number), no_key, WITH_PARENT]
        # Standard input is the lifeline: it ends with this process. Signals of the terminal reach only this
        # process, which lets the distributor end first.
        return subprocess.Popen(
            [sys.executable, "-P", "-m", WORKER, *arguments],
            env=env,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def _name(self, number: int) -> str:
        return f"{socket.gethostname()}-{number}"


def _let_go(worker: subprocess.Popen[bytes]) -> None:
    """Let a worker end its bunch, hand over and leave; its own interpreter ends as usual."""
    assert worker.stdin is not None
    with contextlib.suppress(BrokenPipeError, ValueError):  # it has ended, or was let go before
        worker.stdin.write(LEAVE)
        worker.stdin.close()
