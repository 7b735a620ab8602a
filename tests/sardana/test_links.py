"""Points of a scan and their frames, linked in plain HDF5 files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.codecs.pixel_type import fill_value
from penstock.receiver.models import FrameStatus
from penstock.sardana.reference import Reference
from penstock.sardana.scan_file import MISSING, Block, FrameFormat, blocks, link_frames, source_name

DATASET = "entry/instrument/sim_1/data"
FRAME = FrameFormat((2, 3), np.dtype("uint16"))


def text(index: int, file: str = "/data/a.h5", dataset: str = DATASET) -> str:
    return Reference(file, dataset, index).text


def write_frames(file: Path, values: list[int], status: list[int] | None = None) -> None:
    """A detector's file as a receiver may write it: frame n is full of its value, HDF5 fills nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(file, "w") as root:
        data = root.create_dataset(
            DATASET, (len(values), 2, 3), "uint16", maxshape=(None, 2, 3), chunks=(1, 2, 3), fillvalue=65535,
            fill_time="never",
        )  # fmt: skip
        for index, value in enumerate(values):
            data[index] = value
        codes = [1] * len(values) if status is None else status
        root.create_dataset(
            DATASET.replace("data", "frame_status"),
            data=np.array(codes, np.uint8),
            maxshape=(None,),
            chunks=(64,),
        )


def link(scan: Path, references: list[str], frame: FrameFormat = FRAME) -> None:
    with h5py.File(scan, "w") as root:
        group = root.create_group("measurement")
        files = root.create_group("files_sim")
        link_frames(group, files, "sim", blocks(references), len(references), frame, scan.parent)


def read(scan: Path) -> tuple[list[int], list[int]]:
    """First pixel and status of each point."""
    with h5py.File(scan) as root:
        images, status = root["measurement/sim"], root["measurement/sim_status"]
        assert images.shape == (len(status), 2, 3)
        return images[:, 0, 0].tolist(), status[:].tolist()


def test_frames_in_a_row_are_one_block() -> None:
    assert blocks([text(index) for index in range(3, 9)]) == [Block(0, 6, "/data/a.h5", DATASET, 3)]


def test_a_block_ends_with_its_file_its_dataset_its_order_and_at_a_point_without_a_frame() -> None:
    other = "entry/instrument/sim_2/data"
    references = [text(0), text(1), text(2, "/data/b.h5"), text(3, dataset=other), text(3), ""]
    references += [text(4), text(6), text(5)]
    assert blocks(references) == [
        Block(0, 2, "/data/a.h5", DATASET, 0),
        Block(2, 1, "/data/b.h5", DATASET, 2),
        Block(3, 1, "/data/a.h5", other, 3),
        Block(4, 1, "/data/a.h5", DATASET, 3),
        Block(6, 1, "/data/a.h5", DATASET, 4),
        Block(7, 1, "/data/a.h5", DATASET, 6),
        Block(8, 1, "/data/a.h5", DATASET, 5),
    ]


def test_what_is_no_reference_of_ours_is_in_no_block() -> None:
    assert blocks(["nan", "h5file:///tmp/dummy.h5", ""]) == []
    assert blocks([]) == []


def test_every_point_shows_its_frame_and_its_status(tmp_path: Path) -> None:
    write_frames(tmp_path / "a.h5", [10, 11, 12, 13], [1, 6, 1, 4])
    write_frames(tmp_path / "b.h5", [20, 21])
    a, b = str(tmp_path / "a.h5"), str(tmp_path / "b.h5")
    link(tmp_path / "scan.h5", [text(0, a), text(1, a), text(3, a), text(1, b), text(0, b)])
    assert read(tmp_path / "scan.h5") == ([10, 11, 13, 21, 20], [1, 6, 4, 1, 1])


def test_points_without_a_frame_read_as_the_fill_value_and_as_missing(tmp_path: Path) -> None:
    write_frames(tmp_path / "a.h5", [10, 11, 12])
    a, gone = str(tmp_path / "a.h5"), str(tmp_path / "gone.h5")
    references = ["", text(1, a), text(2, a), text(3, a), text(4, a), text(9, a), text(0, gone), ""]
    link(tmp_path / "scan.h5", references)
    fill = 65535
    assert read(tmp_path / "scan.h5") == (
        [fill, 11, 12, fill, fill, fill, fill, fill],
        [0, 1, 1, 0, 0, 0, 0, 0],
    )


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int16", "int32", "float32", "float64"])
def test_the_fill_values_are_those_of_the_detectors_files(dtype: str, tmp_path: Path) -> None:
    frame = FrameFormat((2, 3), np.dtype(dtype))
    np.testing.assert_equal(frame.fill_value, fill_value(dtype))
    assert MISSING == FrameStatus.MISSING
    link(tmp_path / "scan.h5", [text(0)], frame)
    with h5py.File(tmp_path / "scan.h5") as root:
        images = root["measurement/sim"]
        assert images.dtype == np.dtype(dtype)
        np.testing.assert_equal(images[0, 0, 0], np.dtype(dtype).type(fill_value(dtype)))


