"""Save the picture or the counts of the frame on show, or put the picture into the clipboard."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from silx.gui import qt

from penstock.gui.background import Background
from penstock.gui.live.actions.tool_line import Tool
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


class Saved(Protocol):
    """What is on the screen."""

    @property
    def name(self) -> str:
        """Name for a file, without suffix."""

    @property
    def picture(self) -> qt.QImage:
        """As it is seen."""

    @property
    def numbers(self) -> npt.NDArray[Any]:
        """All of them."""


class Save(Tool):
    """Asks for a name, and writes in a thread beside the window's.

    Args:
        tip: what it is for.
        kinds: what can be written, by suffix; one is .png, and one .npy.
        shown: what is on the screen now; `None` if there is nothing.
        parent: widget to which it belongs.
    """

    nothing = "There is nothing to be saved yet."

    def __init__(
        self, tip: str, kinds: Mapping[str, str], shown: Callable[[], Any | None], parent: qt.QWidget
    ) -> None:
        super().__init__("Save", "fa5s.save", tip, parent, "Ctrl+S")
        self._kinds, self._shown = kinds, shown
        self._folder = ""
        self._writing = Background(self)
        self.ask: Callable[[str], str] = self._ask
        """Asks for a path, given one to begin with; "" if the user wants none."""
        self.triggered.connect(self._save)

    def why_not(self, kind: str, shown: Any) -> str:
        """Return why this cannot be written as a file of this kind; "" if it can."""
        raise NotImplementedError

    def write(self, path: Path, shown: Any) -> None:
        """Write it into a file of the kind that is neither .png nor .npy."""
        raise NotImplementedError

    def save(self, path: str) -> None:
        """Write what is on the screen; the suffix says as what. `said` follows."""
        shown, file = self._shown(), Path(path)
        kind = {".tiff": ".tif"}.get(file.suffix.lower(), file.suffix.lower())
        *others, last = self._kinds
        if shown is None:
            self.said.emit(self.nothing, True)
        elif kind not in self._kinds:
            self.said.emit(f"{file.name} has to end with {', '.join(others)} or {last}.", True)
        elif why := self.why_not(kind, shown):
            self.said.emit(f"{file.name} is not written: {why}.", True)
        else:
            self._writing.call(
                lambda: self._write(file, kind, shown),
                lambda _: self.said.emit(f"Saved {file}.", False),
                lambda error: self.said.emit(f"{file} is not written: {_why(error)}.", True),
            )

    def _save(self) -> None:
        shown = self._shown()
        if shown is None:
            self.said.emit(self.nothing, True)
            return
        path = self.ask(str(Path(self._folder or Path.cwd()) / f"{shown.name}.png"))
        if path:
            self._folder = str(Path(path).parent)
            self.save(path)

    def _ask(self, begin: str) -> str:
        path, chosen = qt.QFileDialog.getSaveFileName(
            self.parent(), "Save", begin, ";;".join(self._kinds.values()), self._kinds[".png"]
        )
        # The list of kinds counts for a name that was not given a suffix of its own.
        suffix = next((suffix for suffix, text in self._kinds.items() if text == chosen), ".png")
        if path and (path == begin or not Path(path).suffix):
            return str(Path(path).with_suffix(suffix))
        return str(path)

    def _write(self, path: Path, kind: str, shown: Saved) -> None:
        if kind == ".png":
            # QImage.save says of a failure only that there was one.
            data = qt.QBuffer()
            data.open(qt.QIODevice.WriteOnly)
            shown.picture.save(data, "PNG")
            path.write_bytes(bytes(data.data()))
        elif kind == ".npy":
            content = io.BytesIO()
            np.save(content, shown.numbers, allow_pickle=False)
            path.write_bytes(content.getbuffer())
        else:
            self.write(path, shown)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) if isinstance(error, ReaderError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class Shown:
    """What is on the screen."""

    frame: LastFrame
    file: str
    """File of its series, or the address of its source; "" for none."""
    picture: qt.QImage

    @property
    def name(self) -> str:
        """Name for what is saved, without suffix: file and frame."""
        stem = PurePath(self.file).stem if self.file else "live"
        return f"{re.sub(r'[^0-9A-Za-z_.-]+', '_', stem) or 'live'}_frame{self.frame.frame:06d}"

    @property
    def numbers(self) -> npt.NDArray[Any]:
        """The counts."""
        return self.frame.array


class SaveFrame(Save):
    """Saves the frame on show.

    Args:
        shown: what is on the screen now; `None` before the first frame.
    """

    nothing = "There is no frame to be saved yet."

    def __init__(self, shown: Callable[[], Shown | None], parent: qt.QWidget) -> None:
        super().__init__(TIP, FILTERS, shown, parent)

    def why_not(self, kind: str, shown: Shown) -> str:
        """See `Save.why_not`."""
        if kind != ".png" and shown.frame.downsample > 1:
            return REDUCED
        return NO_IMAGE if kind == ".tif" and shown.frame.interpretation != "image" else ""

    def write(self, path: Path, shown: Shown) -> None:
        """Write a TIFF."""
        about = {"frame": str(shown.frame.frame), "file": shown.file, "series": shown.frame.series}
        if shown.frame.time is not None:
            about["time"] = repr(shown.frame.time)
        write_tiff(path, shown.frame.array, about)


class CopyPicture(Tool):
    """Copies the picture as it is seen, with the line that says which frame it is.

    Args:
        picture: the picture; `None` before the first frame.
    """

    def __init__(self, picture: Callable[[], qt.QImage | None], parent: qt.QWidget) -> None:
        tip = "Copy the picture as you see it, with frame and file (Ctrl+C)"
        super().__init__("Copy", "fa5s.copy", tip, parent, "Ctrl+C")
        self._picture = picture
        self.triggered.connect(self._copy)

    def _copy(self) -> None:
        picture = self._picture()
        if picture is None:
            self.said.emit("There is no picture to be copied yet.", True)
            return
        qt.QApplication.clipboard().setImage(picture)
        self.said.emit("The picture is in the clipboard.", False)
