"""The format of a frame between two steps, and the base class of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeAlias

import msgspec
import numpy as np

from penstock.codecs.pixel_type import pixel_type
from penstock.receiver.validity.pixels import PixelRule
from penstock.stins.blobs import ITEM_BYTES
from penstock.stins.messages import Buffer

Data: TypeAlias = "Buffer | np.ndarray"
"""One image or module: a blob while it is packed, an array (rows, cols), little endian, once it is plain."""

Kernel: TypeAlias = Callable[[Any], Data]
"""The operation of a step on one image or module of a known format: a pure function that runs in any thread
and does not modify its input, a blob or an array as `Step.takes` says."""


NO_RULE = PixelRule()
"""The rule of a series whose detector says nothing of its counts."""

ReadArray: TypeAlias = Callable[[str, str], "np.ndarray[Any, Any]"]
"""Function that returns the array in a file, by its path and the name of the step that needs it. Raises
`TransformConfigError`."""


class Format(NamedTuple):
    """Shape, type and compression of a frame, as in a STINS image header; and which of its pixels count."""

    shape: tuple[int, ...]
    """[rows, cols], or [k, rows, cols] for k blobs."""
    type: str
    compression: str
    rule: PixelRule = NO_RULE
    """What the detector says of the pixels of this series; of a chain without a step that changes counts,
    `NO_RULE`."""
    partial: bool = False
    """True if a part of the frame is missing, and has the fill value of its type."""

    @property
    def image_shape(self) -> tuple[int, int]:
        """Rows and columns of one image or module."""
        return self.shape[-2], self.shape[-1]

    @property
    def dtype(self) -> np.dtype:
        """The type of the pixels."""
        return pixel_type(self.type)

    def __str__(self) -> str:
        return f"{list(self.shape)} {self.type} {self.compression or 'cbf'}"


Plan: TypeAlias = Callable[[Format], tuple[Format, Kernel | None]]
"""Function that returns, for frames of one format, their format after a step and the kernel that converts
them; no kernel (`None`) means that they pass unchanged. Raises `FormatError`."""


class FormatError(Exception):
    """A step cannot take frames of this format; the sentence says what it takes, and the remedy."""


class TransformConfigError(ValueError):
    """The chain cannot work, or a table cannot be read; raised before any frame is received."""


class TransformError(Exception):
    """A step failed for a reason that is not in the frame: an internal error; the series ends in Error."""

    kind = "transform_failed"


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """One step of a chain, and its typed configuration."""

    takes: ClassVar[frozenset[str]] = frozenset({"plain", "pixels"})
    """Inputs that it accepts: "cbf", "bslz4", "lz4" or "plain" blobs as received, "pixels" in an array."""
    gives: ClassVar[str] = "pixels"
    """Kind of its output."""
    changes_counts: ClassVar[bool] = False
    """True if it makes other numbers of counts, for which `saturation_value` and `underload_value` of the
    metadata do not hold."""

    def load(self, read: ReadArray) -> Plan:
        """Return the step's plan; a step with files (a table, an image) reads them here, once.

        Args:
            read: how to read the array in a file.

        Raises:
            TransformConfigError: a file cannot be read, or does not hold what it should.
        """
        return self.plan

    def plan(self, format: Format) -> tuple[Format, Kernel | None]:
        """Return the format after the step, and its kernel; see `Plan`.

        Raises:
            FormatError: the step cannot take frames of this format.
        """
        raise NotImplementedError


def plain(format: Format, step: str) -> None:
    """Refuse frames that are compressed or have packed pixels.

    Raises:
        FormatError: the frames are still packed.
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
