"""End a process although a Tango call has not been answered."""

from __future__ import annotations

import os
import sys
import threading
from typing import NoReturn


def end_now(status: int) -> NoReturn:
    """End the process at once: a Tango call that nobody answers cannot be cancelled, and Python aborts
    (SIGABRT) if it ends while a thread is inside one."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end(status: int) -> int:
    """Return the exit status if no thread of ours hangs in a call; else end the process here."""
    if any(each.name.startswith("penstock") and each.is_alive() for each in threading.enumerate()):
        end_now(status)
    return status
