"""STINS as it is: the identity among the sources."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.stins import codec
from penstock.stins.messages import Buffer, Message


class StinsSource:
    """Decoder of a STINS stream."""

    ordered_by_message = True

    def decode(self, parts: Sequence[Buffer]) -> Message:
        """One STINS message; see `penstock.stins.codec.decode`."""
        return codec.decode(parts)
