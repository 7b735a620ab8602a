"""Values of channels, recorded beside a real receiver's frames: every join is the one that follows from the
recorded times, and what has no value is counted exactly."""

from __future__ import annotations

import bisect
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.processing.channels.recording import NO_NUMBER, RECORD, News, Recording, Writer
from penstock.processing.config.pipeline_config import ChannelConfig
from penstock.processing.models import Series
from tests.processing.distributor.pipelines import NUMBER, column, pipeline, results, statuses
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

SHAPE = (4, 6)
RATE = 1000.0
JITTER = 0.002


@pytest.fixture
def recording() -> Iterator[Recording]:
    made = Recording()
    yield made
    made.close()


def channel(name: str, **keys: Any) -> ChannelConfig:
    return ChannelConfig(name=name, attribute=f"sim/channel/{name}/value", **keys)


SIX = (
    channel("nearest", tolerance=0.003),
    channel("exact", how="exact", tolerance=0.0004),
    channel("hold", how="hold"),
    channel("aged", how="hold", tolerance=0.004),
    channel("shifted", tolerance=0.002, offset=0.0125),
    channel("silent", tolerance=0.010),
)


def plainly(
    config: ChannelConfig, frames: list[float], recorded: list[tuple[float, float]]
) -> list[float | None]:
    """The value of each frame: by looking at all that lie near it."""
    found = list[float | None]()
    times = [moment for moment, _ in recorded]
    for frame in frames:
        wanted = frame + config.offset
        if config.how == "hold" and config.tolerance is None:
            last = bisect.bisect(times, wanted) - 1
            found.append(recorded[last][1] if last >= 0 else None)
            continue
        tolerance = config.tolerance or 0.0
        first = bisect.bisect(times, wanted - 0.1)
        near = recorded[first : bisect.bisect(times, wanted + 0.1)]
        some = [pair for pair in near if wanted - tolerance <= pair[0] <= wanted + tolerance]
        if config.how == "hold":
            some = [pair for pair in some if pair[0] <= wanted]
            found.append(some[-1][1] if some else None)
        elif config.how == "exact":
            found.append(some[-1][1] if len({moment for moment, _ in some}) == 1 else None)
        else:
            # Of two with one time, the last.
            nearest = min(some[::-1], key=lambda pair: (abs(pair[0] - wanted), pair[0]), default=None)
            found.append(None if nearest is None else nearest[1])
    return found


