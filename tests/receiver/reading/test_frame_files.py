"""Frames of everybody's files: a series, a scan, a master file of DECTRIS, NXdata, TIFF, CBF, EDF."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import fabio
import fabio.cbfimage
import fabio.edfimage
import h5py
import hdf5plugin
import numpy as np
import PIL.Image
import pytest

from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.image_files import TIFF_TYPES, write_tiff
from penstock.receiver.reading.pilatus_header import is_pilatus
from penstock.receiver.reading.reader import ReaderError
from tests.receiver.h5_file import picture, write_series

STACK = np.arange(5 * 6 * 8, dtype=np.uint16).reshape(5, 6, 8)


def master(folder: Path, *, sizes: tuple[int, ...] = (2, 3), gone: tuple[int, ...] = ()) -> Path:
    """A master file as DECTRIS' file writer makes it: links to files of several frames each."""
    path, low = folder / "run_master.h5", 1
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry")
        entry.attrs["NX_class"] = "NXentry"
        data = entry.create_group("data")
        data.attrs["NX_class"] = "NXdata"
        detector = entry.create_group("instrument").create_group("detector")
        entry["instrument"].attrs["NX_class"] = "NXinstrument"
        detector.attrs["NX_class"] = "NXdetector"
        detector["detectorSpecific/countrate_correction_count_cutoff"] = 60000
        for number, size in enumerate(sizes, 1):
            name = f"run_data_{number:06d}.h5"
            data[f"data_{number:06d}"] = h5py.ExternalLink(name, "/entry/data/data")
            if number not in gone:
                with h5py.File(folder / name, "w") as part:
                    made = part.create_dataset("entry/data/data", data=STACK[low - 1 : low - 1 + size])
                    made.attrs["image_nr_low"], made.attrs["image_nr_high"] = low, low + size - 1
            low += size
    return path


def plot(file: h5py.File, name: str, signal: str, **datasets: Any) -> h5py.Group:
    group = file.create_group(name)
    group.attrs["NX_class"], group.attrs["signal"] = "NXdata", signal
    for each, values in datasets.items():
        group[each] = values
    return group


def test_a_series_of_penstock_has_its_account_and_the_status_of_each_frame(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 6, lost=(2,))
    with open_frames(tmp_path / "a.h5") as file:
        assert (file.id, file.state, file.detector, file.planned) == ("a1", "incomplete", "sim", 6)
        assert file.counts["stored"] == 5 and file.counts["missing"] == 1
        assert file.status is not None and file.status.tolist() == [1, 1, 0, 1, 1, 1]
        assert np.array_equal(file.frame(3), picture(3))
        assert (file.trigger(3), file.choices) == (3, ())


def test_the_frames_of_dectris_files_follow_each_other(tmp_path: Path) -> None:
    with open_frames(master(tmp_path)) as file:
        assert file.has_images and file.shape == (5, 6, 8) and file.status is None
        assert all(np.array_equal(file.frame(index), STACK[index]) for index in range(5))
        assert file.saturation == 60000 and file.state is None


@pytest.mark.parametrize(("gone", "there"), [((1,), [0, 0, 1, 1, 1]), ((2,), [1, 1, 0, 0, 1])])
def test_frames_of_a_dectris_file_that_is_not_there_keep_their_places(
    tmp_path: Path, gone: tuple[int, ...], there: list[int]
) -> None:
    with open_frames(master(tmp_path, sizes=(2, 2, 1), gone=gone)) as file:
        assert file.status is not None and file.status.tolist() == there
        first = there.index(FrameStatus.MISSING)
        why = rf"frame {first} of .* is not there: .*/run_data_00000{gone[0]}\.h5 does not exist"
        with pytest.raises(ReaderError, match=why):
            file.frame(first)
        assert np.array_equal(file.frame(4), STACK[4])


