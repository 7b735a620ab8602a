"""Helpers for vendors' streams: JSON parts, the user's own data, and names of metadata.

None of these streams has a field for a file name. The control software of a beamline puts it into the text
that the detector passes through unchanged: DECTRIS V1's header appendix, V2's user_data,
the additional JSON header of the SLS detector software.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from penstock.stins import metadata as free_metadata
from penstock.stins.codec import MAX_JSON_BYTES
from penstock.stins.errors import NotTaken, RemoteError
from penstock.stins.messages import MAX_FILENAME, MAX_NAME, Buffer, Frame, Header, RefusedImage
from penstock.stins.texts import plural

MAX_NUMBER = 2**63 - 1
"""JSON and CBOR allow integers of any size; the rest of the receiver uses 64 bits."""

_T = TypeVar("_T")


def decode(decoder: msgspec.json.Decoder[_T], part: Buffer, what: str) -> _T:
    """Return a JSON part of a message; `what` names it in errors.

    Raises:
        RemoteError: it is too large, not JSON, of unknown htype, lacks a key, or has one of a wrong type.
    """
    if len(part) > MAX_JSON_BYTES:
        raise _too_large(part, what)
    try:
        return decoder.decode(part)
    except msgspec.ValidationError as error:
        reason = str(error)
        kind = "wrong_type"
        if "missing required field" in reason:
            kind = "missing_key"
        elif "Invalid value" in reason and "$.htype" in reason:
            kind = "unknown_htype"
        raise RemoteError(kind, f"{what}: {reason}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteError("not_json", f"{what} is not JSON ({error}): {bytes(part[:60])!r}") from error


def refused(error: RemoteError, frame: int | None, series: str | None) -> Frame:
    """Return a frame that has arrived and cannot be used: it is counted as corrupt at its index.

    Args:
        error: what is wrong with it.
        frame: its number in the series.
        series: name of its series, as in the messages of the stream.
    """
    image = RefusedImage(frame=frame, series=series, msg_number=None, kind=error.kind, why=str(error))
    return Frame(image, ())


def not_taken(error: RemoteError, series: str) -> NotTaken:
    """Return the refusal of a start message that cannot be used.

    Args:
        error: what is wrong with it.
        series: name of its series, as in the messages of the stream.
    """
    return NotTaken(error.kind, str(error), Header(filename=None, series=series[:MAX_NAME]))


def read_object(part: Buffer, what: str) -> dict[str, Any]:
    """Return a JSON object that may hold NaN and Infinity; `what` names it in errors.

    Raises:
        RemoteError: it is too large, not JSON, or no object.
    """
    if len(part) > MAX_JSON_BYTES:
        raise _too_large(part, what)
    try:
        found = free_metadata.read(part)
    except RemoteError as error:
        raise RemoteError("not_json", f"{what} is not JSON ({error}): {bytes(part[:60])!r}") from error
    if not isinstance(found, dict):
        raise RemoteError("wrong_type", f"{what} must be a JSON object, it is {type(found).__name__}")
    return found


def _too_large(part: Buffer, what: str) -> RemoteError:
    return RemoteError("too_large", f"{what} of {plural(len(part), 'byte')}; the limit is {MAX_JSON_BYTES}")


def user_data(value: object, where: str) -> tuple[str | None, Any]:
    """Return the file name and the remaining data that the user sent along.

    Args:
        value: JSON text or a mapping; anything else has no file name and is kept unchanged.
        where: name of the place, for errors.

    Returns:
        The file name ("" is an explicit "live only", `None` means that none was given), and the rest: a
        mapping without the file name, the text itself if it is not JSON, `None` if nothing remains.

    Raises:
        RemoteError: there is a "filename" and it is not text, or longer than any path.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        if not value:
            return None, None
        try:
            value = free_metadata.read(value, replace=False)
        except RemoteError:
            # It is the user's own text, not the detector's: any text is allowed.
            return None, value
    if not isinstance(value, Mapping):
        return None, value
    filename = value.get("filename")
    if filename is not None and not isinstance(filename, str):
        raise RemoteError(
            "wrong_type",
            f'{where}: "filename" is {type(filename).__name__}; send a path, or "" for live view only',
        )
    if filename is not None and len(filename) > MAX_FILENAME:
        raise RemoteError(
            "wrong_type",
            f'{where}: "filename" has {plural(len(filename), "character")}; a path has '
            f"{MAX_FILENAME} at most",
        )
    return filename, {key: item for key, item in value.items() if key != "filename"} or None


def translate(sent: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return metadata under NeXus names; keys without one go into the collection "vendor" unchanged."""
    metadata = {names[key]: value for key, value in sent.items() if key in names}
    vendor = {key: value for key, value in sent.items() if key not in names}
    if vendor:
        metadata["vendor"] = vendor
    return metadata


def count(sent: Mapping[str, Any], key: str, where: str) -> int | None:
    """Return a number of images or triggers; `None` if it was not sent.

    Raises:
        RemoteError: it is not a positive integer of at most 64 bits.
    """
    value = sent.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_NUMBER:
        raise RemoteError(
            "wrong_type", f"{where}: {key} is {value!r:.60}; it must be an integer from 1 to {MAX_NUMBER}"
        )
    return value


def seconds(sent: Mapping[str, Any], key: str) -> float | None:
    """Return a time that is for information only; `None` if it was not sent, or is not finite."""
    value = sent.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value)
