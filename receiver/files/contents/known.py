"""The table of known metadata keys: the place of each in the file, its kind and its unit.

Names, classes, kinds and lists of values: NeXus definitions NXentry, NXinstrument, NXdetector, NXbeam,
NXsource, NXsample and NXuser (2026.01). `docs/reference/file-format.md` shows this table to users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """Kinds of values of known keys."""

    NUMBER = auto()
    """A number, or one per channel."""
    FLAG = auto()
    TEXT = auto()
    """Text; a whole number is written as digits."""
    IMAGE = auto()
    """A numeric array of at least two dimensions, (rows, cols) last."""
    TABLE = auto()
    """A numeric array."""


class Parent(Enum):
    """The group that a known key belongs to, as a path below /entry; DETECTOR is the detector's name."""

    ENTRY = ""
    INSTRUMENT = "instrument"
    SAMPLE = "sample"
    USER = "user"
    SOURCE = "instrument/source"
    BEAM = "instrument/beam"
    DETECTOR = "instrument/DETECTOR"
    ACQUISITION = "instrument/DETECTOR/acquisition"
    CAMSERVER = "instrument/DETECTOR/camserver"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a known key."""

    kind: Kind
    units: str | None = None
    parent: Parent = Parent.DETECTOR
    name: str | None = None
    """Name in the file where it is not the key."""
    zero_is_unset: bool = False
    choices: tuple[str, ...] = ()
    """The values that NeXus has; others do not fit."""


KNOWN: Mapping[str, Place] = {
    # times and triggers
    "count_time": Place(Kind.NUMBER, "s"),
    "exptime": Place(Kind.NUMBER, "s"),
    "frame_time": Place(Kind.NUMBER, "s"),
    "detector_readout_time": Place(Kind.NUMBER, "s"),
    "acquisition_mode": Place(
        Kind.TEXT, choices=("gated", "triggered", "summed", "event", "histogrammed", "decimated")
    ),
    # geometry
    "beam_center_x": Place(Kind.NUMBER, "pixel"),
    "beam_center_y": Place(Kind.NUMBER, "pixel"),
    "distance": Place(Kind.NUMBER, "m", zero_is_unset=True),
    "x_pixel_size": Place(Kind.NUMBER, "m", zero_is_unset=True),
    "y_pixel_size": Place(Kind.NUMBER, "m", zero_is_unset=True),
    # sensor and electronics
    "sensor_material": Place(Kind.TEXT),
    "sensor_thickness": Place(Kind.NUMBER, "m", zero_is_unset=True),
    "threshold_energy": Place(Kind.NUMBER, "eV", zero_is_unset=True),
    "saturation_value": Place(Kind.NUMBER, zero_is_unset=True),
    "underload_value": Place(Kind.NUMBER),
    "bit_depth_readout": Place(Kind.NUMBER),
    "gain_setting": Place(Kind.TEXT),
    "description": Place(Kind.TEXT),
    "serial_number": Place(Kind.TEXT),
    "local_name": Place(Kind.TEXT),
    "type": Place(Kind.TEXT),
    # corrections
    "flatfield": Place(Kind.IMAGE),
    "flatfield_applied": Place(Kind.FLAG),
    "pixel_mask": Place(Kind.IMAGE),
    "pixel_mask_applied": Place(Kind.FLAG),
    "countrate_correction_applied": Place(Kind.FLAG),
    "countrate_correction_lookup_table": Place(Kind.TABLE),
    "virtual_pixel_interpolation_applied": Place(Kind.FLAG),
    # beam
    "incident_energy": Place(Kind.NUMBER, "eV", Parent.BEAM, zero_is_unset=True),
    "photon_energy": Place(Kind.NUMBER, "eV", Parent.BEAM, "incident_energy", zero_is_unset=True),
    "incident_wavelength": Place(Kind.NUMBER, "angstrom", Parent.BEAM, zero_is_unset=True),
    "wavelength": Place(Kind.NUMBER, "angstrom", Parent.BEAM, "incident_wavelength", zero_is_unset=True),
}
"""Keys of the metadata itself."""

ACQUISITION: Mapping[str, Place] = {
    "trigger_mode": Place(Kind.TEXT, None, Parent.ACQUISITION),
    "triggers": Place(Kind.NUMBER, None, Parent.ACQUISITION),
    "frames_per_trigger": Place(Kind.NUMBER, None, Parent.ACQUISITION),
    "latency_time": Place(Kind.NUMBER, "s", Parent.ACQUISITION),
    "rotation": Place(Kind.NUMBER, "deg", Parent.ACQUISITION),
    "fliplr": Place(Kind.FLAG, None, Parent.ACQUISITION),
    "flipud": Place(Kind.FLAG, None, Parent.ACQUISITION),
}
"""Keys of its object `acquisition`: how the series was taken, where NeXus has no name for it."""

CAMSERVER: Mapping[str, Place] = {
    "tau": Place(Kind.NUMBER, "s", Parent.CAMSERVER),
    "trim_file": Place(Kind.TEXT, None, Parent.CAMSERVER),
    "trim_directory": Place(Kind.TEXT, None, Parent.CAMSERVER),
    "excluded_pixels": Place(Kind.TEXT, None, Parent.CAMSERVER),
    "n_excluded_pixels": Place(Kind.NUMBER, None, Parent.CAMSERVER),
    "flat_field": Place(Kind.TEXT, None, Parent.CAMSERVER),
    "ratecorr_lut_directory": Place(Kind.TEXT, None, Parent.CAMSERVER),
    "retrigger_mode": Place(Kind.NUMBER, None, Parent.CAMSERVER),
}
"""Keys of its object `camserver`: what a PILATUS says in the headers of its images, where NeXus has no name
for it. Counts are corrected for tau already: as `dead_time`, readers would correct them again."""

USER: Mapping[str, Place] = {
    "title": Place(Kind.TEXT, None, Parent.ENTRY),
    "experiment_identifier": Place(Kind.TEXT, None, Parent.ENTRY),
    "proposal": Place(Kind.TEXT, None, Parent.ENTRY, "experiment_identifier"),
    "experiment_description": Place(Kind.TEXT, None, Parent.ENTRY),
    "collection_identifier": Place(Kind.TEXT, None, Parent.ENTRY),
    # Sardana and GDA write the number of the scan there too.
    "entry_identifier": Place(Kind.TEXT, None, Parent.ENTRY),
    "scan_id": Place(Kind.TEXT, None, Parent.ENTRY, "entry_identifier"),
    "scan_number": Place(Kind.TEXT, None, Parent.ENTRY, "entry_identifier"),
    "sample.name": Place(Kind.TEXT, None, Parent.SAMPLE),
    "sample_name": Place(Kind.TEXT, None, Parent.SAMPLE, "name"),
    "sample": Place(Kind.TEXT, None, Parent.SAMPLE, "name"),
    "sample.description": Place(Kind.TEXT, None, Parent.SAMPLE),
    "sample.chemical_formula": Place(Kind.TEXT, None, Parent.SAMPLE),
    "sample.preparation_date": Place(Kind.TEXT, None, Parent.SAMPLE),
    "sample.temperature": Place(Kind.NUMBER, "K", Parent.SAMPLE),
    "user.name": Place(Kind.TEXT, None, Parent.USER),
    "user_name": Place(Kind.TEXT, None, Parent.USER, "name"),
    "user": Place(Kind.TEXT, None, Parent.USER, "name"),
    "user.role": Place(Kind.TEXT, None, Parent.USER),
    "user.affiliation": Place(Kind.TEXT, None, Parent.USER),
    "user.email": Place(Kind.TEXT, None, Parent.USER),
    "user.facility_user_id": Place(Kind.TEXT, None, Parent.USER),
    "user.ORCID": Place(Kind.TEXT, None, Parent.USER),
    "instrument_name": Place(Kind.TEXT, None, Parent.INSTRUMENT, "name"),
    "instrument": Place(Kind.TEXT, None, Parent.INSTRUMENT, "name"),
    "beamline": Place(Kind.TEXT, None, Parent.INSTRUMENT, "name"),
    "source.name": Place(Kind.TEXT, None, Parent.SOURCE),
    "source_name": Place(Kind.TEXT, None, Parent.SOURCE, "name"),
    "source": Place(Kind.TEXT, None, Parent.SOURCE, "name"),
    "source.type": Place(
        Kind.TEXT, None, Parent.SOURCE,
        choices=(
            "Synchrotron X-ray Source", "Rotating Anode X-ray", "Fixed Tube X-ray", "Free-Electron Laser"
        ),
    ),
    "source.probe": Place(Kind.TEXT, None, Parent.SOURCE, choices=("x-ray", "electron", "neutron")),
    "source.mode": Place(Kind.TEXT, None, Parent.SOURCE, choices=("Single Bunch", "Multi Bunch")),
}  # fmt: skip
"""Keys of its object `user`: the Tango attribute Metadata, or DECTRIS' user data. A dot in a key leads into
an object; of two keys for the same place, the first in this table gets it."""

OBJECTS: Mapping[str, Mapping[str, Place]] = {
    "acquisition": ACQUISITION, "camserver": CAMSERVER, "user": USER,
}  # fmt: skip
"""Objects of the metadata that have known keys, each with its table."""
