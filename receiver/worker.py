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


class Worker:
    """Judges the frames of one series after another."""

    def __init__(self) -> None:
        self._checksum: Callable[[Buffer], str] | None = None
        self._shape: tuple[int, ...] | None = None
        self._type: str | None = None
        self._compression: str | None = None

    def begin(self, header: Header) -> None:
        """A new series: take up what its header announces."""
        self._checksum = CHECKSUMS.get(header.checksum) if header.checksum else None
        self._shape, self._type, self._compression = header.shape, header.type, header.compression

    def process(self, frame: Frame) -> Frame:
        """The frame as it goes into file, consumers and live view.

        Raises:
            BlobError: the blob is not what the image header, or its checksum, says, or the frame
                does not look like those before it.
        """
        blobs.check(frame)
        image = frame.image
        if image.shape != self._shape or image.type != self._type:
            self._first_or_changed(frame)
        if image.compression != self._compression and image.compression != "none":
            self._compression_changed(frame)
        if self._checksum is not None and frame.image.checksums is not None:
            found = tuple(self._checksum(blob) for blob in frame.blobs)
            if found != frame.image.checksums:
                raise BlobError(
                    "checksum",
                    f"frame {frame.image.frame}: checksum {', '.join(found)}, "
                    f"{', '.join(frame.image.checksums)} announced; the data were damaged on the way",
                )
        return frame

    def _first_or_changed(self, frame: Frame) -> None:
        image = frame.image
        if self._shape is not None and self._type is not None:
            raise BlobError(
                "format_changed",
                f"frame {image.frame} is {list(image.shape)} {image.type}, this series is {list(self._shape)} "
                f"{self._type}; a new format needs a new series",
            )
        # The start message did not say: the first sound frame does.
        self._shape, self._type = image.shape, image.type

    def _compression_changed(self, frame: Frame) -> None:
        image = frame.image
        if self._compression is not None:
            raise BlobError(
                "format_changed",
                f"frame {image.frame} is compressed as {image.compression}, this series as "
                f"{self._compression}; a new format needs a new series",
            )
        self._compression = image.compression
