"""The stream of the SLS detector software to STINS messages."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from penstock.receiver.sources.sls import SlsSource, planned
from penstock.stins import blobs
from penstock.stins.errors import BlobError, RemoteError
from penstock.stins.messages import Frame, Message, SeriesEnd, Start
from tests.receiver.sources.sls import DUMMY, SHAPE, header, message, pixels


def decoded(source: SlsSource, parts: Sequence[bytes]) -> tuple[Message, ...]:
    found = source.decode(parts)
    return found if isinstance(found, tuple) else (found,)


def kinds(*messages: Sequence[bytes]) -> str:
    """What a stream becomes: one letter a STINS message."""
    source = SlsSource()
    letters = {Start: "S", Frame: "f", SeriesEnd: "E"}
    return "".join(letters[type(found)] for parts in messages for found in decoded(source, parts))


def first(**keys: Any) -> tuple[Start, Frame]:
    start, frame = decoded(SlsSource(), message(**keys))
    assert isinstance(start, Start)
    assert isinstance(frame, Frame)
    return start, frame


def array(frame: Frame) -> np.ndarray[Any, Any]:
    blobs.check(frame)
    return np.frombuffer(frame.blobs[0], frame.image.type).reshape(frame.image.shape)


# -- where series begin and end ----------------------------------------------------------------


def test_first_frame_begins_a_series_and_the_dummy_ends_it() -> None:
    assert kinds(message(0), message(1), message(2), [DUMMY]) == "SfffE"


def test_dummy_is_sent_again_until_everybody_has_it() -> None:
    assert kinds([DUMMY], message(0), [DUMMY], [DUMMY], [DUMMY], message(0)) == "SfESf"


def test_receiver_that_comes_late_begins_in_the_middle() -> None:
    source = SlsSource()
    _, frame = decoded(source, message(57))
    assert isinstance(frame, Frame)
    assert frame.image.frame == 57
    assert isinstance(source.decode(message(58)), Frame)


@pytest.mark.parametrize(
    "other",
    [
        {"fileIndex": 1}, {"fname": "/data/other"}, {"first": 500},
        {"timestamp": 90_000_000},  # the same numbers again, a second time taken
    ],
    ids=lambda keys: "".join(keys),
)  # fmt: skip
def test_other_acquisition_begins_a_series_although_the_end_of_the_one_before_was_lost(
    other: dict[str, Any],
) -> None:
    assert kinds(message(0), message(0, **other)) == "SfSf"


def test_frame_index_that_goes_back_begins_a_series() -> None:
    assert kinds(message(0), message(1), message(2), message(0), message(1)) == "SfffSff"


def test_same_frame_twice_is_left_to_the_account() -> None:
    assert kinds(message(0), message(1), message(1), message(2)) == "Sffff"


def test_frames_that_were_lost_leave_a_gap_and_no_new_series() -> None:
    assert kinds(message(0), message(7)) == "Sff"


# -- the start message ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fname", "index", "filename"),
    [
        ("//run", 0, None),  # nothing was set: path / and name run
        ("/run", 3, None),
        ("run", 0, None),
        ("", 0, None),
        ("/data/visitors/scan", 3, "/data/visitors/scan_3.h5"),
        ("//data/visitors/scan", 0, "/data/visitors/scan_0.h5"),
        ("/data/visitors/scan.h5", 3, "/data/visitors/scan.h5"),
    ],
)
def test_file_is_named_as_the_sls_software_names_its_own(
    fname: str, index: int, filename: str | None
) -> None:
    assert first(fname=fname, fileIndex=index)[0].header.filename == filename


def test_file_name_in_the_additional_header_wins_and_the_rest_is_the_users() -> None:
    start, _ = first(fname="/data/scan", addJsonHeader={"filename": "/data/mine.h5", "sample": "CeO2"})
    assert start.header.filename == "/data/mine.h5"
    assert start.metadata["user"] == {"sample": "CeO2"}
    assert first(addJsonHeader={"filename": ""})[0].header.filename == ""


def test_header_announces_what_the_first_frame_shows() -> None:
    said = first(frames=1000)[0].header
    assert (said.frames, said.shape, said.type, said.compression, said.frame_bytes) == (
        1000, SHAPE, "uint16", "none", 48,
    )  # fmt: skip


@pytest.mark.parametrize("frames", [1, 2, 3, 7, 999, 1000, 12_345, 99_991, 100_000])
def test_number_of_frames_follows_from_the_progress(frames: int) -> None:
    for index in {0, 1, frames // 3, frames - 1} & set(range(frames)):
        assert planned(index, float(f"{100 * (index + 1) / frames:.6g}")) == frames


@pytest.mark.parametrize(
    ("index", "progress"),
    [
        (0, None), (0, 0.0), (0, -1.0), (5, 101.0), (0, float("nan")), (0, float("inf")), (0, 1e-300),
        (0, 5e-324), (2**63 - 1, 1e-290),
    ],
)  # fmt: skip
def test_progress_that_does_not_tell_exactly_leaves_the_number_unknown(
    index: int, progress: float | None
) -> None:
    assert planned(index, progress) is None


def test_six_digits_are_not_taken_for_more() -> None:
    # Of 900,001 and 900,002 frames the first is 0.000111111 percent alike.
    assert planned(0, float(f"{100 / 900_001:.6g}")) is None


def test_metadata_say_what_the_detector_is_and_keep_the_rest_as_sent() -> None:
    metadata = first(modId=7, detType=3)[0].metadata
    assert metadata["description"] == "JUNGFRAU"
    assert metadata["bit_depth_readout"] == 16
    assert metadata["vendor"]["modId"] == 7
    assert "frameIndex" not in metadata["vendor"]


def test_header_as_package_6_sends_it() -> None:
    # Of a MOENCH; names that have changed since (bunchId, reserved, debug, roundRNumber) are not needed.
    sent = {
        "jsonversion": 4, "bitmode": 16, "fileIndex": 0, "detshape": [1, 1], "shape": [400, 400],
        "size": 320000, "acqIndex": 4, "frameIndex": 0, "progress": 100.0, "fname": "//run", "data": 1,
        "completeImage": 1, "frameNumber": 4, "expLength": 0, "packetNumber": 239, "bunchId": 0,
        "timestamp": 0, "modId": 0, "row": 0, "column": 0, "reserved": 0, "debug": 0, "roundRNumber": 0,
        "detType": 5, "version": 1, "flipRows": 0, "quad": 0, "addJsonHeader": {"emin": "500"},
    }  # fmt: skip
    start, frame = decoded(SlsSource(), [json.dumps(sent).encode(), bytes(320_000)])
    assert isinstance(start, Start)
    assert isinstance(frame, Frame)
    blobs.check(frame)
    assert (start.header.frames, start.header.filename) == (1, None)
    assert (start.metadata["description"], start.metadata["user"]) == ("MOENCH", {"emin": "500"})
    assert frame.image.exposure_time is None


# -- several ports -------------------------------------------------------------------------------


def place(**keys: Any) -> tuple[Any, ...]:
    metadata = first(**keys)[0].metadata
    return tuple(metadata.get(key) for key in ("x", "y", "rotation", "full_shape"))


def test_port_of_several_says_where_its_module_sits() -> None:
    assert place(detshape=[2, 3], row=2, column=1) == (6, 8, 0, [12, 12])


def test_rows_of_an_eiger_were_counted_from_below_before_package_8() -> None:
    assert place(detshape=[2, 4], row=0, column=1, detType=1) == (6, 12, 0, [16, 12])
    since = place(detshape=[2, 4], row=0, column=1, detType=1, rx_roi=[-1, -1, -1, -1])
    assert since == (6, 0, 0, [16, 12])


@pytest.mark.parametrize("keys", [{"detshape": [1, 1]}, {"detshape": [2, 1], "rx_roi": [0, 3, -1, -1]}])
def test_whole_detector_and_a_region_of_one_have_no_place(keys: dict[str, Any]) -> None:
    assert place(**keys) == (None, None, None, None)


# -- frames ----------------------------------------------------------------------------------------


def test_frame_has_rows_first_its_number_and_times() -> None:
    image = first(index=4)[1].image
    assert (image.shape, image.type, image.frame) == (SHAPE, "uint16", 4)
    assert image.exposure_time == pytest.approx(0.01)
    assert image.timestamp_hw == pytest.approx(2.0004)


def test_subframes_of_a_32_bit_eiger_are_no_exposure_time() -> None:
    blob = pixels(0, "<u4").tobytes()
    assert first(bitmode=32, detType=1, blob=blob)[1].image.exposure_time is None


@pytest.mark.parametrize(("bits", "dtype"), [(8, "uint8"), (16, "uint16"), (32, "uint32")])
def test_pixels_pass_through_untouched(bits: int, dtype: str) -> None:
    blob = pixels(3, dtype).tobytes()
    frame = first(bitmode=bits, blob=blob)[1]
    assert frame.blobs[0] is blob
    assert np.array_equal(array(frame), pixels(3, dtype))


def test_4_bit_pixels_become_a_byte_each_the_left_one_is_the_lower_half() -> None:
    wanted = (np.arange(24) % 16).astype("u1").reshape(SHAPE)
    flat = wanted.ravel()
    packed = bytes(int(flat[i]) | int(flat[i + 1]) << 4 for i in range(0, 24, 2))
    assert np.array_equal(array(first(bitmode=4, blob=packed)[1]), wanted)


def test_lower_half_module_of_an_eiger_is_turned_upright() -> None:
    blob = pixels(1)[::-1].tobytes()
    assert np.array_equal(array(first(detType=1, flipRows=1, blob=blob)[1]), pixels(1))
    # Other detectors do not flip, whatever the header says.
    assert np.array_equal(array(first(detType=3, flipRows=1, blob=blob)[1]), pixels(1)[::-1])


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ({"blob": bytes(47)}, "blob_length"),
        ({"blob": b""}, "blob_length"),
        ({"blob": bytes(47), "detType": 1, "flipRows": 1}, "blob_length"),
        ({"blob": bytes(24), "bitmode": 4}, "unknown_compression"),
    ],
)
def test_blob_of_another_length_is_refused_with_the_number_of_its_frame_known(
    keys: dict[str, Any], kind: str
) -> None:
    frame = first(index=3, **keys)[1]
    with pytest.raises(BlobError, match="frame 3") as caught:
        blobs.check(frame)
    assert caught.value.kind == kind


def test_frame_of_which_packets_were_lost_is_partial_and_says_so() -> None:
    frame = first(completeImage=0, packetNumber=97)[1]
    assert frame.image.partial is not None
    assert "only 97 of its packets" in frame.image.partial
    assert np.array_equal(array(frame), pixels(0))
    assert first()[1].image.partial is None


# -- hostile input ---------------------------------------------------------------------------------


def text(**keys: Any) -> bytes:
    return json.dumps(keys).encode()


def without(key: str) -> list[bytes]:
    return [text(**{name: value for name, value in header().items() if name != key}), bytes(48)]


HOSTILE: list[tuple[list[bytes], str]] = [
    ([], "no_parts"),
    ([b""], "not_json"),
    ([b"\xff\x00"], "not_json"),
    ([b'{"data": 1, "a": ' + b"[" * 100_000], "not_json"),
    ([b"[]"], "wrong_type"),
    ([b"null"], "wrong_type"),
    ([b"{}"], "missing_key"),
    ([text(data="1")], "wrong_type"),
    ([text(data=1)], "missing_key"),
    (message()[:1], "wrong_parts"),
    ([*message(), b""], "wrong_parts"),
    (without("bitmode"), "missing_key"),
    (without("shape"), "missing_key"),
    (without("frameIndex"), "missing_key"),
    (message(bitmode=12), "unknown_type"),
    (message(bitmode="16"), "wrong_type"),
    (message(shape=[6]), "wrong_type"),
    (message(shape=[6, -4]), "wrong_type"),
    (message(shape=[0, 4]), "bad_shape"),
    (message(shape=[2**20, 2**20]), "too_large"),
    (message(frameIndex=-1), "wrong_type"),
    (message(frameIndex=2**64), "wrong_type"),
    (message(timestamp=-1), "wrong_type"),
    (message(detshape=[-1, 2]), "wrong_type"),
    (message(row=2**40), "wrong_type"),
    (message(fname=5), "wrong_type"),
    (message(fname="/" + "a" * 5000), "wrong_type"),
    (message(progress="all"), "wrong_type"),
    (message(addJsonHeader={"filename": 5}), "wrong_type"),
    (message(addJsonHeader={"filename": "/" + "x" * 4096}), "wrong_type"),
]


@pytest.mark.parametrize(("parts", "kind"), HOSTILE)
def test_hostile_message_is_refused_by_name_and_the_next_series_is_whole(
    parts: list[bytes], kind: str
) -> None:
    source = SlsSource()
    with pytest.raises(RemoteError) as caught:
        source.decode(parts)
    assert caught.value.kind == kind
    assert [type(found) for found in decoded(source, message(0))] == [Start, Frame]
    assert [type(found) for found in decoded(source, message(1))] == [Frame]


@pytest.mark.parametrize(
    "keys",
    [
        {"rx_roi": "everything"}, {"rx_roi": [[]]}, {"addJsonHeader": []}, {"addJsonHeader": "mine"},
        {"detType": -5}, {"detshape": [0, 0]}, {"progress": 1e308}, {"completeImage": 7},
        {"fname": "/\x00/a"}, {"detshape": [2**31 - 1, 2**31 - 1], "row": 2**31 - 1},
    ],
    ids=lambda keys: "".join(keys),
)  # fmt: skip
def test_odd_values_of_keys_that_only_inform_cost_no_frame(keys: dict[str, Any]) -> None:
    assert np.array_equal(array(first(**keys)[1]), pixels(0))


def survives(part: bytes) -> bool:
    """Whether a frame comes of it that can be judged; anything but a named error of the peer is raised."""
    try:
        found = SlsSource().decode([part, pixels(0).tobytes()])
    except RemoteError:
        return False
    for each in found if isinstance(found, tuple) else (found,):
        if isinstance(each, Frame):
            with contextlib.suppress(BlobError):
                blobs.check(each)
    return True


def test_header_cut_anywhere_is_an_error_of_the_peer() -> None:
    part = message(frames=3)[0]
    assert not any(survives(part[:end]) for end in range(len(part)))


def test_every_flipped_bit_of_a_header_is_a_message_or_an_error_of_the_peer() -> None:
    part = message(frames=3, fname="/data/scan", addJsonHeader={"filename": "/data/a.h5"})[0]
    flipped = [
        survives(part[:place] + bytes([part[place] ^ 1 << bit]) + part[place + 1 :])
        for place in range(len(part))
        for bit in range(8)
    ]
    assert any(flipped)
    assert not all(flipped)
