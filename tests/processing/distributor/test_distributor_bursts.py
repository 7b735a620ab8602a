"""Many short series back to back, more than are looked at in the receiver's past: every account is exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.processing.models import Status
from tests.processing.distributor.pipelines import (
    Pipeline,
    column,
    entry,
    frames_in,
    pipeline,
    statuses,
)
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

Start = Callable[..., ReceiverProcess]
SHAPE, FRAMES = (4, 6), 3
SLOW = """
import time
class Mine(Processor):
    def process(self, frame):
        time.sleep(0.002)
        return {"number": int(frame.pixels.flat[0]), "sum": Sum(frame.pixels.astype("u8"))}
"""


AT_ONCE = 50
"""Live series that may wait for a consumer at once, well within the receiver's limit."""


def burst(streamer: Streamer, series: int, root: Path | None, made: Pipeline | None = None) -> list[str]:
    """Send series of a few frames back to back; the frames of two series that follow differ.

    Args:
        streamer: sends them.
        series: how many.
        root: folder of their files; `None` for live series.
        made: whose `AT_ONCE` last series may wait.
    """
    names = []
    for number in range(series):
        filename = "" if root is None else str(root / f"{number}.h5")
        names.append(streamer.start(filename, frames=FRAMES, shape=SHAPE, type="uint16", compression="none"))
        for index in range(FRAMES):
            streamer.frame(index, image(number, index))
        streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
        if made is not None and (number + 1) % AT_ONCE == 0:
            made.wait(lambda status: sum(status.totals.values()) >= (len(names) - AT_ONCE // 2) * FRAMES)
    return names


def image(series: int, index: int) -> np.ndarray:
    return pixels(series * FRAMES + index, SHAPE)


def all_over(made: Pipeline, series: int) -> Status:
    """Wait until nothing is left to be done of so many series. They may be over in another order than they
    have begun, and the status has only some of them."""
    return made.wait(
        lambda status: status.state == "idle" and sum(status.totals.values()) == series * FRAMES, 300
    )


def check(path: Path, number: int) -> None:
    """Check the results of a series, each frame of which was done."""
    with h5py.File(path) as file:
        assert statuses(file).tolist() == [1] * FRAMES, path
        assert column(file, "number").tolist() == [
            int(image(number, index).flat[0]) for index in range(FRAMES)
        ]
        total = sum(image(number, index).astype("u8") for index in range(FRAMES))
        np.testing.assert_array_equal(np.squeeze(file["/entry/accumulated/sum"]), total)
        assert frames_in(file, "sum") == FRAMES


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False], ids=["by reference", "by value"])
def test_a_burst_of_live_series_is_processed_with_slow_workers_and_nothing_waits_for_ever(
    start_receiver: Start, tmp_path: Path, streamer: Streamer, shared: bool
) -> None:
    receiver = start_receiver(forward=[entry(tmp_path, shared)])
    receiver.connected()
    with pipeline(SLOW, receiver, workers=2, consumer="live") as made:
        burst(streamer, 150, None, made)
        status = all_over(made, 150)
        assert sum(worker.frames for worker in status.workers) == 150 * FRAMES
        assert (status.duplicates, status.stray, status.deaths) == (0, 0, 0)
        shown = [each for each in (status.series, *status.others) if each is not None]
        assert all((each.counts.done, each.counts.frames) == (FRAMES, FRAMES) for each in shown)
        receiver.wait(lambda status: status.consumers[0].waiting_bytes == 0)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("stored", [True, False], ids=["file", "live only"])
@pytest.mark.parametrize(
    ("series", "shared"), [(150, False), (300, True)], ids=["150 by value", "300 by reference"]
)
def test_every_account_of_a_burst_is_exact(
    start_receiver: Start, tmp_path: Path, streamer: Streamer, stored: bool, series: int, shared: bool
) -> None:
    receiver = start_receiver(forward=[entry(tmp_path, shared)])
    receiver.connected()
    root = tmp_path / "results"
    root.mkdir()
    with pipeline(SLOW, receiver, workers=2, consumer="live", results_root=str(root)) as made:
        names = burst(streamer, series, receiver.root if stored else None, None if stored else made)
        all_over(made, series)
        found = {file.name.split(".")[0]: file for file in root.iterdir()}
        assert len(found) == series
        for number, name in enumerate(names):
            check(found[str(number) if stored else name], number)


@pytest.mark.slow
def test_a_burst_that_nobody_has_taken_live_is_taken_from_its_files(
    start_receiver: Start, tmp_path: Path, streamer: Streamer
) -> None:
    receiver = start_receiver(forward=[entry(tmp_path)])
    receiver.connected()
    with pipeline(SLOW, receiver) as made:
        made.kill()
        names = burst(streamer, 40, receiver.root)
        receiver.ended(names[-1])
        made.start()
        made.work(2)
        all_over(made, 40)
        for number in range(40):
            check(receiver.root / f"{number}.mine.h5", number)
