"""STINS as it is: the identity among the sources."""

from __future__ import annotations

from penstock.stins import codec


class StinsSource:
    """Decoder of a STINS stream."""

    decode = staticmethod(codec.decode)
