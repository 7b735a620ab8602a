"""Eiger from its Tango device to the file, over the simulated control unit."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest
import tango

from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from penstock.streamer.simulated.triggers import TriggerSource
from tests import rings
from tests.system.beamline import ON, Beamline, refusal, until, wait_state
from tests.system.eigers import EigerStation

STREAMS = {"v1": "legacy", "v2": "cbor"}

SETTINGS = (
    "Energy", "Compression", "TriggerMode", "GateTriggerMode", "SoftwareTriggerMode", "Nexpi",
    "CountrateCorrectionApplied", "BeamCenterX", "BeamCenterY", "Distance", "nFramesPerTrigger", "nTriggers",
)  # fmt: skip
"""What the tests change."""


@dataclass
class Line:
    """A control unit, its device, its receiver."""

    box: ControlUnit
    station: EigerStation

    def take(self, name: str, **settings: Any) -> Path:
        """Take a series, INTERNAL unless said otherwise; its file."""
        file = self.station.root / f"{name}_{self.station.receiver.name}.h5"
        wanted = {"TriggerMode": "INTERNAL", "nFramesPerTrigger": 1, "ExposureTime": 0.002, **settings}
        self.station.set(**wanted, DestinationFilename=str(file))
        detector = self.station.detector
        wait_state(detector, ON)
        detector.Arm()
        wait_state(detector, ON)
        return file


def line(beamline: Beamline, name: str, stream: str, **unit: Any) -> Iterator[Line]:
    with ControlUnit(stream=STREAMS[stream], **unit) as box:
        box.box.command("initialize")
        port = int(box.stream_endpoint.rpartition(":")[2])
        station = EigerStation(beamline, name, box.http_port, stream, port)
        wait_state(station.detector, ON)
        assert box.wait_receivers(1, 10.0)
        yield Line(box, station)
        beamline.end(station.server)
        station.receiver.stop()


@pytest.fixture(scope="module", params=["v1", pytest.param("v2", marks=pytest.mark.slow)])
def eiger(request: pytest.FixtureRequest, beamline: Beamline) -> Iterator[Line]:
    yield from line(beamline, f"eiger{request.param}", request.param, sensor=(128, 192), pattern="powder")


@pytest.fixture(autouse=True)
def _as_new(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test leaves the settings that it has found."""
    if "eiger" not in request.fixturenames:
        yield
        return
    detector = request.getfixturevalue("eiger").station.detector
    names = [name for name in SETTINGS if name in detector.get_attribute_list()]
    usual = {name: detector.read_attribute(name).value for name in names}
    yield
    for name, value in usual.items():
        if detector.read_attribute(name).value != value:
            detector.write_attribute(name, value)
            wait_state(detector, ON)


def test_the_file_has_what_the_box_says_at_its_nexus_names(eiger: Line) -> None:
    eiger.station.set(Energy=11000.0)
    until(lambda: eiger.station.detector.Energy == 11000.0, "the energy")
    file = eiger.take("fields", nTriggers=3, BeamCenterX=90.5, BeamCenterY=60.0, Distance=0.2)
    with h5py.File(file) as written:
        (name,) = [key for key in written["entry/instrument"] if key.startswith("eiger")]
        found = written["entry/instrument"][name]
        assert found["data"].shape == (3, 128, 192)
        numbers = {
            "threshold_energy": 5500.0, "beam_center_x": 90.5, "beam_center_y": 60.0,
            "distance": 0.2, "x_pixel_size": 75e-6, "y_pixel_size": 75e-6, "count_time": 0.002,
        }  # fmt: skip
        for key, value in numbers.items():
            assert found[key][()] == pytest.approx(value), key
        assert found["pixel_mask"].shape == found["flatfield"].shape == (128, 192)
        for key in ("flatfield_applied", "pixel_mask_applied", "countrate_correction_applied"):
            assert key in found, key
        assert found["sensor_material"].asstr()[()] == "Si"
        assert found["sensor_thickness"][()] > 0
        energies = [path for path in _paths(written) if path.endswith("incident_energy")]
        assert energies and written[energies[0]][()] == pytest.approx(11000.0)


