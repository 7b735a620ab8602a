"""DECTRIS stream V2 to STINS messages."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

import cbor2
import numpy as np
import pytest
from cbor2 import CBORTag

from penstock.cli._recordings import recording as recordings
from penstock.receiver.files.contents.nexus import fields
from penstock.receiver.sources.dectris_v2 import DectrisV2Source
from penstock.stins import blobs
from penstock.stins.errors import BlobError, NotTaken, RemoteError
from penstock.stins.messages import Frame, RefusedImage, SeriesEnd, Start
from tests.data import EIGER_V2, recording
from tests.receiver.pixels import bslz4, lz4, pixels
from tests.receiver.sources.errors import error_of

SERIES = {"series_id": 7, "series_unique_id": "01HR"}
PIXELS = np.arange(6, dtype="<u2")


def packed(content: object, **options: Any) -> list[bytes]:
    return [cbor2.dumps(content, **options)]


def start(**keys: Any) -> list[bytes]:
    message = {
        "type": "start", **SERIES, "channels": ["threshold_1"],
        "number_of_images": 5, "number_of_triggers": 3, "frame_time": 0.2,
    }  # fmt: skip
    return packed({**message, **keys})


def shaped(payload: object, shape: Sequence[Any] = (2, 3), tag: int = 69) -> CBORTag:
    return CBORTag(40, [list(shape), CBORTag(tag, payload)])


def compressed(blob: bytes, size: int = 2, algorithm: str = "bslz4") -> CBORTag:
    return CBORTag(56500, [algorithm, size, blob])


def image(data: object = None, number: Any = 0, **keys: Any) -> list[bytes]:
    data = {"threshold_1": shaped(PIXELS.tobytes())} if data is None else data
    times = {"start_time": [100, 50], "stop_time": [150, 50], "real_time": [1, 10]}
    return packed({"type": "image", **SERIES, "image_id": number, **times, "data": data, **keys})


def decoded_start(parts: Sequence[bytes], source: DectrisV2Source | None = None) -> Start:
    message = (source or DectrisV2Source()).decode(parts)
    assert isinstance(message, Start)
    return message


def decoded_frame(parts: Sequence[bytes], source: DectrisV2Source | None = None) -> Frame:
    message = (source or DectrisV2Source()).decode(parts)
    assert isinstance(message, Frame)
    return message


def test_start_says_series_frames_and_frame_time() -> None:
    header = decoded_start(start()).header
    assert (header.series, header.frames, header.frame_time) == ("01HR", 15, 0.2)


def test_older_control_unit_sends_no_number_of_triggers() -> None:
    message = cbor2.loads(start()[0])
    del message["number_of_triggers"]
    assert decoded_start(packed(message)).header.frames == 5


def test_series_number_serves_where_there_is_no_unique_id() -> None:
    assert decoded_start(start(series_unique_id=None)).header.series == "7"


def test_triggered_series_is_never_called_silent_by_its_mode() -> None:
    assert decoded_start(start(trigger_mode="exts")).header.trigger_mode is None


@pytest.mark.parametrize(
    ("user_data", "filename"),
    [
        (None, None), ("", None), ("scan 7", None), ({}, None), ({"sample": 1}, None),
        ({"filename": ""}, ""), ({"filename": "/a/b.h5"}, "/a/b.h5"),
        ('{"filename": "/a/b.h5"}', "/a/b.h5"), ('{"filename": ""}', ""), (b'{"filename": ""}', ""),
    ],
)  # fmt: skip
def test_file_name_comes_from_the_user_data(user_data: object, filename: str | None) -> None:
    assert decoded_start(start(user_data=user_data)).header.filename == filename


def test_rest_of_the_user_data_is_kept() -> None:
    assert decoded_start(start(user_data={"filename": "", "sample": 1})).metadata["user"] == {"sample": 1}


def test_metadata_have_nexus_names_and_the_rest_is_the_vendors() -> None:
    metadata = decoded_start(start(incident_energy=8000.0, pixel_size_x=75e-6, arm_mode="x")).metadata
    assert metadata["incident_energy"] == 8000.0
    assert metadata["x_pixel_size"] == 75e-6
    assert metadata["vendor"]["arm_mode"] == "x"


@pytest.mark.parametrize(
    ("translation", "distance"),
    [
        ([0.0, 0.0, 0.2], 0.2), ([0.0, 0.0, -0.2], 0.2), ([0.04, -0.03, -1], 1.0), ([0.0, 0.0, 0.0], None),
        ([0.0, 0.0, float("inf")], None), ([0.0, 0.0, float("nan")], None), ([0, 0, 10**400], None),
        ([0.0, 0.0, True], None), ([0.0, 0.2], None), ("far", None),
    ],
    ids=str,
)  # fmt: skip
def test_the_distance_is_that_of_the_translation_whichever_way_its_axis_points(
    translation: object, distance: float | None
) -> None:
    assert decoded_start(start(detector_translation=translation)).metadata.get("distance") == distance


def test_the_goniometer_is_that_of_the_file() -> None:
    axes = {"omega": {"start": 90.0, "increment": 0.1}}
    assert decoded_start(start(goniometer=axes)).metadata["goniometer"] == axes


def test_values_of_one_channel_stand_alone_and_of_several_by_their_names() -> None:
    one = decoded_start(start(threshold_energy={"threshold_1": 4000.0})).metadata
    assert one["threshold_energy"] == 4000.0
    two = decoded_start(
        start(
            channels=["threshold_2", "threshold_1"],
            threshold_energy={"threshold_1": 1.0, "threshold_2": 2.0},
            pixel_mask={name: shaped(PIXELS.tobytes()) for name in ("threshold_1", "threshold_2")},
        )
    ).metadata
    assert two["threshold_energy"] == {"threshold_1": 1.0, "threshold_2": 2.0}
    assert {name: mask.shape for name, mask in two["pixel_mask"].items()} == {
        "threshold_1": (2, 3), "threshold_2": (2, 3),
    }  # fmt: skip


def test_compressed_mask_is_kept_as_it_came() -> None:
    mask = decoded_start(start(pixel_mask={"threshold_1": shaped(compressed(b"abc"))})).metadata["pixel_mask"]
    assert (mask["compression"], mask["data"], mask["shape"]) == ("bslz4", b"abc", [2, 3])


def test_frame_has_its_number_and_times() -> None:
    date = datetime.datetime(2024, 3, 7, 14, tzinfo=datetime.UTC)
    found = decoded_frame(image(number=4, series_date=date)).image
    assert (found.frame, found.series, found.shape, found.type) == (4, "01HR", (2, 3), "uint16")
    assert found.exposure_time == pytest.approx(0.1)
    assert found.timestamp_hw == pytest.approx(2.0)
    assert found.timestamp == pytest.approx(date.timestamp() + 3.0)


def test_trigger_follows_from_the_start_message() -> None:
    source = DectrisV2Source()
    source.decode(start())
    assert decoded_frame(image(number=11), source).image.trigger == 2


def test_frame_without_start_message_is_still_a_frame() -> None:
    message = decoded_frame(image(number=11))
    assert message.image.trigger is None
    blobs.check(message)
    assert pixels(message).tolist() == PIXELS.reshape(2, 3).tolist()


@pytest.mark.parametrize(("dtype", "tag"), [("uint8", 64), ("uint16", 69), ("uint32", 70), ("float32", 85)])
def test_bslz4_frame_is_passed_through(dtype: str, tag: int) -> None:
    array = np.arange(600).astype(dtype).reshape(20, 30)
    blob = bslz4(array)
    message = decoded_frame(image({"a": shaped(compressed(blob, array.itemsize), (20, 30), tag)}))
    assert message.image.compression == "bslz4"
    assert message.blobs[0] == blob
    blobs.check(message)
    assert np.array_equal(pixels(message), array)


@pytest.mark.parametrize("block", [0, 256])
def test_lz4_frame_is_passed_through(block: int) -> None:
    array = (np.arange(600) % 200).astype(np.uint16).reshape(20, 30)
    blob = lz4(array, block)
    message = decoded_frame(image({"a": shaped(compressed(blob, 2, "lz4"), (20, 30), 69)}))
    assert message.image.compression == "lz4"
    assert message.blobs[0] == blob
    blobs.check(message)
    assert np.array_equal(pixels(message), array)


def test_channels_become_blobs_in_the_order_of_the_start_message() -> None:
    source = DectrisV2Source()
    assert decoded_start(start(channels=["threshold_1", "threshold_2"]), source).header.channels == (
        "threshold_1", "threshold_2",
    )  # fmt: skip
    data = {f"threshold_{number}": shaped((PIXELS + number).tobytes()) for number in (2, 1)}
    message = decoded_frame(image(data), source)
    assert message.image.shape == (2, 2, 3)
    assert pixels(message)[:, 0, 0].tolist() == [1, 2]


def test_channel_that_did_not_come_is_an_empty_blob() -> None:
    source = DectrisV2Source()
    source.decode(start(channels=["threshold_1", "threshold_2"]))
    message = decoded_frame(image({"threshold_2": shaped(PIXELS.tobytes())}), source)
    assert message.image.shape == (2, 2, 3)
    assert [len(blob) for blob in message.blobs] == [0, PIXELS.nbytes]


@pytest.mark.parametrize(
    ("payload", "tag", "kind"),
    [
        (compressed(b"0" * 20, 2, "zstd"), 69, "unknown_compression"),
        (compressed(b"0" * 20, 2, "lz4"), 69, "blob_header"),
        (compressed(b"0" * 11, 2, "lz4"), 69, "blob_length"),
        (compressed(bytes(7) + b"\x0c" + bytes(4), 2, "lz4"), 69, "blob_header"),
        (compressed(b"0" * 20, 4), 69, "unknown_compression"),
        (PIXELS.tobytes(), 65, "unknown_type"),
        (b"short", 69, "blob_length"),
        (compressed(b"", 2), 69, "blob_length"),
    ],
)
def test_pixels_that_cannot_be_stored_are_refused_with_their_number_known(
    payload: object, tag: int, kind: str
) -> None:
    message = decoded_frame(image({"a": shaped(payload, tag=tag)}, number=3))
    assert message.image.frame == 3
    with pytest.raises(BlobError) as caught:
        blobs.check(message)
    assert caught.value.kind == kind


@pytest.mark.parametrize("wrapped", [False, True])
def test_end_names_its_series_with_and_without_the_self_describe_tag(wrapped: bool) -> None:
    message: object = {"type": "end", **SERIES}
    end = packed(CBORTag(55799, message) if wrapped else message)
    assert DectrisV2Source().decode(end) == SeriesEnd(series="01HR")


def _many_references() -> bytes:
    """A few bytes that say ten to the twelfth values."""
    level: list[Any] = [0] * 10
    for _ in range(12):
        level = [level] * 10
    return cbor2.dumps({"type": "start", **SERIES, "bomb": level}, value_sharing=True)


def _endless() -> bytes:
    level: dict[str, Any] = {}
    level["self"] = level
    return cbor2.dumps({"type": "start", **SERIES, "endless": level}, value_sharing=True)


def _without(message: list[bytes], key: str) -> list[bytes]:
    content: Mapping[str, Any] = cbor2.loads(message[0])
    return packed({name: value for name, value in content.items() if name != key})


HOSTILE: list[tuple[list[bytes], str]] = [
    ([], "wrong_parts"),
    ([b"", b""], "wrong_parts"),
    ([b""], "not_cbor"),
    ([b"\xf6"], "wrong_type"),
    ([b'{"htype": "header"}'], "not_cbor"),
    ([b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff"], "not_cbor"),
    ([b"\x5b\x7f\xff\xff\xff\xff\xff\xff\xff"], "not_cbor"),
    ([b"\x81" * 10_000], "not_cbor"),
    ([cbor2.dumps(CBORTag(30, [1, 0]))], "not_cbor"),
    ([cbor2.dumps(CBORTag(35, "("))], "not_cbor"),
    (packed([1]), "wrong_type"),
    (packed({}), "missing_key"),
    (packed({"type": "other"}), "unknown_htype"),
    (packed({"type": ["start"]}), "unknown_htype"),
    (packed({"type": "end"}), "missing_key"),
    (packed({"type": "end", "series_id": "7"}), "missing_key"),
    (packed({"type": "end", "series_id": -1}), "missing_key"),
    (packed({"type": "end", "series_id": 10**5000}), "missing_key"),
    (start(channels="threshold_1"), "wrong_type"),
    (start(channels=[1]), "wrong_type"),
    (start(channels=["a", "a"]), "wrong_type"),
    (start(number_of_images=0), "wrong_type"),
    (start(number_of_images=2**64), "wrong_type"),
    (start(number_of_triggers=1.5), "wrong_type"),
    (start(user_data={"filename": 5}), "wrong_type"),
    (start(user_data={"filename": "/" + "x" * 4096}), "wrong_type"),
    (start(series_unique_id="x" * 257), "wrong_type"),
    (start(channels=["x" * 257]), "wrong_type"),
    (start(pixel_mask={"threshold_1": shaped(b"short")}), "blob_length"),
    (start(pixel_mask={"threshold_1": shaped(b"", (0, 2))}), "bad_shape"),
    (start(pixel_mask={"threshold_1": shaped(b"", tag=65)}), "unknown_type"),
    ([_many_references()], "too_large"),
    ([_endless()], "too_large"),
    (_without(image(), "image_id"), "missing_key"),
    (_without(image(), "data"), "missing_key"),
    (image(number="4"), "wrong_type"),
    (image(number=-1), "wrong_type"),
    (image(number=2**63), "wrong_type"),
    (image({}), "wrong_type"),
    (image([1]), "wrong_type"),
    (image({"a": 1}), "wrong_type"),
    (image({"a": CBORTag(40, 1)}), "wrong_type"),
    (image({"a": CBORTag(40, [[2, 3], 1])}), "wrong_type"),
    (image({"a": shaped(b"", (2, 3, 4))}), "bad_shape"),
    (image({"a": shaped(b"", (0, 3))}), "bad_shape"),
    (image({"a": shaped(b"", (2, "3"))}), "bad_shape"),
    (image({"a": shaped("text")}), "wrong_type"),
    (image({"a": shaped(CBORTag(56500, ["bslz4", 2]))}), "wrong_type"),
    (image({"a": shaped(CBORTag(56500, [1, 2, b""]))}), "wrong_type"),
    (image({"a": shaped(b"0" * 12), "b": shaped(b"0" * 6, (1, 3))}), "bad_shape"),
]


@pytest.mark.parametrize(("parts", "kind"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_message_is_a_named_error_of_the_peer(parts: list[bytes], kind: str) -> None:
    error = error_of(DectrisV2Source(), parts)
    assert error.kind == kind
    assert len(str(error)) < 500


def test_a_frame_with_other_channels_than_announced_is_corrupt_at_its_index() -> None:
    source = DectrisV2Source()
    first = source.decode(start(channels=["threshold_2"]))
    found = source.decode(image(number=3))
    assert isinstance(first, Start) and isinstance(found, Frame) and isinstance(found.image, RefusedImage)
    assert (found.image.frame, found.image.series) == (3, first.header.series)
    assert found.image.kind == "blob_count"
    assert "threshold_2" in found.image.why


def test_a_start_message_that_cannot_be_used_says_which_series_is_not_taken() -> None:
    message = cbor2.dumps({"type": "start", "series_unique_id": "s1", "channels": [1]})
    with pytest.raises(NotTaken, match="channels must be a list of names") as caught:
        DectrisV2Source().decode([message])
    assert (caught.value.kind, caught.value.header.series) == ("wrong_type", "s1")


@pytest.mark.parametrize(
    "message", [start(user_data={"filename": ""}, a=[1, {"b": None}]), image()], ids=["start", "image"]
)
def test_message_cut_anywhere_is_an_error_of_the_peer(message: list[bytes]) -> None:
    for length in range(len(message[0])):
        with pytest.raises(RemoteError):
            DectrisV2Source().decode([message[0][:length]])


def test_every_flipped_byte_is_a_message_or_an_error_of_the_peer() -> None:
    for message in (start(user_data={"filename": ""}, threshold_energy={"threshold_1": 1.0}), image()):
        for place in range(len(message[0])):
            for flip in (0x01, 0x20, 0x80, 0xFF):
                changed = bytearray(message[0])
                changed[place] ^= flip
                try:
                    found = DectrisV2Source().decode([bytes(changed)])
                except RemoteError:
                    continue
                if isinstance(found, Start):
                    list(fields(found.metadata, "d"))


def test_recording_of_an_eiger_is_decoded() -> None:
    source = DectrisV2Source()
    first, *frames, last = (
        source.decode([memoryview(part) for part in parts]) for parts in recordings.read(recording(EIGER_V2))
    )
    assert isinstance(first, Start)
    assert first.header.filename is None
    assert first.header.frames == 10
    assert first.header.series == "01HRCJF83SA63WH8M5X1VBKFJM"
    assert first.metadata["threshold_energy"] == 4000.0
    assert first.metadata["user"]["instrument_name"] == "X06SA"
    assert json.dumps(first.metadata["vendor"], default=str)
    mask = first.metadata["pixel_mask"]
    assert mask.shape == first.metadata["flatfield"].shape == (1065, 1030)
    assert len(frames) == 10
    for number, message in enumerate(frames):
        assert isinstance(message, Frame)
        assert message.image.frame == number
        assert message.image.shape == (1065, 1030)
        assert message.image.exposure_time == pytest.approx(0.9943, abs=1e-4)
        blobs.check(message)
        # Excluded pixels read as the largest value, where the mask is the right way up.
        assert (pixels(message)[mask != 0] == 2**32 - 1).all()
    assert last == SeriesEnd(series="01HRCJF83SA63WH8M5X1VBKFJM")
