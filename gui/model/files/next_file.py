"""The next file: a name with a number, which goes up with each series, and the first that is free.

A numbered name is "scan_####.h5" and a number; the device's DestinationFilename is the one truth. The
receiver is asked for the first that is free, since it sees the disk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Protocol

from penstock.gui.model.attributes.attribute import Value
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck, SeriesCheckResult

_MARK = re.compile(r"#+")
_LAST_NUMBER = re.compile(r"(\d+)(?=\D*$)")
SUFFIXES = (".h5", ".hdf5", ".nxs")
LEAST_DIGITS = 3
"""Digits from which a number at the end of a name counts as one that goes up: "scan_0012", and not "ceo2"."""


class BadName(ValueError):
    """The text is not a file name; the sentence says what one looks like."""


@dataclass(frozen=True)
class FileName:
    """A folder, a name with a place for a number, and the number."""

    folder: str = ""
    """Absolute; "" while not known."""
    template: str = ""
    """Name in the folder; #### stands for a number with at least as many digits; "" for live view only."""
    number: int = 1

    @property
    def numbered(self) -> bool:
        """True if there is a place for a number."""
        return _MARK.search(self.template) is not None

    def path(self) -> str:
        """Return what DestinationFilename has to be; "" for live view only.

        Raises:
            BadName: the template is none.
        """
        if not self.template.strip():
            return ""
        if "/" in self.template or self.template in (".", ".."):
            raise BadName(
                f'"{self.template}" is not a file name: choose the folder below, and give a name without "/"'
            )
        if not self.folder.startswith("/"):
            raise BadName("the folder is not known yet: choose one, or type its whole path")
        if len(_MARK.findall(self.template)) > 1:
            raise BadName(f'"{self.template}" has two places for a number; leave one group of #')
        name = _MARK.sub(lambda mark: f"{self.number:0{len(mark[0])}d}", self.template)
        if not name.endswith(SUFFIXES):
            name += SUFFIXES[0]
        return str(PurePosixPath(self.folder) / name)

    def next(self) -> FileName:
        """Return the same with the next number."""
        return replace(self, number=self.number + 1)


def parse(path: str) -> FileName:
    """Return what a DestinationFilename says: its last number, if it looks like one that goes up, becomes
    ####."""
    if not path:
        return FileName()
    whole = PurePosixPath(path)
    stem, suffix = (whole.stem, whole.suffix) if whole.suffix in SUFFIXES else (whole.name, "")
    found = _LAST_NUMBER.search(stem)
    if found is None or len(found[1]) < LEAST_DIGITS:
        return FileName(str(whole.parent), whole.name)
    template = f"{stem[: found.start()]}{'#' * len(found[1])}{stem[found.end() :]}{suffix}"
    return FileName(str(whole.parent), template, int(found[1]))


class NextFile:
    """The name behind a path; its owner keeps threads apart.

    A path says less than a template: "ceo2_100.h5" may, or may not, have a number that goes up.
    """

    def __init__(self) -> None:
        self._path = ""
        self._name: FileName | None = None
        self._problem = ""
        self._armed: Value | None = None

    def take(self, name: FileName) -> str:
        """Return the next file if the user names it: its path, or a text if there is none."""
        try:
            self._path, self._problem = name.path(), ""
        except BadName as error:
            self._path, self._problem = name.template, str(error)
        self._name = name
        return self._path

    def name_of(self, path: str) -> FileName:
        """Return the name as the user gave it, or else as a path says it."""
        return self._name if self._name is not None and self._path == path else parse(path)

    def problem(self, path: str) -> str:
        """Return why the name behind this path is none, in a sentence; "" where it is one."""
        return self._problem if self._name is not None and self._path == path else ""

    def arm(self, path: Value | None) -> None:
        """A series is armed here with this path."""
        self._armed = path

    def is_used(self, path: Value | None) -> bool:
        """Return whether the series that was armed here last had this path; asked once for each series."""
        used = bool(path) and path == self._armed
        if used:
            self._armed = None
        return used


MOST = 2000
"""Most names that are checked one by one."""


class NoNumber(Exception):
    """No free number was found; the sentence says why."""


class Receiver(Protocol):
    """The part of `ReceiverClient` that is used here."""

    def check(self, series: SeriesCheck) -> SeriesCheckResult: ...


def next_free(receiver: Receiver, name: FileName) -> FileName:
    """Return the name with the first number from the present one on that is free.

    Raises:
        NoNumber: the name has no place for one, or the receiver refuses it for another reason.
        ReceiverUnavailable: it does not answer.
    """
    if not name.numbered:
        raise NoNumber(f'"{name.template}" has no place for a number; write #### where it belongs')
    for _ in range(MOST):
        try:
            receiver.check(SeriesCheck(filename=name.path()))
        except ReceiverRefused as refusal:
            if refusal.kind != "file_exists":
                raise NoNumber(str(refusal)) from refusal
            name = name.next()
        else:
            return name
    raise NoNumber(f"the {MOST:,} numbers before {name.number} are taken; type a number, or another name")
