"""Space kept back while a series is written, so that its file can be closed on a full disk."""

from __future__ import annotations

import errno
import logging
import os
import tempfile

from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.storage import RESERVE_BYTES, by_descriptor, closing_bytes
from penstock.receiver.series.running_series import RunningSeries

log = logging.getLogger(__name__)


def bytes_for(series: RunningSeries) -> int:
    """Return the bytes to reserve for closing the file of a series."""
    modules = 0 if series.modules is None else series.modules.modules
    regions = 0 if series.rois is None else len(series.rois.rois)
    parts = 1 + len(series.header.channels or ()) + modules + regions
    return closing_bytes(series.account.planned, parts)


class Reserve:
    """Reserved space.

    Args:
        folder: descriptor of the file's folder, see `storage.open_folder`.
        size: bytes to reserve, see `bytes_for`.

    Raises:
        StorageError: the disk does not even have that much: HDF5 could not close the file.
    """

    def __init__(self, folder: int, size: int = RESERVE_BYTES) -> None:
        self._file = None
        try:
            self._file = tempfile.TemporaryFile(dir=by_descriptor(folder))  # noqa: SIM115 (held until release)
            os.posix_fallocate(self._file.fileno(), 0, size)
        except OSError as error:
            self.release()
            name = os.readlink(by_descriptor(folder))
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageError(
                    "disk_full",
                    f"{name} has no {size / 1e6:.3g} MB left, which are reserved for closing a file "
                    f"({error.strerror}); free some space or choose another folder",
                ) from error
            log.warning("no space reserved in %s: %s", name, error)

    def release(self) -> None:
        """Release the space; may be called again."""
        if self._file is not None:
            self._file.close()
            self._file = None
