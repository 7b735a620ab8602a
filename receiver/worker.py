"""The worker: what is done to each frame between source and collector's sinks.

Judges the blob before anything is allocated for it. Transforms join here: each a function from
frame to frame, in the order of the configuration.
"""

from __future__ import annotations

from penstock.stins import blobs
from penstock.stins.checksums import ALGORITHMS, checksums
from penstock.stins.errors import BlobError, StinsError
from penstock.stins.messages import Frame, Header

MAX_FRAMES = 2**53
"""More frames are refused: nothing honest announces them, and counts must stay exact everywhere."""


class Worker:
    """Judges the frames of one series after another."""

    def __init__(self) -> None:
        self._checksum: str | None = None
        self._format: tuple[tuple[int, ...], str, str] | None = None

    def begin(self, header: Header) -> StinsError | None:
        """A new series: take up what its header announces.

        Returns what of it cannot be done, though the series can be taken: checksums of an algorithm
        that is not known stay unchecked.

        Raises:
            BlobError: it announces frames that cannot be.
        """
        self._checksum = header.checksum if header.checksum in ALGORITHMS else None
        self._format = None
        if header.frames is not None and header.frames > MAX_FRAMES:
            raise BlobError("too_large", f"{header.frames} frames announced; the limit is {MAX_FRAMES}")
        if header.shape is not None and header.type is not None:
            blobs.blob_layout(header.shape, header.type)
            if header.compression is not None:
                self._format = (header.shape, header.type, header.compression)
        if header.checksum and self._checksum is None:
            return StinsError(
                "unknown_checksum",
                f'checksums "{header.checksum}" are announced; known are {", ".join(ALGORITHMS)}. '
                "The series is taken, its blobs are unchecked",
            )
        return None

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
            found = checksums(self._checksum, frame.blobs)
            if found != image.checksums:
                raise BlobError(
                    "checksum",
                    f"frame {image.frame}: checksum {', '.join(found)}, announced was "
                    f"{', '.join(image.checksums)}; the data were damaged on the way",
                )
        return frame
