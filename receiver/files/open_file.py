"""The open file of a series: its name, its lease, and the space reserved for closing it."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from pathlib import Path
from typing import Any

from penstock.receiver.files import lease, storage
from penstock.receiver.files.reserve import Reserve
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.disk.disk_file import DiskFile

log = logging.getLogger(__name__)


class OpenFile:
    """The file that `create` makes, or that `adopt` takes over from a writer that died.

    Args:
        path: final path of the file.
        folder: descriptor of its folder, see `storage.open_folder`.
        reserve: bytes to reserve for closing it, see `reserve.bytes_for`.

    Raises:
        StorageError: the disk does not even have the space reserved for closing a file.
    """

    file: Any
    """The h5py file."""
    disk: DiskFile
    """The file as HDF5 reads and writes it."""

    def __init__(self, path: Path, folder: int, reserve: int) -> None:
        self.path = path
        self._lease = -1
        self._reserve: Reserve | None = Reserve(folder, reserve)

    def create(self, folder: int, *, swmr: bool) -> str:
        """Create the file under a temporary name and return that name.

        The file gets its own name once it can be read: a process killed before that leaves the name free.

        Raises:
            OSError, RuntimeError: the file cannot be created; nothing is left of it.
        """
        draft = f".penstock-{secrets.token_hex(8)}.draft"
        # Relative to the open folder, not by path: see `storage.open_folder`.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o666, dir_fd=folder)
        try:
            # Newer bounds only for SWMR, which needs them: after a kill all readers would refuse the file.
            bounds = disk_file.SWMR_VERSIONS if swmr else None
            self.adopt(disk_file.open_file(descriptor, self.path.with_name(draft), "w", bounds))
        except (OSError, RuntimeError):
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        return draft

    def give_name(self, draft: str, folder: int, *, replace: bool) -> None:
        """Give the file its own name; see `storage.give_name`."""
        disk_file.flush(self.file)
        storage.give_name(draft, self.path.name, folder, replace=replace)
        self.disk.path = self.path

    def adopt(self, file: Any) -> None:
        """Take over an open h5py file."""
        self.file, self.disk = file, disk_file.disk_of(file)

    def hold_lease(self) -> None:
        """Take the lease: from now on no other process replaces the file, or takes it for abandoned.

        Raises:
            OSError: the file cannot be opened again.
        """
        self._lease = lease.hold(self.disk.descriptor)

    def is_in_place(self) -> bool:
        """Return whether the path still names this file."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self.disk.descriptor))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def start_swmr(self) -> None:
        """Let others read the file while it grows; no objects can be created in it any more."""
        disk_file.flush(self.file)
        self.disk.at_once = True
        self.file.swmr_mode = True

    def end_swmr(self) -> None:
        """Reopen the file without SWMR, which allows neither texts nor new objects."""
        descriptor = os.dup(self.disk.descriptor)  # the same file, whatever the path names by now
        try:
            disk_file.close(self.file)
        except BaseException:
            os.close(descriptor)
            raise
        self.adopt(disk_file.open_file(descriptor, self.path, "r+", disk_file.SWMR_VERSIONS))

    def release_reserve(self) -> None:
        """Release the space reserved for closing the file; may be called again."""
        if self._reserve is not None:
            self._reserve.release()
            self._reserve = None

    def close_quietly(self) -> None:
        """Close the file after a failure that is reported already; a second error is only logged."""
        if not self.file:
            return
        try:
            disk_file.close(self.file)
        except (OSError, RuntimeError) as error:
            log.error("closing %s after a failure failed too: %s", self.path, error)

    def release_lease(self) -> None:
        """Release the lease; may be called again."""
        if self._lease >= 0:
            os.close(self._lease)
            self._lease = -1
