"""The detector's position as fields of the file: NeXus transformations, and pyFAI's geometry as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np

from penstock.receiver.files.contents.nexus import Field
from penstock.receiver.geometry import Geometry, poni


def fields(geometry: Geometry, shape: tuple[int, int], detector: str) -> Iterator[Field]:
    """Yield the datasets that describe the geometry in the file.

    Args:
        geometry: geometry, see `find`.
        shape: (rows, cols) of the image.
        detector: name of the NXdetector group, a NeXus name already.
    """
    (x, y), (width, height) = geometry.centre, geometry.pixel
    group, classes = ("instrument", detector), ("NXinstrument", "NXdetector")
    place = (*group, "transformations", "translation")
    module = (*group, "detector_module")
    here, corner = "/".join(("/entry", *place)), "/".join(("/entry", *module, "module_offset"))
    yield Field((*group, "depends_on"), classes, here)
    yield _axis(place, (*classes, "NXtransformations"), geometry.distance, (0, 0, 1), ".")
    inside = (*classes, "NXdetector_module")
    yield Field((*module, "data_origin"), inside, np.zeros(2, np.int64))
    yield Field((*module, "data_size"), inside, np.array(shape, np.int64))
    cos, sin = math.cos(geometry.turn), math.sin(geometry.turn)
    fast, slow = (-cos, -sin, 0.0), (sin, -cos, 0.0)
    offset = tuple(-x * width * along - y * height * down for along, down in zip(fast, slow, strict=True))
    length = math.hypot(*offset) or 1.0
    direction = tuple(value / length for value in offset)
    yield _axis((*module, "module_offset"), inside, length, direction, here)
    yield _axis((*module, "fast_pixel_direction"), inside, width, fast, corner)
    yield _axis((*module, "slow_pixel_direction"), inside, height, slow, corner)
    note = (("pyFAI", "poni"), ("NXcollection", "NXnote"))
    yield Field((*note[0], "type"), note[1], "application/json")
    yield Field((*note[0], "description"), note[1], "what pyFAI.load takes; from the header of the stream")
    yield Field((*note[0], "data"), note[1], json.dumps(poni(geometry, shape)))


def _axis(
    path: tuple[str, ...], classes: tuple[str, ...], length: float, vector: tuple[float, ...], after: str
) -> Field:
    return Field(
        path, classes, np.float64(length), "m",
        attributes={
            "transformation_type": "translation", "vector": np.array(vector, np.float64), "depends_on": after
        },
    )  # fmt: skip