def test_a_folder_that_is_moved_as_a_whole_stays_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write_frames(old / "raw/a.h5", [10, 11])
    (old / "scans").mkdir()
    link(old / "scans/scan.h5", [text(0, str(old / "raw/a.h5")), text(1, str(old / "raw/a.h5"))])
    shutil.move(old, new)
    monkeypatch.chdir(new / "raw")  # where a file of that name is, too
    assert read(new / "scans/scan.h5") == ([10, 11], [1, 1])


def test_names_are_relative_also_behind_a_symbolic_link(tmp_path: Path) -> None:
    real = tmp_path / "disk/7/visit"
    write_frames(real / "raw/a.h5", [10])
    write_frames(tmp_path / "disk/7/other/b.h5", [20])
    (real / "scans").mkdir()
    (tmp_path / "visit").symlink_to(real)
    scans = tmp_path / "visit/scans"
    assert source_name(str(scans / "sub/c.h5"), scans) == "sub/c.h5"
    names = [str(tmp_path / "visit/raw/a.h5"), str(tmp_path / "disk/7/other/b.h5")]
    assert [source_name(name, scans) for name in names] == ["../raw/a.h5", "../../other/b.h5"]
    link(scans / "scan.h5", [text(0, name) for name in names])
    assert read(scans / "scan.h5") == ([10, 20], [1, 1])
    assert read(real / "scans/scan.h5") == ([10, 20], [1, 1])


def test_a_file_that_shares_no_folder_with_the_scan_is_named_in_full() -> None:
    assert source_name("/elsewhere/a.h5", Path("/data/scans")) == "/elsewhere/a.h5"


def test_names_may_have_spaces_and_percent_signs(tmp_path: Path) -> None:
    file = tmp_path / "50%b right/a %b.h5"
    write_frames(file, [10, 11])
    link(tmp_path / "scan.h5", [text(1, str(file)), text(0, str(file))])
    assert read(tmp_path / "scan.h5") == ([11, 10], [1, 1])


def test_the_frames_of_a_file_are_there_also_those_of_no_point(tmp_path: Path) -> None:
    write_frames(tmp_path / "a.h5", [10, 11, 12, 13])
    link(tmp_path / "scan.h5", [text(1, str(tmp_path / "a.h5"))])
    with h5py.File(tmp_path / "scan.h5") as root:
        assert root["files_sim/file_1"][:, 0, 0].tolist() == [10, 11, 12, 13]


def test_a_scan_of_100000_points_is_linked_by_a_few_blocks(tmp_path: Path) -> None:
    points, lost = 100_000, {17, 50_000}
    write_frames(tmp_path / "a.h5", list(range(5)))
    references = ["" if point in lost else text(point, str(tmp_path / "a.h5")) for point in range(points)]
    link(tmp_path / "scan.h5", references)
    with h5py.File(tmp_path / "scan.h5") as root:
        images = root["measurement/sim"]
        assert images.shape == (points, 2, 3)
        assert len(images.virtual_sources()) == 3
        assert images[4, 0, 0] == 4
    assert os.path.getsize(tmp_path / "scan.h5") < 20_000


def test_images_of_several_channels_keep_their_shape(tmp_path: Path) -> None:
    frame = FrameFormat((4, 2, 3), np.dtype("uint16"))
    link(tmp_path / "scan.h5", [text(0)], frame)
    with h5py.File(tmp_path / "scan.h5") as root:
        assert root["measurement/sim"].shape == (1, 4, 2, 3)


def test_what_cannot_be_linked_leaves_nothing_behind(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "scan.h5", "w") as root:
        root["sim_status"] = 1.0  # a channel of this name
        with pytest.raises(ValueError, match="sim_status already"):
            link_frames(root, root.create_group("files"), "sim", blocks([text(0)]), 1, FRAME, tmp_path)
        assert set(root) == {"files", "sim_status"}
        assert root["sim_status"][()] == 1.0
