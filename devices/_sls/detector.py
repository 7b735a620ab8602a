"""The detectors that slsdet controls alike: one class, of which each model is a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from penstock.devices._sls import modes
from penstock.devices._sls import parameters as keys
from penstock.devices._sls.acquisition import Acquisition
from penstock.devices._sls.client import AT_ONCE, Client
from penstock.devices._sls.connection import Modules
from penstock.devices._sls.names import MOST_CHARACTERS
from penstock.stins.addresses import host_port
from penstock.stins.messages import IndexSource
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import BoxState, Progress, StreamingDetector
from penstock.streamer.camera.settings import Limits, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat

TICK = 25e-9
"""Seconds of the clock of times (`jungfrauDetectorServer/slsDetectorServer_defs.h`, `CLK_RUN`: 40 MHz)."""
ROUNDING = 1e-3
"""Relative difference of a time that is more than rounding, beside some ticks."""
SLOW = ("powerchip", "highvoltage", "readoutspeed")
"""Settings that take a second per module or more."""


class SlsDetector(StreamingDetector):
    """The modules of one detector, and their slsReceivers; named like its class in slsdet."""

    settings: ClassVar[tuple[keys.Setting, ...]]
    """Its parameters that can be set."""
    pixel: ClassVar[float]
    """Edge of a pixel in m."""

    properties = keys.PROPERTIES
    trigger_modes = (
        TriggerMode.SOFTWARE, TriggerMode.INTERNAL, TriggerMode.EXTERNAL, TriggerMode.EXTERNAL_MULTI,
    )  # fmt: skip
    set_by_reset = frozenset({keys.POWER})
    counts_frames = True
    sends_start = False
    arm_characters = MOST_CHARACTERS
    index_source = IndexSource.HARDWARE_COUNTER  # of the last prepared series, from modes.index_source

    def __init__(self, properties: Mapping[str, Value]) -> None:
        """See `StreamingDetector`; uses no network.

        Raises:
            CameraError: a property is wrong, or slsdet is missing.
        """
        unit = {p.name: p.default for p in self.properties} | dict(properties)
        self._modules = Modules(unit)
        host, _ = self._modules.receivers[0]
        self._endpoint = f"tcp://{host_port(host, self._modules.stream_port)}"
        name = type(self).__name__
        self._client = Client(
            self._modules.name, name, f"the {name} at {self._modules.words}", self._modules.hosts
        )
        self._client.check_sdk()
        self._series = Acquisition(self._client)
        self._plan = modes.Plan("AUTO_TIMING", 1, 1, 1)
        self._size = (0, 0)
        self._exposure = self._frame_time = 0.0

    def stream_endpoint(self) -> str:
        """See `StreamingDetector`; that of the first module."""
        return self._endpoint

    def stream_source(self) -> str:
        """See `StreamingDetector`."""
        return "sls"

    # What the detector has

    def connect(self) -> Progress:
        """See `StreamingDetector`."""
        self._modules.attach(self._client)
        kind, size = self._client.get("type", "detsize")
        if kind != type(self).__name__.upper():
            raise CameraError(f"{self._client.address} is a {kind}, no {type(self).__name__.upper()}")
        across, down = size
        self._size = (down, across)
        return self._modules.state(self._client)

    def values(self) -> Mapping[str, Value]:
        """See `StreamingDetector`; what differs between modules is left out."""
        found = self._client.get(*(setting.key for setting in self.settings))
        values = {
            setting.parameter.name: setting.from_box(value)
            for setting, value in zip(self.settings, found, strict=True)
        }
        return {name: value for name, value in values.items() if value is not None}

    def limits(self) -> Mapping[str, Limits]:
        """See `Unit`."""
        return {"ExposureTime": Limits(TICK, None)}

    def readout_time(self) -> float:
        """See `Unit`; no command of the detector's software says it, and it depends on ReadoutSpeed."""
        return 0.0

    def describe(self) -> Mapping[str, object]:
        """See `Unit`."""
        names = ("serialnumber", "firmwareversion", "detectorserverversion", "rx_version")
        serial, firmware, server, receiver = (
            ", ".join(dict.fromkeys(map(str, keys.flat(value)))) for value in self._client.get(*names)
        )
        return {
            "description": type(self).__name__.upper(), "serial_number": serial,
            "firmware_version": firmware, "x_pixel_size": self.pixel, "y_pixel_size": self.pixel,
            "sensor_material": "Si",
            "software_version": f"detector server {server}, slsReceiver {receiver}",
            "gain": {name: value for name, value in self.values().items() if name.startswith("Gain")},
        }  # fmt: skip

    def progress(self) -> Progress:
        """See `StreamingDetector`."""
        progress = self._modules.state(self._client)
        running = self._series.is_running
        if running and progress.state is BoxState.IDLE:
            progress = Progress(state=BoxState.ARMED)
        return msgspec.structs.replace(
            progress, acquired=self._series.acquired(), ended_by="" if running else self._series.ended_by
        )

    def read(self, name: str) -> Value:
        """See `Unit`."""
        return keys.read(self._client, name) if name in keys.READINGS else super().read(name)

    # Settings

    def apply(self, values: Mapping[str, Value]) -> None:
        """See `StreamingDetector`."""
        volts = values.get(keys.VOLTAGE, 0)
        if 0 < int(volts) < keys.LEAST_VOLTS:
            raise CameraError(
                f"{keys.VOLTAGE} is {volts} V; set 0, or {keys.LEAST_VOLTS} V and more; nothing was set"
            )
        wanted = {s.key: values[s.parameter.name] for s in self.settings if s.parameter.name in values}
        slow = sum(key in SLOW for key in wanted)
        self._client.do(*(("put", key, value) for key, value in wanted.items()), seconds=AT_ONCE * (1 + slow))

    def check(self, settings: Settings) -> FrameFormat | None:
        """See `Unit`."""
        rows, columns = self._size
        if not rows:
            return None
        # Pixels have 16 bits: two of gain, 14 of charge (`docs/src/dataformat.rst`).
        return FrameFormat(shape=self._size, dtype="uint16", frame_bytes=2 * rows * columns)

    def prepare(self, settings: Settings) -> FrameFormat:
        """See `Unit`; writes the settings that differ from those that the detector has now."""
        state = self._modules.state(self._client)
        if state.state is not BoxState.IDLE:
            said = f", {state.message}" if state.message else ""
            raise CameraError(f"{self._client.address} is {state.state}{said}; call Reset, then Arm")
        self._modules.publish(self._client)  # another client may have changed it
        now = self.values()
        self.apply({name: value for name, value in settings.camera.items() if now.get(name) != value})
        plan = modes.plan(settings)
        period = settings.exposure_time + max(settings.latency_time, self.readout_time())
        self._client.do(
            ("put", "timing", plan.timing), ("put", "triggers", plan.triggers),
            ("put", "frames", plan.frames), ("put", "exptime", settings.exposure_time),
            ("put", "period", period),
        )  # fmt: skip
        for key, asked, found in zip(
            ("exptime", "period"), (settings.exposure_time, period), self._times(), strict=True
        ):
            if abs(found - asked) > ROUNDING * asked + 2 * TICK:
                raise CameraError(
                    f"{key} is {found:g} s in the detector, {asked:g} s was asked for; does another client "
                    "set it at the same time?"
                )
        self._plan, self._exposure, self._frame_time = plan, settings.exposure_time, period
        self.index_source = modes.index_source(settings.trigger_mode)
        rows, columns = self._size
        return FrameFormat(shape=self._size, dtype="uint16", frame_bytes=2 * rows * columns)

    def as_prepared(self, settings: Settings) -> Settings:
        """See `StreamingDetector`; the detector rounds times to its clock."""
        exposure, _ = self._times()
        return msgspec.structs.replace(settings, exposure_time=exposure)

    def _times(self) -> tuple[float, float]:
        found: list[Any] = [keys.flat(value)[0] for value in self._client.get("exptime", "period")]
        return float(found[0]), float(found[1])

    # A series

    def arm(self, user: UserPart) -> None:
        """See `StreamingDetector`."""
        self._series.arm(user, self._plan, self._plan.least_time(self._exposure, self._frame_time))

    def trigger(self) -> None:
        """See `StreamingDetector`."""
        self._series.trigger(self._plan.frames * self._frame_time)

    def stop(self) -> None:
        """See `StreamingDetector`."""
        self._series.stop(self._exposure, self._frame_time)

    def abort(self) -> None:
        """See `StreamingDetector`."""
        self._series.abort(self._frame_time)

    def reset(self) -> None:
        """See `StreamingDetector`; sets up receivers and data network if that is lost, powers the chips."""
        self._series.reset(self._frame_time, receivers=not self._modules.other_receivers)
        if self._modules.state(self._client).state is not BoxState.IDLE:
            self._modules.configure(self._client)
        self._modules.publish(self._client)
        state = self._modules.state(self._client)
        if state.state is not BoxState.IDLE:
            raise CameraError(f"{self._client.address} is {state.state} after Reset: {state.message}")

    def close(self) -> None:
        """See `Unit`."""
        self._series.close()
        self._client.close()
