"""Apply in a Taurus form that nobody has touched changes nothing, whatever was set before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tango

from penstock.devices._series.settings import PERIOD_ATTRIBUTES
from penstock.devices.simulator import Simulator
from penstock.streamer.camera.settings import STANDARD
from tests.breadth import breadth
from tests.system.beamline import Station

pytestmark = pytest.mark.slow  # Taurus forms, in processes of their own

FORM = Path(__file__).with_name("taurus_form.py")
SETTABLE = [p.name for p in (*STANDARD, *PERIOD_ATTRIBUTES, *Simulator.parameters) if p.writable]

ODD: dict[str, dict[str, Any]] = {
    "odd": {
        "ExposureTime": 0.0187345678912345, "LatencyTime": 0.0, "Distance": 0.18734, "BeamCenterX": 512.123,
        "BeamCenterY": 1000 / 3, "Energy": 12658.227848101265, "Threshold": 6329.1139, "PhotonFlux": 1e5 / 7,
        "TargetSensorTemperature": -20.05, "Rotation": 90, "Fliplr": True, "nTriggers": 1234567,
        "Metadata": '{"sample": "Grün",\n "note": "two  lines"}',
    },
    "small": {
        "ExposureTime": 1.23456e-05, "LatencyTime": 1.0000001e-3, "Distance": 1 / 3, "BeamCenterX": -0.125,
        "BeamCenterY": 1e-5, "Energy": 1000.000001, "PhotonFlux": 1.23456789e12, "SaveRaw": False,
        "TriggerMode": "SOFTWARE", "TargetSensorTemperature": 0.1 + 0.2,
    },
    "rate": {"ExposureTime": 1 / 3, "FrameRate": 1.7},
    "period": {"ExposureTime": 0.007, "FrameTime": 1 / 7, "Distance": 0.1 + 0.2},
}  # fmt: skip


@pytest.fixture
def odd_station(station: Station) -> Iterator[Station]:
    """The detector with all defaults, before and after; `calm` does not bring them back."""

    def write_defaults() -> None:
        for parameter in (*STANDARD, *Simulator.parameters):
            if parameter.writable:
                station.detector.write_attribute(parameter.name, parameter.default)

    write_defaults()
    yield station
    write_defaults()


def settings(detector: tango.DeviceProxy) -> dict[str, Any]:
    return {name: detector.read_attribute(name).value for name in SETTABLE}


@pytest.mark.parametrize("values", breadth(ODD, often=("odd",)))
def test_an_untouched_form_changes_nothing(odd_station: Station, values: dict[str, Any]) -> None:
    odd_station.set(**values)
    before = settings(odd_station.detector)
    assert {name: before[name] for name in values if name not in ("FrameRate", "FrameTime")} == {
        name: value for name, value in values.items() if name not in ("FrameRate", "FrameTime")
    }
    device = f"tango://{odd_station.beamline.tango_host}/sim/det/1"
    done = subprocess.run(
        [sys.executable, "-P", str(FORM), device, *SETTABLE], capture_output=True, text=True, timeout=90,
        env={**os.environ, "TANGO_HOST": odd_station.beamline.tango_host},
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"step"')]
    assert [line["step"] for line in lines] == ["shown", "applied", "forced"], done.stderr
    assert set(lines[0]["texts"]) == set(SETTABLE)
    assert set(lines[0]["pending"]) <= set(values), "what nobody has set looks as if it had been edited"
    assert settings(odd_station.detector) == before


@pytest.mark.parametrize("exposure", [0.1, 1 / 3, 1.23456e-5, 0.018, 12.3456789012345])
@pytest.mark.parametrize("name", ["FrameRate", "FrameTime"])
def test_a_period_written_as_it_is_displayed_changes_nothing(
    odd_station: Station, name: str, exposure: float
) -> None:
    odd_station.set(ExposureTime=exposure)
    detector = odd_station.detector
    before = settings(detector)
    form = detector.get_attribute_config(name).format
    detector.write_attribute(name, float(form % before[name]))
    assert settings(detector) == before
    detector.write_attribute(name, before[name])
    assert settings(detector) == before


def test_a_value_next_to_the_one_displayed_is_taken(odd_station: Station) -> None:
    odd_station.set(Distance=1 / 3)
    odd_station.set(Distance=0.333333334)
    assert odd_station.detector.Distance == 0.333333334
    odd_station.set(FrameTime=0.2)
    assert odd_station.detector.FrameTime == pytest.approx(0.2, rel=1e-14)
    odd_station.set(LatencyTime=1e-9)
    odd_station.set(LatencyTime=0.0)
    assert odd_station.detector.LatencyTime == 0.0


def test_every_float_that_can_be_set_is_displayed_with_nine_decimals(odd_station: Station) -> None:
    for info in odd_station.detector.attribute_list_query():
        if info.writable != tango.AttrWriteType.READ and info.data_type == tango.CmdArgType.DevDouble:
            for value in (0.18734, 512.123, 1.2346e-05, 12658.2, 1.23456e12):
                assert float(info.format % value) == value, info.name
