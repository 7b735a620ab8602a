"""A recording of a real EIGER 1M through the simulated control unit: the same pixels, settings and tables."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.cli._recordings import recording as recordings
from penstock.cli._recordings.recorded import recorded
from penstock.receiver.sources.dectris_v1 import DectrisV1Source
from penstock.receiver.sources.dectris_v2 import DectrisV2Source
from penstock.stins.messages import Frame, Start
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from tests.data import EIGER_V1, EIGER_V2, recording
from tests.streamer.simulated.simplon.client import Client, decoded

TABLES = ("flatfield", "pixel_mask")
OF_THE_SERIES = {
    "vendor", "user", "count_time", "frame_time", "countrate_correction_lookup_table", *TABLES,
}  # fmt: skip
"""Metadata that this series sets, or that the two streams have in different forms."""


@pytest.mark.parametrize("stream", ["legacy", "cbor"])
@pytest.mark.parametrize("name", [EIGER_V1, EIGER_V2])
def test_a_recording_comes_again_when_it_is_triggered(name: str, stream: str) -> None:
    path = recording(name)
    source = DectrisV1Source() if name == EIGER_V1 else DectrisV2Source()
    start, *rest = [source.decode(parts) for parts in recordings.read(path)]
    real = [message for message in rest if isinstance(message, Frame)]
    assert isinstance(start, Start)

    with ControlUnit(stream=stream, recorded=recorded(path)) as box:
        client = Client(box)
        client.put("frame_time", 0.005)
        client.put("nimages", len(real) + 1)
        assert client.status_of("PUT", "detector/config/threshold/2/mode", "enabled") == 400
        client.call("PUT", "stream/config/header_detail", "all")
        client.call("PUT", "detector/command/arm")
        client.call("PUT", "detector/command/trigger")
        begun, *frames, _ = decoded(client, client.receive(len(real) + 3))
        client.close()

    assert [bytes(frame.blobs[0]) for frame in frames] == [
        bytes(frame.blobs[0]) for frame in [*real, real[0]]
    ]
    assert {(frame.image.shape, frame.image.type) for frame in frames} == {((1065, 1030), "uint32")}
    for table in TABLES:
        assert np.array_equal(begun.metadata[table], start.metadata[table])
    both = set(begun.metadata) & set(start.metadata) - OF_THE_SERIES
    assert len(both) > 12
    assert {key: begun.metadata[key] for key in both} == {key: start.metadata[key] for key in both}
