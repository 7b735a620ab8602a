"""The next file: a name with a number, which goes up with each series, and the first that is free.

The receiver is asked for that one, since it sees the disk.
"""

from __future__ import annotations

from typing import Protocol

from penstock.gui.model.attributes.attribute import Value
from penstock.gui.model.files import file_name
from penstock.gui.model.files.file_name import FileName
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck, SeriesCheckResult


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
        except file_name.BadName as error:
            self._path, self._problem = name.template, str(error)
        self._name = name
        return self._path

    def name_of(self, path: str) -> FileName:
        """Return the name as the user gave it, or else as a path says it."""
        return self._name if self._name is not None and self._path == path else file_name.parse(path)

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
