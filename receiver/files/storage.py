"""Rules for the paths at which files may be written, and checks before a series begins.

Used twice: by the check, so that Arm fails in time, and again when the file is created, since the file
system may have changed meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
import unicodedata
from pathlib import Path

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files import lease, limit
from penstock.receiver.files.dealing import Dealing
from penstock.receiver.files.refusals import (
    NameRefusedError,
    StorageError,
    being_written,
    exists,
    not_created,
    shown,
    unable,
    unusable,
)
from penstock.stins.texts import plural

log = logging.getLogger(__name__)

FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags that open a folder to reach its files: needs no right to list it, and follows no link."""

NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Errors of file systems without hard links."""

RESERVE_BYTES = 4 * 2**20
"""Enough for what HDF5 has to write when the disk is full: chunk index and account of one second."""

BYTES_PER_PART, BYTES_PER_FRAME = 2**17, 2**9
"""Enough for each dataset that grows with the frames, and for each of its frames."""

LEAST_BYTES = RESERVE_BYTES + 2**21
"""Smallest size of a file besides its frames: its structure, and the space reserved for closing it."""

MOST_SEGMENTS = 4_000
"""Most segments per series. The virtual dataset names all: 40 kB of memory and 0.1 ms each when created."""


def resolve(config: ReceiverConfig, filename: str) -> Path:
    """Return the path on this host for a file name given by a client.

    Links are resolved in both the name and the data root: data roots of facilities are often links.

    Raises:
        NameRefusedError: the name is relative, outside the data root, or no file name.
        StorageError: the disk cannot be reached.
    """
    name, given = _mapped(config, filename), shown(filename)
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise NameRefusedError("bad_filename", f'file name "{given}" has control characters; choose another')
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise NameRefusedError(
            "bad_filename", f'file name "{given}" is not text ({error.reason}); choose another'
        ) from error
    path = Path(name)
    if not path.is_absolute():
        raise NameRefusedError(
            "not_absolute", f'file name "{given}" is not absolute; give a path below {config.data_root}'
        )
    try:
        root, real = Path(os.path.realpath(config.data_root)), Path(os.path.realpath(path))
    except OSError as error:  # a link was changed just now
        raise unusable(path, error) from error
    if real == root:
        raise NameRefusedError("is_a_folder", f'"{given}" is the data root itself; add a file name')
    if root not in real.parents:
        raise NameRefusedError(
            "outside_data_root",
            f'"{given}" is outside the data root {config.data_root} of this receiver; '
            "choose a file inside it",
        )
    try:
        is_folder = name.endswith("/") or real.is_dir()
    except OSError as error:
        raise unusable(real, error) from error
    if is_folder:
        raise NameRefusedError("is_a_folder", f'"{given}" is a folder; add a file name')
    return real


def check_segments(frames: int | None, frames_per_file: int) -> None:
    """Check that a series does not need more segments than one virtual dataset can show well.

    Args:
        frames: announced number of frames; `None` if unknown.
        frames_per_file: frames per segment as configured; 0 for no segments.

    Raises:
        StorageError: the series would have too many segments.
    """
    if frames is None or not frames_per_file:
        return
    segments = -(-frames // frames_per_file)
    if segments > MOST_SEGMENTS:
        raise StorageError(
            "too_many_segments",
            f"{plural(frames, 'frame')} would be {plural(segments, 'segment')}, and a series has at "
            f"most {MOST_SEGMENTS}: "
            f"frames_per_file is {frames_per_file}, set it to {-(-frames // MOST_SEGMENTS)} or more",
        )


def credible(path: Path, frames: int | None, frame_bytes: int | None) -> int | None:
    """Return the announced number of frames; `None` if the whole disk could not hold so many: such a number
    means "until it is stopped", and says nothing about the space that the series will need.

    Args:
        path: path as returned by `resolve`.
        frames: announced number of frames; `None` if unknown.
        frame_bytes: bytes of a frame; `None` if unknown.
    """
    if frames is None or frame_bytes is None:
        return frames
    try:
        size = shutil.disk_usage(_existing(path.parent)).total
    except OSError:
        return frames  # `check` says why
    return frames if frames * frame_bytes <= size else None


def in_one_file(config: ReceiverConfig, frames: int | None, frame_bytes: int | None) -> int | None:
    """Return the least size in bytes of the largest file of a whole series; `None` if unknown."""
    if frames is None or frame_bytes is None:
        return None
    if config.files > 1:
        return Dealing.of(config.files, frame_bytes).rows(0, frames) * frame_bytes
    share = min(frames, config.frames_per_file) if config.frames_per_file else frames
    return share * frame_bytes


def check_limit(path: Path, nbytes: int | None) -> None:
    """Check that a file of a series may become as large as it will be.

    Args:
        path: file of the series.
        nbytes: bytes of the frames that go into one file; `None` if unknown.

    Raises:
        StorageError: the file would exceed the limit of the process.
    """
    most = limit.most_bytes()
    needed = (nbytes or 0) + LEAST_BYTES
    if most is not None and needed > most:
        raise StorageError(
            "over_limit",
            f"{path} needs {_size(needed)}, and {limit.WHERE} is {_size(most)}; raise it, or write "
            "several files (files, frames_per_file)",
        )


def check(path: Path, *, overwrite: bool, nbytes: int | None, min_free: int) -> int:
    """Check that a file could be written now; return the free bytes on its disk.

    Args:
        path: path as returned by `resolve`.
        overwrite: whether an existing file may be replaced.
        nbytes: bytes that the series will need, if known.
        min_free: bytes that must stay free.

    Raises:
        NameRefusedError: the file exists or is being written, or its folder cannot be written.
        StorageError: the disk is mounted read-only or cannot be reached, or there is too little space.
    """
    check_free(path, overwrite=overwrite)
    try:
        folder = _existing(path.parent)
    except OSError as error:
        raise unusable(path, error) from error
    if not folder.is_dir():
        raise NameRefusedError(
            "not_a_folder",
            f"{shown(folder)} is a file, so {shown(path)} cannot be created below it; choose another folder",
        )
    try:
        free = shutil.disk_usage(folder).free
        read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
    except OSError as error:
        raise unable(f"{shown(folder)} cannot be looked at", error, folder) from error
    if read_only:  # first: there the kernel grants nobody the right to write
        raise StorageError("not_writable", f"{shown(folder)} is mounted read-only; mount it for writing")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise not_created(path, PermissionError(errno.EACCES, ""), folder)
    needed = (nbytes or 0) + min_free
    if free < needed:
        raise StorageError(
            "disk_full",
            f"{folder} has {_size(free)} free, this series needs {_size(needed)}; "
            "free some space or choose another folder",
        )
    return free


def check_free(path: Path, *, overwrite: bool) -> None:
    """Check that no other file has this name.

    Args:
        path: path as returned by `resolve`.
        overwrite: whether an existing file may be replaced, unless it is being written.

    Raises:
        NameTakenError: one has it.
        NameRefusedError: the name cannot be used.
        StorageError: the disk cannot be reached.
    """
    if not is_there(path):
        return
    if lease.is_written(path):
        raise being_written(path)
    if not overwrite:
        raise exists(path)


def is_there(path: Path) -> bool:
    """Return whether anything has this name, also a link that leads nowhere.

    Raises:
        NameRefusedError: the name cannot be used.
        StorageError: the disk cannot be reached.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise unusable(path, error) from error
    return True


