"""The detector of the frames on show is found by its class, and by what its links and views lead to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from h5py import h5d, h5p, h5s, h5t

from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.reader import SeriesFile

SHAPE = (3, 4)
FRAMES = np.arange(24, dtype=np.uint16).reshape(2, *SHAPE)


def group(parent: h5py.Group, name: str, kind: str) -> h5py.Group:
    made = parent.require_group(name)
    made.attrs["NX_class"] = kind
    return made


def detector(entry: h5py.Group, name: str, number: int, *, frames: bool = True) -> h5py.Group:
    """Detector 1 masks the pixel in column 1 of the first row, counts from −1 to 100; detector 2 likewise."""
    made = group(group(entry, "instrument", "NXinstrument"), name, "NXdetector")
    mask = np.zeros(SHAPE, np.uint32)
    mask[0, number] = 1
    made["pixel_mask"], made["saturation_value"], made["underload_value"] = mask, 100 * number, -number
    if frames:
        made["data"] = FRAMES
    return made


def plot(entry: h5py.Group) -> h5py.Group:
    made = group(entry, "data", "NXdata")
    made.attrs["signal"] = "data"
    return made


def view(source: h5py.VirtualSource, place: h5py.Group) -> None:
    layout = h5py.VirtualLayout(FRAMES.shape, FRAMES.dtype)
    layout[:] = source
    place.create_virtual_dataset("data", layout)


def soft_link(file: h5py.File, folder: Path) -> None:
    entry = group(file, "entry", "NXentry")
    detector(entry, "Eiger", 1)
    plot(entry)["data"] = h5py.SoftLink("/entry/instrument/Eiger/data")


def hard_link(file: h5py.File, folder: Path) -> None:
    entry = group(file, "entry", "NXentry")
    detector(entry, "other", 1)
    plot(entry)["data"] = detector(entry, "pilatus2M", 2)["data"]


def linked_from_the_detector(file: h5py.File, folder: Path) -> None:
    entry = group(file, "entry", "NXentry")
    detector(entry, "other", 1)
    plot(entry)["data"] = FRAMES
    detector(entry, "Eiger", 2, frames=False)["image"] = h5py.SoftLink("/entry/data/data")


def external_link(file: h5py.File, folder: Path) -> None:
    with h5py.File(folder / "raw.h5", "w") as raw:
        detector(group(raw, "scan", "NXentry"), "Eiger", 2)
    detector(group(file, "entry", "NXentry"), "other", 1, frames=False)
    plot(file["entry"])["data"] = h5py.ExternalLink("raw.h5", "/scan/instrument/Eiger/data")


def view_of_this_file(file: h5py.File, folder: Path) -> None:
    entry = group(file, "entry", "NXentry")
    detector(entry, "other", 1)
    view(h5py.VirtualSource(detector(entry, "Eiger", 2)["data"]), plot(entry))


def view_of_another_file(file: h5py.File, folder: Path) -> None:
    with h5py.File(folder / "raw.h5", "w") as raw:
        detector(group(raw, "scan", "NXentry"), "Eiger", 2)
    entry = group(file, "entry", "NXentry")
    detector(entry, "other", 1, frames=False)
    view(h5py.VirtualSource("raw.h5", "scan/instrument/Eiger/data", FRAMES.shape), plot(entry))


def view_of_a_file_with_a_percent_sign(file: h5py.File, folder: Path) -> None:
    for name, number in (("a%b.h5", 2), ("a0.h5", 1)):  # to HDF5 the second is counted file 0 of "a%b.h5"
        with h5py.File(folder / name, "w") as raw:
            detector(group(raw, "scan", "NXentry"), "Eiger", number)
    entry = group(file, "entry", "NXentry")
    view(h5py.VirtualSource("a%%b.h5", "scan/instrument/Eiger/data", FRAMES.shape), plot(entry))


def view_of_counted_files(file: h5py.File, folder: Path) -> None:
    with h5py.File(folder / "raw_0.h5", "w") as raw:
        detector(group(raw, "scan", "NXentry"), "Eiger", 2)
    show_counted(plot(group(file, "entry", "NXentry")))


def show_counted(place: h5py.Group) -> None:
    source, endless = h5s.create_simple(FRAMES.shape), (h5s.UNLIMITED, *SHAPE)
    shown = h5s.create_simple((0, *SHAPE), endless)
    shown.select_hyperslab((0, 0, 0), (h5s.UNLIMITED, 1, 1), FRAMES.shape, FRAMES.shape)
    how = h5p.create(h5p.DATASET_CREATE)
    how.set_virtual(shown, b"raw_%b.h5", b"scan/instrument/Eiger/data", source)
    space = h5s.create_simple((0, *SHAPE), endless)
    h5d.create(place.id, b"data", h5t.py_create(FRAMES.dtype), space, dcpl=how)


def the_only_one(file: h5py.File, folder: Path) -> None:
    """As DECTRIS' master file: no link leads from the frames to the detector."""
    entry = group(file, "entry", "NXentry")
    detector(entry, "elsewhere", 2, frames=False)
    group(entry, "data", "NXdata")["data_000001"] = FRAMES
    detector(group(file, "entry2", "NXentry"), "detector", 1, frames=False)


def of_two_none(file: h5py.File, folder: Path) -> None:
    entry = group(file, "entry", "NXentry")
    detector(entry, "front", 1)
    detector(entry, "rear", 2)
    plot(entry)["data"] = FRAMES + 1


