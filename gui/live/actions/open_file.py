"""Open a file, read again what others may have written meanwhile, and choose which of its images to see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from silx.gui import qt

from penstock.gui.live.actions.tool_line import Tool

FILTERS = (
    "Frames (*.h5 *.hdf5 *.nxs *.cxi *.cbf *.tif *.tiff *.edf)",
    "All files (*)",
)


class OpenFile(Tool):
    """Asks for files, and hands each of them over.

    Args:
        opens: is called with the path of each.
        here: path of the file on show; "" for none. The dialog begins in its folder.
    """

    def __init__(self, opens: Callable[[str], None], here: Callable[[], str], parent: qt.QWidget) -> None:
        tip = "Open a file of frames: HDF5 (series, scan, NXdata, DECTRIS), CBF, TIFF, EDF (Ctrl+O)"
        super().__init__("Open", "fa5s.folder-open", tip, parent, qt.QKeySequence.Open)
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


def reload_file(reload: Callable[[], None], parent: qt.QWidget) -> Tool:
    """Return the tool that reads the file on show again; the frame on show stays the same.

    Args:
        reload: does it.
        parent: widget to which it belongs.
    """
    tip = "Read the file again; one that Penstock is writing is followed by itself (F5)"
    tool = Tool("Reload", "fa5s.sync-alt", tip, parent, qt.QKeySequence.Refresh)
    tool.triggered.connect(lambda _=False: reload())
    return tool


IMAGES_WIDTH = 220
"""Pixels at most."""


class ImagesChoice(qt.QComboBox):
    """Names of what a file has, by the path in it.

    Args:
        choose: is called with the name that the user has chosen.
    """

    def __init__(self, choose: Callable[[str], None], parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setToolTip("Which images of the file to show, by their path in it")
        self.setMaximumWidth(IMAGES_WIDTH)
        self.setFocusPolicy(qt.Qt.TabFocus)
        self.currentTextChanged.connect(lambda name: choose(name) if name else None)

    def show_choices(self, names: Sequence[str], chosen: str) -> None:
        """Offer these."""
        with qt.QSignalBlocker(self):
            if list(names) != [self.itemText(place) for place in range(self.count())]:
                self.clear()
                self.addItems(list(names))
            self.setCurrentText(chosen)
