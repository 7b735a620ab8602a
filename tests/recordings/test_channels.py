"""Two thresholds through a running receiver: each a dataset of its own, whatever is missing of a frame.

The stream is the recording of a real EIGER 1M, stream V2, with a second channel that shows other pixels: what
the first shows, upside down, with a flat field, a mask and a threshold of its own.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cbor2
import fabio
import h5py
import hdf5plugin  # noqa: F401 (registers the filters)
import numpy as np
import pytest
import silx.io
import silx.io.nxdata
from nexusformat.nexus import nxload

from penstock.codecs import bslz4
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import FrameStatus, View
from penstock.receiver.reading.reader import SeriesFile
from tests.data import EIGER_V2, recording
from tests.receiver.processes import ReceiverProcess
from tests.recordings import validators
from tests.streams import Streamer

SHAPE = (1065, 1030)
FRAMES = 10
WITHOUT_SECOND = 3
"""A frame whose second channel the detector did not send."""
FIRST_CUT = 6
"""A frame whose first channel was cut on the way."""
BOTH_CUT = 8
DETECTOR = "entry/instrument/sim_1"
FILL = np.iinfo("uint32").max


def array(image: np.ndarray[Any, Any], tag: int) -> cbor2.CBORTag:
    return cbor2.CBORTag(40, [list(image.shape), cbor2.CBORTag(tag, image.tobytes())])


def channel(image: np.ndarray[Any, Any], cut: bool = False) -> cbor2.CBORTag:
    blob = bslz4.compress(image)
    blob = blob[: len(blob) // 2] if cut else blob
    packed = cbor2.CBORTag(56500, ["bslz4", 4, blob])
    return cbor2.CBORTag(40, [list(image.shape), cbor2.CBORTag(70, packed)])


@dataclass(frozen=True)
class Sent:
    """What was sent, and the receiver that has it."""

    messages: list[bytes]
    first: list[np.ndarray[Any, Any]]
    second: list[np.ndarray[Any, Any]]
    flatfield: dict[str, np.ndarray[Any, Any]]
    mask: dict[str, np.ndarray[Any, Any]]


def two_channels(filename: str) -> Sent:
    """The recording with a second channel."""
    sent = Sent([], [], [], {}, {})
    with gzip.open(recording(EIGER_V2)) as stream:
        content = stream.read()
    decoder = cbor2.CBORDecoder(io.BytesIO(content))
    for _ in range(FRAMES + 2):
        (part,) = decoder.decode()
        message = {**cbor2.loads(part)}
        match message["type"]:
            case "start":
                message["channels"] = ["threshold_1", "threshold_2"]
                message["threshold_energy"] = {"threshold_1": 4000.0, "threshold_2": 7000.0}
                for key, dtype, tag, into in (
                    ("flatfield", "<f4", 85, sent.flatfield), ("pixel_mask", "<u4", 70, sent.mask)
                ):  # fmt: skip
                    tagged = message[key]["threshold_1"].value[1].value
                    one = np.frombuffer(tagged, dtype).reshape(SHAPE)
                    into |= {"threshold_1": one, "threshold_2": np.ascontiguousarray(one[::-1])}
                    message[key] = {name: array(image, tag) for name, image in into.items()}
                message["user_data"] = json.dumps({"filename": filename})
            case "image":
                number = message["image_id"]
                blob = message["data"]["threshold_1"].value[1].value.value[2]
                one = np.asarray(bslz4.decompress(blob, SHAPE[0] * SHAPE[1], np.dtype("<u4"))).reshape(SHAPE)
                two = np.ascontiguousarray(one[::-1] // 2)
                sent.first.append(one)
                sent.second.append(two)
                broken = (FIRST_CUT, BOTH_CUT)
                message["data"] = {"threshold_1": channel(one, cut=number in broken)}
                if number != WITHOUT_SECOND:
                    message["data"]["threshold_2"] = channel(two, cut=number == BOTH_CUT)
        sent.messages.append(cbor2.dumps(message, datetime_as_timestamp=False))
    return sent


@dataclass(frozen=True)
class Taken:
    """A series that was taken, its receiver still up."""

    sent: Sent
    file: Path
    receiver: ReceiverProcess
    live: dict[str | None, np.ndarray[Any, Any]]
    """What frame 2 looked like over HTTP while the series ran, by channel."""


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Taken]:
    recording(EIGER_V2)
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path_factory.mktemp("channels"), streamer.endpoint, {"type": "dectris-v2"})
    try:
        file = receiver.root / "two.h5"
        sent = two_channels(str(file))
        *but_last, end = sent.messages
        for message in but_last:
            streamer.send([message])
        receiver.received(FRAMES)
        live: dict[str | None, np.ndarray[Any, Any]] = {
            name: receiver.client.frame(2, View(channel=name)).array
            for name in (None, "threshold_1", "threshold_2")
        }
        streamer.send([end])
        receiver.wait(lambda status: status.series is not None and not status.series.active)
        yield Taken(sent, file, receiver, live)
    finally:
        receiver.close()
        streamer.close()


def test_each_threshold_is_a_stack_of_images_of_its_own(taken: Taken) -> None:
    with h5py.File(taken.file) as file:
        detector = file[DETECTOR]
        for name, images, without in (
            ("threshold_1", taken.sent.first, {FIRST_CUT, BOTH_CUT}),
            ("threshold_2", taken.sent.second, {WITHOUT_SECOND, BOTH_CUT}),
        ):
            data = detector[name]
            assert data.shape == (FRAMES, *SHAPE) and data.chunks == (1, *SHAPE)
            for index, image in enumerate(images):
                assert np.all(data[index] == FILL) if index in without else np.array_equal(data[index], image)
        assert detector["data"] == detector["threshold_1"]
        assert detector["data"].attrs["units"] == detector["threshold_2"].attrs["units"] == "counts"


def test_blobs_are_stored_as_they_were_received(taken: Taken) -> None:
    message = cbor2.loads(taken.sent.messages[1])
    blob = message["data"]["threshold_2"].value[1].value.value[2]
    with h5py.File(taken.file) as file:
        assert file[f"{DETECTOR}/threshold_2"].id.read_direct_chunk((0, 0, 0)) == (0, blob)


def test_a_frame_that_lacks_a_threshold_is_partial_and_says_which(taken: Taken) -> None:
    stored, corrupt, missing = FrameStatus.STORED, FrameStatus.CORRUPT, FrameStatus.MISSING
    with h5py.File(taken.file) as file:
        detector = file[DETECTOR]
        status = detector["frame_status"][()].tolist()
        channels = detector["channel_status"][()].tolist()
        assert "threshold_1, threshold_2" in detector["channel_status"].attrs["long_name"]
        assert detector["series/channels"].asstr()[()].tolist() == ["threshold_1", "threshold_2"]
    for index in range(FRAMES):
        expected = {
            WITHOUT_SECOND: (FrameStatus.PARTIAL, [stored, missing]),
            FIRST_CUT: (FrameStatus.PARTIAL, [corrupt, stored]),
            BOTH_CUT: (corrupt, [corrupt, corrupt]),
        }.get(index, (stored, [stored, stored]))
        assert (status[index], channels[index]) == expected, index
    counts = taken.receiver.client.status().counts
    assert (counts.planned, counts.stored, counts.partial, counts.corrupt) == (FRAMES, 7, 2, 1)


def test_mask_flatfield_and_energy_of_each_threshold_have_their_nexus_names(taken: Taken) -> None:
    with h5py.File(taken.file) as file:
        detector = file[DETECTOR]
        for name, energy in (("threshold_1", 4000.0), ("threshold_2", 7000.0)):
            group = detector[f"{name}_channel"]
            assert group.attrs["NX_class"] == "NXdetector_channel"
            assert group["threshold_energy"][()] == energy
            assert group["threshold_energy"].attrs["units"] == "eV"
            assert np.array_equal(group["flatfield"][()], taken.sent.flatfield[name])
            assert np.array_equal(group["pixel_mask"][()], taken.sent.mask[name])
        for key in ("threshold_energy", "flatfield", "pixel_mask"):
            assert detector[key] == detector[f"threshold_1_channel/{key}"]


def test_viewers_find_the_first_threshold_and_the_other_beside_it(taken: Taken) -> None:
    with silx.io.open(str(taken.file)) as file:
        default = silx.io.nxdata.get_default(file)
        assert default is not None and default.is_valid
        assert np.array_equal(default.signal[0], taken.sent.first[0])
        (second,) = default.auxiliary_signals
        assert np.array_equal(second[0], taken.sent.second[0])
    with fabio.open(str(taken.file)) as image:
        assert image.nframes == FRAMES
        assert np.array_equal(image.data, taken.sent.first[0])
    assert np.array_equal(nxload(str(taken.file)).entry.data.nxsignal[1].nxvalue, taken.sent.first[1])


@pytest.mark.slow
def test_validators_find_no_error_but_that_they_do_not_know_channels(taken: Taken) -> None:
    """NeXus' definition of NXdetector_channel has these very groups, `threshold_1_channel` …, as its example.
    nxvalidate matches no name that begins with a free part; punx' definitions are older than the class."""
    found = [line.strip() for line in validators.nxcheck(taken.file).errors if "invalid" in line]
    assert found == ["NXdetector_channel is an invalid class in NXdetector"] * 2
    assert validators.punx(taken.file).errors
    assert all("NXdetector_channel" in line for line in validators.punx(taken.file).errors)