def test_a_scan_shows_the_images_of_its_default_and_the_status_beside_them(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        for number in (1, 2):
            entry = file.create_group(f"entry{number}")
            entry.attrs["NX_class"], entry.attrs["default"] = "NXentry", "images_sim"
            plot(file, f"entry{number}/images_sim", "sim", sim=STACK + number, sim_status=[1, 0, 1, 1, 1])
            plot(file, f"entry{number}/counters", "ct01", ct01=np.arange(5.0), mot01=np.arange(5.0))
        file.attrs["default"] = "entry2"
    with open_frames(tmp_path / "scan.h5") as scan:
        assert scan.choices == ("entry2/images_sim/sim", "entry1/images_sim/sim")
        assert scan.chosen == scan.choices[0] and scan.detector == "sim"
        assert np.array_equal(scan.frame(4), STACK[4] + 2)
        assert scan.status is not None and scan.status.tolist() == [1, 0, 1, 1, 1]
        assert "entry2/counters/ct01" in scan.curves and "entry2/counters/mot01" in scan.scalars
    with open_frames(tmp_path / "scan.h5", "entry1/images_sim/sim") as scan:
        assert np.array_equal(scan.frame(4), STACK[4] + 1)
    with pytest.raises(ReaderError, match="has no images entry9/x; it has entry2/images_sim/sim, entry1"):
        open_frames(tmp_path / "scan.h5", "entry9/x")


def test_a_map_is_numbered_row_by_row_and_one_image_is_one_frame(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "map.h5", "w") as file:
        plot(file, "map", "data", data=np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5))
        plot(file, "one", "data", data=np.arange(20).reshape(4, 5))
        plot(file, "mca", "data", data=np.arange(20).reshape(4, 5))["data"].attrs["interpretation"] = (
            "spectrum"
        )
    with open_frames(tmp_path / "map.h5", "map/data") as found:
        assert found.shape == (6, 4, 5)
        assert found.frame(4)[0, 0] == 4 * 20
    with open_frames(tmp_path / "map.h5", "one/data") as found:
        assert found.shape == (1, 4, 5) and np.array_equal(found.frame(0), np.arange(20).reshape(4, 5))
    with open_frames(tmp_path / "map.h5", "mca/data") as found:
        assert (found.shape, found.interpretation) == ((4, 5), "spectrum")
        assert found.frame(1).tolist() == [5, 6, 7, 8, 9]


def test_a_file_without_images_says_what_it_has(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "powder.h5", "w") as file:
        plot(file, "result", "intensity", intensity=np.arange(9.0), q=np.arange(9.0))
    with open_frames(tmp_path / "powder.h5") as found:
        assert not found.has_images and found.shape == (0,) and found.dtype is None
        assert found.curves == ("result/intensity",) and found.scalars == ("result/q",)


@pytest.mark.parametrize(
    ("name", "image"),
    [("a.cbf", fabio.cbfimage.CbfImage), ("a.edf", fabio.edfimage.EdfImage)],
)  # fmt: skip
def test_fabios_images_are_one_frame_each(name: str, image: Any, tmp_path: Path) -> None:
    image(data=STACK[1].astype(np.int32)).write(str(tmp_path / name))
    with open_frames(tmp_path / name) as file:
        assert file.shape == (1, 6, 8)
        assert np.array_equal(file.frame(0), STACK[1])
        with pytest.raises(ReaderError, match="has no frame 1; its last is 0"):
            file.frame(1)


PILATUS = """# Pixel_size 172e-6 m x 173e-6 m
# Tau = 0 s
# Count_cutoff 1071896 counts
# Threshold_setting: 6328 eV
# Wavelength 0.9795 A
# Detector_distance 0.20000 m
# Beam_xy (243.12, 309.5) pixels"""
KNOWN = {
    "x_pixel_size": 172e-6, "y_pixel_size": 173e-6, "distance": 0.2, "beam_center_x": 243.12,
    "beam_center_y": 309.5, "wavelength": 0.9795,
}  # fmt: skip


def cbf(path: Path, text: str) -> Path:
    header = {"_array_data.header_convention": "PILATUS_1.2", "_array_data.header_contents": text}
    fabio.cbfimage.CbfImage(data=STACK[0].astype(np.int32), header=header).write(str(path))
    return path


