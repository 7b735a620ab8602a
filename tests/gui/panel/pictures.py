"""Pictures of the control panel in every state, over real servers.

Idle, running, fault, receiver away, database away. A bridge to EPICS clients is behind the receiver.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from silx.gui import qt

from penstock.gui.model.fleet.fleet import Fleet
from penstock.gui.model.view import Presence
from penstock.gui.panel.app import Options, open_window
from penstock.gui.panel.open_dialog import OpenDialog
from penstock.gui.panel.series.history import HistoryDialog
from penstock.gui.panel.settings.folders import FolderDialog
from penstock.gui.panel.settings.save_preset import SavePreset
from penstock.hosts.child import free_port
from tests.bridges.epics.bridge_process import BridgeProcess
from tests.gui.photographer import Photographer, photograph
from tests.system.beamline import Beamline, Station


@contextmanager
def opened(camera: Photographer, beamline: Beamline, *devices: str) -> Iterator[Any]:
    """Open the control panel's window."""
    names = tuple(f"tango://{beamline.tango_host}/{device}" for device in devices)
    window = open_window(Options(devices=names), None, Fleet())
    window.show()
    try:
        yield window
    finally:
        window.close()
        window.deleteLater()
        camera.process_events(0.05)


def idle(beamline: Beamline, station: Station, camera: Photographer) -> None:
    """After a series that is whole."""
    for _ in camera.each_theme():
        with opened(camera, beamline, "sim/det/1", "pilatus/det/1") as window:
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
        with opened(camera, beamline, "sim/det/1") as window:
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
        with opened(camera, beamline, "sim/det/1") as window:
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
        with opened(camera, beamline, "sim/det/1") as window:
            panel = window.panels()[0]
            camera.until(lambda p=panel: p.view().check is not None, "checked")
            window.tabs.setCurrentIndex(0)
            fleet = window.tabs.currentWidget()
            camera.until(lambda page=fleet: "epics" in page.names(), "the bridge is found")
            window.open(panel.model.name)
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
        with opened(camera, beamline, "sim/det/1") as window:
            panel = window.panels()[0]
            camera.until(lambda p=panel: p.view().waits_for, "said")
            assert panel.view().presence is Presence.WAITED_FOR
            camera.take("panel_database-away", window)
            window.tabs.setCurrentIndex(0)
            camera.process_events(1.0)
            camera.take("fleet_database-away", window)
    beamline.restart_database()


STATES = (idle, running, fault, receiver_away, database_away)


def draw_all(camera: Photographer, scratch: Path) -> None:
    """Take them all."""
    with Beamline(scratch) as beamline:
        os.environ["TANGO_HOST"] = beamline.tango_host
        http = f"127.0.0.1:{free_port()}"
        entry = {"name": "epics", "endpoint": "tcp://127.0.0.1:0", "page": f"http://{http}/"}
        station = Station(beamline, sensor=(1030, 514), forward=[entry])
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
        bridge = BridgeProcess(scratch, http=http, receiver=station.receiver.url, consumer="epics")
        with closing(bridge):
            for state in STATES[:3] if camera.large else STATES:
                state(beamline, station, camera)


def main() -> int:
    """Take those that the command line asks for."""
    return photograph("Pictures of the control panel", draw_all)
