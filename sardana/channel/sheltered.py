"""A call that the end of the calling thread cannot tear apart."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import tango

from penstock.sardana.channel.detector import Refused


def sheltered(call: Callable[[], None], undo: Callable[[], None]) -> None:
    """Run `call` in a thread of its own and wait for it.

    Where Pool and MacroServer are one process, AbortMacro raises an exception in the macro's thread, wherever
    that is: between Arm and the note that the series is this channel's own, too.

    Args:
        call: runs to its end, or refuses, in which case there is nothing to undo.
        undo: called where anything else was raised, in the calling thread or in `call`.

    Raises:
        Refused: by `call`.
    """
    try:
        with ThreadPoolExecutor(1, "arming") as thread:
            done = thread.submit(_run, call)
        done.result()
    except Refused:
        raise
    except BaseException:
        undo()
        raise


def _run(call: Callable[[], None]) -> None:
    with tango.EnsureOmniThread():
        call()
