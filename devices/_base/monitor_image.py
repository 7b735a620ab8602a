"""The newest image that a detector's own box keeps beside its stream: a look without the receiver."""

from __future__ import annotations

import io
import logging

import numpy as np
import urllib3

from penstock.devices._base.series_record import SeriesRecord
from penstock.streamer.own_stream.contract import StreamingDetector
from penstock.streamer.unit import Unit

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds for one image; whoever reads LiveImage waits for it."""


def address_of(camera: type[Unit], record: SeriesRecord) -> str:
    """Address of the box's newest image; "" where it keeps none, and while the receiver takes a series."""
    if not issubclass(camera, StreamingDetector) or not camera.newest_image or record.receiver_takes:
        return ""
    return str(record.view.readings.get(camera.newest_image, ""))


class MonitorImage:
    """Fetches images from a box."""

    def __init__(self) -> None:
        self._http = urllib3.PoolManager(retries=False, timeout=PATIENCE)
        self._last = b""

    def newer(self, address: str) -> np.ndarray | None:
        """Return the image at this address, (rows, cols) as the box counts; `None` where it is the last one
        again.

        Of several, as of several thresholds, the first. `None` also where there is none yet, or no answer.
        """
        from fabio.tifimage import TifImage

        try:
            answer = self._http.request("GET", address)
            if answer.status != 200 or answer.data == self._last:
                return None
            image = np.asarray(TifImage().read(io.BytesIO(answer.data)).data)
        except Exception as error:  # whatever a file that is no TIFF makes of its reader
            log.debug("no image from %s: %s", address, error)  # the device's State says what is wrong
            return None
        self._last = answer.data
        return image
