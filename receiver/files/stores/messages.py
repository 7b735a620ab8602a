"""What the data process and the processes that write for it say to each other, over a socket."""

from __future__ import annotations

import msgspec
import numpy as np

DATASET = "/entry/data/data"
"""Of a data file: its frames, which silx shows when it is opened alone."""
ENTRY = np.dtype([("place", "i8"), ("start", "i8"), ("size", "i8"), ("mask", "i8")])
"""A blob that waits in the shared memory: where it goes (its row of a data file's dataset, or its offset in
the one file), where it begins, its bytes, and which filters it has not passed."""


class OpenDataFile(msgspec.Struct, tag=True, frozen=True):
    """Create a data file; the descriptor of its folder comes along."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    compressed: bool


class OpenPlaces(msgspec.Struct, tag=True, frozen=True):
    """Write to places of the one file, whose descriptor comes along."""


class Begin(msgspec.Struct, tag=True, frozen=True):
    """A series begins."""

    target: OpenDataFile | OpenPlaces
    memory: int
    """Bytes that are shared."""


class Flush(msgspec.Struct, tag=True, frozen=True):
    """Hand everything to the kernel."""


class Where(msgspec.Struct, tag=True, frozen=True):
    """Say where the blob of a row lies in the data file."""

    row: int


class Finish(msgspec.Struct, tag=True, frozen=True):
    """The series has ended: let go of the file."""

    rows: int | None = None
    """To which the dataset of a data file is cut."""


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


Command = Begin | Flush | Where | Finish
Report = Done | BlobFailed | Answer | Failed
BLOBS = b"\0"
"""Begins a message of `ENTRY` items; every other is a `Command` as JSON."""
