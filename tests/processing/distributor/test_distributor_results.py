"""Results of frames that must fit together, of the series as a whole, and the file they are in."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.processing.distributor.pipelines import NUMBER, SUM, column, frames_in, pipeline, results, statuses
from tests.processing.distributor.small_series import SHAPE, send
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

pytestmark = pytest.mark.slow


def test_results_of_the_series_as_a_whole_and_events_and_batches(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        batch = 8
        batch_seconds = 0.1
        def process_batch(self, frames):
            return [{"mean": Mean(frame.pixels), "n": len(frames),
                     "spots": Events(np.full(frame.index % 3, frame.index))} for frame in frames]
        def finish(self, totals):
            return {"best": float(totals["mean"].max())}
    """
    with pipeline(source, receiver, workers=2) as made:
        name = send(sender, receiver.root / "a.h5", range(100), frames=100)
        sender.end(reason="complete", triggered=100, sent=100)
        series = made.over(name)
        assert series.counts.done == 100 and series.reason == ""
        mean = np.mean([pixels(number, SHAPE) for number in range(100)], axis=0)
        with results(series) as file:
            np.testing.assert_allclose(np.squeeze(file["/entry/accumulated/mean"]), mean)
            assert float(np.squeeze(file["/entry/whole/best"])) == pytest.approx(mean.max())
            assert column(file, "n").max() == 8


def test_an_integer_of_one_worker_and_a_floating_point_number_of_another_are_one_sum(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        def process(self, frame):
            value = 0 if frame.index < 40 else 0.5
            return {"sum": Sum(value), "greatest": Max(value)}
    """
    with pipeline(source, receiver, workers=2, hand_over_seconds=0.05) as made:
        name = send(sender, receiver.root / "a.h5", range(40), frames=80)
        made.wait(lambda status: status.series is not None and status.series.counts.done == 40)
        for number in range(40, 80):
            sender.frame(number)
        sender.end(reason="complete", triggered=80, sent=80)
        series = made.over(name)
        assert series.counts.done == 80, series
        with results(series) as file:
            assert float(np.squeeze(file["/entry/accumulated/sum"])) == 20.0
            assert float(np.squeeze(file["/entry/accumulated/greatest"])) == 0.5
            assert frames_in(file, "sum") == 80


def test_without_finish_a_series_is_over_although_no_worker_is_left(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(NUMBER, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", range(20), frames=20)
        made.wait(lambda status: status.series is not None and status.series.counts.done == 20)
        made.workers[0].kill()
        made.wait(lambda status: not status.workers)
        sender.end(reason="complete", triggered=20, sent=20)
        assert made.over(name).counts.done == 20


def test_a_frame_whose_result_is_unlike_that_of_another_worker_fails(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    import os
    class Mine(Processor):
        def process(self, frame):
            return {"size": np.zeros(3 if frame.index < 50 else 4)}
    """
    with pipeline(source, receiver, workers=2) as made:
        name = send(sender, receiver.root / "a.h5", range(70), frames=70)
        sender.end(reason="complete", triggered=70, sent=70)
        series = made.over(name)
        assert (series.counts.done, series.counts.failed) == (50, 20)
        with results(series) as file:
            assert (statuses(file)[50:] == 2).all()


def test_frames_that_fail_since_another_workers_result_was_first_are_in_no_sum(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    import os, time
    class Mine(Processor):
        def start(self, series):
            try:
                os.close(os.open(os.environ["FIRST"], os.O_CREAT | os.O_EXCL))
                self.n = 3
            except FileExistsError:
                self.n = 4
        def process(self, frame):
            time.sleep(0.002)
            found = {"sum": Sum(frame.pixels.astype("u8"))}
            if frame.index % 5 == 0:
                found["size"] = np.zeros(self.n)
            return found
    """
    os.environ["FIRST"] = str(receiver.root / "first.txt")
    try:
        with pipeline(source, receiver, workers=2, hand_over_seconds=0.1) as made:
            name = send(sender, receiver.root / "a.h5", range(300), frames=300)
            sender.end(reason="complete", triggered=300, sent=300)
            counts = (series := made.over(name)).counts
            assert counts.failed > 0 and counts.done + counts.failed == 300
            with results(series) as file:
                done = np.flatnonzero(statuses(file) == 1)
                total = sum(pixels(int(number), SHAPE).astype("u8") for number in done)
                np.testing.assert_array_equal(np.squeeze(file["/entry/accumulated/sum"]), total)
                assert frames_in(file, "sum") == counts.done
    finally:
        del os.environ["FIRST"]


def test_a_result_file_is_not_overwritten_and_the_raw_file_is_not_touched(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    (receiver.root / "a.mine.h5").write_bytes(b"mine")
    with pipeline(NUMBER, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        series = made.over(name)
        assert series.counts.dropped == 20 and "a.mine.h5 exists and is not overwritten" in series.reason
        assert (receiver.root / "a.mine.h5").read_bytes() == b"mine"
        assert receiver.ended(name).counts.stored == 20
        name = send(sender, receiver.root / "b.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        assert made.over(name).counts.done == 20


@pytest.mark.slow
def test_a_file_is_processed_anew_also_if_an_attempt_was_broken_off(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    raw = receiver.root / "a.h5"
    name = send(sender, raw, range(20), frames=20)
    sender.end(reason="complete", triggered=20, sent=20)
    receiver.ended(name)
    with pipeline(NUMBER, file=str(raw), workers=0) as made:
        made.wait(lambda status: status.series is not None and status.series.result_file is not None)
        assert made.quit() == 0
    with pipeline(SUM, file=str(raw), overwrite=True, workers=1) as made:
        series = made.over(name)
        assert series.counts.done == 20
        with results(series) as file:
            assert "frame.pixels.astype" in file["entry/process/step_1/data"].asstr()[()], (
                "nothing of the other class is left"
            )


@pytest.mark.slow
def test_a_distributor_that_is_killed_before_a_frame_is_done_goes_on_with_the_new_file(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    raw, file = receiver.root / "a.h5", receiver.root / "a.mine.h5"
    name = send(sender, raw, range(20), frames=20)
    sender.end(reason="complete", triggered=20, sent=20)
    receiver.ended(name)
    with pipeline(SUM, file=str(raw), workers=0) as made:
        made.wait(lambda status: status.series is not None and status.series.result_file == str(file))
        assert made.quit() == 0
    left = file.read_bytes()
    with pipeline(SUM, file=str(raw), overwrite=True, workers=0) as made:
        for _ in range(2):
            status = made.wait(lambda status: status.series is not None and status.series.result_file)
            assert (
                status.series is not None and status.series.result_file == f"{receiver.root}/.a.mine.h5.begun"
            )
            assert file.read_bytes() == left
            made.kill()
            made.start(again=True)
        made.work(1)
        series = made.over(name)
        assert series.counts.done == 20 and series.result_file == str(file)
