"""Names of the folders below the data root, for users who choose where files go."""

from __future__ import annotations

import asyncio
import os
import threading
import unicodedata
from concurrent.futures import Future
from pathlib import Path, PurePosixPath

from penstock.receiver.models import Folders
from penstock.service.models import Refused

MOST = 1_000
"""Most names in one list; other names can be typed."""
SECONDS = 2.0
"""Longest time in seconds for a list."""
AT_ONCE = 4
"""Most folders listed at the same time; on a hanging file system, further requests are refused."""


class DataRoot:
    """The folders of one data root, whose file system may hang.

    Each folder is listed by a thread of its own; one that hangs ends with the process.

    Args:
        root: the data root.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._free = threading.Semaphore(AT_ONCE)

    async def below(self, under: str) -> Folders:
        """Return the subfolders of a folder; see the function `below`.

        Raises:
            Refused: as `below`, and if the file system does not answer in time.
        """
        answer: Future[Folders] = Future()
        answer.set_running_or_notify_cancel()
        try:
            if not self._free.acquire(blocking=False):
                raise TimeoutError
            answer.add_done_callback(lambda _: self._free.release())
            threading.Thread(target=self._list, args=(under, answer), name="folders", daemon=True).start()
            return await asyncio.wait_for(asyncio.wrap_future(answer), SECONDS)
        except TimeoutError:
            raise Refused(
                "not_reachable",
                f'the folders of "{under}" in {self._root} were not listed within {SECONDS:g} s: the file '
                "system hangs, or the folder is very large; type the folder's name",
            ) from None

    def _list(self, under: str, answer: Future[Folders]) -> None:
        try:
            answer.set_result(below(self._root, under))
        except Exception as error:
            answer.set_exception(error)


def below(root: str, under: str) -> Folders:
    """Return the subfolders of a folder below the data root; may hang on a network file system.

    Hidden folders, folders with unusable names, and links that lead out of the data root are left out.

    Args:
        root: the data root.
        under: folder relative to the data root; "" for the data root itself.

    Raises:
        Refused: the folder is not below the data root, does not exist, or cannot be read.
    """
    path = _relative(root, under)
    place = Path(root, path)
    try:
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(place, error) from error
    try:
        # The path of the open folder, even if it is renamed meanwhile.
        real_root, real = os.path.realpath(root), os.readlink(f"/proc/self/fd/{folder}")
        if not _inside(real_root, real):
            raise _outside(root, under)
        names = sorted(_names(folder, real, real_root))
    except OSError as error:
        raise _refused(place, error) from error
    finally:
        os.close(folder)
    return Folders(
        root=root,
        under=_text(path),
        parent=_text(path.parent) if path.parts else None,
        folders=names[:MOST],
        more=max(0, len(names) - MOST),
    )


def _relative(root: str, under: str) -> PurePosixPath:
    path = PurePosixPath(under)
    if path.is_absolute():
        raise Refused(
            "not_relative", f'"{under}" is absolute; give a folder relative to the data root {root}'
        )
    if ".." in path.parts:
        raise _outside(root, under)
    if not _is_plain(under):
        raise Refused("bad_filename", f"{under!r:.200} is not a folder name; choose another")
    return path


def _names(folder: int, real: str, root: str) -> list[str]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(".") and _is_folder(entry, real, root) and _is_plain(entry.name):
                found.append(entry.name)
    return found


def _is_folder(entry: os.DirEntry[str], real: str, root: str) -> bool:
    try:
        if not entry.is_symlink():
            return entry.is_dir(follow_symlinks=False)
        target = os.path.realpath(os.path.join(real, entry.name))
        return _inside(root, target) and os.path.isdir(target)
    except OSError:  # one unreachable folder must not hide the others
        return False


def _text(path: PurePosixPath) -> str:
    return str(path) if path.parts else ""


def _inside(root: str, path: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _is_plain(name: str) -> bool:
    """Return whether a name is text without control characters, and thus usable in a file name."""
    # Cs: lone surrogates, which stand for bytes that are not text.
    return name.isprintable() or not {"Cc", "Cs"} & set(map(unicodedata.category, name))


def _outside(root: str, under: str) -> Refused:
    return Refused(
        "outside_data_root",
        f'"{under}" leads out of the data root {root} of this receiver; choose a folder inside it',
    )


def _refused(place: Path, error: OSError) -> Refused:
    shown = str(place)[:200]
    match error:
        case FileNotFoundError():
            return Refused(
                "no_such_folder", f"{shown} does not exist; a series creates it if its file name contains it"
            )
        case NotADirectoryError():
            return Refused("not_a_folder", f"{shown} is not a folder; choose one")
        case PermissionError():
            return Refused(
                "not_readable",
                f"the receiver (user id {os.geteuid()}) may not list {shown}; type the folder's name, or "
                "change its rights",
            )
        case _:
            return Refused("not_reachable", f"{shown} cannot be listed: {error.strerror}; type another name")
