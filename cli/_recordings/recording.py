"""A recording of raw ZeroMQ messages: its container, its protocol, and the place of the file name in it.

The container is a CBOR sequence (RFC 8742), gzipped or not: one array of byte strings per multi-part
message, in order of arrival. It is meant for tests and support: what a detector really sent can be kept,
passed on and streamed again. A folder of `.cbor` files, one per message of a DECTRIS stream V2, is one too.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, cast

import cbor2

from penstock.stins.errors import UserError

SUFFIX = ".cbor"
ORDER = ("start", "image", "end")
"""Types of messages in the order of a series; names of files need not follow it."""
GZIP_MAGIC = b"\x1f\x8b"


class RecordingError(UserError):
    """A file is not a recording, or is damaged; the sentence says what to do."""


def messages(folder: Path) -> Iterator[bytes]:
    """Yield the messages, one after another: each series' start, its images by their number, and its end.

    Every file is read twice, so that no more than one message is in memory.

    Raises:
        RecordingError: there are no messages, or a file is none.
        OSError: a file cannot be read.
    """
    paths = [path for path in sorted(folder.iterdir()) if path.suffix == SUFFIX]
    if not paths:
        raise RecordingError(
            f"{folder} is a folder without {SUFFIX} files; it should have one for each message of a DECTRIS "
            "stream V2"
        )
    # Files of equal place, such as those of a frame that was sent twice, stay in the order of their names.
    for path in sorted(paths, key=_place):
        yield path.read_bytes()


def _place(path: Path) -> tuple[int, int, int]:
    """Return the place of a message: series, type, number of the image."""
    try:
        content: Any = cbor2.loads(path.read_bytes())
    except OSError:
        raise
    except Exception as error:  # cbor2 raises almost anything for what is no CBOR
        raise RecordingError(f"{path} is no message of a DECTRIS stream V2 ({error})") from error
    kind = content.get("type") if isinstance(content, Mapping) else None
    if kind not in ORDER:
        raise RecordingError(f"{path} is no message of a DECTRIS stream V2: its type is {kind!r:.60}")
    series, image = (content.get(key) for key in ("series_id", "image_id"))
    return _number(series), ORDER.index(kind), _number(image)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


class Protocol(StrEnum):
    """The protocol of a recording's messages; named as `source.type` in the configuration."""

    STINS = "stins"
    DECTRIS_V1 = "dectris-v1"
    DECTRIS_V2 = "dectris-v2"


