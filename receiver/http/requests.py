"""Bodies of requests, validated strictly, so that the API accepts what its document says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool
from pydantic.dataclasses import dataclass

from penstock.receiver import models
from penstock.receiver.config import rectangles
from penstock.stins.messages import MAX_FILENAME, MAX_NAME
from penstock.stins.user_part import UserPart

MAX_AMOUNT = 2**53
"""Largest number of frames or bytes: beyond it, JSON's numbers are not exact everywhere."""

ID = "[0-9A-Za-z_-]{8,64}"
"""Pattern of the id of an arming."""


def _whole(value: Any) -> Any:
    """Return 7.0 as 7: JSON has only one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Amount = Annotated[int, Field(strict=True, ge=0, le=MAX_AMOUNT), BeforeValidator(_whole)]
Positive = Annotated[int, Field(strict=True, ge=1, le=MAX_AMOUNT), BeforeValidator(_whole)]


@dataclass(frozen=True, kw_only=True)
class SeriesCheck(models.SeriesCheck):
    """The question of a device before it arms: could this series be taken now?"""

    frames: Amount | None = None
    """Number of frames; left out if it is not known."""
    frame_bytes: Amount | None = None
    overwrite: StrictBool = False
    shape: list[Amount] | None = None
    rotation: Annotated[int, Field(strict=True), BeforeValidator(_whole)] | None = None
    fliplr: StrictBool = False
    flipud: StrictBool = False


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class ExpectedSeries:
    """File and plan of a series whose frames will bear the id of its arming, and nothing else."""

    filename: Annotated[str, Field(max_length=MAX_FILENAME)]
    """Path as the client sees it; "" for live view only."""
    overwrite: StrictBool = False
    frames: Amount | None = None
    """Number of planned frames; 0 if frames come until Stop; left out if only the detector knows it."""
    frames_per_trigger: Positive | None = None
    index_source: Annotated[str, Field(max_length=MAX_NAME)] | None = None
    trigger_mode: Annotated[str, Field(max_length=MAX_NAME)] | None = None
    frame_time: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] | None = None
    """Seconds from one frame to the next, in trigger mode INTERNAL."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Metadata for the file, as in the second part of a STINS start message."""
    seconds: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] = 0.0
    """Seconds for which its first frame is waited for; 0 for ever."""

    def part(self, arm: str) -> UserPart:
        """Return it as the user part of this arming."""
        values = {name: value for name, value in vars(self).items() if name != "seconds"}
        return UserPart(arm=arm, **values)


def _regions(value: Any) -> Any:
    """Check the regions with their own error messages, before their types are checked."""
    if isinstance(value, Mapping):
        rectangles.parse(value)
    return value


Place = Annotated[int, Field(strict=True, ge=0, le=rectangles.MAX_PIXEL), BeforeValidator(_whole)]
Length = Annotated[int, Field(strict=True, ge=1, le=rectangles.MAX_PIXEL), BeforeValidator(_whole)]
NO_OTHERS: dict[str, Any] = {"additionalProperties": False}
"""Schema that refuses names which do not match the pattern of a region's name."""
Name = Annotated[str, Field(pattern=rectangles.NAME)]


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class RectangleRequest(models.Rectangle):
    """A rectangle of pixels of a stored frame; the part beyond the frame's edge is cut off."""

    x: Place
    y: Place
    width: Length
    height: Length


@dataclass(frozen=True, kw_only=True)
class RoisRequest:
    """All regions of interest of the next series; an empty object removes all."""

    rois: Annotated[
        dict[Name, RectangleRequest],
        Field(max_length=rectangles.MOST_REGIONS, json_schema_extra=NO_OTHERS),
        BeforeValidator(_regions),
    ]
    """Rectangles by name: letters, digits and underscores."""
    keep: StrictBool = False
    """Keep them across a restart of the receiver."""


@dataclass(frozen=True)
class StopRequest:
    """Why the running series shall end."""

    reason: str = "stop requested over HTTP"
    at_end_of: Annotated[str, Field(max_length=MAX_NAME)] = ""
    """Id of the running series, if its sender will end it early with an end message that cannot tell: the
    series continues until that message, and frames that have not arrived by then count as not triggered."""
    failed: StrictBool = False
    """True if the series has failed or was aborted. If not, a series whose number of frames was not announced
    is complete when it is stopped, provided that no frame is missing up to there."""
