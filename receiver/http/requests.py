"""Bodies of requests as the API takes them: strictly, so that what it takes is what its document says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool
from pydantic.dataclasses import dataclass

from penstock.receiver import models
from penstock.receiver.config import rectangles
from penstock.stins.messages import MAX_NAME

MAX_AMOUNT = 2**53
"""Of frames and bytes: beyond it, JSON's numbers are not exact everywhere."""


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 7.0 is an integer too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Amount = Annotated[int, Field(strict=True, ge=0, le=MAX_AMOUNT), BeforeValidator(_whole)]


@dataclass(frozen=True, kw_only=True)
class SeriesCheck(models.SeriesCheck):
    """What a device asks before it arms: could this series be taken now?"""

    frames: Amount | None = None
    """Leave it out where the number is not known."""
    frame_bytes: Amount | None = None
    overwrite: StrictBool = False
    shape: list[Amount] | None = None
    rotation: Annotated[int, Field(strict=True), BeforeValidator(_whole)] | None = None
    fliplr: StrictBool = False
    flipud: StrictBool = False


def _regions(value: Any) -> Any:
    """Judge the regions in their own words, before their types are."""
    if isinstance(value, Mapping):
        rectangles.parse(value)
    return value


Place = Annotated[int, Field(strict=True, ge=0, le=rectangles.MAX_PIXEL), BeforeValidator(_whole)]
Length = Annotated[int, Field(strict=True, ge=1, le=rectangles.MAX_PIXEL), BeforeValidator(_whole)]
NO_OTHERS: dict[str, Any] = {"additionalProperties": False}
"""Names that do not fit the pattern of a region's."""
Name = Annotated[str, Field(pattern=rectangles.NAME)]


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class RectangleRequest(models.Rectangle):
    """Pixels of a stored frame; what reaches over its edge is cut off."""

    x: Place
    y: Place
    width: Length
    height: Length


@dataclass(frozen=True, kw_only=True)
class RoisRequest:
    """All regions of interest of the next series; none to have no more."""

    rois: Annotated[
        dict[Name, RectangleRequest],
        Field(max_length=rectangles.MOST_REGIONS, json_schema_extra=NO_OTHERS),
        BeforeValidator(_regions),
    ]
    """By name: letters, digits and underscores."""
    keep: StrictBool = False
    """Have them again after a restart of the receiver."""


@dataclass(frozen=True)
class StopRequest:
    """Why a running series is to end."""

    reason: str = "stop requested over HTTP"
    at_end_of: Annotated[str, Field(max_length=MAX_NAME)] = ""
    """Id of the running series, whose sender is about to end it early with an end message that cannot say so:
    it goes on until that message, and what has not come by then was not triggered."""
