"""What a distributor hears of a receiver: its entry, series that begin and end, and silence."""

from __future__ import annotations

import io
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from penstock.processing.distributor.receiver import status as receiver_word
from penstock.processing.distributor.receiver.events import (
    Begun,
    Entry,
    Forgotten,
    News,
    Over,
    Running,
    Silent,
    mark_of,
)
from penstock.processing.distributor.receiver.watch import Watch
from tests.processing.distributor.pipelines import entry
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

DEADLINE = 60.0
Kind = TypeVar("Kind", bound=News)


class Listener:
    """Takes news in the order in which they come.

    Args:
        watch: whose.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.heard: list[News] = []

    def next_of(self, kind: type[Kind]) -> Kind:
        """Wait for the next news of a kind."""
        due = time.monotonic() + DEADLINE
        while not any(isinstance(each, kind) for each in self.heard):
            assert select.select([self.watch.fileno], [], [], due - time.monotonic())[0], self.heard
            self.heard += self.watch.news()
        found = next(each for each in self.heard if isinstance(each, kind))
        self.heard.remove(found)
        return found


@contextmanager
def listening(url: str, consumer: str = "", since: float = 0.0, over: bytes = b"") -> Iterator[Listener]:
    watch = Watch(url, consumer, since, over)
    try:
        yield Listener(watch)
    finally:
        watch.close()


def series_of(sender: Streamer, receiver: ReceiverProcess, name: str) -> str:
    series = sender.series_of(str(receiver.root / name), 3)
    receiver.ended(series)
    return series


def test_the_entry_is_told_first_and_a_series_once_its_file_is_closed(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with listening(receiver.client.url) as listener:
        found = listener.next_of(Entry)
        assert found.name == "live" and Path(found.shared).exists()
        listener.heard.clear()  # of series of other tests
        names = [series_of(sender, receiver, name) for name in ("a.h5", "b.h5")]
        for name, file in zip(names, ("a.h5", "b.h5"), strict=True):
            over = listener.next_of(Over)
            assert (over.series, over.file) == (name, str(receiver.root / file))
            assert (over.frames, over.absent, over.reason) == (3, (), "")


def test_of_what_was_over_before_only_the_last_series_is_told(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    for name in ("a.h5", "b.h5"):
        last = series_of(sender, receiver, name)
    with listening(receiver.client.url, since=time.time() + 3600) as listener:
        assert listener.next_of(Over).series == last
        listener.next_of(Entry)  # which is told after all that is over
        assert not any(isinstance(news, Over) for news in listener.heard)


def test_series_that_ended_while_nobody_listened_are_told_the_oldest_first(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    since = time.time()
    names = [series_of(sender, receiver, name) for name in ("a.h5", "b.h5", "c.h5")]
    with listening(receiver.client.url, since=since) as listener:
        assert [listener.next_of(Over).series for _ in names] == names


def test_each_series_is_answered_for_by_its_id_however_many_have_followed_it(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    since = time.time()
    names = [series_of(sender, receiver, name) for name in ("a.h5", "b.h5", "c.h5")]
    with listening(receiver.client.url, since=since) as listener:
        assert [listener.next_of(Over).series for _ in names] == names
        for name in (*names, "nobody's"):
            listener.watch.ask(name, None)
            listener.watch.ask_end(name)
        begun = [listener.next_of(Begun) for _ in range(4)]
        assert [each.series for each in begun] == [*names, "nobody's"]
        files = [str(receiver.root / f"{name}.h5") for name in "abc"]
        assert [each.file for each in begun] == [*files, None]
        again = [listener.next_of(Over) for _ in names]
        assert [(each.series, each.file) for each in again] == list(zip(names, files, strict=True))
        assert listener.next_of(Forgotten).series == "nobody's"


def test_the_end_of_a_series_that_runs_is_told_once_it_has_ended(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with listening(receiver.client.url) as listener:
        listener.next_of(Entry)
        listener.heard.clear()  # of series of other tests
        series = sender.start(str(receiver.root / "a.h5"), frames=1)
        receiver.wait(lambda status: status.series is not None and status.series.id == series)
        listener.watch.ask_end(series)
        listener.watch.ask(series, None)
        listener.next_of(Begun)
        assert not any(isinstance(each, Over) for each in listener.heard)
        sender.frame(0)
        sender.end()
        assert listener.next_of(Over).series == series


def test_all_that_ended_while_nobody_listened_are_told_although_the_past_is_looked_at_in_parts(
    receiver: ReceiverProcess, sender: Streamer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver_word, "LOOKS", (1, 2, 1000))
    since = time.time()
    names = [series_of(sender, receiver, f"{name}.h5") for name in "abcde"]
    with listening(receiver.client.url, since=since) as listener:
        assert [listener.next_of(Over).series for _ in names] == names


def test_what_was_over_for_an_earlier_distributor_is_not_told_and_what_was_not_is_however_old(
    receiver: ReceiverProcess, sender: Streamer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver_word, "LOOKS", (1, 2, 1000))
    since = time.time()
    names = [series_of(sender, receiver, f"{name}.h5") for name in "abcde"]
    started = {each.series.id: each.series.started for each in receiver.client.history(10)}
    over = b"".join(mark_of(name, started[name]) for name in names if name not in (names[0], names[2]))
    with listening(receiver.client.url, since=since, over=over) as listener:
        assert [listener.next_of(Over).series for _ in range(2)] == [names[0], names[2]]
        listener.next_of(Entry)  # which is told after all that is over
        assert not any(isinstance(news, Over) for news in listener.heard)


def test_the_series_that_the_receiver_has_now_is_told(receiver: ReceiverProcess, sender: Streamer) -> None:
    with listening(receiver.client.url) as listener:
        assert listener.next_of(Running) == Running("", None)
        series = sender.start(str(receiver.root / "a.h5"), frames=1)
        assert listener.next_of(Running) == Running(series, str(receiver.root / "a.h5"))
        sender.frame(0)
        sender.end()
        assert listener.next_of(Running) == Running("", None)


def test_where_a_series_is_kept_and_its_mask_are_told_when_asked(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    mask = np.eye(4, 6, dtype="u4")
    with listening(receiver.client.url) as listener:
        listener.next_of(Entry)
        series = sender.start(
            str(receiver.root / "a.h5"), {"pixel_mask": mask.tolist()}, frames=2, shape=(4, 6), type="uint16"
        )
        receiver.wait(lambda status: status.series is not None and status.series.id == series)
        listener.watch.ask(series, ())
        begun = listener.next_of(Begun)
        assert (begun.series, begun.file) == (series, str(receiver.root / "a.h5"))
        assert begun.detector.startswith("/entry/") and begun.started > 0 and begun.mask is not None
        np.testing.assert_array_equal(np.load(io.BytesIO(begun.mask)) != 0, mask != 0)
        sender.end()
        receiver.ended(series)


@pytest.mark.slow
def test_an_entry_that_is_not_there_and_a_receiver_that_is_gone_are_said_and_that_it_is_back(
    start_receiver: Callable[..., ReceiverProcess], tmp_path: Path
) -> None:
    receiver = start_receiver(forward=[entry(tmp_path)])
    receiver.connected()
    with listening(receiver.client.url, "other") as listener:
        assert "has no forward entry other (it has: live)" in listener.next_of(Silent).why
    with listening(receiver.client.url) as listener:
        listener.next_of(Entry)
        receiver.stop()
        assert receiver.client.url.removeprefix("http://") in listener.next_of(Silent).why
