"""Ending a process although a call of Tango has not been answered."""

from __future__ import annotations

import os
import sys
import threading
from typing import NoReturn


def end_now(status: int) -> NoReturn:
    """End the process at once: a Tango call that nobody answers cannot be cancelled, and Python aborts
    (SIGABRT) if it ends while a thread is within one."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end(status: int) -> int:
    """Return the exit status, where no thread of ours hangs in a call; else the process ends here."""
    if any(each.name.startswith("penstock") and each.is_alive() for each in threading.enumerate()):
        end_now(status)
    return status
