"""The messages of the simulated control unit's streams; no sockets."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import cbor2
import numpy as np
import pytest

from penstock.codecs import lz4
from penstock.receiver.sources.dectris_v1 import DectrisV1Source
from penstock.receiver.sources.dectris_v2 import DectrisV2Source
from penstock.stins.messages import Frame
from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.simplon import stream_v1, stream_v2
from penstock.streamer.simulated.simplon.pixels import Picture, Pixels, unpacked
from tests.streamer.simulated.simplon.test_keys import COLS, ROWS, settings

DATE = datetime(2024, 3, 7, tzinfo=UTC)


@pytest.mark.parametrize(("detail", "parts"), [("none", 1), ("basic", 2), ("all", 9)])
def test_v1_sends_the_header_appendix_only_with_all_details(detail: str, parts: int) -> None:
    """SIMPLON API 1.8, p. 45."""
    made = settings()
    made.put("stream", "header_appendix", "mine")
    made.put("stream", "header_detail", detail)
    message = stream_v1.start(made, 1)
    assert len(message) == parts
    assert (message[-1] == b"mine") == (detail == "all")


def test_v1_sends_the_times_of_the_sub_frames() -> None:
    made = settings()
    made.put("detector", "count_time", 1.0)
    header = json.loads(stream_v1.start(made, 1)[1])
    assert header["count_time"] == 1.0
    assert header["frame_count_time"] < header["frame_period"] < 0.02


def v2_start(**config: Any) -> dict[str, Any]:
    made = settings()
    for name, value in config.items():
        made.put("detector", name, value)
    return dict(cbor2.loads(stream_v2.start(made, 1, "X", DATE)[0]))


@pytest.mark.parametrize(("count_time", "dtype"), [(0.01, "uint16"), (1.0, "uint32")])
def test_v2_names_the_type_of_its_images(count_time: float, dtype: str) -> None:
    """Since release 2024.1."""
    assert v2_start(count_time=count_time)["image_dtype"] == dtype


def test_v2_has_every_axis_of_the_goniometer() -> None:
    """DECTRIS documentation, "Stream V2"."""
    goniometer = v2_start(omega_start=10.0, omega_increment=0.1)["goniometer"]
    assert set(goniometer) == {"chi", "kappa", "omega", "phi", "two_theta"}
    assert goniometer["omega"] == {"start": 10.0, "increment": 0.1}


@pytest.mark.parametrize(
    ("config", "images"),
    [
        ({"nimages": 3, "ntrigger": 4}, 12),
        ({"trigger_mode": "exte", "ntrigger": 4}, 4),
        ({"trigger_mode": "eies", "ntrigger": 11}, 10),
    ],
)
def test_v2_has_the_number_of_images_of_the_series_and_none_of_triggers(
    config: dict[str, Any], images: int
) -> None:
    start = v2_start(**config)
    assert start["number_of_images"] == images and "number_of_triggers" not in start


@pytest.mark.parametrize("image", ["gradient", "noise", "small", "tiny"])
def test_lz4_is_a_lone_block_in_v1_and_framed_in_v2(image: str) -> None:
    """An image that does not shrink is plain within the frame, and still a block in V1."""
    made = settings()
    wanted = {
        "gradient": patterns.gradient((ROWS, COLS), "uint32", 2),
        "noise": np.random.default_rng(7).integers(0, 2**32, (ROWS, COLS), "uint32"),
        "small": np.arange(20, dtype=np.uint32).reshape(4, 5),
        "tiny": np.arange(3, dtype=np.uint32).reshape(1, 3),
    }[image]
    framed = lz4.compress(wanted)
    picture = Picture(wanted.shape, "uint32", "lz4", (framed,))
    header, description, block, _ = parts = stream_v1.image(made, 1, 2, picture, (0, 1, 1))
    assert json.loads(description)["encoding"] == "lz4<"
    assert json.loads(description)["size"] == len(block)
    assert json.loads(header)["hash"] == hashlib.md5(block, usedforsecurity=False).hexdigest()
    assert lz4.decompress_block(block, wanted.nbytes) == wanted.tobytes()

    v1, v2 = DectrisV1Source(), DectrisV2Source()
    v1.decode(stream_v1.start(made, 1))
    v2.decode(stream_v2.start(made, 1, "X", DATE))
    taken = v1.decode(parts), v2.decode(stream_v2.image(made, 1, "X", DATE, 2, picture, (0, 1, 1)))
    for frame in taken:
        assert isinstance(frame, Frame) and frame.image.compression == "lz4"
        pixels = lz4.decompress(frame.blobs[0], wanted.size, wanted.dtype)
        assert np.array_equal(pixels.reshape(wanted.shape), wanted)


def test_a_gradient_in_lz4_has_the_number_of_each_frame() -> None:
    pictures = Pixels("gradient", (ROWS, COLS)).prepare("uint16", "lz4", 2, 3)
    for number in (0, 1, 70):
        image = unpacked(pictures[number], 0)
        assert np.array_equal(image, patterns.gradient((ROWS, COLS), "uint16", number))
        assert patterns.frame_number(unpacked(pictures[number], 1)) == number