def test_a_pilatus_says_in_its_header_how_it_stands_and_where_its_counting_ends(tmp_path: Path) -> None:
    with open_frames(cbf(tmp_path / "a.cbf", PILATUS)) as file:
        found = file.geometry()
        assert found is not None and file.saturation == 1_071_896
        assert {name: getattr(found, name) for name in KNOWN} == KNOWN
        assert file.is_pilatus and file.underload == 0, "gaps are -1, bad pixels -2"
    tiff = {270: "\r\n".join(PILATUS.splitlines()), 272: "PILATUS 300K, S/N 3-0101"}
    PIL.Image.fromarray(np.array([[-2, -1, 5]], np.int32)).save(tmp_path / "a.tif", tiffinfo=tiff)
    with open_frames(tmp_path / "a.tif") as file:
        found = file.geometry()
        assert file.is_pilatus and file.underload == 0 and file.saturation == 1_071_896
        assert found is not None and found.distance == 0.2 and file.frame(0).tolist() == [[-2, -1, 5]]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        # As the TIFF files of a PILATUS 1M have it, which do not name it.
        ({"Count_cutoff": "9 counts", "Threshold_setting": "1 eV", "Gain_setting": "low gain"}, True),
        ({"_array_data.header_convention": "PILATUS_1.2"}, True),
        ({"Count_cutoff": "9 counts"}, False),
        ({}, False),
    ],
)
def test_a_pilatus_is_known_by_its_header(header: dict[str, str], expected: bool) -> None:
    assert is_pilatus(header) is expected


def test_what_nobody_has_set_in_a_header_is_not_known(tmp_path: Path) -> None:
    unset = """# Count_cutoff 0 counts
# Wavelength 0.0000 A
# Detector_distance 0.00000 m
# Beam_xy (0.00, 0.00) pixels"""
    with open_frames(cbf(tmp_path / "a.cbf", unset)) as file:
        found = file.geometry()
        assert file.saturation is None and found is not None
        assert not any(getattr(found, name) for name in KNOWN)
    fabio.edfimage.EdfImage(data=STACK[0]).write(str(tmp_path / "a.edf"))
    with open_frames(tmp_path / "a.edf") as file:
        assert file.geometry() is None and file.saturation is None
        assert not file.is_pilatus and file.underload is None
    # Corrected by a program that has kept the header: below 0 there are values.
    for kind, name in ((fabio.edfimage.EdfImage, "b.edf"), (fabio.tifimage.TifImage, "b.tif")):
        kind(data=np.full((2, 3), -1.5, np.float32), header={"Detector": "PILATUS 2M"}).write(
            str(tmp_path / name)
        )
        with open_frames(tmp_path / name) as file:
            assert not file.is_pilatus and file.underload is None


@pytest.mark.parametrize("unit", ["um", "micrometer", "microns"])
def test_a_lambdas_mask_of_one_image_and_its_spelled_out_units_are_read(unit: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "lambda.nxs", "w") as file:
        detector = file.create_group("entry/instrument/detector")
        detector["data"], detector["pixel_mask"] = STACK, np.ones((1, 6, 8), np.uint32)
        detector["x_pixel_size"] = [55.0]
        detector["x_pixel_size"].attrs["units"] = unit
    with open_frames(tmp_path / "lambda.nxs") as found:
        mask, geometry = found.mask(), found.geometry()
        assert mask is not None and mask.shape == (6, 8) and mask.all()
        assert geometry is not None and geometry.x_pixel_size == pytest.approx(55e-6)


def test_an_edf_of_several_frames_has_them_all(tmp_path: Path) -> None:
    image = fabio.edfimage.EdfImage(data=STACK[0])
    image.append_frame(data=STACK[1])
    image.write(str(tmp_path / "two.edf"))
    with open_frames(tmp_path / "two.edf") as file:
        assert file.shape == (2, 6, 8)
        assert np.array_equal(file.frame(1), STACK[1])


@pytest.mark.parametrize("dtype", TIFF_TYPES)
def test_a_tiff_keeps_every_count(dtype: str, tmp_path: Path) -> None:
    image = STACK[0].astype(dtype)
    image[0, 0] = np.iinfo(dtype).max if image.dtype.kind in "iu" else 0.1
    write_tiff(tmp_path / "a.tif", image, {"frame": "17"})
    with open_frames(tmp_path / "a.tif") as file:
        assert file.dtype == image.dtype
        assert np.array_equal(file.frame(0), image)
    with fabio.open(str(tmp_path / "a.tif")) as read:
        assert "frame=17" in str(read.header)


