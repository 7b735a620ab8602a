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

    def begin(self, header: Header) -> None:
        """A new series: take up what its header announces."""
        self._checksum = CHECKSUMS.get(header.checksum) if header.checksum else None

    def process(self, frame: Frame) -> Frame:
        """The frame as it goes into file, consumers and live view.

        Raises:
            BlobError: the blob is not what the image header, or its checksum, says.
        """
        blobs.check(frame)
        if self._checksum is not None and frame.image.checksums is not None:
            found = tuple(self._checksum(blob) for blob in frame.blobs)
            if found != frame.image.checksums:
                raise BlobError(
                    "checksum",
                    f"frame {frame.image.frame}: checksum {', '.join(found)}, "
                    f"{', '.join(frame.image.checksums)} announced; the data were damaged on the way",
                )
        return frame
