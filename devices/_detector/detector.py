"""The Tango device of every detector; `detector_class` derives each camera's class from it.

The device is thin: attributes hold the settings of the next series, commands are passed to `SeriesControl`,
and one `Publisher` thread pushes changes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import tango
from tango.server import attribute, command

from penstock.devices._detector.clients import Clients
from penstock.devices._detector.feature_access import FeatureAccess
from penstock.devices._detector.life import Life, ended_by
from penstock.devices._detector.live_image import MAX_EDGE, LiveImage, address_of
from penstock.devices._detector.parameter_list import ATTRIBUTE as PARAMETERS
from penstock.devices._detector.parameter_list import parameter_list
from penstock.devices._detector.programs import Programs
from penstock.devices._detector.streamer_link import streamer_link, streamer_properties
from penstock.devices._detector.view_attributes import VIEW_ATTRIBUTES
from penstock.devices._series.checking import Answer, refused
from penstock.devices._series.control import SeriesControl
from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.states import ACTIVE, TANGO_STATE, SeriesState
from penstock.devices._series.machine.view import SeriesView
from penstock.devices._series.refusals import ArmRefused
from penstock.devices._series.settings import (
    PERIOD_ATTRIBUTES,
    ValueRefused,
    frames_of,
    latency_for,
    live_settings,
    parse_metadata,
    periods,
    settings_of,
)  # fmt: skip
from penstock.devices._series.streamer_process import StreamerLink
from penstock.devices._tango import events
from penstock.devices._tango.attributes import (
    Unread,
    as_displayed,
    check_value,
    is_as_displayed,
)
from penstock.devices._tango.device_properties import CheckedProperties, declared
from penstock.devices._tango.facility_limits import FacilityLimits
from penstock.devices._tango.faults import as_tango_error
from penstock.devices._tango.memorized import Memorized
from penstock.devices._tango.publisher import Publisher
from penstock.devices._tango.shown_attributes import ShownAttributes
from penstock.devices._tango.status_watch import StatusWatch
from penstock.devices._tango.tango_text import tango_json, tango_value
from penstock.receiver.client import ReceiverClient
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.camera.settings import (
    Limits,
    Parameter,
    Settings,
    TriggerMode,
    Value,
    default_trigger_mode,
)
from penstock.streamer.camera.unit import Unit
from penstock.streamer.remote.client import Description, Prepared, StreamerClient, StreamerRefused

log = logging.getLogger(__name__)

IDENTITY = frozenset({"CameraModel", "SerialNumber", "SensorWidth", "SensorHeight"})
"""Properties of a camera that its device also shows as attributes."""
MOST_DIMENSIONS = 3
"""Most dimensions of a frame: images or modules, rows, columns."""
PERIODS = {parameter.name: parameter for parameter in PERIOD_ATTRIBUTES if parameter.writable}
"""FrameTime and FrameRate, which a client can set although they are derived from other settings."""


PROPERTIES: tuple[Parameter, ...] = (
    Parameter(
        name="ReceiverUrl", default="", required=True,
        doc="Address of the receiver's HTTP API, such as http://daq-1:5000.",
    ),
    Parameter(
        name="StreamerControl", default="",
        doc='Control address of a streamer on another host, tcp://HOST:PORT; "" starts one as a child.',
    ),
    Parameter(
        name="ReceiverTimeout", default=WatchdogLimits.receiver_timeout, unit="s",
        limits=Limits(0.1, 86400.0),
        doc="Time without an answer from the receiver that ends a series, unless it is still connected.",
    ),
    Parameter(
        name="ReceiverAway", default=WatchdogLimits.receiver_gone, unit="s", limits=Limits(0.5, 86400.0),
        doc="Time for which a series waits for a receiver that is updated, or moves to another host.",
    ),
    Parameter(
        name="LiveImageRate", default=5.0, unit="Hz", limits=Limits(0.01, 100.0),
        doc="Most updates of LiveImage; large images come more rarely, with 40 MB/s to each subscriber.",
    ),
    Parameter(
        name="LiveImageSize", default=1024, unit="pixel", limits=Limits(16, MAX_EDGE),
        doc="Longest edge of LiveImage.",
    ),
    Parameter(
        name="ControlUrl", default="",
        doc="Address of the control of its programs on Kubernetes, such as http://eiger-control:5300.",
    ),
)  # fmt: skip
"""Properties of every detector device, beside those of its camera and its streamer."""


class Detector(CheckedProperties):
    """The base class of all detector devices; subclasses differ only in their camera."""

    camera: ClassVar[type[Unit]]
    parameters: ClassVar[Mapping[str, Parameter]]
    """Parameters that are attributes, by name."""

    (
        ReceiverUrl, StreamerControl, ReceiverTimeout, ReceiverAway, LiveImageRate, LiveImageSize, ControlUrl,
    ) = map(declared, PROPERTIES)  # fmt: skip

    # Life

    @property
    def _box(self) -> bool:
        """True if the detector streams by itself: then its box holds the settings, and keeps them."""
        return issubclass(self.camera, StreamingDetector)

    def init_device(self) -> None:
        """Read the properties, reset the settings, start the streamer in the background."""
        super().init_device()
        self._properties: dict[str, Value] = {
            parameter.name: getattr(self, parameter.name) for parameter in self.camera.properties
        }
        self._values: dict[str, Value] = {
            name: parameter.default for name, parameter in self.parameters.items() if parameter.writable
        }
        writable = [parameter for parameter in self.parameters.values() if parameter.writable]
        self._limits = FacilityLimits(self, [*writable, *PERIODS.values()])
        self._limits.begin()
        self._memorized = Memorized(self, writable, self._values)
        self._shown = ShownAttributes(self, self._limits)
        self._said: list[str] = []
        modes = tuple(str(mode) for mode in self.camera.trigger_modes)
        self._unknown = set(self._camera_names()) if self._box else set()
        """Values of a box's own parameters before the box has been read."""
        self._values["TriggerMode"] = default_trigger_mode(self.camera.trigger_modes).value
        self._take_modes(modes)
        self._readout = 0.0
        self._obtained: dict[str, tuple[Value, Value]] = {}
        """What a client has requested, and what the box of the detector has made of it, by setting."""
        self._found: Mapping[str, Limits] = {}
        """Limits of the camera as the last Arm has found it."""
        self._taken: Mapping[str, Limits] = {}
        """Its limits as they were last taken."""
        self._set_points: dict[str, Value] = {}
        self._unmeasured = True
        """True if a setting was written or a series ended since the frame format was last asked for."""
        self._clients = Clients()
        self._receiver = ReceiverClient(self.ReceiverUrl)
        self._life = life = Life(self.get_name())
        self._programs = Programs(self.ControlUrl, changed=life.guarded(self._wake))
        self._control = SeriesControl(
            self._link(), self._receiver, clock=time.monotonic, connected=life.guarded(self._on_connected),
            prepared=life.guarded(self._on_prepared), changed=life.guarded(self._wake),
            may_connect=life.may_connect,
            limits=WatchdogLimits.of(self.ReceiverTimeout, self.ReceiverAway),
            armed_limit=lambda: float(self._values["ArmedTimeLimit"]),
            trigger_limit=lambda: float(self._values["TriggerTimeLimit"]),
        )  # fmt: skip
        self.features = FeatureAccess(self._control, self._on_features)
        self._watch = StatusWatch(self._receiver, self._control.record.on_receiver, "receiver")
        self._live = LiveImage(
            self, self._receiver, rate=self.LiveImageRate, edge=self.LiveImageSize,
            version=lambda: (self._control.view.series, self._control.view.latest_frame),
            monitor=lambda: address_of(self.camera, self._control.record),
        )  # fmt: skip
        self._publisher = Publisher(
            self, step=self._no_step if self.has_wrong_property else self._step, values=self._shown_values,
            failed=self._on_unexpected, states=self._entered,
        )  # fmt: skip
        self._life.may_connect(self._control.record)  # what a former life has left is shown at once
        self._memorized.restore(self._limits.rows, self._limits.check_shown, self._write_parameter)
        self._show_set_points()
        for name in ("State", "Status"):
            events.has_events(self, name)
        self._publisher.start()
        self._live.start()
        if not self.has_wrong_property:
            self._watch.start()

    def delete_device(self) -> None:
        """End a running series as Abort does, without waiting: threads may wait for this very call."""
        self._live.stop()
        closing = (self._watch, self._receiver, self._programs)
        self._life.end(ended_by(self.get_name()), self._control, self._publisher, closing)
        super().delete_device()

    def followed_state(self) -> tango.DevState:
        """Return the series state as Tango shows it."""
        return _tango_state(self._control.view.state)

    def followed_status(self) -> str:
        """Return the sentence that explains the state."""
        return self._status(self._control.view)

    def _status(self, view: SeriesView) -> str:
        said = self._notices()
        before = view.status
        if said and not before.endswith("."):
            before += "."
        return " ".join([before, *said])

    def _notices(self) -> list[str]:
        """Return what is not as the facility has set it, or as it was memorized, or on Kubernetes."""
        programs = [self._programs.sentence] if self._programs.sentence else []
        return [*self._memorized.sentences(), *self._limits.sentences(), *programs]

    def _entered(self) -> list[dict[str, Any]]:
        entered = self._control.record.entered()
        if self.broken:
            return [{"Status": self.broken, "State": tango.DevState.FAULT}]
        if not entered and self._said != self._notices():
            entered = [self._control.view]
        self._said = self._notices()
        return [
            {"LastSeries": view.last_series, "Status": self._status(view), "State": _tango_state(view.state)}
            for view in entered
        ]

    def _link(self) -> StreamerLink:
        streamer = {each.name: getattr(self, each.name) for each in streamer_properties(self.camera)}
        return streamer_link(self.camera, self._properties, streamer, self.StreamerControl, self.get_name())

    # Commands

    @command(doc_in="", doc_out="")
    def Arm(self) -> None:
        """Begin a series with the present settings; State is RUNNING when triggers are taken."""
        with as_tango_error("Arm"):
            self._arm(self._settings())

    @command(dtype_out=str, doc_out="JSON object: ok, kind, sentence, file, frames, ...")
    def Check(self) -> str:
        """Return what Arm would answer, and the size of the series, without side effects; in every state."""
        try:
            settings = self._settings()
            if self.broken:
                raise ArmRefused("broken", self.broken)
            self._check_limits()
        except (ArmRefused, ValueRefused) as error:
            answer = refused(Answer(ok=False, frames=frames_of(self._values)), error)
        else:
            answer = self._control.check(settings, self._periods()["FrameTime"])
        return tango_json(answer)

    @command
    def Live(self) -> None:
        """Take frames in the present TriggerMode until Stop, for live view, without a file."""
        with as_tango_error("Live"):
            self._arm(live_settings(self._settings()))

    @command
    def Continuous(self) -> None:
        """Take frames at the detector's own pace until Stop, for live view, without a file."""
        with as_tango_error("Continuous"):
            if TriggerMode.INTERNAL not in self._modes:
                raise ArmRefused(
                    "no_internal_mode", f"{self.camera.__name__} has no INTERNAL trigger mode; use Live"
                )
            self._arm(live_settings(self._settings(), TriggerMode.INTERNAL))

    @command
    def SoftwareTrigger(self) -> None:
        """Start the next trigger of a SOFTWARE series."""
        with as_tango_error("SoftwareTrigger"):
            self._control.trigger()

    @command
    def Trigger(self) -> None:
        """Alias of SoftwareTrigger."""
        self.SoftwareTrigger()

    @command
    def Stop(self) -> None:
        """Finish the running frame and complete the file; allowed in every state."""
        with as_tango_error("Stop"):
            self._control.stop()

    @command
    def Abort(self) -> None:
        """Drop queued frames and mark the file as aborted; allowed in every state."""
        with as_tango_error("Abort"):
            self._control.abort()

    @command
    def Reset(self) -> None:
        """Leave FAULT; restart the streamer if it died (State INIT meanwhile)."""
        with as_tango_error("Reset"):
            if self.has_wrong_property:
                self.refuse_if_broken()
            self.broken = ""
            self._control.reset()
            self._wake()

    @command
    def RestartReceiver(self) -> None:
        """Reset the receiver: leave its state Error. With ControlUrl, restart it on Kubernetes."""
        with as_tango_error("RestartReceiver"):
            self.refuse_if_broken()
            if self.ControlUrl:
                self._programs.restart()
            else:
                self._receiver.reset()

    # Attributes that are not parameters

    @attribute(
        dtype=(str,), max_dim_x=len(TriggerMode), doc="TriggerMode values that this camera supports.",
        **events.OPTIONS,
    )  # fmt: skip
    def TriggerModes(self) -> list[str]:
        """Allowed values of TriggerMode."""
        return list(self._modes)

    @attribute(
        dtype=(np.int64,), max_dim_x=MOST_DIMENSIONS,
        doc="Shape of one frame as stored, rows and columns last, of the running or else the next series; "
        "empty if unknown.",
        **events.OPTIONS,
    )  # fmt: skip
    def FrameShape(self) -> list[int]:
        """Shape of a frame after Rotation and the receiver's transforms."""
        return list(self._control.view.frame_shape)

    @attribute(
        dtype=((np.float64,),), max_dim_x=MAX_EDGE, max_dim_y=MAX_EDGE,
        doc="Last frame, down-sampled and rate-limited: for viewing, not for data. While the receiver takes "
        "no series, the newest image of the detector's own monitor, if it has one that is switched on.",
        change_event_implemented=True, change_event_detect=False,
    )  # fmt: skip
    def LiveImage(self) -> np.ndarray:
        """The live image; see `live_image.py`."""
        return self._live.read()

    # Behind the generated attributes

    def read_value(self, name: str) -> Value | tuple[Value, float, tango.AttrQuality]:
        """Return the value of a scalar attribute, with time and quality if there is no valid value."""
        value: Value | Unread = self._shown_values()[name]
        if isinstance(value, Unread):
            return value.stands_in, time.time(), tango.AttrQuality.ATTR_INVALID
        shown: Value = tango_value(value)
        return shown

    def read_shown(self, shown: tango.Attribute) -> Value | tuple[Value, float, tango.AttrQuality]:
        """Return the value of an attribute of this device alone."""
        return self.read_value(shown.get_name())

    def write_shown(self, shown: tango.Attribute) -> None:
        """Set the feature behind an attribute of this device alone."""
        name, value = shown.get_name(), shown.get_write_value()
        with as_tango_error(name):
            self.features.set(name, value)

    def write_value(self, name: str, value: Value) -> None:
        """Apply a value that a client has written."""
        with as_tango_error(name), self._memorized.writing(name, value):
            if name in PERIODS:
                self._write_period(name, float(value))
            else:
                self._write_parameter(self.parameters[name], value)
        self._show_set_points()
        self._unmeasured = True
        self._wake()

    def _write_parameter(self, parameter: Parameter, value: Value) -> None:
        value = check_value(parameter, value)
        name = parameter.name
        if is_as_displayed(parameter, value, self._values[name]) and name not in self._unknown:
            value = self._values[name]
        requested, obtained = self._obtained.get(name, (None, value))
        if value == requested:
            value = obtained
        if name == "ExposureTime" and value != self._values[name]:
            self._forget_obtained_latency()
        if name == "TriggerMode" and value not in self._modes:
            raise ValueRefused(
                f'{self.camera.__name__} has no TriggerMode "{value}"; choose {", ".join(self._modes)}'
            )
        if name == "Rotation" and int(value) % 90:
            raise ValueRefused(f"Rotation {value} is not a multiple of 90; choose 0, 90, 180 or 270")
        if name == "Metadata":
            parse_metadata(str(value))
        self._limits.check(parameter, value)
        if self._box and name in self._camera_names():
            self._control.set({name: value})  # the box then shows the value that it has set
            return
        if name in self._camera_names() and self._control.connected:
            self._take_limits(self._control.streamer.set({name: value}))
        self._values[name] = value

    def _write_period(self, name: str, value: float) -> None:
        if not 0.0 < value < float("inf"):
            raise ValueRefused(f"{name} must be above 0 and finite, not {value:g}")
        if is_as_displayed(PERIODS[name], value, self._periods()[name]):
            return
        self._limits.check(PERIODS[name], value)
        self._obtained.pop("LatencyTime", None)
        period = value if name == "FrameTime" else 1.0 / value
        self._values["LatencyTime"] = latency_for(period, float(self._values["ExposureTime"]), self._readout)

    def _forget_obtained_latency(self) -> None:
        """Go back to the LatencyTime that was requested: what the box has made of it had another exposure."""
        requested, obtained = self._obtained.pop("LatencyTime", (None, None))
        if requested is not None and self._values["LatencyTime"] == obtained:
            self._values["LatencyTime"] = requested

    def _show_set_points(self) -> None:
        """Pass the set values to Tango: otherwise panels show random set points before the first write."""
        attributes = self.get_device_attr()
        values = self._shown_values()
        # Rounded, so that the value a panel displays equals the set value, and the panel writes nothing back.
        computed = {**PERIODS, "LatencyTime": self.parameters["LatencyTime"]}
        values |= {name: as_displayed(parameter, values[name]) for name, parameter in computed.items()}
        for name in (*self._values, *PERIODS):
            if not isinstance(values[name], Unread) and self._set_points.get(name) != values[name]:
                self._set_points[name] = values[name]
                try:
                    attributes.get_w_attr_by_name(name).set_write_value(values[name])
                except tango.DevFailed as error:  # outside of limits that the facility has set
                    log.warning("%s: %s", self.get_name(), error.args[0].desc)

    def write_allowed(self, name: str) -> bool:
        """Refuse, with a sentence, while a series is running."""
        view = self._control.view
        if view.state in ACTIVE:
            with as_tango_error(name):
                raise ArmRefused(
                    "running",
                    f"{name} cannot be written while a series is running; call Stop or wait for State ON",
                )
        return True

    def _periods(self) -> dict[str, float]:
        exposure, latency = float(self._values["ExposureTime"]), float(self._values["LatencyTime"])
        return periods(exposure, latency, self._readout)

    def _camera_names(self) -> list[str]:
        return [parameter.name for parameter in self.camera.parameters if parameter.writable]

    def _settings(self) -> Settings:
        names = [name for name in self._camera_names() if name not in self._unknown]
        return settings_of(self._values, names, self.ReceiverAway)

    def _arm(self, settings: Settings) -> None:
        self.refuse_if_broken()
        self._check_limits()
        self._programs.wake()
        try:
            self._control.arm(settings, self._clients.caller(self))
        finally:
            # Not in the thread of the arming: Tango's monitor, which it needs, is held here.
            if self._found and self._found != self._taken:
                self._taken = self._found
                self._limits.take(self._found)
        self._unmeasured = True  # asked again once the series has ended

    def _check_limits(self) -> None:
        """Refuse a series with values outside the facility's limits, which may be newer than the values."""
        asked = {name: requested for name, (requested, _) in self._obtained.items()}
        values = {name: value for name, value in self._values.items() if name not in self._unknown}
        self._limits.check_all(values | asked | self._periods())

    def _shown_values(self) -> dict[str, Any]:
        """Return the present values of all attributes but LiveImage; `Unread` for those that are unknown."""
        view = self._control.view
        values: dict[str, Any] = dict(self._values)
        values |= {name: Unread(self._values[name]) for name in self._unknown}
        for parameter in self.camera.parameters:
            if not parameter.writable:
                values[parameter.name] = view.readings.get(parameter.name, Unread(parameter.default))
        for parameter in self._shown.parameters:
            read = view.readings.get(parameter.name, Unread(parameter.default))
            values[parameter.name] = self.features.newest(parameter.name, read)
        values |= {parameter.name: self._properties[parameter.name] for parameter in self._identity()}
        values[PARAMETERS.name] = self._list
        values |= self._periods()
        values["TriggerModes"] = list(self._modes)
        values["FrameShape"] = list(view.frame_shape)
        for reading in VIEW_ATTRIBUTES:
            values[reading.parameter.name] = reading.value(view)
        return values

    def _no_step(self) -> None:
        """Do nothing: no streamer is started, and no receiver asked, by wrong properties."""

    def _step(self) -> None:
        self._memorized.step()
        self._limits.step()
        self._shown.tidy()
        self._control.step()
        if self._unmeasured or self._control.next_frames.outdated():
            self._unmeasured = False
            if not self._control.measure(self._settings):
                self._unmeasured = True

    # What the other threads report

    def _wake(self) -> None:
        self._publisher.wake()

    def _on_unexpected(self, error: Exception) -> None:
        self.broken = f"{self.get_name()} had an internal error ({error!r}); see its log, then call Init."

    def _on_connected(self, streamer: StreamerClient, description: Description) -> None:
        """Handle a new connection: send the camera's settings, or read those of a box; take the limits."""
        self._shown.show(description.shown)
        self._take_modes(tuple(str(mode) for mode in description.trigger_modes))
        if self._box:
            names = self._camera_names()
            known = {name: description.values[name] for name in names if name in description.values}
            self._values |= known
            self._unknown = set(names) - set(known)
            self._take_limits(description)
            self._unmeasured = True
            return
        for name in self._camera_names():
            try:
                streamer.set({name: self._values[name]})
            except StreamerRefused as error:
                # An outdated memorized value must not prevent the detector from starting.
                default = self.parameters[name].default
                log.warning("%s: %s; it is reset to its default %s", name, error, default)
                self._memorized.refused(name, self._values[name], str(error))
                self._values[name] = default
        self._show_set_points()  # Tango takes no limits that exclude a memorized set point
        self._take_limits(streamer.describe())
        self._unmeasured = True

    def _on_features(self, description: Description) -> None:
        """A feature of the camera's own was set."""
        self._take_limits(description)
        self._unmeasured = True
        self._wake()

    def _on_prepared(self, prepared: Prepared) -> None:
        """Show what the box has made of the settings of a series; nothing can be written meanwhile."""
        self._found = prepared.limits
        for name, value in prepared.values.items():
            if value != self._values[name]:
                self._obtained[name] = self._values[name], value
                self._values[name] = value

    def _take_modes(self, modes: tuple[str, ...]) -> None:
        self._modes = modes
        own = (*self.camera.parameters, *self._shown.parameters)
        self._list = parameter_list(own, self._identity(), modes)

    def _identity(self) -> list[Parameter]:
        return [parameter for parameter in self.camera.properties if parameter.name in IDENTITY]

    def _take_limits(self, description: Description) -> None:
        self._readout = description.readout_time
        self._taken = description.limits
        self._limits.take(description.limits)
        self._show_set_points()  # Tango compares them with the limits


def _tango_state(state: SeriesState) -> tango.DevState:
    return getattr(tango.DevState, TANGO_STATE[state])
