"""The system's limit for the size of a file (RLIMIT_FSIZE: `ulimit -f`, systemd's LimitFSIZE)."""

from __future__ import annotations

import resource

WHERE = "the file-size limit of the receiver's process (ulimit -f, or LimitFSIZE of its service)"


def most_bytes() -> int | None:
    """Return the most bytes that a file of this process may have; `None` for no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if limit == resource.RLIM_INFINITY else limit


def check_start(least: int) -> None:
    """Check that a receiver can start: memory shared between processes counts as a file.

    Args:
        least: bytes of the largest shared memory.

    Raises:
        ValueError: the limit is too low; the sentence says what to change.
    """
    limit = most_bytes()
    if limit is not None and limit < least:
        raise ValueError(
            f"{WHERE} is {limit / 1e6:,.4g} MB, and the memory that its processes share counts as a file "
            f"of {least / 1e6:,.0f} MB; raise it"
        )
