"""Files of one image or a few: CBF, TIFF, EDF and what else fabio reads; and TIFF for those who want one."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from penstock.receiver import geometry
from penstock.receiver.models import Geometry
from penstock.receiver.reading import pilatus_header, tiff_pages
from penstock.receiver.reading.pillow_tiff import open_pillow
from penstock.receiver.reading.reader import ReaderError

TIFF_TYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32")
"""NumPy names of the pixel types that `write_tiff` keeps as they are."""

CBF, CBF_SECTION, CBF_PIXELS = b"###CBF: VERSION", b"--CIF-BINARY-FORMAT-SECTION--", b"\x0c\x1a\x04\xd5"
"""How a CBF file begins, and in it the part with the pixels, and these (CBF/imgCIF, "binary sections")."""
_BEGINNINGS = {
    "CBF": (b"###CBF",), "TIFF": tiff_pages.BEGINNINGS, "EDF": (b"{\nEDF_", b"{\r\nEDF_", b"{\nHeaderID"),
}  # fmt: skip
"""How files of these kinds begin (fabio's `EdfImage`)."""


class ImageFile:
    """A file that fabio reads, as a `frame_files.FrameFile`.

    Args:
        path: the file.

    Raises:
        ReaderError: fabio knows no such file, or it is damaged.
    """

    detector = ""
    choices: tuple[str, ...] = ()
    chosen = ""
    curves: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    has_images = True
    interpretation = "image"
    channels: tuple[str, ...] = ()
    saturation: float | None = None
    id = ""
    state: str | None = None
    reason = ""
    planned: int | None = None
    status: np.ndarray[Any, Any] | None = None

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.counts: dict[str, int] = {}
        logging.getLogger("fabio").setLevel(logging.CRITICAL)  # what it says is in the exception as well
        if _is_cut_off(self.path):
            raise _ends_early(self.path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of headers that are not as they should be
                import fabio

                others = open_pillow(self.path)
                self._image: Any = fabio.open(str(self.path)) if others is None else others
        except (ModuleNotFoundError, ReaderError):
            raise
        except Exception as error:  # fabio's formats raise whatever their parsers do
            raise _refused(self.path) from error
        data = self._image.data
        if data is None or np.ndim(data) not in (2, 3):  # so it is where none of fabio's TIFF readers can
            self.close()
            raise _refused(self.path)
        self._first = np.asarray(data)
        if self._first.ndim == 3 and self._first.shape[-1] == 3:
            self.interpretation = "rgba-image"
        self._frames = max(1, int(getattr(self._image, "nframes", 1)))
        if self._frames == 1 and _is_incomplete(self._image):
            self.close()
            raise _ends_early(self.path)
        self._said = pilatus_header.numbers(self._image.header)
        # As in a DECTRIS stream: what is above the cutoff has not been counted whole.
        self.saturation = self._said.get("saturation_value") or None
        with self.path.open("rb") as file:
            may_be = _kind(file.read(16)) in ("CBF", "TIFF") and self._first.dtype.kind == "i"
        self.is_pilatus = may_be and pilatus_header.is_pilatus(self._image.header)
        self.underload = 0.0 if self.is_pilatus else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        close = getattr(self._image, "close", None)
        if close is not None:
            close()

    @property
    def shape(self) -> tuple[int, ...]:
        """(frames, rows, cols), or (frames, rows, cols, 3) for colours."""
        return (self._frames, *self._first.shape)

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Type of a pixel."""
        return self._first.dtype

    def frame(self, index: int, channel: str | None = None) -> np.ndarray[Any, Any]:
        """Return one frame: (rows, cols), or (rows, cols, 3) for colours.

        Raises:
            ReaderError: it cannot be read, or there is no such frame or channel.
        """
        if channel is not None:
            raise ReaderError(f"{self.path} has no channel {channel}: its frames are one image")
        if not 0 <= index < self._frames:
            raise ReaderError(f"{self.path} has no frame {index}; its last is {self._frames - 1}")
        if index == 0:
            return self._first
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self._image.getframe(index)
                pixels = found.data
        except Exception as error:
            raise ReaderError(f"frame {index} of {self.path} cannot be read: {error}") from error
        if pixels is None or np.ndim(pixels) != self._first.ndim or _is_incomplete(found):
            raise ReaderError(
                f"frame {index} of {self.path} cannot be read: the file is damaged, or still being written"
            )
        return np.asarray(pixels)

    def why(self, index: int) -> str | None:
        """Return `None`: an image file without its pixels is not opened."""
        return None

    def missing(self, index: int, channel: str | None = None) -> np.ndarray[Any, Any] | None:
        """Return `None`."""
        return None

    def time(self, index: int) -> float | None:
        """Return `None`: headers have times without a zone, if any."""
        return None

    def trigger(self, index: int) -> int | None:
        """Return `None`."""
        return None

    def geometry(self) -> Geometry | None:
        """Return what a PILATUS says in its headers; `None` of other files."""
        return geometry.known(self._said) if self._said else None

    def remarks(self) -> tuple[str, ...]:
        """Return nothing: the units of a header are fixed."""
        return ()

    def mask(self, channel: str | None = None) -> np.ndarray[Any, Any] | None:
        """Return `None`."""
        return None


def _kind(beginning: bytes) -> str:
    """Return what a file that begins so is; "" if that is not known."""
    return next((kind for kind, marks in _BEGINNINGS.items() if beginning.startswith(marks)), "")


def _refused(path: Path) -> ReaderError:
    with path.open("rb") as file:
        kind = _kind(file.read(16))
    if kind:
        return ReaderError(f"{path} cannot be read: this {kind} file is damaged, or still being written")
    return ReaderError(f"{path} is neither HDF5 nor an image that is read here (CBF, TIFF, EDF)")


def _ends_early(path: Path) -> ReaderError:
    return ReaderError(f"{path} ends before its pixels: it is damaged, or still being written")


def _is_incomplete(image: Any) -> bool:
    """Return whether fabio has filled up with zeros what an EDF file lacks; it says so in its log only."""
    return bool(getattr(image, "incomplete_data", False))


def _is_cut_off(path: Path) -> bool:
    """Return whether a file surely ends too early.

    Of a CBF without pixels, fabio 2026.6 would look for their beginning for ever.
    """
    with path.open("rb") as file:
        beginning = file.read(len(CBF))
        kind = _kind(beginning)
        if kind == "TIFF":
            return tiff_pages.is_cut_off(path)
        if kind != "CBF" and path.suffix.lower() != ".cbf":
            return False
        content = beginning + file.read()
    section = content.find(CBF_SECTION)
    return section < 0 or content.find(CBF_PIXELS, section) < 0


def write_tiff(path: str | Path, image: np.ndarray[Any, Any], about: dict[str, str]) -> None:
    """Write an image with its counts as they are.

    Args:
        path: the file, which is replaced.
        image: (rows, cols), or (k, rows, cols), which are written one below the other; of one of
            `TIFF_TYPES`, or bool, which becomes 0 and 1.
        about: names and values for the file's description.

    Raises:
        ReaderError: counts of this type would not be kept by this format.
        OSError: it cannot be written.
    """
    from fabio.TiffIO import TiffIO

    pixels = image.astype(np.uint8) if image.dtype == bool else image
    pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    if pixels.dtype.name not in TIFF_TYPES or pixels.ndim not in (2, 3):
        raise ReaderError(f"a TIFF does not keep {image.dtype.name} as it is; save a .npy, which does")
    # TiffIO never closes a file that it has opened itself.
    with Path(path).open("wb+") as file:
        shown = np.ascontiguousarray(pixels.reshape(-1, pixels.shape[-1]))
        TiffIO(file, mode="wb+").writeImage(shown, info=about, software="Penstock")
