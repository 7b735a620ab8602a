"""The public NeXus validators find no error in our files, and warn of what is known and meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import fabio
import h5py
import hdf5plugin  # noqa: F401 (registers the filters)
import numpy as np
import pytest
import silx.io
import silx.io.nxdata
from nexusformat.nexus import nxload
from ruamel.yaml import YAML

from penstock.cli._recordings.recording import write
from tests.recordings import validators
from tests.recordings.programs import demo, replay
from tests.recordings.series import Series
from tests.recordings.validators import Report

KNOWN = YAML(typ="safe", pure=True).load((Path(__file__).parent / "validator_warnings.yaml").read_text())
DETECTOR = "/entry/instrument/eiger_1"
ALIAS = "/entry/instrument/detector"
"""A link to it in files that are NXmx."""
WORDS = {
    "title": "Rings", "proposal": 20250001, "experiment_description": "A trial.", "scan_id": 17,
    "collection_identifier": "day-1", "beamline": "ForMAX", "shoe_size": 38,
    "sample": {
        "name": "CeO2", "description": "A powder.", "chemical_formula": "Ce O2", "temperature": 295.0,
        "preparation_date": "2025-01-31T12:00:00",
    },
    "user": {
        "name": "Astrid", "role": "principal_investigator", "affiliation": "LU", "email": "a@example.org",
        "facility_user_id": "astrid", "ORCID": "https://orcid.org/0000-0002-1825-0097",
    },
    "source": {
        "name": "MAX IV", "type": "Synchrotron X-ray Source", "probe": "x-ray", "mode": "Multi Bunch"
    },
}  # fmt: skip
"""What a user may put into Metadata: every known key, and one that is not."""


@pytest.fixture(scope="module")
def stins_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A STINS series with the metadata that a streamer of Penstock sends."""
    folder = tmp_path_factory.mktemp("stins")
    file = folder / "data" / "scan.h5"
    metadata = {
        "save_raw": True, "exptime": 0.01, "count_time": 0.01, "label": "s1", "beam_center_x": 2.0,
        "beam_center_y": 1.5, "distance": 0.2, "x_pixel_size": 1e-4, "y_pixel_size": 1e-4,
        "description": "Simulator", "incident_energy": 12_400.0, "frame_time": 0.02,
        "acquisition_mode": "triggered",
        "acquisition": {
            "trigger_mode": "SOFTWARE", "triggers": 2, "frames_per_trigger": 1, "latency_time": 0.01,
            "rotation": 90, "fliplr": True, "flipud": False,
        },
        "user": WORDS,
    }  # fmt: skip
    header = {"htype": "header", "msg_number": 0, "filename": str(file), "series": "a1", "frames": 2}
    image = {"htype": "image", "shape": [3, 4], "type": "uint16", "compression": "none", "series": "a1"}
    blob = np.zeros(12, "<u2").tobytes()
    messages = [
        [json.dumps(header).encode(), json.dumps(metadata).encode()],
        *(
            [json.dumps({**image, "msg_number": 1 + n, "frame": n, "trigger": n}).encode(), blob]
            for n in range(2)
        ),
        [b'{"htype":"series_end","msg_number":3,"series":"a1"}'],
    ]
    write(folder / "stins.cborseq", messages)
    replay(folder / "stins.cborseq", file.parent)
    return file


@pytest.fixture(scope="module")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `penstock demo` leaves: simulator, Tango, receiver, file."""
    return demo(tmp_path_factory.mktemp("demo"), frames=5)


def expect_known_warnings(report: Report, validator: str, kind: str, detector: str = DETECTOR) -> None:
    """The warnings are those of the committed list: none more, none fewer."""
    assert report.errors == []
    known = [entry for entry in KNOWN[validator] if kind in entry.get("of", [kind])]
    assert all(entry["reason"] for entry in known)
    patterns = {(entry["address"].replace("DETECTOR", detector), entry["says"]) for entry in known}
    came = {
        pattern
        for pattern in patterns
        for address, says in report.warnings
        if fnmatchcase(address, pattern[0]) and says == pattern[1]
    }
    unknown = [
        warning
        for warning in report.warnings
        if not warning[0].startswith(f"{ALIAS}/")  # the same once more
        if not any(fnmatchcase(warning[0], address) and warning[1] == says for address, says in patterns)
    ]
    assert unknown == []
    assert came == patterns


@pytest.mark.parametrize(
    "validate", [validators.nxcheck, pytest.param(validators.punx, marks=pytest.mark.slow)]
)
def test_validator_finds_no_error_in_the_file_of_a_recording(
    series: Series, validate: Callable[[Path], Report]
) -> None:
    kind = series.kind.removeprefix("dectris-")
    expect_known_warnings(validate(series.file), validate.__name__, kind)


@pytest.mark.slow
@pytest.mark.parametrize("validate", [validators.nxcheck, validators.punx])
def test_validator_finds_no_error_in_the_file_of_a_stins_series(
    stins_file: Path, validate: Callable[[Path], Report]
) -> None:
    expect_known_warnings(validate(stins_file), validate.__name__, "stins")


@pytest.mark.slow
@pytest.mark.parametrize("validate", [validators.nxcheck, validators.punx])
def test_validator_finds_no_error_in_the_file_of_the_demo(
    demo_file: Path, validate: Callable[[Path], Report]
) -> None:
    expect_known_warnings(validate(demo_file), validate.__name__, "demo", "/entry/instrument/simulator")


def test_every_reader_finds_the_frames_of_the_demo(demo_file: Path) -> None:
    with h5py.File(demo_file) as file:
        frames = file["entry/instrument/simulator/data"][:]
        assert np.array_equal(file["entry/data/data"][:], frames)
    assert frames.shape == (5, 512, 1024) and frames.any(axis=(1, 2)).all()
    with silx.io.open(str(demo_file)) as root:
        default = silx.io.nxdata.get_default(root)
        assert default is not None
        assert np.array_equal(default.signal[0], frames[0])
    with fabio.open(str(demo_file)) as image:
        assert image.nframes == 5
        assert np.array_equal(image.data, frames[0])
        assert np.array_equal(image.get_frame(4).data, frames[4])
    assert np.array_equal(nxload(str(demo_file)).entry.data.nxsignal.nxvalue, frames)


@pytest.mark.slow
@pytest.mark.parametrize("validate", [validators.nxcheck, validators.punx])
def test_validators_are_not_silent_about_a_wrong_file(
    stins_file: Path, tmp_path: Path, validate: Callable[[Path], Report]
) -> None:
    file = tmp_path / "wrong.h5"
    file.write_bytes(stins_file.read_bytes())
    with h5py.File(file, "r+") as root:
        del root["entry/data"].attrs["signal"]
        del root["entry/start_time"]
        root["entry/start_time"] = "not a date"
        root["entry/instrument"].attrs["NX_class"] = "NXnonsense"
    assert validate(file).errors
