"""What the header of an image says, in the words of real PILATUS detectors."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.codecs.cbf_header import facts_of

PILATUS3 = """# Detector: PILATUS3 6M, S/N 60-0000
# 2017-06-26T02:54:23.347
# Pixel_size 172e-6 m x 172e-6 m
# Silicon sensor, thickness 0.001000 m
# Exposure_time 0.0990000 s
# Exposure_period 0.1000000 s
# Tau = 0 s
# Count_cutoff 1009797 counts
# Threshold_setting: 6344 eV
# Gain_setting: autog (vrf = 1.000)
# N_excluded_pixels = 852
# Excluded_pixels: badpixel_mask.tif
# Flat_field: FF_p60_E12688_T6344.tif
# Trim_file: p60_E12688_T6344.bin
# Image_path: /ramdisk/a/
# Ratecorr_lut_directory: ContinuousStandard_v1.1
# Retrigger_mode: 1
# Wavelength 0.97680 A"""
PILATUS2 = """# Detector: PILATUS 300K, S/N 3-0101
# Pixel_size 172e-6 m x 172e-6 m
# CdTe sensor, thickness 0.000320 m
# Tau = 199.1e-09 s
# Count_cutoff 1048574 counts
# Threshold_setting 3744 eV
# N_excluded_pixels = 0
# Excluded_pixels: (nil)
# Flat_field: (nil)
# Trim_directory: p3_T3p7"""


@pytest.mark.parametrize(
    ("header", "facts"),
    [
        (
            PILATUS3,
            {
                "sensor_material": "Si", "sensor_thickness": 0.001, "saturation_value": 1009797,
                "threshold_energy": 6344.0, "count_time": 0.099, "exptime": 0.099,
                "gain_setting": "autog (vrf = 1.000)", "countrate_correction_applied": True,
                "pixel_mask_applied": True, "flatfield_applied": True,
                "camserver": {
                    "tau": 0, "n_excluded_pixels": 852, "retrigger_mode": 1,
                    "trim_file": "p60_E12688_T6344.bin", "excluded_pixels": "badpixel_mask.tif",
                    "flat_field": "FF_p60_E12688_T6344.tif",
                    "ratecorr_lut_directory": "ContinuousStandard_v1.1",
                },
            },
        ),
        (
            PILATUS2,
            {
                "sensor_material": "CdTe", "sensor_thickness": 0.00032, "saturation_value": 1048574,
                "threshold_energy": 3744.0, "countrate_correction_applied": True,
                "pixel_mask_applied": False, "flatfield_applied": False,
                "camserver": {"tau": 1.991e-07, "n_excluded_pixels": 0, "trim_directory": "p3_T3p7"},
            },
        ),
        ("# Tau = 0 s", {"countrate_correction_applied": False, "camserver": {"tau": 0}}),
        # What is not set, not written in full, or by somebody else.
        ("# Count_cutoff 0 counts\n# Threshold_setting: 0 eV\n# Exposure_time", {}),
        ("# Tau = long\n# Silicon sensor, thickness 1.2.3e- m\n# N_excluded_pixels = -", {
            "sensor_material": "Si", "sensor_thickness": 1.2,
        }),
        ("# sample 5: Count_cutoff 7 counts\ntext\n\0\xff", {}),
    ],
    ids=["PILATUS3", "PILATUS2", "no correction", "not set", "broken", "of others"],
)  # fmt: skip
def test_facts_of_a_header(header: str, facts: dict[str, Any]) -> None:
    found = facts_of(header.replace("\n", "\r\n"))
    assert found == facts
    assert [type(value) for value in found.values()] == [type(facts[key]) for key in found]
