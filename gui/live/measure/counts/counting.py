"""Has the frame on show, and the rectangle in it, counted beside the window."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt

from penstock.gui.live.drawing.pixels import as_numbers, is_partial, not_sent, rule_of
from penstock.gui.live.drawing.whole import Whole
from penstock.gui.live.measure.counts.counts import Counted, Figures, Saturated, moved
from penstock.gui.live.measure.facts import Facts, Informed
from penstock.gui.live.measure.shapes import RectangleTool
from penstock.gui.live.sources.source import Source
from penstock.gui.live.threads import Worker
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Rectangle
from penstock.receiver.validity.pixels import Flag

BLOCKS = "Transferred in blocks: of these no number is made. Of the rectangle, all pixels are fetched."
COLOURS = "Colours are not counted."
MASKED = "Pixels that have a value and are 0 in the series' mask count, as in the receiver's regions."
UNMASKED = "The series has no mask: every pixel that has a value counts."
LOOKING = "Asking for the series' mask."


def counted(whole: Whole, mask: npt.NDArray[Any] | None) -> Counted:
    """Return a frame, and which of its pixels count.

    Args:
        whole: the frame, not reduced.
        mask: mask of the series; `None` if there is none.
    """
    rule, partial = rule_of(whole.frame), is_partial(whole.frame)
    return Counted(whole.image, rule, partial, mask, whole.left_out, whole.raw)


class Counting(qt.QObject):
    """Counts each frame shown: its saturated pixels always, everything else while somebody looks.

    Args:
        rectangle: the rectangle's tool.
        facts: what is known of the series.
        worker: where it is computed.
        asker: where pixels are asked for that the window does not hold.
    """

    saturated = qt.Signal(object)
    """`Saturated` pixels of the frame on show."""
    frame_counted = qt.Signal(object, object)
    """`LastFrame`, and its `Figures`; `None` twice: there are none."""
    rectangle_counted = qt.Signal(object, object)
    """`LastFrame` of which the rectangle was taken, and its `Figures`; `None` twice: there are none."""
    says = qt.Signal(str, bool)
    """Sentence about the pixels that count; true: there are no figures, and why."""

    def __init__(
        self, rectangle: RectangleTool, facts: Facts, worker: Worker, asker: Worker,
        parent: qt.QObject | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._rectangle, self._facts = rectangle, facts
        self._worker, self._asker = worker, asker
        self._whole: Whole | None = None
        self._source: Source | None = None
        self._channel: str | None = None
        self._looked_at = self._all_frames = False
        worker.done.connect(self._take, qt.Qt.QueuedConnection)
        asker.done.connect(self._take, qt.Qt.QueuedConnection)
        asker.failed.connect(self._fail, qt.Qt.QueuedConnection)
        rectangle.changed.connect(self._count_rectangle)
        facts.changed.connect(self.count)

    def show_whole(self, whole: Whole | None, source: Source | None, channel: str | None) -> None:
        """Count this frame; `None`: there is no image.

        Args:
            whole: the frame on show.
            source: where it is from.
            channel: the only image of the frame that was asked for.
        """
        self._whole, self._source, self._channel = whole, source, channel
        self.count()

    def look(self, looked_at: bool, *, all_frames: bool = False) -> None:
        """Set whether somebody looks at the figures.

        Args:
            looked_at: both the frame's and the rectangle's are wanted.
            all_frames: the frame's are wanted in any case.
        """
        self._looked_at, self._all_frames = looked_at, all_frames
        if looked_at or all_frames:
            self.count()

    def count(self) -> None:
        """Count the frame on show."""
        whole = self._whole
        if whole is None:
            self._show_nothing()
            return
        mask = self._facts.mask(whole.shape)
        if whole.is_reduced and not whole.has_colours:
            self.frame_counted.emit(None, None)
            self._worker.ask("frame", lambda: (whole, None, _in_blocks(whole)))
        elif not whole.has_colours:
            looked_at = self._looked_at or self._all_frames
            self._worker.ask("frame", lambda: _frame(whole, mask, looked_at))
        else:
            self._show_nothing()
        self._say(whole, mask)
        self._count_rectangle()

    def _show_nothing(self) -> None:
        self._worker.forget("frame")
        self.saturated.emit(Saturated(0, False))
        self.frame_counted.emit(None, None)
        if self._whole is None:
            self.rectangle_counted.emit(None, None)

    def _say(self, whole: Whole, mask: npt.NDArray[Any] | None) -> None:
        if whole.has_colours:
            self.says.emit(COLOURS, True)
        elif whole.is_reduced:
            self.says.emit(BLOCKS, True)
        elif mask is not None:
            self.says.emit(MASKED, False)
        elif self._facts.has_looked_for_mask() or not isinstance(self._source, Informed):
            self.says.emit(UNMASKED, False)
        else:
            self.says.emit(self._facts.why("mask") or LOOKING, bool(self._facts.why("mask")))

    def _count_rectangle(self) -> None:
        whole, place = self._whole, self._rectangle.place()
        if whole is None or place is None or whole.has_colours or not self._looked_at:
            self._worker.forget("rectangle")
            self.rectangle_counted.emit(None, None)
            return
        if not whole.is_reduced:
            mask = self._facts.mask(whole.shape)
            self._worker.ask("rectangle", lambda: (whole.frame, counted(whole, mask).of(place), place))
            return
        source, channel = self._source, self._channel
        if isinstance(source, Informed):
            extent = self._rectangle.image_extent()
            full = None if extent is None else self._facts.mask((extent[1], extent[0]))
            frame = whole.frame
            self._asker.ask("rectangle", lambda: _fetched(source, frame, place, channel, full))

    def _take(self, name: str, found: Any) -> None:
        whole = self._whole
        if name == "frame" and whole is not None and found[0] is whole:
            self.saturated.emit(found[2])
            if found[1] is not None:
                self.frame_counted.emit(whole.frame, found[1])
        if name == "rectangle" and found[2] == self._rectangle.place():
            self.rectangle_counted.emit(found[0], found[1])

    def _fail(self, name: str, error: Exception) -> None:
        if name == "rectangle":
            self.says.emit(f"The rectangle's pixels cannot be fetched: {error}", True)


def _frame(
    whole: Whole, mask: npt.NDArray[Any] | None, looked_at: bool
) -> tuple[Whole, Figures | None, Saturated]:
    figures = counted(whole, mask).of() if looked_at else None
    count = counted(whole, mask).saturated() if figures is None else figures.saturated
    return whole, figures, Saturated(count, count > 0)


def _in_blocks(whole: Whole) -> Saturated:
    """Return whether a block has a saturated pixel, which is all that is known of them."""
    return Saturated(None, bool((whole.flags == Flag.SATURATED).any()))


def _fetched(
    source: Informed, frame: LastFrame, place: Rectangle, channel: str | None,
    mask: npt.NDArray[Any] | None,
) -> tuple[LastFrame, Figures, Rectangle]:  # fmt: skip
    """Return the figures of pixels that the window does not hold, and of which frame they are."""
    found = source.rectangle(frame, place, channel)
    pixels = as_numbers(found.array)
    pixels = pixels if pixels.ndim == 2 else np.asarray(pixels[0])
    rows, columns = pixels.shape
    here = None if mask is None else mask[place.y : place.y + rows, place.x : place.x + columns]
    counts = Counted(pixels, rule_of(found), is_partial(found), here, not_sent(found, (rows, columns)))
    return found, moved(counts.of(), place.x, place.y), place
