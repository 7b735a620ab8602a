"""The lz4 streams of DECTRIS through a receiver: the file, the live view and the checks have the pixels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cbor2
import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.checks.series_check import check_series
from penstock.receiver.reading.reader import SeriesFile
from tests.receiver.pixels import lz4, lz4_block
from tests.receiver.processes import ReceiverProcess
from tests.receiver.sources import test_dectris_v1 as v1
from tests.receiver.sources import test_dectris_v2 as v2
from tests.streams import Streamer, pixels

FRAMES = 3
SHAPE = (20, 30)


def array(number: int) -> np.ndarray[Any, Any]:
    return pixels(number, SHAPE) % 50


def messages_v1() -> list[list[bytes]]:
    """One LZ4 block without a header for each frame."""
    blocks = [lz4_block(array(number)) for number in range(FRAMES)]
    return [
        v1.start(config={"nimages": FRAMES, "ntrigger": 1, "compression": "lz4"}),
        *(v1.frame(number, "lz4<", block, shape=[SHAPE[1], SHAPE[0]]) for number, block in enumerate(blocks)),
        [json.dumps({"htype": "dseries_end-1.0", "series": 7}).encode()],
    ]


def messages_v2() -> list[list[bytes]]:
    """A chunk of the HDF5 filter for each frame."""
    data = [v2.shaped(v2.compressed(lz4(array(number), 512), 2, "lz4"), SHAPE) for number in range(FRAMES)]
    return [
        v2.start(number_of_images=FRAMES, number_of_triggers=1),
        *(v2.image({"threshold_1": image}, number) for number, image in enumerate(data)),
        [cbor2.dumps({"type": "end", **v2.SERIES})],
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "messages"), [pytest.param("v1", messages_v1, marks=pytest.mark.slow), ("v2", messages_v2)]
)
def test_lz4_frames_are_stored_shown_and_read_back(
    tmp_path: Path, streamer: Streamer, version: str, messages: Callable[[], Sequence[Sequence[bytes]]]
) -> None:
    source = {"type": f"dectris-{version}"}
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, source, filename_template="a.h5")
    try:
        receiver.connected()
        *before, end = messages()
        for parts in before:
            streamer.send(parts)
        receiver.received(FRAMES)
        for number in range(FRAMES):
            np.testing.assert_array_equal(receiver.client.frame(number).array, array(number))
        streamer.send(end)
        ended = receiver.wait(lambda status: status.state == "idle" and status.series is not None)
        assert (ended.counts.stored, ended.counts.corrupt) == (FRAMES, 0)
    finally:
        receiver.close()
    with SeriesFile(receiver.root / "a.h5") as file:
        np.testing.assert_array_equal([*file], [array(number) for number in range(FRAMES)])
        assert check_series(file).is_clean()
    with h5py.File(receiver.root / "a.h5") as file:
        assert file["entry/data/data"].id.get_create_plist().get_filter(0)[0] == 32004
