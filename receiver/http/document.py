"""Texts of the OpenAPI document, in addition to those of the API's types."""

from __future__ import annotations

from typing import Any

from penstock.receiver.http.answers import HEADER, MASK_HEADER
from penstock.service.web import REFUSALS, UNLISTED, Answers, described

DESCRIPTION = f"The HTTP interface of a receiver. {REFUSALS} {UNLISTED}"

TAGS = [
    {"name": "status", "description": "State of the receiver"},
    {
        "name": "series",
        "description": "Past series, the check before a series, its end, geometry, mask, scan and lost "
        "frames, and folders for its file",
    },
    {"name": "frames", "description": "Frames for the live view"},
    {"name": "rois", "description": "Regions of interest: sum, mean, maximum and saturated pixels per frame"},
    {"name": "configuration", "description": "The configuration with which the receiver was started"},
]
"""Groups of calls, in the order of the document."""

_WHY = {
    400: "A region of interest is not valid",
    404: "There is no such frame, or no such series or fact of it",
    409: "Not possible now, or not for this series",
    500: "The frame cannot be unpacked",
    503: "Too many requests wait; try again after the time that the header says",
}


def refusals(*statuses: int) -> Answers:
    """Return the refusals with which a call may answer."""
    return described(_WHY, statuses)


_FRAME_HEADER = {
    "description": "JSON: shape, dtype, frame, trigger, series, version, x, y, downsample, method, "
    "saturation, underload, channels, modules, interpretation, time, status; of a picture also low and "
    "high. An image/pickle has none",
    "schema": {"type": "string", "contentMediaType": "application/json"},
}
_BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_FRAME: dict[str, Any] = {
    "description": "The frame: raw little-endian pixels, .npy, PNG or JPEG",
    "headers": {HEADER: _FRAME_HEADER},
    "content": dict.fromkeys(
        ("application/octet-stream", "application/x-npy", "image/png", "image/jpeg"), _BINARY
    ),
}  # fmt: skip
NUMBERED_FRAME: Answers = {200: _FRAME, **refusals(404, 409, 422, 500, 503)}
NEWEST_FRAME: Answers = {
    200: {**_FRAME, "content": {**_FRAME["content"], "image/pickle": _BINARY}},
    304: {"description": "No frame is newer than `seen`"},
    **refusals(404, 409, 422, 500),
}
_MASK_HEADER = {
    "description": "JSON: shape, dtype, series, and masked, the number of pixels that are not 0",
    "schema": {"type": "string", "contentMediaType": "application/json"},
}
MASK: Answers = {
    200: {
        "description": "The mask, uint32 (rows, cols): .npy, or raw little-endian values",
        "headers": {MASK_HEADER: _MASK_HEADER},
        "content": dict.fromkeys(("application/octet-stream", "application/x-npy"), _BINARY),
    },
    **refusals(404, 409, 422, 500, 503),
}
