"""What a source says of a message that it cannot use."""

from __future__ import annotations

from penstock.receiver.sources import Source
from penstock.receiver.transforms.frame_processor import refusal
from penstock.stins.errors import RemoteError
from penstock.stins.messages import Frame, RefusedImage


def error_of(source: Source, parts: list[bytes]) -> RemoteError:
    """The error with which a message is dropped, or its frame is corrupt."""
    try:
        found = source.decode(parts)
    except RemoteError as error:
        return error
    assert isinstance(found, Frame) and isinstance(found.image, RefusedImage), found
    assert found.blobs == ()
    return refusal(found.image)
