"""The keys of `detector/config` in SIMPLON 1.6.0 and 1.8.0, as after `initialize`.

Each line has its source: [1.6], [1.8] "SIMPLON API Reference" of that version, with the page; [um] "EIGER2
User Manual", with the section; [rel] DECTRIS' release notes; [rec] the answers and start messages of a real
EIGER 500K and 1M; [ade] ADEiger `eigerApp/src/eigerDetector.cpp`; [fcs] fastcs-eiger, whose tests have a real
list of keys. Where none gives the value, it is that of this simulator.
"""

from __future__ import annotations

from penstock.streamer.simulated.simplon.key import NEW, Key, fixed, flag, real, switch, text, vector, whole

AXES = {
    "chi": (0.0, 0.0, 1.0), "kappa": (0.5, 0.0, 0.866025), "omega": (-1.0, 0.0, 0.0),
    "phi": (-1.0, 0.0, 0.0), "two_theta": (-1.0, 0.0, 0.0),
}  # fmt: skip
"""Axes of the goniometer and of the detector's arm, by name, with the directions of this simulator."""
KALPHA = {
    "Li": 54.3, "Be": 108.5, "B": 183.3, "C": 277.0, "N": 392.4, "O": 524.9, "F": 676.8, "Ne": 848.6,
    "Na": 1040.98, "Mg": 1253.6, "Al": 1486.7, "Si": 1739.98, "P": 2013.7, "S": 2307.84, "Cl": 2622.39,
    "Ar": 2957.7, "K": 3313.8, "Ca": 3691.68, "Sc": 4090.6, "Ti": 4510.84, "V": 4952.2, "Cr": 5414.72,
    "Mn": 5898.75, "Fe": 6403.84, "Co": 6930.32, "Ni": 7478.15, "Cu": 8047.78, "Zn": 8638.86,
    "Ga": 9251.74, "Ge": 9886.42, "As": 10543.72, "Se": 11222.4, "Br": 11924.2, "Mo": 17479.34,
    "Ag": 22162.92,
}  # fmt: skip
"""K-alpha lines in eV (X-ray Data Booklet, table 1-2)."""
ENERGY_RANGE = (5000.0, 40000.0)
"""Least and greatest photon energy of the simulated sensor, in eV."""
THRESHOLD_RANGE = (2500.0, 40000.0)
READOUT = 1e-7
"""Dead time between two frames, in seconds: 100 ns as for an EIGER2."""
SHORTEST = 1e-5
"""Least count time and frame time, in seconds."""
PIXEL = 7.5e-5
"""Size of a pixel in metres."""
MOST_FRAMES = 2**48
"""Greatest nimages x ntrigger of SIMPLON 1.8.0 ([rel] 2022.1.2)."""
ENERGY, DISTANCE = 8047.78, 0.1


def detector_config(api: str, rows: int, cols: int, name: str) -> dict[str, Key]:
    """Return `detector/config` as after `initialize`."""
    versioned = _of_1_8() if api == NEW else _of_1_6()
    return {**_of_both(api, rows, cols, name), **_goniometer(), **versioned}


def _of_both(api: str, rows: int, cols: int, name: str) -> dict[str, Key]:
    return {
        "auto_summation": flag(True),  # [rec]
        "beam_center_x": real(cols / 2, "pixel"),  # [rec]
        "beam_center_y": real(rows / 2, "pixel"),  # [rec]
        "bit_depth_image": fixed(16, "uint"),  # [rec]
        "bit_depth_readout": fixed(16, "uint"),  # r in both: [rec], [1.8] "Detector Subsystem"
        "count_time": real(0.01, "s", SHORTEST, 3600.0),  # [rec]
        "countrate_correction_applied": flag(True),  # [rec]
        "countrate_correction_count_cutoff": fixed(0, "uint"),  # [rec]; follows count_time: couplings
        "data_collection_date": fixed(""),  # [rec]
        "description": fixed(name),  # [rec], [ade]
        "detector_distance": real(DISTANCE, "m"),  # [rec]
        "detector_number": fixed("E-SIM-0001"),  # [rec], [ade]
        "detector_readout_time": fixed(READOUT, "float", "s"),  # [rec]
        "detector_translation": _translation(rows, cols),  # rw: [1.8] section 4.2
        "eiger_fw_version": fixed("simulated"),  # [ade]
        "element": text("", "", *KALPHA),  # [rec]; "" is unknown: [1.8] p. 25
        "flatfield_correction_applied": flag(True),  # [rec]
        "frame_count_time": fixed(0.01, "float", "s"),  # [rec]; of the sub-frames: couplings
        "frame_period": fixed(0.01 + READOUT, "float", "s", listed=False),  # [rec], [1.8] p. 4
        "frame_time": real(0.01 + READOUT, "s", SHORTEST, 3600.0),  # [rec]
        "number_of_excluded_pixels": fixed(0, "uint"),  # [rec]
        "photon_energy": real(ENERGY, "eV", *ENERGY_RANGE),  # [rec]
        "pixel_mask_applied": flag(True),  # [rec]
        "sensor_material": fixed("Si"),  # [rec]
        "sensor_thickness": fixed(0.00045, "float", "m"),  # [rec]
        "software_version": fixed(api),  # [rec], [ade]
        "threshold_energy": real(ENERGY / 2, "eV", *THRESHOLD_RANGE),  # [rec]
        "virtual_pixel_correction_applied": flag(True),  # [rec]
        "wavelength": _wavelength(),  # [rec]
        "x_pixel_size": fixed(PIXEL, "float", "m"),  # [rec]
        "x_pixels_in_detector": fixed(cols, "uint"),  # [rec], [ade]
        "y_pixel_size": fixed(PIXEL, "float", "m"),  # [rec]
        "y_pixels_in_detector": fixed(rows, "uint"),  # [rec], [ade]
    }


