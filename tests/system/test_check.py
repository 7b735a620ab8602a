"""Check: what Arm would say and how large the series is; in every state, in time, and nothing is touched.

That its refusals are those of Arm is in test_arm_refusals.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from typing import Any

import pytest
import tango

from tests.system.beamline import FAULT, ON, RUNNING, Station, refusal, until, wait_state
from tests.system.test_what_panels_are_told import hearing

FRAME = 64 * 32 * 2
IN_TIME = 2.5
"""Seconds, as it says in the reference."""


def check(station: Station) -> dict[str, Any]:
    begun = time.monotonic()
    said: dict[str, Any] = json.loads(station.detector.Check())
    assert time.monotonic() - begun < IN_TIME
    assert list(said) == [
        "ok", "kind", "sentence", "file", "frames", "frame_bytes", "bytes", "free_bytes", "seconds",
    ]  # fmt: skip
    return said


def everything(station: Station) -> dict[str, Any]:
    """What a Check could have touched."""
    status = station.receiver.client.status()
    names = [info.name for info in station.detector.attribute_list_query()]
    names = [name for name in names if name not in ("LiveImage", "SensorTemperature")]
    return {
        "tango": [(value.name, str(value.value)) for value in station.detector.read_attributes(names)],
        "receiver": (status.state, status.series, status.counts, status.errors, status.drained),
        "folder": sorted((path.name, path.stat().st_mtime_ns) for path in station.root.rglob("*")),
        "streamer": station.streamer_pid(),
    }  # fmt: skip


def test_a_good_series_is_described_and_nothing_is_touched(station: Station) -> None:
    file = station.new_file()
    station.set(nTriggers=10, nFramesPerTrigger=2, ExposureTime=0.5, DestinationFilename=str(file))
    until(lambda: len(station.detector.FrameShape) > 0, "the streamer has said it")
    before = everything(station)
    for _ in range(5):
        said = check(station)
    free = said.pop("free_bytes")
    assert 0 < free < 2**60
    assert said == {
        "ok": True, "kind": "", "sentence": "", "file": str(file), "frames": 20, "frame_bytes": FRAME,
        "bytes": 20 * FRAME, "seconds": 20 * (0.5 + 1e-4),
    }  # fmt: skip
    assert everything(station) == before
    station.set(TriggerMode="SOFTWARE", DestinationFilename="")
    said = check(station)
    assert said["ok"] is True and said["seconds"] is None and said["file"] == ""


def test_a_file_name_may_have_any_character(station: Station) -> None:
    """Tango's strings take Latin-1 only, and so does DestinationFilename; links lead anywhere."""
    (station.root / "β …").mkdir()
    (station.root / "beta").symlink_to(station.root / "β …")
    station.set(DestinationFilename=str(station.root / "beta" / "x.h5"))
    file, escaped = f"{station.root}/β …/x.h5", f"{station.root}/\\u03b2 \\u2026/x.h5"
    assert check(station)["file"] == file
    station.detector.Arm()
    wait_state(station.detector, ON)
    assert json.loads(station.detector.LastSeries)["file"] == file
    assert station.detector.FileWritten == escaped and escaped in station.detector.Status()
    until(lambda: station.receiver_device.FileName == escaped, "the receiver's device, too")
    assert escaped in refusal(station.detector.Arm)


def test_umlauts_are_read_as_they_are_written_and_escaped_in_status(station: Station) -> None:
    """Of the ways to read Status, one takes UTF-8 and the others Latin-1: ASCII is what all read alike."""
    file = station.root / "größe.h5"
    escaped = f"{station.root}/gr\\xf6\\xdfe.h5"
    station.set(DestinationFilename=str(file))
    with hearing(station.detector, "Status") as heard:
        station.detector.Arm()
        wait_state(station.detector, ON)
        until(lambda: f"stored in {escaped}." in heard.of("Status")[-1], "an event")
    assert f"stored in {escaped}." in station.detector.status()
    assert f"stored in {escaped}." in station.detector.Status()
    assert f"stored in {escaped}." in station.detector.read_attribute("Status").value
    assert station.detector.FileWritten == str(file)
    assert str(file) in refusal(station.detector.Arm), "it exists"
    with pytest.raises(tango.DevFailed) as raised:
        station.detector.TriggerMode = "größe"
    assert 'has no choice "größe"' in raised.value.args[0].desc


