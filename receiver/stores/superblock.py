"""The end of an HDF5 file whose writer died, put behind everything that was ever written to it."""

from __future__ import annotations

import os
import struct

SIGNATURE = b"\x89HDF\r\n\x1a\n\0"
"""Of a file with a superblock of version 0, which HDF5's default bounds give (HDF5 file format, II.A)."""
END_AT = 40
"""Place of the end-of-file address there, for addresses of eight bytes and no user block."""


def put_end_behind(path: str | os.PathLike[str]) -> None:
    """As `h5clear --filesize` does: what HDF5 writes next must not lie where its index, which is written in
    no particular order, may name a frame.

    Raises:
        OSError: the file cannot be written.
    """
    with open(path, "r+b") as file:
        head = file.read(END_AT + 8)
        size = os.fstat(file.fileno()).st_size
        if head[:9] == SIGNATURE and head[13] == 8 and struct.unpack_from("<Q", head, END_AT)[0] < size:
            os.pwrite(file.fileno(), struct.pack("<Q", size), END_AT)
