"""Which files of a folder are opened, by whatever process: inotify(7)."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IN_OPEN = 0x20
_EVENT = struct.Struct("iIII")


class Opened:
    """What was opened since the last look.

    Args:
        descriptor: of inotify.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def names(self) -> list[str]:
        """The names of the files, in order, as often as they were opened."""
        found, at = list[str](), 0
        try:
            events = os.read(self._descriptor, 2**20)
        except BlockingIOError:
            return found
        while at < len(events):
            _, _, _, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size + length
            found.append(events[at - length : at].rstrip(b"\0").decode())
        return found


@contextmanager
def opened(folder: Path) -> Iterator[Opened]:
    """Watch a folder."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert descriptor >= 0 and libc.inotify_add_watch(descriptor, os.fsencode(folder), IN_OPEN) >= 0
    try:
        yield Opened(descriptor)
    finally:
        os.close(descriptor)
