"""A process that writes frames and is killed, or stopped, before a series, just as it begins, and in it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.receiver.files import stores
from penstock.receiver.files.stores.data_files import DataFilesStore
from penstock.receiver.files.stores.messages import Begin, OpenDataFile
from penstock.receiver.files.stores.preallocated import PreallocatedStore
from penstock.receiver.files.stores.writer_process import WriterProcess
from penstock.receiver.files.writer import WriterError
from penstock.receiver.models import FrameStatus
from penstock.stins.messages import Frame
from tests.receiver.files.stores.written import SHAPE, Processes, Written, array, status_of
from tests.receiver.sample_series import start
from tests.streams import image

FRAMES = 30
NOTICED = 6.0
"""Seconds within which a process that is stopped has to be noticed."""
STORES = pytest.mark.parametrize("compression", ["none", "bslz4"], ids=["places", "data files"])
SIGNALS = pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
Series = Callable[..., Written]


@pytest.fixture
def processes(three_processes: Processes) -> Iterator[Processes]:
    yield three_processes
    for process in three_processes:
        if process.is_alive:
            os.kill(process.pid, signal.SIGCONT)


@pytest.fixture
def series(tmp_path: Path, processes: Processes, monkeypatch: pytest.MonkeyPatch) -> Series:
    monkeypatch.setattr(stores, "LEAST_PLACED_BYTES", 1)

    def begin(compression: str, name: str = "x.h5") -> Written:
        opening = start(frames=FRAMES, shape=SHAPE, type="uint16", compression=compression)
        written = Written(
            tmp_path / name, opening, writers=3, processes=processes, write_with="processes"
        )  # fmt: skip
        assert isinstance(written.store, PreallocatedStore if compression == "none" else DataFilesStore)
        return written

    return begin


def frame(number: int, compression: str) -> Frame:
    pixels = array(number)
    blob = pixels.tobytes() if compression == "none" else bslz4.compress(pixels)
    return Frame(image(number, pixels, series="a", compression=compression), [blob])


def hit(process: WriterProcess, number: signal.Signals) -> None:
    """Send a signal, and return when it has had its effect."""
    os.kill(process.pid, number)
    effect = os.WEXITED if number == signal.SIGKILL else os.WSTOPPED
    os.waitid(os.P_PID, process.pid, effect | os.WNOWAIT)


def takes_all(written: Written, compression: str) -> None:
    """The series gets all of its frames, and each is in the file."""
    written.add(*(frame(number, compression) for number in range(FRAMES)))
    written.close(triggered=FRAMES)
    with h5py.File(written.writer.path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(n) for n in range(FRAMES)])


def as_it_begins(
    monkeypatch: pytest.MonkeyPatch, process: WriterProcess, number: signal.Signals, times: int
) -> None:
    """Hit a process in the moment in which it is told of a series, and so many times whoever follows it."""
    real, left = WriterProcess._send, [times]

    def send(self: WriterProcess, command: Any, descriptor: int | None = None) -> None:
        if self is process and isinstance(command, Begin) and left[0]:
            left[0] -= 1
            hit(self, number)
            if isinstance(command.target, OpenDataFile):  # as one leaves it that was killed a little later
                assert descriptor is not None
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
                os.close(os.open(command.target.name, flags, dir_fd=descriptor))
        real(self, command, descriptor)

    monkeypatch.setattr(WriterProcess, "_send", send)


@STORES
@SIGNALS
def test_a_process_that_was_lost_before_the_series_begins_is_replaced(
    series: Series,
    processes: Processes,
    compression: str,
    number: signal.Signals,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for process in processes[1:]:
        hit(process, number)
    began = time.monotonic()
    written = series(compression)
    assert time.monotonic() - began < NOTICED
    takes_all(written, compression)
    how = "was killed by SIGKILL" if number == signal.SIGKILL else "was stopped"
    said = [record.getMessage() for record in caplog.records]
    assert [f"writer process {n} {how}" in text for n, text in zip((2, 3), said, strict=True)] == [True] * 2


@STORES
@SIGNALS
def test_a_process_that_is_lost_just_as_the_series_begins_is_replaced(
    series: Series,
    processes: Processes,
    monkeypatch: pytest.MonkeyPatch,
    compression: str,
    number: signal.Signals,
) -> None:
    as_it_begins(monkeypatch, processes[1], number, times=1)
    began = time.monotonic()
    written = series(compression)
    assert time.monotonic() - began < NOTICED
    takes_all(written, compression)


@pytest.mark.slow
@STORES
@SIGNALS
def test_two_that_are_lost_one_after_the_other_fail_the_series_with_what_happened_and_what_to_do(
    series: Series,
    processes: Processes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    compression: str,
    number: signal.Signals,
) -> None:
    as_it_begins(monkeypatch, processes[1], number, times=2)
    began = time.monotonic()
    with pytest.raises(WriterError) as raised:
        series(compression)
    assert time.monotonic() - began < 2 * NOTICED
    how = r"was killed by SIGKILL \(-9\)" if number == signal.SIGKILL else r"was stopped \(SIGSTOP\) .*"
    assert raised.match(
        rf"cannot create .*x\.h5: writer process 2 {how} as the series began, and the one before it did no "
        r"better; look into the receiver's log and the kernel's \(dmesg\)"
    )
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    monkeypatch.setattr(stores, "LEAST_PLACED_BYTES", 1)
    takes_all(series(compression), compression)


@STORES
def test_a_process_that_is_stopped_in_a_series_ends_it_within_seconds_and_says_so(
    series: Series, processes: Processes, compression: str
) -> None:
    written = series(compression)
    written.add(*(frame(number, compression) for number in range(10)))
    written.writer.flush()
    stopped = processes[0]
    hit(stopped, signal.SIGSTOP)
    began = time.monotonic()
    written.add(*(frame(number, compression) for number in range(10, FRAMES)))
    with pytest.raises(
        WriterError,
        match=r"writer process 1 was stopped \(SIGSTOP\) .* of 30 frames are in the file\. "
        "Look who stops processes of the receiver",
    ):
        written.writer.flush()
    with pytest.raises(WriterError, match="writer process 1 was stopped"):
        written.close("a writer was stopped")
    assert time.monotonic() - began < NOTICED
    kept = written.series.account.counts().stored
    assert 10 <= kept < FRAMES
    with h5py.File(written.writer.path) as file:
        statuses = np.array(status_of(file))
        stored = np.flatnonzero(statuses == FrameStatus.STORED)
        found = file["entry/data/data"][()]
        assert stored.tolist()[:10] == list(range(10))
        assert len(stored) == kept
        np.testing.assert_array_equal(found[stored], [array(n) for n in stored])
    takes_all(series(compression, "y.h5"), compression)


@STORES
def test_a_process_that_is_stopped_for_a_moment_costs_nothing(
    series: Series, processes: Processes, compression: str
) -> None:
    written = series(compression)
    pids = [process.pid for process in processes]
    for process in processes:
        hit(process, signal.SIGSTOP)
    woken = os.fork()
    if woken == 0:
        time.sleep(0.7)  # how long it is stopped, nothing is waited for
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        os._exit(0)
    takes_all(written, compression)
    os.waitpid(woken, 0)
    assert [process.pid for process in processes] == pids


def test_a_process_that_is_stopped_does_not_hold_up_the_end_of_the_receiver() -> None:
    process = WriterProcess(1, 100)
    hit(process, signal.SIGSTOP)
    began = time.monotonic()
    process.close()
    assert time.monotonic() - began < NOTICED / 2
    assert not process.is_alive
