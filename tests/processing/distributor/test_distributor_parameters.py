"""Parameters that change while a series runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.processing.distributor.pipelines import NUMBER, column, entry, pipeline, results
from tests.processing.distributor.small_series import SHAPE, first
from tests.processing.distributor.test_distributor_faults import has_processed, sending
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

Start = Callable[..., ReceiverProcess]


def test_parameters_hold_from_the_frame_that_is_said_and_none_is_mixed(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        threshold: int = 0
        regions: list = []
        def configure(self):
            if self.threshold < 0:
                raise ValueError("threshold is negative")
        def process(self, frame):
            return {"threshold": self.threshold}
    """
    with pipeline(source, receiver, workers=2, parameters={"threshold": 5}) as made:
        name = sender.start(
            str(receiver.root / "a.h5"), frames=600, shape=SHAPE, type="uint16", compression="none"
        )
        for number in range(600):
            if number == 200:
                made.wait(lambda status: status.series and status.series.counts.done >= 100)
                taken = made.change(threshold=7)
            if number == 400:
                refused = made.change(threshold=-1)
                long = made.change(regions=[0.5] * 2000)
                unknown = made.change(treshold=1)
                wrong = made.change(threshold="many")
                again = made.change(threshold=9)
            sender.frame(number)
        sender.end(reason="complete", triggered=600, sent=600)
        assert taken.taken and taken.version == 2 and len(taken.acknowledged) == 2
        assert not refused.taken and "threshold is negative" in next(iter(refused.refused.values()))
        assert not long.taken and "there is room for 4,096" in next(iter(long.refused.values()))
        assert "is threshold meant?" in next(iter(unknown.refused.values()))
        assert "it has to be int" in next(iter(wrong.refused.values()))
        assert again.taken and again.version == 3, "what was refused has taken no number"
        series = made.over(name)
        assert series.counts.done == 600
        assert (made.status.parameters.values, made.status.parameters.version) == ({"threshold": 9}, 3)
        with results(series) as file:
            found, versions = column(file, "threshold"), np.asarray(file["/entry/account/parameters_version"])
            assert 100 <= taken.from_frame <= 200
            assert 200 <= again.from_frame <= 400
            n, m = taken.from_frame, again.from_frame
            assert found.tolist() == [5] * n + [7] * (m - n) + [9] * (600 - m)
            assert versions.tolist() == [1] * n + [2] * (m - n) + [3] * (600 - m)
            assert file["/entry/process/parameters/from_frame"][:3].tolist() == [0, n, m]
            assert file["/entry/process/parameters/version"][:3].tolist() == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("shared", [True, False], ids=["by reference", "by value"])
def test_while_2000_frames_per_second_come_every_row_has_the_parameters_that_were_said_to_hold_from_it(
    start_receiver: Start, tmp_path: Path, streamer: Streamer, shared: bool
) -> None:
    source = """
    class Mine(Processor):
        threshold: int = 0
        other: int = 0
        def configure(self):
            if self.threshold < 0:
                raise ValueError("threshold is negative")
            self.both = self.threshold * 1000 + self.other
        def process(self, frame):
            return {"threshold": self.threshold, "other": self.other, "both": self.both,
                    "number": int(frame.pixels.flat[0])}
    """
    frames, rate = 20_000, 2000
    receiver = start_receiver(forward=[entry(tmp_path, shared, queue_mb=64)])
    receiver.connected()
    with pipeline(source, receiver, workers=3, consumer="live", queue_mb=64) as made:
        taken, refused, made_at = [], 0, []
        with sending(streamer, str(receiver.root / "a.h5"), frames, rate) as name:
            made.wait(partial(has_processed, name, 100))
            while not made_at or made_at[-1] < frames * 0.9:
                number = len(taken) + 1
                changed = made.change(threshold=number, other=-number)
                assert changed.taken and changed.version == made.status.parameters.version
                taken.append(changed)
                bad = made.change(threshold=-1)  # a refused value changes nothing
                assert not bad.taken and bad.version == changed.version
                refused += 1
                goal = changed.from_frame + 400
                if goal >= frames:
                    break
                status = made.wait(partial(has_processed, name, goal))
                assert status.series is not None
                made_at.append(status.series.counts.done)
            series = made.over(name)
        assert len(taken) >= 10 and refused == len(taken)  # more where the machine has nothing else to do
        assert series.counts.done == frames and series.from_file == 0 and made.status.duplicates == 0
        with results(series) as file:
            rows = {key: column(file, key) for key in ("threshold", "other", "both", "number")}
            versions = np.asarray(file["/entry/account/parameters_version"])
            said = file["/entry/process/parameters/from_frame"][: len(taken) + 1].tolist()
            stored = file["/entry/process/parameters/version"][: len(taken) + 1].tolist()
        assert rows["number"].tolist() == [first(number) for number in range(frames)]
        assert (rows["other"] == -rows["threshold"]).all()
        assert (rows["both"] == rows["threshold"] * 1000 + rows["other"]).all(), "none is mixed"
        begins = [0, *(changed.from_frame for changed in taken)]
        assert said == begins and stored == [1, *(changed.version for changed in taken)]
        assert stored == list(range(1, len(taken) + 2)), "without those that were refused"
        assert begins == sorted(begins)
        for number, (begin, end) in enumerate(itertools.pairwise([*begins, frames])):
            assert (rows["threshold"][begin:end] == number).all(), number
            assert (versions[begin:end] == stored[number]).all(), number


def test_without_a_worker_parameters_are_refused(receiver: ReceiverProcess) -> None:
    with pipeline(NUMBER, receiver) as made:
        answer = made.change(threshold=1)
        assert not answer.taken and "no worker" in next(iter(answer.refused.values()))
