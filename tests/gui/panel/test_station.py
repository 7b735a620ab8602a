"""The panel over a real detector, with its receiver and its file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("silx.gui.plot", reason="the panel needs the extra gui")

import h5py
import tango
from silx.gui import qt

from penstock.cli.main import main
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.tango.link import TangoDevice
from penstock.gui.panel.detector_panel import DetectorPanel
from penstock.gui.panel.settings.folders import FolderDialog
from penstock.gui.panel.window import Window
from penstock.receiver.client import LastFrame
from tests.gui.panel.fields.test_fields import enters
from tests.system.beamline import Station, wait_state
from tests.system.conftest import beamline, shared_station, station

__all__ = ["beamline", "shared_station", "station"]

RECEIVER_CONFIG: dict[str, object] = {}
"""A detector for this file alone."""
DEADLINE = 15_000
"""Milliseconds."""


@pytest.fixture
def panel(qtbot: Any, station: Station) -> Iterator[DetectorPanel]:
    with opened(qtbot, station) as one:
        qtbot.waitUntil(lambda: button(one, "Arm").isEnabled(), timeout=DEADLINE)
        qtbot.waitUntil(lambda: one.view().check is not None, timeout=DEADLINE)
        yield one


@contextlib.contextmanager
def opened(qtbot: Any, station: Station) -> Iterator[DetectorPanel]:
    name = f"tango://{station.beamline.tango_host}/sim/det/1"
    one = DetectorPanel(DetectorModel(name, TangoDevice(name)))
    one.resize(1280, 720)
    qtbot.addWidget(one)
    one.show()
    yield one
    one.close()
    one.wait_closed()


def button(panel: DetectorPanel, name: str) -> Any:
    return panel.actions_bar.findChild(qt.QPushButton, name)


def test_a_series_from_the_first_letter_typed_to_its_file(
    qtbot: Any, station: Station, panel: DetectorPanel
) -> None:
    file = panel.settings.file
    assert file is not None
    qtbot.waitUntil(lambda: file.folder.text() == str(station.root), timeout=DEADLINE)  # the receiver's
    qtbot.keyClicks(file.template, "ceo2_####")
    exposure = panel.settings.series.fields["ExposureTime"].editor
    exposure.selectAll()
    qtbot.keyClicks(exposure, "5 ms")
    triggers = panel.settings.series.fields["nTriggers"].editor
    triggers.selectAll()
    qtbot.keyClicks(triggers, "20")
    assert station.detector.nTriggers == 1

    qtbot.mouseClick(button(panel, "Arm"), qt.Qt.LeftButton)
    qtbot.mouseDClick(button(panel, "Arm"), qt.Qt.LeftButton)
    qtbot.mouseRelease(button(panel, "Arm"), qt.Qt.LeftButton)

    qtbot.waitUntil(lambda: file.number.value() == 2, timeout=DEADLINE)  # it has ended, and counts up
    assert [path.name for path in station.root.glob("*.h5")] == ["ceo2_0001.h5"]
    qtbot.waitUntil(lambda: panel.view().last is not None, timeout=DEADLINE)
    last = panel.view().last
    assert last is not None
    assert (last.complete, last.planned) == (True, 20)
    qtbot.waitUntil(lambda: panel.live.drawn() > 0, timeout=DEADLINE)


def test_names_and_metadata_of_any_script_reach_the_file(
    qtbot: Any, station: Station, panel: DetectorPanel
) -> None:
    file, page = panel.settings.file, panel.settings.metadata
    assert file is not None and page is not None
    station.set(Metadata='{"beamline": "P09", "sample": {"temperature": 295}}')
    qtbot.waitUntil(lambda: len(page.rows) == 2, timeout=DEADLINE)
    qtbot.waitUntil(lambda: file.folder.text() == str(station.root), timeout=DEADLINE)
    enters(file.template, "größe_####")
    enters(page.fields["Sample"], "样品 π")
    enters(page.fields["Title"], "Größe")
    qtbot.waitUntil(lambda: "Metadata" in panel.view().edits, timeout=DEADLINE)
    button(panel, "Arm").click()
    qtbot.waitUntil(lambda: file.number.value() == 2, timeout=DEADLINE)
    with h5py.File(station.root / "größe_0001.h5") as written:
        entry = written["entry"]
        assert entry["sample/name"].asstr()[()] == "样品 π"
        assert entry["title"].asstr()[()] == "Größe"
        assert entry["sample/temperature"][()] == 295
        assert entry["instrument/name"].asstr()[()] == "P09"
    qtbot.waitUntil(lambda: "/größe_0001.h5" in panel.banner.text(), timeout=DEADLINE)
    assert not any("\\x" in entry.text for entry in panel.model.log.since())


def test_triggers_come_from_the_button_and_stop_ends_the_series(
    qtbot: Any, station: Station, panel: DetectorPanel
) -> None:
    panel.model.set("TriggerMode", "SOFTWARE")
    panel.model.set("nTriggers", "5")
    qtbot.waitUntil(lambda: panel.view().plan.frames == 5 and not panel.view().edits, timeout=DEADLINE)
    button(panel, "Arm").click()
    qtbot.waitUntil(lambda: button(panel, "SoftwareTrigger").isEnabled(), timeout=DEADLINE)
    assert button(panel, "SoftwareTrigger").property("primary")
    button(panel, "SoftwareTrigger").click()
    qtbot.waitUntil(lambda: panel.view().account.acquired == 1, timeout=DEADLINE)
    button(panel, "Stop").click()
    qtbot.waitUntil(lambda: panel.banner.title() == "ON", timeout=DEADLINE)
    assert panel.actions_bar.question() is None


def test_a_name_that_is_taken_is_refused_before_arm_and_the_next_one_is_found(
    qtbot: Any, station: Station, panel: DetectorPanel
) -> None:
    for number in (1, 2, 3):
        (station.root / f"taken_{number:04d}.h5").touch()
    file = panel.settings.file
    assert file is not None
    station.set(DestinationFilename=str(station.root / "taken_0001.h5"))
    qtbot.waitUntil(file.next_free.isEnabled, timeout=DEADLINE)
    assert "Arm would be refused" in panel.actions_bar.says()
    file.next_free.click()
    qtbot.waitUntil(lambda: file.number.value() == 4 and file.says().startswith("New"), timeout=DEADLINE)
    assert Path(station.detector.DestinationFilename).name == "taken_0004.h5"


def test_the_command_takes_a_picture_of_the_window(qtbot: Any, station: Station, tmp_path: Path) -> None:
    picture = tmp_path / "panel.png"
    name = f"tango://{station.beamline.tango_host}/sim/det/1"
    assert main(["panel", name, "--screenshot", str(picture), "--size", "1280x800", "--theme", "light"]) == 0
    image = qt.QImage(str(picture))
    assert (image.width(), image.height()) == (1280, 800)


def test_the_picture_of_the_window_waits_until_the_last_frame_is_drawn(
    qtbot: Any, station: Station, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a receiver with a frame that takes long to be drawn; then it is on the screenshot."""
    station.software_series(2)
    station.trigger()
    station.trigger()
    wait_state(station.detector, tango.DevState.ON)
    draw, grab, on_show = ImagePlot.show_frame, Window.grab, []

    def draw_late(plot: ImagePlot, frame: LastFrame) -> None:
        qt.QTimer.singleShot(1500, lambda: draw(plot, frame))

    def note_and_grab(window: Window) -> Any:
        on_show.extend(shown.live.frame_on_show() for shown in window.panels())
        return grab(window)

    monkeypatch.setattr(ImagePlot, "show_frame", draw_late)
    monkeypatch.setattr(Window, "grab", note_and_grab)
    name = f"tango://{station.beamline.tango_host}/sim/det/1"

    assert main(["panel", name, "--screenshot", str(tmp_path / "panel.png")]) == 0

    assert [frame.frame for frame in on_show] == [1]


