"""What is said of the next file below its name."""

from __future__ import annotations

from penstock.gui.model.files.place import Place
from penstock.gui.model.view import DetectorView
from penstock.gui.words import size

NAME = "DestinationFilename"
OVERWRITE = "DestinationFileOverwritable"
ASKS = "Arm asks before it is created."


def file_words(view: DetectorView) -> tuple[bool, str]:
    """Return what becomes of the file that is set or typed: whether something is wrong with it, and the
    words."""
    if view.running or not view.here:
        return False, ""
    path = view.text(NAME)
    place = view.place if view.place is not None and view.place.path == path else None
    if NAME in view.edits:
        return _typed(view, place)
    if not view.values.get(NAME):
        return False, "Live view only: nothing is written."
    if view.values.get("SaveRaw") is False:
        return False, "Save the frames is off: nothing is written, the frames are delivered live only."
    return _set(view, place)


def _typed(view: DetectorView, place: Place | None) -> tuple[bool, str]:
    enter = "Enter writes the name to the device; Esc takes the device's own."
    if place is None:
        return False, enter
    if place.missing:
        return True, f"{place.sentence()} {ASKS}"
    if place.taken:
        return True, "This file exists already."
    room = "" if place.free_bytes is None else f", {size(place.free_bytes)} free"
    return False, f"{_what(view)}{room}. {enter}"


def _set(view: DetectorView, place: Place | None) -> tuple[bool, str]:
    check = view.check
    if check is None:
        return False, ""
    if check.kind == "file_exists":
        return True, "This file exists already."
    if place is not None and place.missing:
        return True, f"{place.sentence()} {ASKS}"
    # Without a file the device knows only of the disk of the data root, which may be another one.
    free = check.free_bytes if check.file else None if place is None else place.free_bytes
    room = "" if free is None else f"{size(free)} free"
    if free is not None and check.bytes > free:
        return True, f"{size(check.bytes)} are planned, and {room}."
    if not check.file:
        return False, f"{room}." if room else ""
    planned = f", {size(check.bytes)} of " if check.bytes and room else ", " if room else ""
    return False, f"{_what(view)}{planned}{room}."


def _what(view: DetectorView) -> str:
    return "Replaces a file of this name, if there is one" if view.values.get(OVERWRITE) else "New"
