"""What else changes when a key of `detector/config` is set, and what the answer to the PUT names.

Sources are named as in `detector_config`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from penstock.streamer.simulated.simplon.detector_config import (
    ENERGY_RANGE,
    KALPHA,
    MOST_FRAMES,
    THRESHOLD_RANGE,
)
from penstock.streamer.simulated.simplon.key import NEW, Key

HC = 12398.419843320026
"""Planck constant times speed of light, in eV Å (CODATA 2018)."""
LONG = 0.02
"""Seconds above which an exposure is the sum of several read-outs, the sub-frames, in 32 bits."""
CUTOFF_RATE = 2_943_293.0
"""Counts per second up to which the count rate can be corrected: those of a real EIGER 1M at 1 s ([rec])."""
FRAMES = ("bit_depth_image", "countrate_correction_count_cutoff", "frame_count_time", "frame_period")
FLATFIELDS = ("flatfield", "threshold/1/flatfield", "threshold/2/flatfield")
ENERGIES = ("element", "incident_energy", "photon_energy", "wavelength")
THRESHOLDS = ("threshold_energy", "threshold/1/energy", "threshold/2/energy")
GEOMETRY = ("beam_center_x", "beam_center_y", "detector_distance")
FOLLOWERS: Mapping[str, tuple[str, ...]] = {
    "count_time": FRAMES,  # [1.8] p. 4
    "frame_time": ("count_time", *FRAMES),  # as above
    "auto_summation": FRAMES,  # as above, [fcs]
    **dict.fromkeys(ENERGIES, (*ENERGIES, *THRESHOLDS, *FLATFIELDS)),  # [fcs]
    **dict.fromkeys(THRESHOLDS[:2], (*THRESHOLDS[:2], *FLATFIELDS)),  # [fcs]
    "threshold/2/energy": FLATFIELDS,  # [fcs]
    **dict.fromkeys(("threshold/1/mode", "threshold/2/mode"), ("threshold/difference/mode",)),  # [fcs]
    **dict.fromkeys(GEOMETRY, ("detector_translation",)),  # [1.8] section 4.2
    "detector_translation": GEOMETRY,  # as above
    "pixel_mask": ("threshold/1/pixel_mask",), "threshold/1/pixel_mask": ("pixel_mask",),  # [fcs]
    "flatfield": ("threshold/1/flatfield",), "threshold/1/flatfield": ("flatfield",),  # [fcs]
}  # fmt: skip
"""Keys that may change with a key: the answer names them whether or not they have ([1.8] p. 4)."""
ENABLE = ("inte", "exte")
"""Trigger modes in which nimages can only be 1 ([rel] 2020.2.2)."""


def couple(config: dict[str, Key], name: str, *, api: str, recorded: bool = False) -> None:
    """Change what follows from a key that was just set.

    Args:
        config: `detector/config`.
        name: the key.
        api: version of SIMPLON.
        recorded: the frames are those of a recording: their type, and its cutoff, stay.

    Raises:
        ValueError: the value contradicts another key.
    """
    value = config[name].value
    match name:
        case "element" if value:
            _energy(config, KALPHA[value])
        case "wavelength":
            _energy(config, HC / value, element="")
        case "photon_energy" | "incident_energy":
            _energy(config, value, element="")
        case "threshold_energy":
            _set(config, "threshold/1/energy", value)
        case "threshold/1/energy":
            _set(config, "threshold_energy", value)
        case "threshold/difference/mode" if value == "enabled":
            _refuse_difference(config)
        case "threshold/1/mode" | "threshold/2/mode" if value == "disabled":
            _set(config, "threshold/difference/mode", "disabled")
        case "beam_center_x" | "beam_center_y" | "detector_distance":
            _translate(config)
        case "detector_translation":
            _place(config, value)
        case "trigger_mode" | "nimages" if api == NEW:
            _refuse_images_per_gate(config)
        case "count_time":
            readout = config["detector_readout_time"].value
            config["frame_time"].value = max(config["frame_time"].value, value + readout)
        case "frame_time":
            readout = config["detector_readout_time"].value
            config["count_time"].value = min(config["count_time"].value, value - readout)
    if name in ("count_time", "frame_time", "auto_summation"):
        time_frames(config, recorded=recorded)


def time_frames(config: dict[str, Key], *, recorded: bool = False) -> None:
    """Set what follows from the exposure: times of the sub-frames, type of the image, cutoff.

    A real EIGER 1M takes 751 sub-frames for a count_time of 1 s, each with its own dead time ([rec]).
    """
    count, readout = config["count_time"].value, config["detector_readout_time"].value
    summed = config["auto_summation"].value and count > LONG
    parts = math.ceil((count + readout) / LONG) if summed else 1
    config["frame_period"].value = (count + readout) / parts
    config["frame_count_time"].value = config["frame_period"].value - readout if summed else count
    if recorded:
        return
    bits = 32 if summed else config["bit_depth_readout"].value
    config["bit_depth_image"].value = bits
    # The greatest value of the type marks masked pixels.
    most = 2**bits - 2
    config["countrate_correction_count_cutoff"].value = max(1, min(int(CUTOFF_RATE * count), most))


def frames(config: Mapping[str, Key]) -> int:
    """Return the number of frames of a series."""
    triggers, images = config["ntrigger"].value, config["nimages"].value
    if config["trigger_mode"].value == "eies":  # 11 edges, 10 images: [um] 9.6
        return int((triggers - 1) // (config["ntriggers_skipped"].value + 1))
    return int(triggers * images)


def refuse_series(config: Mapping[str, Key], *, api: str) -> None:
    """Refuse what cannot be armed: one of the numbers may still be that of the last series until then.

    Raises:
        ValueError: a series of no image, or of too many.
    """
    if not frames(config):
        raise ValueError("no image would be taken: trigger mode eies needs one edge more than images")
    if api == NEW and config["nimages"].value * config["ntrigger"].value > MOST_FRAMES:
        raise ValueError(f"nimages x ntrigger is above {MOST_FRAMES}")


def _energy(config: dict[str, Key], energy: float, element: str | None = None) -> None:
    least, most = ENERGY_RANGE
    if not least <= energy <= most:
        raise ValueError(f"a photon energy of {energy:.6g} eV is outside {least:g} to {most:g} eV")
    for name in ("photon_energy", "incident_energy"):
        _set(config, name, energy)
    _set(config, "wavelength", HC / energy)
    if element is not None:
        _set(config, "element", element)
    # Half of it, and 1.4 of it for the second threshold: [um] 7.4.1.
    for names, part in ((THRESHOLDS[:2], 0.5), (THRESHOLDS[2:], 1.4)):
        for name in names:
            _set(config, name, min(max(energy * part, THRESHOLD_RANGE[0]), THRESHOLD_RANGE[1]))


def _refuse_difference(config: Mapping[str, Key]) -> None:
    """[1.8] p. 24: all thresholds must be enabled first; they stay so."""
    off = [name for name in ("threshold/1/mode", "threshold/2/mode") if config[name].value != "enabled"]
    if off:
        raise ValueError(f"threshold/difference/mode needs all thresholds; enable {' and '.join(off)} first")


def _refuse_images_per_gate(config: Mapping[str, Key]) -> None:
    mode, images = config["trigger_mode"].value, config["nimages"].value
    if mode in ENABLE and images != 1:
        raise ValueError(f"nimages is {images}; it can only be 1 in trigger mode {mode}")


def _translate(config: dict[str, Key]) -> None:
    """[1.8] section 4.2."""
    x, y = (config[f"beam_center_{axis}"].value * config[f"{axis}_pixel_size"].value for axis in "xy")
    config["detector_translation"].value = [x, y, config["detector_distance"].value]


def _place(config: dict[str, Key], translation: list[Any]) -> None:
    for axis, metres in zip("xy", translation[:2], strict=True):
        config[f"beam_center_{axis}"].value = metres / config[f"{axis}_pixel_size"].value
    config["detector_distance"].value = float(translation[2])


def _set(config: dict[str, Key], name: str, value: Any) -> None:
    if name in config:
        config[name].value = value
