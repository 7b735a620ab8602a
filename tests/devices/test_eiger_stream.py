"""The device Eiger and the simulated control unit: a series, and what needs a box that behaves as one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import zmq

from penstock.devices.eiger import Eiger
from penstock.receiver.sources.dectris_v1 import DectrisV1Source
from penstock.receiver.sources.dectris_v2 import DectrisV2Source
from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.own_stream import BoxLost, BoxState
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from penstock.streamer.simulated.triggers import TriggerSource
from tests.streamer import rig

DEADLINE = 10.0
FLAVOURS = {"1.8.0-v1": "legacy", "1.8.0-v2": "cbor", "1.6.0-v1": "legacy"}
USER = UserPart(arm="0123456789abcdef", filename="/data/x.h5", frames=3)


@pytest.fixture(params=FLAVOURS)
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[ControlUnit, Eiger]]:
    api, _, stream = request.param.partition("-")
    with ControlUnit(api=api, stream=FLAVOURS[request.param], sensor=(32, 48)) as box:
        given = {"Host": "127.0.0.1", "Port": box.http_port, "Stream": stream}
        eiger = Eiger(complete_properties(Eiger, given))
        assert eiger.connect().state is BoxState.UNINITIALISED
        eiger.reset()
        yield box, eiger
        eiger.close()


def test_a_series_comes_with_its_user_part_and_the_next_without(pair: tuple[ControlUnit, Eiger]) -> None:
    box, eiger = pair
    context = zmq.Context()
    pull = context.socket(zmq.PULL)
    pull.setsockopt(zmq.RCVTIMEO, int(1000 * DEADLINE))
    pull.connect(box.stream_endpoint)
    assert box.wait_receivers(1, DEADLINE)
    source = DectrisV2Source() if eiger._stream == "v2" else DectrisV1Source()
    wanted = rig.settings(
        trigger_mode=TriggerMode.SOFTWARE, n_triggers=3, exposure_time=0.01, camera=dict(eiger.values())
    )
    format_ = eiger.prepare(wanted)
    eiger.arm(USER)
    start = source.decode(pull.recv_multipart())
    assert isinstance(start, Start) and start.header.series == USER.arm
    assert start.header.filename == "/data/x.h5"
    for number in range(3):
        eiger.trigger()
        frame = source.decode(pull.recv_multipart())
        assert isinstance(frame, Frame) and frame.image.frame == number
        assert frame.image.shape == format_.shape
    assert isinstance(source.decode(pull.recv_multipart()), SeriesEnd)
    box.arm_by_somebody_else()
    other = source.decode(pull.recv_multipart())
    assert isinstance(other, Start) and other.header.series != USER.arm
    assert eiger.progress().state is BoxState.ARMED
    with pytest.raises(CameraError, match="call Reset"):
        eiger.prepare(wanted)
    eiger.reset()
    assert eiger.progress().state is BoxState.IDLE
    pull.close(0)
    context.term()


def test_from_edge_to_edge_one_frame_each(pair: tuple[ControlUnit, Eiger]) -> None:
    """Mode eies of SIMPLON 1.8.0: one edge more than frames."""
    box, eiger = pair
    camera = {**eiger.values(), "GateTriggerMode": "eies"}
    wanted = rig.settings(
        trigger_mode=TriggerMode.EXTERNAL_MULTI_GATE, n_triggers=3, exposure_time=0.01, camera=camera
    )
    if box.box.settings.api == "1.6.0":
        with pytest.raises(CameraError, match="trigger_mode = 'eies' is not possible"):
            eiger.prepare(wanted)
        return
    context = zmq.Context()
    pull = context.socket(zmq.PULL)
    pull.setsockopt(zmq.RCVTIMEO, int(1000 * DEADLINE))
    pull.connect(box.stream_endpoint)
    assert box.wait_receivers(1, DEADLINE)
    source = DectrisV2Source() if eiger._stream == "v2" else DectrisV1Source()
    eiger.prepare(wanted)
    eiger.arm(USER)
    host, _, port = box.trigger_address.rpartition(":")
    edges = TriggerSource((host, int(port)))
    for moment in (10.0, 10.02, 10.03, 10.07):
        edges.pulse(moment=moment)
    edges.close()
    _, *frames, end = [source.decode(pull.recv_multipart()) for _ in range(5)]
    assert isinstance(end, SeriesEnd)
    exposures = [frame.image.exposure_time for frame in frames if isinstance(frame, Frame)]
    assert exposures == pytest.approx([0.02, 0.01, 0.04])
    pull.close(0)
    context.term()


def test_readings_that_a_box_lacks_before_it_is_initialised_are_there_afterwards(
    pair: tuple[ControlUnit, Eiger],
) -> None:
    box, eiger = pair
    box.power(False)
    box.power(True)
    assert eiger.connect().state is BoxState.UNINITIALISED
    for name in ("SensorTemperature", "StreamDropped", "BitDepth"):
        with pytest.raises(CameraError, match="no reading"):
            eiger.read(name)
    eiger.reset()
    assert eiger.read("SensorTemperature") == pytest.approx(23.4)
    assert (eiger.read("StreamDropped"), eiger.read("BitDepth")) == (0, 16)
    assert eiger.values()["Energy"] == pytest.approx(8047.78)


def test_a_box_that_was_off_and_on_is_reached_and_initialised_again(pair: tuple[ControlUnit, Eiger]) -> None:
    box, eiger = pair
    box.power(False)
    with pytest.raises(BoxLost, match=r"cannot be reached|broke off"):
        eiger.progress()
    box.power(True)
    assert eiger.connect().state is BoxState.UNINITIALISED
    eiger.reset()
    assert eiger.progress().state is BoxState.IDLE
