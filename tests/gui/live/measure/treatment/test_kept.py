"""Mask, background, hot pixels and the limit of the warning are there again for the same detector."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from silx.gui import qt

from penstock.gui.live.measure.counts.figures_tab import ALLOWED
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.view import LiveView, Viewer
from penstock.receiver.models import Rectangle
from tests.gui.live.stand_in import StandIn

IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)
PLACE = Rectangle(x=20, y=10, width=30, height=20)
DEADLINE = 10_000
Show = Callable[..., Viewer]


@pytest.fixture
def opened(qtbot: Any, receiver: StandIn, show: Show) -> Callable[[], Viewer]:
    """Opens one more window on the detector; returns once what was kept for it is chosen."""

    def one() -> Viewer:
        viewer = show(receiver.url)
        with qtbot.waitSignal(viewer.measure.kept.restored, timeout=DEADLINE):
            pass
        if receiver.status.latest_frame is not None:
            qtbot.waitUntil(lambda: viewer.drawn() >= 1, timeout=DEADLINE)
        return viewer

    return one


def strip(qtbot: Any, viewer: LiveView, words: str) -> None:
    qtbot.waitUntil(lambda: viewer.measure.treated.whole() == words, timeout=DEADLINE)


def test_of_a_new_detector_nothing_is_missed(
    qtbot: Any, receiver: StandIn, opened: Callable[[], Viewer]
) -> None:
    receiver.frame(IMAGE, 0)
    viewer = opened()
    assert viewer.measure.treatment.says() == ""
    with qtbot.waitSignal(viewer.measure.kept.restored, timeout=DEADLINE):
        receiver.say(detector="another")
    assert viewer.measure.treatment.says() == ""


def test_what_was_chosen_is_there_again_and_said(
    qtbot: Any, receiver: StandIn, opened: Callable[[], Viewer], tmp_path: Path
) -> None:
    receiver.frame(IMAGE, 0, saturation=4780)
    np.save(tmp_path / "dark.npy", np.full(IMAGE.shape, 2.5))
    viewer = opened()
    tab = viewer.measure.treatment
    viewer.measure.figures.allowed.setValue(20)
    viewer.measure.rectangle.set_place(PLACE)
    tab.load_background(tmp_path / "dark.npy")
    tab.threshold.setValue(4700)
    tab.hot.setChecked(True)
    said = "Minus background dark.npy, pixels above 4,700 left out"
    strip(qtbot, viewer, said)
    tab.button("mask rectangle").click()
    viewer.close()  # at once: what is drawn last is kept, too

    again = opened()
    strip(qtbot, again, f"{said}, 600 pixels masked here")
    mask = again.measure.treatment.treatment().mask
    assert mask is not None and mask[10:30, 20:50].all() and mask.sum() == 600
    assert again.measure.figures.allowed.value() == 20
    qtbot.waitUntil(lambda: again.plot.pixel_at(3.5, 2.5).value == IMAGE[2, 3] - 2.5, timeout=DEADLINE)
    again.measure.treatment.button("no mask").click()
    again.close()

    compact = LiveView(compact=True)
    qtbot.addWidget(compact)
    compact.set_receiver(receiver.url)
    compact.start()
    strip(qtbot, compact, said)
    compact.stop()


def test_a_mask_and_a_background_of_another_size_are_kept_not_applied_and_it_is_said(
    qtbot: Any, receiver: StandIn, opened: Callable[[], Viewer]
) -> None:
    receiver.frame(IMAGE, 0)
    viewer = opened()
    viewer.measure.rectangle.set_place(PLACE)
    viewer.measure.treatment.button("mask rectangle").click()
    viewer.measure.treatment.button("take what is shown").click()
    strip(qtbot, viewer, "Minus background of frame 0, 600 pixels masked here")
    viewer.close()

    receiver.frame(IMAGE[:30, :40], 1)
    again = opened()
    images = "mask of 60 × 80 pixels and the background of 60 × 80 pixels"
    said = f"▲ The {images} are not applied: the frame has 30 × 40"
    strip(qtbot, again, said)
    assert again.plot.pixel_at(20.5, 12.5).value == IMAGE[12, 20], "the frame is as it was received"
    receiver.frame(IMAGE, 2)
    strip(qtbot, again, "Minus background of frame 0, 600 pixels masked here")


def test_another_detector_has_its_own(qtbot: Any, receiver: StandIn, opened: Callable[[], Viewer]) -> None:
    receiver.frame(IMAGE, 0)
    viewer = opened()
    viewer.measure.rectangle.set_place(PLACE)
    viewer.measure.treatment.button("mask rectangle").click()
    viewer.measure.figures.allowed.setValue(3)
    viewer.measure.treatment.hot.setChecked(True)
    strip(qtbot, viewer, "Pixels above 100,000 left out, 600 pixels masked here")

    receiver.say(detector="another")

    strip(qtbot, viewer, "")
    assert viewer.measure.figures.allowed.value() == ALLOWED
    receiver.say(detector="sim-1")
    strip(qtbot, viewer, "Pixels above 100,000 left out, 600 pixels masked here")
    assert viewer.measure.figures.allowed.value() == 3


def test_what_was_kept_and_is_damaged_is_said_and_the_rest_is_chosen(
    qtbot: Any, receiver: StandIn, opened: Callable[[], Viewer]
) -> None:
    receiver.frame(IMAGE, 0)
    viewer = opened()
    viewer.measure.figures.allowed.setValue(3)
    viewer.close()
    folder = Path(qt.QSettings("Penstock", "view").fileName()).with_suffix("") / "sim-1"
    folder.mkdir(parents=True)
    (folder / "mask.npy").write_bytes(b"no array")
    again = opened()
    assert again.measure.treatment.says().startswith("▲ The mask kept for this detector cannot be read (")
    assert again.measure.figures.allowed.value() == 3
    assert not again.measure.treated.isVisible()


def test_what_cannot_be_kept_is_said(qtbot: Any, receiver: StandIn, opened: Callable[[], Viewer]) -> None:
    receiver.frame(IMAGE, 0)
    viewer = opened()
    folder = Path(qt.QSettings("Penstock", "view").fileName()).with_suffix("")
    folder.write_text("a file where the folder should be")
    viewer.measure.rectangle.set_place(PLACE)
    viewer.measure.treatment.button("mask rectangle").click()
    tab = viewer.measure.treatment
    qtbot.waitUntil(lambda: tab.says().startswith("▲ Mask or background is not kept"), timeout=DEADLINE)
    strip(qtbot, viewer, "600 pixels masked here")


def test_a_file_of_others_whose_images_have_the_same_name_is_not_masked_as_the_last_one_was(
    qtbot: Any, show: Show, tmp_path: Path
) -> None:
    for name in ("a.h5", "b.h5"):
        with h5py.File(tmp_path / name, "w") as file:
            file["data"] = np.stack([IMAGE, IMAGE])
    np.save(tmp_path / "mask.npy", np.ones(IMAGE.shape, np.uint8))
    for name in ("a.h5", "b.h5"):
        viewer = show("", sources=(FileSource(tmp_path / name),))
        qtbot.waitUntil(lambda viewer=viewer: viewer.drawn() >= 1, timeout=DEADLINE)
        strip(qtbot, viewer, "")
        viewer.measure.treatment.load_mask(tmp_path / "mask.npy")
        strip(qtbot, viewer, "4,800 pixels masked here")
        viewer.close()
