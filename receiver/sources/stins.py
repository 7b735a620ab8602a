"""The source for STINS itself."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.receiver.sources import Decoded
from penstock.stins import codec
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Buffer


class StinsSource:
    """Decoder of a STINS stream."""

    def decode(self, parts: Sequence[Buffer]) -> Decoded:
        """Decode one multi-part message; parts that cannot be used are returned as errors before it.

        A frame whose header cannot be used, but has its number, is returned as a refused one.

        Raises:
            RemoteError: the message is not what STINS allows; `NotTaken` if it begins a series.
        """
        left_out: list[StinsError] = []
        try:
            message = codec.decode(parts, left_out)
        except RemoteError as error:
            refused = codec.refused_frame(parts, error)
            if refused is not None:
                return refused
            raise codec.refused_start(parts, error) or error from error
        return (*left_out, message) if left_out else message