def test_frame_n_is_shown_by_threshold_while_the_series_runs_and_after_it(taken: Taken) -> None:
    both = np.stack([taken.sent.first[2], taken.sent.second[2]])
    client = taken.receiver.client
    for name, image in ((None, both), ("threshold_1", both[0]), ("threshold_2", both[1])):
        assert np.array_equal(taken.live[name], image)
        assert np.array_equal(client.frame(2, View(channel=name)).array, image)
    newest = client.last_frame(view=View(channel="threshold_2"))
    assert newest is not None and np.array_equal(newest.array, taken.sent.second[newest.frame])


def test_a_frame_is_shown_without_the_threshold_that_it_lacks(taken: Taken) -> None:
    found = taken.receiver.client.frame(WITHOUT_SECOND).array
    assert np.array_equal(found[0], taken.sent.first[WITHOUT_SECOND])
    assert np.all(found[1] == FILL)


def test_an_unknown_threshold_is_refused_with_the_names(taken: Taken) -> None:
    with pytest.raises(ReceiverRefused, match="has threshold_1, threshold_2"):
        taken.receiver.client.frame(2, View(channel="threshold_3"))


def test_the_reader_gives_all_thresholds_of_a_frame(taken: Taken) -> None:
    with SeriesFile(taken.file) as series:
        assert series.channels == ("threshold_1", "threshold_2")
        assert series.shape == (FRAMES, 2, *SHAPE)
        assert np.array_equal(series.frame(0), np.stack([taken.sent.first[0], taken.sent.second[0]]))


def test_check_names_what_is_partial_and_corrupt_and_reads_all_else(taken: Taken) -> None:
    found = subprocess.run(
        ["penstock", "check", "--json", str(taken.file)], capture_output=True, text=True, timeout=60
    )
    (summary,) = json.loads(found.stdout.splitlines()[-1])["files"]
    assert {finding["kind"] for finding in summary["findings"]} == {"incomplete"}
    assert summary["frames_read"] == FRAMES - 1
