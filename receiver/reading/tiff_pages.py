"""What a TIFF says of its pages, in its lists of contents (TIFF 6.0, sections 2 to 6; BigTIFF of libtiff)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

COLUMNS, ROWS, BITS, COMPRESSION, MEANING = 256, 257, 258, 259, 262
OFFSETS, SAMPLES, SIZES, PLANAR, FORMAT = 273, 277, 279, 284, 339
RGB = 2
"""PhotometricInterpretation: red, green, blue."""
PLAIN, PACK_BITS = 1, 32773
"""Compression: none; PackBits."""
BEGINNINGS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
"""First bytes of a TIFF: byte order, and 42; 43 in a BigTIFF, whose places in the file have 8 bytes."""

_GREY = (0, 1)
"""PhotometricInterpretation: white is 0; black is 0."""
_INTEGERS = {1: "B", 3: "H", 4: "I", 16: "Q"}
_MOST_PAGES = 100_000
_MOST_VALUES = 1_000_000


class Page(NamedTuple):
    """What one list of contents says."""

    order: str
    """Byte order: "<" or ">"."""
    values: dict[int, tuple[int, ...]]

    def one(self, tag: int, usual: int = 1) -> int:
        """Return the first value of a tag."""
        return self.values.get(tag, (usual,))[0]

    @property
    def bits(self) -> int:
        """Most bits of a colour, or of grey."""
        return max(self.values.get(BITS, (1,)))

    @property
    def is_coloured(self) -> bool:
        """True if a pixel is more than one value."""
        return self.one(MEANING) not in _GREY or self.one(SAMPLES) > 1

    @property
    def is_fabios(self) -> bool:
        """True if fabio reads it as it is."""
        return not self.is_coloured and self.one(COMPRESSION) != PACK_BITS

    @property
    def is_pillows(self) -> bool:
        """True if Pillow reads it as it is; of colours with more bits it keeps the upper 8."""
        return self.bits <= (8 if self.is_coloured else 16)

    @property
    def is_plain(self) -> bool:
        """True if it is red, green and blue of each pixel in 8 or 16 bits, not packed."""
        return (
            self.one(MEANING) == RGB and self.one(SAMPLES) == 3 and self.one(COMPRESSION) == PLAIN
            and self.one(PLANAR) == 1 and set(self.values.get(FORMAT, (1,))) == {1}
            and set(self.values.get(BITS, ())) in ({8}, {16}) and {OFFSETS, SIZES} <= self.values.keys()
        )  # fmt: skip


class _Form(NamedTuple):
    """How a TIFF writes numbers."""

    order: str
    length: str
    """The number of entries in a list of contents, as `struct` names it."""
    place: str
    """Format of a place in the file, and of the number of an entry's values, as `struct` names it."""

    def number(self, form: str, content: bytes) -> int:
        """Return a number; 0 where the file has ended."""
        size = struct.calcsize(form)
        return int(struct.unpack(f"{self.order}{form}", content[:size].ljust(size, b"\0"))[0])

    @property
    def entry(self) -> int:
        """Bytes of an entry: tag, type, number of values; the values, or their place."""
        return 4 + 2 * struct.calcsize(self.place)

    def contents(self, file: BinaryIO, place: int) -> tuple[bytes, bytes] | None:
        """Return the entries of a list of contents and the place of the next list; `None` if they are cut."""
        width = struct.calcsize(self.length)
        entries = self.entry * self.number(self.length, _read(file, place, width))
        size = entries + struct.calcsize(self.place)
        found = _read(file, place + width, size)
        return (found[:entries], found[entries:]) if len(found) == size else None


def is_cut_off(path: Path) -> bool:
    """Return whether a TIFF's first list of contents is not whole.

    Of a packed one libtiff returns other pixels than were written.
    """
    with path.open("rb") as file:
        found = _beginning(file)
        return found is not None and found[0].contents(file, found[1]) is None


def pages(path: Path) -> Iterator[Page]:
    """Yield what a TIFF says of each of its pages; nothing of a file of another kind, or that is cut."""
    seen: set[int] = set()
    with path.open("rb") as file:
        found = _beginning(file)
        if found is None:
            return
        form, place = found
        while place and place not in seen and len(seen) < _MOST_PAGES:
            seen.add(place)
            contents = form.contents(file, place)
            if contents is None:
                return
            place = form.number(form.place, contents[1])
            yield Page(form.order, dict(_values(file, form, contents[0])))


def _beginning(file: BinaryIO) -> tuple[_Form, int] | None:
    """Return how a TIFF writes numbers, and where its first list of contents is; `None` for other files."""
    mark = file.read(4)
    if mark not in BEGINNINGS:
        return None
    order, is_big = ("<" if mark.startswith(b"II") else ">"), b"+" in mark
    form = _Form(order, "Q", "Q") if is_big else _Form(order, "H", "I")
    if is_big:
        file.read(4)  # the bytes of a place, 8, and 0
    return form, form.number(form.place, file.read(8))


def _values(file: BinaryIO, form: _Form, entries: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the tags of a list of contents that `Page` asks for, with their values."""
    for at in range(0, len(entries), form.entry):
        tag, kind, count = struct.unpack_from(f"{form.order}HH{form.place}", entries, at)
        if kind not in _INTEGERS or not COLUMNS <= tag <= FORMAT or not 0 < count <= _MOST_VALUES:
            continue
        field = entries[at + form.entry - struct.calcsize(form.place) : at + form.entry]
        layout = f"{form.order}{count}{_INTEGERS[kind]}"
        size = struct.calcsize(layout)
        if size > len(field):
            field = _read(file, form.number(form.place, field), size)
        if len(field) >= size:
            yield tag, struct.unpack(layout, field[:size])


def _read(file: BinaryIO, place: int, size: int) -> bytes:
    """Return bytes of a file; nothing if it ends before them, whatever a damaged one says of its sizes."""
    if place + size > file.seek(0, 2):
        return b""
    file.seek(place)
    return file.read(size)
