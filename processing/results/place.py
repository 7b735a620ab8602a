"""The file in its folder: its name, its lock, and how another one takes its place.

Two hidden files lie beside a result file while it is written: `.NAME.lock`, which its one writer holds, and
`.NAME.totals`, see `accumulated`. A third, `.NAME.new`, will take the file's place, milliseconds later. A
file that is to replace an older one is `.NAME.begun` until its first frame is done, or it is finished.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.processing.results.errors import ResultError, not_written
from penstock.processing.results.sparse import NO_SUCH_CALL, copy_data

SUFFIXES = (".h5", ".hdf5", ".nxs", ".hdf", ".nx5")
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Errors of file systems without hard links."""
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


def path_for(raw: Path | None, pipeline: str, results_root: str = "", series: str = "") -> Path | None:
    """Return the path of the result file of a series: `x.spots.h5` for `x.h5` and the pipeline `spots`.

    Args:
        raw: file of the series; `None` if it has none.
        pipeline: name of the pipeline.
        results_root: folder of all result files; "" for that of the raw file.
        series: id of the series, by which the file is called if there is no raw file.

    Returns:
        `None` if there is neither a raw file nor a `results_root`.
    """
    if raw is None:
        return Path(results_root, f"{series or 'series'}.{pipeline}.h5") if results_root else None
    stem = raw.stem if raw.suffix in SUFFIXES else raw.name
    return Path(results_root or raw.parent, f"{stem}.{pipeline}.h5")


class Place:
    """The name of a result file, held by one writer.

    Args:
        path: of the result file.

    Raises:
        ResultError: another process writes the file, or the folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at = path
        """Path of the file now; another one than `path` as long as an older file keeps that."""
        self.draft = path.with_name(f".{path.name}.new")
        self.totals = path.with_name(f".{path.name}.totals")
        self._lock = _lock_of(path)
        self._held = -1
        while self._held < 0:
            self._held = self._try()
        for left in (self.draft, draft_of(self.totals), begun_of(path)):
            _remove(left)

    def _try(self) -> int:
        """Return the lock's descriptor; -1 if another process has just removed the file."""
        try:
            held = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise not_written(self.path, "the file", error) from error
        try:
            _lock(held)
            if not os.path.samestat(os.fstat(held), os.stat(self._lock)):
                raise FileNotFoundError
            os.ftruncate(held, 0)
            os.pwrite(held, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        except FileNotFoundError:
            os.close(held)
            return -1
        except BlockingIOError as error:
            who = _who(held)
            os.close(held)
            raise being_written(self.path, who) from error
        except OSError as error:
            os.close(held)
            raise not_written(self.path, "the file", error) from error
        return held

    def give_name(self, *, overwrite: bool) -> None:
        """Let the draft be the file. One that it replaces keeps the name until `take_name`.

        Raises:
            ResultError: there is one already, and it may not be overwritten.
            OSError: the folder cannot be written.
        """
        if overwrite and os.path.lexists(self.path):
            os.rename(self.draft, begun_of(self.path))
            self.at = begun_of(self.path)
            return
        _remove(self.totals)  # of a file that somebody has moved away
        try:
            os.link(self.draft, self.path, follow_symlinks=False)
        except FileExistsError as error:
            raise taken(self.path) from error
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            try:  # without hard links: an empty file reserves the name, and is replaced at once
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
            except FileExistsError as exists:
                raise taken(self.path) from exists
            os.rename(self.draft, self.path)
        else:
            os.unlink(self.draft)

    def take_name(self) -> None:
        """Replace the older file, if there is one.

        Raises:
            OSError: the folder cannot be written.
        """
        if self.at != self.path:
            _remove(self.totals)
            os.rename(self.at, self.path)
            self.at = self.path

    def copy(self, descriptor: int, without: Sequence[tuple[int, int]] = ()) -> None:
        """Make the draft a copy of an open file; what was reserved there and never written takes no space.

        Args:
            descriptor: of the file.
            without: areas that are not copied, as (offset, bytes).

        Raises:
            OSError: it cannot be written.
        """
        size = os.fstat(descriptor).st_size
        draft = os.open(self.draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            os.fchmod(draft, os.fstat(descriptor).st_mode & 0o777)
            os.ftruncate(draft, size)
            at = 0
            for offset, nbytes in (*sorted(without), (size, 0)):
                copy_data(descriptor, draft, at, offset - at, at)
                at = max(at, offset + nbytes)
        finally:
            os.close(draft)

    def drop_draft(self) -> None:
        """Remove the draft, if there is one."""
        _remove(self.draft)

    def close(self, *, done: bool = False) -> None:
        """Let go of the name; may be called again. A file that has not replaced the older one is removed.

        Args:
            done: the file is finished: what was only for its writer is removed.
        """
        if self._held >= 0:
            if self.at != self.path:  # the older file stays, and so does what it is resumed from
                _remove(self.at)
            elif done:
                _remove(self.totals)
            _remove(self._lock)
            os.close(self._held)
            self._held = -1


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise  # without locks nobody is kept out, as on some mounts of Lustre


def writer_of(path: Path) -> str:
    """Return who writes a result file now, such as "process 12 on host"; "" if nobody does."""
    try:
        held = os.open(_lock_of(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _who(held)
    except OSError:
        return ""  # a file system without locks
    finally:
        os.close(held)
    return ""  # left by one that was killed


def being_written(path: Path, who: str) -> ResultError:
    """Return the error for a file that somebody else writes."""
    return ResultError(
        "being_written",
        f"{path} is being written by the pipeline of {who}: wait until its series is over, end that "
        "pipeline, or give this one another name (name: in its file)",
    )


def _lock_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _who(lock: int) -> str:
    return os.pread(lock, 200, 0).decode(errors="replace") or "another process"


def draft_of(path: Path) -> Path:
    """Return the name of a hidden file until it is complete."""
    return path.with_name(f"{path.name}.new")


def begun_of(path: Path) -> Path:
    """Return the name that a file has while an older one keeps its own."""
    return path.with_name(f".{path.name}.begun")


def taken(path: Path) -> ResultError:
    """Return the error for a name that another file has."""
    return ResultError(
        "name_taken",
        f"{path} exists and is not overwritten: move it away, rename the pipeline, or say overwrite: true in "
        "the pipeline's file",
    )


def reserve(descriptor: int, areas: Iterable[tuple[int, int]]) -> None:
    """Reserve space for areas of a file, given as (offset, bytes), so that a full disk is seen now.

    Raises:
        OSError: there is not enough.
    """
    for offset, nbytes in areas:
        if nbytes:
            try:
                os.posix_fallocate(descriptor, offset, nbytes)
            except OSError as error:
                if error.errno not in NO_SUCH_CALL:
                    raise
                return  # this file system reserves nothing: a full disk is seen when rows are written


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
