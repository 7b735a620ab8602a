"""The window follows a real pipeline: receiver, distributor, worker, all as processes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("silx.gui.plot", reason="the viewer needs the extra gui")

from penstock.gui.live.app import Options, open_window, run, sources_of
from penstock.gui.live.results.sources.snapshot import Curves, Page, Picture, Rectangle
from penstock.gui.live.results.view import ResultsView
from penstock.processing.client import PipelineClient
from tests.processing.distributor.pipelines import entry
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

DEADLINE = 90_000
"""Milliseconds."""
FAILS = 3
PROGRAM = f"""
import numpy as np
from penstock.processing import Axis, Mean, Plot, Processor


class Mine(Processor):
    def describe(self):
        return [Plot("columns", axes=(Axis("x", np.arange(6.0), unit="mm"),), label="sum of a column")]

    def process(self, frame):
        if frame.index == {FAILS}:
            raise ValueError("no beam")
        return {{"columns": frame.pixels.sum(0).astype(float), "mean": Mean(frame.pixels)}}
"""


class Live:
    """A receiver with a pipeline behind it."""

    def __init__(self, folder: Path) -> None:
        self.streamer = Streamer()
        self.receiver = ReceiverProcess(folder, self.streamer.endpoint, forward=[entry(folder)])
        (folder / "mine.py").write_text(PROGRAM)
        (folder / "mine.yaml").write_text(json.dumps({"processor": "mine.py:Mine", "workers": 1}))
        penstock = str(Path(sys.executable).parent / "penstock")
        self.process = subprocess.Popen(
            [penstock, "process", str(folder / "mine.yaml"), "--receiver", self.receiver.client.url, "--json",
             "--http", "127.0.0.1:0"], stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = str(json.loads(self.process.stdout.readline())["http"])
        self.receiver.connected()
        self.receiver.wait(lambda status: status.consumers[0].connected > 0)

    def start(self, name: str, frames: int) -> None:
        """Begin a series."""
        self.streamer.start(str(self.receiver.root / name), frames=frames)

    def send(self, *frames: int) -> None:
        """Send frames, whose pixels are all their number + 1."""
        for frame in frames:
            self.streamer.frame(frame, np.full((4, 6), frame + 1, np.uint16))

    def finished(self) -> None:
        """Wait until the pipeline has done its first series."""
        client, due = PipelineClient(self.url), time.monotonic() + DEADLINE / 1000
        status = client.status()
        while status.state != "idle" or status.series is None:
            assert time.monotonic() < due, status
            status = client.status(status.version, wait=1.0)

    def stop(self) -> None:
        """End the pipeline."""
        self.process.terminate()
        self.process.wait(60)

    def close(self) -> None:
        """End everything."""
        self.stop()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.receiver.close()
        self.streamer.close()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    made = Live(tmp_path)
    yield made
    made.close()


@pytest.mark.slow
def test_a_real_pipeline_is_followed_over_a_gap_another_series_and_its_end(qtbot: Any, live: Live) -> None:
    window = open_window(Options(sources=sources_of([live.url]), rate=20.0, screenshot=Path()))
    qtbot.addWidget(window)
    window.show()
    (view,) = window.views()
    assert isinstance(view, ResultsView)

    def until(condition: Any) -> None:
        qtbot.waitUntil(condition, timeout=DEADLINE)

    until(lambda: view.says().startswith("No series yet"))
    live.start("a.h5", 10)
    live.send(*range(6))
    until(lambda: isinstance(view.shown(), Curves) and view.shown().frame == 5)
    (line,) = view.plots.curve.lines()
    assert line.y.tolist() == [24.0] * 6 and line.x.tolist() == [0, 1, 2, 3, 4, 5]
    assert view.plots.curve.getXAxis().getLabel() == "x (mm)"
    until(lambda: "5 of 10 frames done · 1 failed" in view.banner.text())
    assert view.banner.title() == "RUNNING"

    view.choose("columns", Page.FRAMES)
    until(lambda: isinstance(view.shown(), Rectangle) and len(view.shown().values) == 6)
    assert np.isnan(view.shown().values[:, 0]).tolist() == [frame == FAILS for frame in range(6)]

    view.choose("mean")
    until(lambda: isinstance(view.shown(), Picture) and view.shown().n == 5)
    assert view.shown().value[0, 0] == pytest.approx((1 + 2 + 3 + 5 + 6) / 5)

    view.choose("columns", Page.CURVE)
    live.send(*range(6, 10))
    live.streamer.end()
    until(lambda: view.banner.title() == "IDLE")
    assert view.caption.text() == "frame 9 · done · a.h5"

    live.start("b.h5", 10)
    until(lambda: view.caption.text().endswith("▲ OLD · last series"))
    assert view.plots.curve.lines()[-1].y[0] == 40.0, "the last curve stays until there is a newer one"
    live.send(0)
    until(lambda: view.caption.text() == "frame 0 · done · b.h5")
    assert view.plots.curve.lines()[-1].y[0] == 4.0

    live.stop()
    until(lambda: view.banner.title() == "AWAY")
    assert view.plots.curve.lines()[-1].y[0] == 4.0
    window.close()


@pytest.mark.slow
def test_a_picture_of_a_result_that_an_idle_pipeline_has_not_is_given_up_with_those_that_there_are(
    qtbot: Any, live: Live, tmp_path: Path
) -> None:
    live.start("a.h5", 2)
    live.send(0, 1)
    live.streamer.end()
    live.finished()

    failure = run(
        Options(
            sources=sources_of([live.url]), result="nothing", screenshot=tmp_path / "no.png", deadline=90.0
        )
    )

    assert failure == f"no picture: {live.url} has no result nothing; it has columns, mean"
