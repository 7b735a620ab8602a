"""The journal of open files, without a receiver: two journals stand for two of them."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import resource
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.files.recovery.interrupted import Untouched, look_at, there
from penstock.receiver.files.recovery.journal import Entry, Journal
from penstock.receiver.files.recovery.recover import finalize, is_resumable, recover
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import Account
from penstock.receiver.series.running_series import RunningSeries
from tests.receiver.h5_file import write_series
from tests.receiver.sample_series import start


@pytest.fixture
def config(tmp_path: Path) -> ReceiverConfig:
    return ReceiverConfig(source=SourceConfig(endpoints=("tcp://127.0.0.1:1",)), data_root=str(tmp_path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that a killed writer has left."""
    write_series(tmp_path / "x.h5", killed=True, lost=(2, 5))
    return tmp_path / "x.h5"


def enter(config: ReceiverConfig, path: Path, name: str = "sim-1", **keys: Any) -> Journal:
    journal = Journal(name, config)
    journal.enter(path, RunningSeries(start(**{"series": "a1", **keys})), 12.5)
    return journal


def die(journal: Journal) -> None:
    """What the kernel does for a process that was killed."""
    assert journal._open is not None
    journal._open.release()


def entries(config: ReceiverConfig, name: str = "sim-1") -> list[Entry]:
    found = []
    for left in Journal(name, config).left():
        found.append(left.entry)
        left.release()
    return found


def test_what_was_open_is_found_once_its_writer_is_gone(config: ReceiverConfig, path: Path) -> None:
    journal = enter(config, path, frames=7, metadata={"count_time": 0.5})
    assert entries(config) == []
    die(journal)
    (entry,) = entries(config)
    assert (entry.filename, entry.series, entry.started) == (str(path), "a1", 12.5)
    assert (entry.header.frames, entry.metadata) == (7, {"count_time": 0.5})


def test_a_closed_file_is_not_found(config: ReceiverConfig, path: Path) -> None:
    enter(config, path).close()
    assert entries(config) == []
    assert list((path.parent / ".penstock").iterdir()) == []


def test_a_receiver_finds_its_own_files_only(config: ReceiverConfig, path: Path) -> None:
    die(enter(config, path))
    assert entries(config, "sim.1") == []  # whose journal has the same name as a file
    assert entries(config, "sim") == []
    assert len(entries(config, "sim-1")) == 1


def test_the_journal_lies_where_it_is_configured(config: ReceiverConfig, path: Path, tmp_path: Path) -> None:
    elsewhere = msgspec.structs.replace(config, state_folder=str(tmp_path / "state" / "here"))
    die(enter(elsewhere, path))
    assert entries(config) == []
    assert len(entries(elsewhere)) == 1


def test_a_folder_that_may_not_be_written_is_said_and_costs_no_series(
    config: ReceiverConfig, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (path.parent / ".penstock").touch()
    journal = enter(config, path)
    journal.close()
    assert "set state_folder to a local folder that it may write to" in caplog.text
    assert entries(config) == []


def test_a_damaged_entry_is_said_once(
    config: ReceiverConfig, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    die(enter(config, path))
    (file,) = (path.parent / ".penstock").iterdir()
    os.truncate(file, 20)
    assert entries(config) == []
    assert "is damaged" in caplog.text
    caplog.clear()
    assert entries(config) == []
    assert caplog.text == ""


def test_a_file_system_without_locks_is_said_and_costs_no_series(
    config: ReceiverConfig, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none_here(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none_here)
    enter(config, path).close()
    assert "No locks available" in caplog.text
    assert "set state_folder to a local folder" in caplog.text
    assert list((path.parent / ".penstock").iterdir()) == []


@pytest.mark.parametrize(
    ("keys", "resumable"),
    [
        ({}, True),
        ({"series": None}, False),
        ({"streams": 3}, False),
    ],
    ids=["a series with an id", "a series without", "modules"],
)
def test_only_a_series_whose_frames_name_it_can_go_on(
    keys: dict[str, Any], resumable: bool, config: ReceiverConfig, path: Path
) -> None:
    die(enter(config, path, **keys))
    (entry,) = entries(config)
    assert is_resumable(entry, config) is resumable
    assert not is_resumable(entry, msgspec.structs.replace(config, resume=False))


def test_of_several_files_only_the_latest_goes_on(config: ReceiverConfig, path: Path) -> None:
    other = path.with_name("y.h5")
    write_series(other, killed=True)
    for number, (file, series) in enumerate([(path, "a1"), (other, "a1")]):
        die(enter(config, file, series=series))
        for item in (path.parent / ".penstock").iterdir():
            if file.name in item.read_text():
                os.utime(item, (number, number))
    recovered = recover(Journal("sim-1", config), config)
    assert [past.series.filename for past in recovered.marked] == [str(path)]
    assert recovered.marked[-1].counts.stored == 4
    assert recovered.resumable is not None
    assert recovered.resumable.resumed.filename == str(other)
    recovered.resumable.reopened.close()


def test_a_file_that_was_closed_in_the_last_moment_is_neither_marked_nor_said(
    config: ReceiverConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "x.h5"
    write_series(path)
    content = path.read_bytes()
    die(enter(config, path))
    assert finalize(Journal("sim-1", config).left(), "killed").marked == []
    assert path.read_bytes() == content
    assert caplog.text == ""


def test_a_file_that_could_not_be_closed_is_marked_with_that_reason(
    config: ReceiverConfig, path: Path
) -> None:
    enter(config, path).keep("the disk was full")
    recovered = recover(Journal("sim-1", config), config)
    assert recovered.resumable is None
    assert recovered.marked[0].series.reason == "the disk was full; 4 of 6 frames are in the file"


def test_a_file_that_cannot_be_marked_for_want_of_space_is_marked_by_a_later_start(
    config: ReceiverConfig, path: Path
) -> None:
    enter(config, path).keep("the disk was full")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    try:
        (past,) = recover(Journal("sim-1", config), config).marked
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "could not be marked as incomplete" in past.series.reason
    assert past.series.reason.endswith("a receiver that is started when it can be written marks it")
    (past,) = recover(Journal("sim-1", config), config).marked
    assert past.series.reason == "the disk was full; 4 of 6 frames are in the file"
    assert recover(Journal("sim-1", config), config).marked == []


def test_a_file_that_may_not_be_written_is_left_as_it_is(
    config: ReceiverConfig, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    content = path.read_bytes()
    die(enter(config, path))
    # Not by its rights: the tests may run as root.
    monkeypatch.setattr(os, "access", lambda *_: False)
    caplog.set_level(logging.ERROR)
    (past,) = finalize(Journal("sim-1", config).left(), "killed").marked
    assert "may not be written by the receiver" in past.series.reason
    assert path.read_bytes() == content
    assert finalize(Journal("sim-1", config).left(), "killed").marked == []


def test_a_file_of_another_series_is_left_as_it_is(config: ReceiverConfig, path: Path) -> None:
    die(enter(config, path, series="another"))
    (entry,) = entries(config)
    with pytest.raises(Untouched, match="is the file of another series"):
        look_at(entry)


def test_of_a_series_that_nobody_announced_it_is_not_said_that_all_frames_are_in_the_file() -> None:
    account = Account(None)
    for index in range(3):
        account.take(index, FrameStatus.STORED)
    account.close(None)
    assert there(account) == "3 frames are in the file, how many more were to come is not known"
