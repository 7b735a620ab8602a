"""The folders below the data root, for who chooses where files go: names only, and nothing outside it."""

from __future__ import annotations

import asyncio
import os
import threading
import unicodedata
from concurrent.futures import Future
from pathlib import Path, PurePosixPath

from penstock.receiver.models import Folders
from penstock.receiver.process.refusal import Refused

MOST = 1_000
"""Names that are listed; who wants another types it."""
SECONDS = 2.0
"""A folder is listed within this time, or not at all."""
AT_ONCE = 4
"""Folders that are listed at once; on a file system that hangs no more are tried."""


class DataRoot:
    """The folders of one data root, whose file system may hang.

    Each is listed on a thread of its own, which nobody has to wait for: one that hangs ends with the process.

    Args:
        root: the data root.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._free = threading.Semaphore(AT_ONCE)

    async def below(self, under: str) -> Folders:
        """The folders in one of its folders; see `below`.

        Raises:
            Refused: likewise, and if the file system does not answer in time.
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
                "system hangs, or there is very much in it; type the folder's name",
            ) from None

    def _list(self, under: str, answer: Future[Folders]) -> None:
        try:
            answer.set_result(below(self._root, under))
        except Exception as error:
            answer.set_exception(error)


def below(root: str, under: str) -> Folders:
    """The folders in a folder below the data root. A network file system may hang here.

    Hidden folders, those that no file name can have in it, and links that lead out of the data root are left
    out.

    Args:
        root: the data root.
        under: the folder, relative to it; "" for the data root itself.

    Raises:
        Refused: it is not below the data root, is not there, or cannot be read.
    """
    path = _relative(root, under)
    place = Path(root, path)
    try:
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(place, error) from error
    try:
        # Asked of the open folder: whatever becomes of its name now, this is where it is.
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
            "not_relative", f'"{under}" is absolute; give a folder as it is seen from the data root {root}'
        )
    if ".." in path.parts:
        raise _outside(root, under)
    if not _is_plain(under):
        raise Refused("bad_filename", f"{under!r:.200} is no name of a folder; choose another")
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
    except OSError:  # one that cannot be reached hides no other
        return False


def _text(path: PurePosixPath) -> str:
    return str(path) if path.parts else ""


def _inside(root: str, path: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _is_plain(name: str) -> bool:
    """Whether a file name may have it in it: text, without control characters."""
    # Cs: lone surrogates, which stand for bytes that are no text.
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
                "no_such_folder", f"{shown} is not there; a series makes it if its file name has it in it"
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
