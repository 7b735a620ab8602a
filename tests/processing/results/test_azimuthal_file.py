"""A result file of azimuthal integration: NXazint1d and NXazint2d, for validators, silx and plaid."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  of filters
import numpy as np
import pytest
import silx.io
import silx.io.nxdata

from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Frame, Header, SeriesEnd, Start
from penstock.streamer.simulated.patterns import powder, powder_geometry
from tests.processing.distributor.pipelines import pipeline
from tests.recordings import validators
from tests.streams import image
from tests.third_party import program_of

SHAPE, FRAMES, POINTS = (100, 120), 6, 50
SOURCE = "from penstock.processing.processors.azimuthal import Azimuthal as Mine\n"
USER = {"instrument_name": "P99", "source": {"name": "Ring", "type": "Synchrotron X-ray Source"}}
MEANT = (
    "This field is not defined in",  # of the raw file; and of the definition, not of NXsubentry itself
    '"@sha256" is not defined as an attribute in NXnote',
)


def raw_file(path: Path) -> None:
    """A file of a receiver, of rings whose intensity grows."""
    metadata = {**powder_geometry(*SHAPE), "user": USER}
    header = Header(filename=str(path), series="s1", frames=FRAMES, shape=SHAPE, type="uint16")
    series = RunningSeries(Start(header, metadata))
    writer = SeriesWriter(path, "sim", series, "a test")
    for number in range(FRAMES):
        array = (10 + 1000 * (number + 1) * powder(*SHAPE)).astype(np.uint16)
        head = image(number, array, series="s1", timestamp=1e9 + number)
        writer.add(series.numbering.index(head), Frame(head, [array.tobytes()]))
        series.account.take(number, FrameStatus.STORED)
    series.end = SeriesEnd()
    writer.close(series.close(None), synced=False)


def processed(folder: Path, **parameters: Any) -> Path:
    """The result file; raw and result are moved together afterwards."""
    raw_file(folder / "x.h5")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_CACHE", str(folder / "cache"))
        with pipeline(SOURCE, file=str(folder / "x.h5"), workers=1, parameters=parameters) as made:
            series = made.over("s1")
            assert series.counts.done == FRAMES and series.result_file is not None
            made.quit()
    moved = folder / "moved"
    moved.mkdir()
    for path in (folder / "x.h5", Path(series.result_file)):
        shutil.move(path, moved)
    return moved / Path(series.result_file).name


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return processed(tmp_path_factory.mktemp("curves"), points=POINTS)


@pytest.fixture(scope="module")
def cakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return processed(
        tmp_path_factory.mktemp("cakes"), points=POINTS, azimuth_points=8, unit="2th_deg", polarisation=0.9
    )


@pytest.mark.slow
def test_silx_shows_curves_over_q_with_errors(curves: Path) -> None:
    with silx.io.open(str(curves)) as root:
        default = silx.io.nxdata.get_default(root)
        assert default is not None and default.interpretation == "spectrum"
        assert default.signal.shape == (FRAMES, POINTS) and default.errors.shape == (FRAMES, POINTS)
        assert default.axes[0] is None and default.axes[1].shape == (POINTS,)
        assert default.axes_names[1] == "q" and default.axes[1].attrs["units"] == "1/nm"


@pytest.mark.slow
def test_raw_frames_are_reached_after_both_files_were_moved(curves: Path) -> None:
    with h5py.File(curves) as file:
        frames = file["entry/instrument/sim/data"]
        assert frames.shape == (FRAMES, *SHAPE) and frames[3].max() > 3000
        assert file["entry/sequence_number"].shape == (FRAMES,)


@pytest.mark.slow
def test_what_the_definition_asks_for_is_there(cakes: Path) -> None:
    with h5py.File(cakes) as file:
        entry = file["entry/azint2d"]
        assert entry["definition"].asstr()[()] == "NXazint2d"
        assert entry["data/I"].shape == (FRAMES, 8, POINTS)
        assert entry["data"].attrs["axes"].tolist() == [".", "azimuthal_axis", "radial_axis"]
        assert entry["polarization_applied"][()] and entry["solid_angle_applied"][()]
        assert entry["instrument/name"].asstr()[()] == "P99"
        assert entry["instrument/source/name"].asstr()[()] == "Ring"
        assert "Distance: 0." in entry["reduction/input/poni"].asstr()[()]
        assert entry["reduction/input/polarisation"][()] == 0.9
        assert entry["reduction/program"].asstr()[()] == "penstock process"


@pytest.mark.slow
@pytest.mark.parametrize("which", ["curves", "cakes"])
def test_nxcheck_reports_no_error(which: str, request: pytest.FixtureRequest) -> None:
    # punx knows the definitions of 2018, and so not this one.
    report = validators.nxcheck(request.getfixturevalue(which))
    assert report.errors == []
    assert {says for _, says in report.warnings if not says.startswith(MEANT)} == set()


@pytest.mark.slow
def test_plaid_reads_the_curves(curves: Path) -> None:
    command = [
        str(program_of("plaid", "python")),
        str(Path(__file__).with_name("plaid_reader.py")),
        str(curves),
    ]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout.splitlines()[-1])
    with h5py.File(curves) as file:
        np.testing.assert_array_equal(found["I"], file["entry/I/I"])
        np.testing.assert_array_equal(found["errors"], file["entry/I_errors/I_errors"])
        np.testing.assert_array_equal(found["q"], file["entry/azint1d/data/radial_axis"])
    assert found["tth"] is None and found["instrument"] == "P99"
