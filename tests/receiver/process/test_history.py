"""The past series of a receiver: kept over restarts and kills, bounded, and never a series' business."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.models import Counts, PastSeries, Series
from penstock.receiver.process import history as history_module
from penstock.receiver.process.history import KEPT, History
from penstock.stins.series import SeriesEncoder
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer

Opened = Callable[..., History]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a thread that shares a busy processor."""
    monkeypatch.setattr(history_module, "LOAD_SECONDS", DEADLINE)
    monkeypatch.setattr(history_module, "CLOSE_SECONDS", DEADLINE)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens a history as a start of the receiver does; an earlier one has ended."""
    running: list[History] = []

    def close() -> None:
        while running:
            running.pop().close()

    def again(name: str = "sim-1", **keys: Any) -> History:
        close()
        source = SourceConfig(endpoints=("tcp://127.0.0.1:1",))
        running.append(History(name, ReceiverConfig(source=source, data_root=str(tmp_path), **keys)))
        running[-1].start()
        return running[-1]

    yield again
    close()


def past(number: int, reason: str = "all 3 frames are there") -> PastSeries:
    series = Series(
        id=f"id-{number}", filename=f"/data/ä {number}.h5", active=False, complete=False, reason=reason,
        started=1e9 + number, ended=1e9 + number + 0.5, lost=[(1, 2, "missing"), (5, 5, "corrupt")],
    )  # fmt: skip
    return PastSeries(series=series, counts=Counts(planned=6, stored=3, missing=2, corrupt=1))


def ids(history: History, limit: int = KEPT) -> list[str]:
    return [found.series.id for found in history.last(limit)]


def test_the_newest_series_comes_first_and_no_more_than_asked_for(opened: Opened) -> None:
    history = opened()
    assert history.last(5) == []
    for number in range(4):
        history.add(past(number))
    assert history.last(2) == [past(3), past(2)]


def test_a_series_is_found_by_its_id_and_of_two_with_one_id_the_last(opened: Opened) -> None:
    history = opened()
    for number in range(3):
        history.add(past(number))
    history.add(newest := replace(past(1), series=replace(past(1).series, started=2e9)))
    assert history.find("id-0") == past(0) and history.find("id-1") == newest
    assert history.find("id-3") is None
    assert opened().find("id-1") == newest


def test_a_restart_keeps_them(opened: Opened) -> None:
    history = opened()
    for number in range(3):
        history.add(past(number))
    again = opened()
    assert again.last(9) == [past(2), past(1), past(0)]
    again.add(past(3))
    assert ids(opened()) == ["id-3", "id-2", "id-1", "id-0"]


def test_the_second_word_on_a_series_takes_the_place_of_the_first(opened: Opened) -> None:
    history = opened()
    for found in (past(0), past(1), past(0, "closed after all")):
        history.add(found)
    for each in (history, opened()):
        assert each.last(9) == [past(0, "closed after all"), past(1)]


def test_the_file_is_made_short_when_it_is_twice_as_long_as_it_has_to_be(opened: Opened) -> None:
    history = opened()
    longest = 0
    for number in range(2 * KEPT + 10):
        history.add(past(number))
        if number % KEPT == KEPT - 1:
            history = opened()  # what was added is in the file
            longest = max(longest, len(history.path.read_bytes().splitlines()))
    history = opened()
    lines = history.path.read_bytes().splitlines()
    assert KEPT <= len(lines) <= longest == 2 * KEPT
    assert ids(history) == [f"id-{number}" for number in range(2 * KEPT + 9, KEPT + 9, -1)]
    assert [item.name for item in history.path.parent.iterdir()] == [history.path.name]


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[:-20],
        lambda line: b"\0" * 4096,
        lambda line: b'{"series": 7}\n',
        lambda line: b"\xff\xfe\n",
        lambda line: line.replace(b'"missing"', b'"eaten"'),
        lambda line: b'{"x":' + b"[" * 100_000 + b"\n",
    ],
    ids=["cut short", "zeros", "something else", "no text", "an unknown fate", "deep"],
)
def test_a_damaged_line_costs_no_other_one_and_is_said_once(
    damage: Callable[[bytes], bytes], opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    history = opened()
    for number in range(3):
        history.add(past(number))
    history.close()
    first, second, third = history.path.read_bytes().splitlines(keepends=True)
    damaged = first + third + damage(second)
    history.path.write_bytes(damaged)
    history = opened()
    assert history.last(9) == [past(2), past(0)]
    history.add(past(3))
    assert ids(opened()) == ["id-3", "id-2", "id-0"]
    (said,) = caplog.messages
    aside = history.path.with_suffix(".damaged")
    assert "1 of the lines" in said and str(aside) in said
    assert aside.read_bytes() == damaged


def test_a_folder_that_cannot_be_written_is_said_once_and_nothing_is_forgotten(
    opened: Opened, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "state"
    in_the_way.write_text("a file, where the folder should be")
    history = opened(state_folder=str(in_the_way))
    for number in range(3):
        history.add(past(number))
        assert ids(history)[0] == f"id-{number}"
    history.close()
    (said,) = caplog.messages
    assert "in memory only" in said and "state_folder" in said


def test_what_could_not_be_written_follows_as_soon_as_it_can(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "state"
    in_the_way.write_text("a file, where the folder should be")
    tried = threading.Semaphore(0)
    monkeypatch.setattr(History, "_warn", lambda *_: tried.release())
    history = opened(state_folder=str(in_the_way))
    history.add(past(0))
    for _ in range(2):  # it can neither be read nor written
        assert tried.acquire(timeout=DEADLINE)
    history.add(past(1))
    in_the_way.unlink()
    history.add(past(2))
    assert ids(opened(state_folder=str(in_the_way))) == ["id-2", "id-1", "id-0"]


def test_receivers_that_share_a_folder_have_files_of_their_own(opened: Opened) -> None:
    for name in ("a b", "a_b", "a/b", ".."):
        opened(name).add(past(0))
        assert ids(opened(name)) == ["id-0"]
    assert len(list(opened("a b").path.parent.iterdir())) == 4


def test_a_question_does_not_wait_for_ever_for_a_file_that_hangs(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_module, "LOAD_SECONDS", 0.5)
    monkeypatch.setattr(history_module, "CLOSE_SECONDS", 0.5)
    pipe = tmp_path / ".penstock" / "sim-1.series.jsonl"
    pipe.parent.mkdir()
    os.mkfifo(pipe)  # opening it waits for somebody who writes
    history = opened()
    history.add(past(7))
    assert ids(history) == ["id-7"]
    held = os.open(pipe, os.O_PATH)
    pipe.unlink()
    with open(f"/proc/self/fd/{held}", "wb"):
        os.close(held)


def history_of(receiver: ReceiverProcess) -> list[tuple[str, str | None, bool | None, int]]:
    return [
        (found.series.id, found.series.filename, found.series.complete, found.counts.stored)
        for found in receiver.client.history(KEPT)
    ]


@pytest.fixture
def started(tmp_path: Path, streamer: Streamer) -> Iterator[Callable[..., ReceiverProcess]]:
    """Starts a receiver, again and again in the same folder."""
    running: list[ReceiverProcess] = []

    def start(**keys: Any) -> ReceiverProcess:
        running.append(ReceiverProcess(tmp_path, streamer.endpoint, **keys))
        running[-1].connected()
        return running[-1]

    yield start
    for each in running:
        each.close()


def kill(receiver: ReceiverProcess) -> None:
    """Both processes at once."""
    receiver.process.send_signal(signal.SIGSTOP)
    child = receiver.data_process()
    os.kill(child, signal.SIGKILL)
    receiver.process.kill()
    receiver.process.wait(DEADLINE)


@pytest.mark.slow
def test_a_receiver_tells_of_its_past_series_after_restarts_and_kills_too(
    started: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    first = started()
    root = first.root
    complete = streamer.series_of(str(root / "a.h5"), 3)
    live = streamer.series_of("", 2)
    first.ended(live)
    streamer.start(str(root / "a.h5"), frames=3, series="not taken")  # its file is there
    first.wait(lambda status: status.series is not None and not status.series.taken)
    expected = [
        ("not taken", None, False, 0), (live, None, True, 0), (complete, str(root / "a.h5"), True, 3),
    ]  # fmt: skip
    assert history_of(first) == expected
    assert first.stop() == 0

    second = started()
    assert history_of(second) == expected
    streamer.encoder = SeriesEncoder()
    killed = streamer.start(str(root / "killed.h5"), frames=9, trigger_mode="SOFTWARE")
    for number in range(4):
        streamer.frame(number)
    second.flushed(4)
    assert history_of(second) == expected, "a series that runs is not among them"
    kill(second)

    third = started(resume=False)
    third.wait(lambda status: status.series is not None and status.series.id == killed)
    assert history_of(third) == [(killed, str(root / "killed.h5"), False, 4), *expected]
    found = third.client.history(1)[0].series
    assert found.reason == "the receiver was killed; 4 of 9 frames are in the file"
    assert found.lost == [(4, 8, "missing")]


def test_series_that_end_within_one_breath_are_all_in_it(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    sent = [streamer.series_of("", 1) for _ in range(40)]
    receiver.ended(sent[-1])
    due = time.monotonic() + DEADLINE
    while len(history_of(receiver)) < len(sent):  # five with each snapshot
        assert time.monotonic() < due
    assert [found[0] for found in history_of(receiver)] == sent[::-1]


@pytest.mark.slow
def test_a_live_view_whose_data_process_was_killed_is_in_it_as_incomplete(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    series = streamer.start("", frames=9, trigger_mode="SOFTWARE")
    streamer.frame(0)
    receiver.received(1)
    os.kill(receiver.data_process(), signal.SIGKILL)
    status = receiver.wait(lambda status: status.series is None or not status.series.active)
    assert (status.state, status.error) == ("idle", "")
    assert history_of(receiver) == [(series, None, False, 0)]
    assert "ended by signal SIGKILL" in receiver.client.history()[0].series.reason
