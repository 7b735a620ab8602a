"""Whatever a client writes: a sentence that names it, the old value stays, and the next series is taken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.system.accounts import check_account
from tests.system.beamline import ON, Station, refusal, wait_state

REFUSED_WHEN_WRITTEN: list[tuple[str, Any]] = [
    ("ExposureTime", float("nan")),
    ("ExposureTime", float("inf")),
    ("ExposureTime", -1.0),
    ("ExposureTime", 1e9),
    ("LatencyTime", float("nan")),
    ("FrameTime", float("nan")),
    ("FrameTime", 0.0),
    ("FrameRate", float("inf")),
    ("FrameRate", -5.0),
    ("nTriggers", -1),
    ("nTriggers", -(2**40)),
    ("nTriggers", 2**40),
    ("nFramesPerTrigger", 0),
    ("TriggerMode", "NOPE"),
    ("TriggerMode", ""),
    ("Rotation", 45),
    ("Rotation", -90),
    ("Metadata", "{"),
    ("Metadata", "[" * 10_000),
    ("Metadata", '"text"'),
    ("Pattern", "no such pattern"),
    ("Faults", "explode"),
    ("BeamCenterX", float("nan")),
    ("Energy", 0.0),
]


@pytest.mark.parametrize(("name", "value"), REFUSED_WHEN_WRITTEN, ids=lambda value: str(value)[:20])
def test_an_impossible_value_is_refused_and_the_old_one_stays(
    station: Station, name: str, value: Any
) -> None:
    before = station.detector.read_attribute(name).value
    sentence = refusal(lambda: station.detector.write_attribute(name, value))
    assert name in sentence
    assert station.detector.read_attribute(name).value == before
    assert station.detector.State() == ON


REFUSED_AT_ARM: list[dict[str, Any]] = [
    {"DestinationFilename": "/"},
    {"DestinationFilename": "relative.h5"},
    {"DestinationFilename": "/data/../../etc/passwd"},
    {"DestinationFilename": "/" + "x" * 5000 + ".h5"},
    {"DestinationFilename": "/proc/self/mem"},
    {"nTriggers": 2**31 - 1, "nFramesPerTrigger": 2**31 - 1},
]


@pytest.mark.parametrize("values", REFUSED_AT_ARM, ids=lambda values: str(values)[:40])
def test_an_impossible_series_is_refused_and_the_next_is_taken(
    station: Station, values: dict[str, Any]
) -> None:
    station.set(**values)
    assert refusal(station.detector.Arm)
    assert station.detector.State() == ON
    file = station.new_file()
    station.set(nTriggers=2, nFramesPerTrigger=1, DestinationFilename=str(file))
    station.detector.Arm()
    wait_state(station.detector, ON)
    check_account(station, file, 2, stored=2)
