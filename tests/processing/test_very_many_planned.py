"""A series of 2**48 planned frames, as many as an EIGER takes, of which three arrive, behind a real receiver.

Nothing may be proportional to what was only planned: no memory, file, time or answer. The memory and the
processor time are those of the real processes.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from penstock.cli.main import main
from penstock.processing.client import PipelineClient
from penstock.processing.results.read import Results
from penstock.processing.results.rows import Beyond
from penstock.sardana.pipelines.frame_results import FrameResults
from penstock.sardana.pipelines.source import TangoSource
from tests.processing.distributor.pipelines import NUMBER, pipeline
from tests.processing.service.pipeline_process import DEADLINE, child_of
from tests.processing.test_process import Running, receiver_and_streamer, running
from tests.receiver.processes import ReceiverProcess
from tests.sardana.stand_in_source import StandInDetector, wait
from tests.streams import Streamer

__all__ = ["receiver_and_streamer"]
pytestmark = pytest.mark.slow  # its Tango device has a test that is not
PLANNED = 2**48
REST = 281_474_976_710_653
"""All but three."""
CAME = (0, 1, 3)
MOST_MB = 500
ENDS = {
    "stopped": {"reason": "stop", "triggered": 4},
    "lost": {"reason": "complete", "triggered": PLANNED},
    "unknown": {"reason": "complete"},
}
WINDOW = f"""
import re, sys, time
from pathlib import Path
from silx.gui import qt
from penstock.gui.live.app import Options, open_window, sources_of
from penstock.gui.live.results.sentences import why_nothing

app = qt.QApplication([])
for source in sys.argv[1:]:
    window = open_window(Options(sources=sources_of([source]), rate=20.0, screenshot=Path()))
    window.show()
    (view,) = window.views()
    view.choice.choose("first")
    due = time.monotonic() + {DEADLINE}
    while view.snapshot().shown is None or view.snapshot().beyond != 5:
        assert time.monotonic() < due, view.snapshot()
        app.processEvents(qt.QEventLoop.AllEvents, 50)
    now = view.snapshot()
    assert now.codes.tolist() == [1, 1, 5, 1] and now.shown.values[[0, 1, 3]].tolist() == [0, 24, 72], now
    assert view.steps.status_of(2) == view.steps.status_of(2**40) == "absent"
    assert "of 0 – 281,474,976,710,655" in [each.text() for each in view.bar.findChildren(qt.QLabel)]
    said = why_nothing({PLANNED - 1}, "first", now)
    assert said == "Frame 281,474,976,710,655 has no first: it is absent.", said
    assert "3 of 281,474,976,710,656 frames done · {REST:,} absent" in view.banner.text(), view.banner.text()
    window.close()
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
"""Looks at each of its sources, and says how much memory that took at most, in kB."""


def peak_mb(process: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) / 1000


def seconds(process: int) -> float:
    """The processor time of a process, that of threads that are no more included."""
    return time.clock_gettime((~process << 3) | 2)  # see clock_getcpuclockid(3)


def processes(made: Running) -> tuple[int, int]:
    return made.process.pid, child_of(made.process.pid, "penstock.processing.distributor.distributor")


def take(made: Running, streamer: Streamer, path: Path, planned: int, **end: object) -> None:
    """Take three frames of so many."""
    series = streamer.start(str(path), frames=planned)
    for number in CAME:
        streamer.frame(number)
    streamer.end(**end)
    made.over(series)


def agree(path: Path) -> None:
    """The file has the three frames, and a row for the one between them; all others are one range."""
    found = Results(path)
    states, beyond = found.known()
    assert (states.tolist(), beyond) == ([1, 1, 5, 1], Beyond(4, PLANNED, 5))
    counts = found.account()["counts"]
    assert (counts["planned"], counts["done"], counts["absent"]) == (PLANNED, 3, REST)
    rows = found.rows("first", 0, 6)
    assert rows.values.tolist() == [0, 24, 0, 72, 0, 0] and rows.has.tolist() == [1, 1, 0, 1, 0, 0]
    rows = found.rows("share", PLANNED - 2, PLANNED)
    assert rows.states.tolist() == [5, 5] and np.isnan(rows.values).all()
    assert path.stat().st_blocks * 512 < 1_000_000


class Behind(StandInDetector):
    """A detector that the test moves by hand, and a real pipeline."""

    def __init__(self, url: str) -> None:
        super().__init__()
        pipeline = TangoSource(self.name, url)
        self.status, self.results = pipeline.status, pipeline.results
        self.states, self.rows = pipeline.states, pipeline.rows


