"""What updates of a record mean, without EPICS."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from penstock.processing.channels.channel_writer import ChannelWriter, Unsuitable
from penstock.processing.channels.epics_record import EpicsRecord
from penstock.processing.channels.recording import ENDED, NO_NUMBER, News, Reader, Recording, Writer
from penstock.processing.config.pipeline_config import ChannelConfig

MOMENT = 1_700_000_000.0


@pytest.fixture
def recording() -> Iterator[Recording]:
    made = Recording()
    yield made
    made.close()


def record_of(recording: Recording, **keys: str) -> tuple[EpicsRecord, Reader]:
    config = ChannelConfig(name="x", attribute="pva://X", **keys)  # type: ignore[arg-type]
    return EpicsRecord(ChannelWriter(0, config, Writer(recording.places))), Reader(recording.places)


def recorded(reader: Reader) -> list[tuple[int, float]]:
    return [(number, moment) for _, number, moment, _ in reader.values().tolist()]


def test_a_value_that_holds_ends_once_with_invalid_alarms_and_not_with_minor_and_major(
    recording: Recording,
) -> None:
    record, reader = record_of(recording, how="hold")
    for number, severity in enumerate((0, 1, 2, 3, 3, 0)):
        record.update(1.0, MOMENT + number, severity, "LOLO" if severity else "")
    assert recorded(reader) == [
        (NO_NUMBER, MOMENT), (NO_NUMBER, MOMENT + 1), (NO_NUMBER, MOMENT + 2), (ENDED, MOMENT + 3),
        (NO_NUMBER, MOMENT + 5),
    ]  # fmt: skip


@pytest.mark.parametrize("moment", [0.0, 631_152_000.0])
def test_a_record_that_was_never_processed_has_no_value(moment: float, recording: Recording) -> None:
    record, reader = record_of(recording)
    record.update(0.0, moment, 0, "")
    record.report()
    assert recorded(reader) == []
    assert reader.news() == [
        News(0, problem="pva://X has no value: its time stamp is 0, so it was never processed")
    ]


def test_an_array_is_frame_and_value_by_frame_only(recording: Recording) -> None:
    record, reader = record_of(recording, by="frame")
    record.update(np.array([7.0, 1.25]), MOMENT, 0, "")
    record.update(np.array([8.0]), MOMENT, 0, "")
    assert recorded(reader) == [(7, MOMENT)]
    by_time, _ = record_of(recording)
    with pytest.raises(Unsuitable, match="pva://X is an array of 2 values; a channel is one number$"):
        by_time.update(np.array([7.0, 1.25]), MOMENT, 0, "")


def test_alarms_that_come_and_go_are_said_when_it_is_looked_at(recording: Recording) -> None:
    record, reader = record_of(recording)
    for number in range(1000):
        record.update(1.0, MOMENT + number, 3 * (number % 2), "READ")
    record.report()
    record.report()
    record.update(1.0, MOMENT + 1000, 0, "")
    record.report()
    record.lost()
    record.report()
    invalid, well, lost = reader.news()
    assert invalid == News(0, problem="pva://X has no value: its alarm is INVALID (READ)")
    assert well == News(0, "monitor") and "the connection is lost; does its IOC run?" in lost.problem
