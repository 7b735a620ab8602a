"""Pictures of the viewer, over real receivers and the files that they have written.

A receiver idle, running, in Error and away; files with gaps, of one frame, of another program; tabs, tiles
and a wall; the measuring tools and regions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from penstock.gui.live.app import Options, open_window
from penstock.gui.live.drawing.levels import Scale
from penstock.gui.live.measure.counts.counts import Kind
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.sources.receiver_source import ReceiverSource
from penstock.gui.live.view import LiveView
from penstock.gui.live.window import Window
from penstock.receiver.models import Rectangle
from tests.gui.photographer import Photographer, photograph
from tests.system.beamline import FAULT, ON, Beamline, Station, until, wait_state

SENSOR = (1030, 514)
ROIS = {
    "ring": {"x": 600, "y": 150, "width": 110, "height": 130},
    "centre": {"x": 465, "y": 207, "width": 100, "height": 100},
    "background": {"x": 30, "y": 380, "width": 150, "height": 110},
}
GAPS = "drop=31,32,33,34,35,90"
FRAMES = 200
RUN = 3000
"""Frames of a series that is still running when its pictures are taken."""


class Scene:
    """What there is to look at: a detector and its files, and one whose receiver is in Error."""

    def __init__(self, beamline: Beamline, folder: Path) -> None:
        self.folder = folder
        self.good = Station(beamline, sensor=SENSOR, rois=ROIS)
        self.bad = Station(beamline, "bad", sensor=SENSOR, gap={"policy": "fail", "seconds": 0.2})
        for station in (self.good, self.bad):
            station.calm()
            station.set(Pattern="powder", PhotonFlux=5e6, ExposureTime=0.01, BeamCenterX=515.0,
                        BeamCenterY=257.0, Distance=0.035)  # fmt: skip
        self.one = self.good.root / "ceo2_0001_with_a_name_that_says_what_was_measured.h5"
        self.take(self.good, self.one, 1)
        wait_state(self.good.detector, ON, deadline=60.0)
        self.file = self.good.root / "ceo2_0002.h5"
        self.take(self.good, self.file, FRAMES, GAPS)
        wait_state(self.good.detector, ON, FAULT, deadline=60.0)
        self.other = folder / "background.tif"
        Image.fromarray(np.random.default_rng(0).poisson(20, SENSOR[::-1]).astype(np.uint16)).save(self.other)

    def take(self, station: Station, file: Path, frames: int, faults: str = "") -> None:
        """Begin a series."""
        station.set(TriggerMode="INTERNAL", nTriggers=frames, DestinationFilename=str(file), Faults=faults)
        station.detector.Arm()

    def break_one(self) -> None:
        """Bring the receiver of the other detector into Error."""
        self.take(self.bad, self.bad.root / "al2o3_0001.h5", 60, "drop=30")
        until(lambda: self.bad.receiver.client.status().state == "error", "receiver in Error", 60.0)


@contextmanager
def opened(
    camera: Photographer, sources: Sequence[str | Path], *, drawn: bool = True, tiles: bool = False
) -> Iterator[Window]:
    """Open the viewer's window over addresses and files."""
    window = open_window(
        Options(
            sources=tuple(FileSource(each) if isinstance(each, Path) else ReceiverSource.at(each)
                          for each in sources),
            tiles=tiles,
            screenshot=Path(),  # what a window before has kept is not for a picture
        )
    )  # fmt: skip
    window.show()
    try:
        if drawn:
            shown = window.views() if tiles else [window.current()]
            camera.until(lambda: all(view.drawn() for view in shown), "drawn")
        camera.process_events()
        yield window
    finally:
        window.close()
        window.deleteLater()
        camera.process_events(0.05)


def idle(scene: Scene, camera: Photographer) -> None:
    """After a series."""
    for _ in camera.each_theme():
        with opened(camera, [scene.good.receiver.url]) as window:
            camera.take("viewer_idle", window)


def running(scene: Scene, camera: Photographer) -> None:
    """In the middle of a series."""
    for _ in camera.each_theme():
        scene.take(scene.good, scene.good.new_file(), RUN)
        with opened(camera, [scene.good.receiver.url]) as window:
            camera.until(lambda window=window: window.current().drawn() >= 5, "some frames")
            camera.take("viewer_running", window)
            if not camera.large:
                regions(window.current(), camera, window)
        scene.good.detector.Abort()
        wait_state(scene.good.detector, ON, FAULT, deadline=30.0)


