"""What a counter of regions reads: the series from the detector's device, the values from its receiver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import tango

from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import RoiValues

TIMEOUT: Final = 3.0
"""Seconds for one call."""


class SourceError(Exception):
    """No answer, or a refusal; `kind` is stable, the text is a sentence for the user."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


@dataclass(frozen=True)
class Look:
    """The detector at one moment."""

    state: str
    """Name of `tango.DevState`."""
    status: str
    series: str
    """Unique id of the running, or else the last, series."""
    acquired: int
    """Frames of it that the hardware has delivered."""


class Source(Protocol):
    """One detector and its receiver; every call is bounded, and raises `SourceError`."""

    name: str
    """Name of the detector's Tango device."""

    def look(self) -> Look:
        """Return the series as it stands."""

    def values(self, first: int, count: int, series: str, wait: float) -> RoiValues:
        """Return values of frames of a series, from index `first`; wait up to `wait` seconds for that one."""


class TangoSource:
    """See `Source`; the device is not contacted before the first call, so it may be started later."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._proxy: tango.DeviceProxy | None = None
        self._receiver: ReceiverClient | None = None

    def look(self) -> Look:
        """See `Source`."""
        try:
            if self._proxy is None:
                proxy = tango.DeviceProxy(self.name)
                proxy.set_timeout_millis(int(TIMEOUT * 1000))
                self._proxy = proxy
            found = self._proxy.read_attributes(["State", "Status", "SeriesId", "nFramesAcquired"])
            state, status, series, acquired = (each.value for each in found)
        except tango.DevFailed as error:
            raise self._lost(error) from error
        return Look(str(state), status or "", series or "", int(acquired or 0))

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
        try:
            found = tango.DeviceProxy(self.name).get_property("ReceiverUrl")["ReceiverUrl"]
        except tango.DevFailed as error:
            raise self._lost(error) from error
        if not found or not found[0]:
            raise SourceError(
                "no_receiver",
                f"{self.name} has no device property ReceiverUrl, so its regions of interest cannot be "
                "found; set it, and restart the detector's server",
            )
        return str(found[0])

    def _lost(self, error: tango.DevFailed) -> SourceError:
        why = str(error.args[0].desc).strip() if error.args else str(error)
        return SourceError("lost", f"{self.name} does not answer: {why}")
