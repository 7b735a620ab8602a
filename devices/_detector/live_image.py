"""The live image of a detector device, down-sampled and rate-limited: from the receiver, or the box."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Callable
from math import ceil

import numpy as np
import tango
import urllib3

from penstock.devices._series.record import SeriesRecord
from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import FrameStatus
from penstock.receiver.validity.pixels import Flag, PixelRule
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.camera.unit import Unit

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds for one image; the client that reads LiveImage waits for it."""


def address_of(camera: type[Unit], record: SeriesRecord) -> str:
    """Return the address of the box's newest image; "" without one, or while the receiver takes a series."""
    if not issubclass(camera, StreamingDetector) or not camera.newest_image or record.facts.receiver_takes:
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


MAX_EDGE = 4096
"""Longest edge of the Tango attribute, in pixels."""
MOST_BYTES = 40e6
"""Bytes per second that one subscriber gets: larger images come more rarely."""
PARTIAL = FrameStatus.PARTIAL.name.lower()


class LiveImage:
    """Fetches the last frame for clients that read or subscribe.

    Args:
        device: device whose attribute `LiveImage` is pushed.
        receiver: client of the receiver, which has the frames.
        rate: most images per second, of those that are not larger than `MOST_BYTES` allows.
        edge: longest edge of the image in pixels; of larger frames every n-th row and column is shown.
        version: value that changes with every new frame; only then is an image fetched for events.
        monitor: address of the image that is shown instead of the receiver's; "" for none.
    """

    def __init__(
        self, device: tango.server.Device, receiver: ReceiverClient, *, rate: float, edge: int,
        version: Callable[[], object], monitor: Callable[[], str] = lambda: "",
    ) -> None:  # fmt: skip
        self._device = device
        self._receiver = receiver
        self._least_period = 1.0 / rate
        self._edge = min(edge, MAX_EDGE)
        self._version = version
        self._monitor = monitor
        self._box = MonitorImage()
        self._lock = threading.Lock()
        self._image = np.zeros((1, 1))
        self._images = 0
        """Number of images shown so far."""
        self._seen: int | None = None
        self._fetched = -1e9
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live image", daemon=True)

    @property
    def period(self) -> float:
        """Least seconds from one image to the next."""
        return max(self._least_period, self._image.nbytes / MOST_BYTES)

    def start(self) -> None:
        """Begin to push events, while there are subscribers."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; close the connections to the box."""
        self._stopped.set()
        self._box.close()

    def read(self) -> np.ndarray:
        """Return the newest image, (rows, cols) float64; it is at most one period out of date.

        Pixels without a value are NaN. Not float32, of which `taurus image` makes integers, and of NaN any.
        """
        with self._lock:
            now = time.monotonic()
            if now - self._fetched >= self.period:
                self._fetched = now
                address = self._monitor()
                if address:
                    self._fetch_from_box(address)
                else:
                    self._fetch()
            return self._image

    def _fetch_from_box(self, address: str) -> None:
        image = self._box.newer(address)
        if image is not None:
            self._seen = (
                None  # so that the receiver's last frame is fetched again even if it is still the same
            )
            # A box fills gaps and dead pixels as the receiver does missing ones.
            self._show(image, PixelRule(underload=0), partial=True)

    def _fetch(self) -> None:
        try:
            frame = self._receiver.last_frame(seen=self._seen)
        except (ReceiverUnavailable, ReceiverRefused) as error:
            self._seen = None
            log.debug("live image: %s", error)  # the device's State shows it already
            return
        if frame is None:
            return
        self._seen = frame.version
        rule = PixelRule(frame.saturation, frame.underload)
        self._show(frame.array, rule, partial=frame.status == PARTIAL)

    def _show(self, image: np.ndarray, rule: PixelRule, *, partial: bool) -> None:
        step = max(1, ceil(max(image.shape) / self._edge))
        self._image = as_doubles(image[::step, ::step], rule, partial=partial)
        self._images += 1

    def _run(self) -> None:
        attribute = self._device.get_device_attr().get_attr_by_name("LiveImage")
        last: object = None
        pushed = 0
        with tango.EnsureOmniThread():
            while not self._stopped.wait(self.period):
                version = self._version()
                if not attribute.change_event_subscribed() or (version == last and not self._monitor()):
                    continue
                image = self.read()
                if version == last and self._images == pushed:
                    continue  # the box has no newer image
                try:
                    self._device.push_change_event("LiveImage", image)
                    last, pushed = version, self._images
                except tango.DevFailed as error:
                    log.warning("event of LiveImage not pushed: %s", error.args[-1].desc)


def as_doubles(image: np.ndarray, rule: PixelRule, *, partial: bool = False) -> np.ndarray:
    """Return the image as float64, with NaN where a pixel has no value.

    Args:
        image: the image.
        rule: which of its pixels have one.
        partial: a part of it is missing, and has the fill value of its type.
    """
    doubles = np.array(image, np.float64)
    doubles[rule.flags(image, partial=partial) == Flag.INVALID] = np.nan
    return doubles