def test_a_picture_of_a_detector_that_is_not_there_is_given_up_with_the_reason(
    qtbot: Any, station: Station, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"tango://{station.beamline.tango_host}/no/such/one"
    picture = tmp_path / "panel.png"
    assert main(["panel", name, "--screenshot", str(picture), "--deadline", "2.5"]) == 2
    said = capsys.readouterr().err
    assert "waits for" in said
    assert "knows no device no/such/one" in said
    assert not picture.exists()


def test_a_folder_of_the_receiver_is_chosen(qtbot: Any, station: Station, panel: DetectorPanel) -> None:
    (station.root / "visitors" / "2025").mkdir(parents=True, exist_ok=True)
    file = panel.settings.file
    assert file is not None
    qtbot.waitUntil(lambda: file.folder.text() == str(station.root), timeout=DEADLINE)
    file.browse.click()
    dialog = file.findChild(FolderDialog)
    qtbot.waitUntil(lambda: dialog.list.count() > 0, timeout=DEADLINE)
    assert [dialog.list.item(row).text() for row in range(dialog.list.count())] == ["visitors"]
    qtbot.keyClick(dialog.list, qt.Qt.Key_Return)
    qtbot.waitUntil(lambda: dialog.list.count() == 2, timeout=DEADLINE)
    qtbot.keyClicks(dialog.new, "today")
    dialog.use.click()
    qtbot.waitUntil(lambda: file.findChild(FolderDialog) is None, timeout=DEADLINE)
    chosen = str(station.root / "visitors" / "today")
    qtbot.waitUntil(lambda: file.folder.text() == chosen, timeout=DEADLINE)
    qtbot.keyClicks(file.template, "a_####")
    qtbot.keyClick(file.template, qt.Qt.Key_Return)
    wanted = f"{chosen}/a_0001.h5"
    qtbot.waitUntil(lambda: station.detector.DestinationFilename == wanted, timeout=DEADLINE)


def test_a_folder_that_does_not_exist_is_said_and_asked_about_before_arm_has_it_created(
    qtbot: Any, station: Station, panel: DetectorPanel
) -> None:
    (station.root / "visitors").mkdir(exist_ok=True)
    file = panel.settings.file
    assert file is not None
    qtbot.waitUntil(lambda: file.folder.text() == str(station.root), timeout=DEADLINE)
    qtbot.keyClicks(file.template, "a_####")
    file.folder.selectAll()
    qtbot.keyClicks(file.folder, f"{station.root}/visitors/2052/raw")
    said = f"▲ There is no folder 2052/raw in {station.root}/visitors. Arm asks before it is created."
    qtbot.waitUntil(lambda: file.says() == said, timeout=DEADLINE)  # while it is typed
    qtbot.keyClick(file.folder, qt.Qt.Key_Return)
    qtbot.waitUntil(lambda: not panel.view().edits and file.says() == said, timeout=DEADLINE)
    assert file.question.box() is None

    button(panel, "Arm").click()
    qtbot.waitUntil(lambda: file.question.box() is not None, timeout=DEADLINE)
    assert file.question.box().text().startswith(f"There is no folder 2052/raw in {station.root}/visitors.\n")
    qtbot.keyClick(file.question.box(), qt.Qt.Key_Return)  # the one that does nothing
    qtbot.waitUntil(
        lambda: "Arm was not called. There is no folder 2052/raw" in panel.actions_bar.notice(),
        timeout=DEADLINE,
    )
    assert not (station.root / "visitors/2052").exists()

    button(panel, "Arm").click()
    qtbot.waitUntil(lambda: file.question.box() is not None, timeout=DEADLINE)
    (create,) = [each for each in file.question.box().buttons() if "Create" in each.text()]
    create.click()
    qtbot.waitUntil(lambda: file.number.value() == 2, timeout=DEADLINE)
    assert (station.root / "visitors/2052/raw/a_0001.h5").exists()
    qtbot.waitUntil(lambda: file.says().startswith("New"), timeout=DEADLINE)


def test_a_latency_that_would_never_end_is_refused_with_its_limits(
    qtbot: Any, station: Station, panel: DetectorPanel
) -> None:
    field = panel.settings.series.fields["LatencyTime"]
    assert "Limits: 0 to 1,000,000 s." in field.editor.toolTip()
    field.editor.selectAll()
    qtbot.keyClicks(field.editor, "1e23 s")
    qtbot.keyClick(field.editor, qt.Qt.Key_Return)
    said = "▲ Latency: 1e23 s is outside its limits, 0 to 1,000,000 s"
    qtbot.waitUntil(lambda: panel.settings.says() == said, timeout=DEADLINE)
    assert station.detector.LatencyTime == 0.0


def test_the_data_root_is_asked_for_again_when_the_receiver_comes(qtbot: Any, station: Station) -> None:
    station.receiver.stop()
    with opened(qtbot, station) as panel:
        qtbot.waitUntil(lambda: panel.view().check is not None, timeout=DEADLINE)
        file = panel.settings.file
        assert file is not None
        assert file.folder.text() == ""
        station.receiver.start()
        qtbot.waitUntil(lambda: file.folder.text() == str(station.root), timeout=DEADLINE)
