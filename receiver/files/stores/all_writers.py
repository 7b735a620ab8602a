"""What is done with all writer processes of a series: whatever becomes of one, the others do it too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from penstock.receiver.files.stores.writer_process import WriterProcess

T = TypeVar("T")


def each(action: Callable[[T], None], items: Sequence[T]) -> None:
    """Do it for each.

    Raises:
        OSError: what the first one raised that could not.
    """
    errors = _errors(action, items)
    if errors:
        raise errors[0]


def flush(processes: Sequence[WriterProcess]) -> None:
    """Return when all have handed to the kernel what they got.

    Raises:
        OSError: not all of it is there; the rest is in their `lost`.
    """
    errors = _errors(WriterProcess.begin_flush, processes) + _errors(WriterProcess.end_flush, processes)
    if errors:
        raise errors[0]


def lost(processes: Sequence[WriterProcess]) -> set[int]:
    """Frames that were taken and could not be written."""
    return set().union(*(process.lost for process in processes))


def waiting_bytes(processes: Sequence[WriterProcess]) -> int:
    """Bytes of the frames that are not written yet."""
    return sum(process.waiting_bytes for process in processes)


def _errors(action: Callable[[T], None], items: Sequence[T]) -> list[OSError]:
    found = []
    for item in items:
        try:
            action(item)
        except OSError as error:
            found.append(error)
    return found
