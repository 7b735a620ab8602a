"""The journal: which file of which series this receiver has open, so that the next start finds it.

One small JSON file per open file, locked while its writer lives: the kernel releases the lock when the
process dies, however it dies. It is removed when the series' file is closed. Why it lies where it does:
docs/explanation/decisions/0016-a-journal-of-open-files.md.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.contents.nexus import name_of
from penstock.receiver.series.kills import Interruption
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Header

log = logging.getLogger(__name__)

FOLDER = ".penstock"
"""Folder of the journal in the data root, unless another one is configured."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An open file and its series."""

    receiver: str
    filename: str
    """Path on the receiver's host."""
    device: int
    inode: int
    """Identify the file: another file of the same name is not touched."""
    series: str
    started: float
    """Seconds since 1970 (UTC)."""
    header: Header | None = None
    """Header of the start message as received; `None` if the series cannot be resumed."""
    metadata: Mapping[str, Any] = {}
    """Metadata of the same message as received, before the transforms."""
    interruptions: tuple[Interruption, ...] = ()
    was_left: bool = False
    """True if the receiver left the series to the next start, since it was asked to end."""
    failed: str = ""
    """Why the series ended, if only its file could not be closed."""


def state_folder(config: ReceiverConfig) -> Path:
    """Return the folder in which a receiver keeps what its next start needs."""
    return Path(config.state_folder or os.path.join(config.data_root, FOLDER))


def is_resumable(entry: Entry, config: ReceiverConfig) -> bool:
    """Return whether the series of an entry can be resumed."""
    return not why_not_resumable(entry, config)


def why_not_resumable(entry: Entry, config: ReceiverConfig) -> str:
    """Return why the series of an entry cannot be resumed, as the end of a sentence; "" if it can."""
    header = entry.header
    if not config.resume:
        return "resume is false"
    if config.source.join:
        return "only the process that took its modules knows which of them have arrived (source.join)"
    if config.source.frame_origin == "first":
        return "only the process that took its first frame knows that one's number (frame_origin: first)"
    if header is None:
        return "its frames do not name their series, or come in several streams"
    if config.transforms and None in (header.shape, header.type, header.compression):
        # The file has the format behind the transforms, not the one before.
        return "its start message does not announce the format that the transforms need"
    return ""


class Left:
    """An entry whose writer is gone, locked by this process until it is removed or released.

    Args:
        path: of the journal's file.
        descriptor: that holds the lock.
        entry: its content.
    """

    def __init__(self, path: Path, descriptor: int, entry: Entry) -> None:
        self.entry = entry
        self._path = path
        self._descriptor = descriptor

    def remove(self) -> None:
        """Remove the entry: the file has been dealt with."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        self.release()

    def release(self) -> None:
        """Release the lock; the next start finds the entry again unless it was removed."""
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
        self, path: Path, series: RunningSeries, started: float, made_as: Path | None = None
    ) -> None:  # fmt: skip
        """Note a file that is created, or continued. A journal that cannot be written costs no series.

        Args:
            path: of the file.
            series: that goes into it.
            started: seconds since 1970 (UTC).
            made_as: its name until it gets its own.
        """
        self.close()
        entry = self._entry(path, series, started, (made_as or path).stat())
        place = self.folder / f"{name_of(self._name)}-{secrets.token_hex(8)}.json"
        draft = place.with_suffix(".draft")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
                "set state_folder to a local folder that it may write to",
                self._name, self.folder, error.strerror, entry.filename,
            )  # fmt: skip
            return
        self._open = Left(place, descriptor, entry)

    def _entry(
        self, path: Path, series: RunningSeries, started: float, found: os.stat_result
    ) -> Entry:  # fmt: skip
        header = series.sent.header
        # Frames that do not name their series, and modules of several streams, can only be placed by a
        # process that has seen the start of the series.
        known = self._resumable and header.series is not None and header.streams in (None, 1)
        return Entry(
            receiver=self._name, filename=str(path), device=found.st_dev, inode=found.st_ino,
            series=series.id, started=started,
            header=header if known else None, metadata=series.sent.metadata if known else {},
            interruptions=series.interruptions,
        )  # fmt: skip

    def why_not_resumable(self, config: ReceiverConfig) -> str:
        """Return why the next start could not resume the series whose file is open; "" if it could."""
        if self._open is None:
            return f"it is not in the journal in {self.folder}"
        return why_not_resumable(self._open.entry, config)

    def leave(self) -> None:
        """Note that the series whose file is open is left to the next start."""
        if self._open is not None:
            self._write(self._open, msgspec.structs.replace(self._open.entry, was_left=True))

    def close(self) -> None:
        """Remove the entry of the open file, which has been closed."""
        if self._open is not None:
            self._open.remove()
            self._open = None

    def keep(self, reason: str) -> None:
        """Keep the entry for the next start: the series has ended, but its file could not be closed."""
        if self._open is None:
            return
        left, self._open = self._open, None
        self._write(left, msgspec.structs.replace(left.entry, header=None, metadata={}, failed=reason))
        left.release()

    def _write(self, left: Left, entry: Entry) -> None:
        try:
            _write(left._descriptor, entry)
        except OSError as error:
            log.warning("%s: the journal cannot be written: %s", self._name, error.strerror)

    def left(self) -> Iterator[Left]:
        """Yield this receiver's entries whose writer is gone, oldest first.

        Each is locked until it is removed or released.

        Entries whose writer lives, and those that cannot be read, are logged and left.
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
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            entry = msgspec.json.decode(_read(descriptor), type=Entry)
        except BlockingIOError:
            log.warning("%s: another receiver is writing the file of %s; it is left alone", self._name, path)
        except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
            log.error('%s is damaged (%s) and put aside; look for a file "in progress"', path, error)
            with contextlib.suppress(OSError):
                path.rename(path.with_suffix(".damaged"))  # or it would be logged at every start
        else:
            # Two names can give one file name; and somebody may just have removed it.
            if entry.receiver == self._name and os.fstat(descriptor).st_nlink > 0:
                return Left(path, descriptor, entry)
        os.close(descriptor)
        return None


def _write(descriptor: int, entry: Entry) -> None:
    content = msgspec.json.encode(entry)
    os.pwrite(descriptor, content, 0)
    os.ftruncate(descriptor, len(content))


def _read(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
