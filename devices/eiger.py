"""DECTRIS EIGER, EIGER2 and PILATUS4, through the REST interface SIMPLON of their control unit."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.devices._dectris import modes, series
from penstock.devices._dectris import parameters as keys
from penstock.devices._dectris.box import Box
from penstock.devices._dectris.commands import Commands
from penstock.devices._dectris.host import host_of
from penstock.devices._dectris.readings import Readings
from penstock.devices._dectris.rest import Simplon
from penstock.stins.addresses import host_port
from penstock.stins.messages import IndexSource
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import BoxState, Progress, StreamingDetector
from penstock.streamer.camera.settings import Limits, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat


class Eiger(StreamingDetector):
    """One control unit, and the detector behind it."""

    properties = keys.PROPERTIES
    parameters = keys.PARAMETERS
    trigger_modes = tuple(TriggerMode)
    newest_image = keys.IMAGE
    index_source = IndexSource.HARDWARE_COUNTER  # of the last prepared series, from modes.index_source

    def __init__(self, properties: Mapping[str, Value]) -> None:
        """See `StreamingDetector`; uses no network."""
        unit = {p.name: p.default for p in self.properties} | dict(properties)
        host = host_of(str(unit["Host"]), "its port")
        self._stream, self._version = str(unit["Stream"]), str(unit["ApiVersion"])
        self._endpoint = f"tcp://{host_port(host, int(unit['StreamPort']) or keys.PORTS[self._stream])}"
        self._simplon = Simplon(host, int(unit["Port"]))
        self._box, self._readings = Box(self._simplon), Readings(self._simplon)
        self._commands = Commands(self._simplon)
        self._local = {p.name: p.default for p in keys.LOCAL}
        self._frame_time = self._trigger_time = 0.0
        self._exposure: float | None = None
        self._dropped_before: int | None = None

    def connect(self) -> Progress:
        """See `StreamingDetector`; before initialisation a control unit only gives its state."""
        self._simplon.find_version(self._version)
        self._readings.forget()
        progress = self._commands.progress()
        if progress.state is not BoxState.UNINITIALISED:
            self._learn()
        return progress

    def limits(self) -> Mapping[str, Limits]:
        """See `Unit`; these are the control unit's own limits."""
        named = {s.parameter.name: self._box.first_of(s.paths) for s in keys.SETTINGS if s.is_number}
        found = {name: self._box.limits(path) for name, path in named.items() if path}
        return {"ExposureTime": self._box.limits(series.COUNT_TIME), **found}

    def most_frames(self) -> int:
        """See `Unit`; the control unit's own limit, if it is lower: a higher one may be that of nimages x
        ntrigger, which it also applies to the ntrigger of the series before."""
        most = self._box.limits(f"{keys.DETECTOR}/nimages").maximum
        return super().most_frames() if most is None else min(int(most), super().most_frames())

    def readout_time(self) -> float:
        """See `Unit`."""
        return series.readout_time(self._box)

    def values(self) -> Mapping[str, Value]:
        """See `StreamingDetector`; parameters that this model does not have or know are left out."""
        found = dict(self._local)
        if self._commands.resets_high_voltage:
            found[keys.HV_RESET.name] = 0
        for setting in keys.SETTINGS:
            if path := self._box.first_of(setting.paths):
                value = setting.from_box(self._box.value(path), self._box.allowed(path))
                if value is not None:
                    found[setting.parameter.name] = value
        return found

    def stream_endpoint(self) -> str:
        """See `StreamingDetector`."""
        return self._endpoint

    def stream_source(self) -> str:
        """See `StreamingDetector`."""
        return f"dectris-{self._stream}"

    def apply(self, values: Mapping[str, Value]) -> None:
        """See `StreamingDetector`."""
        wanted: dict[str, Value] = {}
        for setting in keys.SETTINGS:
            if (name := setting.parameter.name) in values:
                path = self._box.first_of(setting.paths)
                if path is None:
                    raise CameraError(f"this detector has no {name} ({setting.paths[0]}); nothing was set")
                wanted[path] = setting.to_box(values[name])
        seconds = int(values.get(keys.HV_RESET.name, 0))
        if seconds and not self._commands.resets_high_voltage:
            raise CameraError(
                f"this detector has no {keys.HV_RESET.name} (detector/command/hv_reset); nothing was set"
            )
        self._box.bring(wanted)
        if seconds:
            self._commands.reset_high_voltage(seconds)
        self._local |= {name: values[name] for name in self._local if name in values}

    def check(self, settings: Settings) -> FrameFormat | None:
        """See `Unit`; the format is known if the control unit already has these settings."""
        series.refuse_impossible(settings, self._box, self._stream)
        wanted = series.wanted(settings, self._box, self._stream)
        if all(self._box.has(path, wanted[path]) for path in series.SHAPING if path in wanted):
            return series.format_if_known(self._box)
        return None

    def prepare(self, settings: Settings) -> FrameFormat:
        """See `Unit`; writes the settings that differ from those that the control unit has now."""
        progress = self._commands.progress()
        if progress.state is BoxState.BUSY:
            raise CameraError(
                f"{self._simplon.address} is busy{f': {progress.message}' if progress.message else ''}, "
                "perhaps with settings of another client; call Arm again when DetectorState is idle"
            )
        if progress.state is not BoxState.IDLE:
            raise CameraError(f"{self._simplon.address} is {progress.state}; call Reset, then Arm")
        self._local = series.local(settings)
        self._box.refresh()
        series.refuse_impossible(settings, self._box, self._stream)
        self._box.bring(series.wanted(settings, self._box, self._stream))
        self.index_source = modes.index_source(settings.trigger_mode)
        self._frame_time = settings.exposure_time + max(settings.latency_time, self.readout_time())
        self._trigger_time = self._frame_time * modes.frames_of_trigger(settings)
        self._exposure = modes.exposure_of_trigger(settings, self._local)
        return series.format_of(self._box)

    def describe(self) -> Mapping[str, object]:
        """See `Unit`; energies, thresholds, corrections, mask and flat field are in the start message."""
        return series.describe(self._box, self._simplon)

    def read(self, name: str) -> Value:
        """See `Unit`."""
        if name == keys.FILES:
            return self._readings.files(self._pattern()) if self._on("filewriter") else ""
        if name == keys.IMAGE:
            return self._simplon.link("monitor/images/monitor") if self._on("monitor") else ""
        return self._readings.read(name) if name in keys.READINGS else super().read(name)

    def as_prepared(self, settings: Settings) -> Settings:
        """See `StreamingDetector`; the control unit rounds times, and perhaps the geometry."""
        return series.as_prepared(settings, self._box)

    def arm(self, user: UserPart) -> None:
        """See `StreamingDetector`."""
        self._commands.arm(user)
        self._dropped_before = self._dropped_so_far()

    def trigger(self) -> None:
        """See `StreamingDetector`."""
        self._commands.trigger(self._trigger_time, self._exposure)

    def stop(self) -> None:
        """See `StreamingDetector`."""
        self._commands.stop(self._frame_time)

    def abort(self) -> None:
        """See `StreamingDetector`."""
        self._commands.abort()

    def progress(self) -> Progress:
        """See `StreamingDetector`; the control unit has no counter of frames."""
        return self._commands.progress()

    def dropped(self) -> int | None:
        """See `StreamingDetector`; the control unit counts from its last arm, or from its start."""
        now, before = self._dropped_so_far(), self._dropped_before
        return None if now is None or before is None else max(0, now - before)

    def _dropped_so_far(self) -> int | None:
        try:
            return int(self._readings.read("StreamDropped"))
        except CameraError:
            return None

    def reset(self) -> None:
        """See `StreamingDetector`; the defaults after an initialisation are read back."""
        self._commands.reset()
        self._readings.forget()  # before the initialisation there were none
        self._learn()

    def close(self) -> None:
        """See `Unit`."""
        self._simplon.close()

    def _learn(self) -> None:
        self._box.learn(series.ALL)
        self._commands.learn()
        if self._stream == "v2" and not self._box.first_of([series.FORMAT]):
            raise CameraError(
                f"{self._simplon.address} has no stream v2: its SIMPLON {self._simplon.version} has no "
                "stream/config/format; set the property Stream to v1"
            )

    def _on(self, subsystem: str) -> bool:
        return self._box.value(f"{subsystem}/config/mode") == "enabled"

    def _pattern(self) -> str:
        pattern, number = str(self._box.value(series.PATTERN)), self._commands.sequence
        return pattern.replace("$id", "" if number is None else f"{number}_")