def test_counts_that_a_tiff_would_change_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match=r"does not keep float64 as it is; save a \.npy"):
        write_tiff(tmp_path / "a.tif", np.zeros((2, 2)), {})
    assert not (tmp_path / "a.tif").exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "does not exist"), (b"", "is empty"), (b"some text\n", "is neither HDF5 nor an image")],
)
def test_what_is_no_image_is_refused_in_a_sentence(content: bytes | None, why: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "a").write_bytes(content)
    with pytest.raises(ReaderError, match=f"{tmp_path}/a {why}"):
        open_frames(tmp_path / "a")
    with pytest.raises(ReaderError, match="is a folder"):
        open_frames(tmp_path)


def test_a_hundred_thousand_frames_are_opened_without_being_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "long.h5", "w") as file:
        group = plot(file, "data", "data")
        data = group.create_dataset("data", (100_000, 512, 1024), "u2", chunks=(1, 512, 1024))
        data[99_999] = 3
    with open_frames(tmp_path / "long.h5") as found:
        assert found.shape == (100_000, 512, 1024)
        assert (found.frame(99_999) == 3).all()


@pytest.mark.parametrize("end", [b"CIF-BINARY", b"X-Binary-Size", b"\x0c\x1a\x04"])
def test_a_cbf_that_ends_before_its_pixels_is_refused_instead_of_being_read_for_ever(
    end: bytes, tmp_path: Path
) -> None:
    fabio.cbfimage.CbfImage(data=STACK[0].astype(np.int32)).write(str(tmp_path / "whole.cbf"))
    whole = (tmp_path / "whole.cbf").read_bytes()
    (tmp_path / "cut.cbf").write_bytes(whole[: whole.index(end)])
    with pytest.raises(ReaderError, match=r"cut\.cbf ends before its pixels"):
        open_frames(tmp_path / "cut.cbf")
    with open_frames(tmp_path / "whole.cbf") as file:
        assert np.array_equal(file.frame(0), STACK[0])


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        ("cbf", 0.3), ("cbf", 0.9), ("tif", 0.3), ("tif", 0.999), ("edf", 0.3), ("edf", 0.999),
        ("packed.tif", 0.3), ("packed.tif", 0.999),
    ],
)  # fmt: skip
def test_an_image_file_that_is_cut_off_is_said_to_be_damaged(kind: str, share: float, tmp_path: Path) -> None:
    counts = np.random.default_rng(1).poisson(5, (60, 80)).astype(np.uint16)
    path = tmp_path / f"whole.{kind}"
    if kind == "packed.tif":
        PIL.Image.fromarray(counts).save(path, compression="tiff_lzw")
    elif kind == "tif":
        write_tiff(path, counts, {})
    else:
        {"cbf": fabio.cbfimage.CbfImage, "edf": fabio.edfimage.EdfImage}[kind](
            data=counts.astype(np.int32)
        ).write(str(path))
    whole = path.read_bytes()
    cut = tmp_path / f"cut.{kind}"
    cut.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ReaderError, match=rf"cut\.{kind} .*damaged, or still being written$"):
        open_frames(cut)
    with open_frames(path) as file:
        assert np.array_equal(file.frame(0), counts)


def test_a_frame_that_an_edf_file_lacks_a_part_of_is_refused_and_not_filled_up(tmp_path: Path) -> None:
    image = fabio.edfimage.EdfImage(data=STACK[0])
    image.append_frame(data=STACK[1])
    image.write(str(tmp_path / "two.edf"))
    (tmp_path / "cut.edf").write_bytes((tmp_path / "two.edf").read_bytes()[:-10])
    with open_frames(tmp_path / "cut.edf") as file:
        assert np.array_equal(file.frame(0), STACK[0])
        with pytest.raises(ReaderError, match=r"frame 1 of .*cut\.edf cannot be read: .*damaged"):
            file.frame(1)
    with open_frames(tmp_path / "two.edf") as file:
        assert np.array_equal(file.frame(1), STACK[1])


