"""The user part of a vendor's start message: data from Penstock's device to its receiver, through a box.

A box that streams by itself passes a text of its user through unchanged: the header appendix of DECTRIS
stream V1, `user_data` of V2. Penstock's is a JSON object with these keys, written before the box is armed and
cleared afterwards. A JSON object of other software with "filename" but without "arm" is understood, too.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec

from penstock.stins.messages import Amount, FileName, Name

Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class UserPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The data of one arming."""

    arm: Annotated[str, msgspec.Meta(min_length=8, max_length=64)]
    """Unique id of this arming, and the id of the series. A start message with an id that was seen before
    counts as one without a user part: somebody else has armed the box before it was cleared."""
    filename: FileName
    """Absolute path; "" for live view only."""
    overwrite: bool = False
    frames: Amount | None = None
    """Number of planned frames; `None` if only the box knows it; 0 if frames come until Stop, and the box has
    a number only because it needs one."""
    frames_per_trigger: Positive | None = None
    """Frames of each trigger as the device counts triggers; the box may see one trigger for all."""
    index_source: Name | None = None
    trigger_mode: Name | None = None
    frame_time: float | None = None
    """Seconds from one frame to the next, in trigger mode INTERNAL."""
    metadata: dict[str, Any] = {}
    """Metadata for the file, as in the second part of a STINS start message."""

    def encode(self) -> str:
        """Return the JSON text for the box."""
        return msgspec.json.encode(self).decode()
