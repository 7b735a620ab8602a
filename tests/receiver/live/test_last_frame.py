"""The newest frame, from one process to another through shared memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from penstock.codecs import bslz4
from penstock.receiver.http.live_view import unpack
from penstock.receiver.live import last_frame
from penstock.receiver.live.last_frame import LEAST_SECONDS, LastFrame
from penstock.stins.messages import Frame
from tests.receiver.sample_series import frame
from tests.streams import image, pixels


@pytest.fixture
def ends() -> Iterator[tuple[LastFrame, LastFrame]]:
    """The data process' end and the HTTP process' end of the same memory."""
    descriptor = last_frame.create()
    yield Writer(descriptor), LastFrame(descriptor)
    os.close(descriptor)


class Writer(LastFrame):
    """Whose copies are made once `step` has returned."""

    def step(self, now: float) -> None:
        super().step(now)
        if self._copying is not None:
            self._copying.result()


def last_shown(reader: LastFrame) -> tuple[int, int]:
    """Version and index of the frame that is shown; its pixels are those of its index."""
    held = reader.read()
    assert held is not None
    info = held.info
    found = unpack(info.shape, info.dtype, info.compression, held.blobs)
    np.testing.assert_array_equal(found, pixels(info.index))
    return held.version, info.index


def test_before_the_first_frame_there_is_none(ends: tuple[LastFrame, LastFrame]) -> None:
    _, reader = ends
    assert (reader.version, reader.read()) == (0, None)


def test_a_frame_has_the_time_of_its_exposure_or_else_that_at_which_it_came(
    ends: tuple[LastFrame, LastFrame],
) -> None:
    writer, reader = ends
    timed = Frame(structs.replace(frame(0).image, timestamp=1234.5), frame(0).blobs)
    began = time.time()
    for number, each in enumerate((timed, frame(1))):
        reader.want()
        writer.offer("a", number, each)
        writer.step(1.0 + number)
        held = reader.read()
        assert held is not None and held.info.time is not None
        if number == 0:
            assert held.info.time == 1234.5
        else:
            assert began <= held.info.time <= time.time()


def test_while_nobody_looks_nothing_is_copied(ends: tuple[LastFrame, LastFrame]) -> None:
    writer, reader = ends
    for number in range(5):
        writer.offer("a", number, frame(number))
        writer.step(float(number))
    assert reader.version == 0


def test_a_viewer_that_asks_gets_the_next_frame(ends: tuple[LastFrame, LastFrame]) -> None:
    writer, reader = ends
    reader.want()
    writer.offer("a", 3, frame(3))
    writer.step(1.0)
    assert last_shown(reader) == (2, 3)


def test_a_viewer_that_comes_late_gets_the_newest_frame_although_no_other_comes(
    ends: tuple[LastFrame, LastFrame],
) -> None:
    writer, reader = ends
    for number in range(5):
        writer.offer("a", number, frame(number))
        writer.step(float(number))
    reader.want()
    writer.step(5.0)
    assert last_shown(reader)[1] == 4


def test_the_last_frame_of_a_series_is_shown_asked_for_or_not(ends: tuple[LastFrame, LastFrame]) -> None:
    writer, reader = ends
    for number in range(5):
        writer.offer("a", number, frame(number))
        writer.step(float(number))
    writer.finalize()
    assert last_shown(reader)[1] == 4


def test_no_more_frames_are_copied_than_eyes_can_follow(ends: tuple[LastFrame, LastFrame]) -> None:
    writer, reader = ends
    copies = set()
    for number in range(100):
        reader.want()
        writer.offer("a", number, frame(number))
        writer.step(1.0 + number * LEAST_SECONDS / 10)
        copies.add(reader.version)
    assert len(copies) == 10


def test_versions_only_grow(ends: tuple[LastFrame, LastFrame]) -> None:
    writer, reader = ends
    versions = []
    for number in range(5):
        reader.want()
        writer.offer("a", number, frame(number))
        writer.step(1.0 + number)
        versions.append(last_shown(reader)[0])
    assert versions == sorted(set(versions))


def test_packed_frames_and_modules_are_shown(ends: tuple[LastFrame, LastFrame]) -> None:
    writer, reader = ends
    array = pixels(0, (3, 40, 60))
    blobs = [bslz4.compress(module) for module in array]
    reader.want()
    writer.offer("a", 0, Frame(image(0, array, compression="bslz4"), blobs))
    writer.step(1.0)
    held = reader.read()
    assert held is not None
    found = unpack(held.info.shape, held.info.dtype, held.info.compression, held.blobs)
    np.testing.assert_array_equal(found, array)


def test_a_writer_that_was_killed_in_the_middle_of_a_copy_blocks_no_viewer(
    ends: tuple[LastFrame, LastFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = ends
    monkeypatch.setattr(last_frame, "READ_SECONDS", 0.05)
    writer._numbers[last_frame._VERSION] = 1  # what a copy that never ends looks like
    assert reader.read() is None
    reader.want()
    writer.offer("a", 1, frame(1))
    writer.step(2.0)
    assert last_shown(reader)[1] == 1, "the next data process writes into the same memory"


def test_a_frame_that_cannot_be_copied_ends_nothing(
    ends: tuple[LastFrame, LastFrame], caplog: pytest.LogCaptureFixture
) -> None:
    writer, reader = ends
    released = memoryview(b"as long")
    released.release()
    reader.want()
    writer.offer("a", 0, Frame(image(0, pixels(0)), [released]))
    writer.step(1.0)
    assert "frame 0 cannot be shown (series a)" in caplog.text
    reader.want()
    writer.offer("a", 1, frame(1))
    writer.step(2.0)
    assert last_shown(reader)[1] == 1


class Gate(Writer):
    """Copies only when the test lets it."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self.open = threading.Event()
        self.copies = 0

    def step(self, now: float) -> None:
        LastFrame.step(self, now)

    def show(self, *args: Any, **keys: Any) -> bool:
        assert self.open.wait(10)
        self.copies += 1
        return super().show(*args, **keys)


def test_the_thread_that_every_frame_passes_does_not_wait_for_the_copy() -> None:
    descriptor = last_frame.create()
    writer, reader = Gate(descriptor), LastFrame(descriptor)
    reader.want()
    for number in range(100):  # each a step on, and none of them waits
        writer.offer("a", number, frame(number))
        writer.step(1.0 + number)
    assert reader.version == 0
    writer.open.set()
    writer.finalize()
    assert writer.copies == 2, "no second copy is queued while one waits"
    assert last_shown(reader)[1] == 99, "the last one is shown when the series has ended"
    os.close(descriptor)


@pytest.mark.parametrize(
    ("value", "known"), [(1000, 1000.0), (-1, None), ("x", None), (10**400, None), (None, None)]
)
def test_saturation_is_told_where_the_detector_says_it(
    value: object, known: float | None, ends: tuple[LastFrame, LastFrame]
) -> None:
    writer, reader = ends
    writer.begin({"saturation_value": value})
    reader.want()
    writer.offer("a", 0, frame(0))
    writer.step(1.0)
    held = reader.read()
    assert held is not None
    assert held.info.saturation == known
