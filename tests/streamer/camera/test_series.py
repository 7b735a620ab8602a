"""What a series of the engine is on the wire."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from penstock.stins.messages import Start
from penstock.streamer.camera.contract import Acquisition, Exposure
from tests.streamer.rig import Rig


def test_a_series_is_start_frames_end_numbered_without_a_gap() -> None:
    with Rig() as rig:
        rig.connect()
        for series in range(2):
            rig.arm(filename="/data/a.h5", n_triggers=2, n_frames_per_trigger=2)
            start, frames, end = rig.receive_series()
            numbers = [m.msg_number for m in (start.header, *(f.image for f in frames), end)]
            assert numbers == list(range(6 * series, 6 * series + 6))
            rig.until_state("idle")
        assert [frame.image.frame for frame in frames] == [0, 1, 2, 3]
        assert [frame.image.trigger for frame in frames] == [0, 0, 1, 1]
        assert (end.reason, end.triggered, end.sent, end.lost) == ("complete", 4, 4, None)
        ids = {start.header.series, end.series, *(frame.image.series for frame in frames)}
        assert ids == {rig.engine.status().series}


def test_the_start_message_says_what_will_come() -> None:
    with Rig() as rig:
        rig.connect()
        user = '{"sample": "CeO2", "T": NaN}'
        prepared = rig.arm(filename="/data/a.h5", exposure_time=0.5, latency_time=0.25, metadata=user,
                           beam_center=(3.0, 2.0), distance=0.1)  # fmt: skip
        start = rig.receive()
        assert isinstance(start, Start)
        header = start.header
        assert (header.filename, header.frames, header.shape, header.type) == (
            "/data/a.h5",
            4,
            (3, 4),
            "uint16",
        )
        assert (header.compression, header.frame_bytes, header.streams) == ("none", 24, 1)
        assert (header.index_source, header.trigger_mode) == ("hardware counter", "INTERNAL")
        assert prepared.index_source == header.index_source
        assert header.frame_time == 0.75
        assert start.metadata["user"]["sample"] == "CeO2"
        assert math.isnan(start.metadata["user"]["T"]), "as Python's json writes it"
        assert start.metadata["exptime"] == start.metadata["count_time"] == 0.5
        assert (start.metadata["beam_center_x"], start.metadata["beam_center_y"]) == (3.0, 2.0)
        assert start.metadata["distance"] == 0.1
        assert start.metadata["save_raw"] is True
        assert start.metadata["frame_time"] == 0.75
        assert start.metadata["acquisition"] == {
            "trigger_mode": "INTERNAL", "triggers": 4, "frames_per_trigger": 1, "latency_time": 0.25,
            "rotation": 0, "fliplr": False, "flipud": False,
        }  # fmt: skip


@pytest.mark.parametrize(("rotation", "sizes"), [(0, (1e-4, 2e-4)), (90, (2e-4, 1e-4)), (180, (1e-4, 2e-4))])
def test_the_geometry_is_that_of_the_image_as_it_is_sent(rotation: int, sizes: tuple[float, float]) -> None:
    with Rig() as rig:
        rig.camera.description = {"x_pixel_size": 1e-4, "y_pixel_size": 2e-4}
        rig.connect()
        rig.arm(rotation=rotation, fliplr=True, beam_center=(3.0, 2.0))
        start = rig.receive()
        assert isinstance(start, Start)
        assert (start.metadata["x_pixel_size"], start.metadata["y_pixel_size"]) == sizes
        assert (start.metadata["beam_center_x"], start.metadata["beam_center_y"]) == (3.0, 2.0)
        taken = start.metadata["acquisition"]
        assert (taken["rotation"], taken["fliplr"], taken["flipud"]) == (rotation, True, False)


def test_the_pixels_arrive_as_the_camera_gave_them() -> None:
    with Rig() as rig:
        rig.connect()
        rig.arm()
        _, frames, _ = rig.receive_series()
        for number, frame in enumerate(frames):
            assert bytes(frame.blobs[0]) == np.full((3, 4), number, np.uint16).tobytes()


def test_k_blobs_travel_as_k_parts() -> None:
    with Rig(buffers=4 * 48) as rig:
        rig.camera.shape = (2, 3, 4)
        rig.connect()
        rig.arm()
        _, frames, _ = rig.receive_series()
        assert frames[0].image.chunks == (1, 3, 4)
        assert [len(blob) for blob in frames[0].blobs] == [24, 24]


def test_rotation_changes_shape_and_pixels() -> None:
    with Rig() as rig:
        ramp = np.arange(12, dtype=np.uint16).reshape(3, 4)

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            acquisition.buffer().view(np.uint16)[:] = ramp.ravel()
            yield Exposure(index=0)

        rig.camera.script = script
        rig.connect()
        rig.arm(n_triggers=1, rotation=90, fliplr=True)
        start, frames, _ = rig.receive_series()
        assert start.header.shape == frames[0].image.shape == (4, 3)
        assert bytes(frames[0].blobs[0]) == np.fliplr(np.rot90(ramp)).tobytes()


def test_a_frame_that_the_hardware_missed_leaves_its_index_empty_and_is_counted() -> None:
    with Rig() as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            for index in (0, 2, 3):
                yield rig.camera.frame(acquisition, index)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        _, frames, end = rig.receive_series()
        assert [frame.image.frame for frame in frames] == [0, 2, 3]
        assert (end.triggered, end.sent, end.lost) == (4, 3, {"camera": 1})
