"""The journal: which file of which series this receiver has open, so that the next start finds it.

One small JSON file for each open file, locked as long as its writer lives: the kernel lets go of the lock
when the process dies, however it dies. Removed when the series' file is closed. Why it lies where it does:
docs/explanation/decisions/0016-a-journal-of-open-files.md.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import secrets
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.nexus import name_of
from penstock.receiver.files.stores.file_locks import NO_LOCKS
from penstock.receiver.series.running_series import Interruption, RunningSeries
from penstock.stins.messages import Header

log = logging.getLogger(__name__)

FOLDER = ".penstock"
"""In the data root, where no other folder is configured."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an open file."""

    receiver: str
    filename: str
    """As the receiver sees it."""
    device: int
    inode: int
    """Which file that was: another one of that name is not touched."""
    series: str
    started: float
    """Seconds since 1970 (UTC)."""
    host: str
    pid: int
    """Of the process that writes it; counts only where the file system has no locks."""
    header: Header | None = None
    """Of the start message as it came; `None` where the series cannot be taken up again."""
    metadata: Mapping[str, Any] = {}
    """Of the same message: the transforms turn it again."""
    interruptions: tuple[Interruption, ...] = ()
    draft: str = ""
    """Name that the file had until it could be read."""
    failed: str = ""
    """Why the series ended, where only the file could not be closed."""


def state_folder(config: ReceiverConfig) -> Path:
    """Where a receiver keeps what the next start has to know."""
    return Path(config.state_folder or os.path.join(config.data_root, FOLDER))


def is_resumable(entry: Entry, config: ReceiverConfig) -> bool:
    """Return whether its series can be taken up again."""
    header = entry.header
    if header is None or not config.resume or config.source.join:
        return False  # which modules of a frame are there, only the process that was killed knew
    # What the transforms made of the first frame stands in the file, what it was before does not.
    return not config.transforms or None not in (header.shape, header.type, header.compression)


class Left:
    """An entry whose writer is gone, locked by this process until it is removed or released.

    Args:
        path: of the journal's file.
        descriptor: that holds the lock.
        entry: what stands in it.
    """

    def __init__(self, path: Path, descriptor: int, entry: Entry) -> None:
        self.entry = entry
        self._path = path
        self._descriptor = descriptor

    def remove(self) -> None:
        """The file has been dealt with: nobody looks for it again."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        self.release()

    def release(self) -> None:
        """Let go of it; the next start finds it again, unless it is removed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Journal:
    """The open files of one receiver.

    Args:
        name: of the receiver.
        config: says where the journal lies.
    """

    def __init__(self, name: str, config: ReceiverConfig) -> None:
        self.folder = state_folder(config)
        self._name = name
        self._resumable = config.source.type == "stins" and config.source.join is None
        self._open: Left | None = None

    def enter(
        self, path: Path, series: RunningSeries, started: float, draft: Path | None = None
    ) -> None:  # fmt: skip
        """A file was begun, or taken up again. A journal that cannot be written costs no series.

        Args:
            path: of the file.
            series: that goes into it.
            started: seconds since 1970 (UTC).
            draft: where it is made, before it gets its name.
        """
        self.close()
        entry = self._entry(path, series, started, draft)
        place = self.folder / f"{name_of(self._name)}-{secrets.token_hex(8)}.json"
        draft = place.with_suffix(".draft")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                _lock(descriptor)
                _write(descriptor, entry)
                os.rename(draft, place)
            except BaseException:
                os.close(descriptor)
                with contextlib.suppress(OSError):
                    draft.unlink()
                raise
        except OSError as error:
            log.warning(
                "%s keeps no journal in %s (%s): after its death %s would stay \"in progress\"; "
                "set state_folder to a folder that it may write to",
                self._name, self.folder, error.strerror, entry.filename,
            )  # fmt: skip
            return
        self._open = Left(place, descriptor, entry)

    def _entry(self, path: Path, series: RunningSeries, started: float, draft: Path | None) -> Entry:
        found = (draft or path).stat()
        header = series.sent.header
        # Frames that do not name their series, and modules of several streams, cannot be placed by
        # somebody who has not seen the beginning.
        known = self._resumable and header.series is not None and header.streams in (None, 1)
        return Entry(
            receiver=self._name, filename=str(path), device=found.st_dev, inode=found.st_ino,
            series=series.id, started=started, host=socket.gethostname(), pid=os.getpid(),
            header=header if known else None, metadata=series.sent.metadata if known else {},
            interruptions=series.interruptions, draft=str(draft or ""),
        )  # fmt: skip

    def is_resumable(self, config: ReceiverConfig) -> bool:
        """Return whether the next start could go on with the series whose file is open."""
        return self._open is not None and is_resumable(self._open.entry, config)

    def close(self) -> None:
        """The file of the running series is closed."""
        if self._open is not None:
            self._open.remove()
            self._open = None

    def keep(self, reason: str) -> None:
        """The series has ended, but its file could not be closed: the next start shall try again."""
        if self._open is None:
            return
        left, self._open = self._open, None
        failed = msgspec.structs.replace(left.entry, header=None, metadata={}, failed=reason)
        try:
            _write(left._descriptor, failed)
        except OSError as error:
            log.warning("%s: the journal cannot be written: %s", self._name, error.strerror)
        left.release()

    def left(self) -> Iterator[Left]:
        """Entries of this receiver whose writer is gone, oldest first; each is locked until it is removed
        or released.

        One whose writer lives, here or on another host, and one that cannot be read are said and left.
        """
        try:
            paths = sorted(self.folder.glob(f"{name_of(self._name)}-*.json"), key=os.path.getmtime)
        except OSError as error:
            log.warning("%s cannot read its journal in %s: %s", self._name, self.folder, error.strerror)
            return
        for path in paths:
            if (left := self._claim(path)) is not None:
                yield left

    def _claim(self, path: Path) -> Left | None:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            if error.errno != errno.ENOENT:
                log.warning("%s cannot read %s of its journal: %s", self._name, path, error.strerror)
            return None
        try:
            locked = _lock(descriptor)
            entry = msgspec.json.decode(_read(descriptor), type=Entry)
        except BlockingIOError:
            log.warning("%s: another receiver writes the file of %s; it is left alone", self._name, path)
        except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
            log.error('%s is damaged (%s) and put aside; look for a file "in progress"', path, error)
            with contextlib.suppress(OSError):
                path.rename(path.with_suffix(".damaged"))  # else it would be said at every start
        else:
            if entry.receiver != self._name or os.fstat(descriptor).st_nlink == 0:
                pass  # two names can give one file name; or somebody has just removed it
            elif locked or not _lives(entry):
                return Left(path, descriptor, entry)
            else:
                log.warning(
                    "%s: %s may still be written by process %d on %s, and %s has no locks that would say so; "
                    "it is left alone. If that process is gone remove %s; set state_folder to a local folder",
                    self._name, entry.filename, entry.pid, entry.host, self.folder, path,
                )  # fmt: skip
        os.close(descriptor)
        return None


def _lock(descriptor: int) -> bool:
    """Return whether it is locked now; `False` where the file system has no locks.

    Raises:
        BlockingIOError: another process has the lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True


def _lives(entry: Entry) -> bool:
    """Without locks: whether the process of an entry may live; on another host nobody knows."""
    return entry.host != socket.gethostname() or Path(f"/proc/{entry.pid}").exists()


def _write(descriptor: int, entry: Entry) -> None:
    content = msgspec.json.encode(entry)
    os.pwrite(descriptor, content, 0)
    os.ftruncate(descriptor, len(content))


def _read(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
