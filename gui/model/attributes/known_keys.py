"""Keys of Metadata for which the file has a place of its own, as the receiver knows them.

docs/reference/file-format.md, "known keys", has the places.
"""

from __future__ import annotations

from collections.abc import Mapping

KNOWN_KEYS: Mapping[str, str] = {
    "title": "text",
    "experiment_identifier": "text",
    "proposal": "text",
    "experiment_description": "text",
    "collection_identifier": "text",
    "entry_identifier": "text",
    "scan_id": "text",
    "scan_number": "text",
    "sample.name": "text",
    "sample_name": "text",
    "sample": "text",
    "sample.description": "text",
    "sample.chemical_formula": "text",
    "sample.preparation_date": "text",
    "sample.temperature": "number, K",
    "user.name": "text",
    "user_name": "text",
    "user": "text",
    "user.role": "text",
    "user.affiliation": "text",
    "user.email": "text",
    "user.facility_user_id": "text",
    "user.ORCID": "text",
    "instrument_name": "text",
    "instrument": "text",
    "beamline": "text",
    "source.name": "text",
    "source_name": "text",
    "source": "text",
    "source.type": "Synchrotron X-ray Source, Rotating Anode X-ray, Fixed Tube X-ray, Free-Electron Laser",
    "source.probe": "x-ray, electron, neutron",
    "source.mode": "Single Bunch, Multi Bunch",
}
"""What each takes: text, a number with its unit, or one of these texts. A point leads into an object."""
OBJECTS = frozenset({"sample", "user", "source"})
"""Keys that may be a name, or an object with a name and more."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "Title": ("title",),
    "Sample": ("sample.name", "sample_name", "sample"),
    "User": ("user.name", "user_name", "user"),
    "Proposal": ("experiment_identifier", "proposal"),
}
"""Keys that have a field of their own, by its label: the first that has a value is shown, the last is written
where there is none."""


def explanation(key: str) -> str:
    """Return what becomes of a key, for its tool tip."""
    if not key:
        return "A key, such as sample.temperature; a point leads into an object."
    if key not in KNOWN_KEYS:
        return f"{key} has no place of its own in the file: it is kept in the detector's group “user”."
    return f"{key} has a place of its own in the file. It takes: {KNOWN_KEYS[key]}."
