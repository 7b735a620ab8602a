"""The readings of a control unit."""

from __future__ import annotations

from penstock.devices._dectris.parameters import READINGS, in_type_of
from penstock.devices._dectris.rest import NoSuchKey, Simplon, number_of
from penstock.streamer.camera.settings import Value
from penstock.streamer.camera.unit import CameraError

LISTS = ("filewriter/status/files", "filewriter/files/")
"""Keys that list the box's files: SIMPLON 1.8.0, and earlier (Lima-camera-eiger `FILEWRITER_LS2`, `_LS`)."""
MOST_NAMES = 3
"""Most data files that are listed; there may be thousands."""


class Readings:
    """The readings of one control unit, each from the first of its keys that this box has."""

    def __init__(self, simplon: Simplon) -> None:
        self._simplon = simplon
        self._paths: dict[str, str | None] = {}

    def forget(self) -> None:
        """Forget the keys: it may be another box, or another version of its software."""
        self._paths = {}

    def read(self, name: str) -> Value:
        """Return one reading, in its parameter's type.

        Raises:
            CameraError: the box has no such reading, or does not know it now.
        """
        parameter, paths = READINGS[name]
        found = self._first(name, paths)
        if name == "HighVoltage" and (volts := number_of(found)) is not None:
            return f"{volts:g} V"  # module_000/hv of older boxes
        value = in_type_of(parameter, found)
        if value is None:
            raise CameraError(f"{self._simplon.address} does not know {name} now: it says {found!r:.60}")
        return value

    def files(self, prefix: str) -> str:
        """Return the addresses of the files with this prefix, master files first; "" if there are none."""
        listed = self._first("files", LISTS)
        names = sorted(str(name) for name in listed) if isinstance(listed, list) else []
        names = [name for name in names if name.startswith(prefix)]
        masters, data = (
            [name for name in names if ("_master" in name) == wanted] for wanted in (True, False)
        )
        shown = [f"{self._simplon.address}/data/{name}" for name in (*masters, *data[:MOST_NAMES])]
        more = len(data) - MOST_NAMES
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")

    def _first(self, name: str, paths: tuple[str, ...]) -> object:
        if name in self._paths:
            path = self._paths[name]
            if path is None:
                raise self._missing(name)
            return self._simplon.get(path).value
        for path in paths:
            try:
                found = self._simplon.get(path).value
            except NoSuchKey:
                continue
            self._paths[name] = path
            return found
        self._paths[name] = None
        raise self._missing(name)

    def _missing(self, name: str) -> CameraError:
        return CameraError(f"{self._simplon.address} has no reading for {name}: its model lacks this sensor")
