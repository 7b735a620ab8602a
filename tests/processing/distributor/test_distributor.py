"""The distributor as a process: frames of a real receiver, workers as processes, results in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.processing.distributor.pipelines import (
    NUMBER,
    SUM,
    column,
    entry,
    pipeline,
    raw_sum,
    results,
    statuses,
)
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

Start = Callable[..., ReceiverProcess]
SHAPE = (4, 6)


def send(streamer: Streamer, filename: str, frames: int, shape: tuple[int, ...] = SHAPE) -> str:
    series = streamer.start(filename, frames=frames, shape=shape, type="uint16", compression="none")
    for number in range(frames):
        streamer.frame(number, pixels(number, shape))
    streamer.end(reason="complete", triggered=frames, sent=frames)
    return series


@pytest.mark.parametrize(
    "shared", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["by reference", "by value"]
)
def test_every_frame_is_processed_and_its_result_is_in_its_row(
    start_receiver: Start, streamer: Streamer, tmp_path: Path, shared: bool
) -> None:
    receiver = start_receiver(forward=[entry(tmp_path, shared)])
    receiver.connected()
    consumer = {} if shared else {"consumer": "live"}
    with pipeline(SUM, receiver, workers=2, **consumer) as made:
        raw = receiver.root / "a.h5"
        series = made.over(send(streamer, str(raw), 500))
        assert series.counts.done == series.counts.frames == 500 and series.reason == ""
        assert all(worker.shares == shared for worker in made.status.workers)
        with results(series) as file:
            expected = [int(pixels(number, SHAPE).flat[0]) for number in range(500)]
            assert column(file, "number").tolist() == expected
            assert (statuses(file) == 1).all()
            assert (np.asarray(file["/entry/account/raw_stored"]) == 1).all()
            np.testing.assert_array_equal(np.squeeze(file["/entry/accumulated/sum"]), raw_sum(raw))
        assert made.status.queue_bytes == 0
        assert made.quit() == 0
        assert [process.wait(20) for process in made.workers] == [0, 0]
    receiver.wait(lambda status: status.consumers[0].waiting_bytes == 0)


def test_three_series_one_after_the_other_are_apart(receiver: ReceiverProcess, sender: Streamer) -> None:
    with pipeline(NUMBER, receiver, workers=2) as made:
        names = [send(sender, str(receiver.root / f"{name}.h5"), 300) for name in "abc"]
        for name in names:
            series = made.over(name)
            assert series.counts.done == 300
            with results(series) as file:
                assert column(file, "index").tolist() == list(range(300))


DESCRIBED = """
import time
from pathlib import Path

class Mine(Processor):
    def start(self, series):
        self.first, self.second = (Path(each) for each in series.metadata["user"]["said"])
        try:
            self.first.touch(exist_ok=False)
            self.unlike = 0.0
        except FileExistsError:
            self.unlike = 1.0
    def describe(self):
        from penstock.processing import Axis, Plot
        return [Plot("curve", axes=(Axis("q", [1.0, 2.0 + self.unlike], "1/nm"),))]
    def process(self, frame):
        if self.unlike:
            self.second.touch()
        due = time.monotonic() + 30
        while not self.second.exists() and time.monotonic() < due:  # so that each does a frame
            time.sleep(0.001)
        return {"curve": np.ones(2)}
"""


def test_the_first_description_of_a_series_is_in_its_file(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pipeline(DESCRIBED, receiver, workers=2) as made:
        name = sender.start(
            str(receiver.root / "d.h5"), frames=20, shape=SHAPE, type="uint16", compression="none",
            metadata={"user": {"said": [str(tmp_path / "first"), str(tmp_path / "second")]}},
        )  # fmt: skip
        for number in range(20):
            sender.frame(number, pixels(number, SHAPE))
        sender.end(reason="complete", triggered=20, sent=20)
        series = made.over(name)
    with results(series) as file:
        assert column(file, "curve").shape == (20, 2)
        assert file["entry/curve"].attrs["axes"].tolist() == [".", "q"]
        assert file["entry/curve/q"][1] in (2.0, 3.0)
    assert "describes its results otherwise than the first one did" in capfd.readouterr().err
