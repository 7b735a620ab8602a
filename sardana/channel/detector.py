"""The detector's Tango device as a 2D channel needs it: few round trips, short time-outs, sentences."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import tango

from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import View
from penstock.sardana.channel.sentences import not_answering, outside_limits

TIMEOUT: Final = 3.0
"""Seconds for one call."""
ACTIVE: Final = ("RUNNING", "MOVING")
"""Tango states with a series."""
PREFIX: Final = "Penstock_"
"""Prefix of the reasons of the device's own refusals."""
LOST: Final = "lost"
"""Kind of a refusal: the device does not answer."""
UNREACHABLE: Final = (tango.ConnectionFailed, tango.CommunicationFailed)
"""What PyTango raises in that case."""


class Refused(Exception):
    """A refusal by the device or by the channel; `kind` is stable, the text is a sentence for the user."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


@dataclass(frozen=True)
class Snapshot:
    """What changes while a series runs; read in one call."""

    state: str
    """Name of `tango.DevState`."""
    status: str
    acquired: int
    ready: bool
    """A software trigger would be taken now."""
    series: str
    """Unique id of the running, or else the last, series."""


@dataclass(frozen=True)
class Facts:
    """What is fixed while a series runs; otherwise that of the next series."""

    shape: tuple[int, ...] = ()
    dtype: str = ""
    dataset: str = ""
    index_source: str = ""
    frame_time: float = 0.0
    """Seconds."""
    readout_time: float = 0.0
    """Seconds."""
    modes: tuple[str, ...] = ()
    armed_by: str = ""
    planned: int = 0
    """Frames of the series; -1 if it has frames until Stop."""


@dataclass(frozen=True)
class Verdict:
    """How a series ended."""

    series: str = ""
    complete: bool = False
    sentence: str = ""
    planned: int = 0
    counts: Mapping[str, int | None] = ()  # type: ignore[assignment]
    lost: tuple[tuple[int, int, str], ...] = ()
    """First and last index and fate of each range that is not in the file."""


class Detector(Protocol):
    """One detector; every call is bounded.

    Every method raises `Refused`, of the kind `LOST` where the device does not answer.
    """

    name: str
    """Name of the Tango device."""

    def snapshot(self) -> Snapshot:
        """Return the series as it stands."""

    def facts(self) -> Facts:
        """Return what is fixed for a series."""

    def verdict(self) -> Verdict:
        """Return how the last series ended."""

    def settings(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the present values of these attributes."""

    def write(self, settings: Mapping[str, Any]) -> None:
        """Set attributes."""

    def check(self) -> str:
        """Return the kind of refusal that Arm would get now; "" for none."""

    def arm(self) -> None:
        """Begin a series."""

    def trigger(self) -> None:
        """Send one software trigger."""

    def stop(self) -> None:
        """Complete the file."""

    def abort(self) -> None:
        """Drop what is queued."""

    def data_root(self) -> str:
        """Return the folder below which the receiver writes."""

    def image(self, series: str, index: int, within: float) -> Any:
        """Return a frame of a series without a file, or a newer one, as an array."""