def read(path: Path) -> Iterator[list[bytes]]:
    """Yield the messages of a recording, one after another; the whole recording is never in memory.

    Args:
        path: the file, or the folder of a stream V2's messages.

    Raises:
        RecordingError: the file cannot be opened, is not a recording, or ends within a message.
    """
    if path.is_dir():
        yield from _read_folder(path)
        return
    number = 0
    try:
        with _open(path) as stream:
            # Reads ahead one byte at most, so that the end of the file is not taken for a damaged message.
            decoder = cbor2.CBORDecoder(cast(IO[bytes], stream), read_size=1)
            while stream.peek(1):
                message = decoder.decode()
                if not isinstance(message, list) or not all(isinstance(part, bytes) for part in message):
                    raise RecordingError(
                        f"{path} is not a recording of ZeroMQ messages: "
                        f"item {number + 1} is not an array of byte strings"
                    )
                number += 1
                yield message
    except FileNotFoundError as error:
        raise RecordingError(f"{path} does not exist") from error
    except (cbor2.CBORDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        if number == 0:
            raise RecordingError(
                f"{path} is not a recording of ZeroMQ messages ({error}); "
                "it must be a CBOR sequence of arrays of byte strings, gzipped or not"
            ) from error
        raise RecordingError(
            f"{path} is damaged after message {number} ({error}); get the file again"
        ) from error
    except OSError as error:
        raise RecordingError(f"cannot read {path}: {error.strerror or error}") from error
    if number == 0:
        raise RecordingError(f"{path} is empty: it has no messages")


def _read_folder(path: Path) -> Iterator[list[bytes]]:
    try:
        for message in messages(path):
            yield [message]
    except OSError as error:
        raise RecordingError(f"cannot read {error.filename or path}: {error.strerror or error}") from error


def write(path: Path, messages: Iterable[Sequence[Any]]) -> int:
    """Write messages as a recording, gzipped if the name ends in ".gz"; return how many.

    Raises:
        OSError: the file exists already, or cannot be written.
    """
    number = 0
    with path.open("xb") as raw, gzip.open(raw, "wb") if path.suffix == ".gz" else raw as stream:
        for message in messages:
            stream.write(cbor2.dumps([bytes(part) for part in message]))
            number += 1
    return number


def protocol(message: Sequence[bytes]) -> Protocol | None:
    """Return the protocol of a message; `None` if it is unknown."""
    if not message:
        return None
    first = message[0]
    try:
        htype = json.loads(first).get("htype")
    except (ValueError, AttributeError, RecursionError):
        return _binary_protocol(first)
    if htype in ("header", "image", "series_end"):
        return Protocol.STINS
    if isinstance(htype, str) and htype.startswith(("dheader-1", "dimage-1", "dseries_end-1")):
        return Protocol.DECTRIS_V1
    return None


def named(message: list[bytes], kind: Protocol, filename: str) -> list[bytes]:
    """Return a start message with this file name where its protocol carries it; any other message as it is.

    V1: "filename" in the JSON of the header appendix, which is added if there is none. V2: the same in
    the user data. STINS: the header's `filename`.

    Raises:
        RecordingError: the header appendix (V1) or user data (V2) is not a JSON object.
    """
    match kind:
        case Protocol.STINS:
            header = json.loads(message[0])
            if header.get("htype") == "header":
                return [_json({**header, "filename": filename}), *message[1:]]
        case Protocol.DECTRIS_V1:
            header = json.loads(message[0])
            if str(header.get("htype")).startswith("dheader-1"):
                # Parts without an appendix, by header_detail (SIMPLON API, stream V1).
                parts = {"none": 1, "basic": 2}.get(header.get("header_detail"), 8)
                appendix = _user_object(message[parts] if len(message) > parts else b"", "header appendix")
                return [*message[:parts], _json({**appendix, "filename": filename})]
        case Protocol.DECTRIS_V2:
            content = cbor2.loads(message[0])
            if content.get("type") == "start":
                user = _user_object(content.get("user_data") or b"", "user data")
                # `default`: what is in a tag is a map of cbor2's own, and no dict.
                user_data = json.dumps({**user, "filename": filename}, default=dict)
                content = {**content, "user_data": user_data}
                # 55799: self-described CBOR, which the detector's own messages begin with.
                return [cbor2.dumps(cbor2.CBORTag(55799, content), datetime_as_timestamp=False)]
    return message


def _binary_protocol(part: bytes) -> Protocol | None:
    try:
        content = cbor2.loads(part)
    except Exception:
        # A file that is not a recording can hold anything, for which cbor2 raises almost anything.
        return None
    if isinstance(content, Mapping) and content.get("type") in ("start", "image", "end"):
        return Protocol.DECTRIS_V2
    return None


def _user_object(value: object, where: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {**value}
    if isinstance(value, (str, bytes)):
        if not value:
            return {}
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise RecordingError(
                f"the recording's {where} is not JSON, so it has no place for a file name; "
                "configure a filename_template at the receiver instead"
            ) from error
        if isinstance(value, dict):
            return value
    raise RecordingError(
        f"the recording's {where} is not a JSON object, so it has no place for a file name; "
        "configure a filename_template at the receiver instead"
    )


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _open(path: Path) -> gzip.GzipFile | BufferedReader:
    with path.open("rb") as stream:
        is_gzip = stream.read(2) == GZIP_MAGIC
    return gzip.open(path, "rb") if is_gzip else path.open("rb")