def test_what_is_said_is_what_arm_does_with_the_size(station: Station) -> None:
    for values in ({"AOIWidth": 16}, {"AOIHeight": 8, "Compression": "bslz4"}, {"Pattern": "powder"}):
        station.set(**values)
        said = check(station)
        station.detector.Live()
        assert station.detector.FrameBytes == said["frame_bytes"] > 0
        station.detector.Stop()
        wait_state(station.detector, ON)
    station.set(AOIWidth=0, AOIHeight=0, Compression="none", Pattern="gradient")


def test_the_frame_size_follows_the_settings_by_events(station: Station) -> None:
    with hearing(station.detector, "FrameBytes") as heard:
        until(lambda: heard.of("FrameBytes")[-1] == FRAME, "size of the whole sensor")
        station.set(AOIHeight=8)
        until(lambda: heard.of("FrameBytes")[-1] == FRAME // 4, "size of the area")
        station.set(AOIHeight=0, AOILeft=63, AOIWidth=1)
        until(lambda: heard.of("FrameBytes")[-1] == 32 * 2, "size of one column")
        station.set(AOILeft=0, Pattern="recording")
        until(lambda: heard.of("FrameBytes")[-1] == 0, "no size: there is no recording")
        station.set(AOIWidth=0, Pattern="gradient")
        until(lambda: heard.of("FrameBytes")[-1] == FRAME, "size of the whole sensor again")


def test_while_a_series_runs_and_in_fault(station: Station) -> None:
    file = station.software_series(3)
    said = check(station)
    assert (said["ok"], said["kind"], said["file"]) == (False, "not_idle", str(file))
    assert said["sentence"] == refusal(station.detector.Arm)
    assert (said["frames"], said["frame_bytes"], said["bytes"]) == (3, FRAME, 3 * FRAME)
    assert station.detector.State() == RUNNING
    station.trigger()
    os.kill(station.streamer_pid(), signal.SIGKILL)
    wait_state(station.detector, FAULT)
    said = check(station)
    assert (said["ok"], said["kind"]) == (False, "not_idle")
    assert said["sentence"] == refusal(station.detector.Arm)
    station.detector.Reset()
    wait_state(station.detector, ON)
    said = check(station)
    assert said["kind"] == "file_exists" and said["sentence"] == refusal(station.detector.Arm)


def test_a_streamer_that_hangs_costs_ten_clients_no_more_than_one(station: Station) -> None:
    pid = station.streamer_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        for _ in range(10):
            said = check(station)
            assert said["ok"] is False
        assert time.monotonic() - begun < IN_TIME
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: check(station)["ok"], "good again")


def test_ten_clients_ask_while_another_one_arms(station: Station) -> None:
    failures: list[Exception] = []
    answers: list[dict[str, Any]] = []
    stop = threading.Event()
    name = f"tango://{station.beamline.tango_host}/{station.detector.dev_name()}"

    def ask() -> None:
        device = tango.DeviceProxy(name)
        try:
            while not stop.is_set():
                answers.append(json.loads(device.Check()))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            station.set(nTriggers=3, DestinationFilename=str(station.new_file()))
            station.detector.Arm()
            wait_state(station.detector, ON)
            assert json.loads(station.detector.LastSeries)["complete"] is True
    finally:
        stop.set()
        for thread in threads:
            thread.join(10.0)
    assert not failures
    said = {answer["kind"]: answer["sentence"] for answer in answers}
    assert said.keys() <= {"", "not_idle", "file_exists"}, said
    assert len(answers) > 50
