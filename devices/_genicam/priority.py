"""The thread in which the library receives packets goes before all others, where the system allows it.

What it does not read in time the kernel drops. It is set by the thread's id: the library's own functions for
it are meant for a callback in that thread, which would have to wait for the interpreter.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)

NAMES = ("arv_gv_stream", "arv_uv_stream")
"""Names of the library's threads that receive (g_thread_new in arvgvstream.c, arvuvstream.c)."""
POLICY, PRIORITY = os.SCHED_RR, 10
"""Above all programs without real-time priority, and below the kernel's own threads (sched(7))."""
NICE = -10
"""Second choice."""
REMEDY = "raise LimitRTPRIO of its service to 10 (or ulimit -r), so that a busy computer loses no packets"


def receiving() -> set[int]:
    """Return the ids of the threads that receive."""
    return set(_receiving())


def raise_for(threads: set[int], camera: str) -> None:
    """Let threads go before others; say in the log which priority they have.

    Args:
        threads: their ids.
        camera: its name, for the log.
    """
    for thread in threads:
        try:
            os.sched_setscheduler(thread, POLICY, os.sched_param(PRIORITY))
            log.debug("camera %s: packets are received with real-time priority %d", camera, PRIORITY)
        except OSError as refused:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, thread, NICE)
            nice = os.getpriority(os.PRIO_PROCESS, thread)
            log.info(
                "camera %s: packets are received without real-time priority (%s), with nice %d; %s",
                camera, refused.strerror, nice, REMEDY,
            )  # fmt: skip


def _receiving() -> Iterator[int]:
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if (task / "comm").read_text().strip() in NAMES:
                yield int(task.name)
