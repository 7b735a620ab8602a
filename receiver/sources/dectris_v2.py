"""DECTRIS stream V2: one CBOR map per message, PUSH on port 31001.

Source: SIMPLON API 1.8, "Stream V2"; RFC 8746 (typed arrays: tags 64 to 86, and 40 for shapes);
DECTRIS' tag 56500 for compressed bytes; a recording of an EIGER 1M. Payloads "bslz4" and "lz4" are chunks of
HDF5 filters 32008 and 32004 (DECTRIS' library "compression"), so they are passed through unchanged. Several
thresholds become several blobs of one frame, in the order in which the start message names them.

A frame of any other compression, or with big-endian pixels, keeps the name of that compression or type, which
`stins.blobs.check` refuses: since its number is known, it is counted as corrupt at its index.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import inf, prod
from typing import Any, TypeGuard

import cbor2
import numpy as np

from penstock.receiver.sources import Decoded, _vendor
from penstock.receiver.sources._user import Armings
from penstock.stins.blobs import ITEM_BYTES
from penstock.stins.errors import RemoteError
from penstock.stins.messages import MAX_NAME, Buffer, Frame, Header, Image, SeriesEnd
from penstock.stins.texts import plural

SHAPED = 40
"""Tag of a multi-dimensional array in row-major order: [shape, typed array]."""

COMPRESSED = 56500
"""DECTRIS' tag of compressed bytes: [algorithm, element size, bytes]."""

TYPED: Mapping[int, str] = {
    64: "uint8", 69: "uint16", 70: "uint32", 71: "uint64",
    72: "int8", 77: "int16", 78: "int32", 79: "int64",
    85: "float32", 86: "float64",
}  # fmt: skip
"""Little-endian typed arrays by tag."""

_UNCHANGED = (
    "beam_center_x", "beam_center_y", "count_time", "countrate_correction_lookup_table", "flatfield",
    "frame_time", "goniometer", "incident_energy", "incident_wavelength", "pixel_mask", "saturation_value",
    "sensor_material", "sensor_thickness", "threshold_energy",
)  # fmt: skip
NAMES: Mapping[str, str] = {key: key for key in _UNCHANGED} | {
    "countrate_correction_enabled": "countrate_correction_applied",
    "detector_description": "description",
    "detector_serial_number": "serial_number",
    "flatfield_enabled": "flatfield_applied",
    "pixel_mask_enabled": "pixel_mask_applied",
    "pixel_size_x": "x_pixel_size",
    "pixel_size_y": "y_pixel_size",
    "virtual_pixel_interpolation_enabled": "virtual_pixel_interpolation_applied",
}
"""NeXus names of keys of the start message. Units agree: s, m, eV, pixel, angstrom."""

_NOT_METADATA = frozenset({"type", "user_data", "series_id", "series_unique_id"})

MAX_NODES = 100_000
"""Most values in the metadata of a start message. In CBOR a value can contain the same value many times, or
even itself, so that a few bytes stand for billions of values."""

MAX_DEPTH = 64
"""Deepest nesting of the metadata; a value that contains itself is nested endlessly."""


