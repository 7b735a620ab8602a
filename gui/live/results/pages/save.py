"""Save the picture, or the numbers that are on show."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt

from penstock.gui.background import Background
from penstock.gui.live.actions.icons import icon

TIP = "Save the picture as you see it (PNG), or the numbers on show (CSV of curves, npy) (Ctrl+S)"
FILTERS = {
    ".png": "Picture, as you see it (*.png)",
    ".csv": "Table of the curves on show (*.csv)",
    ".npy": "NumPy, the numbers on show (*.npy)",
}


@dataclass(frozen=True, eq=False)
class Table:
    """What is on the screen."""

    name: str
    """For a file, without suffix."""
    picture: qt.QImage
    numbers: npt.NDArray[Any]
    """The values: a curve, an image, curves as rows."""
    columns: tuple[tuple[str, npt.NDArray[Any]], ...] = ()
    """Names and numbers of a table's columns, all of one length; none of an image."""


class SaveResult(qt.QAction):
    """Asks for a name, and writes in a thread beside the window's.

    Args:
        shown: what is on the screen now; `None` if there is nothing.
    """

    said = qt.Signal(str, bool)
    """A sentence, and whether something is wrong."""

    def __init__(self, shown: Callable[[], Table | None], parent: qt.QWidget) -> None:
        super().__init__("Save", parent)
        self.setToolTip(TIP)
        self.setShortcut("Ctrl+S")
        self.setIcon(icon("fa5s.save"))
        self._shown = shown
        self._folder = ""
        self._writing = Background(self)
        self.triggered.connect(self._ask)

    def save(self, path: str) -> None:
        """Write what is on the screen; the suffix says as what. `said` follows."""
        shown, file = self._shown(), Path(path)
        kind = file.suffix.lower()
        if shown is None:
            self.said.emit("There is nothing to be saved yet.", True)
        elif kind not in FILTERS:
            self.said.emit(f"{file.name} has to end with .png, .csv or .npy.", True)
        elif kind == ".csv" and not shown.columns:
            self.said.emit(f"{file.name} is not written: a table holds curves; save images as .npy.", True)
        else:
            self._writing.call(
                lambda: _write(file, kind, shown),
                lambda _: self.said.emit(f"Saved {file}.", False),
                lambda error: self.said.emit(f"{file} is not written: {_why(error)}.", True),
            )

    def _ask(self) -> None:
        shown = self._shown()
        if shown is None:
            self.said.emit("There is nothing to be saved yet.", True)
            return
        begin = str(Path(self._folder or Path.cwd()) / f"{shown.name}.png")
        path, chosen = qt.QFileDialog.getSaveFileName(
            self.parent(), "Save", begin, ";;".join(FILTERS.values()), FILTERS[".png"]
        )
        if path:
            # The list of kinds counts for a name that was not given a suffix of its own.
            suffix = next((suffix for suffix, text in FILTERS.items() if text == chosen), ".png")
            if path == begin or not Path(path).suffix:
                path = str(Path(path).with_suffix(suffix))
            self._folder = str(Path(path).parent)
            self.save(path)


def file_name(*parts: str) -> str:
    """Return a name for a file, without suffix."""
    return re.sub(r"[^0-9A-Za-z_.-]+", "_", "_".join(filter(None, parts))) or "results"


def _write(path: Path, kind: str, shown: Table) -> None:
    content = io.BytesIO()
    if kind == ".png":
        # QImage.save says of a failure only that there was one.
        data = qt.QBuffer()
        data.open(qt.QIODevice.WriteOnly)
        shown.picture.save(data, "PNG")
        content.write(bytes(data.data()))
    elif kind == ".npy":
        np.save(content, shown.numbers, allow_pickle=False)
    else:
        names = ",".join(name for name, _ in shown.columns)
        table = np.stack([np.asarray(each, np.float64) for _, each in shown.columns], axis=1)
        np.savetxt(content, table, "%.17g", delimiter=",", header=names, comments="")
    path.write_bytes(content.getbuffer())


def _why(error: Exception) -> str:
    return (
        (error.strerror or str(error)) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    )
