"""Takes pictures of every window in every state, over real servers; `make pictures` runs it in Xvfb.

Several sizes, dark and light; idle, running, fault, receiver away, database away. Writes
NAME_STATE_WIDTH_THEME.png and prints a line per picture. With QT_SCALE_FACTOR=2 on a screen of 3840 x 2160
pixels, --large draws what a 4K screen shows.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.fleet import Fleet
from penstock.gui.model.view import Presence
from penstock.gui.panel.app import Options, open_window
from penstock.gui.panel.folder_dialog import FolderDialog
from penstock.gui.panel.history import HistoryDialog
from penstock.gui.panel.open_dialog import OpenDialog
from penstock.gui.panel.save_preset import SavePreset
from tests.system.beamline import Beamline, Station

SIZES = ((1280, 800), (960, 600), (1920, 1080))
LARGE = ((1920, 1080),)
"""On a screen of 4K, of which each pixel of a window is two by two."""
THEMES = (theme.DARK, theme.LIGHT)
PATIENCE = 20.0


class Photographer:
    """Opens windows over a beamline, and writes what they look like."""

    def __init__(self, application: qt.QApplication, folder: Path, only: str, *, large: bool) -> None:
        self._application = application
        self._sizes = LARGE if large else SIZES
        self._end = "x2" if large else ""
        self._folder = folder
        self._only = only
        self.taken: list[Path] = []

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let Qt work until it is so."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self._application.processEvents(qt.QEventLoop.AllEvents, 20)
            assert time.monotonic() < end, f"{what}: not within {PATIENCE:g} s"
            time.sleep(0.005)

    def process_events(self, seconds: float = 0.4) -> None:
        """Let pictures be drawn and layouts be made."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end, "settled")

    def take(self, name: str, window: qt.QWidget, *, resize: bool = True) -> None:
        """In all sizes, in the present theme."""
        look = "dark" if theme.current().dark else "light"
        for width, height in self._sizes if resize else self._sizes[:1]:
            size = f"_{width}{self._end}" if resize else self._end
            file = self._folder / f"{name}{size}_{look}.png"
            if self._only not in file.name:
                continue
            if resize:
                window.resize(width, height)
            self.process_events()
            picture = window.screen().grabWindow(window.winId()) if _on_a_screen() else window.grab()
            assert picture.save(str(file)), file
            assert not resize or picture.width() >= width, f"{file}: {picture.width()} pixels wide"
            self.taken.append(file)
            print(file, flush=True)

    @contextmanager
    def window(self, beamline: Beamline, *devices: str) -> Iterator[Any]:
        """The control panel's window."""
        names = tuple(f"tango://{beamline.tango_host}/{device}" for device in devices)
        window = open_window(Options(devices=names), None, Fleet())
        window.show()
        try:
            yield window
        finally:
            window.close()
            window.deleteLater()
            self.process_events(0.05)

    def each_theme(self) -> Iterator[theme.Theme]:
        """Dark, then light: windows choose when they are made."""
        for look in THEMES:
            theme.apply(self._application, look)
            yield look


def _on_a_screen() -> bool:
    return qt.QGuiApplication.platformName() == "xcb"


def idle(beamline: Beamline, station: Station, camera: Photographer) -> None:
    """After a series that is whole."""
    for _ in camera.each_theme():
        with camera.window(beamline, "sim/det/1", "pilatus/det/1") as window:
            panel = window.open(window.panels()[0].model.name)
            camera.until(lambda p=panel: p.view().here and p.view().check is not None, "checked")
            camera.take("panel_idle", window)
            panel.settings.show_tab("Camera")
            camera.take("camera_idle", window)
            panel.settings.show_tab("Metadata")
            camera.take("metadata_idle", window)
            panel.settings.show_tab("Series")
            keyboard = next(each for each in window.findChildren(qt.QAction) if "Keyboard" in each.text())
            for name, opens, kind in (
                ("past-series", panel.series.last.show_past, HistoryDialog),
                ("folders", panel.settings.file.browse.click, FolderDialog),
                ("open", window._ask_open, OpenDialog),
                ("save-preset", panel.settings.presets.save_as, SavePreset),
                ("keyboard", keyboard.trigger, qt.QMessageBox),
            ):
                opens()
                (dialog,) = window.findChildren(kind)
                camera.process_events(0.5)
                camera.take(name, dialog, resize=False)
                dialog.close()
            window.tabs.setCurrentIndex(0)
            camera.process_events(1.0)
            camera.take("fleet_idle", window)


