"""Processes whose standard input is their lifeline: it ends with the process that has started them."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess

log = logging.getLogger(__name__)


async def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a process; return its exit status."""
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    descriptor = os.pidfd_open(process.pid)
    try:
        loop.add_reader(descriptor, gone.set)
        await gone.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    close(process)
    return process.wait()


def end(process: subprocess.Popen[bytes], what: str, seconds: float) -> None:
    """Wait for the end of a process that was told to end; kill it if that takes too long.

    Args:
        process: the process.
        what: it is, for the log.
        seconds: that it may take.
    """
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        log.warning("%s (process %d) did not end within %g s and was killed", what, process.pid, seconds)
        process.kill()
        process.wait()
    close(process)


def close(process: subprocess.Popen[bytes]) -> None:
    """Let a process end, if it still runs."""
    assert process.stdin is not None
    process.stdin.close()
