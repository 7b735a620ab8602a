"""Recordings of a real EIGER 1M, through the simulated control unit and the device Eiger, into files."""

from __future__ import annotations

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest

from penstock.cli._recordings.recorded import recorded
from penstock.codecs import bslz4
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from tests.data import EIGER_V1, EIGER_V2, recording
from tests.system.beamline import FAULT, ON, Beamline, wait_state
from tests.system.eigers import EigerStation

pytestmark = pytest.mark.timeout(120)


@pytest.mark.slow  # that a receiver stores the pixels of both recordings, tests/recordings show in less time
@pytest.mark.parametrize(("name", "stream"), [(EIGER_V1, "v1"), (EIGER_V2, "v2")])
def test_the_file_has_the_pixels_and_the_mask_of_the_recording(
    name: str, stream: str, beamline: Beamline
) -> None:
    real = recorded(recording(name))
    with ControlUnit(stream={"v1": "legacy", "v2": "cbor"}[stream], recorded=real) as box:
        port = int(box.stream_endpoint.rpartition(":")[2])
        station = EigerStation(beamline, f"recording-{stream}", box.http_port, stream, port)
        detector = station.detector
        wait_state(detector, FAULT)  # not initialised
        detector.Reset()
        wait_state(detector, ON)
        file = station.root / f"recording-{stream}.h5"
        station.set(
            ExposureTime=0.01, LatencyTime=0.01, TriggerMode="INTERNAL", nTriggers=1,
            nFramesPerTrigger=len(real.frames), DestinationFilename=str(file),
        )  # fmt: skip
        detector.Arm()
        wait_state(detector, ON, deadline=30.0)
        assert detector.nFramesWritten == len(real.frames), detector.Status()
        beamline.end(station.server)
        station.receiver.stop()
    rows, cols = real.shape
    with h5py.File(file) as written:
        group, *_ = [  # and a link to it, where the file is NXmx
            item for item in written["entry/instrument"].values() if item.attrs["NX_class"] == "NXdetector"
        ]
        for number, blob in enumerate(real.frames):
            pixels = bslz4.decompress(blob, rows * cols, np.dtype(real.dtype)).reshape(real.shape)
            assert np.array_equal(group["data"][number], pixels)
        assert np.array_equal(group["pixel_mask"][()], real.tables["pixel_mask"])
        assert np.array_equal(group["flatfield"][()], real.tables["flatfield"])
        assert group["threshold_energy"][()] == 4000.0
