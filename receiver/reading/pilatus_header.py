"""What DECTRIS' PILATUS writes into the headers of its CBF and TIFF files of detector and beam.

Keys and units are those of DECTRIS' description of the CBF header ("PILATUS 1.2": `Pixel_size 172e-6 m x
172e-6 m`, `Detector_distance 0.2 m`, `Beam_xy (243.12, 309.12) pixels`, `Count_cutoff 1071896 counts`,
`Wavelength 1.0332 A`); TIFF files have the same lines. Values are as somebody has set them at the control
unit; what nobody has set is 0 there, and is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.codecs.cbf_header import lines_of

CBF_HEADER = "_array_data.header_contents"
"""fabio's name of the whole text in a CBF."""
TIFF_HEADER = "imageDescription"
"""fabio's name of that in a TIFF."""
_NUMBER = r"([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)"
_FORMS = {
    "Pixel_size": (rf"{_NUMBER} m x {_NUMBER} m", ("x_pixel_size", "y_pixel_size")),
    "Detector_distance": (rf"{_NUMBER} m", ("distance",)),
    "Beam_xy": (rf"\({_NUMBER}, *{_NUMBER}\) pixels", ("beam_center_x", "beam_center_y")),
    "Wavelength": (rf"{_NUMBER} A", ("wavelength",)),
    "Count_cutoff": (rf"{_NUMBER} counts", ("saturation_value",)),
}
"""How a value is written, and the keys of a start message that its numbers have."""
_COUNTING = {"Count_cutoff", "Threshold_setting", "Gain_setting"}


def is_pilatus(header: Mapping[str, object]) -> bool:
    """Return whether a header is that of a PILATUS, or of a program that writes as one ("PILATUS_1.2").

    Its TIFF files do not name it, but say what its counting was set to.

    Args:
        header: as fabio reads it.
    """
    return header.keys() >= _COUNTING or any("PILATUS" in str(value).upper() for value in header.values())


def numbers(header: Mapping[str, object]) -> dict[str, float]:
    """Return what a header says, by the keys of a start message: lengths in m, wavelength in angstrom.

    Args:
        header: as fabio reads it: the text in one value, or of a TIFF also a value for each line.
    """
    text = str(header.get(CBF_HEADER) or header.get(TIFF_HEADER) or "")
    lines = lines_of(text)
    found: dict[str, float] = {}
    for name, (form, keys) in _FORMS.items():
        values = re.match(form, str(lines.get(name, header.get(name, ""))))
        if values is not None:
            found |= zip(keys, map(float, values.groups()), strict=True)
    return found
