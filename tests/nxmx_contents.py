"""What nxmx, DIALS' reader of NXmx files, finds in one; run by a Python that has it.

python nxmx_contents.py FILE      one line of JSON
"""

from __future__ import annotations

import json
import sys

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import nxmx

with h5py.File(sys.argv[1]) as file:
    (entry,) = nxmx.NXmx(file).entries
    instrument, sample = entry.instruments[0], entry.samples[0]
    detector, beam = instrument.detectors[0], instrument.beams[0]
    module = detector.modules[0]
    place = nxmx.get_cumulative_transformation(
        nxmx.get_dependency_chain(module.fast_pixel_direction.depends_on)
    )
    chain = nxmx.get_dependency_chain(sample.depends_on)
    axes = nxmx.get_rotation_axes(chain)
    scanned = next(axis for axis, scans in zip(chain, axes.is_scan_axis, strict=True) if scans)
    found = {
        "definition": entry.definition,
        "wavelength": round(float(beam.incident_wavelength.to("angstrom").magnitude), 6),
        "distance": float(detector.distance.to("mm").magnitude),
        "saturation": detector.saturation_value,
        "underload": detector.underload_value,
        "bit_depth": detector.bit_depth_image,
        "masked": np.argwhere(detector.pixel_mask[()]).tolist(),
        "size": module.data_size.tolist(),
        "sensor": [detector.sensor_material, float(detector.sensor_thickness.to("mm").magnitude)],
        "origin": [round(value, 6) for value in place[0, :3, 3].tolist()],
        "axes": axes.names.tolist(),
        "scan_axis": axes.is_scan_axis.tolist(),
        "angles": axes.angles.tolist(),
        "steps": [round(step, 6) for step in np.diff(scanned[()].to("degree").magnitude).tolist()],
    }
print(json.dumps(found))
