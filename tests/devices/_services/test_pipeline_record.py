"""What a device makes of the statuses of a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.devices._services.pipeline_record import PipelineRecord
from penstock.processing.client import PipelineUnavailable
from penstock.processing.models import Counts, Series, Status, Worker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def record(clock: Clock) -> PipelineRecord:
    return PipelineRecord("http://127.0.0.1:1", clock)


def status(done: int = 0, *, series: str = "a", active: bool = True, **keys: Any) -> Status:
    counts = Counts(frames=100, done=done, pending=100 - done)
    return Status(state="running", series=Series(id=series, active=active, counts=counts), **keys)


def rate(record: PipelineRecord) -> float:
    assert record.snapshot is not None
    return record.snapshot.rate


def test_the_rate_is_that_of_two_seconds_and_falls_to_zero(record: PipelineRecord, clock: Clock) -> None:
    record.take(status())
    assert rate(record) == 0
    for second in range(1, 8):
        clock.now = second
        record.take(status(min(4, second) * 10))
        if second <= 4:
            assert rate(record) == 10
    assert rate(record) == 0
    record.take(status(3, series="b"))
    assert rate(record) == 0, "the next series begins with no frames"
    clock.now += 1
    record.take(status(13, series="b"))
    assert rate(record) == 10


def test_the_last_error_is_the_newest_of_a_worker_or_the_pipelines(record: PipelineRecord) -> None:
    one = Worker(name="a-1", host="a", pid=1, state="ready", last_error="ValueError: one")
    two = Worker(name="a-2", host="a", pid=2, state="ready", last_error="ValueError: two")
    seen = []
    for workers in ([], [one], [one, two], [one, two], [one], [replace(one, last_error="ValueError: new")]):
        record.take(status(workers=workers))
        assert record.snapshot is not None
        seen.append(record.snapshot.last_error)
    assert seen == [
        "", "a-1: ValueError: one", "a-2: ValueError: two", "a-2: ValueError: two", "a-2: ValueError: two",
        "a-1: ValueError: new",
    ]  # fmt: skip
    record.take(replace(status(), state="error", error="100 frames have failed in a row."))
    assert record.snapshot is not None
    assert record.snapshot.last_error == "100 frames have failed in a row."


def _ended(**counts: int) -> Status:
    made = Counts(frames=sum(counts.values()), **counts)
    return Status(state="idle", series=Series(id="a", active=False, counts=made))


@pytest.mark.parametrize(
    ("news", "sentence"),
    [
        (PipelineUnavailable("no pipeline answers"), "no pipeline answers"),
        (Status(state="idle"), "Idle; no series yet."),
        (
            Status(state="idle", waits_for="waits for its workers, which load the code"),
            "Idle; no series yet. Waits for its workers, which load the code.",
        ),
        (
            Status(state="error", error="The distributor is dead."),
            "The distributor is dead. Correct this and call Reset.",
        ),
        (status(), "Processing a series."),
        (_ended(done=5), "Idle; every frame of the last series is done."),
        (
            _ended(done=5, failed=2, absent=1),
            "Idle; NOT every frame of the last series is done (5 of 8; 2 failed, 1 absent).",
        ),
    ],
)
def test_what_the_status_says(record: PipelineRecord, news: Status, sentence: str) -> None:
    assert record.sentence() == "The pipeline at http://127.0.0.1:1 has not answered yet."
    record.take(news)
    assert record.sentence() == sentence
