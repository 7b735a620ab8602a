"""What one frame looks like between two steps, and what a step is."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple, TypeAlias

import msgspec
import numpy as np

from penstock.stins.blobs import ITEM_BYTES
from penstock.stins.messages import Buffer

Data: TypeAlias = "Buffer | np.ndarray"
"""One image or module: a blob while it is packed, an array (rows, cols), little endian, once it is plain."""

Kernel: TypeAlias = Callable[[Data], Data]
"""What a step does to one image or module of a known format. A pure function: it runs in any thread, and
leaves what it is given as it was."""


class Format(NamedTuple):
    """Shape, type and compression of a frame, as in a STINS image header."""

    shape: tuple[int, ...]
    """[rows, cols], or [k, rows, cols] for k blobs."""
    type: str
    compression: str

    @property
    def image_shape(self) -> tuple[int, int]:
        """Rows and columns of one image or module."""
        return self.shape[-2], self.shape[-1]

    @property
    def dtype(self) -> np.dtype:
        """Type of the pixels, little endian."""
        return np.dtype(self.type).newbyteorder("<")

    def __str__(self) -> str:
        return f"{list(self.shape)} {self.type} {self.compression or 'cbf'}"


Plan: TypeAlias = Callable[[Format], tuple[Format, Kernel | None]]
"""Tells, for frames of one format, how they look behind a step and how to get there; `None` for the latter:
they pass as they are. Raises `FormatError`."""


class FormatError(Exception):
    """A step cannot take frames of this format; the sentence says what it takes, and the remedy."""


class TransformConfigError(ValueError):
    """A chain that cannot work, or a table that cannot be read: known before any frame has come."""


class TransformError(Exception):
    """A step failed for a reason that is not in the frame: the fault is ours, the series ends in Error."""

    kind = "transform_failed"


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """One step of a chain, which is its typed configuration too."""

    takes: ClassVar[frozenset[str]] = frozenset({"plain", "pixels"})
    """What it can work on: "cbf" or "bslz4" blobs, "plain" ones as they came, "pixels" in an array."""
    gives: ClassVar[str] = "pixels"
    """What it makes of that."""

    def load(self) -> Plan:
        """Read what the step needs (a table, an image), once.

        Raises:
            TransformConfigError: a file cannot be read, or does not hold what it should.
        """
        raise NotImplementedError


def plain(format: Format, step: str) -> None:
    """Refuse frames that are still packed, whole or pixel by pixel.

    Raises:
        FormatError: they are.
    """
    if format.compression != "none":
        unpack = "cbf" if format.compression in ("cbf", "") else "decompress"
        raise FormatError(
            f"{step} needs plain pixels, these are {format.compression or 'cbf'}; "
            f"put {{type: {unpack}}} before it"
        )
    if format.type not in ITEM_BYTES:
        raise FormatError(
            f"{step} needs pixels of whole bytes, these are {format.type}; put mono12p "
            "or mono12packed before it"
        )
