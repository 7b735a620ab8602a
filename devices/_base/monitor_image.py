"""The newest image that a detector's own box offers beside its stream: a live image without the receiver."""

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
"""Seconds for one image; the client that reads LiveImage waits for it."""


def address_of(camera: type[Unit], record: SeriesRecord) -> str:
    """Return the address of the box's newest image; "" without one, or while the receiver takes a series."""
    if not issubclass(camera, StreamingDetector) or not camera.newest_image or record.receiver_takes:
        return ""
    return str(record.view.readings.get(camera.newest_image, ""))


class MonitorImage:
    """Fetches images from a box."""

    def __init__(self) -> None:
        self._http = urllib3.PoolManager(retries=False, timeout=PATIENCE)
        self._last = b""

    def close(self) -> None:
        """Close the connections."""
        self._http.clear()

    def newer(self, address: str) -> np.ndarray | None:
        """Return the image at this address, (rows, cols) as in the box; `None` if it is the last one again.

        Of several images, one per threshold, it is the first. `None` also if there is no image or no answer.
        """
        from fabio.tifimage import TifImage

        try:
            answer = self._http.request("GET", address)
            if answer.status != 200 or answer.data == self._last:
                return None
            image = np.asarray(TifImage().read(io.BytesIO(answer.data)).data)
        except Exception as error:  # the reader may raise anything for a file that is not a TIFF
            log.debug("no image from %s: %s", address, error)  # the device's State shows what is wrong
            return None
        self._last = answer.data
        return image