class Source:
    """Six channels and the frames of a detector, each with a jitter of its own."""

    def __init__(self, seconds: float, silence: tuple[float, float], seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        count, begin = int(seconds * RATE), time.time()
        self.frames = begin + np.arange(count) / RATE + random.uniform(-JITTER, JITTER, count)
        self.values: list[list[tuple[float, float]]] = []
        """(time, value) of each channel, in the order of the times."""
        records = []
        for place, config in enumerate(SIX):
            times = begin + np.arange(-20, count + 40) / RATE + random.uniform(-JITTER, JITTER, count + 60)
            if config.name == "silent":
                times = times[(times < begin + silence[0]) | (times >= begin + silence[1])]
            values = random.normal(size=len(times))
            # They come in another order than that of their times, and some a second later.
            late = np.where(random.random(len(times)) < 0.01, 1.0, 0.0) + random.uniform(0, 0.005, len(times))
            made = np.zeros(len(times), RECORD)
            made["channel"], made["number"], made["time"], made["value"] = place, NO_NUMBER, times, values
            records.append((made, times + late))
            order = np.lexsort((times + late, times))  # of two with one time, the later to come counts
            self.values.append(list(zip(times[order].tolist(), values[order].tolist(), strict=True)))
        joined = np.concatenate([made for made, _ in records])
        arrival = np.concatenate([moments for _, moments in records])
        order = np.argsort(arrival)
        self.records, self.arrival = joined[order], arrival[order]

    def send(self, sender: Streamer, writer: Writer, filename: str, block: int = 100) -> str:
        """Send all frames, and write all values where they belong in time."""
        name = sender.start(filename, frames=len(self.frames), shape=SHAPE, type="uint16", compression="none")
        written = 0
        for first in range(0, len(self.frames), block):
            for number in range(first, min(first + block, len(self.frames))):
                sender.frame(number, pixels(number, SHAPE), timestamp=float(self.frames[number]))
            end = int(np.searchsorted(self.arrival, self.frames[min(first + block, len(self.frames)) - 1]))
            writer.values(self.records[written:end])
            written = max(written, end)
        writer.values(self.records[written:])
        sender.end(reason="complete", triggered=len(self.frames), sent=len(self.frames))
        return name


def check(series: Series, source: Source) -> dict[str, int]:
    """Every join, and every count; return how many frames have no value."""
    counts = {}
    with results(series) as file:
        for config, recorded in zip(SIX, source.values, strict=True):
            expected = plainly(config, source.frames.tolist(), recorded)
            found = column(file, config.name)
            assert [None if np.isnan(value) else value for value in found.tolist()] == expected, config.name
            matched = column(file, f"{config.name}_matched").tolist()
            assert matched == [int(value is not None) for value in expected]
            counts[config.name] = expected.count(None)
            assert int(np.squeeze(file[f"/entry/account/unmatched/{config.name}"])) == counts[config.name]
        assert column(file, "index").tolist() == list(range(len(source.frames)))
    assert series.unmatched == counts
    return counts


def silenced(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording, source: Source
) -> dict[str, int]:
    keys: dict[str, Any] = {"channels": SIX, "recording": recording.places, "late_seconds": 4.0}
    with pipeline(NUMBER, receiver, workers=1, **keys) as made:
        series = made.over(source.send(sender, Writer(recording.places), str(receiver.root / "a.h5")))
        assert series.counts.done == len(source.frames)
        assert [each.values for each in made.status.channels] == [len(values) for values in source.values]
    return check(series, source)


@pytest.mark.slow
def test_six_jittering_channels_are_joined_as_their_times_say(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording
) -> None:
    counts = silenced(receiver, sender, recording, Source(1.5, (0.4, 1.0)))
    assert 560 < counts["silent"] < 600 and counts["hold"] == 0 and counts["exact"] > 100


@pytest.mark.slow
def test_six_channels_at_a_thousand_per_second_one_of_them_silent_for_three_seconds(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording
) -> None:
    counts = silenced(receiver, sender, recording, Source(20.0, (5.0, 8.0), seed=2))
    assert 2960 < counts["silent"] < 3000 and counts["hold"] == 0


NEEDS = """
class Mine(Processor):
    needs = ("energy",)
    def process(self, frame):
        return {"given": frame.channels["energy"], "index": frame.index}
"""


class Sent:
    """A series of frames that come one millisecond after the other."""

    def __init__(self, sender: Streamer, folder: Path, frames: int, **keys: Any) -> None:
        self.begin, self.sender, self.frames = time.time(), sender, frames
        self.name = sender.start(
            str(folder / "n.h5"), frames=frames, shape=SHAPE, type="uint16", compression="none", **keys
        )

    def moment(self, number: int) -> float:
        return self.begin + number / 1000

    def send(self, first: int, end: int, *, timed: bool = True) -> None:
        for number in range(first, end):
            keys = {"timestamp": self.moment(number)} if timed else {}
            self.sender.frame(number, pixels(number, SHAPE), **keys)

    def end(self) -> None:
        self.sender.end(reason="complete", triggered=self.frames, sent=self.frames)


@pytest.mark.slow
def test_who_needs_a_channel_has_its_value_with_the_frame_or_nan_once_it_is_too_late(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording
) -> None:
    keys: dict[str, Any] = {"channels": (channel("energy", tolerance=0.0004),), "late_seconds": 1.0}
    writer = Writer(recording.places)
    with pipeline(NEEDS, receiver, workers=2, recording=recording.places, **keys) as made:
        sent = Sent(sender, receiver.root, 200)
        sent.send(0, 100)
        waits = made.wait(lambda status: "100 frames need" in status.waits_for)
        assert waits.series is not None and waits.series.counts.done == 0
        for number in range(101):
            writer.value(0, sent.moment(number), number / 2)
        # The next value says that no other one will come for the frames before it: nobody waits longer.
        made.wait(lambda status: status.series is not None and status.series.counts.done >= 64)
        sent.send(100, 200)
        sent.end()
        series = made.over(sent.name)
        assert series.counts.done == 200 and series.unmatched == {"energy": 99}
    with results(series) as file:
        given, stored = column(file, "given"), column(file, "energy")
        np.testing.assert_array_equal(given, stored)
        assert given[:101].tolist() == [number / 2 for number in range(101)] and np.isnan(given[101:]).all()


def test_values_that_come_before_their_frames_are_joined_and_frames_of_the_file_have_theirs(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording
) -> None:
    keys: dict[str, Any] = {"channels": (channel("energy", tolerance=0.0004),), "late_seconds": 0.5}
    writer = Writer(recording.places)
    sent = Sent(sender, receiver.root, 3000)  # while there is no pipeline: the receiver stores them
    sent.send(0, 3000)
    for number in range(3000):
        writer.value(0, sent.moment(number), number / 2)
    sent.end()
    with pipeline(NEEDS, receiver, workers=2, recording=recording.places, **keys) as made:
        series = made.over(sent.name)
        assert series.counts.done == series.from_file == 3000 and series.unmatched == {"energy": 0}
    with results(series) as file:
        assert column(file, "given").tolist() == [number / 2 for number in range(3000)]
        assert column(file, "energy").tolist() == [number / 2 for number in range(3000)]


@pytest.mark.slow
def test_a_file_that_is_processed_again_has_the_values_that_were_recorded_when_it_was_taken(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording
) -> None:
    energy, current = channel("energy", tolerance=0.0004), channel("current")
    writer = Writer(recording.places)
    keys: dict[str, Any] = {"recording": recording.places, "late_seconds": 0.1}
    with pipeline(NUMBER, receiver, workers=1, channels=(energy, current), **keys) as made:
        sent = Sent(sender, receiver.root, 20)
        for number in range(15):
            writer.value(0, sent.moment(number), number / 2)
            writer.value(1, sent.moment(number), 7.0)
        sent.send(0, 20)
        sent.end()
        before = made.over(sent.name)
        assert before.unmatched == {"energy": 5, "current": 0}
    otherwise = channel("current", how="hold")  # of which nobody knows now what it would have been
    again: dict[str, Any] = {"file": str(receiver.root / "n.h5"), "overwrite": True}
    with pipeline(NEEDS, workers=1, channels=(energy, otherwise), **again) as made:
        series = made.over(sent.name)
        assert series.counts.done == 20 and series.unmatched == {"energy": 5, "current": 20}
        assert series.result_file == before.result_file
    with results(series) as file:
        given, stored = column(file, "given"), column(file, "energy")
        np.testing.assert_array_equal(given, stored)
        assert given[:15].tolist() == [number / 2 for number in range(15)] and np.isnan(given[15:]).all()
        assert column(file, "energy_matched").tolist() == [1] * 15 + [0] * 5
        assert np.isnan(column(file, "current")).all()


def test_a_class_that_needs_a_channel_which_there_is_not_is_refused(
    receiver: ReceiverProcess, recording: Recording
) -> None:
    with pipeline(NEEDS, receiver, channels=(channel("motor"),), recording=recording.places) as made:
        process = made.start_worker()
        status = made.wait(lambda status: any(each.state == "refused" for each in status.workers))
        assert "needs the channel energy, and the pipeline has motor: add it to channels" in status.waits_for
        assert process.poll() is None


@pytest.mark.slow
def test_values_are_joined_by_the_number_of_their_frame_or_counted(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording
) -> None:
    both = (channel("said", by="frame"), channel("counted", by="frame"))
    writer = Writer(recording.places)
    with pipeline(
        NUMBER, receiver, workers=1, channels=both, recording=recording.places, late_seconds=1
    ) as made:
        writer.value(1, time.time(), -1.0)  # of before the series
        sent = Sent(sender, receiver.root, 50)
        receiver.wait(lambda status: status.series is not None and status.series.id == sent.name)
        for number in (3, 0, 1, 7, 49, 48, 3):
            writer.value(0, time.time(), number / 2, number)
        for number in range(40):
            writer.value(1, time.time(), float(number))
        sent.send(0, 50, timed=False)
        sent.end()
        series = made.over(sent.name)
    assert series.unmatched == {"said": 44, "counted": 10} and series.counts.done == 50
    with results(series) as file:
        said, counted = column(file, "said"), column(file, "counted")
        assert {number: said[number] for number in np.flatnonzero(~np.isnan(said)).tolist()} == {
            number: number / 2 for number in (0, 1, 3, 7, 48, 49)
        }
        assert counted[:40].tolist() == list(range(40)) and np.isnan(counted[40:]).all()


def test_frames_without_a_time_are_refused_at_the_first_one(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording
) -> None:
    with pipeline(NUMBER, receiver, workers=1, channels=SIX[:1], recording=recording.places) as made:
        sent = Sent(sender, receiver.root, 20)
        sent.send(0, 1, timed=False)
        said = "frames of this series have no timestamp (frame 0): give by: frame for nearest"
        made.wait(lambda status: status.series is not None and said in status.series.reason)
        sent.send(1, 20, timed=False)
        sent.end()
        assert made.over(sent.name).counts.dropped == 20


def test_a_result_with_the_name_of_a_channel_fails_its_frame(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording
) -> None:
    index = channel("index", how="hold")
    with pipeline(
        NUMBER, receiver, workers=1, channels=(index,), recording=recording.places, late_seconds=0
    ) as made:
        sent = Sent(sender, receiver.root, 5)
        sent.send(0, 5)
        sent.end()
        assert made.over(sent.name).counts.failed == 5
        assert "result index has the name of a channel; rename one" in made.status.workers[0].last_error


@pytest.mark.slow
def test_a_distributor_that_was_killed_joins_the_rest_once_it_is_back(
    receiver: ReceiverProcess, sender: Streamer, recording: Recording
) -> None:
    keys: dict[str, Any] = {"channels": (channel("energy", tolerance=0.0004),), "late_seconds": 3.0}
    writer = Writer(recording.places)
    with pipeline(NUMBER, receiver, workers=1, recording=recording.places, **keys) as made:
        sent = Sent(sender, receiver.root, 300)
        sent.send(0, 200)
        for number in range(150):
            writer.value(0, sent.moment(number), number / 2)
        made.wait(lambda status: status.series is not None and status.series.counts.done == 200)
        made.kill()
        for number in range(150, 290):
            writer.value(0, sent.moment(number), number / 2)
        made.start()
        made.work()
        sent.send(200, 300)
        sent.end()
        series = made.over(sent.name)
        assert series.counts.done == 300 and series.unmatched == {"energy": 10}
    with results(series) as file:
        energy = column(file, "energy")
        assert energy[:290].tolist() == [number / 2 for number in range(290)] and np.isnan(energy[290:]).all()
        assert int(np.squeeze(file["/entry/account/unmatched/energy"])) == 10
        assert (statuses(file) == 1).all()


def test_what_is_wrong_with_a_channel_is_in_the_status(
    receiver: ReceiverProcess, recording: Recording
) -> None:
    with pipeline(NUMBER, receiver, channels=SIX, recording=recording.places) as made:
        Writer(recording.places).say(News(5, problem="sim/channel/silent/value does not answer since noon"))
        made.wait(lambda status: "does not answer since noon" in status.channels[5].problem)
