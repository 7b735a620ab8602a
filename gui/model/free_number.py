"""The next number for which there is no file yet: the receiver is asked, since it sees the disk."""

from __future__ import annotations

from typing import Protocol

from penstock.gui.model.file_name import FileName
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck, SeriesCheckResult

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
