"""Draws silx view with a file and one of its frames, as somebody would who opens it there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import silx.gui.hdf5
from silx.app.view.Viewer import Viewer
from silx.gui import qt

DRAWN = 8000
"""Milliseconds after which every part of the window has been drawn."""


def shoot(
    file: Path,
    picture: Path,
    size: tuple[int, int],
    left: int,
    frame: int,
    choose: Callable[[qt.QTreeView], None],
) -> None:
    """Draw the window.

    Args:
        file: which it opens.
        picture: where the PNG goes.
        size: width and height of the window.
        left: width of its tree.
        frame: number that is written into the field below the plot.
        choose: unfolds the tree, and chooses what is shown.
    """
    application = qt.QApplication([])
    window = Viewer()
    window.appendFile(str(file))
    window.resize(*size)
    window.show()
    tree = window.findChild(silx.gui.hdf5.Hdf5TreeView)
    splitter = window.findChild(qt.QSplitter)

    def unfold() -> None:
        splitter.setSizes([left, size[0] - left])
        tree.expandToDepth(0)
        choose(tree)
        window.displaySelectedData()
        qt.QTimer.singleShot(DRAWN // 4, go)

    def go() -> None:
        for field in window.findChildren(qt.QLineEdit):
            if field.isVisible() and field.text() == "0":
                field.setText(str(frame))
                field.editingFinished.emit()

    def take() -> None:
        window.grab().save(str(picture))
        application.quit()

    qt.QTimer.singleShot(DRAWN // 4, unfold)
    qt.QTimer.singleShot(DRAWN, take)
    application.exec()
    window.close()
