"""What the blob of a frame must look like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.codecs import lz4
from penstock.codecs.packed import CODECS
from penstock.receiver.http.live_view import unpack
from penstock.stins import blobs, codec
from penstock.stins.errors import BlobError
from penstock.stins.messages import Frame, Image
from tests import hostile
from tests.streams import image, pixels


def packed(array: np.ndarray[Any, Any], blob: bytes | None = None, compression: str = "bslz4") -> Frame:
    """A frame of this array, packed."""
    blob = CODECS[compression].compress(array) if blob is None else blob
    return Frame(image(0, array, compression=compression), [blob])


@pytest.mark.parametrize("dtype", blobs.ITEM_BYTES)
def test_every_known_type_is_a_name_of_numpy_with_its_size(dtype: str) -> None:
    assert blobs.blob_layout((3, 5), dtype) == (1, 15 * np.dtype(dtype).itemsize)


def test_three_modules_are_three_blobs() -> None:
    assert blobs.blob_layout((3, 4, 6), "uint16") == (3, 48)
    blobs.check(Frame(Image(shape=(3, 4, 6), type="uint16", compression="none"), [bytes(48)] * 3))


def test_a_plain_frame_is_sound() -> None:
    array = pixels(0)
    blobs.check(Frame(image(0, array), [array.tobytes()]))


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (4, 6), (64, 64), (67, 61), (300, 171)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "float64"])
@pytest.mark.parametrize("compression", CODECS)
def test_a_packed_frame_of_any_size_is_sound(shape: tuple[int, int], dtype: str, compression: str) -> None:
    blobs.check(packed(pixels(3, shape, dtype), compression=compression))


@pytest.mark.parametrize("compression", CODECS)
def test_a_packed_frame_that_was_cut_anywhere_is_found(compression: str) -> None:
    array = np.random.default_rng(7).integers(0, 4000, (67, 61), dtype=np.uint16)
    whole = CODECS[compression].compress(array)
    for length in range(len(whole)):
        with pytest.raises(BlobError) as caught:
            blobs.check(packed(array, whole[:length], compression))
        assert caught.value.kind == "blob_length"


@pytest.mark.parametrize("compression", CODECS)
@pytest.mark.parametrize(
    ("nbytes", "lengths"),
    # n + n // 255 + 16, by hand: 8192 + 32 + 16; 510 + 2 + 16 for a last block of 510 bytes, which of bslz4
    # has 31 times 8 pixels, and the rest is plain: 496 + 1 + 16.
    [(8192, {"bslz4": [8240], "lz4": [8240]}), (8702, {"bslz4": [8240, 513], "lz4": [8240, 528]})],
)
def test_a_block_that_is_longer_than_lz4_makes_one_is_corrupt(
    nbytes: int, lengths: dict[str, list[int]], compression: str
) -> None:
    def blob(sizes: list[int]) -> bytes:
        blocks = [size.to_bytes(4, "big") + bytes(size) for size in sizes]
        return blobs.LZ4_HEADER.pack(nbytes, 8192) + b"".join(blocks) + bytes(16)

    array, most = np.zeros(nbytes // 2, np.uint16), lengths[compression]
    blobs.check(packed(array, blob(most), compression))
    for which in range(len(most)):
        sizes = [size + (number == which) for number, size in enumerate(most)]
        sentence = f"has a block of {sizes[which]} bytes, .* at most {most[which]};"
        with pytest.raises(BlobError, match=sentence) as caught:
            blobs.check(packed(array, blob(sizes), compression))
        assert caught.value.kind == "blob_length"
        with pytest.raises(ValueError, match=sentence):
            CODECS[compression].decompress(blob(sizes), array.size, array.dtype)


@pytest.mark.parametrize("block", [0, 2**31, 2**32 - 1])
def test_an_lz4_blob_of_impossible_blocks_is_refused(block: int) -> None:
    array = pixels(0)
    whole = blobs.LZ4_HEADER.pack(array.nbytes, block) + lz4.compress(array)[12:]
    with pytest.raises(BlobError, match=f"blocks of {block}"):
        blobs.check(packed(array, whole, "lz4"))


def test_what_is_judged_sound_can_be_unpacked_by_a_library_that_believes_every_length() -> None:
    array = np.random.default_rng(8).integers(0, 4000, (67, 61), dtype=np.uint16)
    found = unpack(array.shape, "uint16", "bslz4", packed(array).blobs)
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("bad", hostile.FRAMES, ids=lambda item: item.name)
def test_a_hostile_blob_is_the_peers_fault_and_has_a_kind(bad: hostile.BadFrame) -> None:
    frame = codec.decode(bad.parts())
    assert isinstance(frame, Frame)
    assert frame.image.frame == 1, "its index is known although its blob is not sound"
    with pytest.raises(BlobError) as caught:
        blobs.check(frame)
    assert (caught.value.kind, caught.value.addressee) == (bad.kind, "peer"), str(caught.value)
