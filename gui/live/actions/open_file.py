"""Open a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme

FILTERS = (
    "Frames (*.h5 *.hdf5 *.nxs *.cxi *.cbf *.tif *.tiff *.edf)",
    "All files (*)",
)


class OpenFile(qt.QAction):
    """Asks for files, and hands each of them over.

    Args:
        opens: is called with the path of each.
        here: path of the file on show; "" for none. The dialog begins in its folder.
    """

    def __init__(self, opens: Callable[[str], None], here: Callable[[], str], parent: qt.QWidget) -> None:
        super().__init__("Open", parent)
        self.setToolTip(
            "Open a file of frames: HDF5 (series, scan, NXdata, DECTRIS), CBF, TIFF, EDF (Ctrl+O)"
        )
        self.setShortcut(qt.QKeySequence.Open)
        self.setIcon(qtawesome.icon("fa5s.folder-open", color=theme.current().text))
        self._opens, self._here = opens, here
        self.triggered.connect(self._ask)

    def _ask(self) -> None:
        here = self._here()
        folder = str(Path(here).parent if here else Path.cwd())
        paths, _ = qt.QFileDialog.getOpenFileNames(self.parent(), "Open", folder, ";;".join(FILTERS))
        for path in paths:
            self._opens(path)


def dropped_files(data: qt.QMimeData) -> list[str]:
    """Return the paths of the files that are dragged."""
    return [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
