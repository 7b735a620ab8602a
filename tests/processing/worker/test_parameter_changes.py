"""Parameters of a worker that change, or are refused."""

from __future__ import annotations

import pytest

from penstock.processing import wire
from tests.processing.worker.worker_process import PIXELS, TOTAL, Router, frame, step, worker


def test_parameters_are_prepared_first_and_hold_from_the_next_bunch_on_when_they_are_used(
    router: Router,
) -> None:
    source = """
        class Mine(Processor):
            factor: int = 1
            def configure(self):
                if self.factor < 0:
                    raise ValueError("factor is below 0")
                self.twice = 2 * self.factor
            def start(self, series):
                self.seen = 0
            def process(self, frame):
                self.seen += 1
                return {"twice": self.twice, "seen": self.seen}
        """
    with worker(router):
        router.welcome(step(source), version=0)
        router.begin(1)
        router.work([frame(PIXELS)])
        router.done()
        router.say(wire.Configure(version=2, parameters={"factor": 10}))
        assert router.expect(wire.Ready).version == 2
        router.work([frame(PIXELS)])
        done, arrays = router.done()
        assert done.version == 0 and arrays["twice"].tolist() == [2]

        router.say(wire.Configure(version=3, parameters={"factor": -1}))
        refused = router.expect(wire.Refused)
        assert (refused.what, refused.version) == ("parameters", 3)
        assert refused.why == "Mine.configure: ValueError: factor is below 0 (mine.py, line 7, in configure)"
        router.begin(2)  # between the two moves
        router.say(wire.Use(version=2))
        for series, seen in ((1, 3), (2, 1)):
            router.work([frame(PIXELS)], series=series)
            done, arrays = router.done()
            assert done.version == 2
            assert arrays["twice"].tolist() == [20] and arrays["seen"].tolist() == [seen]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"factr": 3}, "there is no parameter factr: Mine has factor; is factor meant?"),
        ({"factor": "many"}, "parameter factor of Mine is 'many'; it has to be int"),
        ({"factor": 1.5}, "parameter factor of Mine is 1.5; it has to be int"),
    ],
)
def test_parameters_that_cannot_be_are_refused_in_a_sentence(
    values: dict[str, object], sentence: str, router: Router
) -> None:
    with worker(router):
        router.expect(wire.Hello)
        router.greet(step(TOTAL), parameters=values)
        refused = router.expect(wire.Refused)
        assert refused.what == "parameters" and refused.version == 1
        assert refused.why.startswith(sentence)


def test_parameters_that_a_series_does_not_take_break_this_series_alone(router: Router) -> None:
    source = """
        class Mine(Processor):
            factor: int = 1
            def start(self, series):
                self.limit = series.frames
                self.configure()
            def configure(self):
                if self.factor > getattr(self, "limit", 100):
                    raise ValueError("too large")
            def process(self, frame):
                return {"factor": self.factor}
        """
    with worker(router):
        router.welcome(step(source))
        router.begin(1, frames=20)
        router.say(wire.Configure(version=2, parameters={"factor": 10}))
        router.expect(wire.Ready)
        router.begin(2, frames=5)
        router.say(wire.Use(version=2))
        refused = router.expect(wire.Refused)
        assert (refused.what, refused.series) == ("start", 2) and "too large" in refused.why
        router.work([frame(PIXELS)], series=2)
        assert "too large" in router.done()[0].errors[0]
        router.work([frame(PIXELS)], series=1)
        assert router.done()[1]["factor"].tolist() == [10]
