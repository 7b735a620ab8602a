"""STINS messages from and to the parts of a ZeroMQ message."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest

from penstock.stins import codec
from penstock.stins.errors import MAX_SENTENCE, LocalError, RemoteError, StinsError
from penstock.stins.messages import Frame, Header, Image, SeriesEnd, Start
from tests import hostile
from tests.streams import text

STINS_MD = [
    b'{"htype":"header","msg_number":41,"filename":"/data/visitors/formax/20250001/raw/scan-0007_zyla.h5"}',
    b'{"exptime":0.01,"label":"s1","nproj":1,"save_raw":true}',
    b'{"htype":"image","msg_number":42,"frame":0,"shape":[2160,2560],"type":"uint16","compression":"none"}',
    b'{"htype":"series_end","msg_number":43}',
]
"""The example of the format's description."""

FULL_HEADER = Header(
    filename="/data/a.h5", msg_number=1, series="s", frames=3, shape=(4, 6), type="uint16",
    compression="bslz4", frame_bytes=48, streams=1, checksum="crc32", index_source="arrival",
    trigger_mode="INTERNAL", frame_time=0.1, overwrite=True,
)  # fmt: skip
FULL_IMAGE = Image(
    shape=(2, 4, 6), type="uint16", compression="none", msg_number=2, frame=0, chunks=(1, 4, 6), discard=True,
    exposure_time=0.1, series="s", trigger=0, timestamp=1.5, timestamp_hw=2.5, checksums=("a", "b"),
)  # fmt: skip
FULL_END = SeriesEnd(
    msg_number=3, series="s", reason="fault", message="m", triggered=3, sent=2, lost={"overrun": 1}
)


def test_the_example_of_the_description_is_decoded() -> None:
    start = codec.decode(STINS_MD[:2])
    assert isinstance(start, Start)
    assert start.header.filename == "/data/visitors/formax/20250001/raw/scan-0007_zyla.h5"
    assert start.metadata == {"exptime": 0.01, "label": "s1", "nproj": 1, "save_raw": True}
    frame = codec.decode([STINS_MD[2], b"pixels"])
    assert isinstance(frame, Frame)
    assert (frame.image.frame, frame.image.shape, frame.blobs) == (0, (2160, 2560), [b"pixels"])
    assert codec.decode([STINS_MD[3]]) == SeriesEnd(msg_number=43)


def test_the_header_of_an_image_is_cut_after_16_kib() -> None:
    (sent,) = codec.encode_end(SeriesEnd(reason="stop", image_header="#" * 16385))
    assert codec.decode([sent]) == SeriesEnd(reason="stop", image_header="#" * 16384)


def test_a_start_message_comes_back_as_it_was() -> None:
    metadata = {"exptime": 0.1, "nested": {"list": [1, 2.5, "three", None]}}
    parts = codec.encode_start(FULL_HEADER, metadata)
    assert codec.decode(parts) == Start(FULL_HEADER, metadata, parts[1])


def test_a_frame_comes_back_as_it_was_with_its_blobs_untouched() -> None:
    blobs = [b"one", b"two"]
    assert codec.decode([codec.encode_image(FULL_IMAGE), *blobs]) == Frame(FULL_IMAGE, blobs)


def test_an_end_message_comes_back_as_it_was() -> None:
    assert codec.decode(codec.encode_end(FULL_END)) == FULL_END


def test_what_is_unknown_is_not_sent() -> None:
    (part,) = codec.encode_start(Header(filename=""))
    assert json.loads(part) == {"htype": "header", "filename": ""}


def test_what_was_not_sent_is_unknown_and_never_zero() -> None:
    start = codec.decode([text(htype="header", filename="")])
    assert isinstance(start, Start)
    known = {name for name in start.header.__struct_fields__ if getattr(start.header, name) is not None}
    assert known == {"filename", "overwrite"}


def test_a_header_without_metadata_has_none() -> None:
    start = codec.decode([STINS_MD[0]])
    assert isinstance(start, Start)
    assert start.metadata == {}


def test_an_empty_metadata_part_is_none() -> None:
    start = codec.decode([STINS_MD[0], b""])
    assert isinstance(start, Start)
    assert start.metadata == {}


@pytest.mark.parametrize("message", [FULL_HEADER, FULL_IMAGE, FULL_END], ids=lambda item: type(item).__name__)
def test_unknown_keys_of_any_type_are_ignored(message: msgspec.Struct) -> None:
    raw = {**json.loads(msgspec.json.encode(message)), "x": 1, "vendor": {"a": [None]}, "y": "z"}
    decoded = codec.decode([text(**raw)])
    inner = {Start: "header", Frame: "image"}.get(type(decoded))
    assert (decoded if inner is None else getattr(decoded, inner)) == message


