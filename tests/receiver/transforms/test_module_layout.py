"""Where modules sit, and that every way to assemble them gives the image of the NumPy reference."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.codecs.pixel_type import fill_value
from penstock.receiver.files.stores.contract import FrameFormat
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.modules import ModuleStore
from penstock.receiver.merge.messages import frame as joined_frame
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.module_status import ModuleStatus
from penstock.receiver.transforms.joined import Joined, JoinedFrame
from penstock.receiver.transforms.module_layout import Layout, LayoutError, arrange, assemble
from penstock.receiver.transforms.module_processor import ModuleProcessor
from penstock.receiver.transforms.steps.assemble import Assemble
from penstock.receiver.transforms.steps.orientation import Rotate
from penstock.stins.errors import BlobError, RemoteError
from penstock.stins.messages import Header, Image, Start
from penstock.stins.modules import Module, read

ROWS, COLUMNS = 4, 6


def test_positions_below_zero_move_all_modules() -> None:
    layout = arrange([Module(x=0, y=0), Module(x=-2, y=660), Module(x=-2, y=1317)], 516, 1554)
    assert [(place.row, place.column) for place in layout.places] == [(0, 2), (660, 0), (1317, 0)]
    assert layout.shape == (1833, 1556)


def test_the_whole_shape_is_that_of_the_modules_streams() -> None:
    assert arrange([Module(x=1, y=2, full_shape=(20, 30)), Module(x=1, y=9)], 4, 6).shape == (20, 30)


def test_positions_between_pixels_are_rounded() -> None:
    layout = arrange([Module(x=0.4, y=0), Module(x=-0.4, y=5.6)], 4, 6)
    assert [(place.row, place.column) for place in layout.places] == [(0, 0), (6, 0)]


@pytest.mark.parametrize(
    ("modules", "sentence"),
    [
        ([Module(x=0, y=0), Module(x=0, y=3)], "modules 0 and 1 overlap: rows 0 to 3"),
        ([Module(x=0, y=0), Module(x=0, y=4, rotation=30)], "module 1 is rotated by 30 degrees"),
        ([Module(x=0, y=0, full_shape=(7, 6)), Module(x=0, y=4)], r"\[7, 6\], the modules need \[8, 6\]"),
        ([Module(x=0, y=0, full_shape=(8, 6)), Module(x=0, y=4, full_shape=(9, 6))], "do not agree"),
        ([Module(x=0, y=0, full_shape=(2**20, 2**20)), Module(x=0, y=4)], "larger than"),
        ([Module(x=0, y=0, full_shape=(2**15, 2**15)), Module(x=0, y=4)], "larger than"),  # 8 GB of float64
    ],
)  # fmt: skip
def test_modules_that_make_no_image_are_told_why(modules: list[Module], sentence: str) -> None:
    with pytest.raises(LayoutError, match=sentence):
        arrange(modules, ROWS, COLUMNS)


@pytest.mark.parametrize(
    ("rotation", "expected"),
    [
        (0, [[0, 1, 2], [3, 4, 5]]), (90, [[2, 5], [1, 4], [0, 3]]), (180, [[5, 4, 3], [2, 1, 0]]),
        (270, [[3, 0], [4, 1], [5, 2]]), (-90, [[3, 0], [4, 1], [5, 2]]), (360, [[0, 1, 2], [3, 4, 5]]),
    ],
)  # fmt: skip
def test_a_module_is_turned_counter_clockwise_and_its_upper_left_pixel_put_in_place(
    rotation: float, expected: list[list[int]]
) -> None:
    layout = arrange([Module(x=1, y=1, rotation=rotation)], 2, 3)
    whole = assemble(layout, [np.arange(6).reshape(2, 3)], np.dtype("int16"), -1)
    assert whole[1:, 1:].tolist() == expected
    assert (whole[0] == -1).all() and (whole[:, 0] == -1).all()


@pytest.mark.parametrize("x", ["left", 1e300, None, True, [1]])
def test_a_place_that_cannot_be_is_an_error(x: object) -> None:
    with pytest.raises(RemoteError, match="place of a module"):
        read({"x": x, "y": 0, "full_shape": [1, 2]})


def test_metadata_without_a_place_are_of_no_module() -> None:
    assert read({"exptime": 0.1, "x_pixel_size": 1e-4}) is None


class Case:
    """A random detector and a frame of it, some modules missing."""

    def __init__(self, seed: int, *, turned: bool) -> None:
        chance = np.random.default_rng(seed)
        self.dtype = np.dtype(chance.choice(["uint8", "uint16", "int16", "int32", "float32"]))
        count = int(chance.integers(2, 5))
        cell = ROWS + COLUMNS + 4
        self.places = [
            {
                "x": int(column * cell + chance.integers(-3, 4)),
                "y": int(row * cell + chance.integers(-3, 4)),
                "rotation": int(chance.choice([0, 90, 180, 270])) if turned else 0,
            }
            for row, column in [(n // 2, n % 2) for n in range(count)]
        ]
        self.images = [chance.integers(0, 100, (ROWS, COLUMNS)).astype(self.dtype) for _ in range(count)]
        self.here = [module for module in range(count) if chance.random() < 0.7] or [0]
        starts = [Start(Header(filename=""), place) for place in self.places]
        self.joined = Joined([f"tcp://m{n}:1" for n in range(count)], starts)

    @property
    def layout(self) -> Layout:
        """Of its modules."""
        layout = self.joined.arranged(ROWS, COLUMNS)
        assert layout is not None, self.joined.why_not
        return layout

    @property
    def reference(self) -> np.ndarray:
        """The image by the NumPy reference."""
        images = [image if n in self.here else None for n, image in enumerate(self.images)]
        return assemble(self.layout, images, self.dtype, fill_value(self.dtype.name))

    @property
    def frame(self) -> JoinedFrame:
        """The joined frame of what is here."""
        head = Image(shape=(ROWS, COLUMNS), type=self.dtype.name, compression="none", frame=0)
        came = {module: (head, [self.images[module].tobytes()]) for module in self.here}
        return joined_frame(self.joined, "a", 0, came)


@contextmanager
def written(path: Path) -> Iterator[Any]:
    """A file that is written as the receiver writes: by a driver of its own."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    file = disk_file.open_file(descriptor, str(path), "w")
    try:
        yield file
    finally:
        disk_file.close(file)