def of_another_size(file: h5py.File, folder: Path) -> None:
    entry = group(file, "entry", "NXentry")
    made = detector(entry, "Eiger", 1)
    del made["pixel_mask"]
    made["pixel_mask"] = np.ones((4, 3), np.uint32)
    plot(entry)["data"] = made["data"]


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (soft_link, 1), (hard_link, 2), (linked_from_the_detector, 2), (external_link, 2),
        (view_of_this_file, 2), (view_of_another_file, 2),
        (view_of_a_file_with_a_percent_sign, 2), (view_of_counted_files, 2), (the_only_one, 2),
        (of_two_none, None),
    ],
)  # fmt: skip
def test_mask_and_limits_are_those_of_the_detector_that_holds_the_frames(
    make: Callable[[h5py.File, Path], None], number: int | None, tmp_path: Path
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        make(file, tmp_path)
    with open_frames(tmp_path / "a.h5") as opened:
        mask = opened.mask()
        if number is None:
            assert mask is None and opened.saturation is None and opened.geometry() is None
            assert opened.remarks() == (
                f"/entry of {tmp_path}/a.h5 has several detectors (front, rear), and none of them holds the "
                "frames on show: which mask and geometry are theirs is not known",
            )
            return
        assert mask is not None and np.argwhere(mask).tolist() == [[0, number]]
        assert (opened.saturation, opened.underload) == (100 * number, -number)
        assert opened.remarks() == ()


def test_frames_of_counted_files_are_read_as_hdf5_shows_them(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "raw_0.h5", "w") as raw:
        detector(group(raw, "scan", "NXentry"), "Eiger", 2)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        show_counted(detector(group(file, "entry", "NXentry"), "Eiger", 1, frames=False))
    with SeriesFile(tmp_path / "a.h5") as series:
        assert series.frame(1).tolist() == [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23]]


def test_a_mask_of_another_size_is_not_that_of_the_frames(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        of_another_size(file, tmp_path)
    with open_frames(tmp_path / "a.h5") as opened:
        assert opened.mask() is None and opened.saturation == 100


Field = tuple[str, float, "str | None"]
PIXELS: tuple[Field, ...] = (("x_pixel_size", 100.0, "um"), ("y_pixel_size", 0.2, "mm"))
CENTRE_IN = "/entry/instrument/Eiger/beam_center_x is in"


@pytest.mark.parametrize(
    ("fields", "name", "value", "remark"),
    [
        # 10 mm are 100 pixels of 0.1 mm; 10 mm are 50 pixels of 0.2 mm.
        ((*PIXELS, ("beam_center_x", 10.0, "mm")), "beam_center_x", 100.0, None),
        ((*PIXELS, ("beam_center_y", 0.01, "m")), "beam_center_y", 50.0, None),
        ((*PIXELS, ("beam_center_x", 10_000.0, "microns")), "beam_center_x", 100.0, None),
        ((*PIXELS, ("beam_center_x", -1.0, "mm")), "beam_center_x", -10.0, None),
        ((*PIXELS, ("beam_center_x", 34.5, "pixels")), "beam_center_x", 34.5, None),
        ((*PIXELS, ("beam_center_x", 34.5, None)), "beam_center_x", 34.5, None),
        ((*PIXELS, ("beam_center_x", 34.5, "furlong")), "beam_center_x", None,
         f'{CENTRE_IN} "furlong", which is not known here'),
        ((("beam_center_x", 10.0, "mm"),), "beam_center_x", None,
         f"{CENTRE_IN} mm, and there is no x_pixel_size to make pixels of it"),
        ((("distance", 20.0, "cm"),), "distance", 0.2, None),
        ((("distance", 20.0, " cm "),), "distance", 0.2, None),
        ((("distance", 1.0, "parsec"),), "distance", None,
         '/entry/instrument/Eiger/distance is in "parsec", which is not known here'),
        ((("distance", 0.2, None),), "distance", None,
         "/entry/instrument/Eiger/distance has no units: it is not known what its number means"),
        ((("distance", 0.2, "keV"),), "distance", None,
         '/entry/instrument/Eiger/distance is in "keV", which is not known here'),
        ((("beam", 12.0, "keV"),), "energy", 12_000.0, None),
        ((("beam", 12.0, "keV\n"),), "energy", 12_000.0, None),
        ((("beam", 12.0, "mm"),), "energy", None,
         '/entry/sample/incoming/incident_energy is in "mm", which is not known here'),
    ],
)  # fmt: skip
def test_a_length_is_read_by_its_unit_and_one_in_an_unknown_unit_is_said(
    fields: tuple[Field, ...], name: str, value: float | None, remark: str | None, tmp_path: Path
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        entry = group(file, "entry", "NXentry")
        made = detector(entry, "Eiger", 1)
        for field, number, unit in fields:
            place = made
            if field == "beam":
                field, place = (
                    "incident_energy",
                    group(group(entry, "sample", "NXsample"), "incoming", "NXbeam"),
                )
            place[field] = number
            if unit is not None:
                place[field].attrs["units"] = unit
    with open_frames(tmp_path / "a.h5") as opened:
        found = opened.geometry()
        assert found is not None
        assert getattr(found, name) == (None if value is None else pytest.approx(value))
        assert opened.remarks() == (() if remark is None else (remark,))
        assert found.remarks == list(opened.remarks())


def test_of_several_beams_with_a_wavelength_none_is_taken(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        entry = group(file, "entry", "NXentry")
        detector(entry, "Eiger", 1)
        for number, name in enumerate(("first", "second"), 1):
            beam = group(entry["instrument"], name, "NXbeam")
            beam["incident_wavelength"] = float(number)
            beam["incident_wavelength"].attrs["units"] = "angstrom"
    with open_frames(tmp_path / "a.h5") as opened:
        found = opened.geometry()
        assert found is not None and found.wavelength is None
        assert found.remarks == [
            "there are several beams (/entry/instrument/first, /entry/instrument/second): which wavelength "
            "is meant is not known"
        ]
