"""The user part of a vendor's start message: what Penstock tells its receiver through a detector's own box.

A box that streams by itself passes a text of its user through, untouched: the header appendix of DECTRIS
stream V1, `user_data` of V2. Penstock's is a JSON object of these keys, written before the box is armed and
cleared after. Others who put a JSON object with "filename" there, without "arm", are understood as before.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from penstock.stins.messages import Amount, FileName, Name


class UserPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What belongs to one armed series."""

    arm: Annotated[str, msgspec.Meta(min_length=8, max_length=64)]
    """Unique id of this arming, and the id of the series. A start message that comes with one that was seen
    before counts as one without a user part: somebody else has armed the box before it was cleared."""
    filename: FileName
    """Absolute path; "" for live view only."""
    overwrite: bool = False
    frames: Amount | None = None
    """Frames planned; `None` where the box alone knows."""
    index_source: Name | None = None
    trigger_mode: Name | None = None
    frame_time: float | None = None
    """Seconds from one frame to the next, in trigger mode INTERNAL."""
    metadata: dict[str, Any] = {}
    """As in the second part of a STINS start message: what the file shall keep."""

    def encode(self) -> str:
        """The JSON text for the box."""
        return msgspec.json.encode(self).decode()
