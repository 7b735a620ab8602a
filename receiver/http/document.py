"""What the OpenAPI document says of answers, beside what the types of the API say already."""

from __future__ import annotations

from typing import Any

from penstock.receiver.http.answers import HEADER
from penstock.receiver.models import Health, Refusal

DESCRIPTION = """\
What a receiver answers. Every refusal is a `Refusal`: a short stable `kind`, and a sentence that says what to
change. Besides those listed with each call: 404 `no_such_path` for any other path, and 405 `no_such_method`
for any other method, with the header `Allow`. The pages for people, `/` and `/docs`, are not listed.
"""

TAGS = [
    {"name": "status", "description": "How the receiver is"},
    {
        "name": "series",
        "description": "Which series there were, whether one can be taken, its end, and its folder",
    },
    {"name": "frames", "description": "Frames for the eye"},
    {"name": "rois", "description": "Regions of interest: sum, mean and maximum per frame"},
    {"name": "configuration", "description": "What the receiver was told when it was started"},
]
"""Groups of the calls, in their order."""

Answers = dict[int | str, dict[str, Any]]

_WHY = {
    400: "A region of interest cannot be taken",
    404: "There is no such frame",
    409: "Not now, or not of this series",
    413: "The body is too large",
    422: "The request is not as described here",
    500: "The frame cannot be unpacked",
    503: "Too many ask; ask later",
}


def refusals(*statuses: int) -> Answers:
    """The refusals that a call may answer with."""
    return {status: {"model": Refusal, "description": _WHY[status]} for status in statuses}


_FRAME_HEADER = {
    "description": "JSON: shape, dtype, frame, trigger, series, version, x, y, downsample, method, "
    "saturation, channels, modules; of a picture also low and high. An image/pickle has none",
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
    304: {"description": "None is newer than `seen`"},
    **refusals(404, 409, 422, 500),
}
NOT_WELL: Answers = {503: {"model": Health, "description": "Not so; the message says why"}}
