"""A frame, and the announcement of it, on the way through a chain."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.receiver.transforms.steps import Transform
from penstock.receiver.transforms.steps.chain import Chain, PackedFrame
from penstock.receiver.transforms.steps.format import (
    Format,
    Kernel,
    Plan,
    ReadArray,
    Step,
    TransformConfigError,
    TransformError,
)
from penstock.stins.errors import BlobError
from penstock.stins.messages import Frame, Header
from tests.receiver.pixels import pixels as unpacked
from tests.receiver.transforms.steps.references import cbf_encode
from tests.streams import image, pixels

CBF_ROTATE_BSLZ4 = [{"type": "cbf"}, {"type": "rotate", "quarter_turns": 1}, {"type": "bslz4"}]
PICTURE = pixels(3, dtype="int32")


def chain(*steps: dict[str, Any]) -> Chain:
    """A chain as the configuration would give it."""
    return Chain(msgspec.convert(list(steps), list[Transform]))


def cbf(number: int = 0, array: np.ndarray[Any, Any] = PICTURE, **keys: Any) -> Frame:
    """A frame as a Pilatus streamer sends it."""
    return Frame(image(number, array, compression="cbf", **keys), [cbf_encode(array)])


def test_a_frame_is_unpacked_turned_and_packed_again() -> None:
    made = chain(*CBF_ROTATE_BSLZ4).apply(cbf(7, trigger=7, chunks=(4, 6), checksums=("00",)))
    head = made.image
    assert (head.shape, head.type, head.compression) == ((6, 4), "int32", "bslz4")
    assert (head.frame, head.trigger, head.chunks, head.checksums) == (7, 7, None, None)
    np.testing.assert_array_equal(unpacked(made), np.rot90(PICTURE))


def test_a_plain_result_is_one_row_of_bytes() -> None:
    made = chain({"type": "cbf"}, {"type": "flip", "direction": "left-right"}).apply(cbf())
    (blob,) = made.blobs
    assert len(blob) == PICTURE.nbytes
    np.testing.assert_array_equal(np.frombuffer(blob, "<i4").reshape(4, 6), PICTURE[:, ::-1])


def test_a_frame_that_comes_plain_among_packed_ones_passes() -> None:
    made = chain(*CBF_ROTATE_BSLZ4).apply(Frame(image(0, PICTURE), [PICTURE.tobytes()]))
    np.testing.assert_array_equal(unpacked(made), np.rot90(PICTURE))


def test_each_module_of_a_frame_is_transformed_by_itself() -> None:
    modules = pixels(0, (3, 4, 6), "int32")
    frame = Frame(image(0, modules, compression="cbf"), [cbf_encode(module) for module in modules])
    made = chain(*CBF_ROTATE_BSLZ4).apply(frame)
    assert made.image.shape == (3, 6, 4)
    np.testing.assert_array_equal(unpacked(made), np.rot90(modules, axes=(1, 2)))


def test_bslz4_is_unpacked_for_a_step_that_needs_pixels() -> None:
    steps = {"type": "decompress"}, {"type": "rotate", "quarter_turns": 2}, {"type": "bslz4"}
    frame = Frame(image(0, PICTURE, compression="bslz4"), [bslz4.compress(PICTURE)])
    np.testing.assert_array_equal(unpacked(chain(*steps).apply(frame)), PICTURE[::-1, ::-1])


def test_what_needs_no_change_is_not_touched() -> None:
    blob = bslz4.compress(PICTURE)
    made = chain({"type": "bslz4"}).apply(Frame(image(0, PICTURE, compression="bslz4"), [blob]))
    assert made.blobs[0] is blob


def test_the_announcement_is_rewritten_for_file_consumers_and_live_view() -> None:
    header = Header(
        filename="", shape=(4, 6), type="int32", compression="cbf", frame_bytes=40, checksum="crc32", frames=5
    )
    after = chain(*CBF_ROTATE_BSLZ4).announce(header)
    assert (after.shape, after.type, after.compression) == ((6, 4), "int32", "bslz4")
    assert (after.frames, after.checksum) == (5, None)
    assert after.frame_bytes is not None and after.frame_bytes >= len(bslz4.compress(np.rot90(PICTURE)))


def test_an_announcement_without_a_format_leaves_it_to_the_first_frame() -> None:
    after = chain({"type": "cbf"}).announce(Header(filename="", shape=(4, 6), type="int32", frame_bytes=40))
    assert (after.shape, after.type, after.compression, after.frame_bytes) == (None,) * 4


def refused(made: Chain, frame: Frame) -> tuple[str, str]:
    """Kind and sentence."""
    with pytest.raises(BlobError) as caught:
        made.apply(frame)
    return caught.value.kind, str(caught.value)


def test_a_format_that_the_chain_cannot_take_is_said_with_the_remedy() -> None:
    header = Header(filename="", shape=(4, 6), type="int32", compression="bslz4")
    with pytest.raises(BlobError, match="put {type: decompress} before it") as caught:
        chain({"type": "rotate", "quarter_turns": 1}).announce(header)
    assert caught.value.kind == "transform"


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (Frame(image(4, PICTURE, compression="cbf"), [cbf_encode(PICTURE)[:-1]]), "blob_length"),
        (Frame(image(4, PICTURE, compression="cbf"), []), "blob_count"),
        (Frame(image(4, PICTURE), [b"short"]), "blob_length"),
        (Frame(image(4, PICTURE, compression="zstd"), [b""]), "transform"),
        (Frame(image(4, PICTURE, shape=(0, 6)), [b""]), "bad_shape"),
        (Frame(image(4, PICTURE, type="object"), [b""]), "unknown_type"),
        (Frame(image(4, PICTURE, type="mono12p"), [b""]), "transform"),
        (Frame(image(4, PICTURE, shape=(2**20, 2**20)), [b""]), "too_large"),
    ],
)
def test_a_broken_frame_is_refused(frame: Frame, kind: str) -> None:
    found, sentence = refused(chain(*CBF_ROTATE_BSLZ4), frame)
    assert found == kind
    assert kind != "blob_length" or sentence.startswith("frame 4: ")


def test_a_cut_bslz4_blob_is_refused_before_it_is_unpacked() -> None:
    blob = bslz4.compress(PICTURE)[:-3]
    frame = Frame(image(0, PICTURE, compression="bslz4"), [blob])
    assert refused(chain({"type": "decompress"}), frame)[0] == "blob_length"


@pytest.mark.parametrize("dtype", ["mono12p", "uint16"])
def test_twelve_bits_are_judged_by_their_own_length(dtype: str) -> None:
    made = chain({"type": "mono12packed"})
    head = image(0, PICTURE, type=dtype)
    blob = made.apply(Frame(head, [bytes(36)])).blobs[0]
    assert len(blob) == 48
    assert refused(made, Frame(head, [bytes(48)]))[0] == "blob_length"


ROTATE = {"type": "rotate", "quarter_turns": 1}


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([{"type": "bslz4"}, ROTATE], "transforms[1], rotate, takes .* put {type: decompress} before it"),
        ([{"type": "cbf"}, {"type": "bslz4"}, {"type": "bslz4"}, ROTATE], "transforms[3]"),
        ([ROTATE, {"type": "cbf"}], "transforms[1], cbf, takes .*; put it first"),
        ([{"type": "cbf"}, {"type": "mono12p"}], "transforms[1], mono12p, takes plain pixels as received"),
        ([{"type": "cbf"}, {"type": "decompress"}], "transforms[1], decompress"),
    ],
)
def test_an_order_that_no_stream_can_pass_is_known_at_the_start(
    steps: list[dict[str, Any]], says: str
) -> None:
    with pytest.raises(TransformConfigError, match=says.replace("[", r"\[").replace("]", r"\]")):
        chain(*steps)


class Broken(Step, frozen=True, kw_only=True, tag="broken"):
    """A step with a mistake in it."""

    def load(self, read: ReadArray) -> Plan:
        def kernel(image: Any) -> Any:
            return image[1000]

        def plan(format: Format) -> tuple[Format, Kernel]:
            return format, kernel

        return plan


def test_a_mistake_in_a_step_is_ours_and_no_corrupt_frame() -> None:
    with pytest.raises(TransformError, match="frame 4 could not be transformed: IndexError"):
        Chain([Broken()]).apply(Frame(image(4, PICTURE), [PICTURE.tobytes()]))


def test_who_needs_the_pixels_of_a_frame_that_was_packed_gets_them_without_unpacking() -> None:
    steps = chain(*CBF_ROTATE_BSLZ4)
    assert type(steps.apply(cbf())) is Frame, "nobody needs them"
    steps.keeps_pixels = True
    made = steps.apply(cbf())
    assert isinstance(made, PackedFrame)
    np.testing.assert_array_equal(made.pixels, np.rot90(PICTURE))
    np.testing.assert_array_equal(unpacked(made), made.pixels)
    packed = Frame(image(0, PICTURE, compression="bslz4"), [bslz4.compress(PICTURE)])
    assert type(chain({"type": "bslz4"}).apply(packed)) is Frame, "it came packed, nobody has its pixels"
