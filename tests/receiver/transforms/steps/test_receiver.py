"""A whole receiver with a chain of transforms."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest
import zmq

from penstock.cli.main import main
from penstock.receiver.models import FrameStatus
from penstock.stins import codec
from penstock.stins.messages import Frame, Start
from tests.receiver.pixels import pixels as unpacked
from tests.receiver.processes import ReceiverProcess
from tests.receiver.transforms.steps.references import cbf_encode
from tests.streams import Streamer, pixels

CHAIN = [{"type": "cbf"}, {"type": "rotate", "quarter_turns": 1}, {"type": "bslz4"}]
SHAPE = (5, 8)


@pytest.fixture(params=[pytest.param(1, marks=pytest.mark.slow), 3])
def receiver(
    request: pytest.FixtureRequest, start_receiver: Callable[..., ReceiverProcess]
) -> ReceiverProcess:
    """One whose loop transforms, and one with three threads for it."""
    running = start_receiver(transforms=CHAIN, workers=request.param)
    running.connected()
    return running


def picture(number: int) -> np.ndarray[Any, Any]:
    return pixels(number, SHAPE, "int32") * (-1) ** number


def send(streamer: Streamer, number: int, blob: bytes | None = None) -> None:
    array = picture(number)
    streamer.frame(number, array, compression="cbf", blobs=[cbf_encode(array) if blob is None else blob])


@pytest.mark.parametrize(
    "announced",
    [{}, pytest.param({"shape": SHAPE, "type": "int32", "compression": "cbf"}, marks=pytest.mark.slow)],
)
def test_a_pilatus_series_becomes_a_bslz4_file_with_the_original_pixels(
    receiver: ReceiverProcess, streamer: Streamer, announced: dict[str, Any]
) -> None:
    path = receiver.root / "pilatus.h5"
    series = streamer.start(str(path), frames=60, **announced)
    for number in range(60):
        send(streamer, number, b"cut" if number == 17 else None)
    streamer.end(reason="complete", triggered=60, sent=60)
    status = receiver.ended(series)

    assert (status.counts.stored, status.counts.corrupt) == (59, 1)
    assert status.errors == {"blob_length": 1}
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        assert data.shape == (60, 8, 5) and data.chunks == (1, 8, 5)
        assert data.id.get_create_plist().get_filter(0)[0] == 32008
        for number in range(60):
            if number != 17:
                np.testing.assert_array_equal(data[number], np.rot90(picture(number)))
        assert file["entry/instrument/sim_1/frame_status"][17] == FrameStatus.CORRUPT
    shown = receiver.client.last_frame()
    assert shown is not None
    np.testing.assert_array_equal(shown.array, np.rot90(picture(shown.frame)))


def test_a_series_that_the_chain_cannot_take_is_refused_with_the_remedy_and_the_next_one_is_taken(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    streamer.start(str(receiver.root / "no.h5"), frames=1, shape=SHAPE, type="int32", compression="bslz4")
    streamer.end(reason="complete", triggered=0, sent=0)
    status = receiver.wait(lambda status: "transform" in status.errors)
    assert "cbf takes blobs of compression" in status.last_error
    series = streamer.start(str(receiver.root / "yes.h5"), frames=1)
    send(streamer, 0)
    streamer.end(reason="complete", triggered=1, sent=1)
    assert receiver.ended(series).counts.stored == 1


def entry(tmp_path: Path, **keys: Any) -> str:
    path = tmp_path / "receivers.yaml"
    source = {"endpoints": ["tcp://127.0.0.1:1"]}
    path.write_text(json.dumps({"receivers": {"p": {"source": source, "data_root": str(tmp_path), **keys}}}))
    return str(path)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([{"type": "bslz4"}, {"type": "rotate", "quarter_turns": 1}], "put {type: decompress} before it"),
        ([{"type": "sharpen"}], "sharpen"),
        ([{"type": "rotate", "quarter_turns": 1, "axis": 3}], 'no setting "axis"'),
        ([{"type": "dark_flat", "dark": "/nowhere.npy"}], "/nowhere.npy cannot be read (No such file"),
    ],
)
def test_a_chain_that_cannot_work_is_said_before_the_receiver_starts(
    steps: list[dict[str, Any]], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = entry(tmp_path, transforms=steps)
    assert main(["receiver", "p", "--config", config, "--http", "127.0.0.1:0"]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.slow
def test_consumers_get_what_the_chain_made(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    forward = [{"name": "x", "endpoint": "tcp://127.0.0.1:*"}]
    receiver = start_receiver(transforms=CHAIN, workers=2, forward=forward)
    with zmq.Context() as context, context.socket(zmq.PULL) as consumer:
        consumer.set(zmq.RCVTIMEO, 10_000)
        consumer.connect(receiver.client.status().consumers[0].endpoint)
        receiver.wait(lambda status: status.consumers[0].connected > 0)
        receiver.connected()
        streamer.start("", frames=1, shape=SHAPE, type="int32", compression="cbf", checksum="crc32")
        send(streamer, 0)
        start = codec.decode(consumer.recv_multipart())
        frame = codec.decode(consumer.recv_multipart())
    assert isinstance(start, Start) and isinstance(frame, Frame)
    assert (start.header.shape, start.header.compression, start.header.checksum) == ((8, 5), "bslz4", None)
    np.testing.assert_array_equal(unpacked(frame), np.rot90(picture(0)))


def test_a_dark_of_frames_and_the_detectors_limits_are_applied_in_the_file(
    tmp_path: Path, start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    dark = tmp_path / "dark.h5"
    with h5py.File(dark, "w") as file:
        data = file.create_dataset("entry/data/data", (3, 1, 4), "uint32", chunks=(1, 1, 4))
        data[1] = [[2, 10, 2, 2**32 - 1]]  # the first frame is never stored
        data[2] = [[4, 10, 4, 2**32 - 1]]
    receiver = start_receiver(transforms=[{"type": "dark_flat", "dark": str(dark)}], workers=2)
    receiver.connected()
    path = receiver.root / "corrected.h5"
    metadata = {"underload_value": 0, "saturation_value": 100}
    series = streamer.start(str(path), frames=2, metadata=metadata)
    for number in range(2):
        streamer.frame(number, np.array([[13 + number, -1, 100, 13]], "int32"))
    streamer.end(reason="complete", triggered=2, sent=2)
    assert receiver.ended(series).counts.stored == 2
    with h5py.File(path) as file:
        left = [[[10, np.nan, np.nan, np.nan]], [[11, np.nan, np.nan, np.nan]]]
        np.testing.assert_array_equal(file["entry/data/data"][()], left)
    said = f"dark_flat: {dark}: mean of 2 of 3 frames (1 missing)"
    assert receiver.log.read_text().count(said) == 1
