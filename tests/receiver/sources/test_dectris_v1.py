"""DECTRIS stream V1 to STINS messages."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.cli._recordings import recording as recordings
from penstock.receiver.sources.dectris_v1 import DectrisV1Source
from penstock.stins import blobs
from penstock.stins.errors import BlobError, NotTaken, RemoteError
from penstock.stins.messages import Frame, RefusedImage, SeriesEnd, Start
from tests.data import EIGER_V1, recording
from tests.receiver.pixels import bslz4, lz4_block, pixels
from tests.receiver.processes import ReceiverProcess
from tests.receiver.sources.errors import error_of
from tests.streams import Streamer

CONFIG = {"nimages": 5, "ntrigger": 3, "count_time": 0.1, "frame_time": 0.2, "trigger_mode": "exts"}


def text(**keys: Any) -> bytes:
    return json.dumps(keys).encode()


def start(
    detail: str = "basic", config: object = CONFIG, appendix: bytes | None = None, series: int = 7
) -> list[bytes]:
    parts = [text(htype="dheader-1.0", series=series, header_detail=detail)]
    if detail != "none":
        parts.append(json.dumps(config).encode())
    if detail == "all":
        table = np.arange(6, dtype="<u4")
        parts += [text(htype="dflatfield-1.0", shape=[3, 2], type="float32"), table.astype("<f4").tobytes()]
        parts += [text(htype="dpixelmask-1.0", shape=[3, 2], type="uint32"), table.tobytes()]
        parts += [text(htype="dcountrate_table-1.0", shape=[2, 3], type="uint32"), table.tobytes()]
    return parts if appendix is None else [*parts, appendix]


def frame(number: int = 0, encoding: str = "<", blob: bytes | None = None, **data: Any) -> list[bytes]:
    blob = np.arange(6, dtype="<u2").tobytes() if blob is None else blob
    described = {"shape": [3, 2], "type": "uint16", "encoding": encoding, "size": len(blob), **data}
    return [
        text(htype="dimage-1.0", series=7, frame=number, hash="0" * 32),
        text(htype="dimage_d-1.0", **described),
        blob,
        text(htype="dconfig-1.0", start_time=2_000_000_000, stop_time=3, real_time=100_000_000),
    ]


def decoded_start(parts: Sequence[bytes]) -> Start:
    message = DectrisV1Source().decode(parts)
    assert isinstance(message, Start)
    return message


def decoded_frame(parts: Sequence[bytes]) -> Frame:
    message = DectrisV1Source().decode(parts)
    assert isinstance(message, Frame)
    return message


def test_start_says_series_frames_and_frame_time() -> None:
    header = decoded_start(start()).header
    assert (header.series, header.frames, header.frame_time) == ("7", 15, 0.2)


def test_start_without_configuration_leaves_everything_unknown() -> None:
    message = decoded_start(start("none"))
    assert message.header.frames is None
    assert message.header.filename is None
    assert message.metadata == {}


def test_triggered_series_is_never_called_silent_by_its_mode() -> None:
    assert decoded_start(start()).header.trigger_mode is None


@pytest.mark.parametrize("detail", ["none", "basic", "all"])
@pytest.mark.parametrize(
    ("appendix", "filename"),
    [
        (None, None), (b"", None), (b"{}", None), (b'{"filename": null}', None), (b"scan 7", None),
        (b"[1]", None), (b'{"filename": ""}', ""), (b'{"filename": "/a/b.h5", "rotate": 1}', "/a/b.h5"),
    ],
)  # fmt: skip
def test_file_name_comes_from_the_header_appendix(
    detail: str, appendix: bytes | None, filename: str | None
) -> None:
    assert decoded_start(start(detail, appendix=appendix)).header.filename == filename


def test_rest_of_the_appendix_is_kept_as_the_users_own() -> None:
    assert decoded_start(start(appendix=b'{"filename": "", "rotate": 1}')).metadata["user"] == {"rotate": 1}
    assert decoded_start(start(appendix=b"scan 7")).metadata["user"] == "scan 7"


def test_the_goniometer_is_an_object_and_its_keys_stay_the_vendors() -> None:
    config = {
        **CONFIG,
        "omega_start": 90.0,
        "omega_increment": 0.1,
        "omega_axis": [-1, 0, 0],
        "phi_start": 10,
    }
    metadata = decoded_start(start(config=config)).metadata
    assert metadata["goniometer"] == {
        "omega": {"start": 90.0, "increment": 0.1, "axis": [-1, 0, 0]}, "phi": {"start": 10},
    }  # fmt: skip
    assert metadata["vendor"]["omega_start"] == 90.0
    assert "goniometer" not in decoded_start(start()).metadata


@pytest.mark.parametrize(("mode", "source"), [("ints", "hardware counter"), ("exts", None)])
def test_only_the_internal_mode_vouches_for_its_numbers(mode: str, source: str | None) -> None:
    # Else a missed edge shifts all frames that follow, unseen.
    found = decoded_start(start(config={**CONFIG, "trigger_mode": mode})).header.index_source
    assert found == source
    assert found is None or type(found) is str


def test_metadata_have_nexus_names_and_the_rest_is_the_vendors() -> None:
    config = {**CONFIG, "photon_energy": 8000.0, "detector_distance": 0.2, "phi_start": 1.0}
    metadata = decoded_start(start(config=config)).metadata
    assert metadata["incident_energy"] == 8000.0
    assert metadata["distance"] == 0.2
    assert metadata["vendor"]["phi_start"] == 1.0
    assert metadata["vendor"]["trigger_mode"] == "exts"


def test_tables_have_rows_first() -> None:
    metadata = decoded_start(start("all")).metadata
    assert metadata["flatfield"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert metadata["pixel_mask"].dtype == np.uint32
    assert metadata["countrate_correction_lookup_table"].shape == (3, 2)


def test_frame_has_rows_first_its_number_and_times() -> None:
    image = decoded_frame(frame(4)).image
    assert image.shape == (2, 3)
    assert (image.frame, image.series, image.compression) == (4, "7", "none")
    assert image.exposure_time == pytest.approx(0.1)
    assert image.timestamp_hw == pytest.approx(2.0)


def test_trigger_follows_from_the_start_message() -> None:
    source = DectrisV1Source()
    source.decode(start())
    message = source.decode(frame(11))
    assert isinstance(message, Frame)
    assert message.image.trigger == 2


def test_frame_without_start_message_is_still_a_frame() -> None:
    message = decoded_frame(frame(11))
    assert message.image.trigger is None
    blobs.check(message)


def test_image_appendix_is_allowed() -> None:
    assert decoded_frame([*frame(), b'{"mine": 1}']).image.frame == 0


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_bitshuffled_frame_is_passed_through_untouched(dtype: str) -> None:
    array = np.arange(600, dtype=dtype).reshape(20, 30)
    blob = bslz4(array)
    order = "" if dtype == "uint8" else "<"
    message = decoded_frame(
        frame(encoding=f"bs{8 * array.itemsize}-lz4{order}", blob=blob, shape=[30, 20], type=dtype)
    )
    assert message.blobs[0] is blob
    blobs.check(message)
    assert np.array_equal(pixels(message), array)


@pytest.mark.parametrize(("dtype", "encoding"), [("uint8", "lz4"), ("uint16", "lz4<"), ("uint32", "lz4<")])
def test_a_lone_lz4_block_gets_the_header_of_the_hdf5_filter(dtype: str, encoding: str) -> None:
    array = (np.arange(600) % 200).astype(dtype).reshape(20, 30)
    block = lz4_block(array)
    message = decoded_frame(frame(encoding=encoding, blob=block, shape=[30, 20], type=dtype, size=len(block)))
    assert message.image.compression == "lz4"
    assert bytes(message.blobs[0])[16:] == block, "it was packed again"
    blobs.check(message)
    assert np.array_equal(pixels(message), array)


def test_an_lz4_block_as_long_as_its_pixels_is_not_taken_for_plain_ones() -> None:
    """Filter 32004 would do that."""
    first, last = bytes(range(1, 15)), bytes(range(100, 145))
    # 14 bytes, and 5 again from 4 bytes before; then 15 + 30 bytes.
    block = b"".join((b"\xe1", first, b"\x04\x00", b"\xf0\x1e", last))
    array = np.frombuffer(first + bytes((11, 12, 13, 14, 11)) + last, "<u2").reshape(4, 8)
    assert len(block) == array.nbytes
    message = decoded_frame(frame(encoding="lz4<", blob=block, shape=[8, 4], type="uint16"))
    blobs.check(message)
    assert np.array_equal(pixels(message), array)
    noise = decoded_frame(frame(encoding="lz4<", blob=b"\xff" * 64, shape=[8, 4], type="uint16"))
    with pytest.raises(BlobError, match="cannot be unpacked"):
        blobs.check(noise)


@pytest.mark.parametrize("encoding", ["lz4>", "bs32-lz4<", "bs16-lz4>", ">", "zstd<", ""])
def test_other_encoding_is_refused_with_the_number_of_its_frame_known(encoding: str) -> None:
    message = decoded_frame(frame(3, encoding=encoding))
    with pytest.raises(BlobError, match="frame 3") as caught:
        blobs.check(message)
    assert caught.value.kind == "unknown_compression"


@pytest.mark.parametrize("encoding", ["<", "bs16-lz4<", "lz4<"])
def test_cut_blob_is_refused_with_the_number_of_its_frame_known(encoding: str) -> None:
    array = (np.arange(600, dtype=np.uint16) % 200).reshape(20, 30)
    whole = {"<": array.tobytes, "lz4<": lambda: lz4_block(array)}.get(encoding, lambda: bslz4(array))()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        cut = frame(3, encoding=encoding, blob=whole[:length], shape=[30, 20], size=len(whole))
        message = decoded_frame(cut)
        assert message.image.frame == 3
        with pytest.raises(BlobError, match="frame 3") as caught:
            blobs.check(message)
        assert caught.value.kind == "blob_length"


def test_end_names_its_series() -> None:
    assert DectrisV1Source().decode([text(htype="dseries_end-1.0", series=7)]) == SeriesEnd(series="7")


HOSTILE: list[tuple[list[bytes], str]] = [
    ([], "no_parts"),
    ([b""], "not_json"),
    ([b"\xff\x00"], "not_json"),
    ([b"[]"], "wrong_type"),
    ([b"null"], "wrong_type"),
    ([b"{}"], "missing_key"),
    ([text(htype="dheader-9.0")], "unknown_htype"),
    ([text(htype=["dimage-1.0"])], "wrong_type"),
    ([text(htype="dimage-1.0", series=7)], "missing_key"),
    ([text(htype="dheader-1.0", series="7", header_detail="none")], "wrong_type"),
    ([text(htype="dheader-1.0", series=7, header_detail="some")], "wrong_type"),
    ([text(htype="dheader-1.0", series=7, header_detail="all")], "missing_parts"),
    ([text(htype="dheader-1.0", series=2**70, header_detail="none")], "wrong_type"),
    ([b'{"a": ' + b"[" * 100_000], "not_json"),
    ([text(htype="dseries_end-1.0", series=7), b""], "extra_parts"),
    (start(config=[]), "wrong_type"),
    (start(config={"nimages": 0, "ntrigger": 1}), "wrong_type"),
    (start(config={"nimages": 2**64, "ntrigger": 1}), "wrong_type"),
    (start(config={"nimages": "5", "ntrigger": 1}), "wrong_type"),
    (start(appendix=b'{"filename": 5}'), "wrong_type"),
    ([*start(), b"{}", b"{}"], "extra_parts"),
    ([*start("all"), b"{}", b"{}"], "extra_parts"),
    ([*start("none"), b"", b""], "extra_parts"),
    ([*start("all")[:3], b"short", b""], "blob_length"),
    ([*start("all")[:2], text(htype="dpixelmask-1.0", shape=[0, 2], type="uint32"), b""], "bad_shape"),
    ([*start("all")[:2], text(htype="dpixelmask-1.0", shape=[1, 2], type="str"), b""], "unknown_type"),
    (frame()[:1], "wrong_parts"),
    (frame()[:3], "wrong_parts"),
    ([*frame(), b"", b""], "wrong_parts"),
    (frame(-1), "wrong_type"),
    (frame(2**63), "wrong_type"),
    (frame(shape=[1, 2, 3]), "wrong_type"),
    (frame(shape="12"), "wrong_type"),
    (frame(type=5), "wrong_type"),
    ([*frame()[:3], b"x"], "not_json"),
]


@pytest.mark.parametrize(("parts", "kind"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_message_is_a_named_error_of_the_peer(parts: list[bytes], kind: str) -> None:
    error = error_of(DectrisV1Source(), parts)
    assert error.kind == kind
    assert len(str(error)) < 500


@pytest.mark.parametrize("parts", [frame(7)[:1], frame(7)[:3], frame(7, type=5)])
def test_a_frame_that_cannot_be_used_is_corrupt_at_its_index(parts: list[bytes]) -> None:
    source = DectrisV1Source()
    source.decode(start())
    found = source.decode(parts)
    assert isinstance(found, Frame) and isinstance(found.image, RefusedImage)
    assert (found.image.frame, found.image.series) == (7, "7")


@pytest.mark.slow
@pytest.mark.parametrize("bad", [0, 2])
def test_a_frame_of_one_part_costs_that_frame_only(bad: int, tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, {"type": "dectris-v1"}, filename_template="x.h5")
    try:
        streamer.send(start(config={"nimages": 4, "ntrigger": 1}))
        for number in range(4):
            streamer.send(frame(number)[: 1 if number == bad else None])
        streamer.send([text(htype="dseries_end-1.0", series=7)])
        status = receiver.ended("7")
    finally:
        receiver.close()
        streamer.close()
    counts = status.counts
    assert (status.state, counts.stored, counts.corrupt, counts.missing) == ("idle", 3, 1, 0)
    assert "has 1 part" in status.last_error


def check_decoding(source: DectrisV1Source, parts: Sequence[bytes]) -> None:
    message = source.decode(parts)
    if isinstance(message, Frame):
        blobs.check(message)


@pytest.mark.parametrize(
    "message", [start("all", appendix=b'{"filename": ""}'), frame()], ids=["start", "frame"]
)
def test_message_cut_anywhere_is_an_error_of_the_peer(message: list[bytes]) -> None:
    source = DectrisV1Source()
    for number, part in enumerate(message):
        for length in range(len(part)):
            cut = [*message[:number], part[:length], *message[number + 1 :]]
            if number == 8:
                source.decode(cut)  # the user's own text may be anything
            else:
                with pytest.raises(RemoteError):
                    check_decoding(source, cut)


@pytest.mark.parametrize("shape", [[0, 2], [-3, -2], [2**40, 2**40]])
def test_absurd_shape_is_refused_before_anything_is_allocated(shape: list[int]) -> None:
    with pytest.raises(BlobError):
        blobs.check(decoded_frame(frame(shape=shape)))


def test_parts_may_be_memory_that_is_not_ours() -> None:
    source = DectrisV1Source()
    for message in (start("all", appendix=b'{"filename": ""}'), frame()):
        assert source.decode([memoryview(part) for part in message]) is not None


def test_recording_of_an_eiger_is_decoded() -> None:
    source = DectrisV1Source()
    messages = [source.decode(parts) for parts in recordings.read(recording(EIGER_V1))]
    first, *frames = messages
    assert isinstance(first, Start)
    assert first.header.filename == ""
    assert first.header.frames == 100_000
    assert first.header.series == "14"
    assert first.metadata["serial_number"] == "E-02-0153"
    mask = first.metadata["pixel_mask"]
    assert mask.shape == (1065, 1030)
    assert int(np.count_nonzero(mask)) == first.metadata["vendor"]["number_of_excluded_pixels"]
    assert len(frames) == 9
    for number, message in enumerate(frames):
        assert isinstance(message, Frame)
        assert message.image.frame == number
        assert message.image.shape == (1065, 1030)
        blobs.check(message)
        image = pixels(message)
        # Excluded pixels read as the largest value, where the mask is right way up.
        assert (image[mask != 0] == 2**32 - 1).all()
        assert np.median(image[mask == 0]) < first.metadata["saturation_value"]


def test_not_a_number_in_configuration_and_appendix_costs_nothing() -> None:
    parts = start(config={"nimages": 1, "ntrigger": 1, "detector_distance": math.nan})
    appendix = b'{"filename": "/data/x.h5", "T": NaN}'
    message = DectrisV1Source().decode([*parts[:2], appendix])
    assert isinstance(message, Start)
    assert message.header.filename == "/data/x.h5"
    assert math.isnan(message.metadata["distance"])
    assert math.isnan(message.metadata["user"]["T"])


TABLE = [text(htype="dpixelmask-1.0", shape=[3, 2], type="uint32"), np.arange(6, dtype="<u4").tobytes()]
APPENDIX = b'{"filename": "/data/x.h5"}'
WITH_BLOB = [text(htype="flatfield-1.0", shape=[3, 2], type="float32"), bytes(24)]
ALONE = [text(htype="dtemperature-1.0", value=21.5)]


@pytest.mark.parametrize("extra", [WITH_BLOB, ALONE], ids=["with a blob", "alone"])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("detail", ["basic", "all"])
def test_a_part_of_unknown_htype_is_left_out_and_named(extra: list[bytes], before: bool, detail: str) -> None:
    tables = [*extra, *TABLE] if before else [*TABLE, *extra]
    decoded = DectrisV1Source().decode([text(htype="dheader-1.0", series=7, header_detail=detail),
                                        json.dumps(CONFIG).encode(), *tables, APPENDIX])  # fmt: skip
    assert isinstance(decoded, tuple)
    error, message = decoded
    assert isinstance(error, RemoteError) and isinstance(message, Start)
    assert error.kind == "unknown_part"
    assert json.loads(extra[0])["htype"] in str(error)
    assert message.header.filename == "/data/x.h5"
    assert message.metadata["pixel_mask"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_start_message_that_cannot_be_used_says_which_series_is_not_taken() -> None:
    source = DectrisV1Source()
    with pytest.raises(NotTaken, match="no configuration") as caught:
        source.decode([text(htype="dheader-1.0", series=7, header_detail="all")])
    assert (caught.value.kind, caught.value.header.series) == ("missing_parts", "7")


def test_a_running_receiver_takes_the_series_and_counts_the_part(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, {"type": "dectris-v1"})
    try:
        receiver.connected()
        path = receiver.root / "x.h5"
        appendix = json.dumps({"filename": str(path)}).encode()
        streamer.send([*start(config={"nimages": 2, "ntrigger": 1}), *WITH_BLOB, appendix])
        for number in range(2):
            streamer.send(frame(number))
        streamer.send([text(htype="dseries_end-1.0", series=7)])
        status = receiver.ended("7")
        assert (status.counts.stored, status.series.complete) == (2, True)
        assert status.errors == {"unknown_part": 1}
        assert 'htype "flatfield-1.0"' in status.last_error
        assert status.series.filename == str(path)
    finally:
        receiver.close()
        streamer.close()
