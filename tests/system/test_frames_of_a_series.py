"""What a client is told of the frames of a series: shape and type in the file, and where in it they lie."""

from __future__ import annotations

import json
from typing import Any

import h5py

from tests.system.beamline import ON, RUNNING, Station, until, wait_state
from tests.system.test_what_panels_are_told import hearing

RECEIVER_CONFIG = {"transforms": [{"type": "rotate", "quarter_turns": 1}]}
DATASET = "entry/instrument/sim/data"


def shape(station: Station) -> list[int]:
    value = station.detector.FrameShape
    return [] if value is None else [int(number) for number in value]


def becomes(station: Station, wanted: list[int]) -> None:
    until(lambda: shape(station) == wanted, f"FrameShape {wanted}")


def test_the_next_frames_follow_the_settings_and_the_receivers_transforms_by_events(station: Station) -> None:
    with hearing(station.detector, "FrameShape", "FrameType") as heard:

        def comes(wanted: list[int]) -> None:
            def has_event() -> bool:
                return [int(number) for number in heard.of("FrameShape")[-1]] == wanted

            until(has_event, f"an event of {wanted}")

        comes([64, 32])
        assert heard.of("FrameType")[-1] == "uint16"
        station.set(Rotation=90)
        comes([32, 64])
        station.set(Rotation=0, AOIWidth=16)
        comes([16, 32])
        station.set(AOIWidth=0, Pattern="recording")
        try:
            comes([])
            until(lambda: heard.of("FrameType")[-1] == "", "an event of no type")
            assert station.detector.FrameType == ""
            assert shape(station) == []
        finally:
            station.set(Pattern="gradient")
        comes([64, 32])


def test_a_series_is_where_it_is_said_to_be_and_as_it_is_said(station: Station) -> None:
    file = station.software_series(2, Rotation=180)
    said = shape(station), station.detector.FrameType, station.detector.FileDataset
    assert said == ([64, 32], "uint16", DATASET)
    assert station.detector.IndexSource == "hardware counter"
    station.trigger()
    station.trigger()
    wait_state(station.detector, ON)
    with h5py.File(file) as opened:
        assert opened[DATASET].shape == (2, 64, 32)
        assert opened[DATASET].dtype == "uint16"
        assert len(opened[DATASET].parent["frame_status"]) == 2
    assert station.detector.FileDataset == DATASET, "until the next series"
    (past, *_) = station.receiver.client.history(1)
    assert (past.series.shape, past.series.dtype, past.series.dataset) == ([64, 32], "uint16", DATASET)
    station.set(DestinationFilename="", TriggerMode="INTERNAL")
    station.detector.Arm()
    wait_state(station.detector, ON)
    assert station.detector.FileDataset == ""


def test_without_a_receiver_they_are_as_sent_until_it_answers(station: Station) -> None:
    station.receiver.stop()
    until(lambda: any("does not answer" in words for words in unanswered(station)), "the device knows")
    station.set(AOIWidth=8)
    becomes(station, [32, 8])
    station.receiver.start()
    becomes(station, [8, 32])
    station.set(AOIWidth=0)
    becomes(station, [64, 32])


def unanswered(station: Station) -> list[str]:
    """What Check says of the receiver."""
    said: dict[str, Any] = json.loads(station.detector.Check())
    return [said["sentence"]]


def test_a_running_series_says_what_it_is_and_not_what_would_be_next(station: Station) -> None:
    station.set(AOIWidth=16)
    station.software_series(1)
    assert station.detector.State() == RUNNING
    assert shape(station) == [16, 32]
    station.detector.Stop()
    wait_state(station.detector, ON)
    station.set(AOIWidth=0)
    becomes(station, [64, 32])
