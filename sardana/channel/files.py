"""Numbers of the files of one scan: none is used twice, and existing files are skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.sardana.channel.detector import Detector


def scan_folder(environment: Callable[[str], Any]) -> tuple[str, str]:
    """Return the folder, and a sentence where ScanDir is not set, else "".

    Without ScanDir it is the folder of the last scan that had one; "" stands for the receiver's data root.

    Args:
        environment: returns a variable of the MacroServer, `None` where it is not set.
    """
    if folder := environment("ScanDir"):
        return str(folder), ""
    for scan in reversed(environment("ScanHistory") or []):
        if folder := scan.get("ScanDir"):
            return str(folder), _not_set(f"{folder}, the folder of the last scan")
    return "", _not_set("the data root of the receiver")


def _not_set(place: str) -> str:
    return (
        f"ScanDir is not set: detectors' files go to {place}; choose a folder with `senv ScanDir /data/...`"
    )


MOST: Final = 1_000_000


class NoName(Exception):
    """There is no free number; the sentence has the remedy."""


def free_number(taken: Callable[[int], bool], first: int) -> int:
    """Return a free number above `first` whose predecessor is taken.

    It tries some twenty numbers, however many are taken: the steps double until one is free, then halve.

    Args:
        taken: returns whether a file of that number exists already.
        first: known to be taken, or 0.

    Raises:
        NoName: all numbers tried are taken, up to a million further on.
    """
    step = 1
    while taken(first + step):
        step *= 2
        if step > MOST:
            raise NoName(
                f"all numbers tried between {first} and {first + step} are taken; "
                "does FileTemplate have {number}?"
            )
    below, free = first + step // 2, first + step  # `below` is taken
    while free - below > 1:
        middle = (below + free) // 2
        if taken(middle):
            below = middle
        else:
            free = middle
    return free


def choose_free(detector: Detector, name: Callable[[int], str], first: int) -> tuple[int, str]:
    """Set the detector's DestinationFilename to a file that does not exist; return its number and name.

    Args:
        detector: sees the files as its receiver does.
        name: returns the file name for a number.
        first: see `free_number`.

    Raises:
        NoName: there is no such file name.
        Refused: the detector refuses a name.
    """

    def taken(number: int) -> bool:
        detector.write({"DestinationFilename": name(number)})
        return detector.check() == "file_exists"

    number = free_number(taken, first)
    chosen = name(number)
    detector.write({"DestinationFilename": chosen})
    return number, chosen


class SeriesNumber:
    """Counts the series of one scan from 1."""

    def __init__(self) -> None:
        self._scan: object = None
        self.value = 0

    def next(self, scan: object) -> int:
        """Return the number of the next series; `scan` differs from scan to scan."""
        if scan != self._scan:
            self._scan, self.value = scan, 0
        self.value += 1
        return self.value
