"""A Penstock 2D channel as macros see it: the element in the Pool, and the detector's device behind it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any, Final

import tango

from penstock.sardana.channel.detector import UNREACHABLE
from penstock.sardana.channel.metadata import without_scan
from penstock.sardana.channel.sentences import in_use, not_answering

NOT_ITS_SETTINGS: Final = frozenset({
    "unavailable", "not_connected", "other_consumer", "in_error", "no_receiver", "no_streamer",
    "streamer_died", "broken",
})  # fmt: skip
"""Refusals of the command Check that hold for any series: a streamer or receiver is away."""
COMPLETED_WITHIN: Final = 20.0
"""Seconds in which a detector must have completed its file when its series has ended."""
ACTIVE: Final = (tango.DevState.RUNNING, tango.DevState.MOVING)


class Series(Enum):
    """What runs on a detector, seen from its channel."""

    NONE = auto()
    RUNNING = auto()
    """The channel's own series, with frames still to come."""
    COMPLETE = auto()
    """The channel's own series: all frames were taken, the file is being closed."""
    FOREIGN = auto()
    """Armed by somebody else, or live without a file."""


class NotReady(Exception):
    """A detector cannot take part in a scan; the sentence is its device's own, or says that it is away."""


class ChannelClient:
    """One channel, and its detector's device."""

    def __init__(self, name: str, proxy: tango.DeviceProxy, detector: str) -> None:
        self.name = name
        self.proxy = proxy
        """The element in the Pool."""
        self.detector_name = detector
        self._detector: tango.DeviceProxy | None = None

    @property
    def detector(self) -> tango.DeviceProxy:
        """The detector's device.

        Raises:
            tango.DevFailed: the database knows no such device.
        """
        if self._detector is None:
            self._detector = tango.DeviceProxy(self.detector_name)
        return self._detector

    def read(self, attribute: str) -> Any:
        """Return the value of an attribute of the channel, such as Warning."""
        return self.proxy.read_attribute(attribute).value

    def check_ready(self) -> None:
        """Refuse a detector that could take no series at all.

        A detector that runs a series is left to the channel, which knows whether it is its own.

        Raises:
            NotReady: it is in FAULT or OFF or does not answer, or its streamer or receiver does not.
        """
        try:
            state, status = self.detector.state(), self.detector.status()
            if state in ACTIVE:
                return
            if state is not tango.DevState.ON:
                raise NotReady(f"{self.name}: {self.detector_name} is {state}: {status}")
            answer = json.loads(self.detector.command_inout("Check"))
        except tango.DevFailed as error:
            raise NotReady(f"{self.name}: {self.sentence_of(error)}") from error
        if not answer["ok"] and answer["kind"] in NOT_ITS_SETTINGS:
            raise NotReady(f"{self.name}: {self.detector_name}: {answer['sentence']}")

    def sentence_of(self, error: tango.DevFailed) -> str:
        """Return the sentence for users about an error of the detector's device."""
        return not_answering(self.detector_name) if isinstance(error, UNREACHABLE) else sentence(error)

    def in_use(self) -> str:
        """Return the sentence about a series that the channel does not recognize as its own."""
        device = self.detector
        return f"{self.name}: {in_use(self.detector_name, device.ArmedBy, device.status())}"

    def series(self) -> Series:
        """Return what runs on the detector."""
        device = self.detector
        if device.state() not in ACTIVE:
            return Series.NONE
        if not self._is_own(device):
            return Series.FOREIGN
        return Series.COMPLETE if device.nFramesAcquired >= device.nFramesPlanned else Series.RUNNING

    def _is_own(self, device: tango.DeviceProxy) -> bool:
        """Compare the files; without a file, it is the channel's own if the channel is busy."""
        if device.FileWritten:
            return bool(self.read("LastFile") == device.DestinationFilename)
        return not self.read("LastFile") and self.proxy.state() is tango.DevState.MOVING

    def fault(self) -> str:
        """Return the sentence of a channel whose series failed; "" for none."""
        if self.proxy.state() is not tango.DevState.FAULT:
            return ""
        return str(self.read("Warning") or self.proxy.status())

    def forget_scan(self) -> None:
        """Remove the scan's entries from the Metadata of a detector that is ready for another series."""
        device = self.detector
        if device.state() is not tango.DevState.ON:
            return
        present = str(device.Metadata or "")
        if (left := without_scan(present)) != present:
            device.write_attribute("Metadata", left)

    def await_idle(self, slow: Callable[[str], None]) -> str:
        """Wait until the detector runs no series; return "", or what it is still doing after
        `COMPLETED_WITHIN`.

        Args:
            slow: called once, after a second, with what is being waited for.
        """
        device, begin, reported = self.detector, time.monotonic(), False
        while (state := device.state()) in ACTIVE:
            waited = time.monotonic() - begin
            if waited > COMPLETED_WITHIN:
                return (
                    f"{self.name}: {self.detector_name} is {state} {COMPLETED_WITHIN:g} s after the series: "
                    f"{device.status()}; its command Stop ends it"
                )
            if waited > 1.0 and not reported:
                reported = True
                slow(f"{self.name}: waiting until {self.detector_name} has completed {device.FileWritten}")
            time.sleep(0.02)
        return "" if state is tango.DevState.ON else f"{self.name}: {self.detector_name}: {device.status()}"


def find(names: Iterable[str]) -> list[ChannelClient]:
    """Return the Penstock channels among these elements of the Pool.

    Args:
        names: Tango names or aliases.
    """
    found = []
    for name in names:
        try:
            proxy = tango.DeviceProxy(name)
            detector = proxy.read_attribute("DetectorDevice").value
        except tango.DevFailed:
            continue  # a counter, an attribute of some device, or another detector
        found.append(ChannelClient(proxy.alias(), proxy, detector))
    return found


def find_results(names: Iterable[str]) -> list[tango.DeviceProxy]:
    """Return the channels that show results of live processing, among these elements of the Pool.

    Args:
        names: Tango names or aliases.
    """
    found = []
    for name in names:
        try:
            proxy = tango.DeviceProxy(name)
            proxy.read_attribute("InScan")
        except tango.DevFailed:
            continue
        found.append(proxy)
    return found


def sentence(error: tango.DevFailed) -> str:
    """Return the sentence for users in a Tango error."""
    return str(error.args[0].desc).strip()
