"""The running and the last series: progress, every fate of a frame, buffers, verdict, file."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("silx.gui.qt", reason="the windows need the extra gui")

from silx.gui import qt

from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.tango.device import Greeting
from penstock.gui.panel.series.history import HistoryDialog
from penstock.gui.panel.series.last_series import LOOKING, NONE_YET, LastSeriesView
from penstock.gui.panel.series.series_view import SeriesView
from tests.gui.model.stand_in import ATTRIBUTES, VALUES, StandInDevice
from tests.receiver.conftest import receiver, start_receiver, streamer
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

__all__ = ["receiver", "start_receiver", "streamer"]

DEADLINE = 20_000
RUNNING = {
    "State": "RUNNING", "nFramesPlanned": 1000, "nFramesWritten": 408, "nFramesMissing": 2,
    "nFramesPending": 590, "FrameRateMeasured": 50.0, "FileWritten": "/data/scan_0042.h5",
}  # fmt: skip


@pytest.fixture
def device() -> Iterator[StandInDevice]:
    stand_in = StandInDevice()
    model = DetectorModel("sim/det/1", stand_in)
    model.start()
    stand_in.model = model  # type: ignore[attr-defined]
    yield stand_in
    model.stop()


@pytest.fixture
def series(qtbot: Any, device: StandInDevice) -> SeriesView:
    widget = SeriesView(device.model)  # type: ignore[attr-defined]
    qtbot.addWidget(widget)
    widget.resize(620, 160)
    widget.show()
    return widget


@pytest.fixture
def last(qtbot: Any, device: StandInDevice) -> LastSeriesView:
    widget = LastSeriesView(device.model)  # type: ignore[attr-defined]
    qtbot.addWidget(widget)
    widget.show()
    return widget


def test_a_running_series_says_how_far_it_is(qtbot: Any, device: StandInDevice, series: SeriesView) -> None:
    device.appear(**RUNNING)
    qtbot.waitUntil(
        lambda: series.texts() == ("408 of 1,000 frames", "40 %", "50 frames/s", "11.8 s left"),
        timeout=DEADLINE,
    )
    device.say(nFramesWritten=998, nFramesPending=0, State="ON", FrameRateMeasured=0.0)
    qtbot.waitUntil(lambda: series.texts() == ("998 of 1,000 frames", "99 %", "ended"), timeout=DEADLINE)


def test_one_missing_frame_of_a_million_is_seen(
    qtbot: Any, device: StandInDevice, series: SeriesView
) -> None:
    device.appear(**{**RUNNING, "nFramesPlanned": 10**6, "nFramesWritten": 999_999, "nFramesMissing": 1,
                     "nFramesPending": 0})  # fmt: skip
    qtbot.waitUntil(lambda: len(series.bar.segments()) == 2, timeout=DEADLINE)
    missing = next(part for part in series.bar.segments() if part.fate == "missing")
    assert missing.width >= 2
    assert "missing 1: triggered or sent, but not received" in series.bar.tip_at(missing.left)
    image = series.bar.grab().toImage()
    red = image.pixelColor(missing.left, image.height() // 2)
    assert red.red() > 150 > red.green()


def test_what_is_lost_is_hatched_where_it_was_lost(
    qtbot: Any, device: StandInDevice, series: SeriesView
) -> None:
    lost = {"series": "s1", "complete": False, "lost": [[250, 499, "missing"]]}
    device.appear(**{**RUNNING, "State": "ON", "SeriesId": "s1", "nFramesPlanned": 1000,
                     "nFramesWritten": 750, "nFramesMissing": 250, "nFramesPending": 0,
                     "LastSeries": json.dumps(lost)})  # fmt: skip
    qtbot.waitUntil(lambda: any(part.frames for part in series.bar.segments()), timeout=DEADLINE)
    image, width = series.bar.grab().toImage(), series.bar.width()
    assert "frames 250 to 499 missing" in series.bar.tip_at(round(0.3 * width))

    def colours(first: float, last: float) -> set[str]:
        return {
            image.pixelColor(x, y).name()
            for x in range(round(first * width) + 2, round(last * width) - 2)
            for y in range(6, image.height() - 6)
        }

    assert len(colours(0.0, 0.25)) == 1, "frames that are stored are of one colour"
    assert len(colours(0.25, 0.5)) > 1, "frames that are lost are hatched: not told by colour alone"
    assert colours(0.5, 1.0) == colours(0.0, 0.25)


def test_while_a_series_runs_its_losses_are_hatched_where_they_are(
    qtbot: Any, device: StandInDevice, series: SeriesView, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    running = streamer.start(str(receiver.root / "a.h5"), frames=1000, trigger_mode="SOFTWARE")
    for number in (*range(100), *range(150, 200)):
        streamer.frame(number)
    receiver.wait(lambda status: status.counts.missing == 50)
    device.receiver_url = receiver.client.url
    counts = {"nFramesWritten": 150, "nFramesMissing": 50, "nFramesPending": 800}
    device.appear(**{**RUNNING, **counts, "SeriesId": running})
    qtbot.waitUntil(
        lambda: any(part.frames == (100, 149) for part in series.bar.segments()), timeout=DEADLINE
    )
    width, image = series.bar.width(), series.bar.grab().toImage()
    assert "frames 100 to 149 missing" in series.bar.tip_at(round(0.12 * width))

    def colours(first: float, last: float) -> set[str]:
        places = range(round(first * width) + 2, round(last * width) - 2)
        return {image.pixelColor(x, y).name() for x in places for y in range(6, image.height() - 6)}

    stored, lost, later, to_come = (colours(*part) for part in ((0, 0.1), (0.1, 0.15), (0.15, 0.2), (0.2, 1)))
    assert len(stored) == 1
    assert later == stored, "frames after a loss are stored"
    assert len(lost) > 1, "hatched"
    assert len(to_come) == 1
    assert to_come != stored, "and what is pending begins behind the latest frame"

    for number in range(300, 310):
        streamer.frame(number)
    receiver.wait(lambda status: status.counts.missing == 150)
    device.say(nFramesWritten=160, nFramesMissing=150, nFramesPending=690)
    qtbot.waitUntil(lambda: "frames 200 to 299" in series.bar.tip_at(round(0.25 * width)), timeout=DEADLINE)


def test_a_full_buffer_says_which_side_is_slow(qtbot: Any, device: StandInDevice, series: SeriesView) -> None:
    device.appear(**RUNNING, RingFill=90.0)
    qtbot.waitUntil(lambda: "The receiver is slower than the detector" in series.notice(), timeout=DEADLINE)
    height = series.sizeHint().height()
    device.say(RingFill=10.0)
    qtbot.waitUntil(lambda: not series.notice(), timeout=DEADLINE)
    assert series.sizeHint().height() == height, "what is below jumps"


def test_the_last_series_is_judged_in_a_sentence_with_its_gaps(
    qtbot: Any, device: StandInDevice, last: LastSeriesView
) -> None:
    assert last.verdict() == NONE_YET
    device.appear()
    ended = {"series": "s1", "file": "/nowhere/scan_0042.h5", "complete": False, "planned": 1000,
             "verdict": "Ready. 998 of 1000 frames stored, 2 missing.", "lost": [[12, 13, "missing"]],
             "started": 1.0, "ended": 21.0, "counts": {"received": 998, "stored": 998}}  # fmt: skip
    device.say(LastSeries=json.dumps(ended))
    qtbot.waitUntil(lambda: last.lost() == "▲ Frames missing 12–13", timeout=DEADLINE)
    assert last.verdict() == "▲ Incomplete. Ready. 998 of 1000 frames stored, 2 missing."
    qtbot.waitUntil(lambda: "This host does not see /nowhere" in last.why_not(), timeout=DEADLINE)
    assert not last.open_file.isEnabled()
    assert "This host does not see /nowhere" in last.open_file.toolTip()
    last.copy_path.click()
    assert qt.QApplication.clipboard().text() == "/nowhere/scan_0042.h5"


def test_a_file_system_that_hangs_holds_no_window(
    qtbot: Any, device: StandInDevice, last: LastSeriesView, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, asked = threading.Event(), list[str]()

    def hangs(file: str) -> str:
        asked.append(file)
        return "" if answers.wait(20.0) else "never answered"

    monkeypatch.setattr("penstock.gui.panel.series.last_series.why_not_here", hangs)
    device.appear(LastSeries=json.dumps({"series": "s", "file": "/nfs/scan.h5", "complete": True}))
    qtbot.waitUntil(lambda: last.why_not() == LOOKING, timeout=DEADLINE)
    assert last.copy_path.isEnabled() and not last.open_file.isEnabled()
    for _ in range(3):
        last.look_again()
    answers.set()
    qtbot.waitUntil(last.open_file.isEnabled, timeout=DEADLINE)
    assert not last.why_not()
    assert asked == ["/nfs/scan.h5"], "one thread waits, however long"


def test_a_file_is_checked_beside_the_windows(
    qtbot: Any, device: StandInDevice, last: LastSeriesView, tmp_path: Path
) -> None:
    file = tmp_path / "broken.h5"
    file.write_bytes(b"no HDF5")
    device.appear(LastSeries=json.dumps({"series": "s", "file": str(file), "complete": True}))
    qtbot.waitUntil(last.check.isEnabled, timeout=DEADLINE)
    last.check.click()
    assert not last.check.isEnabled()
    qtbot.waitUntil(
        lambda: last.check_result().startswith("▲") and "broken.h5" in last.check_result(), timeout=DEADLINE
    )
    assert last.check.isEnabled()


def test_past_series_are_one_click_away_and_one_dialog(
    qtbot: Any, device: StandInDevice, last: LastSeriesView
) -> None:
    assert not last.past.isEnabled()
    assert device.listener is not None
    device.listener.reached(Greeting(attributes=ATTRIBUTES, receiver_url="http://127.0.0.1:9", values=VALUES))
    qtbot.waitUntil(last.past.isEnabled, timeout=DEADLINE)
    last.past.click()
    last.past.click()
    (dialog,) = last.window().findChildren(HistoryDialog)
    qtbot.waitUntil(lambda: "does not answer" in dialog.says(), timeout=DEADLINE)
    dialog.close()
    qtbot.waitUntil(lambda: not last.window().findChildren(HistoryDialog), timeout=DEADLINE)
    last.past.click()
    assert last.window().findChildren(HistoryDialog)