def test_an_hdf5_file_that_is_damaged_inside_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        plot(file, "entry", "data", data=STACK)
    path.write_bytes(path.read_bytes().replace(b"SNOD", b"\0\0\0\0"))
    with pytest.raises(ReaderError, match=r"a\.h5 cannot be read: .*is it damaged, or still being written"):
        open_frames(path)


@pytest.mark.parametrize("view", [False, True], ids=["stored", "virtual"])
@pytest.mark.parametrize(
    "filters", [hdf5plugin.Bitshuffle(cname="lz4"), hdf5plugin.LZ4()], ids=["bslz4", "lz4"]
)
def test_a_packed_frame_that_is_damaged_is_refused_and_the_others_are_read(
    filters: Any, view: bool, tmp_path: Path
) -> None:
    counts = np.random.default_rng(1).poisson(7, (5, 200, 300)).astype(np.uint16)
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        group = plot(file, "data", "frames")
        stored = (file if view else group).create_dataset(
            "stored" if view else "frames", data=counts, chunks=(1, 200, 300), **filters
        )
        if view:
            layout = h5py.VirtualLayout(counts.shape, counts.dtype)
            layout[:] = h5py.VirtualSource(stored)
            group.create_virtual_dataset("frames", layout)
        chunk = stored.id.get_chunk_info(3)
    content = bytearray(path.read_bytes())
    damaged = slice(chunk.byte_offset + 12, chunk.byte_offset + chunk.size)
    content[damaged] = np.random.default_rng(3).bytes(chunk.size - 12)
    path.write_bytes(content)
    with open_frames(path) as opened:
        with pytest.raises(ReaderError, match=r"frame 3 of .*a\.h5 cannot be read: an? \w+ blob"):
            opened.frame(3)
        for index in (0, 1, 2, 4):
            assert np.array_equal(opened.frame(index), counts[index])


def test_names_in_a_file_that_are_not_utf8_do_no_harm(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        group = file.create_group("entry")
        group.attrs["NX_class"] = "NXdata"
        group.create_dataset("Übersicht".encode("latin-1"), data=STACK)
    with open_frames(tmp_path / "a.h5") as opened:
        assert np.array_equal(opened.frame(4), STACK[4])


def test_a_file_whose_image_the_receiver_has_turned_does_not_say_how_the_detector_stands(
    tmp_path: Path,
) -> None:
    turned, upright = [0.0, 1.0, 0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    write_series(tmp_path / "a.h5", 2)

    def orientation(**more: Any) -> list[float] | None:
        with h5py.File(tmp_path / "a.h5", "r+") as file:
            for name, value in more.items():
                file[f"entry/instrument/sim/{name.replace('__', '/')}"] = value
        with open_frames(tmp_path / "a.h5") as opened:
            found = opened.geometry()
        assert found is not None
        return found.detector_orientation

    assert orientation(detector_orientation=turned) == turned
    assert orientation(acquisition__receiver_transforms=["rotate 90"]) is None, "it was that of the sender's"
    assert orientation(user__detector_orientation=upright) == upright, "which is of the image as it is stored"


READER = """
import ctypes
import sys
from penstock.receiver.reading.frame_files import open_frames
kept = open_frames(sys.argv[1])
ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # lives on at the end, as what a window's thread holds
kept.frame(0)
kept.close()
print("read", flush=True)
"""


@pytest.mark.parametrize("ours", [True, False], ids=["series", "others"])
def test_a_process_that_has_read_a_view_ends_as_others_do(ours: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    if ours:
        write_series(path, 4)
        with h5py.File(path, "r+") as file:
            replace_with_a_view(next(iter(file["entry/instrument"].values())), "data")
    else:
        with h5py.File(path, "w") as file:
            replace_with_a_view(plot(file, "data", "frames", frames=STACK), "frames")
    done = subprocess.run([sys.executable, "-c", READER, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr


def replace_with_a_view(group: h5py.Group, name: str) -> None:
    """Make of a dataset a virtual one that shows it."""
    stored = group[name]
    attributes = dict(stored.attrs)
    group.move(name, f"stored_{name}")
    layout = h5py.VirtualLayout(stored.shape, stored.dtype)
    layout[:] = h5py.VirtualSource(stored)
    group.create_virtual_dataset(name, layout).attrs.update(attributes)
