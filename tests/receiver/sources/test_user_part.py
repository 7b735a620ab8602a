"""What Penstock tells its receiver through a detector's own box: an arming is a series."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.receiver.sources import Source, create
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.stins.user_part import UserPart
from tests.receiver.processes import ReceiverProcess
from tests.receiver.sources import test_dectris_v1 as v1
from tests.receiver.sources import test_dectris_v2 as v2
from tests.streams import Streamer

ARM, OTHER = "a" * 32, "b" * 32
PART = UserPart(
    arm=ARM, filename="/data/scan_1.h5", overwrite=True, frames=12, index_source="arrival",
    trigger_mode="EXTERNAL_MULTI", metadata={"save_raw": True, "title": "gold", "count_time": 99.0},
)  # fmt: skip


def _v1(kind: str, series: int, user: str | None = None) -> list[bytes]:
    if kind == "start":
        return v1.start(appendix=None if user is None else user.encode(), series=series)
    if kind == "frame":
        parts = v1.frame(3)
        return [v1.text(htype="dimage-1.0", series=series, frame=3, hash=""), *parts[1:]]
    return [v1.text(htype="dseries_end-1.0", series=series)]


def _v2(kind: str, series: int, user: str | None = None) -> list[bytes]:
    name = {"series_unique_id": f"box-{series}", "series_id": series}
    if kind == "start":
        return v2.start(**name, count_time=0.1, **({} if user is None else {"user_data": user}))
    if kind == "frame":
        return v2.image(number=3, **name)
    return v2.packed({"type": "end", **name})


Make = Callable[..., list[bytes]]
STREAMS = pytest.mark.parametrize(
    ("kind", "make", "own"), [("dectris-v1", _v1, "{}"), ("dectris-v2", _v2, "box-{}")], ids=["v1", "v2"]
)


def began(source: Source, parts: list[bytes]) -> Start:
    start = source.decode(parts)
    assert isinstance(start, Start)
    return start


@STREAMS
def test_an_arming_is_the_series_and_says_what_belongs_to_it(kind: str, make: Make, own: str) -> None:
    source = create(kind)
    start = began(source, make("start", 7, PART.encode()))
    header = start.header
    assert (header.series, header.filename, header.overwrite) == (ARM, "/data/scan_1.h5", True)
    assert (header.frames, header.index_source, header.trigger_mode) == (12, "arrival", "EXTERNAL_MULTI")
    assert start.metadata["title"] == "gold"
    assert start.metadata["count_time"] == 0.1, "the box knows better"
    assert "user" not in start.metadata
    frame, end = source.decode(make("frame", 7)), source.decode(make("end", 7))
    assert isinstance(frame, Frame) and frame.image.series == ARM
    assert isinstance(end, SeriesEnd) and end.series == ARM


@STREAMS
def test_triggers_are_counted_as_the_device_counts_them(kind: str, make: Make, own: str) -> None:
    source = create(kind)
    for each, user in ((1, {"frames_per_trigger": 1}), (2, {"frames_per_trigger": 2})):
        part = msgspec.structs.replace(PART, arm=str(each) * 32, **user)
        source.decode(make("start", each, part.encode()))
        frame = source.decode(make("frame", each))
        assert isinstance(frame, Frame) and frame.image.trigger == 3 // each, "whatever nimages is"


@STREAMS
def test_somebody_elses_series_has_neither_name_nor_overwrite(kind: str, make: Make, own: str) -> None:
    source = create(kind)
    source.decode(make("start", 7, PART.encode()))
    error, start = source.decode(make("start", 8, PART.encode()))  # type: ignore[misc]
    assert isinstance(error, StinsError) and error.kind == "stale_arm"
    assert "somebody else has armed the detector" in str(error) and "/data/scan_1.h5" in str(error)
    assert isinstance(start, Start)
    header = start.header
    assert (header.series, header.filename, header.overwrite) == (own.format(8), None, False)
    assert "title" not in start.metadata
    frame = source.decode(make("frame", 8))
    assert isinstance(frame, Frame) and frame.image.series == own.format(8)
    start = began(source, make("start", 9, UserPart(arm=OTHER, filename="").encode()))
    assert (start.header.series, start.header.filename) == (OTHER, "")


@STREAMS
def test_a_number_that_only_the_box_needs_is_no_plan(kind: str, make: Make, own: str) -> None:
    user = UserPart(arm=OTHER, filename="/data/scan_1.h5", frames=0).encode()
    assert began(create(kind), make("start", 1, user)).header.frames is None


@STREAMS
def test_a_box_that_numbers_anew_after_it_was_initialised_continues_no_arming(
    kind: str, make: Make, own: str
) -> None:
    source = create(kind)
    source.decode(make("start", 1, PART.encode()))
    source.decode(make("end", 1))
    assert began(source, make("start", 1)).header.series == own.format(1), "somebody else's, also number 1"
    frame, end = source.decode(make("frame", 1)), source.decode(make("end", 1))
    assert isinstance(frame, Frame) and frame.image.series == own.format(1)
    assert isinstance(end, SeriesEnd) and end.series == own.format(1)


@STREAMS
def test_a_start_that_comes_twice_is_the_same_series(kind: str, make: Make, own: str) -> None:
    source = create(kind)
    assert source.decode(make("start", 7, PART.encode())) == source.decode(make("start", 7, PART.encode()))


@STREAMS
@pytest.mark.parametrize(
    "wrong",
    [{"arm": 5}, {"arm": ""}, {"arm": ARM, "overwrite": "yes"}, {"arm": ARM, "metadata": []}, {"arm": ARM}],
)
def test_a_malformed_one_is_an_error_of_the_peer(
    kind: str, make: Make, own: str, wrong: dict[str, Any]
) -> None:
    text = json.dumps({"filename": "/data/x.h5"} | wrong if len(wrong) > 1 or wrong["arm"] != ARM else wrong)
    with pytest.raises(RemoteError, match='has the key "arm", as those of Penstock have'):
        create(kind).decode(make("start", 7, text))


@STREAMS
def test_others_who_send_a_file_name_are_understood_as_before(kind: str, make: Make, own: str) -> None:
    start = began(create(kind), make("start", 7, '{"filename": "/data/x.h5", "sample": 1}'))
    assert (start.header.series, start.header.filename) == (own.format(7), "/data/x.h5")
    assert start.metadata["user"] == {"sample": 1}


def test_somebody_elses_series_overwrites_nothing(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, {"type": "dectris-v1"})
    try:
        receiver.connected()
        path = receiver.root / "x.h5"
        part = UserPart(arm=ARM, filename=str(path), overwrite=True, frames=1)
        for series in (7, 8):
            streamer.send(_v1("start", series, part.encode()))
            streamer.send([v1.text(htype="dimage-1.0", series=series, frame=0, hash=""), *v1.frame(0)[1:]])
            streamer.send(_v1("end", series))
            status = receiver.ended(ARM if series == 7 else "8")
            assert status.series is not None
            assert status.series.filename == (str(path) if series == 7 else None)
        assert status.errors == {"stale_arm": 1}
        assert list(receiver.root.glob("*.h5")) == [path]
    finally:
        receiver.close()
        streamer.close()
