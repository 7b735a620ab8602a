"""Accumulated values of a worker: held, handed over, and finished."""

from __future__ import annotations

import numpy as np

from penstock.processing import wire
from tests.processing.worker.worker_process import PIXELS, SUM, Router, frame, step, worker


def test_accumulated_values_are_held_until_the_distributor_asks_for_them(router: Router) -> None:
    with worker(router):
        router.welcome(step(SUM), hand_over_seconds=1e9)
        router.begin()
        bunches = [router.work([frame(PIXELS), frame(PIXELS + 1)], first=2 * each) for each in range(3)]
        assert [router.done()[0].held for _ in bunches] == [True] * 3

        router.say(wire.HandOver(series=1))

        message, arrays = router.handed_over()
        assert message.bunches == tuple(bunches)
        assert message.arrays[0].kind == "sum" and message.arrays[0].n == 6
        assert np.array_equal(arrays["sum"], 6 * PIXELS.astype("u8") + 3)
        router.say(wire.HandOver(series=1))
        assert router.handed_over()[0] == wire.HandedOver(series=1, bunches=())


def test_accumulated_values_are_handed_over_after_a_time(router: Router) -> None:
    with worker(router):
        router.welcome(step(SUM), hand_over_seconds=0.05)
        router.begin()
        bunch = router.work([frame(PIXELS)])
        assert router.done()[0].held
        assert router.handed_over()[0].bunches == (bunch,)


def test_a_bunch_that_is_tried_alone_is_handed_over_at_once(router: Router) -> None:
    with worker(router):
        router.welcome(step(SUM), hand_over_seconds=1e9)
        router.begin()
        bunch = router.work([frame(PIXELS)], alone=True)
        assert router.done()[0].held
        assert router.handed_over()[0].bunches == (bunch,)


def test_what_is_held_is_handed_over_at_the_end_of_the_series_each_for_itself(router: Router) -> None:
    with worker(router):
        router.welcome(step(SUM), hand_over_seconds=1e9)
        for series in (1, 2):
            router.begin(series)
            router.work([frame(PIXELS * series)], series=series)
            router.done()
        for series in (1, 2):
            router.say(wire.End(series=series))
            message, arrays = router.handed_over()
            assert message.series == series and message.bunches == (series,)
            assert np.array_equal(arrays["sum"], PIXELS * series)


def test_a_failed_frame_is_in_no_sum(router: Router) -> None:
    source = """
        class Mine(Processor):
            def process(self, frame):
                if frame.index == 1:
                    self.last = frame.pixels
                return {"sum": Sum(frame.pixels), "wrong": [1] if frame.index == 2 else 1}
        """
    with worker(router):
        router.welcome(step(source), hand_over_seconds=1e9)
        router.begin()
        router.work([frame(PIXELS + place) for place in range(4)])
        assert set(router.done()[0].errors) == {1, 2}
        router.say(wire.HandOver(series=1))
        message, arrays = router.handed_over()
        assert message.arrays[0].n == 2
        assert np.array_equal(arrays["sum"], 2 * PIXELS + 3)


def test_finish_makes_results_of_the_totals(router: Router) -> None:
    source = """
        class Mine(Processor):
            def process(self, frame):
                return {"mean": Mean(frame.pixels)}
            def finish(self, totals):
                return {"greatest": totals["mean"].max(), "row": totals["mean"][0]}
        """
    with worker(router):
        router.welcome(step(source))
        router.begin()
        total = PIXELS.astype("<u8") * 4
        described = wire.Array(name="mean", dtype="<u8", shape=total.shape, kind="mean", n=4)
        router.say(wire.Finish(series=1, arrays=(described,)), total.tobytes())
        finished = router.expect(wire.Finished)
        assert not finished.error
        arrays = wire.arrays(finished.arrays, router.parts)
        assert arrays["greatest"] == 11.0 and arrays["row"].tolist() == [0, 1, 2, 3]

        router.say(wire.Finish(series=1))
        error = router.expect(wire.Finished).error
        assert error == "Mine.finish: KeyError: 'mean' (mine.py, line 7, in finish)"
