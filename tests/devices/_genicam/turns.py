"""The one fake camera of this computer, taken by tests in turn.

Its port is fixed, and the camera waits for it; but a test that switches it off and on again must find it
there, and not that of another test.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = Path(tempfile.gettempdir(), f"penstock-tests-fake-camera-{os.getuid()}.lock")


@contextmanager
def turn() -> Iterator[None]:
    """Wait until no other test has the camera, and have it until the end."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the process that has it
        yield
