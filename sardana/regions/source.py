"""What a counter of regions reads: the series from the detector's device, the values from its receiver."""

from __future__ import annotations

from typing import Protocol

from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import RoiValues
from penstock.sardana.armed_series import TIMEOUT, Detector, Look, SourceError, TangoDetector, property_of

__all__ = ["Look", "Source", "SourceError", "TangoSource"]


class Source(Detector, Protocol):
    """One detector and its receiver; every call is bounded, and raises `SourceError`."""

    def values(self, first: int, count: int, series: str, wait: float) -> RoiValues:
        """Return values of frames of a series, from index `first`; wait up to `wait` seconds for that one."""


class TangoSource(TangoDetector):
    """See `Source`; the device is not contacted before the first call, so it may be started later."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._receiver: ReceiverClient | None = None

    def values(self, first: int, count: int, series: str, wait: float) -> RoiValues:
        """See `Source`."""
        if self._receiver is None:
            self._receiver = ReceiverClient(self._address(), TIMEOUT)
        try:
            return self._receiver.roi_values(first, count, series, wait)
        except ReceiverUnavailable as error:
            self._receiver = None  # its address may be another one by now
            raise SourceError("away", str(error)) from error
        except ReceiverRefused as error:
            raise SourceError(error.kind, str(error)) from error

    def _address(self) -> str:
        if not (found := property_of(self.name, "ReceiverUrl")):
            raise SourceError(
                "no_receiver",
                f"{self.name} has no device property ReceiverUrl, so its regions of interest cannot be "
                "found; set it, and restart the detector's server",
            )
        return found
