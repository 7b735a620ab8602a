"""The frame processor: checks and transforms each frame between collector and outputs.

It checks the blob before anything is allocated for it, then applies the configured chain of transforms. With
several threads, frames are transformed ahead of their turn (`Prefetch`), and threads compute the checksums of
large frames ahead, too: a wrong one is refused in its turn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from penstock.receiver.transforms.channels import PartialFrame, sound_ones
from penstock.receiver.transforms.steps.chain import Chain, MemoryLimit
from penstock.receiver.transforms.steps.format import NO_RULE
from penstock.receiver.transforms.steps.orientation import BEFORE
from penstock.receiver.validity.pixels import PixelRule
from penstock.stins import blobs
from penstock.stins.checksums import ALGORITHMS, agree, checksums
from penstock.stins.errors import BlobError, StinsError
from penstock.stins.messages import Frame, Header, Image, RefusedImage, Start
from penstock.stins.texts import plural

MAX_FRAMES = 2**53
"""Most frames of a series: above, counts would not be exact in JSON and floating point."""

LEAST_SUMMED = 2**17
"""Bytes of the smallest frame whose announced checksum a thread computes: for a smaller one that takes little
longer than to hand it over and to wait for the result."""
SUMMING_THREADS = 4
"""Most threads that do so; a core takes crc32 of 2 to 4 GB/s."""

SentFormat: TypeAlias = tuple[tuple[int, ...], str, str, int]
"""Shape, type and compression of the frames of a series, as they are sent, and their number of blobs."""


class Result(NamedTuple):
    """What threads do with a frame."""

    frame: Future[Frame] | None
    """The transformed one; `None` if its turn is awaited for that."""
    rule: PixelRule = NO_RULE
    """Rule by which its pixels count, if the chain asks."""
    sums: Future[tuple[str, ...]] | None = None
    """Checksums of its blobs, as received; `None` if its turn is awaited for that."""
    algorithm: str | None = None
    """Algorithm of the checksums."""


class FrameProcessor:
    """Checks and transforms the frames of one series after another.

    Args:
        chain: transforms for every frame; `None` for none.
        threads: number of threads for the chain; with one, frames are transformed when their turn comes.
        budget: limit for the memory of a series; unlimited if not given.
    """

    def __init__(
        self, chain: Chain | None = None, threads: int = 1, budget: MemoryLimit | None = None
    ) -> None:
        self._chain = chain
        self._budget = budget
        self._pool = ThreadPoolExecutor(threads, "worker") if chain is not None and threads > 1 else None
        self._summing: ThreadPoolExecutor | None = None
        self._checksum: str | None = None
        self._checksum_ahead: str | None = None
        """Algorithm of the checksums that threads compute ahead; `None` if none do."""
        self._channels: tuple[str, ...] = ()
        self._format: SentFormat | None = None
        self._rule = self._rule_ahead = NO_RULE

    def expect(self, start: Start) -> None:
        """Take frames that are submitted from now on for those of this series, which will begin with it."""
        if self._chain is not None:
            self._rule_ahead = self._chain.rule(start.metadata)
        self._expect_sums(start.header)

    def _expect_sums(self, header: Header) -> None:
        known = header.checksum in ALGORITHMS and _may_have(header, LEAST_SUMMED)
        self._checksum_ahead = header.checksum if known else None

    def begin(self, start: Start, *, admitted: bool = False) -> tuple[Start, StinsError | None]:
        """Begin a series.

        Args:
            start: its start message; a `JoinedStart` for modules.
            admitted: the series is resumed, and was admitted by the memory limit before.

        Returns:
            The start message for file, consumers and live view; and an error to be counted although the
            series is taken: checksums of an unknown algorithm are not verified.

        Raises:
            StinsError: the announced frames are impossible, or cannot be stored, or take more than the memory
                limit allows.
        """
        header = start.header
        self._checksum = header.checksum if header.checksum in ALGORITHMS else None
        if admitted:  # there was no start message to expect it by
            self._expect_sums(header)
        self._channels = header.channels or ()
        self._format = None
        self._rule = NO_RULE if self._chain is None else self._chain.rule(start.metadata)
        if header.frames is not None and header.frames > MAX_FRAMES:
            raise BlobError(
                "too_large", f"{plural(header.frames, 'frame')} announced; the limit is {MAX_FRAMES}"
            )
        if header.shape is not None and header.type is not None:
            if self._chain is None:
                blobs.blob_layout(header.shape, header.type)
            if header.compression is not None:
                number = blobs.announced_blobs(header.shape, self._channels)
                self._format = (header.shape, header.type, header.compression, number)
        after = self._announced(start)
        if after.compression not in (None, *blobs.COMPRESSIONS):
            # Every frame would be corrupt.
            step = " Put {type: cbf} first into its transforms." if after.compression in ("cbf", "") else ""
            raise BlobError(
                "unknown_compression",
                f'frames of compression "{after.compression}" are announced, of which the receiver stores '
                f"{', '.join(blobs.COMPRESSIONS)}.{step}",
            )
        if self._budget is not None and not admitted:
            self._budget.begin(header, after, self._image_bytes(start))
        unable = None
        if header.checksum and self._checksum is None:
            unable = StinsError(
                "unknown_checksum",
                f'checksums "{header.checksum}" are announced; known are {", ".join(ALGORITHMS)}. '
                "The series is taken, its blobs are unchecked",
            )
        return Start(after, self._described(start)), unable

    def learned(self, start: Start, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return metadata that became known in the series only, as the transforms make them.

        Args:
            start: start message of the series.
            metadata: numbers, flags and texts.
        """
        after = self._described(Start(start.header, {**start.metadata, **metadata}))
        return {key: after[key] for key in (*metadata, BEFORE) if key in after}

    def _announced(self, start: Start) -> Header:
        """Return the header after the transforms."""
        return start.header if self._chain is None else self._chain.announce(start.header)

    def _described(self, start: Start) -> Mapping[str, Any]:
        """Return the metadata after the transforms."""
        return start.metadata if self._chain is None else self._chain.describe(start.metadata, start.header)

    def _image_bytes(self, start: Start) -> int:
        """Return the memory of images that are assembled from the metadata."""
        return 0

    def unpacked_bytes(self, frame: Frame) -> int | None:
        """Return the memory that a frame takes in addition once it is unpacked; `None` if unknown."""
        try:
            count, nbytes = blobs.blob_layout(frame.image.shape, frame.image.type)
        except BlobError:
            return None
        return count * nbytes

    @property
    def parallel(self) -> bool:
        """True if `submit` hands frames, of the series that is expected, to threads."""
        return self._pool is not None or self._checksum_ahead is not None

    @property
    def transforms_ahead(self) -> bool:
        """True if threads transform frames, of every series."""
        return self._pool is not None

    def keep_pixels(self, keep: bool) -> None:
        """Set whether frames packed by the transforms keep their pixels, which regions of interest need."""
        if self._chain is not None:
            self._chain.keeps_pixels = keep

    def submit(self, frame: Frame) -> Result | None:
        """Let threads transform this frame and compute its checksums; return the result, to be passed to
        `process` in its turn."""
        if not frame.blobs:
            return None
        pool, chain, algorithm = self._pool, self._chain, self._checksum_ahead
        made = sums = None
        if pool is not None and chain is not None:
            made = pool.submit(chain.apply, frame, self._rule_ahead)
        is_announced = frame.image.checksums is not None
        if algorithm is not None and is_announced and sum(map(len, frame.blobs)) >= LEAST_SUMMED:
            sums = self._summers.submit(checksums, algorithm, frame.blobs)
        return None if made is None and sums is None else Result(made, self._rule_ahead, sums, algorithm)

    @property
    def _summers(self) -> ThreadPoolExecutor:
        if self._summing is None:
            self._summing = ThreadPoolExecutor(summing_threads(), "checksum")
        return self._summing

    def close(self) -> None:
        """End the threads."""
        for pool in (self._pool, self._summing):
            if pool is not None:
                pool.shutdown(cancel_futures=True)

    def process(self, frame: Frame, result: Result | None = None) -> Frame:
        """Return the frame for file, consumers and live view.

        Args:
            frame: the frame as sent.
            result: result of `submit` for this frame.

        Raises:
            BlobError: the blob does not match the image header or its checksum, the frame has another format
                than those before it, or a step of the chain cannot take it.
            TransformError: a step failed for another reason.
        """
        if not frame.blobs:
            raise refusal(frame.image)
        if self._chain is None:
            blobs.check(frame)
        # Without a format in the start message, the first sound frame sets it.
        format = self._check_sent(frame, self._format, frame.image.said, result)
        if self._chain is not None:
            if result is not None and result.rule != self._rule:
                # It was taken for one of another series; of a resumed one, there was no start message.
                self._rule_ahead, result = self._rule, None
            made = None if result is None else result.frame
            frame = self._chain.apply(frame, self._rule) if made is None else made.result()
        self._format = format
        return frame

    def passes(self, frame: Frame) -> bool:
        """Return whether a frame that `process` has returned was neither transformed nor compressed nor had
        its checksum verified, and has one blob."""
        is_plain = frame.image.compression == "none" and len(frame.blobs) == 1
        return is_plain and self._chain is None and self._checksum is None

    def _check_sent(
        self, frame: Frame, expected: SentFormat | None, name: str, result: Result | None = None
    ) -> SentFormat:
        """Return the format of the series: that of this frame if it was not known before.

        Raises:
            BlobError: the frame has another format, or its checksum does not match; `name` is for the error.
        """
        image = frame.image
        given = (image.shape, image.type, image.compression, len(frame.blobs))
        # A streamer may send a frame uncompressed if it does not shrink; the file can hold both.
        if expected is not None and given != expected and given != (*expected[:2], "none", expected[3]):
            shape, dtype, compression, number = expected
            counts = [plural(count, "blob") for count in (len(frame.blobs), number)]
            here, there = (f" in {count}" for count in counts) if counts[0] != counts[1] else ("", "")
            raise BlobError(
                "format_changed",
                f"{name} is {list(image.shape)} {image.type} {image.compression}{here}, this series is "
                f"{list(shape)} {dtype} {compression}{there}; a new format needs a new series",
            )
        if self._checksum is not None and image.checksums is not None:
            sums = None if result is None or result.algorithm != self._checksum else result.sums
            found = checksums(self._checksum, frame.blobs) if sums is None else sums.result()
            if not agree(found, image.checksums):
                raise BlobError(
                    "checksum",
                    f"{name}: checksum {', '.join(found)}, announced was "
                    f"{', '.join(image.checksums)}; the data were damaged on the way",
                )
        return expected or given

    def sound_channels(self, frame: Frame) -> PartialFrame | None:
        """Return the sound channels of a frame that `process` has refused; `None` if there are none."""
        image, number = frame.image, len(self._channels)
        shape, dtype, compression, _ = self._format or (image.shape, image.type, image.compression, number)
        alike = (image.shape, image.type) == (shape, dtype) and image.compression in (compression, "none")
        if number < 2 or not alike or len(shape) != 3 or not shape[0] == number == len(frame.blobs):
            return None
        apply = None if self._chain is None else partial(self._chain.apply, rule=self._rule)
        found = sound_ones(frame, self._channels, self._checksum, apply)
        if found is not None:
            self._format = self._format or (image.shape, image.type, image.compression, number)
        return found


def summing_threads() -> int:
    """Return how many threads compute checksums ahead."""
    return min(SUMMING_THREADS, len(os.sched_getaffinity(0)))


def _may_have(header: Header, nbytes: int) -> bool:
    """Return whether frames may have so many bytes, by all that their start message says."""
    if header.frame_bytes is not None:
        return header.frame_bytes >= nbytes
    if header.shape is None or header.type is None:
        return True
    try:
        count, each = blobs.blob_layout(header.shape, header.type)
    except BlobError:
        return True
    return count * each >= nbytes


def refusal(image: Image) -> BlobError:
    """Return why a frame without pixels is corrupt."""
    if isinstance(image, RefusedImage):
        return BlobError(image.kind, image.why)
    return BlobError("blob_count", f"{image.said} has no pixels: its message has only one part")
