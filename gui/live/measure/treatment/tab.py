"""What is done to frames before they are drawn and measured: last frames, background, mask, hot pixels.

A strip above the picture says what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt
from silx.gui.plot.items.roi import PolygonROI
from silx.image.shapes import polygon_fill_mask

from penstock.gui import theme
from penstock.gui.labels import ElidedLabel
from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.live.drawing.whole import Whole
from penstock.gui.live.measure.facts import Facts
from penstock.gui.live.measure.parts import Sentence
from penstock.gui.live.measure.shapes import OneShape, RectangleTool
from penstock.gui.live.measure.treatment import image_io
from penstock.gui.live.measure.treatment.treatment import MOST_FRAMES, Combine, Stack, Treated, Treatment
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.live.threads import Worker
from penstock.gui.number_fields import choice_box, number_box
from penstock.receiver.validity.pixels import Flag

NO_FRAME = "There is no whole image on show: set Transfer to all pixels."
NO_RECTANGLE = "Draw a rectangle first (B): its pixels are masked."
NO_MASK = "The series has no mask."
CORNERS = "Click the corners in the picture; a double click on the last one ends it."
MOST_COUNT = 1e15
HOT = 100_000.0
"""Counts above which a pixel is left out, at first."""
COLOUR = "#ff6b6b"


class TreatmentTab(qt.QWidget):
    """Chooses a `Treatment` for the plot.

    Args:
        plot: plot whose frames are treated.
        rectangle: whose pixels are masked.
        facts: for the mask of the series.
        worker: where files are read and written.
    """

    changed = qt.Signal()
    """`treatment` is another."""

    def __init__(
        self, plot: ImagePlot, rectangle: RectangleTool, facts: Facts, worker: Worker,
        parent: qt.QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._plot, self._rectangle, self._facts, self._worker = plot, rectangle, facts, worker
        self._do = Treatment()
        tip = "What is drawn and measured: of the frames that this window has shown"
        self.combine = choice_box([each.value for each in Combine], tip, self)
        self.frames = number_box(
            self, "Frames that are combined", 2, MOST_FRAMES, value=self._do.frames, suffix=" frames shown"
        )
        self.hot = qt.QCheckBox("Leave out pixels above", self)
        self.threshold = number_box(
            self, "Count of hot pixels", 0, MOST_COUNT, value=HOT, decimals=0, grouped=True
        )
        self.polygon = OneShape(plot, PolygonROI, "mask", COLOUR, self)
        self._says = Sentence(self)
        self._buttons: dict[str, qt.QPushButton] = {}
        self._lay_out()
        self.combine.currentTextChanged.connect(lambda text: self._set(combine=Combine(text), stack=Stack()))
        self.frames.valueChanged.connect(lambda count: self._set(frames=count))
        self.hot.toggled.connect(lambda _: self._set_hot())
        self.threshold.valueChanged.connect(lambda _: self._set_hot())
        self.polygon.changed.connect(self._mask_polygon)
        worker.done.connect(self._take, qt.Qt.QueuedConnection)
        worker.failed.connect(self._fail, qt.Qt.QueuedConnection)
        self.say("")

    def treatment(self) -> Treatment:
        """Return what is chosen."""
        return self._do

    def button(self, name: str) -> qt.QPushButton:
        """Return a button by what it does, such as "mask rectangle"."""
        return self._buttons[name]

    def says(self) -> str:
        """Return the sentence below."""
        return str(self._says.text())

    def say(self, sentence: str, *, trouble: bool = False) -> None:
        """Put a sentence below."""
        self._says.say(sentence, trouble=trouble)

    def text(self) -> str:
        """Return what is done to the frame on show; "" if nothing is."""
        whole = self._plot.whole()
        if self._do.is_nothing or whole is None:
            return ""
        if whole.is_reduced or whole.has_colours:
            return (
                "▲ Frames in blocks, and colours, are shown as they are: nothing is averaged, subtracted, "
                "masked"
            )
        applied = self._do.fitting(whole.frame)
        done = applied.sentence(whole.combined if isinstance(whole, Treated) else None)
        return ". ".join(part for part in (self._do.misfit(whole.frame), done) if part)

    # -- what the user does ----------------------------------------------------------------------

    def choose_hot(self, threshold: float, on: bool) -> None:
        """Leave out pixels above this count, or none."""
        self.threshold.setValue(threshold)
        self.hot.setChecked(on)

    def choose_images(self, images: Mapping[str, npt.NDArray[Any] | None], background_name: str) -> None:
        """Take these as `mask` and `background`; one that is not there stays as it is."""
        if "background" in images:
            images = {**images, "background_name": background_name}  # type: ignore[dict-item]
        if images:
            self._set(**images)

    def load_mask(self, path: Path) -> None:
        """Take the mask in a file, of a file of frames its own: pixels that are not 0 are left out."""
        self._worker.ask("load mask", lambda: (path, image_io.load_mask(path)))

    def load_background(self, path: Path) -> None:
        """Take the image in a file as background, of a file of frames the first one that is stored whole."""
        self._worker.ask("load background", lambda: (path, image_io.load_background(path)))

    def save_mask(self, path: Path) -> None:
        """Write the mask into a file."""
        self._save(path, self._do.mask, "There is no mask yet: draw or load one.")

    def save_background(self, path: Path) -> None:
        """Write the background into a file."""
        self._save(path, self._do.background, "There is no background yet: take or load one.")

    def _save(self, path: Path, image: npt.NDArray[Any] | None, nothing: str) -> None:
        if image is None:
            self.say(nothing, trouble=True)
            return

        def write() -> Path:
            image_io.save(path, image)
            return path

        self._worker.ask("save", write)

    def _mask_rectangle(self, on: bool) -> None:
        whole, place = self._whole(), self._rectangle.place()
        if whole is None or place is None:
            self.say(NO_RECTANGLE if place is None else NO_FRAME, trouble=True)
            return
        size = whole.frame.array.shape[-2:]
        before = self._do.mask
        mask = before.copy() if before is not None and before.shape == size else np.zeros(size, np.bool_)
        top = place.y % size[0]
        mask[top : top + place.height, place.x : place.x + place.width] = on
        self._set(mask=mask if mask.any() else None)

    def _draw_polygon(self) -> None:
        self.polygon.draw(True)
        self.say(CORNERS)

    def _mask_polygon(self) -> None:
        """Mask what was drawn, and take the shape away."""
        shape, whole = self.polygon.shape(), self._whole()
        if shape is None:
            return
        corners = np.asarray(shape.getPoints(), np.float64)
        self.polygon.remove()
        if whole is None:
            self.say(NO_FRAME, trouble=True)
            return
        rows, columns = whole.frame.array.shape[-2:]
        corners[:, 1] -= corners[:, 1].min() // rows * rows  # of several images, the one it was drawn in
        # silx' pixels have their numbers in the middle.
        inside = polygon_fill_mask(corners[:, ::-1] - 0.5, (rows, columns)) != 0
        before = self._do.mask
        fits = before is not None and before.shape == inside.shape
        mask = before | inside if before is not None and fits else inside
        self._set(mask=mask if mask.any() else None)

    def _mask_of_series(self) -> None:
        whole = self._whole()
        found = None if whole is None else self._facts.mask(whole.shape)
        if whole is None or found is None:
            self.say(NO_FRAME if whole is None else NO_MASK, trouble=True)
            return
        self._set(mask=np.asarray(found[: whole.frame.array.shape[-2]] != 0))

    def _take_background(self) -> None:
        whole = self._whole()
        if whole is None:
            self.say(NO_FRAME, trouble=True)
            return
        do = replace(self._do, background=None, mask=None, hot=None)
        alone, rows = do.whole(whole.frame, whole.bad), whole.frame.array.shape[-2]

        def made() -> tuple[str, npt.NDArray[Any]]:
            image, none = np.array(alone.image[:rows]), alone.flags[:rows] == Flag.INVALID
            return f"of frame {whole.frame.frame:,}", np.where(none, np.nan, image) if none.any() else image

        self._worker.ask("background", made)

    def _set_hot(self) -> None:
        self._set(hot=self.threshold.value() if self.hot.isChecked() else None)

    def _set(self, **changes: Any) -> None:
        self._do = replace(self._do, **changes)
        self.frames.setEnabled(self._do.combine is not Combine.NOTHING)
        self.say("")
        self.changed.emit()

    def _whole(self) -> Whole | None:
        whole = self._plot.whole()
        return None if whole is None or whole.is_reduced or whole.has_colours else whole

    def _take(self, name: str, found: Any) -> None:
        if name == "load mask":
            path, mask = found
            self._set(mask=mask)
            whole = self._whole()
            if whole is not None and mask.shape != whole.shape:
                sizes = (" × ".join(map(str, shape)) for shape in (mask.shape, whole.shape))
                self.say(
                    "Mask {} has {} pixels, the frame {}: it is not applied.".format(path.name, *sizes),
                    trouble=True,
                )
            else:
                self.say(f"Mask {path.name}: {np.count_nonzero(mask):,} pixels are left out.")
        elif name == "load background":
            path, image = found
            self._set(background=image, background_name=path.name)
        elif name == "background":
            words, image = found
            self._set(background=image, background_name=words)
        elif name == "save":
            self.say(f"Saved as {found}")

    def _fail(self, name: str, error: Exception) -> None:
        if name in ("load mask", "load background", "background", "save"):
            self.say(f"Not done: {error}", trouble=True)

    def _open(self, what: str, then: Callable[[Path], None]) -> None:
        name, _ = qt.QFileDialog.getOpenFileName(self, what, "", image_io.PATTERN)
        if name:
            then(Path(name))

    def _write(self, what: str, then: Callable[[Path], None]) -> None:
        name, _ = qt.QFileDialog.getSaveFileName(self, what, "", image_io.SAVED)
        if name:
            then(Path(name))

    # -- layout ----------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.frames.setEnabled(False)
        lines = [
            _row("Frames", [self.combine, self.frames], self),
            _row("Hot pixels", [self.hot, self.threshold], self),
        ]
        mask: dict[str, Callable[[], None]] = {
            "mask rectangle": lambda: self._mask_rectangle(True),
            "unmask rectangle": lambda: self._mask_rectangle(False),
            "mask polygon": self._draw_polygon,
            "mask of the series": self._mask_of_series,
            "load mask": lambda: self._open("Load a mask", self.load_mask),
            "save mask": lambda: self._write("Save the mask", self.save_mask),
            "no mask": partial(self._set, mask=None),
        }
        background: dict[str, Callable[[], None]] = {
            "take what is shown": self._take_background,
            "load background": lambda: self._open("Load a background", self.load_background),
            "save background": lambda: self._write("Save the background", self.save_background),
            "no background": partial(self._set, background=None, background_name=""),
        }
        for heading, does in (("Mask", mask), ("Background", background)):
            buttons: list[qt.QWidget] = []
            for name, call in does.items():
                button = self._buttons[name] = qt.QPushButton(_label(name, heading), self)
                button.setAccessibleName(name)
                button.clicked.connect(lambda _checked=False, call=call: call())
                buttons.append(button)
            lines.append(_row(heading, buttons, self))
        in_column(*lines, self._says, STRETCH, of=self, margins=(12, 8, 12, 6), spacing=8)


def _label(name: str, heading: str) -> str:
    short = name.removesuffix(f" {heading.lower()}")
    return {"no": "None", "mask of the series": "The series'"}.get(short, short[:1].upper() + short[1:])


def _row(name: str, widgets: list[qt.QWidget], parent: qt.QWidget) -> qt.QHBoxLayout:
    label = qt.QLabel(name, parent)
    label.setStyleSheet(f"color: {theme.current().muted};")
    label.setFixedWidth(84)
    return in_row(label, *widgets, STRETCH, spacing=8)


class TreatmentStrip(ElidedLabel):
    """Seen only while the picture is not the frame as it was received."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        colours = theme.current()
        self.setStyleSheet(
            f"background: {colours.panel}; color: {colours.text}; border-left: 4px solid {colours.accent};"
            " padding: 3px 10px; font-weight: 600;"
        )
        self.hide()

    def show_text(self, text: str) -> None:
        """Say it; hide if there is nothing to say."""
        self.set_whole(text)
        self.setVisible(bool(text))