class TangoDetector:
    """See `Detector`."""

    def __init__(self, name: str) -> None:
        """The device is not contacted before the first call, so it may be started later."""
        self.name = name
        self._proxy: tango.DeviceProxy | None = None
        self._receiver: ReceiverClient | None = None

    def snapshot(self) -> Snapshot:
        """See `Detector`."""
        names = ("State", "Status", "nFramesAcquired", "ReadyForSwTrigger", "SeriesId")
        state, status, acquired, ready, series = self._read(*names)
        return Snapshot(str(state), status or "", int(acquired or 0), bool(ready), series or "")

    def facts(self) -> Facts:
        """See `Detector`."""
        shape, dtype, dataset, source, period, readout, modes, by, planned = self._read(
            "FrameShape", "FrameType", "FileDataset", "IndexSource", "FrameTime", "ReadoutTime",
            "TriggerModes", "ArmedBy", "nFramesPlanned",
        )  # fmt: skip
        return Facts(
            tuple(int(edge) for edge in shape) if shape is not None else (), dtype or "", dataset or "",
            source or "", float(period or 0.0), float(readout or 0.0), tuple(modes or ()), by or "",
            int(planned or 0),
        )  # fmt: skip

    def verdict(self) -> Verdict:
        """See `Detector`."""
        (text,) = self._read("LastSeries")
        if not text:
            return Verdict()
        found = json.loads(text)
        return Verdict(
            found["series"], found["complete"], found["verdict"], found["planned"], found["counts"],
            tuple((first, last, fate) for first, last, fate in found["lost"]),
        )  # fmt: skip

    def settings(self, names: tuple[str, ...]) -> dict[str, Any]:
        """See `Detector`."""
        return dict(zip(names, self._read(*names), strict=True))

    def write(self, settings: Mapping[str, Any]) -> None:
        """See `Detector`."""
        try:
            self._device().write_attributes(list(settings.items()))
        except tango.DevFailed as error:
            if isinstance(error, UNREACHABLE):
                raise self._refused(error) from error
            self._write_singly(settings)

    def _write_singly(self, settings: Mapping[str, Any]) -> None:
        """Write one by one: the error of a group names neither the refused setting nor the reason."""
        for name, value in settings.items():
            try:
                self._device().write_attribute(name, value)
            except tango.DevFailed as error:
                first = error.args[0]
                if isinstance(error, UNREACHABLE) or first.reason.startswith(PREFIX):
                    raise self._refused(error) from error
                why = outside_limits(self._device(), name, error) or first.desc.strip()
                shown = f"{value:g}" if isinstance(value, float) else repr(value)
                raise Refused("setting", f"{self.name} refuses {name} {shown}: {why}") from error

    def check(self) -> str:
        """See `Detector`."""
        answer = json.loads(self._command("Check"))
        return "" if answer["ok"] else str(answer["kind"])

    def arm(self) -> None:
        """See `Detector`."""
        self._command("Arm")

    def trigger(self) -> None:
        """See `Detector`."""
        self._command("SoftwareTrigger")

    def stop(self) -> None:
        """See `Detector`."""
        self._command("Stop")

    def abort(self) -> None:
        """See `Detector`."""
        self._command("Abort")

    def data_root(self) -> str:
        """See `Detector`."""
        try:
            return self._receiver_client().folders().root
        except (ReceiverRefused, ReceiverUnavailable) as error:
            raise Refused("receiver", str(error)) from error

    def image(self, series: str, index: int, within: float) -> np.ndarray:
        """See `Detector`."""
        client, limit = self._receiver_client(), time.monotonic() + within
        try:
            while True:
                status = client.status()
                frame = client.last_frame(view=View(downsample=1))
                if frame is not None and frame.series == series and frame.frame >= index:
                    return frame.array
                left = limit - time.monotonic()
                if left <= 0.0:
                    raise Refused(
                        "no_image", f"frame {index} has not reached the receiver within {within:g} s"
                    )
                client.status(seen=status.version, wait=min(left, 0.2))
        except (ReceiverRefused, ReceiverUnavailable) as error:
            raise Refused("receiver", str(error)) from error

    def _receiver_client(self) -> ReceiverClient:
        if self._receiver is None:
            try:
                url = self._device().get_property("ReceiverUrl")["ReceiverUrl"]
            except tango.DevFailed as error:
                raise self._refused(error) from error
            self._receiver = ReceiverClient(url[0] if url else "", timeout=1.0)
        return self._receiver

    def _command(self, name: str) -> Any:
        try:
            return self._device().command_inout(name)
        except tango.DevFailed as error:
            raise self._refused(error) from error

    def _read(self, *names: str) -> list[Any]:
        try:
            return [None if item.has_failed else item.value for item in self._device().read_attributes(names)]
        except tango.DevFailed as error:
            raise self._refused(error) from error

    def _device(self) -> tango.DeviceProxy:
        if self._proxy is None:
            try:
                proxy = tango.DeviceProxy(self.name)
            except tango.DevFailed as error:
                raise self._refused(error) from error
            proxy.set_timeout_millis(round(1000 * TIMEOUT))
            self._proxy = proxy
        return self._proxy

    def _refused(self, error: tango.DevFailed) -> Refused:
        first = error.args[0]
        if first.reason.startswith(PREFIX):
            return Refused(first.reason.removeprefix(PREFIX), first.desc)
        # A proxy that could not connect refuses to try again for a second; the server may be back by then.
        self._proxy = self._receiver = None
        why = first.desc.strip().splitlines()[0]
        return Refused(LOST, not_answering(self.name, why))
