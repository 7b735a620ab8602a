"""The live view: any frame of a series over HTTP, as a viewer wants it."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import urllib3
from PIL import Image

from penstock.codecs.packed import CODECS
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.http import live_view
from penstock.receiver.live import last_frame, requested_frame
from penstock.receiver.live.last_frame import FrameInfo, Held, LastFrame
from penstock.receiver.live.request import FrameRefused, Request
from penstock.receiver.live.requested_frame import RequestedFrames
from penstock.receiver.models import Contrast, FrameStatus, View
from penstock.receiver.series.running_series import RunningSeries
from penstock.receiver.transforms.module_layout import arrange
from penstock.stins import modules as wire
from penstock.stins.messages import Frame, Header, Start
from tests.receiver.conftest import Shared
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.receiver.sample_series import frame
from tests.streams import Streamer, pixels


def ask(receiver: ReceiverProcess, path: str) -> urllib3.BaseHTTPResponse:
    return urllib3.request("GET", receiver.client.url + path, timeout=DEADLINE, retries=False)


def refused(receiver: ReceiverProcess, index: int) -> tuple[int, str]:
    """HTTP status and kind of the refusal of a frame; its sentence names the frame or the series."""
    answer = ask(receiver, f"/frame/{index}")
    body = json.loads(answer.data)
    assert "series" in body["message"]
    return answer.status, body["kind"]


def running(receiver: ReceiverProcess, streamer: Streamer, frames: int = 3, **keys: Any) -> str:
    """A series of ten, of which some frames are in the file."""
    name = keys.pop("filename", str(receiver.root / "run.h5"))
    series = streamer.start(name, frames=10, trigger_mode="SOFTWARE", **keys)
    for number in range(frames):
        streamer.frame(number, trigger=number + 100)
    received(receiver, series, frames)
    return series


def received(receiver: ReceiverProcess, series: str, frames: int) -> None:
    """Wait until so many frames of this series have come."""
    receiver.wait(
        lambda status: (
            status.series is not None and status.series.id == series and status.counts.received >= frames
        )
    )


def test_any_frame_of_a_running_series_is_shown_before_it_is_flushed(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(flush_seconds=1000)
    receiver.connected()
    series = running(receiver, streamer)
    for index in (1, 0, 2, 1):
        found = receiver.client.frame(index)
        np.testing.assert_array_equal(found.array, pixels(index))
        assert (found.frame, found.series, found.trigger) == (index, series, index + 100)
    received(receiver, series, 3)
    version = receiver.client.status().version
    receiver.client.frame(0)
    assert receiver.client.status().version == version, "who looks changes nothing"


def test_who_asks_once_gets_the_newest_frame_of_the_series_that_runs(shared: Shared) -> None:
    receiver, streamer = shared
    before = running(receiver, streamer, filename=str(receiver.root / "before.h5"))
    streamer.end()
    receiver.ended(before)
    series = running(receiver, streamer)
    for newest in (2, 5):
        received(receiver, series, newest + 1)
        shown = receiver.client.last_frame()
        assert shown is not None
        assert (shown.series, shown.frame) == (series, newest)
        for number in range(3, 6):
            streamer.frame(number, trigger=number + 100)


@pytest.mark.parametrize("shape", [(40, 60), (3, 40, 60)])
@pytest.mark.parametrize("compression", ["none", "bslz4", "lz4"])
def test_every_codec_and_modules_are_shown_before_and_after_the_end(
    compression: str, shape: tuple[int, ...], shared: Shared
) -> None:
    receiver, streamer = shared

    def are_shown() -> None:
        for index in (2, 3):
            array = pixels(index, shape, "uint32")
            np.testing.assert_array_equal(receiver.client.frame(index).array, array)
            view = View(x=10, y=5, width=33, height=20, downsample=4, method="max")
            np.testing.assert_array_equal(
                receiver.client.frame(index, view).array[..., 0, 0],
                array[..., 5:9, 10:14].max(axis=(-2, -1)),
            )

    series = streamer.start(str(receiver.root / "run.h5"), frames=4, trigger_mode="SOFTWARE")
    for number in range(4):
        array = pixels(number, shape, "uint32")
        parts = [array] if array.ndim == 2 else list(array)
        packed = compression != "none" and number != 3  # one that did not shrink was sent plain
        blobs = [CODECS[compression].compress(part) if packed else part.tobytes() for part in parts]
        streamer.frame(number, array, blobs=blobs, compression=compression if packed else "none")
    received(receiver, series, 4)
    are_shown()
    streamer.end(reason="complete", triggered=4, sent=4)
    receiver.ended(series)
    are_shown()


def test_a_frame_that_is_not_there_is_refused_with_the_reason(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    assert refused(receiver, 0) == (404, "no_frame")
    series = streamer.start(str(receiver.root / "run.h5"), frames=10, trigger_mode="SOFTWARE")
    streamer.frame(0)
    streamer.frame(2, blobs=[b"cut"])
    streamer.frame(3, discard=True)
    streamer.frame(4)
    receiver.wait(lambda status: status.counts.missing == 1)  # the gap clock has given 1 up
    expected = {1: (404, "missing"), 2: (404, "corrupt"), 3: (404, "discarded"), 10: (404, "out_of_range")}
    running_too = {**expected, 5: (409, "not_yet")}
    assert {index: refused(receiver, index) for index in running_too} == running_too
    streamer.end(reason="stop", triggered=5, sent=4)
    receiver.ended(series)
    assert {index: refused(receiver, index) for index in expected} == expected
    np.testing.assert_array_equal(receiver.client.frame(4).array, pixels(4))


@pytest.mark.parametrize("ended", [False, True])
def test_a_live_series_keeps_no_frames(ended: bool, shared: Shared) -> None:
    receiver, streamer = shared
    series = running(receiver, streamer, filename="")
    if ended:
        streamer.end()
        receiver.ended(series)
    assert refused(receiver, 0) == (409, "live_only")
    with pytest.raises(ReceiverRefused, match="look at the last frame"):
        receiver.client.frame(0)


@pytest.mark.slow
def test_after_the_death_of_the_data_process_what_was_flushed_is_shown(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    running(receiver, streamer)
    receiver.flushed(3)
    os.kill(receiver.data_process(), signal.SIGKILL)
    due = time.monotonic() + DEADLINE
    while "is continued: " not in receiver.log.read_text():
        assert time.monotonic() < due
        receiver.client.status()
    receiver.wait(lambda status: status.state == "running" and status.counts.stored == 3)
    np.testing.assert_array_equal(receiver.client.frame(2).array, pixels(2))


def test_a_file_that_was_replaced_or_removed_is_not_shown(shared: Shared) -> None:
    receiver, streamer = shared
    first = streamer.series_of(str(receiver.root / "first.h5"), 3)
    receiver.ended(first)
    series = streamer.series_of(str(receiver.root / "second.h5"), 3)
    receiver.ended(series)
    os.replace(receiver.root / "first.h5", receiver.root / "second.h5")
    assert refused(receiver, 0) == (404, "file_gone")
    os.unlink(receiver.root / "second.h5")
    answer = ask(receiver, "/frame/0")
    assert (answer.status, json.loads(answer.data)["kind"]) == (404, "unreadable")


def test_each_viewer_has_its_own_region_and_scale(shared: Shared) -> None:
    receiver, streamer = shared
    running(receiver, streamer)
    receiver.client.set_downsample(2)
    np.testing.assert_array_equal(receiver.client.frame(1).array, pixels(1)[::2, ::2])
    found = receiver.client.frame(1, View(x=1, y=2, width=3, downsample=1))
    np.testing.assert_array_equal(found.array, pixels(1)[2:, 1:4])
    assert (found.x, found.y, found.downsample) == (1, 2, 1)
    mean = receiver.client.frame(1, View(downsample=4, method="mean"))
    np.testing.assert_allclose(mean.array[0, 0], pixels(1)[:, :4].mean())
    with pytest.raises(ReceiverRefused, match="6 columns and 4 rows"):
        receiver.client.frame(1, View(x=6))


@pytest.mark.parametrize("path", ["/last_frame", "/frame/2"])
def test_a_frame_comes_in_the_format_that_was_asked_for(path: str, shared: Shared) -> None:
    receiver, streamer = shared
    series = running(receiver, streamer)
    streamer.end()
    receiver.ended(series)
    array = np.load(io.BytesIO(ask(receiver, f"{path}?format=npy&x=1").data), allow_pickle=False)
    np.testing.assert_array_equal(array, pixels(2)[:, 1:])
    for kind in ("png", "jpeg"):
        answer = ask(receiver, f"{path}?format={kind}&scale=log&low=0&high=300&colormap=viridis")
        assert answer.headers["Content-Type"] == f"image/{kind}"
        assert Image.open(io.BytesIO(answer.data)).size == (6, 4)
        assert json.loads(answer.headers["X-Penstock-Frame"])["high"] == 300.0
    index = None if path == "/last_frame" else 2
    data = receiver.client.picture(index, view=View(downsample=2), contrast=Contrast(low=48, high=71))
    shades = np.asarray(Image.open(io.BytesIO(data)))
    np.testing.assert_allclose(shades, (pixels(2)[::2, ::2] - 48.0) / 23 * 255, atol=0.51)


def test_a_wish_that_cannot_be_met_is_refused_with_the_reason(shared: Shared) -> None:
    receiver, streamer = shared
    receiver.ended(streamer.series_of(str(receiver.root / "run.h5"), 1))
    for query in (
        "format=pickle", "downsample=0", "downsample=65", "x=-1", "width=0", "method=median", "low=nan",
        "low_percentile=101", "colormap=jet", "scale=cubic",
    ):  # fmt: skip
        for path in ("/last_frame", "/frame/0"):
            answer = ask(receiver, f"{path}?{query}")
            assert (answer.status, json.loads(answer.data)["kind"]) == (422, "bad_request"), query
    for query in ("x=6", "channel=threshold_2"):
        for path in ("/last_frame", "/frame/0"):
            answer = ask(receiver, f"{path}?{query}")
            assert (answer.status, json.loads(answer.data)["kind"]) == (409, "no_such_view"), query


def test_the_name_of_a_channel_may_have_any_character(shared: Shared) -> None:
    receiver, streamer = shared
    receiver.ended(streamer.series_of(str(receiver.root / "run.h5"), 1))
    for channel in ("a&x=6", "a#b", "a+b", "schwelle ä"):
        with pytest.raises(ReceiverRefused) as caught:
            receiver.client.frame(0, View(channel=channel))
        assert caught.value.kind == "no_such_view"
        assert f"channel {channel}: " in str(caught.value)


@pytest.mark.slow
def test_only_where_it_is_switched_on_old_clients_get_a_pickle_and_of_built_in_types(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(pickle_last_frame=True)
    receiver.connected()
    receiver.ended(streamer.series_of("", 3))
    answer = ask(receiver, "/last_frame")
    assert answer.headers["Content-Type"] == "image/pickle"

    class BuiltIn(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            raise AssertionError(f"{module}.{name} is not needed")

    header, data = BuiltIn(io.BytesIO(answer.data)).load()
    assert (header["htype"], header["frame"], header["compression"]) == ("image", 2, "none")
    np.testing.assert_array_equal(np.frombuffer(data, header["type"]).reshape(header["shape"]), pixels(2))
    found = receiver.client.last_frame()
    assert found is not None
    np.testing.assert_array_equal(found.array, pixels(2))


def test_many_viewers_at_once_each_get_their_frame(shared: Shared) -> None:
    receiver, streamer = shared
    running(receiver, streamer, 8)
    found: dict[int, np.ndarray[Any, Any]] = {}

    def look(index: int) -> None:
        found[index] = receiver.client.frame(index).array

    threads = [threading.Thread(target=look, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert sorted(found) == list(range(8))
    for index, array in found.items():
        np.testing.assert_array_equal(array, pixels(index))


class StandInWriter:
    """Takes half a second of the test's clock to read a frame."""

    path = Path("/x.h5")

    def __init__(self) -> None:
        self.now = 100.0
        self.read_frames: list[int] = []

    def clock(self) -> float:
        return self.now

    def read(self, index: int) -> Frame:
        self.read_frames.append(index)
        self.now += 0.5
        return frame(index)


