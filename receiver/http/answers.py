"""A frame as the body of an HTTP answer: raw, .npy, PNG, JPEG, or the pickle of MAX IV's receivers."""

from __future__ import annotations

import io
import json
import pickle
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from penstock.codecs.pixel_type import little_endian
from penstock.receiver.http.live_view import UnpackedFrame, unpack
from penstock.receiver.http.pictures import Validity, cut, picture
from penstock.receiver.live.last_frame import Held
from penstock.receiver.models import Contrast, View

Format = Literal["raw", "npy", "png", "jpeg"]
HEADER = "X-Penstock-Frame"
MASK_HEADER = "X-Penstock-Mask"


@dataclass(frozen=True)
class FrameRequest:
    """The view of a frame that a request asks for."""

    view: View = field(default_factory=View)
    contrast: Contrast = field(default_factory=Contrast)
    format: Format | None = None
    """Format of the body; raw if not given."""

    def leaves_out(self, step: int) -> bool:
        """Return whether the pixels that the mask leaves out have to be known; `step`: see `answer`."""
        is_picture = self.format in ("png", "jpeg")
        return is_picture or (self.view.method == "max_valid" and (self.view.downsample or step) > 1)


@dataclass(frozen=True)
class Answer:
    """The body of an HTTP answer, its type, and its headers."""

    body: bytes
    media_type: str
    headers: dict[str, str]


def answer(
    shown: UnpackedFrame, requested: FrameRequest, step: int, mask: np.ndarray[Any, Any] | None = None
) -> Answer:
    """Return a frame as it was requested.

    Args:
        shown: the frame.
        requested: how it is to be shown.
        step: the down-sampling if the request has none.
        mask: which pixels the mask leaves out; `None`: none.

    Raises:
        ViewError: the frame cannot be shown as requested.
    """
    view = replace(requested.view, downsample=requested.view.downsample or step)
    validity = Validity(shown.rule, mask, shown.is_partial)
    whole = shown.image(view.channel)
    array = cut(whole, view, shown.interpretation, validity)
    known: dict[str, Any] = {
        "shape": array.shape, "dtype": array.dtype.name, "frame": shown.frame, "trigger": shown.trigger,
        "series": shown.series, "version": shown.version, "x": view.x, "y": view.y,
        "downsample": view.downsample, "method": view.method, "saturation": shown.saturation,
        "underload": shown.underload,
        "channels": shown.channels, "modules": shown.modules,
        "interpretation": shown.interpretation, "time": shown.time,
        "status": None if shown.status is None else shown.status.name.lower(),
    }  # fmt: skip
    match requested.format:
        case "png" | "jpeg" as kind:
            seen = validity.seen(view, whole.dtype)
            body, known["low"], known["high"] = picture(
                array, requested.contrast, kind, shown.interpretation, seen
            )
            media_type = f"image/{kind}"
        case kind:
            body, media_type = _plain(array, kind)
    # Headers are Latin-1, and names of series may be any text: so all other characters are escaped.
    return Answer(body, media_type, {HEADER: json.dumps(known)})


def mask(held: Held, format: Literal["raw", "npy"]) -> Answer:
    """Return the pixel mask in shared memory as the body of an answer."""
    info = held.info
    array = unpack(info.shape, info.dtype, info.compression, held.blobs)
    body, media_type = _plain(array, format)
    known = {
        "shape": array.shape, "dtype": array.dtype.name, "series": info.series,
        "masked": int(np.count_nonzero(array)),
    }  # fmt: skip
    return Answer(body, media_type, {MASK_HEADER: json.dumps(known)})


def _plain(array: np.ndarray[Any, Any], format: str | None) -> tuple[bytes, str]:
    """Return an array as a .npy file, or as little-endian values, and its media type."""
    if format != "npy":
        return little_endian(array).tobytes(), "application/octet-stream"
    file = io.BytesIO()
    np.save(file, little_endian(array), allow_pickle=False)
    return file.getvalue(), "application/x-npy"


def as_pickle(shown: UnpackedFrame, requested: FrameRequest, step: int) -> Answer:
    """Return a frame as clients of MAX IV's receivers unpickle it: [image header, pixels], unpacked.

    The pixels are bytes, never an array: an array pickled by NumPy 2 cannot be read with NumPy 1, and
    built-in types alone load no code.

    Raises:
        ViewError: the frame cannot be shown as requested.
    """
    array = cut(
        shown.image(requested.view.channel),
        replace(requested.view, downsample=requested.view.downsample or step),
        shown.interpretation,
        Validity(shown.rule, partial=shown.is_partial),
    )
    header = {
        "htype": "image", "frame": shown.frame, "shape": list(array.shape), "type": array.dtype.name,
        "compression": "none",
    }  # fmt: skip
    return Answer(pickle.dumps([header, little_endian(array).tobytes()], protocol=4), "image/pickle", {})
