"""The first bytes of an HDF5 file, repaired after its writer died so that the file can be continued.

HDF5's own `h5clear` does the same (`--filesize`, `--status`), but h5py's wheels do not have it. Layouts: HDF5
file format specification, II.A.
"""

from __future__ import annotations

import os
import stat
import struct
from typing import Any

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""First bytes of an HDF5 file. Source: HDF5 file format specification, II.A."""
HEAD = 48
"""Smallest size of a superblock. HDF5 writes it last; until then these bytes are zeros, or missing."""
FOR_SWMR = 3
"""Version of the superblock for SWMR; with HDF5's default bounds it is 0."""
V0_END = 40
V3_FLAGS, V3_END, V3_CHECKSUM = 11, 28, 44
WRITTEN, SWMR = 1, 4
"""Flags of a superblock of version 3."""


def can_be_torn(path: str | os.PathLike[str], folder: int | None = None) -> bool:
    """Return whether a killed writer may have left a file: it is empty, or begins with zeros or as HDF5.

    Args:
        path: path of the file.
        folder: descriptor of the folder to which a relative path refers.

    Returns:
        `False` also for anything that is no regular file or cannot be read.
    """
    try:  # without O_NONBLOCK, opening a pipe would wait
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        head = os.pread(descriptor, HEAD, 0)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return head.startswith(SIGNATURE) or not head.strip(b"\0")


def version_of(path: str | os.PathLike[str]) -> int | None:
    """Return the version of the superblock; `None` without one, or if addresses do not have eight bytes."""
    with open(path, "rb") as file:
        return _version(file.read(HEAD))


def is_followed(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is marked as open for SWMR: it was not closed."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
    return _version(head) == FOR_SWMR and bool(head[V3_FLAGS] & SWMR)


def repair(path: str | os.PathLike[str]) -> None:
    """Set the end of the file behind all that was ever written, and clear the mark of an open file.

    HDF5 must not write where its index, which is written in no particular order, may refer to a frame; and it
    refuses an SWMR file that was not closed.

    Raises:
        OSError: the file cannot be written.
    """
    with open(path, "r+b") as file:
        head = bytearray(file.read(HEAD))
        size = os.fstat(file.fileno()).st_size
        match _version(head):
            case 0 if struct.unpack_from("<Q", head, V0_END)[0] < size:
                struct.pack_into("<Q", head, V0_END, size)
            case 3:
                head[V3_FLAGS] = 0
                struct.pack_into("<Q", head, V3_END, max(size, *struct.unpack_from("<Q", head, V3_END)))
                _add_checksum(head)
            case _:
                return
        os.pwrite(file.fileno(), head, 0)


def put_end_ahead(file: Any, descriptor: int) -> None:
    """Set the end of file in the superblock to its new value before an open h5py file is flushed.

    HDF5 writes its superblock last. After a kill before that, nodes of the index would lie beyond the end of
    the file, and readers would refuse even frames that were flushed long ago.

    Raises:
        OSError: the file cannot be written.
    """
    end = file.id.get_filesize()
    if os.fstat(descriptor).st_size < end:
        os.ftruncate(descriptor, end)  # a file shorter than its superblock says cannot be opened
    head = os.pread(descriptor, HEAD, 0)
    match _version(head):
        case 0 if struct.unpack_from("<Q", head, V0_END)[0] < end:
            os.pwrite(descriptor, struct.pack("<Q", end), V0_END)
        case 3 if struct.unpack_from("<Q", head, V3_END)[0] < end and not head[V3_FLAGS] & SWMR:
            ahead = bytearray(head)
            struct.pack_into("<Q", ahead, V3_END, end)
            _add_checksum(ahead)
            os.pwrite(descriptor, ahead, 0)


def marked_for_swmr(written: bytes) -> bytes:
    """Return HDF5's write to the beginning of a file with the mark of an open file added if it is for SWMR:
    HDF5 sets that mark for its own drivers only, and readers refuse the file without it."""
    if len(written) < HEAD or _version(written[:HEAD]) != FOR_SWMR or not written[V3_FLAGS] & SWMR:
        return written
    head = bytearray(written)
    head[V3_FLAGS] |= WRITTEN
    _add_checksum(head)
    return bytes(head)


def _version(head: bytes | bytearray) -> int | None:
    if len(head) < HEAD or head[:8] != SIGNATURE:
        return None
    return head[8] if head[{0: 13, 2: 9, 3: 9}.get(head[8], 8)] == 8 else None


def _add_checksum(head: bytearray) -> None:
    struct.pack_into("<I", head, V3_CHECKSUM, _lookup3(bytes(head[:V3_CHECKSUM])))


def _lookup3(data: bytes) -> int:
    """Return Bob Jenkins' hash, the checksum of HDF5's metadata (lookup3.c, `hashlittle`, start value 0)."""

    def rotated(value: int, bits: int) -> int:
        return (value << bits | value >> 32 - bits) & 0xFFFFFFFF

    a = b = c = 0xDEADBEEF + len(data) & 0xFFFFFFFF
    whole = data + bytes(-len(data) % 12)
    for place in range(0, len(whole), 12):
        x, y, z = struct.unpack_from("<III", whole, place)
        a, b, c = a + x & 0xFFFFFFFF, b + y & 0xFFFFFFFF, c + z & 0xFFFFFFFF
        if place + 12 >= len(data):
            break
        for bits in (4, 6, 8, 16, 19, 4):
            a = (a - c & 0xFFFFFFFF) ^ rotated(c, bits)
            a, b, c = b, c + b & 0xFFFFFFFF, a
    for bits in (14, 11, 25, 16, 4, 14):
        c = (c ^ b) - rotated(b, bits) & 0xFFFFFFFF
        a, b, c = b, c, a
    return (c ^ b) - rotated(b, 24) & 0xFFFFFFFF
