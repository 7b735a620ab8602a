"""The codec of STINS messages, without any I/O.

It is strict about required keys and tolerant of the rest: unknown keys, a missing `msg_number` (old Pilatus
and Xspress3 streamers), a missing metadata part, and optional keys and metadata that cannot be used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penstock.stins import metadata as free_metadata
from penstock.stins.blobs import ITEM_BYTES, type_name
from penstock.stins.errors import LocalError, NotTaken, RemoteError, StinsError
from penstock.stins.messages import (
    HEADER_CHARACTERS,
    Buffer,
    Frame,
    Header,
    Image,
    Message,
    RefusedImage,
    SeriesEnd,
    Start,
)
from penstock.stins.texts import plural

MAX_JSON_BYTES = 64 * 2**20
"""Most bytes of a JSON part; larger ones are refused unread."""

_decoder = msgspec.json.Decoder(Header | Image | SeriesEnd)
_encoder = msgspec.json.Encoder()

_KEYS: Mapping[str, type[msgspec.Struct]] = {"header": Header, "image": Image, "series_end": SeriesEnd}
_MEANING = frozenset(("series", "frame", "channels", "partial"))
"""Optional keys without which a message would have another meaning: another series, another index, modules
instead of thresholds, or a complete frame."""


def decode(parts: Sequence[Buffer], left_out: list[StinsError] | None = None) -> Message:
    """Decode one multi-part message.

    The blobs of a frame are passed through unread: `blobs.check` checks them, so that a frame with a sound
    header and a broken blob still has its index.

    Args:
        parts: parts of the message.
        left_out: takes the errors of optional keys and metadata that cannot be used and are left out. If not
            given, such a message is refused.

    Raises:
        RemoteError: not JSON, unknown htype, missing key, wrong type, wrong number of parts.
    """
    if not parts:
        raise RemoteError("no_parts", "message has no parts; the peer does not speak STINS")
    head = parts[0]
    if len(head) > MAX_JSON_BYTES:
        raise RemoteError(
            "too_large", f"first part of {plural(len(head), 'byte')}; the limit is {MAX_JSON_BYTES}"
        )
    wrong: list[StinsError] = []
    try:
        message: Header | Image | SeriesEnd = _decoder.decode(head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = _repaired(head, error, wrong)
    if type(message) is Image:
        if message.type not in ITEM_BYTES:
            message = msgspec.structs.replace(message, type=type_name(message.type))
        decoded: Message = Frame(message, parts[1:])
    elif type(message) is Header:
        decoded = _start(message, parts[1:], wrong)
    else:
        decoded = _end(message)  # type: ignore[arg-type]
    if wrong:
        if left_out is None:
            raise wrong[0]
        left_out += wrong
    return decoded


def _end(end: SeriesEnd) -> SeriesEnd:
    header = end.image_header
    if header is None or len(header) <= HEADER_CHARACTERS:
        return end
    return msgspec.structs.replace(end, image_header=header[:HEADER_CHARACTERS])


def refused_frame(parts: Sequence[Buffer], error: RemoteError) -> Frame | None:
    """Return a frame that `decode` has refused, if its header still says which one it is; otherwise `None`.

    Args:
        parts: parts of the message.
        error: the error of `decode`.
    """
    if not parts or len(parts[0]) > MAX_JSON_BYTES:
        return None
    try:
        raw = free_metadata.read(parts[0], replace=False)
    except RemoteError:
        return None
    if not isinstance(raw, dict) or raw.get("htype") != "image":
        return None
    keys = {key: raw[key] for key in ("frame", "msg_number", "series") if raw.get(key) is not None}
    if not keys.keys() & {"frame", "msg_number"}:
        return None
    try:
        image = msgspec.convert(
            {"htype": "image", **keys, "kind": error.kind, "why": str(error)}, RefusedImage
        )
    except msgspec.ValidationError:
        return None
    return Frame(image, ())


def refused_start(parts: Sequence[Buffer], error: RemoteError) -> NotTaken | None:
    """Return the refusal of a start message that `decode` has refused, if it is one; otherwise `None`.

    Args:
        parts: parts of the message.
        error: the error of `decode`.
    """
    if not parts or len(parts[0]) > MAX_JSON_BYTES:
        return None
    try:
        raw = free_metadata.read(parts[0])
    except RemoteError:
        return None
    if not isinstance(raw, dict) or raw.get("htype") != "header":
        return None
    kinds = {field.name: field.type for field in msgspec.structs.fields(Header)}
    known = {key: raw[key] for key in ("series", "frames") if key in raw and _is_usable(raw[key], kinds[key])}
    return NotTaken(error.kind, str(error), Header(filename=None, **known))


def encode_start(header: Header, metadata: Mapping[str, Any] | None = None) -> list[bytes]:
    """Parts of a start message.

    Raises:
        LocalError: the header has no file name, or the metadata is not JSON.
    """
    if header.filename is None:
        raise LocalError("missing_key", 'a STINS header needs a filename; use "" for live view only')
    parts = [_encoder.encode(header)]
    if metadata is not None:
        parts.append(free_metadata.write(metadata))
    return parts


def encode_image(image: Image) -> bytes:
    """Return the first part of a frame message; the blobs follow unchanged."""
    return _encoder.encode(image)


def encode_end(end: SeriesEnd) -> list[bytes]:
    """Parts of an end message."""
    return [_encoder.encode(end)]


def _start(header: Header, parts: Sequence[Buffer], wrong: list[StinsError]) -> Start:
    if header.filename is None:
        raise RemoteError("wrong_type", 'header: `filename` is null; send a path, or "" for live view only')
    if header.type is not None and header.type not in ITEM_BYTES:
        header = msgspec.structs.replace(header, type=type_name(header.type))
    if not parts or not len(parts[0]):
        return Start(header, {})
    if len(parts) > 1:
        raise RemoteError(
            "extra_parts", f"start message has {plural(len(parts) + 1, 'part')}; STINS allows 1 or 2"
        )
    part = parts[0]
    if len(part) > MAX_JSON_BYTES:
        raise RemoteError(
            "too_large", f"metadata of {plural(len(part), 'byte')}; the limit is {MAX_JSON_BYTES}"
        )
    try:
        metadata = free_metadata.read(part)
    except RemoteError as error:
        wrong.append(
            RemoteError(
                "unusable_metadata", f"the metadata are not JSON ({error}); the series is taken without them"
            )
        )
        return Start(header, {})
    if metadata is None:
        return Start(header, {}, part)
    if not isinstance(metadata, dict):
        wrong.append(
            RemoteError(
                "unusable_metadata",
                f"the metadata are no JSON object but {type(metadata).__name__}, so nothing in them has a "
                "name; they are kept whole, under the key `metadata`",
            )
        )
        metadata = {"metadata": metadata}
    return Start(header, metadata, part)


def _repaired(part: Buffer, error: Exception, wrong: list[StinsError]) -> Header | Image | SeriesEnd:
    """Return the message without the optional keys that cannot be used; only called once decoding has failed.

    Raises:
        RemoteError: it has other faults, or would mean something else without them.
    """
    try:
        raw = free_metadata.read(part, replace=False)
    except RemoteError as why:
        raise RemoteError("not_json", f"first part is not JSON ({why}): {bytes(part[:60])!r}") from error
    if not isinstance(raw, dict):
        raise RemoteError("wrong_type", f"first part must be a JSON object, it is {type(raw).__name__}")
    htype = raw.get("htype")
    if htype is None:
        raise RemoteError("missing_key", 'first part has no "htype"')
    kind = _KEYS.get(htype) if isinstance(htype, str) else None
    if kind is None:
        raise RemoteError("unknown_htype", f"unknown htype {htype!r:.60}; STINS knows {', '.join(_KEYS)}")
    left_out: list[StinsError] = []
    for field in msgspec.structs.fields(kind):
        key = field.name
        if field.required and key not in raw:
            raise RemoteError("missing_key", f'{htype}: the key "{key}" is missing')
        if field.required or key in _MEANING or key not in raw or _is_usable(raw[key], field.type):
            continue
        sentence = f"{htype}: {key} is {raw.pop(key)!r:.60}, which cannot be used; it is left out"
        left_out.append(RemoteError("unusable_key", sentence))
    try:
        message: Header | Image | SeriesEnd = msgspec.convert(raw, Header | Image | SeriesEnd)
    except msgspec.ValidationError as why:
        raise RemoteError("wrong_type", f"{htype}: {why}") from error
    wrong += left_out
    return message


def _is_usable(value: Any, kind: Any) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
