"""What a view is like for each detector, or for a pipeline, kept from one time to the next."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from silx.gui import qt

from penstock.gui.live.drawing.blocks import Reduction
from penstock.gui.live.drawing.levels import Percentiles, Scale
from penstock.gui.live.plot.look import COLOUR_MAPS, Look
from penstock.gui.live.sources.follower import Snapshot


def foreign_images(snapshot: Snapshot) -> str:
    """Return which images of a file are on show that Penstock has not written, else "": what others call
    "data" is not always of one detector."""
    series = snapshot.status.series if snapshot.status is not None else None
    if not snapshot.is_file or series is None or series.active or series.complete is not None:
        return ""
    return f"{snapshot.url}::{series.dataset}"


class Memory:
    """Keeps colour map, scale, levels and tools in the user's settings, by the detector's name.

    Args:
        form: "window" or "compact", which have tools and size of their own.
        settings: where it is kept; the file `view` of Penstock's settings by default.
    """

    def __init__(self, form: str, settings: qt.QSettings | None = None) -> None:
        self._form = form
        self._settings = settings or qt.QSettings("Penstock", "view")
        self._detector = ""
        self._file = ""

    @property
    def detector(self) -> str:
        """The detector that is remembered now; "" while none is known."""
        return self._detector

    def is_of(self, detector: str, file: str = "") -> bool:
        """Return whether this is what is remembered now; for arguments see `begin`."""
        return (detector, file) == (self._detector, self._file)

    def begin(self, detector: str, file: str = "") -> None:
        """Remember this detector from now on.

        Args:
            detector: its name.
            file: of a file whose images may be anything by that name, which images they are: levels that
                somebody has set for others are not theirs.
        """
        self._detector, self._file = detector, file

    def keep(self, look: Look, tools: Mapping[str, qt.QAction], size: qt.QSize | None) -> None:
        """Keep what is chosen now; without effect while no detector is known."""
        if not self._detector:
            return
        low, high = look.levels()
        values: dict[str, object] = {
            "colours": look.colours(), "scale": look.scale().label, "reduction": look.reduction().value,
            "mask": look.is_mask_shown(), "percentile_low": look.percentiles().low,
            "percentile_high": look.percentiles().high, "autoscale": look.is_autoscale(),
        }  # fmt: skip
        if not look.is_autoscale():  # else they are those of the frame
            values |= {"low": low, "high": high, "levels_of": self._file}
        for name, action in tools.items():
            values[f"{self._form}/{name}"] = action.isChecked()
        if size is not None:
            values[f"{self._form}/size"] = size
        self.keep_values(values)

    def keep_values(self, values: Mapping[str, object]) -> None:
        """Keep further values, by name; without effect while no detector is known."""
        if self._detector:
            for name, value in values.items():
                self._settings.setValue(self._key(name), value)

    def folder(self) -> Path:
        """Return the folder for files of this detector, which may not exist yet."""
        return Path(self._settings.fileName()).with_suffix("") / self._key("").rstrip("/")

    def restore(self, look: Look, tools: Mapping[str, qt.QAction], *, first: bool = True) -> qt.QSize | None:
        """Choose what was kept, and return the size. What was not kept, or makes no sense, stays as it is.

        But levels that were not kept follow each frame where this is not the `first` that is on show.
        """
        for scale in Scale:
            if self.text("scale") == scale.label:
                look.set_scale(scale)
        for reduction in Reduction:
            if self.text("reduction") == reduction.value:
                look.set_reduction(reduction)
        if (name := self.text("colours")) in COLOUR_MAPS:
            look.set_colours(name)
        low, high = self.number("percentile_low"), self.number("percentile_high")
        if low is not None and high is not None and 0 <= low < high <= 100:
            look.set_percentiles(Percentiles(low, high))
        look.set_mask_shown(self.flag("mask", look.is_mask_shown()))
        low, high = self.number("low"), self.number("high")
        if not self.flag("autoscale", True) and self.text("levels_of") == self._file:
            if low is not None and high is not None and low < high:
                look.set_levels(low, high)
            else:
                look.set_autoscale(False)
        elif not first:  # those of what was on show before
            look.set_autoscale(True)
        for name, action in tools.items():
            action.setChecked(self.flag(f"{self._form}/{name}", action.isChecked()))
        size = self._settings.value(self._key(f"{self._form}/size"))
        return size if isinstance(size, qt.QSize) and size.isValid() else None

    def _key(self, name: str) -> str:
        # "/" parts groups, and names of detectors may be any text.
        return f"{re.sub(r'[^0-9A-Za-z_.-]', '_', self._detector)}/{name}"

    def text(self, name: str) -> str:
        """Return a text that was kept; "" if none was."""
        return str(self._settings.value(self._key(name), ""))

    def number(self, name: str) -> float | None:
        """Return a number that was kept; `None` if none was."""
        try:
            found = float(self.text(name))
        except ValueError:
            return None
        return found if math.isfinite(found) else None

    def flag(self, name: str, otherwise: bool) -> bool:
        """Return what was kept of a choice."""
        return {"true": True, "false": False}.get(self.text(name).lower(), otherwise)


class Kept(qt.QObject):
    """Restores once it is known whose picture it is, and keeps each change from then on.

    Args:
        memory: where it is kept; `None`: nowhere.
        look: of images.
        tools: actions that can be checked, by the name under which that is kept.
        size: returns the size that is kept; `None`: none.
        resize: takes a size that was kept.
    """

    restored = qt.Signal()
    """What was kept is chosen now."""

    def __init__(
        self, memory: Memory | None, look: Look, tools: Mapping[str, qt.QAction],
        size: Callable[[], qt.QSize | None], resize: Callable[[qt.QSize], None],
        parent: qt.QObject | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._memory, self._look, self._tools = memory, look, tools
        self._size, self._resize = size, resize
        look.changed.connect(self.keep)
        for action in tools.values():
            action.toggled.connect(self.keep)

    def show(self, name: str, file: str = "") -> Memory | None:
        """Choose what was kept for a detector or pipeline, unless it is chosen; return where it was kept.

        Args:
            name: its name; "": it is not known yet.
            file: see `Memory.begin`.
        """
        if self._memory is None or not (name or file) or self._memory.is_of(name, file):
            return None
        memory, self._memory = self._memory, None  # nothing is kept while it restores
        first = memory.is_of("")
        memory.begin(name, file)
        size = memory.restore(self._look, self._tools, first=first)
        if size is not None:
            self._resize(size)
        self._memory = memory
        self.restored.emit()
        return memory

    def keep(self, *_: object) -> None:
        """Keep what is chosen now."""
        if self._memory is not None:
            self._memory.keep(self._look, self._tools, self._size())
