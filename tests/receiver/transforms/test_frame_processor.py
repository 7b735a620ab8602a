"""What is done to each frame between source and sinks."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from penstock.codecs import bslz4
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.stins import codec
from penstock.stins.checksums import ALGORITHMS, checksums
from penstock.stins.errors import BlobError
from penstock.stins.messages import Frame, Header, Start
from tests import hostile
from tests.streams import image, pixels


def sound(number: int = 0, **keys: object) -> Frame:
    array = pixels(number)
    return Frame(image(number, array, **keys), [array.tobytes()])


def packed(number: int = 0) -> Frame:
    array = pixels(number)
    return Frame(image(number, array, compression="bslz4"), [bslz4.compress(array)])


def processor(**keys: object) -> FrameProcessor:
    made = FrameProcessor()
    made.begin(Start(msgspec.convert({"htype": "header", "filename": "", **keys}, Header), {}))
    return made


def refused(made: FrameProcessor, frame: Frame) -> str:
    with pytest.raises(BlobError) as caught:
        made.process(frame)
    return caught.value.kind


def test_a_sound_frame_passes_untouched() -> None:
    frame = sound()
    assert processor().process(frame) is frame


def test_the_first_sound_frame_says_the_format_when_the_header_does_not() -> None:
    made = processor()
    assert refused(made, Frame(image(0, pixels(0)), [b""])) == "blob_length"
    made.process(sound(1))
    other = pixels(2, (6, 4))
    assert refused(made, Frame(image(2, other), [other.tobytes()])) == "format_changed"


def test_a_header_with_shape_and_type_but_no_compression_leaves_it_to_the_first_frame() -> None:
    made = processor(shape=[4, 6], type="uint16")
    made.process(packed())


@pytest.mark.parametrize("compression", ["cbf", "zstd"])
def test_frames_that_cannot_be_stored_are_refused_before_the_first_one(compression: str) -> None:
    with pytest.raises(
        BlobError, match=f'"{compression}" are announced, of which the receiver stores'
    ) as said:
        processor(shape=[4, 6], type="int32", compression=compression)
    assert said.value.kind == "unknown_compression"
    assert ("Put {type: cbf} first" in str(said.value)) is (compression == "cbf")


def test_a_plain_frame_may_come_among_packed_ones_but_not_the_other_way_round() -> None:
    made = processor(shape=[4, 6], type="uint16", compression="bslz4")
    made.process(packed(0))
    made.process(sound(1))
    assert refused(processor(shape=[4, 6], type="uint16", compression="none"), packed()) == "format_changed"


@pytest.mark.parametrize("bad", [*hostile.FRAMES, *hostile.CHANGES], ids=lambda item: item.name)
def test_a_hostile_frame_is_refused_and_the_next_one_passes(bad: hostile.BadFrame) -> None:
    made = processor(shape=list(hostile.SHAPE), type=hostile.TYPE, compression="none")
    frame = codec.decode(bad.parts())
    assert isinstance(frame, Frame)
    assert refused(made, frame) == bad.kind
    made.process(sound())


@pytest.mark.parametrize("bad", hostile.STARTS, ids=lambda item: item.name)
def test_a_series_of_absurd_frames_is_refused_at_its_start(bad: hostile.BadStart) -> None:
    with pytest.raises(BlobError) as caught:
        processor(**bad.keys)
    assert caught.value.kind == bad.kind


def test_more_frames_than_anyone_can_count_are_refused() -> None:
    with pytest.raises(BlobError) as caught:
        FrameProcessor().begin(Start(Header(filename="", frames=2**60), {}))
    assert caught.value.kind == "too_large"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_frame_whose_checksum_is_right_passes(name: str) -> None:
    blob = pixels(0).tobytes()
    processor(checksum=name).process(sound(checksums=checksums(name, [blob])))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_frame_that_was_damaged_on_the_way_is_found_by_its_checksum(name: str) -> None:
    assert refused(processor(checksum=name), sound(checksums=("00000000",))) == "checksum"


@pytest.mark.parametrize(
    ("name", "known"),
    [("crc32", "cbf43926"), ("adler32", "091e01de"), ("md5", "25f9e794323b453885f5181f1b624d0b")],
)
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_checksums_may_be_written_in_either_case(name: str, known: str, case: Callable[[str], str]) -> None:
    """Of "123456789", as the catalogues of checksums give them."""
    header = image(0, pixels(0, (1, 9), "uint8"), checksums=(case(known),))
    processor(checksum=name).process(Frame(header, [b"123456789"]))
    assert refused(processor(checksum=name), Frame(header, [b"123456780"])) == "checksum"


def test_fewer_checksums_than_blobs_are_wrong() -> None:
    assert refused(processor(checksum="crc32"), sound(checksums=())) == "checksum"


def test_checksums_of_an_unknown_algorithm_stay_unchecked_and_that_is_said() -> None:
    made = FrameProcessor()
    _, said = made.begin(Start(Header(filename="", checksum="md4"), {}))
    assert said is not None and said.kind == "unknown_checksum"
    assert 'checksums "md4" are announced' in str(said)
    made.process(sound(checksums=("00000000",)))


def test_an_announced_algorithm_that_is_known_needs_no_word() -> None:
    assert FrameProcessor().begin(Start(Header(filename="", checksum="crc32"), {}))[1] is None


def test_a_checksum_announced_for_one_series_does_not_bind_the_next() -> None:
    made = processor(checksum="crc32")
    made.begin(Start(Header(filename=""), {}))
    made.process(sound(checksums=("00000000",)))
