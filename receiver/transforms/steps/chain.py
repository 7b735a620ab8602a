"""The chain of transforms: it derives the format of the result, asks for memory, and applies the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from penstock.codecs import bslz4
from penstock.codecs.pixel_type import little_endian
from penstock.receiver.transforms.steps import tables
from penstock.receiver.transforms.steps.facts import moved
from penstock.receiver.transforms.steps.format import (
    NO_RULE,
    Data,
    Format,
    FormatError,
    Kernel,
    ReadArray,
    Step,
    TransformConfigError,
    TransformError,
)
from penstock.receiver.transforms.steps.mono12 import TYPES as MONO12_TYPES
from penstock.receiver.transforms.steps.orientation import described, recorded
from penstock.receiver.validity.pixels import PixelRule, rule_of
from penstock.stins import blobs
from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer, Frame, Header
from penstock.stins.texts import plural


class MemoryLimit(Protocol):
    """The limit for the memory of a series."""

    def begin(self, header: Header, after: Header, images: int = 0) -> None:
        """Admit a series.

        Args:
            header: header as received.
            after: header after the transforms.
            images: bytes of the images in the metadata.

        Raises:
            StinsError: the series could take more than is allowed; the sentence says what to change.
        """

    def unpack(self, plain_bytes: int, given_bytes: int) -> None:
        """Admit frames for unpacking and assembling whose size was not announced in a start message.

        Args:
            plain_bytes: size of one frame, unpacked.
            given_bytes: size of the frame after the transforms.

        Raises:
            BlobError: even a few such frames take more than is allowed.
        """


FORMATS = 16
"""Formats whose plan is cached; a stream has one or two."""
NAMES = {
    "plain": "plain pixels as received",
    "pixels": "plain pixels",
    "cbf": "CBF blobs",
    "bslz4": "bslz4 blobs",
    "lz4": "lz4 blobs",
}


class PackedFrame(Frame, frozen=True):
    """A frame that the last step has packed, and that still has its pixels."""

    pixels: np.ndarray[Any, Any]
    """Pixels of its first image: (rows, cols)."""


class Way(NamedTuple):
    """The plan for frames of one format: the steps to apply, and the resulting format."""

    after: Format
    kernels: Sequence[Kernel]
    takes_blobs: bool
    """A step checks the blobs as received; otherwise they are checked against the image header."""
    packs: bool
    """The last step packs pixels."""


class Chain:
    """The steps that are applied to every frame of a receiver, in order; safe for any number of threads.

    Args:
        steps: the configured steps.
        budget: limit for the memory of frames; unlimited if not given.
        read: how to read the files of steps; `process.transform_files` reads those with frames too.

    Raises:
        TransformConfigError: a step cannot take the result of the one before it, or its table cannot be read.
    """

    def __init__(
        self, steps: Sequence[Step], budget: MemoryLimit | None = None, read: ReadArray = tables.read
    ) -> None:
        check_order(steps)
        self._budget = budget
        self._steps = tuple((step, step.load(read)) for step in steps)
        self._changes_counts = any(step.changes_counts for step in steps)
        self.keeps_pixels = False
        """True if frames that the last step packs keep their pixels, for users after the chain."""
        self._way: Callable[[Format], Way] = lru_cache(FORMATS)(self._find_way)

    def follow(self, format: Format) -> Format:
        """Return the format in which frames of this format leave the chain.

        Raises:
            BlobError: the chain cannot take them; the sentence names the step and the remedy.
        """
        return self._way(format).after

    def announce(self, header: Header) -> Header:
        """Return the header of a series after the chain: for file, consumers and live view.

        Raises:
            BlobError: the chain cannot take the announced frames.
        """
        if header.shape is None or header.type is None or header.compression is None:
            # The first frame will tell.
            return msgspec.structs.replace(
                header, shape=None, type=None, compression=None, frame_bytes=None, checksum=None
            )
        _refuse_others(header.shape, blobs.announced_blobs(header.shape, header.channels or ()))
        after = self.follow(Format(header.shape, header.type, header.compression))
        count, nbytes = blobs.blob_layout(after.shape, after.type)
        if after.compression == "bslz4":
            nbytes = bslz4.bound(nbytes, after.dtype.itemsize)
        return msgspec.structs.replace(
            header, shape=after.shape, type=after.type, compression=after.compression,
            frame_bytes=count * nbytes, checksum=None,
        )  # fmt: skip

    def describe(self, metadata: Mapping[str, Any], header: Header) -> Mapping[str, Any]:
        """Return the metadata of a series after the chain; `header` is the one received."""
        steps = [step for step, _ in self._steps]
        return moved(recorded(described(metadata, steps, header.shape), steps), steps)

    def rule(self, metadata: Mapping[str, Any]) -> PixelRule:
        """Return which pixels count in frames of a series, for `apply`; `NO_RULE` if no step asks.

        Args:
            metadata: of the series, as received.
        """
        return rule_of(metadata) if self._changes_counts else NO_RULE

    def apply(self, frame: Frame, rule: PixelRule = NO_RULE) -> Frame:
        """Return the frame after the chain.

        Args:
            frame: the frame as received.
            rule: that of its series, by `rule`.

        Raises:
            BlobError: the blobs do not match the header, or a step cannot take the frame.
            TransformError: a step failed for another reason.
        """
        image = frame.image
        _refuse_others(image.shape, len(frame.blobs))
        format = Format(image.shape, image.type, image.compression)
        if self._changes_counts:
            format = format._replace(rule=rule, partial=image.partial is not None)
        way = self._way(format)
        if not way.takes_blobs:
            blobs.check(frame)
        elif len(frame.blobs) != (count := image.shape[0] if len(image.shape) == 3 else 1):
            raise BlobError(
                "blob_count", f"{image.said}: {plural(len(frame.blobs), 'blob')}, {count} expected"
            )
        parts: list[Data] = list(frame.blobs)
        before = parts[0]
        try:
            for kernel in way.kernels:
                before = parts[0]
                parts = [kernel(part) for part in parts]
        except BlobError as error:
            raise BlobError(error.kind, f"{image.said}: {error}") from error
        except Exception as error:
            raise TransformError(f"{image.said} could not be transformed: {error!r}") from error
        after = way.after
        # Checksums and chunks belong to the blobs as received.
        changed = msgspec.structs.replace(
            image, shape=after.shape, type=after.type, compression=after.compression,
            chunks=None, checksums=None,
        )  # fmt: skip
        if self.keeps_pixels and way.packs and isinstance(before, np.ndarray):
            return PackedFrame(changed, [_blob(part) for part in parts], before)
        return Frame(changed, [_blob(part) for part in parts])

    def _find_way(self, format: Format) -> Way:
        packed = format.type.lower() in MONO12_TYPES
        received = blobs.blob_layout(format.shape, "uint16" if packed else format.type)
        kernels: list[Kernel] = []
        takes_blobs, is_array = False, False
        for step, plan in self._steps:
            sent = format
            if format.compression == "none" and "pixels" in step.takes:
                format = _as_array(format)
            try:
                after, kernel = plan(format)
            except FormatError as error:
                raise BlobError("transform", str(error)) from error
            if kernel is not None:
                if not is_array and format.compression == "none":
                    if "pixels" in step.takes:
                        kernels.append(_to_array(sent))
                    else:
                        takes_blobs = True
                takes_blobs = takes_blobs or format.compression in ("cbf", "")
                kernels.append(kernel)
                is_array = after.compression == "none"
                if is_array and after != (after := _as_array(after)):
                    kernels.append(little_endian)
            else:
                after = sent  # its blobs pass as they were sent
            format = after._replace(rule=NO_RULE) if step.changes_counts else after
        left = blobs.blob_layout(format.shape, format.type)
        if self._budget is not None:
            self._budget.unpack(prod(received), prod(left))
        return Way(format, kernels, takes_blobs, kernels[-1:] == [bslz4.compress])


def check_order(steps: Sequence[Step]) -> None:
    """Refuse an order of steps that suits no stream.

    Raises:
        TransformConfigError: a step cannot take the result of the one before it.
    """
    gets = frozenset({"cbf", "bslz4", "lz4", "plain"})
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


def _refuse_others(shape: tuple[int, ...], parts: int) -> None:
    """Refuse frames that are not images: all steps are for images.

    Raises:
        BlobError: they are spectra or colour images.
    """
    if len(shape) == 1 or blobs.has_colours(shape, parts):
        what = "spectra" if len(shape) == 1 else "colour images"
        raise BlobError(
            "transform",
            f"transforms take images of [rows, cols], these frames of {list(shape)} are {what}; remove "
            "`transforms` from the receiver's configuration",
        )


def _names(kinds: frozenset[str]) -> str:
    return " or ".join(text for kind, text in NAMES.items() if kind in kinds)


def _as_array(format: Format) -> Format:
    """Return the format of an array that the steps get: little endian, whatever was sent."""
    return format._replace(type=format.dtype.name) if format.type.startswith(">") else format


def _to_array(format: Format) -> Kernel:
    shape, dtype = format.image_shape, format.dtype
    return lambda blob: little_endian(np.frombuffer(blob, dtype).reshape(shape))


def _blob(image: Data) -> Buffer:
    return memoryview(np.ascontiguousarray(image).data).cast("B") if isinstance(image, np.ndarray) else image
