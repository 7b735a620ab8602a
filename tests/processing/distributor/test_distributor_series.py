"""Series of all kinds: how long they are, what their frames are made of, and how they end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.hosts.child import free_port
from tests.processing.distributor.pipelines import SUM, column, entry, frames_in, pipeline, results, statuses
from tests.processing.distributor.small_series import SHAPE, first, send
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels


def test_a_series_without_a_planned_number_is_as_long_as_its_frames(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(SUM, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", range(150))
        sender.end(reason="complete", triggered=150, sent=150)
        series = made.over(name)
        assert series.planned is None and series.counts.frames == series.counts.done == 150
        with results(series) as file:
            assert column(file, "number").tolist() == [first(number) for number in range(150)]


def test_frames_that_an_abort_leaves_untriggered_are_absent(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(SUM, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", range(40), frames=100)
        sender.end(reason="abort", message="aborted by the user", triggered=40, sent=40)
        series = made.over(name)
        assert (series.counts.done, series.counts.absent, series.counts.frames) == (40, 60, 100)
        assert "60 frames absent" in series.reason


@pytest.mark.parametrize("frames", [0, None], ids=["planned", "unplanned"])
def test_a_series_of_no_frames_is_over_at_once(
    receiver: ReceiverProcess, sender: Streamer, frames: int | None
) -> None:
    with pipeline(SUM, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", [], frames=frames)
        sender.end(reason="complete", triggered=0, sent=0)
        assert made.over(name).counts.frames == 0


def test_frames_that_are_lost_come_late_or_twice_are_counted_once(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(SUM, receiver, workers=2) as made:
        numbers = [*range(20), *range(30, 50), 25, 40, *range(50, 60), 3]
        name = send(sender, receiver.root / "a.h5", numbers, frames=70)
        sender.end(reason="complete", triggered=70, sent=52)
        series = made.over(name)
        came = sorted(set(numbers))
        assert (series.counts.done, series.counts.absent) == (len(came), 70 - len(came))
        with results(series) as file:
            assert np.flatnonzero(statuses(file) == 1).tolist() == came
            assert np.flatnonzero(statuses(file) == 5).tolist() == sorted(set(range(70)) - set(came))
            assert column(file, "number")[came].tolist() == [first(number) for number in came]
            assert frames_in(file, "sum") == len(came)


def test_packed_frames_and_frames_of_two_channels_and_partial_ones(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        def process(self, frame):
            return {"shape": np.array(frame.pixels.shape), "first": int(frame.pixels.flat[0]),
                    "last": int(frame.pixels.flat[-1]), "partial": frame.partial}
    """
    with pipeline(source, receiver, workers=2) as made:
        series = sender.start(
            str(receiver.root / "a.h5"), frames=30, shape=(40, 60), type="uint16", compression="bslz4"
        )
        for number in range(30):
            image = pixels(number, (40, 60))
            sender.frame(number, image, compression="bslz4", blobs=[bslz4.compress(image)])
        sender.end(reason="complete", triggered=30, sent=30)
        with results(made.over(series)) as file:
            assert column(file, "shape").tolist() == [[40, 60]] * 30
            for number in range(30):
                assert column(file, "last")[number] == int(pixels(number, (40, 60)).flat[-1])

        series = sender.start(
            str(receiver.root / "b.h5"), frames=10, shape=(2, *SHAPE), type="uint16", compression="none",
            channels=("low", "high"),
        )  # fmt: skip
        for number in range(10):
            low, high = pixels(number, SHAPE), pixels(number + 500, SHAPE)
            keys = {"partial": "half of it is missing"} if number == 4 else {}
            sender.frame(number, np.stack([low, high]), blobs=[low.tobytes(), high.tobytes()], **keys)
        sender.end(reason="complete", triggered=10, sent=10)
        with results(made.over(series)) as file:
            assert column(file, "shape").tolist() == [[2, *SHAPE]] * 10
            assert column(file, "last").tolist() == [
                int(pixels(number + 500, SHAPE).flat[-1]) for number in range(10)
            ]
            assert np.flatnonzero(column(file, "partial")).tolist() == [4]


@pytest.mark.slow
def test_the_same_on_a_file(receiver: ReceiverProcess, sender: Streamer) -> None:
    raw = receiver.root / "a.h5"
    name = send(sender, raw, [*range(30), *range(35, 50)], frames=50)
    sender.end(reason="complete", triggered=50, sent=45)
    receiver.ended(name)
    with pipeline(SUM, file=str(raw), workers=2) as made:
        series = made.over(name)
        assert (series.counts.done, series.counts.absent) == (45, 5)
        while not made.snapshot.finished:
            made.wait(lambda status: True)
            made._receive()
        with results(series) as file:
            assert frames_in(file, "sum") == 45
        assert made.quit() == 0
    with pipeline(SUM, file=str(raw)) as made:
        series = made.over(name)
        assert series.counts.done == 0 and "exists and is not overwritten" in series.reason
    with pipeline(SUM, file=str(raw), overwrite=True, workers=1) as made:
        assert made.over(name).counts.done == 45


@pytest.mark.slow
def test_a_series_that_an_earlier_pipeline_has_finished_is_shown_as_it_ended(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    name = send(sender, receiver.root / "a.h5", [*range(15), *range(17, 20)], frames=20)
    sender.end(reason="complete", triggered=20, sent=18)
    receiver.ended(name)
    shown = []
    for _ in range(2):
        with pipeline(SUM, receiver, workers=1) as made:
            shown.append(made.over(name))
            assert made.quit() == 0
    first, second = shown
    assert (first.counts.done, first.counts.absent) == (18, 2)
    assert (second.counts, second.result_file) == (first.counts, first.result_file)
    assert "2 frames absent" in second.reason


@pytest.mark.slow
def test_frames_of_joined_modules_are_processed_as_one_and_partial_where_one_is_missing(
    tmp_path: Path,
) -> None:
    source = """
    class Mine(Processor):
        def process(self, frame):
            return {"shape": np.array(frame.pixels.shape), "partial": frame.partial}
    """
    first_port = free_port(2)
    endpoints = [f"tcp://127.0.0.1:{first_port + number}" for number in range(2)]
    receiver = ReceiverProcess(
        tmp_path, endpoints[0], {"endpoints": endpoints, "join": "modules"}, forward=[entry(tmp_path)]
    )
    try:
        with pipeline(source, receiver, workers=2) as made:
            subprocess.run(
                ["penstock", "generate", "--endpoint", endpoints[0], "--streams", "2", "--frames", "40",
                 "--shape", "6,10", "--filename", str(receiver.root / "a.h5"), "--drop", "7,9",
                 "--faults-in", "1", "--json"],
                check=True, capture_output=True, timeout=60,
            )  # fmt: skip
            status = made.wait(lambda status: status.series is not None and not status.series.active)
            assert status.series is not None and status.series.counts.done == 40
            with results(status.series) as file:
                assert np.flatnonzero(column(file, "partial")).tolist() == [7, 9]
                assert len(set(map(tuple, column(file, "shape").tolist()))) == 1
    finally:
        receiver.close()