def regions(view: LiveView, camera: Photographer, window: Window) -> None:
    """Regions with their curves."""
    view.show_regions.trigger()
    camera.until(lambda: len(view.regions.curves.curve.values()[0]) > 100, "a curve")
    camera.take("viewer_regions", window, all_sizes=False)


def fault(scene: Scene, camera: Photographer) -> None:
    """A receiver in Error, before it is reset."""
    scene.break_one()
    for _ in camera.each_theme():
        with opened(camera, [scene.bad.receiver.url]) as window:
            camera.take("viewer_fault", window)


def files(scene: Scene, camera: Photographer) -> None:
    """Files, alone and in tabs."""
    for _ in camera.each_theme():
        with opened(camera, [scene.file]) as window:
            view = window.current()
            view.past.go(123)
            camera.until(lambda view=view: view.frame_on_show().frame == 123, "frame 123")
            camera.take("viewer_file", window)
            view.past.go(31)
            camera.until(lambda view=view: view.past.trouble(), "a gap")
            camera.take("viewer_file-gap", window)
        with opened(camera, [scene.one]) as window:
            camera.take("viewer_file-of-one-frame", window, all_sizes=False)
        with opened(camera, [scene.other]) as window:
            camera.take("viewer_file-of-another-program", window, all_sizes=False)
        with opened(camera, [scene.file, scene.other, scene.good.receiver.url]) as window:
            camera.take("viewer_tabs", window)
            for view in window.views():
                window.tabs.setCurrentWidget(view)
                camera.until(lambda view=view: view.drawn(), "drawn")
            window.toggle_tiles()
            camera.take("viewer_tiles", window)


def wall(scene: Scene, camera: Photographer) -> None:
    """A wall of four."""
    for _ in camera.each_theme():
        sources = [scene.good.receiver.url, scene.bad.receiver.url, scene.file, scene.other]
        with opened(camera, sources, tiles=True) as window:
            camera.take("viewer_tiles-of-four", window, all_sizes=False)
            window.toggle_wall()
            camera.process_events(1.0)
            camera.take("viewer_wall", window, resize=False)


def measuring(scene: Scene, camera: Photographer) -> None:
    """Each measuring tool in use."""
    for _ in camera.each_theme():
        with opened(camera, [scene.file]) as window:
            view = window.current()
            measure, tabs = view.measure, view.measure.tabs
            view.plot.look.set_scale(Scale.LOG)
            view.show_measure.trigger()
            measure.rectangle.set_place(Rectangle(x=600, y=150, width=110, height=130))
            camera.process_events(1.0)
            camera.take("measure_figures", window, all_sizes=False)
            tabs.setCurrentWidget(measure.beam_tab)
            measure.beam_tab.show_cross.setChecked(True)
            measure.beam_tab.calibrant.setCurrentText("CeO2")
            camera.process_events(1.0)
            camera.take("measure_beam", window, all_sizes=False)
            tabs.setCurrentWidget(measure.profile)
            measure.profile.kind.setCurrentText(Kind.LINE.value)
            measure.profile.set_line((150.0, 60.0), (900.0, 160.0))
            camera.process_events(1.0)
            camera.take("measure_profile", window, all_sizes=False)
            tabs.setCurrentWidget(measure.treatment)
            measure.treatment.load_background(scene.other)
            measure.treatment.choose_hot(40_000.0, True)
            camera.process_events(1.0)
            camera.take("measure_corrections", window, all_sizes=False)


def away(scene: Scene, camera: Photographer) -> None:
    """A receiver that has gone, and one that was never there."""
    for _ in camera.each_theme():
        scene.take(scene.good, scene.good.new_file(), 3)
        wait_state(scene.good.detector, ON, deadline=30.0)
        with opened(camera, [scene.good.receiver.url]) as window:
            scene.good.receiver.stop()
            view = window.current()
            camera.until(lambda view=view: view.banner.kind() == "away", "away")
            camera.take("viewer_away", window, all_sizes=False)
        with opened(camera, [scene.good.receiver.url], drawn=False) as window:
            view = window.current()
            camera.until(lambda view=view: view.banner.kind() == "away", "never there")
            camera.take("viewer_never-there", window, all_sizes=False)
        scene.good.receiver.start()
        scene.good.calm()


STATES = (idle, running, fault, files, wall, measuring, away)


def draw_all(camera: Photographer, scratch: Path) -> None:
    """Take them all."""
    with Beamline(scratch) as beamline:
        scene = Scene(beamline, scratch)
        for state in STATES[:3] if camera.large else STATES:
            state(scene, camera)


def main() -> int:
    """Take those that the command line asks for."""
    return photograph("Pictures of the viewer", draw_all)
