"""The corrections of each detector, and the limit of its warning, kept from one time to the next.

Numbers are in the user's settings; mask and background are files in a folder beside them. Whatever is applied
again is said above the picture, as if it had just been chosen.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt

from penstock.gui.live.measure.counts.figures_tab import ALLOWED, FiguresTab
from penstock.gui.live.measure.treatment import image_io
from penstock.gui.live.measure.treatment.tab import HOT, TreatmentTab
from penstock.gui.live.memory import Memory
from penstock.gui.live.threads import Worker

MASK, BACKGROUND = "mask", "background"
READ, WRITE = "read corrections", "write corrections"
"""Jobs of the worker."""

Image = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class _Found:
    """What was in a detector's folder."""

    folder: Path
    images: Mapping[str, Image]
    trouble: str


class KeptCorrections(qt.QObject):
    """Keeps what is chosen in two tabs, and chooses it again.

    Args:
        figures: with the limit of saturated pixels.
        treatment: with mask, background and hot pixels.
        worker: where files are read and written.
    """

    restored = qt.Signal()
    """All that was kept for this detector is chosen now."""

    def __init__(
        self, figures: FiguresTab, treatment: TreatmentTab, worker: Worker, parent: qt.QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._figures, self._treatment, self._worker = figures, treatment, worker
        self._memory: Memory | None = None
        self._restoring: Path | None = None
        """Folder that is being read; until then nothing is kept but what the user chooses meanwhile."""
        self._images: dict[str, Image | None] = {MASK: None, BACKGROUND: None}
        """What is in the folder, or will be once the worker comes to it."""
        self._lock = threading.Lock()
        self._unwritten: dict[Path, Image | None] = {}  # under the lock
        figures.allowed_changed.connect(self._keep)
        treatment.changed.connect(self._keep)
        worker.done.connect(self._take, qt.Qt.QueuedConnection)
        worker.failed.connect(self._fail, qt.Qt.QueuedConnection)

    def begin(self, memory: Memory) -> None:
        """Choose what was kept for the memory's detector, and keep what is chosen from now on."""
        first, self._memory = self._memory is None, None
        limit, threshold = memory.number("saturated_allowed"), memory.number("hot_above")
        do = self._treatment.treatment()
        untouched = not first or (do.mask is None and do.background is None and do.hot is None)
        if limit is not None or not first:
            self._figures.allowed.setValue(ALLOWED if limit is None else int(min(max(limit, 0), 1e9)))
        if untouched:
            self._treatment.choose_hot(HOT if threshold is None else threshold, memory.flag("hot", False))
        if not first:
            self._treatment.choose_images({MASK: None, BACKGROUND: None}, "")
        self._images = {MASK: None, BACKGROUND: None}
        self._memory = memory
        folder = self._restoring = memory.folder()
        self._worker.ask(READ, lambda: self._read(folder))
        self._keep()

    def finish(self) -> None:
        """Write what the worker has not come to; it has ended."""
        try:
            self._write()
        except OSError:
            return  # nobody is there any more to be told

    def _keep(self) -> None:
        memory, do = self._memory, self._treatment.treatment()
        if memory is None:
            return
        memory.keep_values(
            {
                "saturated_allowed": self._figures.allowed.value(),
                "hot": do.hot is not None, "hot_above": self._treatment.threshold.value(),
            }
        )  # fmt: skip
        for name, image in ((MASK, do.mask), (BACKGROUND, do.background)):
            if image is self._images[name]:
                continue
            self._images[name] = image
            if name == BACKGROUND:
                memory.keep_values({"background_name": do.background_name})
            with self._lock:
                self._unwritten[memory.folder() / f"{name}.npy"] = image
            self._worker.ask(WRITE, self._write)

    # -- in the worker's thread ------------------------------------------------------------------

    def _read(self, folder: Path) -> _Found:
        images, trouble = {}, []
        for name in (MASK, BACKGROUND):
            path = folder / f"{name}.npy"
            try:
                if not path.exists():  # nothing was kept
                    continue
                image = image_io.load(path)
            except (OSError, ValueError) as error:
                trouble.append(f"The {name} kept for this detector cannot be read ({error}): load it again.")
                continue
            images[name] = np.asarray(image != 0) if name == MASK else image
        return _Found(folder, images, " ".join(trouble))

    def _write(self) -> None:
        while True:
            with self._lock:
                if not self._unwritten:
                    return
                path, image = self._unwritten.popitem()
            if image is None:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_name(f"{path.stem}.{os.getpid()}.npy")
            try:
                image_io.save(new, image)
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)

    # -- in the window's thread ------------------------------------------------------------------

    def _take(self, name: str, found: Any) -> None:
        if name != READ or found.folder != self._restoring or self._memory is None:
            return
        self._restoring = None
        do = self._treatment.treatment()
        # What the user has chosen meanwhile stays, and has been kept already.
        now = {MASK: do.mask, BACKGROUND: do.background}
        images = {
            each: image
            for each, image in found.images.items()
            if now[each] is None and self._images[each] is None
        }
        self._images |= images
        self._treatment.choose_images(images, self._memory.text("background_name"))
        if found.trouble:
            self._treatment.say(found.trouble, trouble=True)
        self.restored.emit()

    def _fail(self, name: str, error: Exception) -> None:
        if name in (READ, WRITE):
            self._treatment.say(f"Mask or background is not kept for the next time: {error}", trouble=True)
