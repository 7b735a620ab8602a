"""What one process records, another one reads: whole, in order, bounded, and after either was killed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.processing.channels.history import History
from penstock.processing.channels.recording import RECORD, News, Reader, Recording, Writer


@pytest.fixture
def recording() -> Iterator[Recording]:
    made = Recording()
    yield made
    made.close()


def test_values_and_news_are_read_in_the_order_in_which_they_were_written(recording: Recording) -> None:
    writer, reader = Writer(recording.places), Reader(recording.places)
    assert len(reader.values()) == 0 and reader.news() == []
    writer.value(1, 10.0, 0.5)
    writer.value(0, 9.0, -1.5, number=7)
    writer.say(News(1, "events"))
    assert reader.values().tolist() == [(1, -1, 10.0, 0.5), (0, 7, 9.0, -1.5)]
    assert reader.news() == [News(1, "events")]
    assert len(reader.values()) == 0 and reader.news() == []
    writer.say(News(1, problem="gone"))
    assert reader.news() == [News(1, problem="gone")]
    again = Reader(recording.places)  # of a distributor that was started again
    assert len(again.values()) == 2 and again.news()[-1].problem == "gone"


def test_the_oldest_values_are_let_go_of_and_the_newest_are_kept(recording: Recording) -> None:
    kept = 4096 * RECORD.itemsize
    writer, reader = Writer(recording.places, kept), Reader(recording.places, kept)
    block = np.zeros(1024, RECORD)
    for number in range(64):
        block["time"] = np.arange(number * 1024, (number + 1) * 1024)
        writer.values(block)
        assert reader.values()["time"].tolist() == block["time"].tolist()
    assert os.stat(recording.places.values).st_blocks * 512 <= 3 * kept
    assert Reader(recording.places, kept).values()["time"].tolist() == list(range(60 * 1024, 64 * 1024))


MOMENTS = st.lists(st.integers(0, 30).map(float), max_size=10)


@given(st.lists(MOMENTS, max_size=8), st.integers(1, 40))
def test_a_history_has_the_newest_values_in_the_order_of_their_times(
    messages: list[list[float]], most: int
) -> None:
    history, plain, count = History(most), [], 0
    for times in messages:
        numbers = np.arange(count, count + len(times))
        history.add(np.array(times), numbers * 0.5, numbers)
        plain = sorted([*plain, *zip(times, numbers.tolist(), strict=True)])[-most:]
        count += len(times)
        assert list(zip(history.times.tolist(), history.numbers.tolist(), strict=True)) == plain
        assert history.values.tolist() == [number * 0.5 for _, number in plain]
        assert history.newest == (plain[-1][0] if plain else -np.inf)
    assert history.total == count
    times, _, numbers = history.since(12.0)
    found = list(zip(times.tolist(), numbers.tolist(), strict=True))
    assert found == [each for each in plain if each[0] >= 12]
