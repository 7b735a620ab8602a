"""The frames of a series from what a camera's stream gives back, whole or not."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping
from typing import cast

import msgspec
import numpy as np
import pytest

from penstock.devices._genicam.aravis import Filled, Stream
from penstock.devices._genicam.device import Device
from penstock.devices._genicam.frame_ids import GIGE, GIGE_EXTENDED, USB3, FrameIds, Kind
from penstock.devices._genicam.frames import Frames
from penstock.devices._genicam.pixel_formats import FORMATS
from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.settings import TriggerMode
from tests.streamer.rig import FakeCamera, Rig

WHOLE, TIMED_OUT, MISSING_PACKETS = 0, 2, 3
PIXELS = 12


class ScriptedStream:
    """Gives back lent buffers with these ids, statuses and bytes, then nothing."""

    def __init__(self, script: list[tuple[int, int, bytes]], underruns: int) -> None:
        self._script = script
        self._underruns = underruns
        self.lent: list[int] = []
        self.given_back = 0
        self.closed = False
        self.counters: dict[str, int] = {}

    def lend(self, address: int, nbytes: int, owner: object = None) -> None:
        self.lent.append(address)

    def pop(self, timeout: float) -> Filled | None:
        if not self._script:
            return None
        frame_id, status, data = self._script.pop(0)
        address = self.lent.pop(0)
        ctypes.memmove(address, data, len(data))
        return Filled(address=address, handle=address, status=status, frame_id=frame_id, timestamp=None)

    def give_back(self, filled: Filled) -> None:
        self.given_back += 1
        self.lent.append(filled.address)

    def forget(self, filled: Filled) -> None:
        assert not self.closed

    def count(self, name: str) -> int:
        return self._underruns if name == "n_underruns" else self.counters.get(name, 0)

    def close(self) -> None:
        self.closed = True


class ScriptedDevice:
    name, readout, lost, dies, has_heartbeat = "scripted", 0.0, False, False, False
    frame_retention = 0.0

    def __init__(self, stream: ScriptedStream, packets: int) -> None:
        self._stream = stream
        self._packets = packets
        self.stopped = self.asked = 0

    def stream(self) -> Stream:
        return cast(Stream, self._stream)

    def close_stream(self, stream: Stream) -> None:
        stream.close()

    def packets_per_frame(self) -> int:
        return self._packets

    def start(self) -> None: ...

    def stop(self) -> None:
        self.stopped += 1

    def ask(self) -> None:
        self.asked += 1
        self.lost = self.dies


class ScriptedCamera(FakeCamera):
    """One series from a script."""

    def __init__(
        self,
        script: list[tuple[int, int, bytes]],
        kind: Kind = GIGE,
        form: str = "Mono16",
        underruns: int = 0,
        packets: int = 1,
    ) -> None:
        super().__init__({})
        self.stream = ScriptedStream(script, underruns)
        self.device = ScriptedDevice(self.stream, packets)
        self.ids = FrameIds(kind)
        self.form = FORMATS[form]
        self.counts: Mapping[str, int] = {}

    def acquire(self, acquisition: Acquisition) -> Iterator[Exposure]:
        payload = PIXELS * 2 if self.form.unpack is None else PIXELS * 3 // 2
        device = cast(Device, self.device)
        with Frames(device, self.ids, acquisition, self.form, payload) as frames:
            self.counts = frames.counts
            yield from frames.take()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.devices._genicam.frames.LATE", 0.1)
    monkeypatch.setattr("penstock.devices._genicam.frames.SETTLE", 0.01)


def image(number: int) -> bytes:
    return np.full(PIXELS, number, np.uint16).tobytes()


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        (GIGE, (65534, 65535, 2, 3)),
        (GIGE_EXTENDED, (65534, 65535, 65537, 65538)),
        (USB3, (0, 1, 3, 4)),
    ],
)
def test_each_frame_is_at_the_index_of_its_id(kind: Kind, ids: tuple[int, ...]) -> None:
    camera = ScriptedCamera([(number, WHOLE, image(number % 1000)) for number in ids], kind)
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=5)
        _, frames, end = rig.receive_series()
        assert [frame.image.frame for frame in frames] == [0, 1, 3, 4]
        assert [frame.blobs[0][:2] for frame in frames] == [image(number % 1000)[:2] for number in ids]
        assert (end.reason, end.triggered, end.sent, end.lost) == ("complete", 5, 4, {"camera": 1})


@pytest.mark.parametrize("status", [TIMED_OUT, MISSING_PACKETS])
def test_a_frame_without_some_of_its_packets_is_missing_at_its_index(status: int) -> None:
    camera = ScriptedCamera([(1, WHOLE, image(1)), (2, status, image(2)), (3, WHOLE, image(3))])
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=3)
        _, frames, end = rig.receive_series()
        assert [(frame.image.frame, frame.blobs[0][:2]) for frame in frames] == [
            (0, image(1)[:2]), (2, image(3)[:2]),
        ]  # fmt: skip
        assert (end.reason, end.lost) == ("complete", {"camera": 1})
        assert camera.counts["IncompleteFrames"] == 1
        assert camera.stream.given_back == 1
        assert camera.stream.closed and camera.device.stopped


def test_packets_are_missing_that_have_not_come_and_not_the_rest_of_their_frame() -> None:
    """Three frames of ten packets: one lacks its second packet, and its sixth has come twice."""
    camera = ScriptedCamera(
        [(1, WHOLE, image(1)), (2, TIMED_OUT, image(2)), (3, WHOLE, image(3))], packets=10
    )
    camera.stream.counters = {
        "n_completed_buffers": 2, "n_failures": 1, "n_received_packets": 30, "n_duplicated_packets": 1,
        "n_missing_packets": 9, "n_resend_requests": 5, "n_resent_packets": 0,
    }  # fmt: skip
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=3)
        rig.receive_series()
        rig.until_state("idle")
    assert camera.counts == {"IncompleteFrames": 1, "MissingPackets": 1, "ResentPackets": 0}


def test_frames_that_never_come_are_missing_and_the_series_ends() -> None:
    with Rig(ScriptedCamera([(7, WHOLE, image(7))]), buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=3)
        _, frames, end = rig.receive_series()
        assert [frame.image.frame for frame in frames] == [0]
        assert (end.reason, end.triggered, end.lost) == ("complete", 3, {"camera": 2})


def test_a_series_of_which_not_one_packet_arrives_is_a_fault_that_says_what_to_look_at() -> None:
    with Rig(ScriptedCamera([]), buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=3)
        end = rig.receive_series()[2]
        assert end.reason == "fault"
        assert "no frame of camera scripted has arrived, although it was started; lower" in (
            end.message or ""
        )


@pytest.mark.parametrize(
    ("packets", "underruns", "frames"), [(1, 4, 4), (700, 1, 1), (700, 1400, 2), (700, 1543, 3)]
)
def test_frames_for_which_no_buffer_was_free_are_an_overrun(
    packets: int, underruns: int, frames: int
) -> None:
    """A stream of GigE Vision counts each packet (arvgvstream.c, `_find_frame_data`)."""
    camera = ScriptedCamera([(7, WHOLE, image(7))], underruns=underruns, packets=packets)
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=9)
        end = rig.receive_series()[2]
        assert (end.reason, end.lost) == ("fault", {"overrun": frames})
        assert f"no buffer was free for {frames} frame" in (end.message or "")


def test_a_camera_without_heartbeat_is_asked_when_it_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.devices._genicam.frames.QUIET", 0.05)
    camera = ScriptedCamera([(7, WHOLE, image(7))])
    camera.device.dies = True
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=9, exposure_time=10.0)
        end = rig.receive_series()[2]
        assert end.reason == "fault"
        assert "camera scripted does not answer any more" in (end.message or "")
        assert camera.device.stopped == 0, "it would be waited for"


class RunningStream(ScriptedStream):
    """Gives frames for ever."""

    given = 0

    def pop(self, timeout: float) -> Filled | None:
        time.sleep(0.01)  # a camera's period
        self.given += 1
        self._script[:] = [(self.given, WHOLE, image(self.given))]
        return super().pop(timeout)


def test_a_camera_that_cannot_be_stopped_and_goes_on_sending_ends_its_series(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has not answered the one question before it was to be stopped."""
    camera = ScriptedCamera([])
    camera.stream = RunningStream([], 0)
    camera.device = ScriptedDevice(camera.stream, 1)
    camera.device.has_heartbeat = camera.device.dies = True
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=3)
        _, frames, end = rig.receive_series()
        assert ([frame.image.frame for frame in frames], end.reason) == ([0, 1, 2], "complete")
        assert (camera.device.stopped, camera.device.asked) == (0, 1)
        assert camera.stream.closed


