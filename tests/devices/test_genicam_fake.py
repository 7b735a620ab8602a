"""GenICam against the fake camera of libaravis as it is: its ids, its pixels, and what goes wrong."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import psutil
import pytest

from penstock.beamline.stage import json_line
from penstock.devices._genicam.fake_camera import LOOK
from penstock.devices.genicam import GenICam
from penstock.hosts.child import PYTHON, Child
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError
from tests.devices._genicam.exposing_camera import PATIENCE
from tests.devices._genicam.turns import turn
from tests.streamer import rig as rigs
from tests.streamer.rig import Rig, done
from tests.system.beamline import until

pytestmark = pytest.mark.slow

ADDRESS = {"Address": "127.0.0.1"}
SMALL = {"AOIWidth": 128, "AOIHeight": 64}
UNITY = 0.01
"""Exposure in seconds with which pixel (x, y) of frame id n is (x + y + n) % 255."""


def settings(**changes: Any) -> Settings:
    """INTERNAL, four small frames, live only, but for `changes`."""
    return rigs.settings(**{"exposure_time": UNITY, "camera": SMALL, **changes})


def running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def fake(*options: str) -> Child[bool]:
    return Child(
        "the fake camera",
        [*PYTHON, "-m", "penstock.devices._genicam.fake_camera", "--wait", str(PATIENCE), *options],
        json_line, deadline=PATIENCE + 10,
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _turn() -> Iterator[None]:
    with turn():
        yield


@pytest.fixture(scope="class")
def _camera() -> Iterator[None]:
    with fake():
        yield


@contextmanager
def opened(properties: Mapping[str, Value] = ADDRESS) -> Iterator[Rig]:
    with Rig(GenICam(complete_properties(GenICam, properties)), buffers=64 * 2**20) as rig:
        rig.connect()
        yield rig


@pytest.mark.usefixtures("_camera")
class TestFake:
    """One process for all of these, whose ids begin with 65401."""

    def test_200_frames_across_the_wrap_of_the_ids_are_all_in_their_place(self) -> None:
        with opened() as rig:
            rig.arm(n_triggers=200, exposure_time=UNITY, camera=SMALL)
            start, frames, end = rig.receive_series()
            assert (end.reason, end.sent, end.lost) == ("complete", 200, None)
            assert [frame.image.frame for frame in frames] == list(range(200))
            x, y = np.meshgrid(np.arange(128), np.arange(64))
            for index, frame in enumerate(frames):
                number = (65401 + index - 1) % 65535 + 1
                pixels = np.frombuffer(frame.blobs[0], np.uint8).reshape(64, 128)
                assert np.array_equal(pixels, (x + y + number) % 255), (index, number)
            assert start.header.index_source == "hardware counter"

    def test_ids_that_continue_with_the_next_series_are_learned(self) -> None:
        with opened() as rig:
            starts = []
            for _ in range(3):
                rig.arm(n_triggers=2, exposure_time=UNITY, camera=SMALL)
                start, frames, _ = rig.receive_series()
                starts.append(start.metadata["frame_id_start"].partition(":")[0])
                assert [frame.image.frame for frame in frames] == [0, 1]
                rig.until_state("idle")
            assert starts == ["uncertain", "uncertain", "certain"]

    def test_mono16_is_big_endian_and_says_so(self) -> None:
        with opened() as rig:
            prepared = rig.arm(n_triggers=1, exposure_time=UNITY, camera=SMALL | {"PixelFormat": "Mono16"})
            start, (frame,), _ = rig.receive_series()
            assert (prepared.dtype, start.header.type) == (">u2", ">u2")
            assert len(frame.blobs[0]) == 2 * 64 * 128
            row = np.frombuffer(frame.blobs[0], ">u2")[:128].astype(int)
            assert set(np.diff(row)) == {1}  # a ramp; in the other order steps are of 256

    def test_frames_are_lent_and_not_copied(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with opened() as rig:
            copies, slots = 0, []
            acquire = rig.camera.acquire

            def counted(acquisition: Acquisition) -> Iterator[Exposure]:
                buffer = acquisition.buffer

                def asked() -> np.ndarray:
                    nonlocal copies
                    copies += 1
                    return buffer()

                monkeypatch.setattr(acquisition, "buffer", asked)
                for exposure in acquire(acquisition):
                    slots.append(exposure.slot)
                    yield exposure

            monkeypatch.setattr(rig.camera, "acquire", counted)
            rig.arm(n_triggers=5, exposure_time=UNITY, camera=SMALL)
            assert len(rig.receive_series()[1]) == 5
            assert copies == 0
            assert len(set(slots)) == 5 and None not in slots

    def test_a_region_moves_and_shrinks(self) -> None:
        with opened() as rig:
            for area in ((10, 20, 30, 40), (1900, 0, 148, 2028), (0, 0, 64, 64)):
                left, top, width, height = area
                values = {"AOILeft": left, "AOITop": top, "AOIWidth": width, "AOIHeight": height}
                assert done(rig.engine.prepare(settings(camera=values))).shape == (height, width)

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"AOIWidth": 4000}, "AOIWidth 4000 pixel; the greatest is 2048"),
            ({"PixelFormat": "Mono10p"}, "PixelFormat 'Mono10p'; possible are Mono8, .*Mono12Packed"),
            ({"PixelFormat": "Mono12"}, "this camera has no PixelFormat Mono12; choose Mono8, Mono16"),
            ({"Gain": 99.0}, "Gain 99.0; the greatest is 10"),
        ],
    )
    def test_what_the_camera_cannot_do_is_refused(self, values: dict[str, Value], words: str) -> None:
        with opened() as rig, pytest.raises(Refused, match=words):
            done(rig.engine.prepare(settings(camera=values)))

    @pytest.mark.parametrize("value", ["2.5", 2.5, str(2**64 + 3), "", "many"])
    def test_a_number_that_is_no_integer_of_64_bits_is_not_made_one(self, value: Value) -> None:
        with opened() as rig:
            assert isinstance(rig.camera, GenICam)
            with pytest.raises(CameraError, match="BinningHorizontal is of type integer, and .* is not"):
                rig.camera.set_feature("BinningHorizontal", value)
            assert rig.camera.get_feature("BinningHorizontal").value == 1

    def test_a_line_that_is_not_there_is_refused(self) -> None:
        wanted = settings(trigger_mode=TriggerMode.EXTERNAL_MULTI, camera={"TriggerSource": "Line7"})
        with (
            opened() as rig,
            pytest.raises(Refused, match="no TriggerSource Line7; it has Line0, Software"),
        ):
            done(rig.engine.check(wanted))

    def test_in_trigger_modes_an_id_counts_frames_and_not_edges(self) -> None:
        with opened() as rig:
            for mode in rig.camera.trigger_modes:
                prepared = done(rig.engine.prepare(settings(trigger_mode=mode)))
                internal = mode is TriggerMode.INTERNAL
                assert prepared.index_source is (
                    IndexSource.HARDWARE_COUNTER if internal else IndexSource.ARRIVAL
                )
                rig.engine.cancel()

    def test_a_packet_size_does_not_outlive_the_client_that_set_it(self) -> None:
        with opened() as rig:
            done(rig.engine.prepare(settings(camera=SMALL | {"PacketSize": 9000})))
            assert rig.camera._device.packet_size() == 9000
        with opened() as rig:
            done(rig.engine.prepare(settings(camera=SMALL)))
            assert rig.camera._device.packet_size() < 9000

    def test_packets_per_frame_are_those_that_arrive(self) -> None:
        with opened() as rig:
            done(rig.engine.prepare(settings(camera=SMALL | {"PacketSize": 1400})))
            assert rig.camera._device.packets_per_frame() == 2 + 7  # 8192 bytes, 1364 in each

    def test_a_camera_that_somebody_else_controls_is_refused(self) -> None:
        with opened(), pytest.raises(CameraError, match="127.0.0.1 is controlled by another program"):
            GenICam(complete_properties(GenICam, ADDRESS))

    @pytest.mark.parametrize(
        ("properties", "words"),
        [
            ({}, "SerialNumber and Address are both empty.*Aravis-Fake-GV01 .127.0.0.1."),
            ({"SerialNumber": "X-1"}, "camera X-1 cannot be opened .*Aravis-Fake-GV01 .127.0.0.1."),
            (ADDRESS | {"SerialNumber": "X-1"}, "127.0.0.1 has the serial number GV01, not X-1; correct"),
        ],
    )
    def test_a_camera_that_is_not_there_is_a_sentence_with_those_that_are(
        self, properties: dict[str, Value], words: str
    ) -> None:
        with pytest.raises(CameraError, match=words):
            GenICam(complete_properties(GenICam, properties))

    def test_it_is_found_by_its_serial_number(self) -> None:
        with opened({"SerialNumber": "GV01"}) as rig:
            assert rig.camera.describe()["serial_number"] == "GV01"


@pytest.mark.slow
def test_a_camera_that_is_unplugged_is_a_fault_and_can_be_used_when_it_is_back() -> None:
    with fake() as camera, opened() as rig:
        rig.arm(n_triggers=10000, exposure_time=UNITY, camera=SMALL)
        rig.until(lambda status: status.acquired > 1)
        camera.kill()
        with rig.changed:  # the heartbeat takes six seconds, and the stream is then waited for
            assert rig.changed.wait_for(lambda: rig.engine.status().state == "fault", 40.0)
        assert "camera 127.0.0.1 does not answer any more" in rig.engine.status().message
        rig.engine.reset()
        rig.receive_series()
        begun = time.monotonic()
        with pytest.raises(Refused, match="camera 127.0.0.1 does not answer; see its cable"):
            done(rig.engine.prepare(settings()))
        assert time.monotonic() - begun < 5.0, "Arm does not wait for a camera that is away"
        with fake():
            rig.arm(n_triggers=2, exposure_time=UNITY, camera=SMALL)
            assert len(rig.receive_series()[1]) == 2


@pytest.mark.slow
def test_a_camera_that_is_silent_for_a_while_is_waited_for_by_nobody() -> None:
    with fake() as camera, opened() as rig:
        process = psutil.Process(camera.pid)
        process.suspend()
        until(lambda: process.status() == psutil.STATUS_STOPPED, "stopped")
        begun = time.monotonic()
        with pytest.raises(Refused, match="camera 127.0.0.1 does not answer; see its cable and power"):
            done(rig.engine.prepare(settings()))
        with pytest.raises(Refused, match="camera 127.0.0.1 does not answer"):
            done(rig.engine.with_features(lambda unit: unit.list_features()))
        assert time.monotonic() - begun < 5.0, "the library would wait for seconds each time"
        rig.until(lambda status: "Camera 127.0.0.1 does not answer" in status.warning)
        process.resume()
        rig.until(lambda status: not status.warning)
        rig.arm(n_triggers=2, exposure_time=UNITY, camera=SMALL)
        assert len(rig.receive_series()[1]) == 2


KILLED_IN_A_SERIES = """
import os, signal
from penstock.devices._genicam.device import Device
from penstock.devices.genicam import GenICam
from penstock.streamer.camera.checks import complete_properties

