"""Makes docs/images/panel.png, panel-metadata.png, panel-running.png and fleet.png.

They show the control panel over a simulated detector. Run it after a change to the panel: python
docs/images/make_panel.py. It needs the extras tango, receiver and gui, and no screen.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import tango
from PIL import Image
from silx.gui import qt

from penstock.beamline.demonstration import Demonstration
from penstock.gui import theme
from penstock.gui.model.fleet.fleet import Fleet
from penstock.gui.panel.app import Options, open_window

HERE = Path(__file__).parent
SIZE = (1280, 800)
COLOURS = 256
FRAMES, SHOWN = 600, 240
"""Frames of the running series, and after how many its picture is taken."""
METADATA = (
    '{"title": "Lysozyme, first crystals", "sample": {"name": "Lysozym \\u03b2", "temperature": 295}, '
    '"user": "A. Scientist", "proposal": "20250001", "weather": "rain"}'
)
PATIENCE = 60.0


def main() -> None:
    """Take the pictures."""
    application = qt.QApplication(["make_panel"])
    qt.qInstallMessageHandler(lambda *_: None)
    theme.apply(application, theme.DARK)

    def until(condition: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            application.processEvents(qt.QEventLoop.AllEvents, 20)
            assert time.monotonic() < end, "it has not come"

    def process_events(seconds: float = 1.0) -> None:
        end = time.monotonic() + seconds
        until(lambda: time.monotonic() > end)

    with tempfile.TemporaryDirectory(prefix="data-") as folder, Demonstration(Path(folder) / "raw") as line:
        os.environ["TANGO_HOST"] = line.tango_host
        # What somebody's own windows have kept is not for a picture.
        qt.QSettings.setPath(qt.QSettings.NativeFormat, qt.QSettings.UserScope, folder)
        detector = tango.DeviceProxy(line.detector)
        detector.PhotonFlux = 5e6
        line.take(40, lambda written: None)
        fleet = Fleet()
        window = open_window(Options(devices=(line.detector,), size=SIZE), None, fleet)
        window.show()
        (panel,) = window.panels()
        until(lambda: panel.view().check is not None)
        panel.live.controls.log_colours.setChecked(True)
        detector.DestinationFilename = f"{line.folder}/ceo2_0001.h5"
        detector.nTriggers = FRAMES
        until(lambda: panel.view().check is not None and panel.view().check.ok)
        process_events()
        save(window, "panel")
        detector.Metadata = METADATA
        panel.settings.show_tab("Metadata")
        process_events()
        save(panel.settings, "panel-metadata")
        panel.settings.show_tab("Series")
        panel.actions_bar.findChild(qt.QPushButton, "Arm").click()
        until(lambda: panel.view().account.done >= SHOWN)
        process_events(0.3)
        save(window, "panel-running")
        window.tabs.setCurrentIndex(0)
        until(lambda: {row.state for row in fleet.rows()} == {"RUNNING"})
        process_events()
        save(window, "fleet")
        detector.Stop()
        window.close()


def save(window: qt.QWidget, name: str) -> None:
    """Write a picture; a repository keeps every version of it, so few colours have to be enough."""
    file = HERE / f"{name}.png"
    assert window.grab().save(str(file))
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(COLOURS, kmeans=2, dither=Image.Dither.NONE)
    small.save(file, optimize=True)


if __name__ == "__main__":
    main()
