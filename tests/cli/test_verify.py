"""`penstock verify`: a real file, from a streamer whose blobs have checksums, damaged afterwards."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.cli.main import main
from penstock.codecs import bslz4
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import SeriesFile
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.checksums import ALGORITHMS, checksums
from penstock.stins.messages import Frame, Header, Image, SeriesEnd, Start

SHAPE = (2, 40, 60)


def write(
    path: Path,
    frames: int = 8,
    *,
    algorithm: str | None = "crc32",
    compression: str = "bslz4",
    shape: tuple[int, ...] = SHAPE,
    bare: tuple[int, ...] = (),
    killed: Path | None = None,
) -> None:
    """A series whose sender announced an algorithm.

    Args:
        bare: frames that came without a checksum.
        killed: what the death of the receiver would have left, after a flush.
    """
    header = Header(filename=str(path), series="a1", frames=frames, checksum=algorithm)
    series = RunningSeries(Start(header, {}))
    writer = SeriesWriter(path, "sim", series, "test")
    for index in range(frames):
        array = np.random.default_rng(index).poisson(3, shape).astype("<u2")
        parts = list(array) if len(shape) == 3 else [array]
        blobs = [bslz4.compress(part) if compression == "bslz4" else part.tobytes() for part in parts]
        sums = checksums(algorithm, blobs) if algorithm in ALGORITHMS and index not in bare else None
        if sums is not None and index % 2:  # some senders write them so
            sums = tuple(map(str.upper, sums))
        image = Image(shape=shape, type="uint16", compression=compression, frame=index, checksums=sums)
        writer.add(index, Frame(image, blobs))
        series.account.take(index, FrameStatus.STORED)
    if killed is not None:
        writer.flush()
        shutil.copy(path, killed)
    series.end = SeriesEnd(series="a1", reason="complete", triggered=frames, sent=frames)
    writer.close(series.close(None), synced=False)


def damage(path: Path, *corners: tuple[int, ...]) -> None:
    """Flip one byte in the middle of each chunk, on the disk, behind HDF5's back."""
    with h5py.File(path) as file:
        data = file["entry/instrument/sim/data"].id
        chunks = [data.get_chunk_info_by_coord(corner) for corner in corners]
    with path.open("r+b") as raw:
        for chunk in chunks:
            place = chunk.byte_offset + chunk.size // 2
            raw.seek(place)
            byte = raw.read(1)[0]
            raw.seek(place)
            raw.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("compression", ["none", "bslz4"])
@pytest.mark.parametrize("shape", [SHAPE, SHAPE[1:]], ids=["two blobs", "one blob"])
def test_a_file_as_it_was_received_is_verified(
    algorithm: str, compression: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    write(tmp_path / "a.h5", algorithm=algorithm, compression=compression, shape=shape)
    assert main(["verify", str(tmp_path / "a.h5")]) == 0


def test_frames_that_were_damaged_on_the_disk_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.h5"
    write(path)
    damage(path, (2, 0, 0, 0), (3, 1, 0, 0), (6, 1, 0, 0))
    assert main(["verify", "--json", str(path)]) == 1
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["sound"] is False
    (file,) = summary["files"]
    assert (file["wrong"], file["frames"], file["verified"]) == ("2-3, 6", 8, 5)


def test_the_checksums_stand_beside_the_frames_as_plain_text(tmp_path: Path) -> None:
    write(tmp_path / "a.h5", shape=SHAPE[1:], compression="none")
    with h5py.File(tmp_path / "a.h5") as file:
        detector = file["entry/instrument/sim"]
        assert detector["checksum"].attrs["algorithm"] == "crc32"
        blobs = [image.tobytes() for image in detector["data"]]
        stored = detector["checksum"].asstr()[:].tolist()
        assert [value.lower() for value in stored] == [checksums("crc32", [blob])[0] for blob in blobs]
        assert detector["series/checksum"].asstr()[()] == "crc32"


def test_a_file_without_checksums_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.h5", algorithm=None)
    assert main(["verify", str(tmp_path / "a.h5")]) == 1
    assert "its sender announced none; there is nothing to verify" in capsys.readouterr().out


def test_a_file_whose_algorithm_was_not_known_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a.h5", algorithm="md4")
    assert main(["verify", str(tmp_path / "a.h5")]) == 1
    assert "(unchecked: md4)" in capsys.readouterr().out


def test_a_frame_that_came_without_a_checksum_is_not_called_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a.h5", bare=(1, 2))
    assert main(["verify", str(tmp_path / "a.h5")]) == 1
    assert "frames 1-2 came without a checksum" in capsys.readouterr().out


def test_a_file_whose_receiver_was_killed_can_be_verified(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write(tmp_path / "live.h5", killed=path)
    mark_interrupted(str(path), "it was killed")
    with SeriesFile(path) as series:
        assert series.checksums is not None and len(series.checksums[1]) == 8
    assert main(["verify", str(path)]) == 0


def test_a_file_that_cannot_be_opened_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.h5")
    assert main(["verify", "--json", str(tmp_path / "none.h5"), str(tmp_path / "a.h5")]) == 2
    files = json.loads(capsys.readouterr().out.splitlines()[-1])["files"]
    assert [file["sound"] for file in files] == [True, False]
