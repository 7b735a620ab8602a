"""The Tango device of a pipeline: a real database, receiver and pipeline; the test streams frames."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tango

from penstock.hosts.child import Child
from penstock.processing.models import Status
from tests.processing.test_process import ENTRY, Running, running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer
from tests.system.beamline import Beamline, until
from tests.system.test_fleet import fleet_of, status_all

CLASS = """\
import time

import numpy as np
from penstock.processing import Axis, Plot, Processor


class Spots(Processor):
    threshold: int = 2
    slow: float = 0.0

    def describe(self):
        position = Axis("position", np.arange(5) / 2, unit="mm")
        return [Plot("curve", axes=(position,), unit="counts", label="height")]

    def configure(self):
        if self.threshold < 0:
            raise ValueError("threshold is negative")
        time.sleep(self.slow)

    def process(self, frame):
        number = int(frame.pixels.flat[0]) // 24
        if number == 7 and self.threshold == 7:
            raise ValueError("seven")
        return {
            "number": number, "mean": float(frame.pixels.mean()),
            "curve": number + np.arange(5.0), "other": np.full(3, number),
        }
"""
DEVICE = "lab/pipeline/1"


class Setup:
    """All parts, and the device."""

    def __init__(
        self, beamline: Beamline, receiver: ReceiverProcess, streamer: Streamer, pipeline: Running,
        server: Child[bool],
    ) -> None:  # fmt: skip
        self.beamline, self.receiver, self.streamer, self.pipeline = beamline, receiver, streamer, pipeline
        self.server = server
        self.device = beamline.device(DEVICE)
        self.file_number = 0

    def file(self) -> str:
        self.file_number += 1
        return str(self.receiver.root / f"{self.file_number}.h5")

    def over(self, series: str) -> Status:
        return self.pipeline.over(series)

    def take(self, frames: int) -> Status:
        return self.over(self.streamer.series_of(self.file(), frames))


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    folder, streamer = tmp_path_factory.mktemp("pipeline"), Streamer()
    receiver = ReceiverProcess(folder, streamer.endpoint, forward=[ENTRY])
    with Beamline(folder / "beamline") as beamline, running(folder, receiver, CLASS) as pipeline:
        beamline.register(
            "PenstockPipeline/lab", "PenstockPipeline", DEVICE, PipelineUrl=pipeline.client.url,
            CurveResult="curve", ScalarResults="number, mean",
        )  # fmt: skip
        server = beamline.serve("PenstockPipeline/lab")
        receiver.connected()
        pipeline.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        yield Setup(beamline, receiver, streamer, pipeline, server)
    receiver.close()
    streamer.close()


@pytest.fixture
def made(setup: Setup) -> Iterator[Setup]:
    """The setup; each test leaves the parameters as they were."""
    yield setup
    setup.pipeline.client.change({"threshold": 2, "slow": 0.0})


class Events:
    """Change events of some attributes, without errors."""

    def __init__(self, device: tango.DeviceProxy, *names: str) -> None:
        self._device = device
        self._lock = threading.Lock()
        self._seen: dict[str, list[Any]] = {name: [] for name in names}
        self._ids = [
            device.subscribe_event(name, tango.EventType.CHANGE_EVENT, self._taker(name)) for name in names
        ]

    def _taker(self, name: str) -> Callable[[Any], None]:
        def take(event: Any) -> None:
            if not event.err and event.attr_value.quality is tango.AttrQuality.ATTR_VALID:
                with self._lock:
                    self._seen[name].append(event.attr_value)

        return take

    def seen(self, name: str) -> list[Any]:
        with self._lock:
            return list(self._seen[name])

    def forget(self) -> None:
        with self._lock:
            for each in self._seen.values():
                each.clear()

    def close(self) -> None:
        for number in self._ids:
            self._device.unsubscribe_event(number)


@pytest.fixture
def events(made: Setup) -> Iterator[Events]:
    if made.device.read_attribute("CurveFrame").value < 0:
        made.take(1)
        until(lambda: made.device.read_attribute("CurveFrame").value == 0, "its curve is no news any more")
    found = Events(made.device, "Curve", "CurveFrame", "CurveEncoded", "Done", "State", "number")
    until(lambda: bool(found.seen("Done")), "the first event of each comes at once")
    found.forget()
    yield found
    found.close()


def frames_of(events: Events) -> list[int]:
    return [json.loads(each.value[0])["frame"] for each in events.seen("CurveEncoded")]


def at_rate(made: Setup, frames: int, rate: float) -> str:
    """Stream frames at their times; return the id of the series."""
    series = made.streamer.start(made.file(), frames=frames)
    begin = time.monotonic()
    for number in range(frames):
        time.sleep(max(0.0, begin + number / rate - time.monotonic()))  # when the frame is exposed
        made.streamer.frame(number)
    made.streamer.end(reason="complete", triggered=frames, sent=frames)
    return series


def test_at_ten_per_second_each_curve_comes_as_one_event_with_its_frame(made: Setup, events: Events) -> None:
    series = at_rate(made, 30, 10)
    made.over(series)
    until(lambda: len(events.seen("Curve")) >= 30, f"30 curves; there are {frames_of(events)}")
    assert frames_of(events) == list(range(30))
    for number, each in enumerate(events.seen("CurveEncoded")):
        head, data = json.loads(each.value[0]), each.value[1]
        assert head == {"series": series, "frame": number, "name": "curve", "dtype": "<f8", "shape": [5]}
        np.testing.assert_array_equal(np.frombuffer(data, head["dtype"]), number + np.arange(5.0))
    # A client that shows them joins curve and frame by their time stamps.
    times = [each.time.totime() for each in events.seen("Curve")]
    assert len(set(times)) == 30
    frames = {each.time.totime(): each.value for each in events.seen("CurveFrame")}
    for each in events.seen("Curve"):
        np.testing.assert_array_equal(each.value, frames[each.time.totime()] + np.arange(5.0))


@pytest.mark.slow
def test_at_a_hundred_per_second_the_newest_come_with_ascending_frames(made: Setup, events: Events) -> None:
    frames = 250
    made.over(at_rate(made, frames, 100))
    until(lambda: (frames_of(events) or [0])[-1] == frames - 1, "the last one is shown")
    seen = frames_of(events)
    assert seen == sorted(set(seen))
    times = [each.time.totime() for each in events.seen("CurveEncoded")]
    assert len(seen) / (times[-1] - times[0]) >= 10, f"{len(seen)} in {times[-1] - times[0]:.1f} s"


def test_curve_and_frame_that_are_read_together_belong_together(made: Setup) -> None:
    thread = threading.Thread(target=at_rate, args=(made, 60, 100))
    thread.start()
    seen = []

    def together() -> bool:
        frame, curve, encoded = made.device.read_attributes(["CurveFrame", "Curve", "CurveEncoded"])
        assert json.loads(encoded.value[0])["frame"] == frame.value
        if frame.value < 0:
            return False
        np.testing.assert_array_equal(curve.value, frame.value + np.arange(5.0))
        assert curve.time.totime() == frame.time.totime()
        seen.append(frame.value)
        return bool(frame.value == 59)

    until(together, "the last one is read")
    thread.join()
    assert seen
    made.over(made.streamer.series)


def test_the_attributes_are_those_of_the_account(made: Setup, events: Events) -> None:
    made.device.Configure('{"threshold": 7}')
    status = made.take(20)
    device = made.device
    until(lambda: device.Done == 19 and device.number == 19.0, "it has the last value")
    assert status.series is not None
    assert (device.SeriesId, device.ResultFile) == (status.series.id, status.series.result_file)
    assert (device.Planned, device.Failed, device.Lost, device.Dropped, device.Absent) == (20, 1, 0, 0, 0)
    assert device.Pending == device.Queued == device.InWork == device.Held == 0
    assert device.Workers == 2
    assert device.mean == 24 * 19 + 11.5
    assert "ValueError: seven (spots.py, line 23" in device.LastError
    until(lambda: device.State() is tango.DevState.ON, "idle")
    assert "NOT every frame of the last series is done (19 of 20; 1 failed)" in device.Status()
    assert set(device.ResultNames) == {"number", "mean", "curve", "other", "position"}
    assert list(device.CurveAxis) == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert list(device.CurveMeaning) == ["height", "counts", "position", "mm"]
    until(lambda: [each.value for each in events.seen("Done")][-1:] == [19], "events say it too")
    until(lambda: [each.value for each in events.seen("number")][-1:] == [19.0], "of the numbers")
    assert json.loads(device.Parameters)["threshold"] == 7


def test_the_fleet_has_its_state_counts_and_last_error(made: Setup) -> None:
    made.device.Configure('{"threshold": 7}')
    made.take(20)
    fleet = fleet_of(made.beamline)
    fleet.start()
    try:
        (row,) = until(lambda: [row for row in fleet.rows() if row.problem], "it says what has failed")
    finally:
        fleet.stop()
    assert (row.name, row.kind, row.state, row.frames) == (DEVICE, "pipeline", "ON", "19 of 20")
    assert row.page == made.pipeline.client.url
    assert row.problem.startswith("Last series: 1 failed. Last error: ") and "seven" in row.problem

    made.device.Configure('{"threshold": 2}')
    made.take(20)
    until(lambda: made.device.Done == 20 and not made.device.Failed, "the device knows it")
    listed = status_all(made.beamline)

    assert (listed.returncode, listed.stderr) == (0, "")
    counts, _, line = listed.stdout.splitlines()
    assert counts == "0 detectors; 0 receivers; 1 pipeline"
    assert line.split() == ["ON", DEVICE, f"{made.file_number}.h5", "20", "of", "20"]


def test_parameters_are_changed_refused_and_awaited_without_blocking(made: Setup) -> None:
    device = made.device
    version = made.pipeline.client.status().parameters.version
    answer = json.loads(device.Configure('{"threshold": 4}'))
    assert answer["done"] and answer["taken"] and answer["version"] == version + 1
    assert len(answer["acknowledged"]) == 2
    with pytest.raises(tango.DevFailed, match="threshold is negative") as caught:
        device.Configure('{"threshold": -1}')
    assert caught.value.args[0].reason == "Penstock_refused_parameters"
    for text, says in (("[1]", "JSON object"), ("{", "not JSON")):
        with pytest.raises(tango.DevFailed, match=says):
            device.Configure(text)
    answer = json.loads(device.Configure('{"threshold": 5, "slow": 1.5}'))
    assert answer == {"done": False}
    with pytest.raises(tango.DevFailed, match="ConfigureOutcome"):
        device.Configure('{"threshold": 6}')
    assert "New parameters are being prepared." in device.Status(), "attributes are read meanwhile"
    until(lambda: json.loads(device.ConfigureOutcome)["done"], "the workers have prepared them")
    outcome = json.loads(device.ConfigureOutcome)
    assert outcome["taken"]
    until(lambda: device.ParametersVersion == outcome["version"], "the new version is seen")


@pytest.mark.slow
def test_a_pipeline_in_error_is_fault_and_reset_leaves_it(made: Setup) -> None:
    device, client = made.device, made.pipeline.client
    while not client.status().error:  # it is started again a few times
        for pid in children_named(made.pipeline.process.pid, "distributor"):
            signal_quietly(pid)
        time.sleep(0.05)
    until(lambda: device.State() is tango.DevState.FAULT, "it shows the error")
    assert "call Reset" in device.Status()
    device.Reset()
    until(lambda: device.State() is tango.DevState.ON, "it works again")
    made.pipeline.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)


def test_stop_ends_the_running_series_with_its_results(made: Setup, events: Events) -> None:
    series = made.streamer.start(made.file(), frames=50)
    for number in range(5):
        made.streamer.frame(number)
    until(lambda: made.device.Done == 5 and made.device.SeriesId == series, "five are done")
    assert made.device.State() is tango.DevState.RUNNING
    made.device.Stop()
    until(lambda: made.device.State() is tango.DevState.ON, "it has ended")
    assert "Stop of the Tango device lab/pipeline/1" in made.device.SeriesReason
    assert made.device.Done == 5
    states = [tango.DevState.RUNNING, tango.DevState.ON]
    until(lambda: [each.value for each in events.seen("State")] == states, "events say it too")
    made.streamer.end(reason="complete", triggered=5, sent=5)
    made.receiver.wait(lambda status: status.state == "idle")


def test_very_many_planned_frames_cost_as_much_as_came(made: Setup, events: Events) -> None:
    planned, device = 2**48, made.device
    series = made.streamer.start(made.file(), frames=planned)
    for number in (0, 1, 3):
        made.streamer.frame(number)
    made.streamer.end(reason="stop", triggered=4)
    status = made.over(series)
    assert status.series is not None and status.series.counts.absent == 281_474_976_710_653
    until(lambda: device.SeriesId == series and device.Absent == 281_474_976_710_653, "the account is there")
    until(lambda: (device.Done, device.Pending) == (3, 0), "of one snapshot")
    assert device.Planned == 281_474_976_710_656
    until(lambda: device.CurveFrame == 3 and device.number == 3.0, "the newest values are there")
    assert list(device.Curve) == [3.0, 4.0, 5.0, 6.0, 7.0]
    assert "(3 of 281474976710656; 281474976710653 absent)" in device.Status()
    http = made.pipeline.process.pid
    (distributor,) = children_named(http, "distributor")
    for process in (made.server.pid, http, distributor):
        (peak,) = re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
        assert int(peak) < 500_000, f"process {process} has taken {peak} kB"


def children_named(pid: int, module: str) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child) for child in children
        if module.encode() in Path(f"/proc/{child}/cmdline").read_bytes()
    ]  # fmt: skip


def signal_quietly(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_pipeline_that_hangs_holds_up_no_client_and_is_followed_again_when_it_goes_on(
    made: Setup, events: Events
) -> None:
    device, process = made.device, made.pipeline.process
    made.take(3)
    until(lambda: device.CurveFrame == 2, "the last curve")
    process.send_signal(signal.SIGSTOP)
    try:
        device.set_timeout_millis(1000)  # what is read does not wait for the pipeline
        until(lambda: device.State() is tango.DevState.UNKNOWN, "it does not answer", deadline=30.0)
        assert "does not answer" in device.Status()
        assert (device.Done, device.CurveFrame, len(device.Curve)) == (3, 2, 5), "what it said last"
    finally:
        process.send_signal(signal.SIGCONT)
        device.set_timeout_millis(3000)
    until(lambda: device.State() is tango.DevState.ON, "it answers again")
    events.forget()
    series = made.take(4).series
    assert series is not None
    until(lambda: frames_of(events)[-1:] == [3], "curves come again")
    assert device.SeriesId == series.id


@pytest.mark.slow
def test_a_pipeline_that_is_away_is_said(made: Setup) -> None:
    beamline = made.beamline
    beamline.register(
        "PenstockPipeline/away", "PenstockPipeline", "lab/pipeline/2", PipelineUrl="http://127.0.0.1:1"
    )
    beamline.serve("PenstockPipeline/away")
    device = beamline.device("lab/pipeline/2")
    until(lambda: "127.0.0.1:1" in device.Status() and "penstock process" in device.Status(), "it is away")
    assert device.State() is tango.DevState.UNKNOWN
    with pytest.raises(tango.DevFailed) as caught:
        device.Configure("{}")
    assert caught.value.args[0].reason == "Penstock_unavailable"
    with pytest.raises(tango.DevFailed, match="127.0.0.1:1"):
        device.Reset()
    beamline.end("PenstockPipeline/away")


def test_numbers_are_attributes_as_soon_as_a_client_can_ask_each_of_its_device_alone(made: Setup) -> None:
    beamline, two, three, four = made.beamline, *(f"lab/pipeline/{name}" for name in ("two", "three", "four"))
    for device, names in ((two, "a, b"), (three, "b, c"), (four, "\N{MICRO SIGN}m, d")):
        beamline.register(
            "PenstockPipeline/both", "PenstockPipeline", device, PipelineUrl="http://127.0.0.1:1",
            ScalarResults=names,
        )  # fmt: skip
    beamline.serve("PenstockPipeline/both")

    def shown(device: str) -> set[str]:
        return set(beamline.device(device).get_attribute_list()) & set("abcd")

    assert shown(two) == set("ab")
    assert shown(three) == set("bc")
    assert shown(four) == {"d"}, "a name that Tango cannot have keeps nothing else away"
    beamline.device(two).put_property({"ScalarResults": "b, d"})
    beamline.device(two).Init()
    assert shown(two) == set("bd")
    assert shown(three) == set("bc")
    assert beamline.device(three).read_attribute("c").quality is tango.AttrQuality.ATTR_INVALID
    beamline.end("PenstockPipeline/both")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"CurveResult": "gone"}, "There is no result gone (CurveResult) yet; curves: curve, other."),
        ({"CurveResult": "number"}, "CurveResult is number, which is no curve"),
        ({"ScalarResults": "curve"}, "curve (ScalarResults) is no number."),
        ({"ScalarResults": "gone"}, "There is no result gone (ScalarResults) yet; results: curve"),
    ],
)
def test_a_property_that_names_no_such_result_is_said(
    made: Setup, properties: dict[str, str], says: str
) -> None:
    beamline = made.beamline
    beamline.register(
        "PenstockPipeline/wrong", "PenstockPipeline", "lab/pipeline/3",
        **{"PipelineUrl": made.pipeline.client.url, "CurveResult": "", "ScalarResults": "", **properties},
    )  # fmt: skip
    made.take(3)
    beamline.serve("PenstockPipeline/wrong")
    device = beamline.device("lab/pipeline/3")
    until(lambda: says in device.Status(), says)
    assert device.State() is tango.DevState.ON, "the rest works"
    beamline.end("PenstockPipeline/wrong")


@pytest.mark.slow
def test_units_that_the_facility_gives_to_numbers_are_kept(made: Setup) -> None:
    made.take(3)
    until(lambda: "mean" in made.device.get_attribute_list(), "shown")
    database = made.device.get_device_db()

    def rows() -> dict[str, dict[str, list[str]]]:
        found = database.get_device_attribute_property(DEVICE, ["number", "mean"])
        return {name: {key: list(row) for key, row in each.items()} for name, each in found.items() if each}

    assert rows() == {}
    config = made.device.get_attribute_config("mean")
    config.unit = "counts"
    made.device.set_attribute_config(config)
    try:
        made.device.Init()
        made.take(3)
        until(lambda: "mean" in made.device.get_attribute_list(), "shown again")
        assert made.device.get_attribute_config("mean").unit == "counts"
        assert made.device.get_attribute_config("mean").description == "Newest mean of a frame."
        assert rows() == {"mean": {"unit": ["counts"]}}
    finally:
        database.delete_device_attribute_property(DEVICE, {"mean": ["unit"]})
