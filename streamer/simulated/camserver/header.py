"""What the simulated camserver writes into the header of its images.

Lines and their order: headers of PILATUS3 as camserver writes them ("PILATUS 1.2"), and fabio `cbfimage.py`.
"(nil)" is what was not loaded.
"""

from __future__ import annotations

from penstock.streamer.simulated.camserver.settings import Settings

SENSOR = "Silicon sensor, thickness 0.000450 m"
VRF = -0.2
"""Volt, of the gain."""


def lines(settings: Settings) -> tuple[str, ...]:
    """Return the lines that all images of an exposure have in common, without their first character."""
    threshold = settings.threshold or 0.0
    return (
        "Pixel_size 172e-6 m x 172e-6 m", SENSOR,
        f"Exposure_time {settings['ExpTime']:.7f} s", f"Exposure_period {settings['ExpPeriod']:.7f} s",
        f"Tau = {settings.tau:.4g} s", f"Count_cutoff {settings.cutoff} counts",
        f"Threshold_setting: {threshold:.0f} eV", f"Gain_setting: mid gain (vrf = {VRF:.3f})",
        "N_excluded_pixels = 0", "Excluded_pixels: (nil)", "Flat_field: (nil)",
        f"Trim_file: {settings.trim_file}", f"Image_path: {settings.folder}/",
        "Ratecorr_lut_directory: (nil)", f"Retrigger_mode: {settings['SetRetriggerMode']:.0f}",
        *([settings.header] if settings.header else []),
    )  # fmt: skip