device = Device(complete_properties(GenICam, {"Address": "127.0.0.1"}))
stream = device.stream()
device.start()
os.kill(os.getpid(), signal.SIGKILL)
"""


def opens() -> bool:
    try:
        GenICam(complete_properties(GenICam, ADDRESS)).close()
    except CameraError:
        return False
    return True


@pytest.mark.slow
def test_a_camera_whose_client_was_killed_in_a_series_sends_to_the_next_one() -> None:
    with fake():
        killed = subprocess.run([*PYTHON, "-c", KILLED_IN_A_SERIES], timeout=PATIENCE)
        assert killed.returncode == -signal.SIGKILL
        until(opens, "free, since nobody keeps its heartbeat", deadline=20.0)
        with opened() as rig:
            rig.arm(n_triggers=3, exposure_time=UNITY, camera=SMALL)
            assert len(rig.receive_series()[1]) == 3


def test_lost_packets_leave_frames_missing_at_their_index() -> None:
    """One packet of twenty is lost, at random; the fake camera does not send it again."""
    with fake("--lost", "0.05"), opened() as rig:
        rig.arm(n_triggers=100, exposure_time=UNITY, camera=SMALL)
        _, frames, end = rig.receive_series()
        indices = [frame.image.frame for frame in frames]
        lost = 100 - len(frames)
        assert (end.reason, end.triggered, end.lost) == ("complete", 100, {"camera": lost})
        assert 0 < lost < 100 and indices == sorted(set(indices))
        # Pixel (0, 0) is the id modulo 255, and 65535 is a multiple of that.
        ids = [frame.blobs[0][0] for frame in frames]
        assert len({(number - index) % 255 for number, index in zip(ids, indices, strict=True)}) == 1
        rig.until_state("idle")
        incomplete, missing = (int(rig.camera.read(of)) for of in ("IncompleteFrames", "MissingPackets"))
        assert 0 < incomplete <= missing < 3 * incomplete, "of frames of 9 packets, mostly one"


def test_a_second_fake_camera_says_who_has_the_port() -> None:
    with fake():
        second = subprocess.run(
            [*PYTHON, "-m", "penstock.devices._genicam.fake_camera"],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert second.returncode == 1
    assert second.stderr.startswith("port 3956 of 127.0.0.1 is taken: another fake camera is running")


@pytest.mark.slow
def test_a_fake_camera_that_was_stopped_goes_on() -> None:
    with fake() as camera:
        process = psutil.Process(camera.pid)
        process.suspend()
        until(lambda: process.status() == psutil.STATUS_STOPPED, "stopped")
        time.sleep(1.5 * LOOK)  # the time that it waits for a signal passes
        process.resume()
        with opened() as rig:
            rig.arm(n_triggers=200, exposure_time=UNITY, camera=SMALL)
            assert len(rig.receive_series()[1]) == 200


def test_a_fake_camera_ends_with_the_process_that_has_started_it() -> None:
    starter = (
        "import subprocess, sys; "
        "camera = subprocess.Popen([sys.executable, '-m', 'penstock.devices._genicam.fake_camera', '--wait', "
        f"'{PATIENCE}'], stdout=subprocess.PIPE); camera.stdout.readline(); print(camera.pid)"
    )
    started = subprocess.run(
        [*PYTHON, "-c", starter], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    until(lambda: not running(int(started.stdout)), "ended", deadline=60.0)
