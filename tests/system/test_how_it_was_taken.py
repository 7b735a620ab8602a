"""The file says how its series was taken, and stands in the pixels that are stored."""

from __future__ import annotations

import json
from typing import Any

import h5py
import numpy as np
import pyFAI
import pytest

from tests.system.beamline import ON, Station, refusal, wait_state

METADATA = {
    "title": "Rings of CeO2", "proposal": "20250001", "scan_id": 17, "beamline": "ForMAX", "note": "wet",
    "sample": {"name": "CeO2", "temperature": 295.0}, "user": {"name": "Astrid"}, "source": "MAX IV",
}  # fmt: skip


def stored(file: h5py.File, path: str) -> Any:
    dataset = file[path]
    return dataset.asstr()[()] if h5py.check_string_dtype(dataset.dtype) else dataset[()]


@pytest.fixture
def calm_station(station: Station) -> Station:
    station.set(Fliplr=False, Flipud=False, BeamCenterX=0.0, BeamCenterY=0.0, Distance=0.0)
    return station


def test_a_distance_below_nothing_is_refused_and_what_was_set_stays(calm_station: Station) -> None:
    calm_station.set(Distance=0.18734)
    assert "below the minimum" in refusal(lambda: calm_station.set(Distance=-1.0))
    assert calm_station.detector.Distance == 0.18734
    calm_station.set(Distance=0.0)


def test_a_file_says_how_its_series_was_taken(calm_station: Station) -> None:
    file = calm_station.software_series(
        1, nFramesPerTrigger=2, ExposureTime=0.002, LatencyTime=0.003, Rotation=90, Flipud=True,
        Metadata=json.dumps(METADATA), BeamCenterX=20.25, BeamCenterY=50.5, Distance=0.18734,
    )  # fmt: skip
    calm_station.detector.SoftwareTrigger()
    wait_state(calm_station.detector, ON)
    calm_station.set(Flipud=False, BeamCenterX=0.0, BeamCenterY=0.0, Distance=0.0)
    with h5py.File(file) as opened:
        detector = opened["entry/instrument/sim"]
        assert (stored(detector, "count_time"), stored(detector, "frame_time")) == (0.002, 0.005)
        assert stored(detector, "acquisition_mode") == "triggered"
        assert {name: stored(detector["acquisition"], name) for name in detector["acquisition"]} == {
            "trigger_mode": "SOFTWARE", "triggers": 1, "frames_per_trigger": 2, "latency_time": 0.003,
            "rotation": 90, "fliplr": False, "flipud": True,
        }  # fmt: skip
        assert {path: stored(opened["entry"], path) for path in (
            "title", "experiment_identifier", "entry_identifier", "sample/name", "sample/temperature",
            "user/name", "instrument/name", "instrument/source/name", "instrument/sim/user/note",
        )} == {
            "title": "Rings of CeO2", "experiment_identifier": "20250001", "entry_identifier": "17",
            "sample/name": "CeO2", "sample/temperature": 295.0, "user/name": "Astrid",
            "instrument/name": "ForMAX", "instrument/source/name": "MAX IV",
            "instrument/sim/user/note": "wet",
        }  # fmt: skip
        assert set(detector["user"]) == {"note"}
        # The beam centre is counted in the image as it is stored, which is turned: 64 rows, 32 columns.
        assert detector["data"].shape == (2, 64, 32)
        assert (stored(detector, "beam_center_x"), stored(detector, "beam_center_y")) == (20.25, 50.5)
        integrator = pyFAI.load(json.loads(stored(opened, "entry/pyFAI/poni/data")))
    assert integrator.tth(np.array([50.0]), np.array([19.75]))[0] == pytest.approx(0.0, abs=1e-9)
    assert integrator.detector.shape == (64, 32)


def test_a_series_that_nobody_describes_has_the_title_of_its_file(calm_station: Station) -> None:
    file = calm_station.new_file()
    calm_station.set(nTriggers=1, DestinationFilename=str(file))
    calm_station.detector.Arm()
    wait_state(calm_station.detector, ON)
    with h5py.File(file) as opened:
        assert stored(opened, "entry/title") == file.stem
        assert not {"sample", "user", "experiment_identifier"} & set(opened["entry"])
        assert "acquisition_mode" not in opened["entry/instrument/sim"]
        assert stored(opened, "entry/instrument/sim/acquisition/trigger_mode") == "INTERNAL"