@pytest.mark.parametrize("number", [2**53 + 1, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("message", [Header(filename=""), SeriesEnd()])
def test_a_message_number_that_no_count_can_have_is_left_out(message: Any, number: int) -> None:
    parts = [msgspec.json.encode(msgspec.structs.replace(message, msg_number=number))]
    left_out: list[StinsError] = []
    decoded: Any = codec.decode(parts, left_out)
    assert getattr(decoded, "header", decoded).msg_number is None
    assert "msg_number" in str(left_out[0])


@pytest.mark.parametrize("part", [STINS_MD[0], STINS_MD[2], STINS_MD[3]])
def test_old_streamers_without_message_numbers_are_understood(part: bytes) -> None:
    raw = json.loads(part)
    del raw["msg_number"]
    decoded = codec.decode([text(**raw)])
    inner = {Start: "header", Frame: "image"}.get(type(decoded))
    assert (decoded if inner is None else getattr(decoded, inner)).msg_number is None


def test_parts_may_be_memory_views() -> None:
    start = codec.decode([memoryview(part) for part in STINS_MD[:2]])
    assert isinstance(start, Start)
    assert start.metadata["label"] == "s1"


def test_a_message_without_parts_is_the_peers_fault() -> None:
    with pytest.raises(RemoteError) as caught:
        codec.decode([])
    assert caught.value.kind == "no_parts"


@pytest.mark.parametrize("message", [*hostile.MESSAGES, *hostile.LEFT_OUT], ids=lambda item: item.name)
def test_a_hostile_message_is_the_peers_fault_and_has_a_kind(message: hostile.Message) -> None:
    with pytest.raises(RemoteError) as caught:
        codec.decode(message.parts)
    error = caught.value
    assert (error.kind, error.addressee) == (message.kind, "peer"), str(error)
    assert 10 < len(str(error)) <= MAX_SENTENCE + 2


@pytest.mark.parametrize("message", hostile.LEFT_OUT, ids=lambda item: item.name)
def test_what_cannot_be_used_is_left_out_and_named(message: hostile.Message) -> None:
    left_out: list[StinsError] = []
    codec.decode(message.parts, left_out)
    (error,) = left_out
    assert (error.kind, error.addressee) == (message.kind, "peer"), str(error)


def test_the_key_that_is_left_out_is_named_and_the_others_stay() -> None:
    left_out: list[StinsError] = []
    parts = [b'{"htype":"header","filename":"/a.h5","frames":NaN,"frame_time":-Infinity,"type":"uint8"}']
    start = codec.decode(parts, left_out)
    assert isinstance(start, Start)
    assert start.header == Header(filename="/a.h5", type="uint8")
    assert [str(error) for error in left_out] == [
        "header: frames is nan, which cannot be used; it is left out",
        "header: frame_time is -inf, which cannot be used; it is left out",
    ]


@pytest.mark.parametrize("key", ["series", "channels", "frame", "partial"])
def test_a_key_without_which_a_message_would_mean_something_else_is_not_left_out(key: str) -> None:
    kind = hostile.HEADER if key == "channels" else hostile.IMAGE
    with pytest.raises(RemoteError, match=f"{key}") as caught:
        codec.decode([text(**{**kind, key: math.nan})], [])
    assert caught.value.kind == "wrong_type"


def test_not_a_number_and_infinity_in_the_metadata_are_read_and_written_as_python_does() -> None:
    sent = b'{"T": NaN, "p": [1.5, -Infinity], "s": {"label": "\\udcff"}}'
    left_out: list[StinsError] = []
    start = codec.decode([STINS_MD[0], sent], left_out)
    assert isinstance(start, Start) and not left_out
    assert math.isnan(start.metadata["T"])
    assert start.metadata["p"] == [1.5, -math.inf]
    assert start.metadata["s"] == {"label": "?"}, "half a surrogate pair, which no encoding takes"
    assert start.part == sent
    again = codec.decode(codec.encode_start(Header(filename=""), start.metadata))
    assert isinstance(again, Start)
    assert repr(again.metadata) == repr(start.metadata)


@pytest.mark.parametrize(("part", "kept"), [(b"[1, NaN]", "[1, nan]"), (b'"label"', "'label'"), (b"7", "7")])
def test_metadata_that_are_no_object_are_kept_whole(part: bytes, kept: str) -> None:
    start = codec.decode([STINS_MD[0], part], [])
    assert isinstance(start, Start)
    assert repr(start.metadata["metadata"]) == kept
    assert start.part == part


def test_metadata_that_are_null_are_none() -> None:
    start = codec.decode([STINS_MD[0], b"null"])
    assert isinstance(start, Start)
    assert start.metadata == {}


def test_a_header_of_100_megabytes_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_JSON_BYTES", 100)
    sound = text(htype="header", filename="", padding="x" * 100)
    with pytest.raises(RemoteError) as caught:
        codec.decode([sound])
    assert caught.value.kind == "too_large"


def test_metadata_of_100_megabytes_are_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_JSON_BYTES", 100)
    with pytest.raises(RemoteError) as caught:
        codec.decode([text(htype="header", filename=""), b"x" * 101])
    assert caught.value.kind == "too_large"


def test_a_header_without_a_file_name_is_not_sent_and_is_the_callers_fault() -> None:
    with pytest.raises(LocalError) as caught:
        codec.encode_start(Header(filename=None))
    assert (caught.value.kind, caught.value.addressee) == ("missing_key", "caller")


def test_metadata_that_json_cannot_hold_are_the_callers_fault() -> None:
    with pytest.raises(LocalError) as caught:
        codec.encode_start(Header(filename=""), {"object": object()})
    assert caught.value.kind == "not_json"
