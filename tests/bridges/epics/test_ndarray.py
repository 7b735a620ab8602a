"""A frame as an NTNDArray: sizes, codec, numbers, attributes; and the records that take every so many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.bridges.epics.config import ImageConfig
from penstock.bridges.epics.image_record import ImageRecord
from penstock.bridges.epics.ndarray import Array, of_frame, of_pixels
from penstock.codecs import bslz4, lz4, ntndarray
from penstock.stins.messages import Frame, Image


def frame(pixels: np.ndarray[Any, Any], compression: str = "none", *blobs: bytes, **keys: Any) -> Frame:
    blobs = blobs or (pixels.tobytes(),)
    name = pixels.dtype.str if pixels.dtype.str[0] == ">" else pixels.dtype.name
    image = Image(shape=pixels.shape, type=name, compression=compression, **{"frame": 4, **keys})
    return Frame(image, list(blobs))


PIXELS = np.arange(60, dtype="u2").reshape(6, 10)


def test_x_is_the_first_dimension_and_the_number_is_one_more_than_the_index() -> None:
    array = of_frame(frame(PIXELS, trigger=2, exposure_time=0.5), 12.5)
    assert (array.sizes, array.unique_id, array.user_tag) == ((10, 6), 5, 4)
    assert (array.member, array.scalar_type, array.codec, array.nbytes) == ("ushortValue", 6, "", 120)
    assert array.values.tolist() == list(range(60))
    assert {each.name: each.value for each in array.attributes} == {
        "ColorMode": 0, "frame": 4, "trigger": 2, "exposure_time": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(("index", "number"), [(2**31 - 2, 2**31 - 1), (2**31 - 1, 0), (2**31, 1)])
def test_the_number_is_an_int32_and_begins_again_at_0(index: int, number: int) -> None:
    assert of_pixels(PIXELS, index, 0.0).unique_id == number


@pytest.mark.parametrize("dtype", list(ntndarray.MEMBERS))
def test_every_type_has_its_member_and_number(dtype: str) -> None:
    array = of_frame(frame(PIXELS.astype(dtype)), 0.0)
    assert array.values.dtype == dtype
    assert ntndarray.MEMBERS[dtype] == array.member and list(ntndarray.MEMBERS)[array.scalar_type] == dtype


def test_what_epics_has_no_type_for_is_changed_without_loss() -> None:
    assert of_frame(frame(PIXELS.astype(">u2")), 0.0).values.tolist() == list(range(60))
    assert of_frame(frame(PIXELS.astype("float16")), 0.0).member == "floatValue"


def test_packed_pixels_keep_their_codec_without_the_header_of_hdf5() -> None:
    blob = bslz4.compress(PIXELS)
    array = of_frame(frame(PIXELS, "bslz4", blob), 0.0)
    assert (array.codec, array.member, array.values.tobytes()) == ("bslz4", "ubyteValue", blob[12:])
    assert (array.scalar_type, array.nbytes, array.sizes) == (6, 120, (10, 6))
    ones = np.ones_like(PIXELS)
    array = of_frame(frame(ones, "lz4", lz4.compress(ones)), 0.0)
    assert array.codec == "lz4" and lz4.decompress_block(array.values.tobytes(), 120) == ones.tobytes()


def test_packed_pixels_are_unpacked_where_the_record_or_the_codec_needs_it() -> None:
    blob = bslz4.compress(PIXELS)
    asked = of_frame(frame(PIXELS, "bslz4", blob), 0.0, unpack=True)
    other_block = of_frame(frame(PIXELS, "bslz4", blob[:8] + (256).to_bytes(4, "big") + blob[12:]), 0.0)
    noise = np.random.default_rng(1).integers(0, 2**16, (4, 5), "u2")
    plain = of_frame(frame(noise, "lz4", lz4.compress(noise)), 0.0)
    assert (asked.codec, other_block.codec, plain.codec) == ("", "", "")
    assert asked.values.tolist() == other_block.values.tolist() == list(range(60))
    assert plain.values.tolist() == noise.ravel().tolist()


def test_an_lz4_blob_of_several_blocks_is_areadetectors_lz4hdf5() -> None:
    blob = (120).to_bytes(8, "big") + (64).to_bytes(4, "big") + bytes(30)
    assert ntndarray.payload("lz4", blob, 2) == ("lz4hdf5", blob)


def test_several_blobs_are_one_array_and_a_colour_image_says_so() -> None:
    both = np.stack([PIXELS, PIXELS + 100])
    array = of_frame(frame(both, "bslz4", *(bslz4.compress(each) for each in both)), 0.0)
    assert (array.sizes, array.values.tolist()) == ((10, 6, 2), both.ravel().tolist())
    colour = of_frame(frame(np.zeros((6, 10, 3), "u1")), 0.0)
    assert (colour.sizes, colour.attributes[0].value) == ((3, 10, 6), 2)


def test_a_blob_that_cannot_be_unpacked_is_an_error_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="bslz4"):
        of_frame(frame(PIXELS, "bslz4", bytes(40)), 0.0, unpack=True)
    with pytest.raises(ValueError, match="unpack frames in the receiver"):
        of_frame(frame(PIXELS, "cbf", bytes(40)), 0.0)
    with pytest.raises(ValueError, match="no type complex128"):
        of_pixels(PIXELS.astype(complex), 0, 0.0)


class Kept:
    """A record that keeps what is posted."""

    def __init__(self) -> None:
        self.indices: list[int] = []

    def post(self, array: Array) -> None:
        self.indices.append(array.index)


def test_every_leaves_out_by_index_and_counts() -> None:
    kept = Kept()
    record = ImageRecord(ImageConfig(every=3), "T:IMAGE", kept)
    record.begin()
    for index in range(8):
        if record.takes(index):
            record.offer(of_pixels(PIXELS, index, 0.0))
    record.end()
    assert kept.indices == [0, 3, 6]
    assert (record.status.posted, record.status.skipped, record.status.frame) == (3, 5, 6)


def test_rate_posts_the_first_and_the_last_frame_in_any_case() -> None:
    kept = Kept()
    record = ImageRecord(ImageConfig(rate=0.001), "T:VIEW", kept)
    record.begin()
    for index in range(8):
        record.offer(of_pixels(PIXELS, index, 0.0))
    record.end()
    assert kept.indices == [0, 7]
    assert (record.status.posted, record.status.limited) == (2, 6)
