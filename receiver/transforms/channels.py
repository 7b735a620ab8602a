"""Frames of several channels, such as thresholds, of which some are corrupt or missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from penstock.receiver.models import FrameStatus
from penstock.stins import blobs
from penstock.stins.checksums import agree, checksums
from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer, Frame, Image


class PartialFrame(Frame, frozen=True):
    """A frame with some channels missing: their blobs are empty."""

    statuses: tuple[FrameStatus, ...]
    """Status of each channel."""


def sound_ones(
    frame: Frame, names: Sequence[str], algorithm: str | None, transform: Callable[[Frame], Frame] | None
) -> PartialFrame | None:
    """Return the frame with its sound channels, each checked and transformed separately; `None` if none is.

    Args:
        frame: frame as received, of the shape of its series; a missing channel has an empty blob.
        names: names of the channels.
        algorithm: algorithm of the checksums, if they are to be verified.
        transform: transform that is applied to every image.
    """
    image, number = frame.image, len(names)
    sums = image.checksums if image.checksums and len(image.checksums) == number else ("",) * number
    single = msgspec.structs.replace(image, shape=image.shape[1:], chunks=None, checksums=None)
    parts: list[Buffer] = [b""] * number
    statuses = [FrameStatus.STORED] * number
    reasons: list[str] = []
    after: Image | None = None
    for place, (name, blob, announced) in enumerate(zip(names, frame.blobs, sums, strict=True)):
        if not len(blob):
            statuses[place] = FrameStatus.MISSING
            reasons.append(f"{name} did not arrive")
            continue
        try:
            part = Frame(single, (blob,))
            blobs.check(part)
            if algorithm and announced and not agree(checksums(algorithm, part.blobs), (announced,)):
                raise BlobError("checksum", "the checksum does not match; the data were damaged on the way")
            part = part if transform is None else transform(part)
        except BlobError as error:
            statuses[place] = FrameStatus.CORRUPT
            reasons.append(f"{name}: {error}")
            continue
        parts[place], after = part.blobs[0], part.image
    if after is None:
        return None
    kept = tuple(value if len(part) else "" for value, part in zip(sums, parts, strict=True))
    left = msgspec.structs.replace(
        after, shape=(number, *after.shape), partial="; ".join(reasons),
        checksums=kept if transform is None and any(kept) else None,
    )  # fmt: skip
    return PartialFrame(left, parts, tuple(statuses))
