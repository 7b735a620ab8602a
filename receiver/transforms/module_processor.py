"""The processor of joined frames: each module is checked and transformed separately.

Then they are assembled, if the steps include that. A bad module does not affect the others of its frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np

from penstock.codecs.packed import CODECS
from penstock.codecs.pixel_type import fill_value, pixel_type
from penstock.receiver.transforms.frame_processor import FrameProcessor, Result, refusal
from penstock.receiver.transforms.joined import (
    IMAGES,
    Joined,
    JoinedFrame,
    JoinedStart,
    assembled_bytes,
    assembled_metadata,
    single,
)
from penstock.receiver.transforms.module_layout import Layout, LayoutError, assemble
from penstock.receiver.transforms.steps import tables
from penstock.receiver.transforms.steps.assemble import Assemble
from penstock.receiver.transforms.steps.chain import Chain, MemoryLimit
from penstock.receiver.transforms.steps.facts import moved
from penstock.receiver.transforms.steps.format import NO_RULE, ReadArray, Step
from penstock.receiver.transforms.steps.orientation import turned
from penstock.stins import blobs
from penstock.stins.checksums import checksums
from penstock.stins.errors import BlobError, RemoteError, StinsError
from penstock.stins.messages import Buffer, Frame, Header, RefusedImage, Start


class ModuleProcessor(FrameProcessor):
    """Checks and transforms the joined frames of one series after another.

    Args:
        steps: transforms for every frame: those before `assemble` for each module, those after it for the
            whole image.
        threads: number of threads for the steps.
        budget: limit for the memory of a series; unlimited if not given.
        read: how to read the files of steps, as for `Chain`.

    Raises:
        TransformConfigError: a step cannot take the result of the one before it, or its table cannot be read.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        threads: int = 1,
        budget: MemoryLimit | None = None,
        read: ReadArray = tables.read,
    ) -> None:
        super().__init__(budget=budget)
        at = next((place for place, step in enumerate(steps) if isinstance(step, Assemble)), len(steps))
        before, after = steps[:at], steps[at + 1 :]
        self.assembles = at < len(steps)
        """True if the steps assemble frames to one image."""
        self._before = Chain(before, budget, read) if before else None
        self._after = Chain(after, budget, read) if after else None
        self._steps_before, self._steps_after = tuple(before), tuple(after)
        if steps and threads > 1:
            self._pool = ThreadPoolExecutor(threads, "worker")

    def unpacked_bytes(self, frame: Frame) -> int | None:
        """Return the memory that a frame takes once it is unpacked; see `FrameProcessor.unpacked_bytes`."""
        each = super().unpacked_bytes(frame)
        if each is None or not isinstance(frame, JoinedFrame):
            return each
        image = frame.image
        layout = frame.joined.arranged(*image.shape[-2:]) if self.assembles else None
        whole = 0 if layout is None else layout.pixels * blobs.ITEM_BYTES[image.type]
        return len(frame.arrived) * each + whole

    def _described(self, start: Start) -> Mapping[str, Any]:
        assert isinstance(start, JoinedStart)
        metadata = assembled_metadata(self._each(start), start.joined, turn=self.assembles)
        if self._after is None:
            return metadata
        shape = start.header.shape
        layout = None if shape is None else start.joined.arranged(shape[-2], shape[-1])
        whole = msgspec.structs.replace(start.header, shape=None if layout is None else layout.shape)
        return self._after.describe(metadata, whole)

    def _image_bytes(self, start: Start) -> int:
        assert isinstance(start, JoinedStart)
        return assembled_bytes(self._each(start), start.joined, turn=self.assembles)

    def _each(self, start: JoinedStart) -> Mapping[str, Any]:
        """Return the metadata after the steps before `assemble`, with the image of each module."""
        before, metadata = self._before, start.metadata
        if before is None:
            return metadata

        def after(key: str, value: Any) -> Any:
            return None if value is None else before.describe({key: value}, start.header)[key]

        images = {key: [after(key, each) for each in metadata[key]] for key in IMAGES if key in metadata}
        return moved({**metadata, **images}, self._steps_before)

    def submit(self, frame: Frame) -> Result | None:
        """Let a thread do it once the format is known; see `FrameProcessor.submit`."""
        if self._pool is None or not isinstance(frame, JoinedFrame) or frame.joined.format is None:
            return None
        return Result(self._pool.submit(self._checked, frame))

    def _expect_sums(self, header: Header) -> None:
        """Checksums of modules are verified with all else, in the thread or when its turn comes."""

    def process(self, frame: Frame, result: Result | None = None) -> JoinedFrame:
        """Return the frame for file, consumers and live view; the errors of corrupt modules are in `corrupt`.

        Args:
            frame: the joined frame.
            result: result of `submit` for this frame.

        Raises:
            BlobError: its modules cannot be assembled.
            TransformError: a step failed for a reason that is not in the frame.
        """
        assert isinstance(frame, JoinedFrame)
        made = None if result is None else result.frame
        done = self._checked(frame) if made is None else made.result()
        assert isinstance(done, JoinedFrame)
        return done

    def _announced(self, start: Start) -> Header:
        assert isinstance(start, JoinedStart)
        header = start.header
        if self._before is not None:
            header = self._before.announce(header)
        placed = None if header.shape is None else start.joined.arranged(*header.shape[-2:])
        start.joined.placed = None if placed is None else turned(placed, self._steps_after)
        if not self.assembles:
            return header
        if header.shape is not None and header.type is not None:
            layout = _layout(start.joined, header.shape[-2:])
            nbytes = layout.pixels * blobs.ITEM_BYTES[header.type]
            header = msgspec.structs.replace(
                header, shape=layout.shape, compression="none", frame_bytes=nbytes, checksum=None
            )
        else:
            header = msgspec.structs.replace(header, shape=None, compression=None, checksum=None)
        return header if self._after is None else self._after.announce(header)

    def _checked(self, frame: JoinedFrame) -> JoinedFrame:
        """Check and transform a frame; in any thread once `joined.format` is known."""
        good: dict[int, Frame] = {}
        corrupt: dict[int, StinsError] = {}
        for module in frame.arrived:
            try:
                good[module] = self._module(frame, module)
            except RemoteError as error:
                corrupt[module] = error
        absent = [name for n, name in enumerate(frame.joined.endpoints) if n not in good]
        partial = [image.partial for image in frame.images if image is not None and image.partial is not None]
        if absent:
            partial.insert(0, f"without {', '.join(absent)}")
        # `partial` is for the consumers.
        whole = msgspec.structs.replace(frame.image, partial="; ".join(partial) or None)
        checked = msgspec.structs.replace(frame, corrupt=corrupt, image=whole)
        if not good:
            return msgspec.structs.replace(checked, blobs=[b""] * len(frame.blobs))
        first = next(iter(good.values())).image
        size = first.shape[-2:]
        if not self.assembles:
            placed = frame.joined.placed = frame.joined.arranged(size[0], size[1])
            return self._blobs(checked, good, placed)
        layout = _layout(frame.joined, size)
        dtype = pixel_type(first.type)
        if self._budget is not None:
            received = len(good) * size[0] * size[1]
            self._budget.unpack(received * dtype.itemsize, layout.pixels * dtype.itemsize)
        images = [
            np.frombuffer(good[module].blobs[0], dtype).reshape(size) if module in good else None
            for module in range(len(frame.blobs))
        ]
        pixels = assemble(layout, images, dtype, fill_value(first.type))
        image = msgspec.structs.replace(
            whole, shape=layout.shape, type=first.type, compression="none", chunks=None, checksums=None
        )
        assembled = Frame(image, [memoryview(pixels.data).cast("B")])
        if self._after is not None:
            counts = not any(step.changes_counts for step in self._steps_before)
            assembled = self._after.apply(assembled, frame.joined.rule if counts else NO_RULE)
        if (placed := frame.joined.placed) is None:
            placed = frame.joined.placed = turned(layout, self._steps_after)
        covered = placed.covered([module in good for module in range(len(frame.blobs))])
        return msgspec.structs.replace(checked, image=assembled.image, blobs=assembled.blobs, covered=covered)

    def _module(self, frame: JoinedFrame, module: int) -> Frame:
        """Return one module's frame, checked and transformed.

        Raises:
            RemoteError: it is corrupt.
        """
        image, joined = frame.images[module], frame.joined
        assert image is not None
        name = joined.endpoints[module]
        if isinstance(image, RefusedImage):
            raise refusal(image)
        if not len(frame.blobs[module]):
            raise BlobError("blob_count", f"{image.said} of {name}: one blob that is not empty expected")
        if len(image.shape) != 2:
            image = msgspec.structs.replace(image, shape=single(image.shape, len(joined.endpoints)))
        part = Frame(image, [frame.blobs[module]])
        if self._before is None:
            blobs.check(part)
        format = self._check_sent(part, joined.format, f"{image.said} of {name}")
        if self._before is not None:
            part = self._before.apply(part, joined.rules[module])
        joined.format = format
        return part

    def _blobs(self, frame: JoinedFrame, good: dict[int, Frame], layout: Layout | None) -> JoinedFrame:
        """Return the blobs of the good modules under one header."""
        packed = {part.image.compression for part in good.values()}
        compression = next(iter(packed - {"none"}), "none")
        first = next(iter(good.values())).image
        parts: list[Buffer] = []
        sums: list[str] = []
        for module in range(len(frame.blobs)):
            part = good.get(module)
            blob: Buffer = b"" if part is None else part.blobs[0]
            announced = "" if part is None or part.image.checksums is None else part.image.checksums[0]
            if part is not None and len(packed) > 1 and part.image.compression == "none":
                # All blobs have the compression of the one header, so the plain one is packed too.
                plain = np.frombuffer(blob, pixel_type(part.image.type))
                blob = CODECS[compression].compress(plain)
                announced = checksums(self._checksum, [blob])[0] if announced and self._checksum else ""
            parts.append(blob)
            sums.append(announced)
        image = msgspec.structs.replace(
            frame.image,
            shape=(len(parts), *first.shape[-2:]),
            type=first.type,
            compression=compression,
            chunks=None,
            checksums=tuple(sums) if any(sums) else None,
        )
        image = frame.joined.with_place(image, layout)
        return msgspec.structs.replace(frame, image=image, blobs=parts, layout=layout)


def _layout(joined: Joined, size: Sequence[int]) -> Layout:
    layout = joined.arranged(size[0], size[1])
    if layout is None:
        raise BlobError(LayoutError.kind, f"the modules cannot be assembled: {joined.why_not}")
    return layout
