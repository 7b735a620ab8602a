"""The one reader of series files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import ReaderError, SeriesFile
from tests.data import recording
from tests.receiver.h5_file import SHAPE, picture, write_series


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Six frames, of which 2 is lost and 3 corrupt."""
    path = tmp_path / "series.h5"
    write_series(path, 6, lost={2}, corrupt={3})
    return path


def test_frames_are_read_unpacked(file: Path) -> None:
    with SeriesFile(file) as series:
        assert series.shape == (6, *SHAPE)
        assert len(series) == 6
        assert series.dtype == np.uint16
        assert np.array_equal(series.frame(4), picture(4))
        assert [int(frame[0, 0]) for frame in series][:2] == [0, 1]


@pytest.mark.parametrize("compression", ["none", "bslz4"])
def test_both_ways_of_storing_are_read(tmp_path: Path, compression: str) -> None:
    write_series(tmp_path / "a.h5", 2, compression=compression)
    with SeriesFile(tmp_path / "a.h5") as series:
        assert np.array_equal(series.frame(1), picture(1))


def test_account_is_read(file: Path) -> None:
    with SeriesFile(file) as series:
        assert (series.detector, series.id, series.planned) == ("sim", "a1", 6)
        assert series.state == "incomplete"
        assert "1 missing" in series.reason
        assert (series.counts["stored"], series.counts["missing"], series.counts["corrupt"]) == (4, 1, 1)
        status = series.frame_status
        assert status is not None
        assert status[2:4].tolist() == [FrameStatus.MISSING, FrameStatus.CORRUPT]


def test_only_what_was_stored_is_allocated(file: Path) -> None:
    with SeriesFile(file) as series:
        assert [series.is_allocated(index) for index in range(6)] == [True, True, False, False, True, True]


def test_default_plot_is_the_frames(file: Path) -> None:
    with SeriesFile(file) as series:
        assert series.default_plot == "/entry/data/data"


@pytest.mark.parametrize("index", [-1, 6])
def test_frame_beyond_the_end_is_an_index_error(file: Path, index: int) -> None:
    with SeriesFile(file) as series, pytest.raises(IndexError, match="6 frames"):
        series.frame(index)


def test_file_of_a_killed_receiver_is_read(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 3, killed=True)
    with SeriesFile(tmp_path / "a.h5") as series:
        assert series.state == "in progress"
        assert np.array_equal(series.frame(2), picture(2))


def test_series_without_frames_has_none(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 2, lost={0, 1})
    with SeriesFile(tmp_path / "a.h5") as series:
        assert (series.shape, series.dtype, list(series)) == ((0,), None, [])
        assert series.default_plot is None


def test_damaged_frame_is_told_by_its_number(file: Path) -> None:
    with h5py.File(file, "r+") as opened:
        opened["entry/data/data"].id.write_direct_chunk((4, 0, 0), b"\x00" * 40)
    with SeriesFile(file) as series, pytest.raises(ReaderError, match="frame 4"):
        series.frame(4)


def test_file_of_another_program_is_read() -> None:
    with SeriesFile(recording("lambda_m1_part00000.nxs")) as series:
        assert series.detector == "detector"
        assert series.shape == (10, 516, 1554)
        assert not series.has_account
        assert (series.planned, series.state, series.counts, series.frame_status) == (None, None, {}, None)
        assert series.frame(9).shape == (516, 1554)


def test_one_of_several_detectors_is_chosen_by_name(file: Path) -> None:
    with h5py.File(file, "r+") as opened:
        opened["entry/instrument/other"] = opened["entry/instrument/sim"]
    with SeriesFile(file, "other") as series:
        assert series.detector == "other"
    with pytest.raises(ReaderError, match="no NXdetector called third"):
        SeriesFile(file, "third")


def test_missing_file_folder_and_empty_file_are_told_so(tmp_path: Path) -> None:
    (tmp_path / "empty.h5").touch()
    for path, sentence in (
        (tmp_path / "none.h5", "does not exist"), (tmp_path, "folder"), (tmp_path / "empty.h5", "is empty"),
    ):  # fmt: skip
        with pytest.raises(ReaderError, match=sentence):
            SeriesFile(path)


def test_file_that_is_no_hdf5_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "text.h5"
    path.write_text("no HDF5 " * 100)
    with pytest.raises(ReaderError, match="not an HDF5 file"):
        SeriesFile(path)


def test_hdf5_that_is_no_nexus_is_told_so(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data"] = [1, 2, 3]
    with pytest.raises(ReaderError, match="no NXentry"):
        SeriesFile(tmp_path / "a.h5")


def test_nexus_without_a_detector_is_told_so(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_group("entry").attrs["NX_class"] = "NXentry"
    with pytest.raises(ReaderError, match="no NXdetector"):
        SeriesFile(tmp_path / "a.h5")


def test_file_cut_anywhere_is_an_error_that_names_file_or_frame(file: Path) -> None:
    whole = file.read_bytes()
    refused = 0
    sentences = []
    for length in range(0, len(whole), 101):
        file.write_bytes(whole[:length])
        try:
            with SeriesFile(file) as series:
                for index in range(len(series)):
                    series.frame(index)
        except ReaderError as error:
            refused += 1
            sentences.append(str(error))
    assert refused == len(range(0, len(whole), 101))
    assert all(str(file) in sentence for sentence in sentences)


def test_a_file_that_is_written_with_swmr_is_named_so(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as file:
        file.create_dataset("x", (1,), "u1", maxshape=(None,), chunks=(1,))
        file.swmr_mode = True
        program = "import sys; from penstock.receiver.reading import reader; reader.SeriesFile(sys.argv[1])"
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "a.h5")],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert "a.h5 is still being written with SWMR" in done.stderr