def test_reading_back_takes_no_more_than_its_share_of_the_time() -> None:
    writer: Any = StandInWriter()
    series = RunningSeries(Start(Header(filename="/x.h5", series="a", frames=100), {}))
    for index in range(100):
        series.account.take(index, FrameStatus.STORED)
    asked = RequestedFrames(LastFrame(last_frame.create()), writer.clock)
    began, steps = writer.now, 0
    for ticket in range(1, 101):
        asked.ask(ticket, Request(index=ticket - 1))
        while not asked.step(series, writer):
            writer.now += 0.05
            steps += 1
        assert asked.answer.ticket == ticket
    assert len(writer.read_frames) * 0.5 <= (writer.now - began) * requested_frame.SHARE + 0.5


def test_the_geometry_does_not_wait_for_the_turn_of_the_next_frame_and_does_not_hasten_it() -> None:
    writer: Any = StandInWriter()
    series = RunningSeries(Start(Header(filename="/x.h5", series="a", frames=2), {"distance": 0.2}))
    for index in range(2):
        series.account.take(index, FrameStatus.STORED)
    asked = RequestedFrames(shared := LastFrame(last_frame.create()), writer.clock)
    asked.begin(series)
    asked.ask(1, Request(index=0))
    assert asked.step(series, writer)
    due = writer.now + asked.answer.pause
    asked.ask(2, Request("geometry"))
    assert asked.step(series, writer)
    held = shared.read()
    assert held is not None and json.loads(bytes(held.blobs[0]))["distance"] == 0.2
    assert writer.now + asked.answer.pause == pytest.approx(due)
    asked.ask(3, Request(index=1))
    assert not asked.step(series, writer)
    writer.now = due
    assert asked.step(series, writer)