def running(beamline: Beamline, station: Station, camera: Photographer) -> None:
    """In the middle of a series."""
    for _ in camera.each_theme():
        station.set(TriggerMode="INTERNAL", ExposureTime=0.02, nTriggers=2000, nFramesPerTrigger=1,
                    DestinationFilename=str(station.new_file()))  # fmt: skip
        with camera.window(beamline, "sim/det/1") as window:
            panel = window.panels()[0]
            station.detector.Arm()
            camera.until(lambda p=panel: p.view().account.done > 60, "running")
            camera.take("panel_running", window)
            window.tabs.setCurrentIndex(0)
            camera.process_events(1.0)
            camera.take("fleet_running", window)
        station.detector.Abort()
        station.calm()


def fault(beamline: Beamline, station: Station, camera: Photographer) -> None:
    """The streamer has died in a series."""
    station.set(TriggerMode="INTERNAL", ExposureTime=0.02, nTriggers=2000,
                DestinationFilename=str(station.new_file()))  # fmt: skip
    station.detector.Arm()
    os.kill(station.streamer_pid(), signal.SIGKILL)
    for _ in camera.each_theme():
        with camera.window(beamline, "sim/det/1") as window:
            panel = window.panels()[0]
            camera.until(lambda p=panel: p.view().state == "FAULT", "fault")
            camera.take("panel_fault", window)
            window.tabs.setCurrentIndex(0)
            camera.process_events(1.0)
            camera.take("fleet_fault", window)
    station.calm()


def receiver_away(beamline: Beamline, station: Station, camera: Photographer) -> None:
    """Nobody writes."""
    for _ in camera.each_theme():
        with camera.window(beamline, "sim/det/1") as window:
            panel = window.panels()[0]
            camera.until(lambda p=panel: p.view().check is not None, "checked")
            station.receiver.stop()
            camera.until(lambda p=panel: p.view().check is not None and not p.view().check.ok, "noticed")
            camera.take("panel_receiver-away", window)
            window.tabs.setCurrentIndex(0)
            camera.process_events(1.0)
            camera.take("fleet_receiver-away", window)
        station.receiver.start()
        station.calm()


def database_away(beamline: Beamline, station: Station, camera: Photographer) -> None:
    """A window that is opened when there is no database."""
    beamline.database.stop()
    for _ in camera.each_theme():
        with camera.window(beamline, "sim/det/1") as window:
            panel = window.panels()[0]
            camera.until(lambda p=panel: p.view().waits_for, "said")
            assert panel.view().presence is Presence.WAITED_FOR
            camera.take("panel_database-away", window)
            window.tabs.setCurrentIndex(0)
            camera.process_events(1.0)
            camera.take("fleet_database-away", window)
    beamline.restart_database()


STATES = (idle, running, fault, receiver_away, database_away)


def main() -> int:
    """Take them all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="WORD", help="pictures with this word in their name")
    parser.add_argument("--large", action="store_true", help="a 4K screen: idle, running and fault")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    application = qt.QApplication(["pictures"])
    camera = Photographer(application, args.folder, args.only, large=args.large)
    with (
        tempfile.TemporaryDirectory(prefix="penstock-pictures-") as scratch,
        Beamline(Path(scratch)) as beamline,
    ):
        os.environ["TANGO_HOST"] = beamline.tango_host
        station = Station(beamline, sensor=(1030, 514))
        Station(beamline, "pilatus")
        station.calm()
        station.set(Pattern="powder", PhotonFlux=5e6, ExposureTime=0.02, nTriggers=50,
                        DestinationFilename=str(station.root / "ceo2_0001.h5"))  # fmt: skip
        station.detector.Arm()
        camera.until(lambda: str(station.detector.State()) == "ON", "a first series")
        station.set(
            DestinationFilename=str(station.root / "ceo2_0002.h5"),
            nTriggers=500,
            Metadata='{"title": "CeO2", "sample": {"name": "CeO2", "temperature": 295}, "user": "A. B."}',
        )
        for state in STATES[:3] if args.large else STATES:
            state(beamline, station, camera)
    return 0 if camera.taken else 1
