"""Windows in which nothing has changed are not painted: over a network each painting is sent as a picture."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("silx.gui.plot", reason="the windows need the extra gui")

from silx.gui import qt

from penstock.gui.live.app import Options, open_window
from penstock.gui.live.results.sources.feed import ResultsFeed
from penstock.gui.live.results.sources.file_source import ResultFileSource
from penstock.gui.live.results.view import ResultsView
from penstock.gui.live.sources.receiver_source import ReceiverSource
from penstock.gui.live.view import LiveView
from penstock.gui.model.detector import DetectorModel
from penstock.gui.panel.fleet.page import FleetPage
from penstock.gui.panel.window import Window
from penstock.receiver.models import Counts, Rectangle, Roi, Rois, Series
from tests.gui.live.result_files import Written
from tests.gui.live.stand_in import StandIn, stand_in
from tests.gui.model.stand_in import StandInDevice
from tests.gui.panel.fleet_of import eight

DEADLINE = 60_000
"""Milliseconds."""
IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)
SETTLED = 300
"""Milliseconds without a painting after which a window is taken for settled."""
TIMES = 4


class Paintings(qt.QObject):
    """Notes which widgets of this process are painted."""

    def __init__(self) -> None:
        super().__init__()
        self.of: list[str] = []

    def eventFilter(self, widget: qt.QObject, event: qt.QEvent) -> bool:
        if event.type() == qt.QEvent.Paint:
            self.of.append(type(widget).__name__)
        return False


def paintings(qtbot: Any, happens: Callable[[], None]) -> list[str]:
    """What is painted while something happens several times, in windows that have settled."""
    seen, application = Paintings(), qt.QApplication.instance()
    application.installEventFilter(seen)
    try:
        before = -1
        while before != len(seen.of):
            before = len(seen.of)
            qtbot.wait(SETTLED)
        seen.of.clear()
        for _ in range(TIMES):
            happens()
            qt.QApplication.processEvents()
        qtbot.wait(SETTLED)
        return seen.of
    finally:
        application.removeEventFilter(seen)


def again(qtbot: Any, view: LiveView, receiver: StandIn) -> None:
    """The receiver says the same once more, also of its regions, and half a second passes."""
    with qtbot.waitSignal(view.updated, timeout=DEADLINE):
        receiver.say()
    view._tick()
    view.regions._on_rois(REGIONS)


REGIONS = Rois(rois={"peak": Rectangle(x=5, y=5, width=20, height=10)})


@pytest.mark.parametrize("state", ["idle", "OLD"])
def test_an_idle_viewer(state: str, qtbot: Any) -> None:
    with stand_in() as receiver:
        receiver.run(counts=Counts(planned=10, received=1))
        receiver.say(rois=[Roi(name="peak", x=5, y=5, width=20, height=10, frame=0, sum=9, mean=3.0, max=5)])
        receiver.frame(IMAGE, 0)
        window = open_window(Options(sources=(ReceiverSource.at(receiver.url),)))
        qtbot.addWidget(window)
        window.show()
        (view,) = window.views()
        qtbot.waitUntil(lambda: view.drawn() >= 1, timeout=DEADLINE)
        view.show_regions.trigger()
        series = Series(id="5f0c", filename=None, active=False, complete=True)
        receiver.say(state="idle", series=series)
        if state == "OLD":
            receiver.say(
                state="running", latest_frame=None, series=Series(id="next", filename=None, active=True)
            )
        qtbot.waitUntil(lambda: view.snapshot().status == receiver.status, timeout=DEADLINE)
        again(qtbot, view, receiver)  # now its regions are known
        assert paintings(qtbot, lambda: again(qtbot, view, receiver)) == []
        assert "Label" in "".join(paintings(qtbot, lambda: view.say(str(qt.QDateTime()), False))), (
            "else it is"
        )
        window.close()


@pytest.mark.slow
def test_an_idle_panel(qtbot: Any, tmp_path: Path) -> None:
    with stand_in() as receiver:
        receiver.run(counts=Counts(planned=10, received=1))
        receiver.frame(IMAGE, 0)
        device = StandInDevice()
        layout = qt.QSettings(str(tmp_path / "panel.conf"), qt.QSettings.IniFormat)
        window = Window(lambda name: DetectorModel(name, device), layout)
        qtbot.addWidget(window)
        panel = window.open("sim/det/1")
        window.show()
        device.appear(ReceiverUrl=receiver.url)
        qtbot.waitUntil(lambda: panel.view().here, timeout=DEADLINE)
        panel.live.set_receiver(receiver.url)
        qtbot.waitUntil(lambda: panel.live.drawn() >= 1, timeout=DEADLINE)
        last = {"series": "s", "verdict": "5 of 1,000 frames stored."}
        device.say(State="ON", LastSeries=json.dumps(last))
        qtbot.waitUntil(lambda: panel.view().last is not None, timeout=DEADLINE)
        panel.setFocus(), window.setFocus()  # no field has a cursor that blinks

        def happens() -> None:
            again(qtbot, panel.live, receiver)
            with qtbot.waitSignal(panel.updated, timeout=DEADLINE):
                device.say(State="ON", RingFill=0.0, SensorTemperature=21.5)
            panel.refresh()

        assert paintings(qtbot, happens) == []
        window.close()


def test_an_idle_page_of_all_detectors(qtbot: Any) -> None:
    line = eight()
    page = FleetPage(line.fleet)
    qtbot.addWidget(page)
    page.show()
    qtbot.waitUntil(lambda: len(page.names()) == len(line.entries), timeout=DEADLINE)
    qtbot.waitUntil(lambda: all(each.has_started for each in line.devices.values()), timeout=DEADLINE)
    device = line.devices["p09/eiger/1"]
    assert paintings(qtbot, lambda: device.say(State="RUNNING", nFramesPlanned=12000)) == []
    page.close()


def test_an_idle_window_of_results(qtbot: Any, tmp_path: Path) -> None:
    written = Written(tmp_path / "x.azim.h5")
    written.done(range(3))
    view = ResultsView(ResultsFeed(ResultFileSource(tmp_path / "x.azim.h5"), rate=50.0))
    qtbot.addWidget(view)
    view.show()
    qtbot.waitUntil(lambda: view.drawn() >= 1, timeout=DEADLINE)

    def happens() -> None:
        view._refresh()
        view._tick()

    assert paintings(qtbot, happens) == []
    view.close()
    written.results.close()
