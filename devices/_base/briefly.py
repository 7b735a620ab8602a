"""Calls that a Tango command begins and does not wait for longer than clients do."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

WAIT: Final = 1.0
"""Seconds: a command holds the device, and clients wait for three."""


def briefly(call: Callable[[], object], what: str) -> bool:
    """Run a call in a thread, and wait for it for a moment.

    Args:
        call: the call.
        what: for the log, which has the error of a call that fails later.

    Returns:
        Whether it has returned; if not, it goes on.

    Raises:
        Exception: what the call has raised meanwhile.
    """
    ended, lock = threading.Event(), threading.Lock()
    errors: list[Exception] = []
    waits = True

    def run() -> None:
        try:
            call()
        except Exception as error:
            with lock:
                errors.append(error)
                if not waits:
                    log.warning("%s: %s", what, error)
        ended.set()

    threading.Thread(target=run, name=what, daemon=True).start()
    ended.wait(WAIT)
    with lock:
        waits = False
        if errors:
            raise errors[0]
    return ended.is_set()
