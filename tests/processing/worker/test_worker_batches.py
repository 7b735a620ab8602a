"""Frames that a worker processes together."""

from __future__ import annotations

import pytest

from penstock.processing import wire
from tests.processing.worker.worker_process import PIXELS, Router, frame, step, worker

BATCH = """
    class Mine(Processor):
        batch = 4
        batch_seconds = 1e9
        def process_batch(self, frames):
            return [{"n": len(frames), "index": frame.index, "sum": Sum(frame.pixels)} for frame in frames]
    """


def test_a_batch_is_filled_from_several_bunches_and_a_bunch_is_answered_when_it_is_done(
    router: Router,
) -> None:
    with worker(router):
        assert router.welcome(step(BATCH), hand_over_seconds=1e9).batch == 4
        router.begin()
        router.work([frame(PIXELS)])
        assert router.is_silent(0.2)
        router.work([frame(PIXELS)] * 5, first=1)
        assert router.done()[1]["n"].tolist() == [4]
        assert router.is_silent(0.2)  # two frames more would be a batch
        router.work([frame(PIXELS)], first=6)  # it has all the bunches that it can get
        arrays = router.done()[1]
        assert arrays["n"].tolist() == [4, 4, 4, 3, 3] and arrays["index"].tolist() == [1, 2, 3, 4, 5]
        assert router.done()[1]["n"].tolist() == [3]


def test_a_batch_waits_no_longer_than_its_time(router: Router) -> None:
    with worker(router):
        router.welcome(step(BATCH.replace("1e9", "0.05")))
        router.begin()
        router.work([frame(PIXELS), frame(PIXELS)])
        assert router.done()[1]["n"].tolist() == [2, 2]


@pytest.mark.parametrize("what", ["hand over", "end", "use", "alone", "stop", "terminate"])
def test_a_smaller_batch_is_processed_when_something_needs_its_results(what: str, router: Router) -> None:
    with worker(router) as process:
        router.welcome(step(BATCH), hand_over_seconds=1e9)
        router.begin()
        router.work([frame(PIXELS), frame(PIXELS)], alone=what == "alone")
        if what == "hand over":
            router.say(wire.HandOver(series=1))
        elif what == "end":
            router.say(wire.End(series=1))
        elif what == "stop":
            router.say(wire.Stop())
        elif what == "use":
            router.say(wire.Configure(version=2, parameters={}))
            router.expect(wire.Ready)
            router.say(wire.Use(version=2))
        elif what == "terminate":
            # Its answer to a message shows that the one before was read.
            router.say(wire.Configure(version=2, parameters={}))
            router.expect(wire.Ready)
            process.terminate()
        done, arrays = router.done()
        assert arrays["n"].tolist() == [2, 2] and done.version == 1
        if what != "use":
            assert router.handed_over()[0].bunches == (1,)


def test_a_batch_fails_as_a_whole_and_needs_a_result_for_each_frame(router: Router) -> None:
    source = """
        class Mine(Processor):
            batch = 2
            def process_batch(self, frames):
                if frames[0].index == 0:
                    self.last = frames[1].pixels
                if frames[0].index == 2:
                    1 / 0
                if frames[0].index == 4:
                    return [None]
        """
    with worker(router):
        router.welcome(step(source))
        router.begin()
        router.work([frame(PIXELS, index) for index in range(8)])
        errors = router.done()[0].errors
        assert set(errors) == {1, 2, 3, 4, 5} and "frame.pixels.copy()" in errors[1]
        assert errors[2] == errors[3]
        assert errors[2] == "ZeroDivisionError: division by zero (mine.py, line 9, in process_batch)"
        assert errors[4].startswith("Mine.process_batch has returned 1 for 2 frames; return a list")