def test_of_two_requests_the_later_one_counts() -> None:
    writer: Any = StandInWriter()
    series = RunningSeries(Start(Header(filename="/x.h5", series="a", frames=2), {}))
    series.account.take(1, FrameStatus.STORED)
    asked = RequestedFrames(LastFrame(last_frame.create()), writer.clock)
    asked.ask(1, Request(index=0))
    asked.ask(2, Request(index=1))
    assert asked.step(series, writer)
    assert not asked.step(series, writer)
    assert (asked.answer.ticket, writer.read_frames) == (2, [1])


def test_a_disk_that_does_not_give_a_frame_back_is_told_and_ends_nothing() -> None:
    class Failing(StandInWriter):
        def read(self, index: int) -> Frame:
            raise OSError("Input/output error")

    writer: Any = Failing()
    series = RunningSeries(Start(Header(filename="/x.h5", series="a", frames=1), {}))
    series.account.take(0, FrameStatus.STORED)
    asked = RequestedFrames(LastFrame(last_frame.create()), writer.clock)
    asked.ask(1, Request(index=0))
    assert asked.step(series, writer)
    assert (asked.answer.kind, "Input/output error" in asked.answer.message) == ("unreadable", True)


def test_modules_that_are_far_apart_make_no_image_that_is_larger_than_any_frame_may_be() -> None:
    modules = [wire.Module(x=0, y=0, full_shape=(16_000, 16_000)), wire.Module(x=0, y=10)]
    info = FrameInfo(
        7, None, "a", (2, 4, 6), "uint64", "none", (192, 192), layout=arrange(modules, 4, 6)
    )  # fmt: skip
    with pytest.raises(FrameRefused, match="frame 7 has 2,048 MB once its modules") as caught:
        live_view.unpacked(Held(1, info, [bytes(192)] * 2))
    assert (caught.value.kind, caught.value.http_status) == ("too_large", 409)
