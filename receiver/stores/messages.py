"""What the data process and the processes that write data files say to each other, over a socket."""

from __future__ import annotations

import msgspec
import numpy as np

DATASET = "/entry/data/data"
"""Of a data file: its frames, which silx shows when it is opened alone."""
ENTRY = np.dtype([("row", "i8"), ("start", "i8"), ("size", "i8"), ("mask", "i8")])
"""A blob that waits in the shared memory: its row of the dataset, where it begins, its bytes, and which
filters it has not passed."""


class Open(msgspec.Struct, tag=True, frozen=True):
    """Create a file; the descriptor of its folder comes along."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    compressed: bool
    memory: int
    """Bytes that are shared."""


class Flush(msgspec.Struct, tag=True, frozen=True):
    """Hand everything to the kernel."""


class Where(msgspec.Struct, tag=True, frozen=True):
    """Say where the blob of a row lies in the file."""

    row: int


class Finish(msgspec.Struct, tag=True, frozen=True):
    """Cut the dataset to so many rows, and close the file."""

    rows: int


class Done(msgspec.Struct, tag=True, frozen=True):
    """So many blobs are written, and their memory is free."""

    blobs: int


class Answer(msgspec.Struct, tag=True, frozen=True):
    """The command was carried out."""

    place: tuple[int, int, int] = (0, 0, 0)
    """Offset, bytes and filter mask of the blob that was asked for."""


class BlobFailed(msgspec.Struct, tag=True, frozen=True):
    """The next blob could not be written, and none after it will be."""

    message: str
    errno: int | None = None


class Failed(msgspec.Struct, tag=True, frozen=True):
    """The command was not carried out."""

    message: str
    errno: int | None = None


Command = Open | Flush | Where | Finish
Report = Done | BlobFailed | Answer | Failed
BLOBS = b"\0"
"""Begins a message of `ENTRY` items; every other is a `Command` as JSON."""
