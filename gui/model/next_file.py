"""What the user has made of DestinationFilename: a name with a number, which goes up with each series."""

from __future__ import annotations

from penstock.gui.model import file_name
from penstock.gui.model.attribute import Value
from penstock.gui.model.file_name import FileName


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
