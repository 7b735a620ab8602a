"""A message that waits for a consumer, and what has become so far of the frames of its series."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.stins.messages import Buffer, Forwarded, Header, Image, SeriesEnd
from penstock.stins.series import SeriesEncoder
from penstock.stins.shared import Reference


class Passage(msgspec.Struct):
    """What has become so far of the frames of one series; see `Forwarded`."""

    sent: int = 0
    dropped: int = 0
    skipped: int = 0


class Queued(msgspec.Struct, frozen=True):
    """A message that waits for a consumer; it is numbered and encoded at the send."""

    head: Header | Image | tuple[Reference, ...] | SeriesEnd
    passage: Passage
    """What has become of the frames of its series: complete once its end message is at the front."""
    rest: Sequence[Buffer] = ()
    """Metadata of a start message, blobs of a frame."""
    nbytes: int = 0

    @property
    def frames(self) -> int:
        """Number of frames in it."""
        return len(self.head) if isinstance(self.head, tuple) else isinstance(self.head, Image)

    def parts(self, encoder: SeriesEncoder) -> Sequence[Buffer]:
        """Return the parts of the message."""
        match self.head:
            case Image():
                return [encoder.image(self.head), *self.rest]
            case Header():
                return [*encoder.start(self.head), *self.rest]
            case SeriesEnd():
                forwarded = Forwarded(**msgspec.structs.asdict(self.passage))
                return encoder.end(msgspec.structs.replace(self.head, forwarded=forwarded))
            case references:
                return encoder.references(references)
