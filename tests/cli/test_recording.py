"""Recordings of raw messages: container, protocol, place of the file name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import cbor2
import pytest

from penstock.cli._recordings.recording import Protocol, RecordingError, named, protocol, read, write
from penstock.receiver.sources import create
from penstock.stins.messages import Start

STINS = [b'{"htype":"header","msg_number":1,"filename":"/a.h5"}', b'{"label":"s1"}']
V1 = [
    b'{"htype":"dheader-1.0","series":1,"header_detail":"basic"}',
    b'{"nimages":2,"ntrigger":1}',
    b'{"filename":"","rotate":1}',
]
V2 = [cbor2.dumps(cbor2.CBORTag(55799, {"type": "start", "series_id": 1, "user_data": '{"sample": "lyso"}'}))]


@pytest.mark.parametrize("name", ["stream.cborseq", "stream.cborseq.gz"])
def test_what_was_written_is_read_back(tmp_path: Path, name: str) -> None:
    messages = [STINS, [b""], [b"\x00" * 100_000, b"x"]]
    assert write(tmp_path / name, messages) == 3
    assert list(read(tmp_path / name)) == messages


def test_recording_is_never_overwritten(tmp_path: Path) -> None:
    write(tmp_path / "a", [STINS])
    with pytest.raises(FileExistsError):
        write(tmp_path / "a", [STINS])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "empty"), (b"\x89HDF\r\n", "not a recording"), (b"plain text", "not a recording"),
        (cbor2.dumps({"a": 1}), "not a recording"), (cbor2.dumps(["text"]), "not a recording"),
        (gzip.compress(b"", mtime=0), "empty"), (b"\x1f\x8bxx", "not a recording"),
        (cbor2.dumps([b"ab"]) + cbor2.dumps([b"cd"])[:-1], "damaged after message 1"),
        (gzip.compress(cbor2.dumps([b"ab"]), mtime=0)[:-4], "damaged after message 1"),
    ],
)  # fmt: skip
def test_file_that_is_no_recording_is_told_so(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "capture"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=sentence):
        list(read(path))


def test_a_missing_file_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="does not exist"):
        list(read(tmp_path / "none"))


def v2(kind: str, series: int = 1, **keys: object) -> bytes:
    """A message as DECTRIS' control units send it."""
    return cbor2.dumps(cbor2.CBORTag(55799, {"type": kind, "series_id": series, **keys}))


@pytest.mark.parametrize(
    "names",
    [
        ("000001", "000002", "000003", "000004"), ("start", "image_2", "image_10", "end"),
        ("s_1", "i_10", "i_9", "e_0"),
    ],
    ids=["numbered", "by type", "wildly"],
)  # fmt: skip
def test_a_folder_of_messages_is_read_in_the_order_of_sending(names: tuple[str, ...], tmp_path: Path) -> None:
    sent = [v2("start"), v2("image", image_id=2), v2("image", image_id=10), v2("end")]
    for name, message in zip(names, sent, strict=True):
        (tmp_path / f"{name}.cbor").write_bytes(message)
    (tmp_path / "README.md").write_text("not of the stream")
    assert list(read(tmp_path)) == [[message] for message in sent]
    assert protocol(next(read(tmp_path))) is Protocol.DECTRIS_V2


def test_several_series_in_a_folder_follow_each_other(tmp_path: Path) -> None:
    sent = [v2(kind, series) for series in (2, 10) for kind in ("start", "end")]
    for number, message in enumerate(reversed(sent)):
        (tmp_path / f"{number}.cbor").write_bytes(message)
    assert list(read(tmp_path)) == [[message] for message in sent]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "is a folder without .cbor files"), (b"\xff", "a.cbor is no message of a DECTRIS stream V2"),
        (cbor2.dumps({"type": "frame"}), "a.cbor is no message .* its type is 'frame'"),
        (cbor2.dumps([1]), "a.cbor is no message .* its type is None"),
    ],
    ids=["empty", "no CBOR", "another type", "no map"],
)  # fmt: skip
def test_a_folder_that_is_no_recording_is_told_so(
    content: bytes | None, sentence: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "a.cbor").write_bytes(content)
    with pytest.raises(RecordingError, match=sentence):
        list(read(tmp_path))


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (STINS, Protocol.STINS), (V1, Protocol.DECTRIS_V1), (V2, Protocol.DECTRIS_V2),
        ([], None), ([b""], None), ([b"[]"], None), ([b"{}"], None), ([cbor2.dumps({"type": "x"})], None),
    ],
)  # fmt: skip
def test_protocol_is_told_from_the_first_part(message: list[bytes], kind: Protocol | None) -> None:
    assert protocol(message) == kind


@pytest.mark.parametrize(
    ("message", "kind"), [(STINS, Protocol.STINS), (V1, Protocol.DECTRIS_V1), (V2, Protocol.DECTRIS_V2)]
)
@pytest.mark.parametrize("filename", ["/data/b.h5", ""])
def test_file_name_goes_where_the_protocol_carries_it(
    message: list[bytes], kind: Protocol, filename: str
) -> None:
    before = create(kind).decode(message)
    after = create(kind).decode(named(message, kind, filename))
    assert isinstance(before, Start)
    assert isinstance(after, Start)
    assert after.header.filename == filename
    # Everything else is as recorded.
    assert after.metadata == before.metadata


def test_appendix_is_added_where_there_is_none() -> None:
    assert json.loads(named(V1[:2], Protocol.DECTRIS_V1, "/b.h5")[2]) == {"filename": "/b.h5"}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ([b'{"htype":"series_end","msg_number":1}'], Protocol.STINS),
        ([b'{"htype":"dseries_end-1.0","series":1}'], Protocol.DECTRIS_V1),
        ([cbor2.dumps({"type": "end", "series_id": 1})], Protocol.DECTRIS_V2),
    ],
)
def test_other_messages_stay_as_they_are(message: list[bytes], kind: Protocol) -> None:
    assert named(message, kind, "/b.h5") is message


def test_user_data_that_are_no_object_have_no_place_for_a_name() -> None:
    message = [cbor2.dumps({"type": "start", "series_id": 1, "user_data": "scan 7"})]
    with pytest.raises(RecordingError, match="filename_template"):
        named(message, Protocol.DECTRIS_V2, "/b.h5")
