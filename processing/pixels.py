"""The pixels of a frame for user code: not copied where they are plain, and never writable.

The memory of the pixels is used again for another frame as soon as this one is over: the receiver's shared
memory, or a buffer of the worker's. So a view of it that user code keeps would show another frame: it is
noticed when the frame is over. NumPy's views of views all hold the array that was made from the buffer, so
the frame is over if nothing holds that array any more; `memoryview.release` would not notice them.
"""

from __future__ import annotations

import gc
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from penstock.codecs.packed import CODECS
from penstock.codecs.pixel_type import fill_value, pixel_type
from penstock.stins.blobs import blob_layout
from penstock.stins.messages import Buffer, Image
from penstock.stins.texts import plural


class Stored(ABC):
    """A blob that lies in a file: it is read when the pixels are asked for."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int:
        """Return its bytes."""

    @abstractmethod
    def read_into(self, room: np.ndarray[Any, Any]) -> None:
        """Read it into a buffer of as many bytes, uint8.

        Raises:
            ValueError: it cannot be read.
        """


Blob: TypeAlias = "Buffer | Stored"


class Pool:
    """Buffers into which frames are read and unpacked, used again so that their memory is touched already."""

    MOST = 64
    """Most buffers that wait to be used again."""

    def __init__(self) -> None:
        self._free: list[np.ndarray[Any, Any]] = []
        self._packed = np.empty(0, np.uint8)

    def take(self, nbytes: int) -> np.ndarray[Any, Any]:
        """Return a buffer of so many bytes, uint8."""
        if self._free and self._free[-1].nbytes != nbytes:
            self._free.clear()  # another series, of other frames
        return self._free.pop() if self._free else np.empty(nbytes, np.uint8)

    def packed(self, nbytes: int) -> np.ndarray[Any, Any]:
        """Return a buffer for a packed blob, which is used for the next one."""
        if self._packed.nbytes < nbytes:
            self._packed = np.empty(nbytes, np.uint8)
        return self._packed[:nbytes]

    def give(self, buffer: np.ndarray[Any, Any]) -> None:
        """Take a buffer back that nobody else uses."""
        if len(self._free) < self.MOST:
            self._free.append(buffer)


class Pixels:
    """The pixels of one frame, in memory that is used again.

    Args:
        image: header of the frame.
        blobs: its blobs; that of a missing module or channel is empty, and its pixels have the fill value.
        pool: buffers for what has to be read, unpacked or joined.

    Raises:
        ValueError: a blob is not what the header says, or cannot be read or unpacked.
    """

    def __init__(self, image: Image, blobs: Sequence[Blob], pool: Pool) -> None:
        count, nbytes = blob_layout(image.shape, image.type, len(blobs))
        if len(blobs) != count:
            raise ValueError(f"{plural(len(blobs), 'blob')}, {count} expected")
        kind = pixel_type(image.type)
        self._pool = pool
        self._buffer: np.ndarray[Any, Any] | None = None
        self._memory = None if image.compression != "none" else _adjacent(blobs, nbytes)
        if self._memory is None:
            self._buffer = buffer = pool.take(count * nbytes)
            for place, blob in enumerate(blobs):
                part = buffer[place * nbytes : (place + 1) * nbytes]
                _unpack(image, blob, part.view(kind), pool)
            self._memory = buffer.data.toreadonly()
        base: np.ndarray[Any, Any] = np.frombuffer(self._memory, kind)
        self._base = weakref.ref(base)
        self.array: np.ndarray[Any, Any] | None = base.reshape(image.shape)
        """Shape [rows, cols], or [k, rows, cols]; `None` once the frame is over."""

    def place(self, value: np.ndarray[Any, Any]) -> Place | None:
        """Return where in the pixels a view lies; `None` if it is no view of them."""
        base = self._base()
        if base is None or not np.may_share_memory(base, value):
            return None
        offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return Place(self, offset, value)

    def end(self) -> bool:
        """Let go of the pixels; return whether somebody keeps a view of them.

        What is kept in a cycle of garbage alone is not kept.
        """
        self.array = None
        is_kept = self._base() is not None and not any(_is_gone(self._base, age) for age in range(3))
        if self._buffer is not None and is_kept:
            self._buffer = None  # it is left to the one who keeps it
        return is_kept

    def recycle(self) -> None:
        """Give the buffer back; places in the pixels are not valid any more."""
        self._memory = None
        if self._buffer is not None:
            self._pool.give(self._buffer)
            self._buffer = None


class Place:
    """A view of a frame's pixels that does not hold them: it is made again when it is needed."""

    __slots__ = ("_dtype", "_offset", "_pixels", "_shape", "_strides")

    def __init__(self, pixels: Pixels, offset: int, view: np.ndarray[Any, Any]) -> None:
        self._pixels = pixels
        self._offset = offset
        self._shape, self._strides, self._dtype = view.shape, view.strides, view.dtype

    def view(self) -> np.ndarray[Any, Any]:
        """Return the view again; to be used before `Pixels.recycle`."""
        memory = self._pixels._memory
        assert memory is not None
        return np.ndarray(self._shape, self._dtype, memory, self._offset, self._strides)


def _adjacent(blobs: Sequence[Blob], nbytes: int) -> memoryview | None:
    """Return plain blobs as one piece of memory, if they are: those in shared memory are.

    Raises:
        ValueError: a blob has another length.
    """
    for blob in blobs:
        if len(blob) != nbytes and (len(blob) or len(blobs) == 1):
            raise ValueError(f"blob of {plural(len(blob), 'byte')}, {nbytes} expected")
    views = [memoryview(blob) for blob in blobs if not isinstance(blob, Stored)]
    if len(views) != len(blobs):
        return None
    first = views[0].toreadonly()
    if len(views) == 1:
        return first
    if not all(len(view) and view.obj is first.obj for view in views):
        return None
    owner: Any = first.obj
    whole = np.frombuffer(owner, np.uint8)
    start = whole.__array_interface__["data"][0]
    at = [np.frombuffer(view, np.uint8).__array_interface__["data"][0] - start for view in views]
    if any(each != at[0] + place * nbytes for place, each in enumerate(at)):
        return None
    return memoryview(owner).cast("B")[at[0] : at[0] + len(blobs) * nbytes].toreadonly()


def _unpack(image: Image, blob: Blob, out: np.ndarray[Any, Any], pool: Pool) -> None:
    if not len(blob):
        out[:] = fill_value(image.type)
        return
    if isinstance(blob, Stored):
        is_plain = image.compression == "none"
        room = out.view(np.uint8) if is_plain else pool.packed(len(blob))
        blob.read_into(room)
        if is_plain:
            return
        blob = room.data
    if image.compression == "none":
        out[:] = np.frombuffer(blob, out.dtype)
    elif (codec := CODECS.get(image.compression)) is not None:
        codec.decompress_into(blob, out)
    else:
        raise ValueError(f'compression "{image.compression}"; known are none, {", ".join(CODECS)}')


def _is_gone(base: weakref.ref[np.ndarray[Any, Any]], age: int) -> bool:
    gc.collect(age)
    return base() is None
