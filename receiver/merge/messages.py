"""Conversion of the messages of several modules to one: start messages, frames of one index, end messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penstock.codecs.packed import CODECS
from penstock.receiver.transforms.joined import IMAGES, Joined, JoinedFrame, JoinedStart, single
from penstock.stins.errors import RemoteError
from penstock.stins.messages import Buffer, EndReason, Header, Image, RefusedImage, SeriesEnd, Start

OF_EACH = {*IMAGES, "x", "y", "rotation"}
"""Metadata for which a list of the modules' values is kept even if all are equal."""
WORST_FIRST = (EndReason.FAULT, EndReason.ABORT, EndReason.STOP)


def frame(
    joined: Joined, series: str, number: int, arrived: Mapping[int, tuple[Image, Sequence[Buffer]]]
) -> JoinedFrame:
    """Return the joined frame of these modules, not yet checked.

    Args:
        joined: common properties of the frames of the series.
        series: name of the series.
        number: number of the frame in the series.
        arrived: header and blobs by module.
    """
    count = len(joined.endpoints)
    images = tuple(arrived[module][0] if module in arrived else None for module in range(count))
    # A refused one has no shape and no type; if all are, the frame is corrupt in any case.
    sent = [image for image in images if image is not None]
    first = next((image for image in sent if not isinstance(image, RefusedImage)), sent[0])
    # Only one blob per module can be joined; the processor reports any other number.
    blobs: list[Buffer] = [
        arrived[module][1][0] if module in arrived and len(arrived[module][1]) == 1 else b""
        for module in range(count)
    ]
    whole = Image(
        shape=first.shape[-2:], type=first.type, compression=first.compression, frame=number, series=series,
        discard=any(image.discard for image in sent),
        exposure_time=first.exposure_time, trigger=first.trigger, timestamp=first.timestamp,
        timestamp_hw=first.timestamp_hw,
    )  # fmt: skip
    return JoinedFrame(whole, blobs, joined, images)


def start(endpoints: Sequence[str], starts: Sequence[Start], series: str) -> tuple[JoinedStart, list[str]]:
    """Return one start message for all modules, and warnings, in sentences, with which the series can still
    be taken.

    File name, trigger mode and times are those of the first endpoint. The largest number of frames counts:
    modules that announce fewer leave partial frames, which the account shows.

    Raises:
        RemoteError: frames of different shape or type cannot be joined.
    """
    joined = Joined(endpoints, starts)
    headers = [start.header for start in starts]
    shape, dtype = _agreed(endpoints, headers, "shape"), _agreed(endpoints, headers, "type")
    compression = {header.compression for header in headers}
    checksum = {header.checksum or "" for header in headers}
    frames = [header.frames for header in headers]
    nbytes = [header.frame_bytes for header in headers]
    first = headers[0]
    header = msgspec.structs.replace(
        first,
        msg_number=None,
        series=series,
        frames=max((n for n in frames if n is not None), default=None),
        shape=None,
        type=dtype,
        # If some modules are compressed, frames count as compressed: the file can hold both.
        compression=_only(compression - {"none"} if compression & CODECS.keys() else compression),
        frame_bytes=None if None in nbytes else sum(n for n in nbytes if n is not None),
        streams=len(headers),
        channels=None,
        checksum=", ".join(sorted(checksum - {""})) or None,
    )
    wrong: list[str] = []
    if shape is not None:
        rows, columns = shape
        header = msgspec.structs.replace(header, shape=(len(headers), rows, columns))
        if header.type is not None and header.compression is not None:
            joined.format = ((rows, columns), header.type, header.compression, 1)
    names = {header.filename for header in headers}
    if len(names) > 1:
        wrong.append(f"the modules' file names differ; that of {endpoints[0]} is taken: {first.filename}")
    metadata = _metadata([start.metadata for start in starts])
    return JoinedStart(header, metadata, joined=joined), wrong


def end(
    endpoints: Sequence[str],
    ends: Sequence[SeriesEnd],
    series: str,
    sent: int | None,
    triggered: Sequence[int | None],
) -> SeriesEnd:
    """Return one end message for all modules: the worst reason, with its endpoint.

    Args:
        endpoints: one per module.
        ends: their end messages.
        series: name of the series.
        sent: number of frames that were sent; `None` if unknown.
        triggered: number of frames for which each module was triggered; `None` if unknown.
    """
    for reason in WORST_FIRST:
        told = [(name, end) for name, end in zip(endpoints, ends, strict=True) if end.reason == reason]
        if told:
            message = "; ".join(f"{name}: {end.message}" for name, end in told if end.message) or None
            break
    else:
        reason, message = EndReason.COMPLETE, None
    lost: dict[str, int] = {}
    for item in ends:
        for cause, count in (item.lost or {}).items():
            lost[cause] = max(count, lost.get(cause, 0))
    return SeriesEnd(
        series=series,
        reason=reason.value if any(item.reason is not None for item in ends) else None,
        message=message,
        # If one module does not tell, the number is unknown.
        triggered=None if None in triggered else max(n for n in triggered if n is not None),
        sent=sent,
        # Others may have sent what one has lost, so that without `triggered` it would say too much.
        lost=(lost or None) if None not in triggered else None,
    )


def _agreed(endpoints: Sequence[str], headers: Sequence[Header], key: str) -> Any:
    values = [getattr(header, key) for header in headers]
    if key == "shape":
        values = [None if shape is None else single(shape, len(endpoints)) for shape in values]
    told = {value for value in values if value is not None}
    if len(told) > 1:
        all_told = "; ".join(f"{name}: {value}" for name, value in zip(endpoints, values, strict=True))
        raise RemoteError(
            "modules_differ",
            f"the modules announce frames of different {key} ({all_told}); none can be joined",
        )
    return _only(set(values))


def _only(values: set[Any]) -> Any:
    return values.pop() if len(values) == 1 else None


def _metadata(metadata: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return common metadata: equal values as they are; different ones, and images, as lists by module."""
    merged: dict[str, Any] = {}
    for key in dict.fromkeys(key for item in metadata for key in item):
        values = [item.get(key) for item in metadata]
        same = key not in OF_EACH and all(_same(value, values[0]) for value in values[1:])
        merged[key] = values[0] if same else values
    return merged


def _same(one: Any, other: Any) -> bool:
    # NaN is not equal to itself, but may be the same in all modules.
    return bool(one == other or (one != one and other != other))
