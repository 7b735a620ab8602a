"""Where the next file would be: what the receiver says of its folder and disk before anything is written.

And folders of the receiver's data root, as this side names them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import SeriesCheck, SeriesCheckResult

SLOW, SILENT = 0.5, 60.0
"""Seconds without an answer after which Arm does not wait for one, and for how long."""
TIMEOUT = 2.0
"""Seconds for the receiver's answer, which looks at the disk."""

_log = logging.getLogger(__name__)


class Receiver(Protocol):
    """The part of `ReceiverClient` that is used here."""

    def check(self, series: SeriesCheck) -> SeriesCheckResult: ...


@dataclass(frozen=True, kw_only=True)
class Place:
    """What the receiver says of one path."""

    path: str
    """Path of the file, as this side names it."""
    there: str = ""
    """The innermost folder on its way that exists; only where `missing` is set."""
    missing: str = ""
    """The folders below that, which the receiver would create: "2025/raw"; "" for none."""
    taken: bool = False
    """There is such a file, which would not be replaced."""
    free_bytes: int | None = None
    """On the disk of its folder; `None` if not known."""

    @property
    def folder(self) -> str:
        """Folder of the file."""
        return str(PurePosixPath(self.path).parent)

    def sentence(self) -> str:
        """Return that folders are missing; "" if none are."""
        return f"There is no folder {self.missing} in {self.there}." if self.missing else ""


def ask(receiver: Receiver, path: str, *, overwrite: bool) -> Place | None:
    """Return what the receiver says of a path; `None` where it says nothing now.

    Args:
        receiver: that would write the file.
        path: of the file, as this side names it.
        overwrite: whether a file that exists may be replaced.
    """
    try:
        found = receiver.check(SeriesCheck(filename=path, overwrite=overwrite))
    except ReceiverRefused as refusal:
        return Place(path=path, taken=True) if refusal.kind == "file_exists" else None
    except ReceiverUnavailable as error:
        _log.info("%s: %s", path, error)
        return None
    there, missing = _split(path, found.filename or "", found.creates)
    return Place(path=path, there=there, missing=missing, free_bytes=found.free_bytes)


def client(url: str) -> ReceiverClient:
    """Return the client of the receiver at an address."""
    return ReceiverClient(url, timeout=TIMEOUT)


class Places:
    """Asks once for each path that the user comes to; for any thread.

    Args:
        receiver: makes the client of the receiver at an address.
        found: called with each answer.
        clock: monotonic seconds.
    """

    def __init__(
        self, receiver: Callable[[str], Receiver], found: Callable[[Place | None], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._receiver = receiver
        self._found = found
        self._clock = clock
        self._agreed: set[str] = set()
        """Folders that the user has had created."""
        self._silent_until = 0.0

    def look(self, url: str, path: str, *, overwrite: bool, hurried: bool = False) -> Place | None:
        """Ask, and hand over the answer.

        Args:
            url: of the receiver; "" where none is known.
            path: of the file; "" for none.
            overwrite: whether a file that exists may be replaced.
            hurried: somebody waits: a receiver that let others wait a moment ago, as one behind a firewall
                does, is not asked.
        """
        if not url or not path or (hurried and self._clock() < self._silent_until):
            place = None
        else:
            begun = self._clock()
            place = ask(self._receiver(url), path, overwrite=overwrite)
            slow = place is None and self._clock() - begun > SLOW
            self._silent_until = self._clock() + SILENT if slow else 0.0
        self._found(place)
        return place

    def agree(self, folder: str) -> None:
        """The user wants this folder."""
        self._agreed.add(folder)

    def is_doubtful(self, place: Place | None) -> bool:
        """Return whether the user has to be asked before the file is begun."""
        return place is not None and bool(place.missing) and place.folder not in self._agreed


def _split(path: str, seen: str, creates: str) -> tuple[str, str]:
    """Return the folder that exists, and those that do not, as this side names them: the receiver may have
    another name for the beginning of the path, but not for folders that are still to come."""
    if not creates:
        return "", ""
    count = len(PurePosixPath(seen).parent.parts) - len(PurePosixPath(creates).parts) + 1
    folder = PurePosixPath(path).parent.parts
    return str(PurePosixPath(*folder[:-count])), "/".join(folder[-count:])


def client_root(root: str, sent: str, seen: str) -> str:
    """Return the data root as clients name it: the receiver may map their paths to its own (`path_map`).

    Args:
        root: as the receiver sees it.
        sent: a file's path as a client gave it.
        seen: the same as the receiver sees it; "" where it has not said.
    """
    below = seen.removeprefix(root.rstrip("/"))
    if below != seen and below.startswith("/") and sent.endswith(below):
        return sent.removesuffix(below) or "/"
    return root


def relative(folder: str, root: str) -> str:
    """Return a folder relative to the data root; "" for the root itself, and for folders outside."""
    path = PurePosixPath(folder)
    return str(path.relative_to(root)) if path.is_relative_to(root) and path != PurePosixPath(root) else ""


def join_path(*parts: str) -> str:
    """Return the parts as one path, without those that are empty."""
    return str(PurePosixPath(*(part for part in parts if part)))