class DectrisV2Source:
    """Decoder of a V2 stream; it learns the order of the channels from the start message."""

    def __init__(self) -> None:
        self._series: str | None = None
        self._channels: tuple[str, ...] = ()
        self._frames_per_trigger: int | None = None
        self._armings = Armings()

    def decode(self, parts: Sequence[Buffer]) -> Decoded:
        """Decode one message.

        Raises:
            RemoteError: not CBOR, unknown type, missing key, wrong type, more than one part.
        """
        if len(parts) != 1:
            raise RemoteError(
                "wrong_parts",
                f"message of {plural(len(parts), 'part')}; stream V2 has one part; is source.type right?",
            )
        message = _map(parts[0])
        kind = message.get("type")
        match kind:
            case "image":
                return self._frame(message)
            case "start":
                series = _series(message, "start")
                try:
                    return self._start(message, series)
                except RemoteError as error:
                    raise _vendor.not_taken(error, self._armings.name(series)) from error
            case "end":
                return SeriesEnd(series=self._armings.name(_series(message, "end")))
            case None:
                raise RemoteError("missing_key", 'message has no "type"')
        raise RemoteError("unknown_htype", f"unknown type {kind!r:.60}; V2 knows start, image and end")

    def _start(self, message: Mapping[str, Any], series: str) -> Decoded:
        channels = _channels(message)
        for name in (series, *channels):
            if len(name) > MAX_NAME:
                raise RemoteError(
                    "wrong_type", f"start: a name has {plural(len(name), 'character')}: {name[:60]} …"
                )
        plain = _Plain()
        sent = {
            key: _by_channel(plain(value), channels)
            for key, value in message.items()
            if key not in _NOT_METADATA and isinstance(key, str)
        }
        metadata = _vendor.translate(sent, NAMES)
        if (distance := _distance(sent.get("detector_translation"))) is not None:
            metadata["distance"] = distance

        images = _vendor.count(message, "number_of_images", "start")
        # Older control units send no number of triggers: number_of_images is then the total.
        triggers = _vendor.count(message, "number_of_triggers", "start") or 1
        self._series, self._channels = series, channels
        stated = Header(
            filename=None,
            series=series,
            frames=None if images is None else images * triggers,
            channels=channels if len(channels) > 1 else None,
            # Shape, type and compression are taken from the first frame: no start message gives the
            # compression, and the others are useless without it. `trigger_mode` is unknown too, unless our
            # device gives it: an armed detector may wait for its trigger as long as the idle limit allows.
            frame_time=_vendor.seconds(message, "frame_time"),
        )
        start = self._armings.start(stated, metadata, plain(message.get("user_data")), "user_data")
        self._frames_per_trigger = self._armings.frames_per_trigger or images
        return start

    def _frame(self, message: Mapping[str, Any]) -> Frame:
        series = _series(message, "image")
        frame = message.get("image_id")
        if not _is_number(frame):
            raise _wrong("image", "image_id", "an integer from 0 and below 2**63", frame)
        try:
            return self._with_pixels(message, series, frame)
        except RemoteError as error:
            return _vendor.refused(error, frame, self._armings.name(series))

    def _with_pixels(self, message: Mapping[str, Any], series: str, frame: int) -> Frame:
        data = message.get("data")
        if not isinstance(data, Mapping) or not data:
            raise _wrong(f"image {frame}", "data", "a map of channels", data)
        known = series == self._series
        images = [
            None if value is None else _pixels(value, f"image {frame}, {channel}")
            for channel, value in self._in_order(data, frame, known)
        ]
        received = [image for image in images if image is not None]
        shape, dtype, compression, _ = received[0]
        if any(other[:3] != received[0][:3] for other in received):
            raise RemoteError(
                "bad_shape", f"image {frame}: its channels differ in shape, type or compression"
            )
        per_trigger = self._frames_per_trigger if known else None
        return Frame(
            Image(
                shape=shape if len(images) == 1 else (len(images), *shape),
                type=dtype,
                compression=compression,
                frame=frame,
                exposure_time=_ratio(message.get("real_time")),
                series=self._armings.name(series),
                trigger=None if per_trigger is None else frame // per_trigger,
                timestamp=_moment(message),
                timestamp_hw=_ratio(message.get("start_time")),
            ),
            # An empty blob stands for a channel that did not arrive.
            tuple(b"" if image is None else image[3] for image in images),
        )

    def _in_order(self, data: Mapping[Any, Any], frame: int, known: bool) -> list[tuple[str, Any]]:
        """Return the channels in the order of the start message, or as sent if there was none."""
        if not known or not self._channels:
            return [(str(channel), value) for channel, value in data.items()]
        if not set(data) <= set(self._channels):
            raise RemoteError(
                "blob_count",
                f"image {frame} has the channels {', '.join(map(str, data))}; "
                f"the start message named {', '.join(self._channels)}",
            )
        return [(channel, data.get(channel)) for channel in self._channels]


