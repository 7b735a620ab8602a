"""A curve of live azimuthal integration for every frame, as p4p and PvaPy read it."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from penstock.hosts.child import free_port
from penstock.processing.results.read import Results
from tests.bridges.epics.bridge_process import DEADLINE, BridgeProcess, Updates, environment
from tests.processing.test_process import Running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels
from tests.third_party import program_of

pytestmark = pytest.mark.slow
FRAMES = 200
SHAPE = (64, 80)
PONI = """\
poni_version: 2.1
Detector: Detector
Detector_config: {"pixel1": 0.000172, "pixel2": 0.000172, "max_shape": [64, 80]}
Distance: 0.15
Poni1: 0.0055
Poni2: 0.0069
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""
READER = """
import json, sys, threading
import pvaccess

record, frames = sys.argv[1], int(sys.argv[2])
got, done = [], threading.Event()


def take(value):
    stamp = value["timeStamp"]
    got.append([stamp["userTag"], [float(each) for each in value["value"]]])
    if len(got) == 1:
        print("connected", flush=True)
    if len(got) > frames:
        done.set()


channel = pvaccess.Channel(record)
channel.monitor(take, "record[queueSize=1000]field(value,timeStamp)")
done.wait(60)
print(json.dumps(got[1:]), flush=True)
"""
"""The first update is the value of before."""
ENTRIES = [
    {"name": "live", "endpoint": "tcp://127.0.0.1:0", "shared": True, "queue_mb": 8},
    {"name": "epics", "endpoint": "tcp://127.0.0.1:0"},
]


def test_every_point_of_every_frame_is_that_of_the_result_file(tmp_path: Path) -> None:
    (tmp_path / "geometry.poni").write_text(PONI)
    (tmp_path / "reader.py").write_text(READER)
    udp = free_port()
    with ExitStack() as stack:
        streamer = Streamer()
        stack.callback(streamer.close)
        receiver = ReceiverProcess(tmp_path, streamer.endpoint, forward=ENTRIES)
        stack.callback(receiver.close)
        receiver.connected()
        pipeline = Running(
            tmp_path, receiver, processor="azimuthal", workers=2,
            parameters={"poni": "geometry.poni", "points": 100},
        )  # fmt: skip
        stack.callback(_end, pipeline)
        pipeline.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        bridge = BridgeProcess(
            tmp_path, udp, receiver=receiver.client.url, consumer="epics", pipeline=pipeline.client.url
        )
        stack.callback(bridge.close)
        receiver.wait(lambda status: all(each.connected for each in status.consumers))

        def series(name: str, frames: int) -> str:
            found = streamer.start(f"{receiver.root}/{name}.h5", frames=frames, shape=SHAPE, type="uint16")
            for number in range(frames):
                streamer.frame(number, pixels(number, SHAPE))
            streamer.end(reason="complete", triggered=frames, sent=frames)
            status = pipeline.over(found).series
            assert status is not None and status.result_file is not None
            assert status.counts.done == frames, status
            return status.result_file

        series("first", 3)
        bridge.wait(lambda status: any(each.name == "I" and each.posted == 3 for each in status.results))
        context = bridge.context()
        stack.callback(context.close)
        mine = Updates(context, "T:Results:I")
        mine.wait(bool)
        reader = subprocess.Popen(
            [program_of("processing", "python"), tmp_path / "reader.py", "T:Results:I", str(FRAMES)],
            stdout=subprocess.PIPE, text=True, env=environment(udp),
        )  # fmt: skip
        assert reader.stdout is not None and reader.stdout.readline() == "connected\n"
        file = Results(series("second", FRAMES))
        found = mine.wait(lambda values: len(values) > FRAMES)[1:]
        mine.close()
        theirs = json.loads(reader.communicate(timeout=DEADLINE)[0])
        expected = file.rows("I", 0, FRAMES).values
        axis = context.get("T:Results:radial_axis")
        assert context.get("T:Results:I").display.description == "intensity over radial_axis"
        assert np.array_equal(axis.value, file.axis("radial_axis")), "the axis is a record of its own"
    assert sorted(each.timeStamp.userTag for each in found) == list(range(FRAMES))
    assert sorted(index for index, _ in theirs) == list(range(FRAMES))
    assert np.isfinite(expected).any(axis=1).all()
    for each in found:
        assert np.array_equal(each.value, expected[each.timeStamp.userTag], equal_nan=True)
    for index, values in theirs:
        assert np.array_equal(np.array(values, "f4"), expected[index], equal_nan=True)


def _end(pipeline: Running) -> None:
    pipeline.process.terminate()
    pipeline.process.wait(DEADLINE)
    assert pipeline.process.stdout is not None
    pipeline.process.stdout.close()