@pytest.mark.parametrize("seed", range(20))
def test_the_virtual_dataset_is_the_reference(seed: int, tmp_path: Path) -> None:
    case = Case(seed, turned=False)
    count = len(case.images)
    statuses = ModuleStatus(count)
    frame = ModuleProcessor(()).process(case.frame)
    path = tmp_path / "x.h5"
    with written(path) as file:
        format = FrameFormat((count, ROWS, COLUMNS), case.dtype.name, "none", None)
        store = ModuleStore(file.create_group("detector"), format, case.joined, statuses, None)
        store.grow(1024)
        store.write(3, frame)
        statuses.enter(3, dict.fromkeys(case.here, FrameStatus.STORED))
        store.flush()
        np.testing.assert_array_equal(store.data[3], case.reference)
        back = store.read(3)
        assert [len(blob) > 0 for blob in back.blobs] == [module in case.here for module in range(count)]
        store.finish(np.array([0, 0, 0, 1], np.uint8))
    with h5py.File(path) as file:
        data = file["detector/data"]
        assert data.shape == (4, *case.layout.shape)
        np.testing.assert_array_equal(data[3], case.reference)
        nothing = assemble(case.layout, [None] * count, case.dtype, fill_value(case.dtype.name))
        np.testing.assert_array_equal(data[0], nothing)


@pytest.mark.parametrize("seed", range(20))
def test_the_transform_is_the_reference_with_turned_modules_too(seed: int) -> None:
    case = Case(seed, turned=True)
    frame = ModuleProcessor((Assemble(),)).process(case.frame)
    assert frame.image.shape == case.layout.shape
    whole = np.frombuffer(frame.blobs[0], case.dtype).reshape(case.layout.shape)
    np.testing.assert_array_equal(whole, case.reference)
    assert (frame.image.partial is None) == (len(case.here) == len(case.images))


def test_steps_before_assemble_work_on_modules_and_those_behind_on_the_image() -> None:
    case = Case(0, turned=False)
    worker = ModuleProcessor((Rotate(quarter_turns=2), Assemble(), Rotate(quarter_turns=1)))
    frame = worker.process(case.frame)
    images = [np.rot90(image, 2) if n in case.here else None for n, image in enumerate(case.images)]
    expected = np.rot90(assemble(case.layout, images, case.dtype, fill_value(case.dtype.name)))
    np.testing.assert_array_equal(
        np.frombuffer(frame.blobs[0], case.dtype).reshape(expected.shape), expected
    )  # fmt: skip


def test_modules_that_make_no_image_cannot_pass_the_transform() -> None:
    case = Case(0, turned=False)
    joined = Joined(["tcp://a:1", "tcp://b:1"], [Start(Header(filename=""), {"x": 0, "y": 0})] * 2)
    head = Image(shape=(ROWS, COLUMNS), type=case.dtype.name, compression="none", frame=0)
    frame = joined_frame(joined, "a", 0, {0: (head, [case.images[0].tobytes()])})
    with pytest.raises(BlobError, match="modules 0 and 1 overlap"):
        ModuleProcessor((Assemble(),)).process(frame)
