"""What processing asks before it takes memory for frames."""

from __future__ import annotations

from typing import Protocol

from penstock.stins.messages import Header


class MemoryLimit(Protocol):
    """What a series may take of the receiver's memory."""

    def begin(self, header: Header, after: Header, images: int = 0) -> None:
        """Let a series begin.

        Args:
            header: as it was sent.
            after: as it is behind the transforms.
            images: bytes of the images in the metadata.

        Raises:
            StinsError: it could take more than is allowed; the sentence says what to change.
        """

    def unpack(self, plain_bytes: int, given_bytes: int) -> None:
        """Let frames be unpacked and assembled whose size no start message has told.

        Args:
            plain_bytes: of one frame, unpacked.
            given_bytes: of what the transforms make of it.

        Raises:
            BlobError: already a few of them take more than is allowed.
        """
