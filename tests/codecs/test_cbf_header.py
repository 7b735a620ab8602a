"""What the header of an image says, in the words of real PILATUS detectors."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.codecs.cbf_header import facts_of, lines_of

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


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("Count_cutoff " + 5000 * "9", {}),
        ("Count_cutoff 9223372036854775807", {"saturation_value": 9223372036854775807}),
        ("Count_cutoff 9223372036854775808", {}),
        ("Count_cutoff 1e999", {}),
        ("Count_cutoff -5 counts", {}),
        ("Count_cutoff 1.5 counts", {}),
        ("Exposure_time " + 400 * "9", {}),
        ("Exposure_time -1 s", {}),
        ("Threshold_setting: 1e999 eV", {}),
        ("Tau = -1e-9 s", {}),
        ("N_excluded_pixels = 0.5", {}),
        ("Silicon sensor, thickness 1e400 m", {}),
        ("Silicon sensor, thickness -3e-4 m", {}),
        ("Q" * 201 + " sensor, thickness 3e-4 m", {}),
        ("Gain_setting: " + 201 * "z", {}),
        ("Gain_setting: " + 200 * "z", {"gain_setting": 200 * "z"}),
        ("Trim_file: a\0b.bin", {}),
        ("Trim_file: \ud800.bin", {}),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_what_cannot_be_is_left_out_and_named_once(
    caplog: pytest.LogCaptureFixture, line: str, facts: dict[str, Any]
) -> None:
    assert facts_of(f"# {line}") == facts
    name = line.split()[0].rstrip(":")[:200]
    logged = [record.message for record in caplog.records]
    assert (len(logged), [message for message in logged if name not in message]) == (not facts, [])


def test_no_more_than_16_kib_of_a_header_are_read_however_long_its_lines_are() -> None:
    blanks = "# a b" + 16_000 * " " + "x"
    assert lines_of(blanks + "\n# c d\n" + 400 * " " + "\n# e f") == {"a": "b" + 16_000 * " " + "x", "c": "d"}
    assert lines_of("# a b" + 20_000 * " " + "x") == {"a": "b"}
