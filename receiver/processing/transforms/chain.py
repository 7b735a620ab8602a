"""A chain of transforms: a frame's format followed through it, and the frame itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import msgspec
import numpy as np

from penstock.codecs import bslz4
from penstock.receiver.processing.memory_limit import MemoryLimit
from penstock.receiver.processing.transforms.bslz4 import pack
from penstock.receiver.processing.transforms.format import (
    Data,
    Format,
    FormatError,
    Kernel,
    Step,
    TransformConfigError,
    TransformError,
)
from penstock.receiver.processing.transforms.mono12 import TYPES as MONO12_TYPES
from penstock.receiver.processing.transforms.orientation import described, recorded
from penstock.stins import blobs
from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer, Frame, Header
from penstock.stins.texts import plural

FORMATS = 16
"""Formats whose way through the chain is remembered; a stream has one or two."""
NAMES = {
    "plain": "plain pixels as they came",
    "pixels": "plain pixels",
    "cbf": "CBF blobs",
    "bslz4": "bslz4 blobs",
}


class PackedFrame(Frame, frozen=True):
    """A frame that the last step has packed, and still has its pixels."""

    pixels: np.ndarray[Any, Any]
    """Of its first image: (rows, cols)."""


class Way:
    """How frames of one format pass a chain."""

    def __init__(self, after: Format, kernels: Sequence[Kernel], takes_blobs: bool) -> None:
        self.after = after
        self.kernels = tuple(kernels)
        self.takes_blobs = takes_blobs
        """Whether a step judges the blobs as they came; else they are judged by their image header."""
        self.packs = bool(kernels) and kernels[-1] is pack


class Chain:
    """The steps that every frame of a receiver passes, in their order; used by any number of threads.

    Args:
        steps: as configured.
        budget: what frames may take of the memory; any, if not given.

    Raises:
        TransformConfigError: a step can never take what the one before it gives, or its table cannot be read.
    """

    def __init__(self, steps: Sequence[Step], budget: MemoryLimit | None = None) -> None:
        check_order(steps)
        self._budget = budget
        self._steps = tuple((step, step.load()) for step in steps)
        self.keeps_pixels = False
        """Whether frames that the last step packs keep their pixels, for who needs them behind the chain."""
        self._way: Callable[[Format], Way] = lru_cache(FORMATS)(self._find_way)

    def follow(self, format: Format) -> Format:
        """How frames of this format leave the chain.

        Raises:
            BlobError: it cannot take them; the sentence says which step, and the remedy.
        """
        return self._way(format).after

    def announce(self, header: Header) -> Header:
        """The header of a series as it is behind the chain: for file, consumers and live view.

        Raises:
            BlobError: the chain cannot take the frames that it announces.
        """
        if header.shape is None or header.type is None or header.compression is None:
            # The first frame will say.
            return msgspec.structs.replace(
                header, shape=None, type=None, compression=None, frame_bytes=None, checksum=None
            )
        after = self.follow(Format(header.shape, header.type, header.compression))
        count, nbytes = blobs.blob_layout(after.shape, after.type)
        if after.compression == "bslz4":
            nbytes = bslz4.bound(nbytes, after.dtype.itemsize)
        return msgspec.structs.replace(
            header, shape=after.shape, type=after.type, compression=after.compression,
            frame_bytes=count * nbytes, checksum=None,
        )  # fmt: skip

    def describe(self, metadata: Mapping[str, Any], header: Header) -> Mapping[str, Any]:
        """The metadata of a series as they are behind the chain, for its header as it came."""
        steps = [step for step, _ in self._steps]
        return recorded(described(metadata, steps, header.shape), steps)

    def apply(self, frame: Frame) -> Frame:
        """The frame behind the chain.

        Raises:
            BlobError: its blobs are not what its header says, or no step can take it.
            TransformError: a step failed for another reason.
        """
        image = frame.image
        way = self._way(Format(image.shape, image.type, image.compression))
        if not way.takes_blobs:
            blobs.check(frame)
        elif len(frame.blobs) != (count := image.shape[0] if len(image.shape) == 3 else 1):
            raise BlobError(
                "blob_count", f"frame {image.frame}: {plural(len(frame.blobs), 'blob')}, {count} expected"
            )
        parts: list[Data] = list(frame.blobs)
        before = parts[0]
        try:
            for kernel in way.kernels:
                before = parts[0]
                parts = [kernel(part) for part in parts]
        except BlobError as error:
            raise BlobError(error.kind, f"frame {image.frame}: {error}") from error
        except Exception as error:
            raise TransformError(f"frame {image.frame} could not be transformed: {error!r}") from error
        after = way.after
        # Checksums were of the blobs as they came, chunks of the shape that they had.
        changed = msgspec.structs.replace(
            image, shape=after.shape, type=after.type, compression=after.compression,
            chunks=None, checksums=None,
        )  # fmt: skip
        if self.keeps_pixels and way.packs and isinstance(before, np.ndarray):
            return PackedFrame(changed, [_blob(part) for part in parts], before)
        return Frame(changed, [_blob(part) for part in parts])

    def _find_way(self, format: Format) -> Way:
        packed = format.type.lower() in MONO12_TYPES
        came = blobs.blob_layout(format.shape, "uint16" if packed else format.type)
        kernels: list[Kernel] = []
        takes_blobs, is_array = False, False
        for step, plan in self._steps:
            try:
                after, kernel = plan(format)
            except FormatError as error:
                raise BlobError("transform", str(error)) from error
            if kernel is not None:
                if not is_array and format.compression == "none":
                    if "pixels" in step.takes:
                        kernels.append(_to_array(format))
                    else:
                        takes_blobs = True
                takes_blobs = takes_blobs or format.compression in ("cbf", "")
                kernels.append(kernel)
                is_array = after.compression == "none"
            format = after
        left = blobs.blob_layout(format.shape, format.type)
        if self._budget is not None:
            self._budget.unpack(prod(came), prod(left))
        return Way(format, kernels, takes_blobs)


def check_order(steps: Sequence[Step]) -> None:
    """Refuse an order of steps that no stream can pass.

    Raises:
        TransformConfigError: a step can do nothing with what the one before it gives.
    """
    gets = frozenset({"cbf", "bslz4", "plain"})
    for number, step in enumerate(steps):
        name = step.__struct_config__.tag
        if not gets & step.takes:
            remedy = ""
            if "bslz4" in gets:
                remedy = "; put {type: decompress} before it, or bslz4 at the end"
            elif "pixels" not in step.takes:
                remedy = "; put it first"
            raise TransformConfigError(
                f"transforms[{number}], {name}, takes {_names(step.takes)}, and gets {_names(gets)} from "
                f"{steps[number - 1].__struct_config__.tag}{remedy}"
            )
        gets = frozenset({step.gives})


def _names(kinds: frozenset[str]) -> str:
    return " or ".join(text for kind, text in NAMES.items() if kind in kinds)


def _to_array(format: Format) -> Kernel:
    shape, dtype = format.image_shape, format.dtype
    return lambda blob: np.frombuffer(blob, dtype).reshape(shape)


def _blob(image: Data) -> Buffer:
    return memoryview(np.ascontiguousarray(image).data).cast("B") if isinstance(image, np.ndarray) else image
