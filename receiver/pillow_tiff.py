"""TIFF files that fabio's readers make grey, or mix up: those in colours, and PackBits."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.receiver.reader import ReaderError

_COLUMNS, _ROWS, _BITS, _COMPRESSION, _MEANING = 256, 257, 258, 259, 262
_OFFSETS, _SAMPLES, _SIZES, _PLANAR, _FORMAT = 273, 277, 279, 284, 339
_GREY, _RGB = (0, 1), 2
"""PhotometricInterpretation: white or black is 0; red, green, blue."""
_PLAIN, _PACK_BITS = 1, 32773
_PACKINGS = {
    _PLAIN: "not packed", 5: "LZW", 6: "JPEG", 7: "JPEG", 8: "deflate", _PACK_BITS: "PackBits",
    32946: "deflate",
}  # fmt: skip
_INTEGERS = {1: "B", 3: "H", 4: "I"}
_MOST_PAGES = 100_000
_MOST_VALUES = 1_000_000


class Page(NamedTuple):
    """What one list of contents says (TIFF 6.0, sections 2 to 6)."""

    order: str
    """Of the bytes: "<" or ">"."""
    values: dict[int, tuple[int, ...]]

    def one(self, tag: int, usual: int = 1) -> int:
        """Return the first value of a tag."""
        return self.values.get(tag, (usual,))[0]

    @property
    def bits(self) -> int:
        """Most bits of a colour, or of grey."""
        return max(self.values.get(_BITS, (1,)))

    @property
    def is_coloured(self) -> bool:
        """Whether a pixel is more than one value."""
        return self.one(_MEANING) not in _GREY or self.one(_SAMPLES) > 1

    @property
    def is_fabios(self) -> bool:
        """Whether fabio reads it as it is."""
        return not self.is_coloured and self.one(_COMPRESSION) != _PACK_BITS

    @property
    def is_pillows(self) -> bool:
        """Whether Pillow reads it as it is; of colours with more bits it keeps the upper 8."""
        return self.bits <= (8 if self.is_coloured else 16)

    @property
    def is_plain(self) -> bool:
        """Whether it is red, green and blue of each pixel in 16 bits, not packed."""
        return (
            self.one(_MEANING) == _RGB and self.one(_SAMPLES) == 3 and self.one(_COMPRESSION) == _PLAIN
            and self.one(_PLANAR) == 1 and set(self.values.get(_FORMAT, (1,))) == {1}
            and set(self.values.get(_BITS, ())) == {16} and {_OFFSETS, _SIZES} <= self.values.keys()
        )  # fmt: skip


class PillowTiff:
    """A TIFF that fabio does not read, with the parts of fabio's interface that `image_files` uses.

    Args:
        path: the file.
        pages: what it says of its pages.

    Raises:
        ReaderError: Pillow does not read it either.
    """

    def __init__(self, path: Path, pages: Sequence[Page]) -> None:
        self._path, self._pages = path, pages
        self._image: Any = None
        self.header: dict[str, str] = {}
        self.nframes = len(pages)
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
        shape = (page.one(_ROWS), page.one(_COLUMNS), 3)
        with self._path.open("rb") as file:
            strips = []
            for offset, size in zip(page.values[_OFFSETS], page.values[_SIZES], strict=False):
                file.seek(offset)
                strips.append(file.read(size))
        content = b"".join(strips)
        if len(content) != 2 * prod(shape):
            raise _refused(self._path, page)
        return np.frombuffer(content, f"{page.order}u2").reshape(shape).astype(np.uint16)


class PillowFrame(NamedTuple):
    """One page."""

    data: np.ndarray[Any, Any]


def open_pillow(path: Path) -> PillowTiff | None:
    """Open a TIFF if it is of a kind that fabio does not read as it is; else return `None`.

    Raises:
        ReaderError: Pillow does not read it either.
    """
    found = list(_pages(path))
    if all(page.is_fabios for page in found):
        return None
    if len({page.is_coloured for page in found}) > 1:
        raise ReaderError(f"{path} has grey pages and pages in colours: save them as files of their own")
    return PillowTiff(path, found)


def _pages(path: Path) -> Iterator[Page]:
    """Yield what a TIFF says of each of its pages; nothing of a file of another kind, or that is cut."""
    seen: set[int] = set()
    with path.open("rb") as file:
        beginning = file.read(8)
        order = {b"II*\0": "<", b"MM\0*": ">"}.get(beginning[:4])
        if order is None or len(beginning) < 8:
            return
        (place,) = struct.unpack(f"{order}I", beginning[4:])
        while place and place not in seen and len(seen) < _MOST_PAGES:
            seen.add(place)
            file.seek(place)
            (entries,) = struct.unpack(f"{order}H", file.read(2).ljust(2, b"\0"))
            contents = file.read(12 * entries + 4)
            if len(contents) < 12 * entries + 4:
                return
            (place,) = struct.unpack(f"{order}I", contents[-4:])
            values = {}
            for at in range(0, 12 * entries, 12):
                tag, kind, count = struct.unpack(f"{order}HHI", contents[at : at + 8])
                form = f"{order}{count}{_INTEGERS.get(kind, '')}"
                if kind in _INTEGERS and _COLUMNS <= tag <= _FORMAT and 0 < count <= _MOST_VALUES:
                    field, size = contents[at + 8 : at + 12], struct.calcsize(form)
                    if size > len(field):
                        file.seek(struct.unpack(f"{order}I", field)[0])
                        field = file.read(size)
                    if len(field) >= size:
                        values[tag] = struct.unpack(form, field[:size])
            yield Page(order, values)


def _refused(path: Path, page: Page) -> ReaderError:
    packing = _PACKINGS.get(page.one(_COMPRESSION), f"packing {page.one(_COMPRESSION)}")
    planar = ", one colour behind the other" if page.one(_PLANAR) == 2 else ""
    kind, remedy = "in colours", "save it with 8 bits for each colour"
    if not page.is_coloured:
        kind, remedy = "in grey", "save it without packing"
    return ReaderError(
        f"{path} is a TIFF {kind} that is not read here ({page.bits} bits, {packing}{planar}), or is "
        f"damaged, or still being written; {remedy}"
    )
