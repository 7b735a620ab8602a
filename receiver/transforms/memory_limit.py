"""The interface by which the transforms request memory for frames."""

from __future__ import annotations

from typing import Protocol

from penstock.stins.messages import Header


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
