"""The judge: a series of the device Eiger with Diamond's simulated EIGER, tickit-devices, unmodified.

It sends no header appendix; a go-between puts it into the start message, and takes joined messages apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import pytest

from penstock.hosts.child import Child, free_port
from tests.system.appendix_proxy import AppendixProxy
from tests.system.beamline import FAULT, ON, Beamline, until, wait_state
from tests.system.eigers import EigerStation
from tests.third_party import program_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SHAPE = (4362, 4148)
ATTEMPTS = 4
"""Its library for sockets, aiozmq, loses messages now and then: V1's start message of 145 MB, and with it the
series, or frames behind it. What has left it is accounted for each time."""
CONFIGURATION = """\
- type: tickit_devices.eiger.Eiger
  name: eiger
  inputs: {{}}
  host: 127.0.0.1
  port: {http}
  stream_host: 127.0.0.1
  stream_legacy_port: {v1}
  stream_cbor_port: {v2}
"""


@pytest.fixture(params=["v1", "v2"])
def station_and_proxy(
    request: pytest.FixtureRequest, beamline: Beamline, tmp_path: Path
) -> Iterator[tuple[EigerStation, AppendixProxy]]:
    program = program_of("tickit", "tickit")
    ports = {name: free_port() for name in ("http", "v1", "v2")}
    configuration = tmp_path / "eiger.yaml"
    configuration.write_text(CONFIGURATION.format(**ports))
    with (
        Child(
            "tickit", [str(program), "all", str(configuration)],
            lambda line: True if "Starting HTTP server" in line else None, deadline=30.0,
        ),
        AppendixProxy(ports["http"], ports[request.param]) as proxy,
    ):  # fmt: skip
        name = f"tickit-{request.param}"
        station = EigerStation(beamline, name, proxy.http_port, request.param, proxy.stream_port)
        yield station, proxy
        beamline.end(station.server)
        station.receiver.stop()


def test_a_series_of_the_independent_simulator_is_in_the_file(
    station_and_proxy: tuple[EigerStation, AppendixProxy],
) -> None:
    station, proxy = station_and_proxy
    detector = station.detector
    # It comes up as a box does that was just switched on.
    wait_state(detector, FAULT)
    assert "not initialised" in detector.Status()
    detector.Reset()
    wait_state(detector, ON)
    until(lambda: detector.SensorTemperature == 24.5, "the readings")

    station.set(Threshold2Mode=False)
    wait_state(detector, ON)
    station.set(Energy=12000.0)
    wait_state(detector, ON)
    until(lambda: detector.Energy == 12000.0, "the box has confirmed its energy")
    file = station.root / f"{station.server.rpartition('/')[2]}.h5"
    station.set(
        ExposureTime=0.05, LatencyTime=0.02, TriggerMode="INTERNAL", nTriggers=1, nFramesPerTrigger=5,
        BeamCenterX=2074.5, BeamCenterY=2181.0, Distance=0.25, DestinationFilename=str(file),
    )  # fmt: skip
    for _ in range(ATTEMPTS):
        proxy.armed.clear()
        proxy.starts = proxy.images = 0
        detector.Arm()
        wait_state(detector, ON, FAULT, deadline=40.0)
        if detector.State() == ON or proxy.starts:
            break
        assert "has not begun the series although the start message was sent" in detector.Status()
        detector.Reset()
        wait_state(detector, ON)
    assert detector.nFramesWritten == proxy.images, detector.Status()
    assert proxy.images >= 1
    with h5py.File(file) as written:
        found = written["entry/instrument"]
        (name,) = [key for key in found if key.startswith("tickit")]
        frames = found[name]["data"]
        assert frames.shape[1:] == SHAPE and len(frames) >= proxy.images
        stored = [index for index, fate in enumerate(found[name]["frame_status"]) if fate == 1]
        assert len(stored) == proxy.images
        assert frames[stored[0]].any()  # its one canned frame
        # In V2 its start message is a canned one, with the geometry that it was recorded with.
        canned = name.endswith("v2")
        assert found[name]["distance"][()] == pytest.approx(0.237159 if canned else 0.25, abs=1e-6)
        assert found[name]["beam_center_x"][()] == pytest.approx(2049.384 if canned else 2074.5)
