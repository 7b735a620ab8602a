"""One data file of a series, as a process of its own writes it."""

from __future__ import annotations

from contextlib import suppress

import hdf5plugin

from penstock.receiver.files.stores import disk_file
from penstock.receiver.files.stores.messages import DATASET, OpenDataFile
from penstock.receiver.files.stores.side_file import SideFile
from penstock.receiver.files.stores.space import make_room, refuse_over_limit
from penstock.receiver.processing.fill_value import fill_value

ROWS_PER_STEP = 1024
ROOM_BYTES = 2**18
"""What a flush, or the end, may need: the index of the chunks."""


class DataFile:
    """A `writer_program.Target`: a file with one dataset, frames at their rows.

    Args:
        what: its name, and what its frames look like.
        folder: descriptor of its folder.

    Raises:
        FileExistsError: there is such a file.
        OSError, RuntimeError, ValueError: it cannot be created; nothing of it is left.
    """

    def __init__(self, what: OpenDataFile, folder: int) -> None:
        # It is locked as long as it is open, so that nobody cuts it meanwhile; see `data_files.cut`.
        self._side = SideFile(folder, what.name)
        try:
            self._dataset = self._side.group.create_dataset(
                "data", (0, *what.shape), what.dtype, maxshape=(None, *what.shape),
                chunks=(1, *what.shape),
                fillvalue=fill_value(what.dtype),
                **(dict(hdf5plugin.Bitshuffle(cname="lz4")) if what.compressed else {}),
            )  # fmt: skip
            self._dataset.attrs["units"] = "counts"
            disk_file.flush(self._side.file)
        except BaseException:
            self._side.discard()
            raise
        self._write_chunk = self._dataset.id.write_direct_chunk
        self._disk = self._side.disk
        self._rows = 0

    def write(self, place: int, blob: memoryview, mask: int) -> None:
        """Write a blob to this row."""
        if place >= self._rows:
            self._rows = max(place + 1, self._rows + ROWS_PER_STEP, self._rows + self._rows // 2)
            self._dataset.resize(self._rows, axis=0)
        refuse_over_limit(self._side.file, len(blob))
        self._disk.frame = blob
        self._write_chunk((place, 0, 0), blob, mask)
        self._disk.frame = None
        self._disk.check()

    def where(self, place: int) -> tuple[int, int, int]:
        """Offset, bytes and filter mask of the blob of a row."""
        chunk = self._side.file[DATASET].id.get_chunk_info_by_coord((place, 0, 0))
        return chunk.byte_offset, chunk.size, chunk.filter_mask

    def flush(self) -> None:
        """Hand everything to the kernel."""
        make_room(self._disk.descriptor, ROOM_BYTES)
        disk_file.flush(self._side.file)

    def close(self, rows: int | None, *, failed: bool) -> None:
        """Cut the dataset to so many rows, and close the file."""
        try:
            if rows is not None:
                if failed and self._rows:
                    with suppress(OSError):  # see `ChunkedStore.finish`
                        self._dataset[(0,) * self._dataset.ndim]
                self._dataset.resize(rows, axis=0)
        finally:
            self._side.close()
