"""When Python need not look for unreachable objects: while a process begins, and when it ends.

It looks at every object there is for those that only refer to each other. A process that imports the web
framework would spend 50 ms of its start on it, and up to 100 ms of its end.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search() -> Iterator[None]:
    """Do not look for them meanwhile: where much is imported, which leaves none behind."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def no_search_at_the_end() -> None:
    """Do not look for them when this process ends: the kernel takes their memory. Call it once, first.

    Files that somebody forgot in such a circle are not flushed: close them.
    """
    atexit.register(gc.freeze)
