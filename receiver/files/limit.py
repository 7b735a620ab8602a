"""The limit that the system sets to the size of a file (RLIMIT_FSIZE: `ulimit -f`, systemd's LimitFSIZE)."""

from __future__ import annotations

import resource

WHERE = "the file-size limit of the receiver's process (ulimit -f, or LimitFSIZE of its service)"


def most_bytes() -> int | None:
    """Bytes that a file of this process may have; `None`: there is no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if limit == resource.RLIM_INFINITY else limit


def check_start(least: int) -> None:
    """Check that a receiver can start at all: memory that processes share counts as a file.

    Args:
        least: bytes of the largest of them.

    Raises:
        ValueError: it cannot; the sentence says what to change.
    """
    limit = most_bytes()
    if limit is not None and limit < least:
        raise ValueError(
            f"{WHERE} is {limit / 1e6:,.4g} MB, and the memory that its processes share counts as a file "
            f"of {least / 1e6:,.0f} MB; raise it"
        )
