"""Runs the control panel as an application: until its window is closed, or until its picture is taken."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.application import application, closing, take_picture
from penstock.gui.background import later
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.fleet.fleet import Fleet
from penstock.gui.model.fleet.row import ASKING
from penstock.gui.model.preset_files import PresetFolders
from penstock.gui.model.tango.link import TangoDevice
from penstock.gui.model.texts.sentences import message
from penstock.gui.model.view import DetectorView, Presence
from penstock.gui.panel.detector_panel import DetectorPanel
from penstock.gui.panel.fleet.page import FleetPage
from penstock.gui.panel.notifier import Notifier
from penstock.gui.panel.window import Window

PATIENCE = 1.5
"""Seconds without a device after which the terminal reports it."""
SETTLED = 100
"""Milliseconds between the last answer and the picture: windows gather changes before they redraw."""
ALIVE = 250
"""Milliseconds between two moments at which Python sees a signal, such as Ctrl+C."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line asks for."""

    devices: tuple[str, ...] = ()
    theme: theme.Name = "dark"
    screenshot: Path | None = None
    size: tuple[int, int] | None = None
    presets: tuple[Path, ...] = ()
    """Folders of presets that the site shares, beside those of the environment."""
    deadline: float = 60.0
    """Seconds to wait for all devices to answer, for a picture."""


def run(
    options: Options,
    ready: Callable[[], None] = lambda: None,
    waits: Callable[[str], None] = lambda why: None,
) -> str | None:
    """Open the window; returns once it is closed: `None`, or why there is no picture.

    Args:
        ready: called once the window is on the screen.
        waits: called with a sentence for each device that does not answer from the start.
    """
    running = application("penstock panel", options.theme)
    # A picture is the same whatever the user of this machine has moved.
    layout = None if options.screenshot is not None else qt.QSettings("Penstock", "panel")
    fleet = Fleet()
    window = open_window(options, layout, fleet)
    clock = qt.QTimer(window)
    clock.timeout.connect(lambda: None)
    clock.start(ALIVE)
    failure: list[str] = []
    if options.screenshot is not None:
        _arrange_screenshot(window, fleet, options.screenshot, options.deadline, failure)
    _tell_of_waiting(window, waits)
    window.show()
    qt.QTimer.singleShot(0, ready)
    with closing(window, window.failure):
        running.exec_()
    if layout is not None:
        layout.sync()  # the process may end without Qt's own end
    return failure[0] if failure else None


def open_window(options: Options, layout: qt.QSettings | None, fleet: Fleet | None = None) -> Window:
    """Return the window for `options`, not yet shown."""
    window = Window(
        lambda name: DetectorModel(name, TangoDevice(name)), layout, FleetPage(fleet or Fleet()),
        PresetFolders.of(os.environ, options.presets),
    )  # fmt: skip
    for name in options.devices:
        window.open(name)
    if options.devices:
        window.open(options.devices[0])
    if options.size is not None:
        window.resize(*options.size)
    return window


def _tell_of_waiting(window: Window, waits: Callable[[str], None]) -> None:
    def look() -> None:
        for panel in window.panels():
            view = panel.model.view()
            if view.presence is Presence.WAITED_FOR:
                waits(f"waits for {view.name}. {message(view).text}")

    later(look, window).start(int(PATIENCE * 1000))


def _arrange_screenshot(window: Window, fleet: Fleet, path: Path, seconds: float, failure: list[str]) -> None:
    notifier = Notifier(fleet, window)

    def all_there() -> bool:
        views = [panel.view() for panel in window.panels()]
        if not views:
            return fleet.looked and all(row.state != ASKING for row in fleet.rows())
        return all(map(_is_complete, views)) and all(map(_has_picture, window.panels()))

    def look() -> None:
        if all_there():
            for signal in signals:
                signal.disconnect(look)
            qt.QTimer.singleShot(SETTLED, take)

    def take() -> None:
        notifier.close()
        if why := take_picture(window, path):
            failure.append(why)
        window.close()

    def give_up() -> None:
        away = [panel.view() for panel in window.panels() if not panel.view().here]
        why = "; ".join(f"{view.name}: {message(view).text}" for view in away) or fleet.trouble
        why = why or "a device has not said yet what Arm would do, or its last frame is not drawn yet"
        failure.append(f"no picture in {seconds:g} s: {why}")
        window.close()

    lives = [panel.live for panel in window.panels()]
    signals = [window.updated, notifier.changed]
    signals += [signal for live in lives for signal in (live.updated, live.frame_drawn)]
    for signal in signals:
        signal.connect(look)
    later(give_up, window).start(int(seconds * 1000))


def _is_complete(view: DetectorView) -> bool:
    """Return whether everything that a user sees is there; the result of the check before Arm comes last."""
    return view.here and "State" in view.values and (view.state != "ON" or view.check is not None)


def _has_picture(panel: DetectorPanel) -> bool:
    """Return whether the last frame, if the receiver has one, is drawn; a hidden page draws none."""
    snapshot = panel.live.snapshot()
    if not panel.live.isVisible() or not snapshot.url or snapshot.trouble or snapshot.fault:
        return True
    if snapshot.status is None:
        return False
    return snapshot.frame is None or panel.live.frame_on_show() is not None
