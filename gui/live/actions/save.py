"""Save the picture or the counts of the frame on show, or put the picture into the clipboard."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np
import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.background import Background
from penstock.receiver.client import LastFrame
from penstock.receiver.reading.image_files import write_tiff
from penstock.receiver.reading.reader import ReaderError

TIP = "Save the picture as you see it (PNG), or all counts of this frame (TIFF, npy) (Ctrl+S)"
FILTERS = {
    ".png": "Picture, as you see it (*.png)",
    ".tif": "TIFF, all counts of this frame (*.tif *.tiff)",
    ".npy": "NumPy, all counts of this frame (*.npy)",
}
REDUCED = "this frame was transferred in blocks, so that its counts are not known; set Transfer to all pixels"
NO_IMAGE = "a TIFF holds counts of an image; save colours and spectra as .npy or .png"
_KINDS = {".tiff": ".tif", ".tif": ".tif", ".png": ".png", ".npy": ".npy"}


@dataclass(frozen=True)
class Shown:
    """What is on the screen."""

    frame: LastFrame
    file: str
    """File of its series, or the address of its source; "" for none."""
    picture: qt.QImage

    def name(self) -> str:
        """Return a name for what is saved, without suffix: file and frame."""
        stem = PurePath(self.file).stem if self.file else "live"
        return f"{re.sub(r'[^0-9A-Za-z_.-]+', '_', stem) or 'live'}_frame{self.frame.frame:06d}"


class SaveFrame(qt.QAction):
    """Asks for a name, and writes in a thread beside the window's.

    Args:
        shown: what is on the screen now; `None` before the first frame.
    """

    said = qt.Signal(str, bool)
    """A sentence, and whether something is wrong."""

    def __init__(self, shown: Callable[[], Shown | None], parent: qt.QWidget) -> None:
        super().__init__("Save", parent)
        self.setToolTip(TIP)
        self.setShortcut("Ctrl+S")
        self.setIcon(qtawesome.icon("fa5s.save", color=theme.current().text))
        self._shown = shown
        self._folder = ""
        self._writing = Background(self)
        self.ask: Callable[[str], str] = self._ask
        """Asks for a path, given one to begin with; "" if the user wants none."""
        self.triggered.connect(self._save)

    def save(self, path: str) -> None:
        """Write what is on the screen; the suffix says as what. `said` follows."""
        shown = self._shown()
        if shown is None:
            self.said.emit("There is no frame to be saved yet.", True)
            return
        file = Path(path)
        kind = _KINDS.get(file.suffix.lower())
        if kind is None:
            self.said.emit(f"{file.name} has to end with .png, .tif or .npy.", True)
        elif kind != ".png" and shown.frame.downsample > 1:
            self.said.emit(f"{file.name} is not written: {REDUCED}.", True)
        elif kind == ".tif" and shown.frame.interpretation != "image":
            self.said.emit(f"{file.name} is not written: {NO_IMAGE}.", True)
        else:
            self._writing.call(
                lambda: _write(file, kind, shown),
                lambda _: self.said.emit(f"Saved {file}.", False),
                lambda error: self.said.emit(f"{file} is not written: {_why(error)}.", True),
            )

    def _save(self) -> None:
        shown = self._shown()
        if shown is None:
            self.said.emit("There is no frame to be saved yet.", True)
            return
        path = self.ask(str(Path(self._folder or Path.cwd()) / f"{shown.name()}.png"))
        if path:
            self._folder = str(Path(path).parent)
            self.save(path)

    def _ask(self, begin: str) -> str:
        path, chosen = qt.QFileDialog.getSaveFileName(
            self.parent(), "Save", begin, ";;".join(FILTERS.values()), FILTERS[".png"]
        )
        # The list of kinds counts for a name that was not given a suffix of its own.
        suffix = next((suffix for suffix, text in FILTERS.items() if text == chosen), ".png")
        if path and path == begin and suffix != ".png":
            return str(Path(path).with_suffix(suffix))
        return path if not path or Path(path).suffix else f"{path}{suffix}"


def _write(path: Path, kind: str, shown: Shown) -> None:
    if kind == ".png":
        # QImage.save says of a failure only that there was one.
        data = qt.QBuffer()
        data.open(qt.QIODevice.WriteOnly)
        shown.picture.save(data, "PNG")
        path.write_bytes(bytes(data.data()))
    elif kind == ".npy":
        content = io.BytesIO()
        np.save(content, shown.frame.array, allow_pickle=False)
        path.write_bytes(content.getbuffer())
    else:
        about = {"frame": str(shown.frame.frame), "file": shown.file, "series": shown.frame.series}
        if shown.frame.time is not None:
            about["time"] = repr(shown.frame.time)
        write_tiff(path, shown.frame.array, about)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) if isinstance(error, ReaderError) else f"{type(error).__name__}: {error}"


class CopyPicture(qt.QAction):
    """Copies the picture as it is seen, with the line that says which frame it is.

    Args:
        picture: the picture; `None` before the first frame.
    """

    said = qt.Signal(str, bool)
    """A sentence, and whether something is wrong."""

    def __init__(self, picture: Callable[[], qt.QImage | None], parent: qt.QWidget) -> None:
        super().__init__("Copy", parent)
        self.setToolTip("Copy the picture as you see it, with frame and file (Ctrl+C)")
        self.setShortcut("Ctrl+C")
        self.setIcon(qtawesome.icon("fa5s.copy", color=theme.current().text))
        self._picture = picture
        self.triggered.connect(self._copy)

    def _copy(self) -> None:
        picture = self._picture()
        if picture is None:
            self.said.emit("There is no picture to be copied yet.", True)
            return
        qt.QApplication.clipboard().setImage(picture)
        self.said.emit("The picture is in the clipboard.", False)
