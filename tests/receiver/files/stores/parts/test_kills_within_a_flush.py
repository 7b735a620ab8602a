"""A writer that is killed while a view is replaced: the kernel has what was written up to some write."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.receiver.files import writer
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.disk.blob_writes import pwrite_all
from penstock.stins.messages import Buffer
from tests.receiver.files.stores.parts.test_module_parts import Joint, image
from tests.receiver.files.stores.written import Written, array, frame
from tests.receiver.sample_series import start

pytestmark = pytest.mark.usefixtures("small_blocks")


class Series:
    """A series of this kind, and the image of a frame in it."""

    def __init__(self, kind: str, path: Path) -> None:
        self.image: Callable[[int], np.ndarray] = image if kind == "modules" else array
        if kind == "modules":
            joint = Joint(path, None)
            self.put, self.writer = joint.put, joint.writer
            self.close: Callable[[], None] = joint.close
        else:
            how = {"files": 2} if kind == "parts" else {"frames_per_file": 4}
            written = Written(path, start(frames=None), **how)
            self.put = lambda number: written.add(frame(number))
            self.writer, self.close = written.writer, written.close


@pytest.mark.parametrize("kind", ["modules", "parts", "segments"])
def test_a_kill_at_any_write_of_a_view_that_replaces_another_leaves_one_of_the_two(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ROWS_PER_STEP", 2)
    path = tmp_path / "series" / "x.h5"
    series, flushed, looks = Series(kind, path), 0, 0

    def write_and_look(descriptor: int, blob: Buffer, offset: int) -> None:
        nonlocal looks
        pwrite_all(descriptor, blob, offset)
        killed = shutil.copytree(path.parent, tmp_path / "killed", dirs_exist_ok=True)
        with h5py.File(killed / path.name, locking=False) as file:
            data = file["entry/data/data"]
            for index in range(flushed):
                np.testing.assert_array_equal(data[index], series.image(index))
        looks += 1

    for number in range(11):
        if number in (
            4,
            7,
        ):  # from two blocks of three frames to three, which are one view; of modules, more rows
            series.writer.flush()
            monkeypatch.setattr(disk_file, "pwrite_all", write_and_look)
            flushed = number
        series.put(number)
    series.writer.flush()
    series.close()
    assert looks > 30
