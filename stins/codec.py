"""Parts of a ZeroMQ message to STINS messages and back, without any I/O.

Strict on what is needed, tolerant of the rest: unknown keys, a missing `msg_number` (old Pilatus
and Xspress3 streamers), a missing metadata part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penstock.stins.errors import LocalError, RemoteError
from penstock.stins.messages import Buffer, Frame, Header, Image, Message, SeriesEnd, Start
from penstock.stins.texts import plural

MAX_JSON_BYTES = 64 * 2**20
"""JSON parts above this are refused unread: nothing honest is that large."""

_decoder = msgspec.json.Decoder(Header | Image | SeriesEnd)
_encoder = msgspec.json.Encoder()

_KEYS: Mapping[str, type[msgspec.Struct]] = {"header": Header, "image": Image, "series_end": SeriesEnd}


def decode(parts: Sequence[Buffer]) -> Message:
    """Decode one multi-part message.

    The blobs of a frame are passed through unread: `blobs.check` judges them, so that a frame with
    a sound header and a broken blob still has its index.

    Raises:
        RemoteError: not JSON, unknown htype, missing key, wrong type, wrong number of parts.
    """
    if not parts:
        raise RemoteError("no_parts", "message has no parts; the peer does not speak STINS")
    message = _header(parts[0])
    if type(message) is Image:
        return Frame(message, parts[1:])
    if type(message) is Header:
        return Start(message, _metadata(parts[1:]))
    return message  # type: ignore[return-value]


def encode_start(header: Header, metadata: Mapping[str, Any] | None = None) -> list[bytes]:
    """Parts of a start message.

    Raises:
        LocalError: the header has no file name, or the metadata is not JSON.
    """
    if header.filename is None:
        raise LocalError("missing_key", 'a STINS header needs a filename; use "" for live view only')
    parts = [_encoder.encode(header)]
    if metadata is not None:
        try:
            parts.append(_encoder.encode(metadata))
        except (TypeError, ValueError) as error:
            raise LocalError("not_json", f"metadata cannot be written as JSON: {error}") from error
    return parts


def encode_image(image: Image) -> bytes:
    """First part of a frame message; the blobs follow as they are."""
    return _encoder.encode(image)


def encode_end(end: SeriesEnd) -> list[bytes]:
    """Parts of an end message."""
    return [_encoder.encode(end)]


def _header(part: Buffer) -> Header | Image | SeriesEnd:
    if len(part) > MAX_JSON_BYTES:
        raise RemoteError(
            "too_large", f"first part of {plural(len(part), 'byte')}; the limit is {MAX_JSON_BYTES}"
        )
    try:
        message: Header | Image | SeriesEnd = _decoder.decode(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explain(part, error) from error
    if type(message) is Header and message.filename is None:
        raise RemoteError("wrong_type", 'header: `filename` is null; send a path, or "" for live view only')
    return message


def _metadata(parts: Sequence[Buffer]) -> Mapping[str, Any]:
    if not parts or not len(parts[0]):
        return {}
    if len(parts) > 1:
        raise RemoteError(
            "extra_parts", f"start message has {plural(len(parts) + 1, 'part')}; STINS allows 1 or 2"
        )
    if len(parts[0]) > MAX_JSON_BYTES:
        raise RemoteError(
            "too_large", f"metadata of {plural(len(parts[0]), 'byte')}; the limit is {MAX_JSON_BYTES}"
        )
    try:
        metadata = msgspec.json.decode(parts[0])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteError("not_json", f"metadata is not JSON: {error}") from error
    if not isinstance(metadata, dict):
        raise RemoteError("wrong_type", f"metadata must be a JSON object, it is {type(metadata).__name__}")
    return metadata


def _explain(part: Buffer, error: Exception) -> RemoteError:
    """Say what exactly is wrong; only called once decoding has failed."""
    try:
        raw = msgspec.json.decode(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return RemoteError("not_json", f"first part is not JSON ({error}): {bytes(part[:60])!r}")
    if not isinstance(raw, dict):
        return RemoteError("wrong_type", f"first part must be a JSON object, it is {type(raw).__name__}")
    htype = raw.get("htype")
    if htype is None:
        return RemoteError("missing_key", 'first part has no "htype"')
    kind = _KEYS.get(htype) if isinstance(htype, str) else None
    if kind is None:
        return RemoteError("unknown_htype", f"unknown htype {htype!r:.60}; STINS knows {', '.join(_KEYS)}")
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in raw:
            return RemoteError("missing_key", f'{htype}: the key "{field.name}" is missing')
    return RemoteError("wrong_type", f"{htype}: {error}")
