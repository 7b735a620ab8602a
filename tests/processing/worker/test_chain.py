"""Parameters that change while series begin and frames come: what is prepared holds for what is there."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from penstock.processing.pixels import Pool
from penstock.processing.processor import Frame, Processor
from penstock.processing.series import Series, from_start
from penstock.processing.worker.chain import Chain
from penstock.processing.worker.configuring import Refusal
from penstock.stins.messages import Header
from tests.processing.processors.built_in import begun, saved
from tests.processing.worker.worker_process import frame, step

SOURCE = dedent(
    """
    class Mine(Processor):
        factor: int = 1
        _series = None

        def configure(self):
            if self._series is not None and self.factor > 9:
                raise ValueError("no more than 9 within a series")
            self.ready = None
            if self._series is not None:
                self.table = self.factor

        def start(self, series):
            self._series = series
            self.table = self.factor

        def process(self, frame):
            if self.ready is None:
                self.ready = self.factor
            return {"table": self.table, "ready": self.ready}
    """
)


def series() -> Series:
    return from_start(Header(filename=""), [b"{}"])


def result(steps: list[Processor]) -> Any:
    (mine,) = steps
    return mine.process(Frame(0, tuple(frame(np.zeros((2, 2), np.uint16), 0)), Pool()))


@pytest.fixture
def chain() -> Chain:
    made = Chain([step(SOURCE)])
    made.prepare(1, {})
    made.use(1)
    return made


def test_a_series_that_begins_between_preparation_and_use_is_configured_as_one_that_runs(
    chain: Chain,
) -> None:
    chain.prepare(2, {"factor": 5})  # by an instance without a series
    steps = chain.begin(1, series())
    before = result(steps)

    refused = chain.use(2)

    assert (before, result(steps)) == ({"table": 1, "ready": 1}, {"table": 5, "ready": 5})
    assert not refused


def test_a_series_that_begins_while_parameters_are_prepared_is_configured_as_one_that_runs(
    chain: Chain,
) -> None:
    preparation = chain.preparation(2, {"factor": 5})
    steps = chain.begin(1, series())
    preparation.run()
    chain.take(preparation)
    chain.use(2)

    assert result(steps) == {"table": 5, "ready": 5}


def test_a_series_that_has_begun_since_may_refuse(chain: Chain) -> None:
    chain.prepare(2, {"factor": 10})
    chain.begin(7, series())

    (why,) = chain.use(2).items()

    assert why[0] == 7 and "no more than 9 within a series" in why[1]


def test_what_configure_has_assigned_holds_whatever_frames_have_changed_meanwhile(chain: Chain) -> None:
    steps = chain.begin(1, series())
    chain.prepare(2, {"factor": 5})  # assigns `ready` what it was, before the first frame
    assert result(steps) == {"table": 1, "ready": 1}

    chain.use(2)

    assert result(steps) == {"table": 5, "ready": 5}


@pytest.mark.parametrize("name", ["dark", "flat"])
def test_a_file_that_is_set_before_the_first_frame_and_used_after_it_is_applied(
    tmp_path: Path, name: str
) -> None:
    image = saved(tmp_path / "image.npy", np.full((2, 2), 2.0))
    made = begun([("correct", {}), ("regions", {})], shape=(2, 2), type="uint16")
    made.chain.prepare(2, {name: str(image)})
    made.take([np.full((2, 2), 8, np.uint16)])
    made.chain.use(2)
    made.take([np.full((2, 2), 8, np.uint16)], first=1)

    assert made.of("total") == [32, {"dark": 24, "flat": 16}[name]]


def test_a_refusal_of_configure_changes_nothing(chain: Chain) -> None:
    steps = chain.begin(1, series())
    with pytest.raises(Refusal, match="Mine.configure: .*no more than 9"):
        chain.prepare(2, {"factor": 10})
    assert result(steps) == {"table": 1, "ready": 1}