def free_bytes(folder: str) -> int:
    """Return the free bytes on the disk of a folder, which need not exist yet; may hang on a network disk.

    Raises:
        OSError: the disk cannot be reached.
    """
    return shutil.disk_usage(_existing(Path(folder))).free


def to_create(folder: Path) -> Path | None:
    """Return the outermost folder that would be created for this one to exist; `None` if it does.

    Raises:
        StorageError: the disk cannot be reached.
    """
    try:
        there = _existing(folder)
    except OSError as error:
        raise unusable(folder, error) from error
    return None if there == folder else there / folder.relative_to(there).parts[0]


def _size(nbytes: float) -> str:
    if nbytes < 1e9:
        return f"{nbytes / 1e6:.3g} MB"
    return f"{nbytes / 1e9:,.0f} GB" if nbytes >= 100e9 else f"{nbytes / 1e9:.3g} GB"


def open_folder(path: Path) -> int:
    """Return a descriptor of the folder of a resolved file; create it and its parents if needed.

    A resolved path has no links, so none is followed: a folder that was replaced by a link since then cannot
    lead out of the data root.

    Raises:
        NameRefusedError: a folder cannot be created, or is a link by now.
        StorageError: the disk cannot be written, or no more files can be opened.
    """
    folder = -1
    try:
        folder = os.open("/", FOLDER)
        for name in path.parent.parts[1:]:
            above, folder = folder, _open_or_create(name, folder)
            os.close(above)
    except OSError as error:
        if folder >= 0:
            os.close(folder)
        raise unable(f"cannot create the folder {shown(path.parent)}", error, path.parent) from error
    return folder