def _goniometer() -> dict[str, Key]:
    starts = {f"{axis}_start": real(0.0, "degree") for axis in AXES}  # [rec]
    return starts | {f"{axis}_increment": real(0.0, "degree") for axis in AXES}  # [rec]


def _of_1_6() -> dict[str, Key]:
    return {
        "compression": text("bslz4", "lz4", "bslz4"),  # [rec]
        "nimages": whole(1),  # up to 2e9: [rec]
        "ntrigger": whole(1),  # up to 2e9: [rec]
        "roi_mode": text("disabled", "disabled"),  # [rec]
        "trigger_mode": text("ints", "ints", "exts", "inte", "exte"),  # [rec]
    }


def _of_1_8() -> dict[str, Key]:
    thresholds = {f"threshold/{n}/{key}": made for n in (1, 2) for key, made in _threshold(n).items()}
    axes = {f"{axis}_axis": vector(*direction) for axis, direction in AXES.items()}
    return {
        "auto_sum_strict": flag(False),  # [1.8] "Detector Subsystem"
        **axes,  # [1.8] "Detector Subsystem"
        "compression": text("bslz4", "lz4", "bslz4", "none"),  # [rel] 2020.2
        "counting_mode": text("normal", "normal", "retrigger"),  # [um] 9.7.1, [ade] eiger2.template
        "detector_orientation": vector(1.0, 0.0, 0.0, 0.0, 1.0, 0.0),  # [1.8] "Detector Subsystem"
        "detector_orientation_angle": real(0.0, "degree"),  # [1.8] "Detector Subsystem"
        "detector_orientation_axis": vector(0.0, 0.0, 1.0),  # [1.8] "Detector Subsystem"
        "extg_mode": text("double", "single", "double"),  # [um] 9.7.3 and 9.7.4
        "fast_arm": flag(False),  # [fcs]
        "flux_type": text(),  # [1.8] "Detector Subsystem"
        "flux_value": real(0.0),  # [1.8] "Detector Subsystem"
        "incident_energy": real(ENERGY, "eV", *ENERGY_RANGE),  # [fcs]
        "instrument_name": text(),  # [fcs]
        "mask_to_zero": flag(False),  # [fcs]
        "nexpi": whole(1),  # [um] 9.7
        "nimages": whole(1, most=MOST_FRAMES),  # [rel] 2022.1.2
        "ntrigger": whole(1, most=MOST_FRAMES),  # [rel] 2022.1.2
        "ntriggers_skipped": whole(0, 0),  # [um] 9.6
        "roi_bit_depth": whole(16, 8, 16),  # [1.8] "Detector Subsystem"; of use only with regions
        "roi_mode": text("disabled", "disabled"),  # [1.8] "Detector Subsystem"
        "roi_y_size": whole(1, 1),  # [1.8] "Detector Subsystem"
        "sample_name": text(),  # [fcs]
        "source_name": text(),  # [fcs]
        "test_image_mode": text(),  # [1.8] "Detector Subsystem"
        "test_image_value": whole(0, 0),  # [1.8] "Detector Subsystem"
        "total_flux": real(0.0, "1/s"),  # [fcs]
        "transformation_order": Key(value=[*AXES], kind="string[]"),  # [1.8] "Detector Subsystem"
        "trigger_mode": text("ints", "eies", "exte", "extg", "exts", "inte", "ints"),  # eies: [rel] 2022.1
        "trigger_start_delay": real(0.0, "s", 0.0, 0.1),  # [ade]
        **thresholds,
        "threshold/difference/mode": switch(),  # [1.8] p. 24, [ade]
        "threshold/difference/lower_threshold": fixed(1, "uint"),  # [fcs]
        "threshold/difference/upper_threshold": fixed(2, "uint"),  # [fcs]
    }


def _threshold(number: int) -> dict[str, Key]:
    return {
        # 1/2 and 1.4 of the photon energy: [um] 7.4.1
        "energy": real(ENERGY * (0.5 if number == 1 else 1.4), "eV", *THRESHOLD_RANGE),
        "mode": switch("enabled" if number == 1 else "disabled"),  # [1.8] p. 24, [ade]
        "number_of_excluded_pixels": fixed(0, "uint"),  # [fcs]
    }


def _translation(rows: int, cols: int) -> Key:
    return vector(cols / 2 * PIXEL, rows / 2 * PIXEL, DISTANCE, unit="m")


def _wavelength() -> Key:
    key = real(1.5406, "Angstrom", 0.3, 2.5)
    key.listed = False  # fastcs-eiger `MISSING_KEYS`
    return key
