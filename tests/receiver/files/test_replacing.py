"""A file that is there already: never touched, or replaced where that was asked for."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.receiver.files import lease, storage
from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.reopened import reopen_file
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.series.running_series import RunningSeries
from tests.receiver.files.written import Written, write
from tests.receiver.sample_series import frame, start
from tests.streams import pixels


def test_an_existing_file_is_never_touched(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(StorageError, match="exists and is not overwritten"):
        Written(path, start())
    assert path.read_bytes() == b"precious"


def test_an_existing_file_is_replaced_when_that_was_asked_for(path: Path) -> None:
    path.write_bytes(b"old")
    write(path, start(overwrite=True), [frame(0)])
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 1


def test_a_file_that_is_being_written_is_replaced_by_nobody(path: Path) -> None:
    first = Written(path, start(frames=2))
    first.add(frame(0))
    with pytest.raises(StorageError, match=r"a receiver is writing .*x\.h5, .* another data_root") as refusal:
        Written(path, start(overwrite=True))
    assert refusal.value.kind == "being_written"
    first.add(frame(1))
    first.close(reason="complete")
    assert [file.name for file in path.parent.iterdir()] == ["x.h5"]
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [pixels(0), pixels(1)])


def test_a_file_that_was_written_is_replaced_by_who_wrote_it(path: Path) -> None:
    for count in (3, 2):
        write(path, start(overwrite=True), map(frame, range(count)), reason="complete")
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 2


def test_a_file_that_goes_on_after_a_kill_is_replaced_by_nobody(path: Path) -> None:
    first = Written(path, start(frames=2))
    first.add(frame(0))
    first.writer.flush()
    left = path.with_name("left.h5")  # as a process leaves it that is killed now
    shutil.copy(path, left)
    first.close("stopped")
    series = RunningSeries(start(frames=2))
    writer = SeriesWriter(left, "sim-1", series, "", reopened=reopen_file(left))
    with pytest.raises(StorageError, match="a receiver is writing"):
        Written(left, start(overwrite=True))
    writer.close(series.close("stopped"), synced=False)
    write(left, start(overwrite=True), [frame(0)])


def test_of_many_who_replace_one_file_at_once_one_wins_and_loses_nothing(path: Path) -> None:
    path.write_bytes(b"old")
    ready = threading.Barrier(8)
    won: list[int] = []
    held: list[int] = []

    def replace_it() -> None:
        folder = storage.open_folder(path)
        draft = f".{threading.get_ident()}.draft"
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, dir_fd=folder)
        held.append(lease.hold(descriptor))
        ready.wait(10)
        try:
            storage.give_name(draft, path.name, folder, replace=True)
            won.append(os.fstat(descriptor).st_ino)
        except FileExistsError:
            os.unlink(draft, dir_fd=folder)
        os.close(descriptor)
        os.close(folder)

    for _ in range(20):
        held.clear()
        threads = [threading.Thread(target=replace_it) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert won == [path.stat().st_ino]
        won.clear()
        for mark in held:
            os.close(mark)
