"""State, results and commands of a real pipeline behind a real receiver, as EPICS clients see them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from p4p.client.thread import Context, RemoteError

from penstock.gui.model.fleet import pages as fleet
from penstock.hosts.child import free_port
from penstock.receiver.models import ConsumerStatus
from tests.bridges.epics.bridge_process import DEADLINE, BridgeProcess, Updates
from tests.processing.test_process import Running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

ENTRIES: list[dict[str, Any]] = [
    {"name": "live", "endpoint": "tcp://127.0.0.1:0", "shared": True, "queue_mb": 2},
    {"name": "epics", "endpoint": "tcp://127.0.0.1:0"},
]
SPOTS = """\
import numpy as np
from penstock.processing import Mean, Processor


class Spots(Processor):
    threshold: int = 1000

    def start(self, series):
        if self.threshold < 0:
            raise ValueError("below 0")

    def process(self, frame):
        pixels = frame.pixels
        return {
            "bright": np.count_nonzero(pixels > self.threshold), "share": float(pixels.mean()) / 7,
            "curve": pixels.sum(axis=0).astype("f8"), "picture": pixels * 2, "mean": Mean(pixels),
        }
"""


class Stage(NamedTuple):
    """All that takes part."""

    receiver: ReceiverProcess
    streamer: Streamer
    pipeline: Running
    bridge: BridgeProcess
    context: Context


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder, streamer = tmp_path_factory.mktemp("epics"), Streamer()
    receiver = ReceiverProcess(folder, streamer.endpoint, forward=ENTRIES)
    receiver.connected()
    http, gone = (f"127.0.0.1:{free_port()}" for _ in range(2))
    pages = [f"http://{http}/", f"http://{gone}/"]
    pipeline = Running(folder, receiver, SPOTS, workers=1, pages=pages)
    bridge = BridgeProcess(
        folder,
        http=http,
        receiver=receiver.client.url,
        consumer="epics",
        pipeline=pipeline.client.url,
        command=True,
    )
    receiver.wait(lambda status: all(each.connected for each in status.consumers))
    pipeline.wait(lambda status: [each.state for each in status.workers] == ["ready"])
    context = bridge.context()
    yield Stage(receiver, streamer, pipeline, bridge, context)
    context.close()
    bridge.close()
    pipeline.process.terminate()
    pipeline.process.wait(DEADLINE)
    assert pipeline.process.stdout is not None
    pipeline.process.stdout.close()
    receiver.close()
    streamer.close()


def send(stage: Stage, name: str, frames: int) -> str:
    """A series whose frames have times; returns its id."""
    series = stage.streamer.start(f"{stage.receiver.root}/{name}.h5", frames=frames)
    for number in range(frames):
        stage.streamer.frame(number, timestamp=1.7e9 + number + 0.5)
    stage.streamer.end(reason="complete", triggered=frames, sent=frames)
    stage.pipeline.over(series)
    return series


def posted(stage: Stage, **counts: int) -> None:
    """Wait until so many values of results were posted."""
    stage.bridge.wait(
        lambda status: counts.items() <= {each.name: each.posted for each in status.results}.items()
    )


@pytest.fixture(scope="module")
def first_series(stage: Stage) -> str:
    """A series after which the records of the results are there."""
    series = send(stage, "first", 3)
    posted(stage, bright=3, curve=3, picture=3)
    return series


def test_each_value_of_each_frame_comes_once_with_time_and_index(stage: Stage, first_series: str) -> None:
    names = ("bright", "share", "curve", "picture")
    found = {name: Updates(stage.context, f"T:Results:{name}") for name in names}
    for each in found.values():
        each.wait(bool)
    send(stage, "second", 50)
    values = {name: each.wait(lambda values: len(values) > 50)[1:] for name, each in found.items()}
    for each in found.values():
        each.close()
    for name in ("bright", "share", "curve"):
        assert sorted(each.timeStamp.userTag for each in values[name]) == list(range(50))
    for value, row, picture in zip(values["share"], values["curve"], values["picture"], strict=True):
        index = value.timeStamp.userTag
        assert (value.timeStamp.secondsPastEpoch, value.timeStamp.nanoseconds) == (
            1_700_000_000 + index, 500_000_000,
        )  # fmt: skip
        assert value.value == float(pixels(index).mean()) / 7
        assert row.timeStamp.userTag == picture.uniqueId - 1 == index
        assert np.array_equal(row.value, pixels(index).sum(axis=0))
        assert np.array_equal(picture.value.reshape(4, 6), pixels(index) * 2)
        assert [size.size for size in picture.dimension] == [6, 4]
    assert {each.getID().partition(":1")[0] for each in values["curve"]} == {"epics:nt/NTScalarArray"}
    mean = stage.context.get("T:Results:mean")
    stage.bridge.wait(lambda status: all(each.posted for each in status.results if each.name == "mean"))
    assert len(mean.dimension) == 2


def test_state_and_counts_are_records_of_their_own(stage: Stage, first_series: str) -> None:
    series = send(stage, "third", 5)
    status = stage.receiver.ended(series)
    get = stage.context.get
    stage.bridge.wait(lambda found: found.series == series and not found.active)
    due = time.monotonic() + DEADLINE
    while (get("T:Receiver:Series").value, get("T:Pipeline:Series").value) != (series, series):
        assert time.monotonic() < due
    stored = Updates(stage.context, "T:Receiver:Stored")
    stored.wait(lambda values: values[-1].value == 5 == status.counts.stored)
    done = Updates(stage.context, "T:Pipeline:Done")
    done.wait(lambda values: values[-1].value == 5)
    stored.close()
    done.close()
    assert get("T:Receiver:File").value == f"{stage.receiver.root}/third.h5"
    assert get("T:Pipeline:ResultFile").value.endswith(".h5")
    assert get("T:Receiver:State").alarm.severity == get("T:Pipeline:State").alarm.severity == 0
    assert get("T:Receiver:FrameRate").display.units == "Hz"


def test_a_command_does_what_http_does_and_is_refused_with_its_sentence(
    stage: Stage, first_series: str
) -> None:
    put = stage.context.put
    before = stage.pipeline.client.parameters().version
    put("T:Command", 'parameters {"threshold": 9}', timeout=DEADLINE)
    assert stage.pipeline.client.parameters().values["threshold"] == 9
    with pytest.raises(RemoteError, match="parameter threshold"):
        put("T:Command", {"value": '{"threshold": "x"}'}, timeout=DEADLINE)
    with pytest.raises(RemoteError, match='"start" is no command; give reset, stop'):
        put("T:Command", "start", timeout=DEADLINE)
    put("T:Command", "reset", timeout=DEADLINE)
    assert stage.pipeline.client.parameters().version == before + 1
    assert stage.context.get("T:Command").value == "reset"
    series = stage.streamer.start(f"{stage.receiver.root}/stopped.h5", frames=10)
    stage.streamer.frame(0)
    stage.pipeline.wait(lambda status: status.series is not None and status.series.id == series)
    put("T:Command", "stop beam is off", timeout=DEADLINE)
    assert "beam is off" in stage.pipeline.over(series).series.reason  # type: ignore[union-attr]
    stage.streamer.end(reason="complete", triggered=1, sent=1)
    stage.receiver.ended(series)
    status = stage.bridge.wait(lambda found: not found.active)
    assert (status.commands, status.refused_commands, status.command) == (3, 2, "T:Command")
    for record in ("T:Receiver:State", "T:Results:bright", "T:IMAGE"):
        with pytest.raises(RemoteError, match="not supported"):
            put(record, {"alarm.severity": 3}, timeout=DEADLINE)


def test_the_fleet_knows_a_bridge_by_the_pages_of_its_pipeline(stage: Stage) -> None:
    consumer = ConsumerStatus(name="live", endpoint="", sent=0, dropped=0, page=stage.pipeline.client.url)
    pipeline, here, gone = fleet._rows(stage.receiver.client.url, consumer, {})
    assert (pipeline.kind, pipeline.name) == ("pipeline", "spots")
    assert (here.kind, here.name, here.ill) == ("bridge", "epics", False)
    assert (gone.kind, gone.state) == ("bridge", fleet.AWAY) and "penstock epics" in gone.problem


@pytest.mark.slow
def test_who_is_away_is_invalid_and_the_other_one_is_not(stage: Stage, first_series: str) -> None:
    state = Updates(stage.context, "T:Pipeline:State")
    state.wait(lambda values: values[-1].alarm.severity == 0)
    stage.pipeline.process.terminate()
    stage.pipeline.process.wait(DEADLINE)
    found = state.wait(lambda values: values[-1].alarm.severity == 3)
    assert "does not answer" in found[-1].alarm.message
    assert found[-1].value == found[-2].value, "it keeps what it said last"
    assert stage.context.get("T:Pipeline:Done").alarm.severity == 3
    assert stage.context.get("T:Receiver:State").alarm.severity < 3
    said = stage.bridge.wait(lambda status: status.state == "waiting")
    assert said.pipeline is not None and not said.pipeline.answers and "penstock process" in said.waits_for
    state.close()
    receiver = Updates(stage.context, "T:Receiver:State")
    receiver.wait(bool)
    stage.receiver.process.terminate()
    receiver.wait(lambda values: values[-1].alarm.severity == 3)
    receiver.close()
