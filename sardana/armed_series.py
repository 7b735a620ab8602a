"""The series that a channel without a detector of its own follows: the one that the detector's channel
arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import tango

TIMEOUT: Final = 3.0
"""Seconds for one call of the detector's device."""


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

    @property
    def active(self) -> bool:
        """True if a series runs, or is being armed."""
        return self.state in ("RUNNING", "MOVING")


class Detector(Protocol):
    """One detector; every call is bounded, and raises `SourceError`."""

    name: str
    """Tango name."""

    def look(self) -> Look:
        """Return the series as it stands."""


class TangoDetector:
    """See `Detector`; the device is not contacted before the first call, so it may be started later."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._proxy: tango.DeviceProxy | None = None

    def look(self) -> Look:
        """See `Detector`."""
        try:
            if self._proxy is None:
                proxy = tango.DeviceProxy(self.name)
                proxy.set_timeout_millis(int(TIMEOUT * 1000))
                self._proxy = proxy
            found = self._proxy.read_attributes(["State", "Status", "SeriesId", "nFramesAcquired"])
            state, status, series, acquired = (each.value for each in found)
        except tango.DevFailed as error:
            raise lost(self.name, error) from error
        return Look(str(state), status or "", series or "", int(acquired or 0))


def armed_series(detector: Detector, before: Look | None, last: str, what: str) -> str:
    """Return the id of the series that was armed since the last acquisition, or just before this one.

    It is "" while the detector is still arming.

    Args:
        detector: the detector.
        before: it when the acquisition was prepared; it may have been armed already, or not yet.
        last: id of the last acquisition's series, which cannot be that of this one.
        what: begins the sentence for a detector that nobody has armed, such as "regions are counted in".

    Raises:
        SourceError: it is in FAULT, was not armed, or does not answer.
    """
    look = detector.look()
    idle_since = before is not None and not before.active
    if look.state == "FAULT":
        raise SourceError("fault", look.status)
    if look.state == "MOVING":
        return ""
    if not look.series or look.series == last or (
        idle_since and before is not None and look.series == before.series
    ):  # fmt: skip
        raise SourceError(
            "not_armed",
            f"{detector.name} was not armed for this acquisition: {what} the frames that its own channel "
            "takes, so add that to the measurement group, too, and enable it",
        )
    return look.series


def look_at(detector: Detector, series: str) -> Look:
    """Return the detector, which has to have this series still.

    Raises:
        SourceError: it has another one, is in FAULT, or does not answer.
    """
    look = detector.look()
    if look.series != series:
        raise SourceError(
            "another_series",
            f"{detector.name} has another series by now: its server was restarted, or somebody else has "
            "armed it",
        )
    if look.state == "FAULT":
        raise SourceError("fault", look.status)
    return look


def property_of(device: str, name: str) -> str:
    """Return a device property, "" if it is not set.

    Raises:
        SourceError: the database does not answer.
    """
    try:
        found = tango.DeviceProxy(device).get_property(name)[name]
    except tango.DevFailed as error:
        raise lost(device, error) from error
    return str(found[0]) if found else ""


def lost(device: str, error: tango.DevFailed) -> SourceError:
    """Return the error of a device that does not answer."""
    why = str(error.args[0].desc).strip() if error.args else str(error)
    return SourceError("lost", f"{device} does not answer: {why}")
