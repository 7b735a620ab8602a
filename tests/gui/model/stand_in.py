"""A device that a test drives: it says what it is told to, and takes what is written."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from penstock.gui.model.attributes.attribute import Attribute, Group, Value
from penstock.gui.model.tango.device import DeviceRefused, Greeting, Listener

CHECK_OK = {"ok": True, "sentence": "Ready to arm.", "file": "/data/scan_0001.h5", "frames": 10,
            "frame_bytes": 2000, "bytes": 20000, "free_bytes": 10**12, "seconds": 1.0}  # fmt: skip


def setting(name: str, kind: type, group: Group = "series", **more: Any) -> Attribute:
    """A settable attribute."""
    return Attribute(name=name, kind=kind, group=group, writable=True, **more)


ATTRIBUTES = (
    setting("ExposureTime", float, unit="s", minimum=1e-5, maximum=3600.0, doc="Time of one frame."),
    setting("LatencyTime", float, unit="s", minimum=0.0),
    setting("FrameTime", float, unit="s"),
    setting("FrameRate", float, unit="Hz"),
    setting("nTriggers", int, minimum=1),
    setting("nFramesPerTrigger", int, minimum=1),
    setting("TriggerMode", str, choices=("INTERNAL", "SOFTWARE", "EXTERNAL_MULTI")),
    setting("DestinationFilename", str),
    setting("DestinationFileOverwritable", bool),
    setting("SaveRaw", bool),
    setting("Metadata", str),
    setting("Pattern", str, "camera", choices=("powder", "ramp"), doc="What the frames show."),
    setting("PhotonFlux", float, "camera", unit="1/s", minimum=0.0),
    Attribute(name="SensorTemperature", kind=float, group="reading", unit="degC", format="%.1f"),
    *(
        Attribute(name=name, kind=int)
        for name in (
            "nFramesPlanned", "nFramesAcquired", "nFramesReceived", "nFramesWritten", "nFramesPartial",
            "nFramesMissing", "nFramesDelivered", "nFramesDiscarded", "nFramesCorrupt", "nFramesNotTriggered",
            "nFramesPending", "FrameBytes",
        )
    ),
    Attribute(name="ReadyForSwTrigger", kind=bool),
    Attribute(name="FrameRateMeasured", kind=float, unit="Hz"),
    Attribute(name="RingFill", kind=float, unit="%"),
    Attribute(name="ReceiverQueue", kind=float, unit="%"),
    Attribute(name="SeriesId", kind=str),
    Attribute(name="FileWritten", kind=str),
    Attribute(name="LastSeries", kind=str),
    Attribute(name="ArmedBy", kind=str),
)  # fmt: skip

VALUES: Mapping[str, Value | None] = {
    **{each.name: each.kind() for each in ATTRIBUTES},
    "ExposureTime": 0.1, "FrameTime": 0.1, "FrameRate": 10.0, "nTriggers": 10, "nFramesPerTrigger": 1,
    "TriggerMode": "INTERNAL", "DestinationFilename": "/data/scan_0001.h5", "SaveRaw": True,
    "FrameBytes": 2000, "Pattern": "powder", "PhotonFlux": 1e6, "SensorTemperature": 21.5,
    "State": "ON", "Status": "Ready.",
}  # fmt: skip


class StandInDevice:
    """See the module and `penstock.gui.model.tango.device.Device`.

    `refuse` maps attributes and commands to the sentences with which they are refused; `hold` makes a call
    wait until `release`.
    """

    def __init__(self) -> None:
        self.written: list[tuple[str, Value]] = []
        self.called: list[str] = []
        self.refuse: dict[str, str] = {}
        self.on_command: dict[str, Callable[[], object]] = {}
        self.check: dict[str, Any] = dict(CHECK_OK)
        self.state = "ON"
        self.stopped = False
        self.receiver_url = self.control_url = ""
        self._held: dict[str, threading.Event] = {}
        self.listener: Listener | None = None

    # -- what a model calls --

    def start(self, listener: Listener) -> None:
        self.listener = listener

    def stop(self) -> None:
        self.stopped = True

    def write(self, name: str, value: Value) -> Value | None:
        self._enter(name)
        self.written.append((name, value))
        return value

    def command(self, name: str) -> str:
        if name == "State":
            return self.state
        if name == "Check":
            return json.dumps(self.check)
        self.called.append(name)
        self._enter(name)
        self.on_command.get(name, lambda: None)()
        return ""

    # -- what a test does --

    def hold(self, name: str) -> None:
        """Make the next calls of `name` wait."""
        self._held[name] = threading.Event()

    def release(self, name: str) -> None:
        """Let them go on."""
        self._held.pop(name).set()

    def appear(self, **values: Value | None) -> None:
        """The device is there, and everything has its value."""
        assert self.listener is not None
        greeting = Greeting(
            attributes=ATTRIBUTES, receiver_url=self.receiver_url, control_url=self.control_url
        )  # fmt: skip
        self.listener.reached(greeting)
        self.listener.said({**VALUES, **values})

    def appear_without(self, name: str) -> None:
        """The device comes back with one attribute less."""
        assert self.listener is not None
        attributes = [attribute for attribute in ATTRIBUTES if attribute.name != name]
        self.listener.reached(Greeting(attributes=attributes, receiver_url="", values=VALUES))

    def say(self, **values: Value | None) -> None:
        """Events."""
        assert self.listener is not None
        self.state = str(values.get("State", self.state))
        self.listener.said(values)

    def vanish(self, why: str = "The device server of sim/det/1 is not running. Start it.") -> None:
        """The device is away."""
        assert self.listener is not None
        self.listener.away(why)

    def _enter(self, name: str) -> None:
        held = self._held.get(name)
        if held is not None:
            assert held.wait(10.0), f"{name} was never released"
        if name in self.refuse:
            raise DeviceRefused(self.refuse[name])
