"""Every message that Penstock sends is accepted by the model of STINS that dranspose publishes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dranspose.data.stream1 import Stream1Data, Stream1End, Stream1Packet, Stream1Start

from penstock.devices.simulator import Simulator
from penstock.streamer.camera.push_socket import PushSocket
from penstock.streamer.simulated.generator.generator import generate
from penstock.streamer.simulated.generator.plan import Plan
from tests.streamer.rig import DEADLINE, FakeCamera, Rig, done, settings


def received(rig: Rig) -> list[list[bytes]]:
    """The parts of every message up to the end of the series."""
    messages: list[list[bytes]] = []
    assert rig.pull is not None
    while not messages or json.loads(messages[-1][0])["htype"] != "series_end":
        assert rig.pull.poll(int(DEADLINE * 1000)), "no message in time"
        messages.append(rig.pull.recv_multipart())
    return messages


def check_messages(messages: list[list[bytes]], frames: int) -> None:
    """Start, so many frames, end, as dranspose understands them."""
    packets = [Stream1Packet.validate_json(parts[0]) for parts in messages]
    assert [type(packet) for packet in packets] == [Stream1Start, *[Stream1Data] * frames, Stream1End]
    assert [packet.msg_number for packet in packets] == list(range(frames + 2))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"filename": "/data/a.h5", "metadata": '{"sample": "CeO2"}', "rotation": 90, "fliplr": True},
        {"camera": {"Compression": "bslz4", "Pattern": "powder"}},
        {"camera": {"Faults": "drop=1"}},
        {"camera": {"Faults": "fail_at=3"}},
    ],
)
def test_series_of_the_simulator(changes: dict[str, Any]) -> None:
    with Rig(Simulator({"SensorWidth": 64, "SensorHeight": 32}), buffers=2**20) as rig:
        rig.connect()
        rig.arm(**{"exposure_time": 0.001} | changes)
        check_messages(received(rig), 4 if "Faults" not in changes.get("camera", {}) else 3)


@pytest.mark.parametrize("how", ["stop", "abort", "cancel"])
def test_a_series_that_is_ended_early(how: str) -> None:
    with Rig(FakeCamera({})) as rig:
        rig.connect()
        done(rig.engine.prepare(settings()))
        done(rig.engine.announce())
        getattr(rig.engine, how)()
        check_messages(received(rig), 0)


def test_the_generator() -> None:
    with Rig() as rig:
        push = PushSocket("tcp://127.0.0.1:0")
        rig.connect()
        assert rig.pull is not None
        rig.pull.connect(push.endpoint)
        assert push.wait_peers(1, DEADLINE)
        generate(Plan(frames=3, shape=(2, 4, 4), filename="/data/a.h5"), [push])
        check_messages(received(rig), 3)
        push.close()
