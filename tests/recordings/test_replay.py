"""Recordings of a real EIGER 1M through `penstock replay` and a receiver into files.

The pixels that the files must hold are unpacked from the recording by hdf5plugin's filter.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import cbor2
import fabio
import h5py
import hdf5plugin
import numpy as np
import pytest
import silx.io
import silx.io.nxdata
from nexusformat.nexus import nxload

from penstock.cli._recordings.recording import read, write
from tests.data import EIGER_V1, EIGER_V2, recording
from tests.recordings.programs import program, replay
from tests.recordings.series import Series

assert hdf5plugin  # registers the filters for h5py, silx, fabio and nexusformat


@pytest.mark.parametrize("series", [(EIGER_V1, "dectris-v1")], indirect=True)
def test_v1_is_incomplete_since_its_recording_just_stops(series: Series) -> None:
    with h5py.File(series.file) as file:
        detector = file["entry/instrument/eiger_1"]
        account = detector["series"]
        assert detector["data"].shape == (9, 1065, 1030)
        assert account["planned"][()] == 100_000
        assert account["state"].asstr()[()] == "incomplete"
        assert "gone" in account["reason"].asstr()[()]
        assert account["stored"][()] == 9
        assert account["missing"][()] == 99_991
    assert series.replayed.status.counts.stored == 9
    assert series.replayed.status.state == "idle"


@pytest.mark.parametrize("series", [(EIGER_V2, "dectris-v2")], indirect=True)
def test_v2_is_complete(series: Series) -> None:
    with h5py.File(series.file) as file:
        detector = file["entry/instrument/eiger_1"]
        assert detector["data"].shape == (10, 1065, 1030)
        assert detector["series/state"].asstr()[()] == "complete"
        assert detector["series/planned"][()] == detector["series/stored"][()] == 10
        assert detector["series/id"].asstr()[()] == "01HRCJF83SA63WH8M5X1VBKFJM"


def test_every_frame_equals_the_recording_pixel_by_pixel(series: Series) -> None:
    with h5py.File(series.file) as file:
        data = file["entry/data/data"]
        recorded = list(series.recorded())
        assert len(data) == len(recorded)
        for index, image in enumerate(recorded):
            assert np.array_equal(data[index], image)


def test_metadata_of_the_detector_stand_at_their_nexus_places(series: Series) -> None:
    with h5py.File(series.file) as file:
        detector = file["entry/instrument/eiger_1"]
        assert detector["x_pixel_size"][()] == pytest.approx(75e-6)
        assert detector["x_pixel_size"].attrs["units"] == "m"
        assert detector["count_time"][()] == pytest.approx(1.0)
        assert detector["description"].asstr()[()] == "Dectris EIGER1 Si 1M"
        assert detector["saturation_value"][()] == 2_943_293
        assert detector["pixel_mask"].shape == detector["flatfield"].shape == (1065, 1030)
        assert file["entry/instrument/beam/incident_energy"][()] == 8000.0
        assert file["entry/instrument/beam/incident_energy"].attrs["units"] == "eV"


def test_silx_shows_the_frames_at_once(series: Series) -> None:
    with silx.io.open(str(series.file)) as file:
        default = silx.io.nxdata.get_default(file)
        assert default is not None
        recorded = list(series.recorded())
        assert len(default.signal) == len(recorded)
        for index, image in enumerate(recorded):
            assert np.array_equal(default.signal[index], image)


def test_fabio_opens_the_frames(series: Series) -> None:
    with fabio.open(str(series.file)) as image:
        recorded = list(series.recorded())
        assert image.nframes == len(recorded)
        assert np.array_equal(image.data, recorded[0])
        for index, expected in enumerate(recorded):
            assert np.array_equal(image.get_frame(index).data, expected)


def test_nexusformat_finds_the_signal(series: Series) -> None:
    root = nxload(str(series.file))
    signal = root.entry.data.nxsignal
    recorded = list(series.recorded())
    assert len(signal) == len(recorded)
    for index, image in enumerate(recorded):
        assert np.array_equal(signal[index].nxvalue, image)


def test_check_says_what_is_wrong_with_the_file(series: Series) -> None:
    found = subprocess.run(
        ["penstock", "check", "--json", str(series.file)], capture_output=True, text=True, timeout=60
    )
    summary = json.loads(found.stdout.splitlines()[-1])
    kinds = {finding["kind"] for finding in summary["files"][0]["findings"]}
    if series.kind == "dectris-v2":
        assert (found.returncode, kinds) == (0, set())
    else:
        assert (found.returncode, kinds) == (1, {"incomplete"})


@pytest.mark.slow
@pytest.mark.parametrize("name", [EIGER_V1, EIGER_V2])
def test_explicit_empty_name_stays_live_only(tmp_path: Path, name: str) -> None:
    replayed = replay(recording(name), tmp_path / "data", "--filename", "", template="{detector}_{series}.h5")
    assert [each.name for each in replayed.root.iterdir()] == [".penstock"]  # its state, and no file
    assert replayed.status.series is not None
    assert replayed.status.series.filename is None
    assert replayed.status.counts.delivered == len([*read(recording(name))]) - (1 if name == EIGER_V1 else 2)


@pytest.mark.slow
def test_stream_without_a_name_takes_the_template(tmp_path: Path) -> None:
    replayed = replay(recording(EIGER_V2), tmp_path / "data", template="{detector}_{series}.h5")
    [file] = replayed.root.glob("*.h5")
    assert file.name == "eiger-1_01HRCJF83SA63WH8M5X1VBKFJM.h5"
    assert replayed.status.counts.stored == 10


def test_stream_without_a_name_and_without_a_template_is_live_only(tmp_path: Path) -> None:
    replayed = replay(recording(EIGER_V2), tmp_path / "data")
    assert [each.name for each in replayed.root.iterdir()] == [".penstock"]  # its state, and no file
    assert replayed.status.counts.delivered == 10


@pytest.mark.slow
def test_v1s_recorded_empty_name_stays_live_only_whatever_the_template(tmp_path: Path) -> None:
    replayed = replay(recording(EIGER_V1), tmp_path / "data", template="{detector}_{series}.h5")
    assert [each.name for each in replayed.root.iterdir()] == [".penstock"]  # its state, and no file
    assert replayed.status.counts.delivered == 9


@pytest.mark.slow
def test_stins_recording_is_replayed_too(tmp_path: Path) -> None:
    array = np.arange(12, dtype="<u2").reshape(3, 4)
    image = {"htype": "image", "shape": [3, 4], "type": "uint16", "compression": "none"}
    messages = [
        [b'{"htype":"header","msg_number":41,"filename":""}', b'{"exptime":0.01,"label":"s1"}'],
        *(
            [json.dumps({**image, "msg_number": 42 + n, "frame": n}).encode(), (array + n).tobytes()]
            for n in range(3)
        ),
        [b'{"htype":"series_end","msg_number":45}'],
    ]
    write(tmp_path / "stins.cborseq", messages)
    file = tmp_path / "data" / "a.h5"
    replay(tmp_path / "stins.cborseq", file.parent, "--filename", str(file))
    with h5py.File(file) as written:
        assert np.array_equal(written["entry/data/data"][...], [array, array + 1, array + 2])


@pytest.mark.slow
def test_a_folder_with_a_file_for_each_message_is_streamed_as_the_recording_is(tmp_path: Path) -> None:
    messages = list(read(recording(EIGER_V2)))
    (tmp_path / "dump").mkdir()
    for number, [message] in enumerate(messages, 1):
        (tmp_path / f"dump/{number:06d}.cbor").write_bytes(message)
    file = tmp_path / "data/eiger.h5"
    replayed = replay(tmp_path / "dump", file.parent, "--filename", str(file))
    assert (replayed.summary["protocol"], replayed.summary["messages"]) == ("dectris-v2", len(messages))
    assert replayed.status.series is not None
    assert (replayed.status.series.complete, replayed.status.counts.stored) == (True, 10)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "does not exist"), (b"", "empty"), (b"\x89HDF\r\n\x1a\n", "not a recording"),
        (cbor2.dumps([b"{}"]), "none of stins"),
    ],
)  # fmt: skip
def test_capture_that_is_none_is_told_so(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    capture = tmp_path / "capture"
    if content is not None:
        capture.write_bytes(content)
    with program("replay", str(capture), "--endpoint", "tcp://127.0.0.1:0") as running:
        assert running.process.wait(60) == 2
        assert sentence in running.errors()
        assert "Traceback" not in running.errors()


def test_replay_without_a_receiver_ends_with_a_sentence(tmp_path: Path) -> None:
    write(tmp_path / "capture", [[b'{"htype":"series_end","msg_number":45}']])
    with program(
        "replay", str(tmp_path / "capture"), "--endpoint", "tcp://127.0.0.1:0", "--timeout", "0.2"
    ) as running:
        assert running.process.wait(60) == 2
        assert "is the receiver running" in running.errors()


def test_taken_endpoint_is_told_so(tmp_path: Path) -> None:
    write(tmp_path / "capture", [[b'{"htype":"series_end","msg_number":45}']])
    command = ("replay", str(tmp_path / "capture"), "--json", "--endpoint")
    with (
        program(*command, "tcp://127.0.0.1:0") as first,
        program(*command, first.line()["endpoint"]) as second,
    ):
        assert second.process.wait(60) == 2
        assert "cannot bind" in second.errors()
