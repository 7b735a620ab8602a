"""A process that is killed while it makes the file of a series leaves its name free, or a file that opens."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.files import storage
from penstock.receiver.files.recovery.journal import Journal
from penstock.receiver.files.recovery.recover import Recovered, recover
from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.stores import preallocated
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.series.running_series import RunningSeries
from tests.receiver.files.stores.written import SHAPE, Written, array, frame
from tests.receiver.sample_series import start

OPENING = {"frames": 9, "shape": SHAPE, "type": "uint16", "compression": "none", "series": "a"}


@pytest.fixture
def config(tmp_path: Path) -> ReceiverConfig:
    return ReceiverConfig(source=SourceConfig(endpoints=("tcp://127.0.0.1:1",)), data_root=str(tmp_path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.h5"


def begin(path: Path, config: ReceiverConfig, **keys: Any) -> None:
    """What the pipeline does when a series begins."""
    series = RunningSeries(start(**{**OPENING, **keys}))
    enter = partial(Journal("sim-1", config).enter, path, series, 12.5)
    SeriesWriter(path, "sim-1", series, "a test", begun=enter)


def in_a_child(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def killed(work: Callable[[], None]) -> None:
    """Do something that kills its own process."""
    _, status = os.waitpid(in_a_child(work), 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def names(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir() if place.name != ".penstock")


@contextmanager
def going_on(path: Path, config: ReceiverConfig) -> Iterator[Written]:
    """The series, taken up again by the next process."""
    resumable = recover(Journal("sim-1", config), config).resumable
    assert resumable is not None
    again = Written.__new__(Written)
    again.series = RunningSeries(resumable.start, resumed=resumable.resumed)
    again.writer = SeriesWriter(path, "sim-1", again.series, "", reopened=resumable.reopened)
    try:
        yield again
    finally:
        resumable.left.remove()


def left(recovered: Recovered) -> None:
    if recovered.resumable is not None:
        recovered.resumable.reopened.close()
        recovered.resumable.left.remove()


@pytest.mark.parametrize(("module", "function"), [(storage, "give_name"), (storage, "_give_free_name")])
def test_a_kill_before_the_file_has_its_name_leaves_the_name_free(
    path: Path, config: ReceiverConfig, monkeypatch: pytest.MonkeyPatch, module: Any, function: str
) -> None:
    with monkeypatch.context() as at_this_moment:
        at_this_moment.setattr(module, function, die)
        killed(lambda: begin(path, config))
    assert not path.exists()
    (past,) = recover(Journal("sim-1", config), config).marked
    assert "or its creator was killed" in past.series.reason
    assert not list((path.parent / ".penstock").iterdir())
    written = Written(path, start(**OPENING))
    written.add(frame(0))
    written.close("stopped")
    assert path.exists()


def test_a_kill_before_the_frames_are_shown_is_made_up_for_when_the_series_goes_on(
    path: Path, config: ReceiverConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preallocated, "LEAST_FRAME_BYTES", 1)
    with monkeypatch.context() as at_this_moment:
        at_this_moment.setattr(SeriesWriter, "_show_frames", die)
        killed(lambda: begin(path, config, checksum="crc32"))
    with going_on(path, config) as again:
        again.add(frame(0, checksum="crc32"))
        again.close("stopped")
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(0)])
        assert file["entry/data"].attrs["signal"] == "data"
        assert "checksum" in file["entry/instrument/sim_1"]


@pytest.mark.slow
def test_kill_9_at_any_moment_of_the_beginning_leaves_a_free_name_or_a_file_that_opens(
    config: ReceiverConfig, tmp_path: Path
) -> None:
    dice = random.Random(5)
    named, span = 0, 0.04
    for trial in range(100):
        path = tmp_path / f"{trial}.h5"
        told, tell = os.pipe()
        pid = in_a_child(partial(_begin_and_wait, path, config, tell))
        os.close(tell)
        os.read(told, 1)  # it begins
        os.close(told)
        time.sleep(dice.uniform(0, span))  # the moment of death, nothing is waited for
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        span *= 0.9 if path.exists() else 1.1  # about every second one has its name, however slow the machine
        if path.exists():
            named += 1
            with h5py.File(path) as file:
                assert file["entry/instrument/sim_1/series/state"].asstr()[()] == "in progress"
        left(recover(Journal("sim-1", config), config))
        drafts = [name for name in names(tmp_path) if name.startswith(".")]
        assert len(drafts) <= 1  # under a name that nobody wants
        for name in drafts:
            (tmp_path / name).unlink()
        if not path.exists():
            Written(path, start(**OPENING)).close("stopped")
    assert 10 < named < 100, "they were killed too early, or too late, to tell"


def _begin_and_wait(path: Path, config: ReceiverConfig, tell: int) -> None:
    os.write(tell, b"x")
    begin(path, config)
    signal.pause()


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_system_without_hard_links_gives_the_name_exclusively_too(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuses(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuses)
    written = Written(path, start(**OPENING))
    written.add(frame(0))
    written.close("stopped")
    before = path.read_bytes()
    with pytest.raises(StorageError, match="exists and is not overwritten"):
        Written(path, start(**OPENING))
    assert (names(path.parent), path.read_bytes()) == (["x.h5"], before)