class _Plain:
    """Converter of decoded CBOR into metadata: tags become arrays; endless structures are refused."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def __call__(self, value: Any, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise RemoteError(
                "too_large",
                f"start message holds more than {MAX_NODES} values, or values nested more than "
                f"{MAX_DEPTH} deep",
            )
        if isinstance(value, cbor2.CBORTag):
            is_array = value.tag == SHAPED or value.tag in TYPED
            return _table(value) if is_array else self(value.value, depth + 1)
        if isinstance(value, Mapping):
            return {_key(key): self(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self(item, depth + 1) for item in value]
        if isinstance(value, (bool, int, float, str, bytes, datetime.datetime)):
            return value
        return None if value is None or value is cbor2.undefined else str(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else repr(key)[:60] if isinstance(key, int) else type(key).__name__


def _map(part: Buffer) -> Mapping[Any, Any]:
    try:
        message = cbor2.loads(part)
    except Exception as error:
        # For tags that DECTRIS does not use (fractions, dates, patterns …) cbor2 calls constructors of the
        # standard library, which may raise any exception.
        raise RemoteError("not_cbor", f"message is not CBOR ({error}): {bytes(part[:20])!r}") from error
    if not isinstance(message, Mapping):
        raise RemoteError("wrong_type", f"message must be a CBOR map, it is {type(message).__name__}")
    return message


def _series(message: Mapping[str, Any], what: str) -> str:
    unique = message.get("series_unique_id")
    if isinstance(unique, str) and unique:
        return unique
    number = message.get("series_id")
    if _is_number(number):
        return str(number)
    raise RemoteError("missing_key", f'{what}: neither "series_unique_id" (text) nor "series_id" (integer)')


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _vendor.MAX_NUMBER


def _channels(message: Mapping[str, Any]) -> tuple[str, ...]:
    channels = message.get("channels", [])
    if not isinstance(channels, (list, tuple)) or not all(isinstance(name, str) for name in channels):
        raise _wrong("start", "channels", "a list of names", channels)
    if len(set(channels)) != len(channels):
        raise RemoteError("wrong_type", f"start: channels {', '.join(channels)} are not all different")
    return tuple(channels)


def _by_channel(value: Any, channels: tuple[str, ...]) -> Any:
    """Return the only value of a map by channel if there is a single channel, else the map itself."""
    if isinstance(value, Mapping) and len(channels) == 1 and set(value) == set(channels):
        return value[channels[0]]
    return value


def _pixels(value: Any, where: str) -> tuple[tuple[int, ...], str, str, Buffer]:
    """Return shape, type, compression and blob of one channel."""
    shape, tag = _shaped(value, where)
    payload = tag.value
    # An unknown tag becomes a name that `blobs.check` refuses, and quotes.
    dtype = TYPED.get(tag.tag, f"CBOR tag {tag.tag}")
    if isinstance(payload, bytes):
        return shape, dtype, "none", payload
    algorithm, size, blob = _compressed(payload, where)
    if algorithm == "bslz4" and dtype in ITEM_BYTES and size != ITEM_BYTES[dtype]:
        # Bits shuffled for another pixel size would be unshuffled into noise: `blobs.check` refuses this.
        algorithm = f"bslz4 of {size}-byte elements"
    return shape, dtype, algorithm, blob


def _shaped(value: Any, where: str) -> tuple[tuple[int, ...], cbor2.CBORTag]:
    """Return the shape and the typed array of a two-dimensional array."""
    content = value.value if isinstance(value, cbor2.CBORTag) and value.tag == SHAPED else None
    if (
        not isinstance(content, (list, tuple))
        or len(content) != 2
        or not isinstance(content[1], cbor2.CBORTag)
    ):
        raise RemoteError("wrong_type", f"{where} must be CBOR tag {SHAPED} of [shape, typed array]")
    shape, array = content
    if (
        not isinstance(shape, (list, tuple))
        or len(shape) != 2
        or not all(_is_number(length) and length for length in shape)
    ):
        raise RemoteError(
            "bad_shape", f"{where}: shape {shape!r:.60}; it must be [rows, cols], each at least 1"
        )
    return tuple(shape), array


def _compressed(payload: Any, where: str) -> tuple[str, int, bytes]:
    """Return algorithm, element size and blob of compressed pixels."""
    if isinstance(payload, cbor2.CBORTag) and payload.tag == COMPRESSED:
        content = payload.value
        if isinstance(content, (list, tuple)) and len(content) == 3:
            algorithm, size, blob = content
            if isinstance(algorithm, str) and isinstance(size, int) and isinstance(blob, bytes):
                return algorithm, size, blob
    raise RemoteError(
        "wrong_type",
        f"{where}: pixels must be bytes, or tag {COMPRESSED} of [algorithm, element size, bytes]",
    )


def _table(tag: cbor2.CBORTag) -> Any:
    """Return an array of the start message; a compressed one as received, since no source unpacks blobs."""
    where = "array of the start message"
    shape, array = _shaped(tag, where) if tag.tag == SHAPED else (None, tag)
    dtype = TYPED.get(array.tag)
    if dtype is None:
        raise RemoteError("unknown_type", f"{where}: CBOR tag {array.tag} is no known type")
    if not isinstance(array.value, bytes):
        algorithm, size, blob = _compressed(array.value, where)
        return {
            "compression": algorithm, "element_size": size, "type": dtype,
            "shape": list(shape or ()), "data": blob,
        }  # fmt: skip
    count, rest = divmod(len(array.value), ITEM_BYTES[dtype])
    if rest or (shape is not None and count != prod(shape)):
        raise RemoteError(
            "blob_length", f"{where}: {plural(len(array.value), 'byte')} for the shape {shape} of {dtype}"
        )
    flat = np.frombuffer(array.value, np.dtype(dtype).newbyteorder("<"))
    return flat if shape is None else flat.reshape(shape)


def _distance(translation: Any) -> float | None:
    """Return the distance to the sample in m, which V2 sends as the last of three translations only."""
    match translation:
        case [_, _, (int() | float()) as along] if not isinstance(along, bool):
            with suppress(OverflowError):
                distance = abs(float(along))  # negative where the axis points from the detector to the sample
                return distance if 0.0 < distance < inf else None
    return None


def _ratio(value: Any) -> float | None:
    """Return a time given as [numerator, denominator], in seconds; `None` if it is not one."""
    match value:
        case [int(numerator), int(denominator)] if denominator > 0:
            return numerator / denominator if numerator.bit_length() < 1000 else None
    return None


def _moment(message: Mapping[str, Any]) -> float | None:
    """Return the end of the exposure by the control unit's clock, in seconds since 1970."""
    date, stop = message.get("series_date"), _ratio(message.get("stop_time"))
    if not isinstance(date, datetime.datetime) or date.tzinfo is None or stop is None:
        return None
    return date.timestamp() + stop


def _wrong(what: str, key: str, wanted: str, value: Any) -> RemoteError:
    if value is None:
        return RemoteError("missing_key", f'{what}: the key "{key}" is missing')
    return RemoteError("wrong_type", f"{what}: {key} must be {wanted}, it is {type(value).__name__}")
