"""The file of a matrix: a line of JSON, then arrays, which all workers of a host map into their memory."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

MAGIC = b"penstock azimuthal\n"
ALIGNED = 64
"""Bytes: each array begins at a multiple of it."""


BINS, COUNTS = ("<i2", "<i4"), ("u1", "<u4")
"""Types of bins and of counts; the first that holds all numbers is taken."""


def small(highest: int, kinds: Sequence[str]) -> str:
    """Return the first of some types of integers that holds a number."""
    return next(kind for kind in kinds if highest <= np.iinfo(kind).max)


class DamagedFileError(Exception):
    """A file is no whole matrix; it has to be made anew."""


class Matrix(NamedTuple):
    """A sparse matrix that sums pixels into bins, in the order of the pixels; and what sums are divided by.

    Of a cake, bins are in C order of (azimuth, radius).
    """

    weights: np.ndarray[Any, Any]
    """float32, (entries,): the part of a pixel that lies in a bin."""
    bins: np.ndarray[Any, Any]
    """Integers, (entries,): that bin."""
    counts: np.ndarray[Any, Any]
    """Unsigned integers, (pixels,): how many entries each pixel of the image as one line has, one behind the
    other; 0: it does not count."""
    norm: np.ndarray[Any, Any]
    """float64, (bins,): sum of weights times what each pixel is divided by; 0: no pixel is in the bin."""
    dark: np.ndarray[Any, Any]
    """float64, (bins,): sum of weights times dark."""
    divisor: np.ndarray[Any, Any]
    """float32, (pixels,): solid angle x polarisation x flat field."""
    dark_image: np.ndarray[Any, Any]
    """float32, (pixels,), or (0,) without a dark."""
    radial_edges: np.ndarray[Any, Any]
    """float64, (points + 1,): between the bins, in the plan's unit."""
    azimuth_edges: np.ndarray[Any, Any]
    """float64, (azimuth points + 1,), in degrees; (0,) of one curve."""

    @property
    def radial(self) -> np.ndarray[Any, Any]:
        """The middle of each bin."""
        return np.asarray((self.radial_edges[1:] + self.radial_edges[:-1]) / 2)

    @property
    def azimuth(self) -> np.ndarray[Any, Any]:
        """The middle of each sector; (0,) of one curve."""
        return np.asarray((self.azimuth_edges[1:] + self.azimuth_edges[:-1]) / 2)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a result."""
        points, sectors = len(self.radial_edges) - 1, len(self.azimuth_edges) - 1
        return (sectors, points) if sectors > 0 else (points,)


class _Head(msgspec.Struct):
    arrays: dict[str, tuple[str, int, int]]
    """Type, number of elements and offset in bytes, by name."""
    poni: str
    """The geometry as the text of a .poni file."""
    size: int
    """Size of the file, in bytes."""


def write(path: Path, matrix: Matrix, poni: str) -> None:
    """Write a matrix into a new file.

    Args:
        path: of the file.
        matrix: what is written.
        poni: the geometry as the text of a .poni file.

    Raises:
        OSError: it cannot be written.
    """
    offset = 4096 + len(poni.encode()) * 2  # room for the head
    offset += -offset % ALIGNED
    arrays: dict[str, tuple[str, int, int]] = {}
    for name, array in matrix._asdict().items():
        arrays[name] = (array.dtype.str, array.size, offset)
        offset += array.nbytes + -array.nbytes % ALIGNED
    head = MAGIC + msgspec.json.encode(_Head(arrays, poni, offset)) + b"\n"
    with path.open("xb") as file:
        file.write(head)
        for name, array in matrix._asdict().items():
            file.seek(arrays[name][2])
            file.write(np.ascontiguousarray(array).data)
        file.truncate(offset)
        file.flush()
        os.fsync(file.fileno())  # or the name might be kept without the content, if the power fails


def read(path: Path) -> tuple[Matrix, str]:
    """Map a matrix into memory, read-only; return it with its geometry as the text of a .poni file.

    Raises:
        FileNotFoundError: there is none.
        DamagedFileError: it is not whole.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        first = file.readline()
        try:
            head = msgspec.json.decode(file.readline(), type=_Head)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DamagedFileError(f"{path} is no matrix: {error}") from error
        if first != MAGIC or head.size != size or set(head.arrays) != set(Matrix._fields):
            raise DamagedFileError(f"{path} is no whole matrix")
        # All of it will be read: so the first frame does not wait for page faults.
        flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
        memory = mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ)
    found = Matrix(**_arrays(memory, head.arrays))
    if not _is_sound(found):
        raise DamagedFileError(f"{path} has entries that are in no bin")
    return found, head.poni


def _is_sound(matrix: Matrix) -> bool:
    """Return whether a product stays within the arrays, which compiled code does not check."""
    bins = matrix.bins
    return int(matrix.counts.sum()) == len(bins) == len(matrix.weights) and (
        not len(bins) or (int(bins.min()) >= 0 and int(bins.max()) < len(matrix.norm))
    )


def _arrays(memory: Any, described: Mapping[str, tuple[str, int, int]]) -> dict[str, Any]:
    return {
        name: np.frombuffer(memory, dtype, count, offset)
        for name, (dtype, count, offset) in described.items()
    }
