"""What became known in a series only, by the header of its first image, in the file.

It has the places of the start message's metadata, and replaces what that has said: the images are so.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from penstock.receiver.files.contents import nexus
from penstock.receiver.series.running_series import RunningSeries

log = logging.getLogger(__name__)


def fields_of(series: RunningSeries, entry: Any, detector: str) -> list[nexus.Field]:
    """Return the fields to be written at the end of a series, and remove those that they replace.

    A field that the start message has not said, and whose name is in the file already, is the writer's own:
    it stays.

    Args:
        series: the series, whose end message has arrived.
        entry: NXentry group of its file, open for writing.
        detector: name of the NXdetector group.
    """
    if not series.learned:
        return []
    channels = series.header.channels or ()
    said = {field.path: field for field in nexus.fields(series.described, detector, channels)}
    found = []
    for field in nexus.fields(series.learned, detector, channels):
        path, before = "/".join(field.path), said.get(field.path)
        if before is None:
            inside = any(field.path[:depth] in said for depth in range(1, len(field.path)))
            if not inside and path not in entry:
                found.append(field)
        elif not _same(before.value, field.value):
            log.warning(
                "%s: %s was %s in the start message, and is %s by the first image's header, which counts",
                series.name, path, before.value, field.value,
            )  # fmt: skip
            del entry[path]
            found.append(field)
    return found


def _same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other))
