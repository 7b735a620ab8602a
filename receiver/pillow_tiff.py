"""TIFF files that fabio's readers make grey, or mix up: most of those in colours, and PackBits."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.receiver.reader import ReaderError

_BITS, _COMPRESSION, _MEANING, _SAMPLES, _PLANAR, _FORMAT = 258, 259, 262, 277, 284, 339
_PACK_BITS = 32773
_GREY, _RGB = (0, 1), 2
"""PhotometricInterpretation: white or black is 0; red, green, blue."""
_PACKINGS = {
    1: "not packed", 5: "LZW", 6: "JPEG", 7: "JPEG", 8: "deflate", _PACK_BITS: "PackBits", 32946: "deflate",
}  # fmt: skip
_INTEGERS = {1: "B", 3: "H", 4: "I"}
_MOST_PAGES = 100_000


class Page(NamedTuple):
    """What one list of contents says (TIFF 6.0, sections 2 to 6)."""

    meaning: int
    samples: int
    bits: tuple[int, ...]
    compression: int
    is_planar: bool
    """Each colour is stored as an image of its own."""
    is_unsigned: bool

    @property
    def is_coloured(self) -> bool:
        """Whether a pixel is more than one value."""
        return self.meaning not in _GREY or self.samples > 1

    @property
    def is_fabios(self) -> bool:
        """Whether fabio reads it: grey, or red, green and blue of each pixel, not packed."""
        if not self.is_coloured:
            return self.compression != _PACK_BITS
        return (
            self.meaning == _RGB and self.samples == 3 and self.compression == 1 and not self.is_planar
            and self.is_unsigned and set(self.bits) in ({8}, {16})
        )  # fmt: skip

    @property
    def is_pillows(self) -> bool:
        """Whether Pillow reads it; of colours with more bits it keeps the upper 8."""
        return max(self.bits) <= (8 if self.is_coloured else 16)


class PillowTiff:
    """A TIFF that Pillow reads, with the parts of fabio's interface that `image_files` uses.

    Args:
        path: the file.
        page: its first page.

    Raises:
        ReaderError: Pillow does not read it either.
    """

    def __init__(self, path: Path, page: Page) -> None:
        self._path, self._page = path, page
        self.header: dict[str, str] = {}
        if not page.is_pillows:
            raise _refused(path, page)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import PIL.Image

                self._image = PIL.Image.open(path)
        except ModuleNotFoundError:
            raise
        except Exception as error:  # Pillow raises whatever its parsers do
            raise _refused(path, page) from error
        self.nframes = int(getattr(self._image, "n_frames", 1))
        self.data = self.getframe(0).data

    def getframe(self, index: int) -> PillowFrame:
        """Return a page: (rows, cols, 3) in colours, else (rows, cols).

        Raises:
            ReaderError: it cannot be read.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._image.seek(index)
                found: Any = self._image
                if found.mode in ("LA", "La"):  # grey, and how transparent it is
                    found = found.getchannel(0)
                elif self._page.is_coloured:
                    found = found.convert("RGB")
                return PillowFrame(np.asarray(found))
        except Exception as error:
            raise _refused(self._path, self._page) from error

    def close(self) -> None:
        """Close the file."""
        self._image.close()


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
    return PillowTiff(path, found[0])


def pages(path: Path) -> Iterator[Page]:
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
            size = file.read(2)
            if len(size) < 2:
                return
            (entries,) = struct.unpack(f"{order}H", size)
            contents = file.read(12 * entries + 4)
            if len(contents) < 12 * entries + 4:
                return
            (place,) = struct.unpack(f"{order}I", contents[-4:])
            values = {}
            for at in range(0, 12 * entries, 12):
                tag, kind, count = struct.unpack(f"{order}HHI", contents[at : at + 8])
                if tag in (_BITS, _COMPRESSION, _MEANING, _SAMPLES, _PLANAR, _FORMAT):
                    values[tag] = _values(file, order, kind, count, contents[at + 8 : at + 12])
            yield Page(
                values.get(_MEANING, (1,))[0], values.get(_SAMPLES, (1,))[0], values.get(_BITS, (1,)),
                values.get(_COMPRESSION, (1,))[0], values.get(_PLANAR, (1,))[0] == 2,
                set(values.get(_FORMAT, (1,))) == {1},
            )  # fmt: skip


def _values(file: Any, order: str, kind: int, count: int, field: bytes) -> tuple[int, ...]:
    form = _INTEGERS.get(kind)
    if form is None or not 0 < count <= 64:
        return (0,)
    size = struct.calcsize(form) * count
    if size > len(field):
        file.seek(struct.unpack(f"{order}I", field)[0])
        field = file.read(size)
    if len(field) < size:
        return (0,)
    return struct.unpack(f"{order}{count}{form}", field[:size])


def _refused(path: Path, page: Page) -> ReaderError:
    bits = "/".join(map(str, sorted(set(page.bits))))
    packing = _PACKINGS.get(page.compression, f"packing {page.compression}")
    planar = ", one colour behind the other" if page.is_planar else ""
    kind, remedy = "in colours", "save it with 8 bits for each colour"
    if not page.is_coloured:
        kind, remedy = "in grey", "save it without packing"
    return ReaderError(
        f"{path} is a TIFF {kind} that is not read here ({bits} bits, {packing}{planar}), or is damaged, or "
        f"still being written; {remedy}"
    )
