"""The page of a pipeline in a real browser, which finds no host but this one."""

from __future__ import annotations

import signal
from contextlib import closing
from pathlib import Path

import pytest

from penstock.processing.client import PipelineRefused
from tests import browser
from tests.browser import Browser
from tests.processing.service.pipeline_process import PipelineProcess
from tests.processing.service.stand_in_distributor import FRAMES
from tests.processing.test_process import running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is missing: apt-get install chromium"),
]
DRAWN = """\
import numpy as np
from penstock.processing import Axis, Plot, Processor


class Spots(Processor):
    threshold: int = 2

    def describe(self):
        q = Axis("q", np.linspace(10, 35, 2000), unit="1/nm")
        return [Plot("I", errors="I_errors", axes=(q,), unit="counts", label="intensity")]

    def process(self, frame):
        if frame.index in (3, 4):
            raise ValueError("no")
        curve = np.full(2000, 100.0)
        curve[1000] = 900
        curve[500:600] = np.nan
        numbers = {"sum": 31265000 + frame.index, "total": frame.index / 8}
        return {"I": curve, "I_errors": np.full(2000, 5.0), **numbers}
"""
HOSTILE = "<img src=x onerror=alert(1)>"


def test_a_result_that_cannot_be_read_says_so_and_the_others_are_shown(tmp_path: Path) -> None:
    running = PipelineProcess(tmp_path)
    try:
        running.ready(2)
        running.client.change({"spoil": "bright"})
        with closing(Browser(tmp_path / "profile")) as chromium:
            chromium.open(f"{running.client.url}/")
            chromium.shows("bright", "x.spots.h5 cannot be read: ", "512 points, frame 99", "events, frame 5")
    finally:
        running.close()


def test_without_the_result_file_the_page_says_that_it_is_away(tmp_path: Path) -> None:
    running = PipelineProcess(tmp_path)
    try:
        running.ready(2)
        (tmp_path / "x.spots.h5").unlink()
        with closing(Browser(tmp_path / "profile")) as chromium:
            chromium.open(f"{running.client.url}/")
            chromium.shows("Latest values", f"{tmp_path}/x.spots.h5 does not exist")
    finally:
        running.close()


def test_the_page_shows_states_workers_and_latest_values_and_follows_them(tmp_path: Path) -> None:
    with closing(Browser(tmp_path / "profile")) as chromium:
        running = PipelineProcess(tmp_path)
        try:
            workers = running.ready(2).workers
            chromium.open(f"{running.client.url}/")
            chromium.shows("spots", "idle", "NOT every frame of the last series is done", "x.spots.h5")
            chromium.shows(f"frames\t{FRAMES}", f"done\t{FRAMES - 1}", "failed\t1")
            for each in workers:
                chromium.shows(f"{each.name}\t{each.host}\tready\t5\t2 ms")
            chromium.shows("bright", "990", f"the value is that of frame {FRAMES - 1}")
            chromium.shows("512 points, frame 99", "4 × 5 float64, of 99 frames", "events, frame 5")
            curves = "document.querySelectorAll('svg polyline').length"
            assert chromium.value(curves) == 3, "a curve, and a number over the frames with a gap in it"

            running.client.change({"label": HOSTILE})
            chromium.shows(HOSTILE, "(version 2, from frame 42)")
            assert chromium.value("document.querySelectorAll('img').length") == 0, "a value is text"
            running.client.change({"label": "# Calibration\nDistance: 0.2\n"})
            chromium.shows("label = text of 2 lines (version 3, ")

            while not running.client.status().error:
                with pytest.raises(PipelineRefused):
                    running.client.change({"die": signal.SIGKILL})
                running.wait(lambda status: bool(status.error) or len(status.workers) == 2)
            chromium.shows("error", "The distributor of spots ended by signal SIGKILL; reset starts it again")
        finally:
            running.close()
        chromium.shows("away", "Pipeline away since", "What stands below is what it said last.")
        address = running.client.url
        assert all(url.startswith((f"{address}/", "blob:", "data:")) for url in chromium.requested)


def test_curves_have_the_axis_and_the_errors_that_their_class_has_given_them(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    lines = "[...document.querySelectorAll('article:first-child polyline')]"
    points = f"{lines}.map((each) => each.points.length)"
    highest = f"Math.min(...{lines}.flatMap((each) => [...each.points].map((point) => point.y)))"
    ticks = "[...document.querySelectorAll('article:first-child .tick.x')].map((each) => each.textContent)"
    sums = "[...document.querySelectorAll('article')].find((each) => each.textContent.startsWith('sum'))"
    narrow = f"[...{sums}.querySelectorAll('.tick.y')].map((each) => each.textContent)"
    with closing(Browser(tmp_path / "profile")) as chromium, running(tmp_path, receiver, DRAWN) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        chromium.open(f"{made.client.url}/")
        made.over(sender.series_of(str(receiver.root / "drawn.h5"), 9))
        chromium.shows("I", "intensity (counts)", "q (1/nm)", "2000 points, frame 8", "frames 0 to 8")
        assert chromium.value(ticks) == ["10", "15", "20", "25", "30", "35"]
        digits = chromium.value(narrow)
        assert len(digits) > 1 and len(set(digits)) == len(digits), "ticks differ in what they say"
        before, after = chromium.value(points)
        assert before + after <= 1200, "as many points as there are columns"
        assert chromium.value(highest) < 30, "a spike of one point is seen, however many there are"
        assert chromium.value("document.querySelectorAll('article:first-child polygon').length") == 2
        assert chromium.value("document.querySelectorAll('article:last-child polyline').length") == 2, "a gap"
        assert chromium.value("document.querySelectorAll('article:last-child .value')[0].textContent") == "1"