def test_pyfai_finds_the_rings_at_their_angles_with_no_argument_but_the_file(
    eiger: Line, tmp_path: Path
) -> None:
    pytest.importorskip("pyFAI")
    seen = patterns.powder_geometry(128, 192)
    eiger.station.set(Energy=seen["incident_energy"])
    wait_state(eiger.station.detector, ON)
    file = eiger.take(
        "rings", nTriggers=2, BeamCenterX=seen["beam_center_x"], BeamCenterY=seen["beam_center_y"],
        Distance=seen["distance"],
    )  # fmt: skip
    integrate = ["penstock", "integrate", "--points", "200", "--out", str(tmp_path), str(file)]
    done = subprocess.run(integrate, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    radial, intensity = np.loadtxt(tmp_path / f"{file.stem}.xy", usecols=(0, 1)).T
    lines = rings.two_theta(12398.42 / seen["incident_energy"], planes=(3, 8, 11))
    assert rings.peaks(radial, intensity, lines, 0.4) == pytest.approx(lines, abs=0.05)


def test_two_thresholds_are_two_datasets_each_with_its_energy(beamline: Beamline) -> None:
    for eiger in line(beamline, "two", "v2", sensor=(32, 48)):
        detector = eiger.station.detector
        eiger.station.set(Threshold2Mode=True)
        wait_state(detector, ON)
        eiger.station.set(Threshold=5000.0, Threshold2=7000.0)
        wait_state(detector, ON)
        file = eiger.take("thresholds", nTriggers=2)
        with h5py.File(file) as written:
            found = written["entry/instrument/two"]
            assert found["data"] == found["threshold_1"]
            for name, energy in (("threshold_1", 5000.0), ("threshold_2", 7000.0)):
                assert found[name].shape == (2, 32, 48)
                assert found[f"{name}_channel/threshold_energy"][()] == energy
            first, second = found["threshold_1"][1], found["threshold_2"][1]
        assert (second[1:] == first[1:] // 2).all(), "a higher threshold counts fewer photons"


def test_the_limits_of_the_box_are_not_in_tangos_database_and_the_facilitys_are(eiger: Line) -> None:
    detector = eiger.station.detector
    database, device = detector.get_device_db(), detector.dev_name()
    names = list(detector.get_attribute_list())

    def rows() -> dict[str, dict[str, str]]:
        found = database.get_device_attribute_property(device, names)
        return {name: {key: row[0] for key, row in each.items()} for name, each in found.items() if each}

    assert rows() == {}
    config = detector.get_attribute_config("Energy")
    assert (config.min_value, config.max_value) == ("5000.0", "40000.0")
    config.max_value = "20000"
    detector.set_attribute_config(config)
    for energy in (9000.0, 12000.0):  # the box then says its limits again
        eiger.station.set(Energy=energy)
        wait_state(detector, ON)
        assert detector.get_attribute_config("Energy").max_value == "20000"
        refusal(lambda: detector.write_attribute("Energy", 20001.0))
        assert rows() == {"Energy": {"max_value": "20000"}}
    config.max_value = "40000"
    detector.set_attribute_config(config)
    database.delete_device_attribute_property(device, {"Energy": ["max_value"]})


def test_what_the_model_lacks_has_no_value_and_is_refused(eiger: Line) -> None:
    detector = eiger.station.detector
    assert detector.read_attribute("Threshold3").quality == tango.AttrQuality.ATTR_INVALID
    assert detector.read_attribute("Threshold").quality == tango.AttrQuality.ATTR_VALID
    with pytest.raises(tango.DevFailed, match="this detector has no Threshold3"):
        detector.Threshold3 = 5000.0
    wait_state(detector, ON)


@pytest.mark.slow
def test_an_eiger_of_simplon_1_6_shows_and_gets_what_it_has_alone(beamline: Beamline) -> None:
    for one in line(beamline, "old", "v1", api="1.6.0", model="EIGER 1M", sensor=(64, 96)):
        detector = one.station.detector
        unknown = {
            name
            for name in detector.get_attribute_list()
            if name.startswith("Threshold")
            and detector.read_attribute(name).quality == tango.AttrQuality.ATTR_INVALID
        }
        assert {"Threshold2", "Threshold1Mode", "ThresholdDifferenceMode"} <= unknown
        assert "Threshold" not in unknown
        with pytest.raises(tango.DevFailed, match="this detector has no ThresholdDifferenceMode"):
            detector.ThresholdDifferenceMode = True
        one.take("old", nTriggers=2)
        assert detector.nFramesWritten == 2


def test_index_source_is_that_of_the_series_that_was_armed_last(eiger: Line) -> None:
    detector = eiger.station.detector
    eiger.station.set(TriggerMode="EXTERNAL_MULTI", nTriggers=2, DestinationFilename="")
    detector.Arm()
    assert detector.IndexSource == "arrival"
    detector.Stop()
    wait_state(detector, ON)
    eiger.take("counted", nTriggers=1)
    assert detector.IndexSource == "hardware counter"


def test_software_triggers_that_say_their_exposure(eiger: Line) -> None:
    detector = eiger.station.detector
    file = eiger.station.root / f"inte_{eiger.station.receiver.name}.h5"
    eiger.station.set(
        TriggerMode="SOFTWARE", SoftwareTriggerMode="inte", nFramesPerTrigger=1, nTriggers=3,
        ExposureTime=0.02, DestinationFilename=str(file),
    )  # fmt: skip
    wait_state(detector, ON)
    detector.Arm()
    for step in range(3):
        until(lambda: detector.ReadyForSwTrigger, "ready")
        detector.SoftwareTrigger()
        until(lambda step=step: detector.nFramesAcquired == step + 1, "the frame")  # type: ignore[misc]
    wait_state(detector, ON)
    assert detector.nFramesWritten == 3
    detector.nFramesPerTrigger = 2
    with pytest.raises(tango.DevFailed, match="each trigger exposes one frame; set nFramesPerTrigger to 1"):
        detector.Arm()
    eiger.station.set(SoftwareTriggerMode="ints", nFramesPerTrigger=1)


@pytest.mark.parametrize(
    ("mode", "camera", "edges"), [("eies", {}, 5), ("extg", {"Nexpi": 2}, 8)], ids=["eies", "extg"]
)
def test_edges_and_gates_of_each_frame_and_its_trigger_in_the_file(
    eiger: Line, mode: str, camera: dict[str, Any], edges: int
) -> None:
    detector = eiger.station.detector
    file = eiger.station.root / f"{mode}_{eiger.station.receiver.name}.h5"
    for name, value in camera.items():
        eiger.station.set(**{name: value})
        wait_state(detector, ON)
    eiger.station.set(
        TriggerMode="EXTERNAL_MULTI_GATE", GateTriggerMode=mode, nFramesPerTrigger=1, nTriggers=4,
        CountrateCorrectionApplied=mode != "extg", DestinationFilename=str(file),
    )  # fmt: skip
    wait_state(detector, ON)
    detector.Arm()
    assert "Taking 4 frames" in detector.Status() and detector.IndexSource == "arrival"
    host, _, port = eiger.box.trigger_address.rpartition(":")
    source = TriggerSource((host, int(port)))
    for edge in range(edges):
        source.pulse(0.002, moment=0.01 * edge)
    source.close()
    wait_state(detector, ON)
    assert "4 of 4 frames stored" in detector.Status()
    with h5py.File(file) as written:
        (triggers,) = [written[path][:] for path in _paths(written) if path.endswith("/trigger")]
    assert triggers.tolist() == [0, 1, 2, 3]
    eiger.station.set(GateTriggerMode="exte", CountrateCorrectionApplied=True)


def test_lz4_is_stored_as_it_is_sent(eiger: Line) -> None:
    eiger.station.set(Compression="lz4")
    wait_state(eiger.station.detector, ON)
    file = eiger.take("lz4", nTriggers=3)
    with h5py.File(file) as written:
        data = written[eiger.station.detector.FileDataset]
        assert list(data._filters) == ["32004"]
        assert data[2].any()
    assert eiger.station.detector.nFramesWritten == 3


def _paths(group: h5py.Group) -> list[str]:
    found: list[str] = []
    group.visit(found.append)
    return found
