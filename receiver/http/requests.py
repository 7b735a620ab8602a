"""Bodies of requests as the API takes them: strictly, so that what it takes is what its document says."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool
from pydantic.dataclasses import dataclass

from penstock.receiver import models

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


@dataclass(frozen=True)
class StopRequest:
    """Why a running series is to end."""

    reason: str = "stop requested over HTTP"
