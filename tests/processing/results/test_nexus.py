"""Other programs read a result file: validators of NeXus, silx, nexusformat, and Penstock's own reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import silx.io
import silx.io.nxdata
from nexusformat.nexus import nxload

from penstock.processing.wire import Array
from penstock.receiver.reading.hdf5_frames import Hdf5Frames
from penstock.receiver.reading.reader import ReaderError, SeriesFile
from tests.processing.results import made
from tests.recordings import validators
from tests.recordings.validators import Report

MEANT = (
    '"@axes" is not present in the group',  # no axis is known, and NXdata needs none
    "This field is not defined in NXdetector",  # of the raw file
    "This field is not defined in NXentry",  # sequence_number and timestamp
    '"@sha256" is not defined as an attribute in NXnote',
)


@pytest.fixture(scope="module", params=[1000, None], ids=["planned", "unplanned"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result file of all kinds of results, and its raw file."""
    folder = tmp_path_factory.mktemp("results")
    made.raw_file(folder / "x.h5", 1000)
    results = made.created(folder, request.param)
    made.fill(results, 0, 1000)
    hits = Array(name="hits", dtype="<f4", shape=(5, 2), kind="events", counts=(2, 3))
    results.rows(hits, np.array([7, 9]), np.zeros((5, 2), np.float32))
    image = Array(name="map.fine", dtype="<f4", shape=(1, 5, 2))
    results.rows(image, np.array([7]), np.ones((1, 5, 2), np.float32))
    mean = Array(name="mean", dtype="<u8", shape=(4, 6), kind="mean", n=1000)
    results.accumulated([mean], [np.ones((4, 6), "u8")], np.zeros(0, int))
    assert made.finish(results, 1000) == ""
    return folder / "x.spots.h5"


@pytest.mark.slow
@pytest.mark.parametrize("validate", [validators.nxcheck, validators.punx])
def test_validators_report_no_error(file: Path, validate: Callable[[Path], Report]) -> None:
    report = validate(file)
    assert report.errors == []
    if validate is validators.nxcheck:
        assert {says for _, says in report.warnings} == set(MEANT)


def test_silx_shows_curves_over_frames_at_once(file: Path) -> None:
    with silx.io.open(str(file)) as root:
        default = silx.io.nxdata.get_default(root)
        assert default is not None and default.signal_name == "curve"
        assert default.interpretation == "spectrum" and default.signal.shape == (1000, 512)


def test_nexusformat_plots_the_curves(file: Path) -> None:
    root = nxload(str(file))
    assert root.get_default().nxsignal.shape == (1000, 512)


def test_the_reader_of_series_says_where_the_frames_are(file: Path) -> None:
    with pytest.raises(ReaderError, match=r"x\.spots\.h5 is a result file; its frames are in x\.h5"):
        SeriesFile(file)


def test_the_viewer_finds_the_images(file: Path) -> None:
    with Hdf5Frames(file) as frames:
        assert frames.chosen == "entry/curve/curve" and frames.shape == (1000, 512)
        assert "entry/map_fine/map_fine" in frames.choices


def test_a_result_file_while_its_raw_file_is_away(file: Path) -> None:
    raw = file.with_name("x.h5")
    raw.rename(file.with_name("away.h5"))
    try:
        with h5py.File(file) as opened:
            assert opened["entry/curve/curve"].shape == (1000, 512)
        with silx.io.open(str(file)) as root:
            assert silx.io.nxdata.get_default(root) is not None
    finally:
        file.with_name("away.h5").rename(raw)
