"""Axes, errors and units in the result file, as other programs and the HTTP interface find them."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import silx.io
import silx.io.nxdata

from penstock.processing.describe import Axis, Plot, check
from penstock.processing.models import Series
from penstock.processing.results.layout import DONE
from penstock.processing.results.read import Results
from penstock.processing.results.result_file import ResultFile
from penstock.processing.service.result_values import ResultValues
from penstock.processing.wire import Array
from tests.processing.results import made

AXIS = Axis("radial_axis", np.linspace(1, 2, 512), "1/nm", "q")
PLOTS = check([
    Plot("curve", "sigma", (AXIS,), "counts", "intensity"),
    Plot("mean", axes=(AXIS,), unit="counts"),
    Plot("bright", unit="pixels"),
])  # fmt: skip
SIGMA = Array(name="sigma", dtype="<f8", shape=(1, 512))
MEAN = Array(name="mean", dtype="<f8", shape=(512,), kind="mean", n=3)
DEFINED = check([
    Plot(
        "curve", "sigma", (AXIS,), "arbitrary units", "intensity", "NXazint1d",
        {"solid_angle_applied": True, "instrument/monochromator/energy": (12.4, "keV")},
        {"points": 512, "reference": "Penstock"},
    )
])  # fmt: skip


NOTES = ["dark d.h5: mean of 8 of 10 frames (2 missing)", "µ"]


@pytest.mark.parametrize("is_late", [False, True], ids=["in time", "late"])
def test_what_a_reader_has_to_know_is_in_the_file(tmp_path: Path, is_late: bool) -> None:
    results = made.created(tmp_path, 1000)
    if not is_late:
        results.describe((), NOTES)
    made.fill(results, 0, 10)
    if is_late:
        results.describe((), NOTES)
    assert Results(results.path).notes() == NOTES
    made.finish(results, 10, counts={"dropped": 990})
    assert Results(results.path).notes() == NOTES


def test_of_elements_that_were_masked_the_file_has_the_mean_of_those_that_were_not(tmp_path: Path) -> None:
    results = made.created(tmp_path, 1000)
    plain = Array(name="mean", dtype="<i8", shape=(2,), kind="mean", n=1)
    masked = Array(name="mean", dtype="<i8", shape=(2, 2), kind="mean", n=3, masked=True)
    results.accumulated([plain], [np.array([4, 6])], np.zeros(0, int))
    results.accumulated([masked], [np.array([[9, 8], [0, 1]])], np.zeros(0, int))

    value, frames = Results(results.path).accumulated("mean")

    assert (value.tolist(), frames) == ([3, 4], 3)  # 9 / 3, and 8 / 2 since one of three was masked


def sigma(results: ResultFile, first: int, end: int) -> None:
    indices = np.arange(first, end)
    results.rows(SIGMA, indices, made.curves(indices) / 10)


@pytest.mark.parametrize("planned", [1000, None])
@pytest.mark.parametrize("is_late", [False, True], ids=["in time", "late"])
def test_a_curve_has_its_axis_and_its_errors(tmp_path: Path, planned: int | None, is_late: bool) -> None:
    results = made.created(tmp_path, planned)
    if not is_late:
        results.describe(PLOTS)
    for first in (0, 4000):  # the second lets a file grow whose number of frames is unknown
        if planned is None or first < planned:
            sigma(results, first, first + 200)
            made.fill(results, first, first + 200)
    results.accumulated([MEAN], [np.ones(512)], np.zeros(0, int))
    if is_late:
        results.describe(PLOTS)
    frames = 200 if planned else 4200
    counts = {"dropped": 3800 if planned is None else 800}
    made.finish(results, 400 if planned is None else 200, counts=counts)

    with silx.io.open(str(results.path)) as root:
        default = silx.io.nxdata.get_default(root)
        assert default is not None and default.signal_name == "intensity"
        assert default.errors is not None and default.errors[7, 0] == 0.7
        axis = default.axes[1]
        assert axis is not None and np.array_equal(axis, AXIS.values) and default.axes[0] is None
    with h5py.File(results.path) as file:
        assert file["entry/curve/curve"].attrs["units"] == "counts"
        assert file["entry/sigma"].attrs["NX_class"] == "NXcollection"
        assert list(file["entry/mean"].attrs["axes"]) == ["radial_axis"]
        assert np.array_equal(file["entry/mean/mean"], np.ones(512) / 3)
        assert len(file["entry/curve/curve"]) >= frames
        assert np.isnan(file["entry/curve/curve_errors"][300]).all()


def test_what_a_name_means_is_said_over_http(tmp_path: Path) -> None:
    results = made.created(tmp_path)
    results.describe(PLOTS)
    made.fill(results, 0, 10)
    values = ResultValues(Series(id="s1", active=True, result_file=str(results.path)))

    found = {each.name: each for each in values.names()}

    assert found["curve"].axes == ["radial_axis"] and found["curve"].errors == "sigma"
    assert (found["curve"].unit, found["curve"].label) == ("counts", "intensity")
    assert (found["bright"].unit, found["bright"].label, found["bright"].axes) == ("pixels", "", [])
    axis = found["radial_axis"]
    assert (axis.kind, axis.shape, axis.unit, axis.label) == ("axis", [512], "1/nm", "q")
    assert values.latest("radial_axis").value == AXIS.values.tolist()
    results.close()


def test_a_definition_of_nexus_gets_a_subentry_that_is_shown_first(tmp_path: Path) -> None:
    results = made.created(tmp_path)
    results.describe(DEFINED)
    made.fill(results, 0, 10)
    sigma(results, 0, 10)
    made.finish(results, 10, counts={"absent": 990})

    with h5py.File(results.path) as file:
        entry = file["entry"]
        assert entry.attrs["default"] == "azint1d" and entry["azint1d"].attrs["default"] == "data"
        found = entry["azint1d"]
        assert found["definition"].asstr()[()] == "NXazint1d" and found["solid_angle_applied"][()]
        assert found["instrument/monochromator"].attrs["NX_class"] == "NXmonochromator"
        assert found["instrument/monochromator/energy"].attrs["units"] == "keV"
        assert found["reduction"].attrs["NX_class"] == "NXprocess"
        assert found["reduction/reference"].asstr()[()] == "Penstock"
        assert found["reduction/input/points"][()] == 512
        assert found["data/curve"][9, 0] == 9 and found["data/curve_errors"][9, 0] == 0.9
        # As plaid-xrd looks for them: by the name of the dataset that the signal leads to.
        assert f"{found['data/curve'].name}_errors" in file
        groups = [name for name in entry if entry.get(name, getclass=True, getlink=True) is h5py.HardLink]
        assert [name for name in groups if entry[name].attrs.get("NX_class") == "NXdata"] == ["bright"]
    with silx.io.open(str(results.path)) as root:
        default = silx.io.nxdata.get_default(root)
        assert default is not None and default.signal_name == "intensity"
        assert default.errors is not None


def test_who_resumes_a_file_leaves_what_is_described(tmp_path: Path) -> None:
    results = made.created(tmp_path)
    results.describe(PLOTS)
    made.fill(results, 0, 10)
    results.close()

    again = ResultFile.resume(results.path, "s1")
    again.describe(PLOTS)
    sigma(again, 0, 20)
    made.fill(again, 10, 20)
    again.close()

    assert (Results(again.path).states()[:20] == DONE).all()
    with h5py.File(again.path) as file:
        assert file["entry/curve/curve_errors"][19, 0] == 1.9


TOO_LONG = "result v has 10 values along its axis q"


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (Array(name="v", dtype="<f8", shape=(1, 10)), f"{TOO_LONG}, and describe() gives 5: both"),
        (Array(name="v", dtype="<f8", shape=(10,), kind="sum", n=1), TOO_LONG),
        (Array(name="v", dtype="<f8", shape=(1, 5)), ""),
        (Array(name="v", dtype="<f8", shape=(1, 10, 10)), ""),  # nobody says of which dimension the axis is
        (Array(name="w", dtype="<f8", shape=(1, 10)), ""),
    ],
)  # fmt: skip
def test_a_result_that_is_not_as_long_as_its_axis_is_not_drawn_over_it(
    tmp_path: Path, array: Array, says: str
) -> None:
    results = made.created(tmp_path)
    results.describe((Plot("v", axes=(Axis("q", np.linspace(100, 140, 5), unit="1/nm"),)),))
    found = results.prepare((array,))
    results.close()
    assert bool(found) == bool(says) and all(str(each).startswith(says) for each in found.values())
