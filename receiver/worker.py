"""The worker: what is done to each frame between source and collector's sinks.

Judges the blob before anything is allocated for it. Transforms join here: each a function from
frame to frame, in the order of the configuration.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from penstock.stins import blobs
from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer, Frame, Header

CHECKSUMS: dict[str, Callable[[Buffer], str]] = {
    "crc32": lambda blob: f"{zlib.crc32(blob):08x}",
    "adler32": lambda blob: f"{zlib.adler32(blob):08x}",
}
"""Algorithms that a start message may announce, by name."""

MAX_FRAMES = 2**53
"""More frames are refused: nothing honest announces them, and counts must stay exact everywhere."""


class Worker:
    """Judges the frames of one series after another."""

    def __init__(self) -> None:
        self._checksum: Callable[[Buffer], str] | None = None
        self._format: tuple[tuple[int, ...], str, str] | None = None

    def begin(self, header: Header) -> None:
        """A new series: take up what its header announces.

        Raises:
            BlobError: it announces frames that cannot be.
        """
        self._checksum = CHECKSUMS.get(header.checksum) if header.checksum else None
        self._format = None
        if header.frames is not None and header.frames > MAX_FRAMES:
            raise BlobError("too_large", f"{header.frames} frames announced; the limit is {MAX_FRAMES}")
        if header.shape is not None and header.type is not None:
            blobs.blob_layout(header.shape, header.type)
            if header.compression is not None:
                self._format = (header.shape, header.type, header.compression)

    def process(self, frame: Frame) -> Frame:
        """The frame as it goes into file, consumers and live view.

        Raises:
            BlobError: the blob is not what the image header, or its checksum, says, or the frame
                does not look like those before it.
        """
        blobs.check(frame)
        image = frame.image
        if self._format is None:
            # The start message did not say: the first sound frame does.
            self._format = (image.shape, image.type, image.compression)
        shape, dtype, compression = self._format
        # A streamer may send a frame plain that does not shrink; the file can hold both.
        if image.shape != shape or image.type != dtype or image.compression not in (compression, "none"):
            raise BlobError(
                "format_changed",
                f"frame {image.frame} is {list(image.shape)} {image.type} {image.compression}, "
                f"this series is {list(shape)} {dtype} {compression}; a new format needs a new series",
            )
        if self._checksum is not None and image.checksums is not None:
            found = tuple(self._checksum(blob) for blob in frame.blobs)
            if found != image.checksums:
                raise BlobError(
                    "checksum",
                    f"frame {image.frame}: checksum {', '.join(found)}, announced was "
                    f"{', '.join(image.checksums)}; the data were damaged on the way",
                )
        return frame
