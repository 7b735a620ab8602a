"""The distributor of a pipeline is killed after very many series: those that are over stay closed."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from penstock.processing.models import Status
from tests.processing.service.pipeline_process import child_of, wait_until
from tests.processing.test_process import ENTRY, Running, running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

DISTRIBUTOR = "penstock.processing.distributor.distributor"
SERIES = 300
MOST_SECONDS, MOST_MB, MOST_FILES = 10.0, 30.0, 20
"""Some 3 s, 4 MB and 4 files on two cores, also after 1,000 series."""


def resident_mb(process: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) / 1000


def open_files(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


def distributor_of(made: Running, before: int = 0) -> int:
    """Wait for another distributor than before."""
    found = before

    def has() -> bool:
        nonlocal found
        try:
            found = child_of(made.process.pid, DISTRIBUTOR)
        except (ValueError, OSError):  # there is none now
            return False
        return found != before

    wait_until(has, "there is another distributor")
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_after_very_many_series_a_killed_distributor_is_live_again_at_once_and_opens_none_that_is_over(
    start_receiver: type[ReceiverProcess], streamer: Streamer, tmp_path: Path
) -> None:
    receiver = start_receiver(forward=[ENTRY])
    receiver.connected()
    with running(tmp_path, receiver, workers=1) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"])
        first = distributor_of(made)
        fresh, files = resident_mb(first), open_files(first)
        begun = time.monotonic()
        for number in range(SERIES):
            last = streamer.series_of(str(receiver.root / f"{number}.h5"), 1)
            if number % 50 == 49:
                made.over(last)
        print(f"{SERIES} series: {time.monotonic() - begun:.1f} s")
        made.wait(lambda status: status.totals["done"] == SERIES and status.state == "idle")
        series = streamer.start(str(receiver.root / "running.h5"), frames=40)
        for number in range(10):
            streamer.frame(number)

        def has(status: Status, frames: int) -> bool:
            found = status.series
            return found is not None and found.id == series and found.counts.done >= frames

        made.wait(lambda status: has(status, 10))
        killed = time.monotonic()
        os.kill(first, signal.SIGKILL)
        second = distributor_of(made, first)
        receiver.wait(
            lambda status: status.consumers[0].holder is not None and status.consumers[0].holder.pid == second
        )
        started = time.monotonic() - killed
        for number in range(10, 20):
            streamer.frame(number)
        made.wait(lambda status: has(status, 20))
        seconds = time.monotonic() - killed
        more, more_files = resident_mb(second) - fresh, open_files(second) - files
        print(
            f"connected after {started:.2f} s, live again after {seconds:.2f} s; "
            f"{fresh:.1f} MB + {more:.1f} MB, {more_files} more files"
        )
        assert made.client.values("first", series=last).values == [0], "values of a series that is over"
        assert (seconds < MOST_SECONDS, more < MOST_MB, more_files < MOST_FILES) == (True, True, True)
        for number in range(20, 40):
            streamer.frame(number)
        streamer.end()
        status = made.over(series)
        assert status.series is not None
        assert (status.series.counts.done, status.series.from_file, status.totals["done"]) == (40, 0, 30)
