"""The file of a series while it is open: its names, its lease, the space that is kept back to close it."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import Any

from penstock.receiver.files import lease, storage
from penstock.receiver.files.stores import disk_file
from penstock.receiver.files.stores.disk_file import DiskFile

log = logging.getLogger(__name__)


class OpenFile:
    """A file that `create` makes, or that `adopt` takes over from a writer that died.

    Args:
        path: its own name.
        folder: descriptor of its folder, see `storage.open_folder`.

    Raises:
        StorageError: the disk has not even the space that is kept back to close a file.
    """

    file: Any
    """As h5py has it."""
    disk: DiskFile
    """What HDF5 writes it by."""

    def __init__(self, path: Path, folder: int) -> None:
        self.path = path
        self._lease = -1
        self._reserve: storage.Reserve | None = storage.Reserve(folder)

    def create(self, folder: int, *, swmr: bool) -> str:
        """Create it under another name, which is returned: it gets its own when it can be read, so that a
        process that is killed meanwhile leaves that free.

        Raises:
            OSError, RuntimeError: it cannot be created; nothing is left of it.
        """
        draft = storage.draft_name()
        # By the folder that was found, not by its name: see `storage.open_folder`.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o666, dir_fd=folder)
        try:
            # Newer bounds only where SWMR asks for them: every reader would refuse the file after a kill.
            bounds = "latest" if swmr else None
            self.adopt(disk_file.open_file(descriptor, self.path.with_name(draft), "w", bounds))
        except (OSError, RuntimeError):
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        return draft

    def give_name(self, draft: str, folder: int, *, replace: bool) -> None:
        """Let it appear under its own name; see `storage.give_name`."""
        disk_file.flush(self.file)
        storage.give_name(draft, self.path.name, folder, replace=replace)
        self.disk.path = self.path

    def adopt(self, file: Any) -> None:
        """Take an open h5py file over."""
        self.file, self.disk = file, disk_file.disk_of(file)

    def hold_lease(self) -> None:
        """Nobody else replaces the file, or takes it for left behind, from now on.

        Raises:
            OSError: it cannot be opened again.
        """
        self._lease = lease.hold(self.disk.descriptor)

    def is_in_place(self) -> bool:
        """Return whether the file still has its name, and no other file has it."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self.disk.descriptor))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def start_swmr(self) -> None:
        """From now on the file may be read while it grows, and nothing can be created in it any more."""
        disk_file.flush(self.file)
        self.disk.at_once = True
        self.file.swmr_mode = True

    def end_swmr(self) -> None:
        """Open the file anew without SWMR: texts and new objects are not for SWMR."""
        descriptor = os.dup(self.disk.descriptor)  # the same file, whatever has its name by now
        try:
            disk_file.close(self.file)
        except BaseException:
            os.close(descriptor)
            raise
        self.adopt(disk_file.open_file(descriptor, self.path, "r+", "latest"))

    def release_reserve(self) -> None:
        """Give the space back that is kept for closing the file; again, it does nothing."""
        if self._reserve is not None:
            self._reserve.release()
            self._reserve = None

    def close_quietly(self) -> None:
        """Close after a failure that is reported already; a second error would only hide the first."""
        if not self.file:
            return
        try:
            disk_file.close(self.file)
        except (OSError, RuntimeError) as error:
            log.error("closing %s after a failure failed too: %s", self.path, error)

    def release_lease(self) -> None:
        """Let others have the file; again, it does nothing."""
        if self._lease >= 0:
            os.close(self._lease)
            self._lease = -1
