"""TIFF files that fabio's readers make grey, or mix up: those in colours, and PackBits."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.receiver.reading.reader import ReaderError
from penstock.receiver.reading.tiff_pages import (
    COLUMNS,
    COMPRESSION,
    OFFSETS,
    PACK_BITS,
    PLAIN,
    PLANAR,
    ROWS,
    SIZES,
    Page,
    pages,
)

_PACKINGS = {
    PLAIN: "not packed", 5: "LZW", 6: "JPEG", 7: "JPEG", 8: "deflate", PACK_BITS: "PackBits",
    32946: "deflate",
}  # fmt: skip


class PillowTiff:
    """A TIFF that fabio does not read, with the parts of fabio's interface that `image_files` uses.

    Args:
        path: the file.
        found: what it says of its pages.

    Raises:
        ReaderError: Pillow does not read it either.
    """

    def __init__(self, path: Path, found: Sequence[Page]) -> None:
        self._path, self._pages = path, found
        self._image: Any = None
        self.header: dict[str, str] = {}
        self.nframes = len(found)
        try:
            self.data = self.getframe(0).data
        except BaseException:
            self.close()
            raise

    def getframe(self, index: int) -> PillowFrame:
        """Return a page: (rows, cols, 3) in colours, else (rows, cols).

        Raises:
            ReaderError: it cannot be read.
        """
        page = self._pages[index]
        if page.is_plain:
            return PillowFrame(self._plain(page))
        if not page.is_pillows:
            raise _refused(self._path, page)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if self._image is None:
                    import PIL.Image

                    self._image = PIL.Image.open(self._path)
                self._image.seek(index)
                found = self._image
                if found.mode in ("LA", "La"):  # grey, and how transparent it is
                    found = found.getchannel(0)
                elif page.is_coloured:
                    found = found.convert("RGB")
                return PillowFrame(np.asarray(found))
        except ModuleNotFoundError:
            raise
        except Exception as error:  # Pillow raises whatever its parsers do
            raise _refused(self._path, page) from error

    def close(self) -> None:
        """Close the file."""
        if self._image is not None:
            self._image.close()

    def _plain(self, page: Page) -> np.ndarray[Any, Any]:
        shape = (page.one(ROWS), page.one(COLUMNS), 3)
        with self._path.open("rb") as file:
            strips = []
            for offset, size in zip(page.values[OFFSETS], page.values[SIZES], strict=False):
                file.seek(offset)
                strips.append(file.read(size))
        content = b"".join(strips)
        dtype = np.dtype(f"{page.order}u{page.bits // 8}")
        if len(content) != dtype.itemsize * prod(shape):
            raise _refused(self._path, page)
        return np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="))


class PillowFrame(NamedTuple):
    """One page."""

    data: np.ndarray[Any, Any]


def open_pillow(path: Path) -> PillowTiff | None:
    """Open a TIFF if it is of a kind that fabio does not read as it is; else return `None`.

    Raises:
        ReaderError: Pillow does not read it either.
    """
    found = list(pages(path))
    if all(page.is_fabios for page in found):
        return None
    if len({page.is_coloured for page in found}) > 1:
        raise ReaderError(f"{path} has grey pages and pages in colours: save them as files of their own")
    return PillowTiff(path, found)


def _refused(path: Path, page: Page) -> ReaderError:
    packing = _PACKINGS.get(page.one(COMPRESSION), f"packing {page.one(COMPRESSION)}")
    planar = ", one colour behind the other" if page.one(PLANAR) == 2 else ""
    kind, remedy = "in colours", "save it with 8 bits for each colour"
    if not page.is_coloured:
        kind, remedy = "in grey", "save it without packing"
    return ReaderError(
        f"{path} is a TIFF {kind} that is not read here ({page.bits} bits, {packing}{planar}), or is "
        f"damaged, or still being written; {remedy}"
    )
