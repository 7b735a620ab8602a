"""When Python need not look for unreachable objects: while a process begins, and among what stays.

It looks at every object there is for those that only refer to each other. A process that imports the web
framework would spend 50 ms of its start on it; a receiver's loop, now and then, 15 ms of a series.
"""

from __future__ import annotations

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


def stays() -> None:
    """Look at the objects that there are now once more, and then never again.

    What is left of them stays until the process ends. A traceback that refers to itself must not: it may hold
    an open file, and HDF5 does not survive one that is closed so late.
    """
    gc.collect()
    gc.freeze()
