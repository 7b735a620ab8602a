"""Processes whose standard input is their lifeline: it ends with the process that has started them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import signal
import subprocess

log = logging.getLogger(__name__)


async def ended(process: subprocess.Popen[bytes], *, has_group: bool = False) -> int:
    """Wait for the end of a process; return its exit status.

    Args:
        process: the process.
        has_group: whether it leads a process group of its own, the rest of which is killed then.
    """
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    descriptor = os.pidfd_open(process.pid)
    try:
        loop.add_reader(descriptor, gone.set)
        await gone.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    close(process)
    if has_group:
        _kill_group(process)
    return process.wait()


def end(process: subprocess.Popen[bytes], what: str, seconds: float, *, has_group: bool = False) -> None:
    """Wait for the end of a process that was told to end; kill it if that takes too long.

    Args:
        process: the process.
        what: it is, for the log.
        seconds: that it may take.
        has_group: see `ended`.
    """
    if process.returncode is None:
        descriptor, poll = os.pidfd_open(process.pid), select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(seconds * 1000):
            log.warning("%s (process %d) did not end within %g s and was killed", what, process.pid, seconds)
            tell(process, signal.SIGKILL)
            poll.poll()
        os.close(descriptor)
        if has_group:
            _kill_group(process)
        process.wait()
    close(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what a process has left that has ended: the children of a scientist's class, say. It has not been
    waited for, so that its number is nobody else's."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def tell(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a process that nobody has waited for yet.

    `Popen.send_signal` would wait for one that has ended: after that its group could not be killed without
    the risk that its number is another one's.
    """
    if process.returncode is None:
        os.kill(process.pid, number)


def close(process: subprocess.Popen[bytes]) -> None:
    """Let a process end, if it still runs."""
    assert process.stdin is not None
    process.stdin.close()
