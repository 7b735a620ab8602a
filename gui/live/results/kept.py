"""What is chosen in the view of a pipeline is kept, and chosen again the next time that it is seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from silx.gui import qt

from penstock.gui.live.look import Look
from penstock.gui.live.memory import Memory


class Kept(qt.QObject):
    """Restores once the pipeline is known, and keeps each change from then on.

    Args:
        memory: where it is kept; `None`: nowhere.
        look: of images.
        tools: actions that can be checked, by the name under which that is kept.
        size: returns the size that is kept; `None`: none.
    """

    restored = qt.Signal(object)
    """What was kept for this pipeline is chosen now; its size, a `qt.QSize`, or `None` if there is none."""

    def __init__(
        self,
        memory: Memory | None,
        look: Look,
        tools: Mapping[str, qt.QAction],
        size: Callable[[], qt.QSize | None],
        parent: qt.QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._memory, self._look, self._tools, self._size = memory, look, tools, size
        look.changed.connect(self._keep)
        for action in tools.values():
            action.toggled.connect(self._keep)

    def show_pipeline(self, pipeline: str) -> None:
        """Choose what was kept for this pipeline, unless it is chosen; "": it is not known yet."""
        if self._memory is None or not pipeline or pipeline == self._memory.detector:
            return
        memory, self._memory = self._memory, None  # nothing is kept while it restores
        first = not memory.detector
        memory.begin(pipeline)
        size = memory.restore(self._look, self._tools, first=first)
        self._memory = memory
        self.restored.emit(size)

    def _keep(self, *_: object) -> None:
        if self._memory is not None:
            self._memory.keep(self._look, self._tools, self._size())
