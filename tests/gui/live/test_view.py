"""The live view as a widget among others: one receiver after another, hidden, and thrown away."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from silx.gui import qt

from penstock.gui.live.texts.sentences import NO_RECEIVER
from penstock.gui.live.view import LiveView
from tests.gui.live.stand_in import StandIn, stand_in

DEADLINE = 10_000
IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)


class Host(qt.QWidget):
    """Somebody else's window."""

    def __init__(self) -> None:
        super().__init__()
        self.view = LiveView(compact=True)
        layout = qt.QVBoxLayout(self)
        layout.addWidget(qt.QLineEdit())
        layout.addWidget(self.view)
        self.resize(620, 420)


@pytest.fixture
def host(qtbot: Any) -> Any:
    window = Host()
    qtbot.addWidget(window)
    window.show()
    yield window
    window.view.stop()


def test_it_waits_for_a_receiver_and_follows_one_after_another(
    qtbot: Any, receiver: StandIn, host: Host
) -> None:
    assert NO_RECEIVER in [label.text() for label in host.view.findChildren(qt.QLabel)]
    receiver.frame(IMAGE, 0)
    host.view.set_receiver(receiver.url)
    qtbot.waitUntil(lambda: host.view.drawn() == 1, timeout=DEADLINE)
    with stand_in() as other:
        other.frame(IMAGE, 7)
        host.view.set_receiver(other.url)
        qtbot.waitUntil(lambda: host.view.readings.value("Frame on show", "Number") == "7", timeout=DEADLINE)
        host.view.set_receiver("")
        assert host.view.snapshot().frame is None
    assert host.view.snapshot().away_since is None


def test_hidden_it_asks_for_no_frames(qtbot: Any, receiver: StandIn, host: Host) -> None:
    receiver.frame(IMAGE, 0)
    host.view.set_receiver(receiver.url)
    qtbot.waitUntil(lambda: host.view.drawn() == 1, timeout=DEADLINE)
    host.view.hide()
    for drained in (1, 2):  # the step under way may still want a frame, the one after it does not
        receiver.say(drained=drained)
        qtbot.waitUntil(lambda n=drained: host.view.snapshot().status.drained == n, timeout=DEADLINE)
    receiver.frame(IMAGE + 1, 1)
    qtbot.waitUntil(lambda: host.view.snapshot().status.latest_frame == 1, timeout=DEADLINE)
    assert host.view.drawn() == 1
    host.view.show()
    qtbot.waitUntil(lambda: host.view.drawn() == 2, timeout=DEADLINE)


def test_it_has_no_banner_and_shows_its_figures_when_asked(qtbot: Any, receiver: StandIn, host: Host) -> None:
    assert not host.view.banner.isVisible()
    assert not host.view.readings.isVisible()
    host.view.figures.trigger()
    assert host.view.readings.isVisible()


def test_at_620_by_420_nothing_is_cut_off(qtbot: Any, receiver: StandIn, host: Host) -> None:
    view = host.view
    image = IMAGE.copy()
    image[30, 40] = 1_234_567
    receiver.frame(image, 0, saturation=1_000_000)
    view.set_receiver(receiver.url)
    qtbot.waitUntil(lambda: view.drawn() == 1, timeout=DEADLINE)
    for figures in (False, True):
        view.figures.setChecked(figures)
        qtbot.waitUntil(lambda: view.plot.width() >= 240, timeout=DEADLINE)  # room for the picture
        view.plot.pixel.emit(view.plot.pixel_at(40.5, 30.5))
        assert view.pixel_text() == "row 30   column 40   value 1,234,567   saturated"
        assert view._status.readout.width() >= view._status.readout.sizeHint().width()
        assert (host.width(), host.height()) == (620, 420)
    for action in (view.controls.pause, view.controls.show_mask, view.figures):
        assert view.controls.widgetForAction(action).isVisible(), action.text()


def test_what_the_tool_bar_folds_away_keeps_its_name(host: Host) -> None:
    boxes = (view := host.view).controls.palette_choice, view.controls.rate, view.controls.block
    for box in boxes:
        (label,) = (each for each in view.controls.findChildren(qt.QLabel) if each.buddy() is box)
        assert label.isVisible() is box.isVisible(), label.text()
    assert not view.controls.block.isVisible()


def test_thrown_away_with_its_window_it_leaves_no_thread(qtbot: Any, receiver: StandIn) -> None:
    window = Host()
    window.show()
    window.view.set_receiver(receiver.url)
    feeds = [thread for thread in threading.enumerate() if thread.name == "penstock-feed"]
    assert feeds
    window.deleteLater()
    del window
    qtbot.waitUntil(lambda: not any(thread.is_alive() for thread in feeds), timeout=DEADLINE)
