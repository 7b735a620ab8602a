"""Numbered file names: "scan_####.h5" and a number; the device's DestinationFilename is the one truth."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

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