def give_name(draft: str, name: str, folder: int, *, replace: bool) -> None:
    """Rename a draft to its own name.

    Args:
        draft: temporary name in the folder.
        name: its own name.
        folder: descriptor as returned by `open_folder`.
        replace: whether to replace an existing file, unless that is being written.

    Raises:
        FileExistsError: a file of that name exists; `lease.BeingWrittenError` if it is being written.
        OSError: the folder cannot be written.
    """
    while True:
        try:
            return _give_free_name(draft, name, folder)
        except FileExistsError:
            if not replace:
                raise
        with contextlib.suppress(FileNotFoundError), lease.nobody_at(name, folder):
            return os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)


def _give_free_name(draft: str, name: str, folder: int) -> None:
    try:
        os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # Without hard links: an empty file reserves the name, and is replaced at once.
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, dir_fd=folder))
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(draft, dir_fd=folder)


def closing_bytes(frames: int | None, parts: int = 1) -> int:
    """Return the most bytes that HDF5 has to write when a file is closed.

    Few frames need less than `RESERVE_BYTES`, which a RAM disk reserves no faster than a whole file of one
    frame is written.

    Args:
        frames: most frames in the file; `None` if unknown.
        parts: number of datasets of images or of values of regions.
    """
    if frames is None:
        return RESERVE_BYTES
    return min(RESERVE_BYTES, parts * (BYTES_PER_PART + frames * BYTES_PER_FRAME))


def sync(path: Path) -> None:
    """Return once a closed file and its name in the folder survive a power failure."""
    for target in (path, path.parent):
        descriptor = os.open(target, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _mapped(config: ReceiverConfig, filename: str) -> str:
    # The longest prefix wins; only whole path components count.
    for client in sorted(config.path_map, key=len, reverse=True):
        prefix = client.rstrip("/")
        if filename == prefix or filename.startswith(prefix + "/"):
            return config.path_map[client].rstrip("/") + filename[len(prefix) :]
    return filename


def by_descriptor(folder: int) -> str:
    """Return a path to an open folder that stays valid if the folder is renamed."""
    return f"/proc/self/fd/{folder}"


def _open_or_create(name: str, above: int) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=above)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(name, dir_fd=above)
        return os.open(name, FOLDER, dir_fd=above)


def _existing(folder: Path) -> Path:
    """Return the innermost folder on this way that exists; a file on the way counts as one.

    Raises:
        OSError: something on the way cannot be looked at.
    """
    while True:
        try:
            os.stat(folder)
        except (FileNotFoundError, NotADirectoryError):
            folder = folder.parent
        else:
            return folder