def scanned(client: PipelineClient, series: str) -> None:
    """Sardana's channels have the values of a series that is over."""
    detector = Behind(client.url)
    results = FrameResults(detector, 1.0)
    results.add(1)
    results.show(1, "first")
    results.prepare(6, 0.01)
    detector.arm(series)
    results.start()
    wait(lambda: results.state(1)[0] == "On")
    assert str(results.new_values(1)) == "[0.0, 24.0, nan, 72.0, nan, nan]"
    assert results.warning == "spots: 3 of 6 frames without a result: 2, 4 to 5 absent"
    results.close()


def test_three_frames_of_them_are_seen_everywhere_and_all_others_are_one_range(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path, receiver) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        for name, end in ENDS.items():
            take(made, sender, receiver.root / f"{name}.h5", PLANNED, **end)
            client, series = made.client, made.client.status().series
            assert series is not None and series.reason.split("; ")[0] == f"{REST:,} frames absent"
            assert (series.counts.done, series.counts.absent, series.counts.frames) == (3, REST, PLANNED)
            agree(receiver.root / f"{name}.spots.h5")

        states = client.states()
        assert (states.codes.tolist(), states.beyond) == ([1, 1, 5, 1], 5)
        values = client.values("first")
        assert (values.first, values.values) == (0, [0, 24, None, 72])
        values = client.values("first", f"{2**40}:{2**40 + 2}")
        assert (values.first, values.states, values.values) == (2**40, ["absent"] * 2, [None, None])
        assert np.isnan(client.array("share", "2:6")).tolist() == [True, False, True, True]
        scanned(client, series.id)

        looked = subprocess.run(
            [sys.executable, "-c", WINDOW, client.url, str(series.result_file)],
            capture_output=True, text=True, timeout=2 * DEADLINE, check=False,
        )  # fmt: skip
        assert looked.returncode == 0, looked.stderr
        assert int(looked.stdout) / 1000 < MOST_MB
        assert max(map(peak_mb, processes(made))) < MOST_MB

    raw, path = receiver.root / "stopped.h5", receiver.root / "stopped.spots.h5"
    assert main(["check", str(path)]) == 2
    assert f"{path} is a result file; its frames are in stopped.h5" in capsys.readouterr().err
    assert main(["check", str(raw)]) == 1
    path.unlink()
    capsys.readouterr()
    assert main(["process", str(tmp_path / "spots.yaml"), str(raw)]) == 0, "the rest is absent"
    said = capsys.readouterr().out
    assert f"281,474,976,710,656 frames: 3 done, {REST:,} absent\n    3 frames of them from the file" in said
    agree(path)


def test_its_processor_time_is_that_of_three_frames(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    with running(tmp_path, receiver) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        took: dict[int, list[float]] = {4: [], PLANNED: []}
        for number in range(14):
            planned = (4, PLANNED)[number % 2]
            before = sum(map(seconds, processes(made)))
            take(made, sender, receiver.root / f"{number}.h5", planned, reason="stop", triggered=4)
            took[planned].append(sum(map(seconds, processes(made))) - before)
    few, many = (statistics.median(each[1:]) for each in took.values())
    assert many <= 10 * few, "some 1.3 times as much; what follows the plan would take years"


def test_a_distributor_that_is_killed_goes_on_and_wrong_numbers_take_no_memory(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(NUMBER, receiver, workers=1) as made:
        raw = receiver.root / "a.h5"
        series = sender.start(str(raw), frames=PLANNED)
        for number in (0, 1):
            sender.frame(number)
        made.wait(lambda status: status.series is not None and status.series.counts.done == 2)
        made.kill()
        made.start(again=True)
        made.work()
        for number in (3, 2**40, 1_000_003):
            sender.frame(number)
        sender.end(reason="stop", triggered=1_000_004)
        over = made.over(series)
        assert (over.counts.done, over.counts.absent) == (4, PLANNED - 4)
        assert receiver.client.status().counts.out_of_range == 1, "the receiver takes none that far beyond"
        assert over.result_file is not None
        found = Results(over.result_file)
        states, beyond = found.known()
        assert np.flatnonzero(states == 1).tolist() == [0, 1, 3, 1_000_003]
        assert beyond == (1_000_004, PLANNED, 5) and set(states.tolist()) == {1, 5}
        assert found.rows("index", 1_000_003, 1_000_004).values.tolist() == [1_000_003]
        assert Path(over.result_file).stat().st_blocks * 512 < 20_000_000
        assert peak_mb(made.distributor.pid) < MOST_MB