def test_frames_that_do_not_come_because_the_camera_is_away_are_a_fault() -> None:
    """The heartbeat is slower than a short series."""
    camera = ScriptedCamera([(7, WHOLE, image(7))])
    camera.device.dies = camera.device.has_heartbeat = True
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=3)
        _, frames, end = rig.receive_series()
        assert len(frames) == 1
        assert (end.reason, end.triggered, end.lost) == ("fault", 3, {"fault": 2})
        assert "camera scripted does not answer any more" in (end.message or "")


def test_a_trigger_of_a_camera_that_is_away_is_a_fault_at_once() -> None:
    camera = ScriptedCamera([])
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=3, trigger_mode=TriggerMode.SOFTWARE)
        camera.device.lost = True
        rig.engine.trigger()
        end = rig.receive_series()[2]
        assert end.reason == "fault"
        assert "camera scripted does not answer any more" in (end.message or "")


def test_packed_pixels_are_unpacked_into_a_buffer_of_the_engine() -> None:
    packed = bytes([0x12, 0xC3, 0xAB]) * (PIXELS // 2)
    camera = ScriptedCamera([(1, WHOLE, packed), (2, WHOLE, bytes(len(packed)))], form="Mono12Packed")
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=2)
        _, (first, second), end = rig.receive_series()
        assert np.frombuffer(first.blobs[0], "uint16").tolist() == [0x123, 0xABC] * (PIXELS // 2)
        assert not any(second.blobs[0])
        assert end.reason == "complete"
        assert camera.stream.given_back == 2


def test_a_lent_buffer_is_sent_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """No frame is copied: `buffer` is never asked for, and what was filled is what is sent."""
    camera = ScriptedCamera([(number, WHOLE, image(number)) for number in (1, 2, 3)])
    copies: list[str] = []
    slots: list[Exposure] = []
    take = camera.acquire

    def counted(acquisition: Acquisition) -> Iterator[Exposure]:
        monkeypatch.setattr(acquisition, "buffer", lambda: copies.append("copy"))
        for exposure in take(acquisition):
            slots.append(msgspec.structs.replace(exposure))
            yield exposure

    monkeypatch.setattr(camera, "acquire", counted)
    with Rig(camera, buffers=8 * 24) as rig:
        rig.connect()
        rig.arm(n_triggers=3)
        rig.receive_series()
        assert copies == []
        assert [exposure.slot for exposure in slots] == [0, 1, 2]
