"""Any GigE Vision or USB3 Vision camera, through Aravis: monochrome, one stream, no chunk data."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from penstock.devices._genicam.device import Device, View
from penstock.devices._genicam.features import Features, names_of
from penstock.devices._genicam.frame_ids import FrameIds
from penstock.devices._genicam.frames import Frames
from penstock.devices._genicam.left_settings import LeftSettings
from penstock.devices._genicam.parameters import COUNTS, SETTINGS, UNIT
from penstock.devices._genicam.pixel_formats import PixelFormat, taken
from penstock.devices._genicam.reopening import Reopening
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.contract import Acquisition, Camera, Exposure
from penstock.streamer.camera.features import Feature, HasFeatures
from penstock.streamer.camera.settings import STANDARD, Limits, Parameter, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat

log = logging.getLogger(__name__)

BACK_WITHIN = 0.7
"""Seconds for which Arm waits for a lost camera, and for the library, which may still end its last series."""
FRESH = 0.5
"""Seconds for which a camera that has answered is taken to be there."""


class GenICam(Camera, HasFeatures):
    """One camera, found by its serial number or address."""

    properties = UNIT
    parameters = SETTINGS
    trigger_modes = (TriggerMode.INTERNAL, TriggerMode.SOFTWARE, TriggerMode.EXTERNAL_MULTI)
    index_source = IndexSource.HARDWARE_COUNTER  # of the last prepared series: ids count frames, not edges

    def __init__(self, properties: Mapping[str, Value]) -> None:
        """See `Camera`."""
        self._unit = dict(properties)
        self._ids: FrameIds
        self._left = LeftSettings()
        self._taking = False
        """True while a series takes frames."""
        self._asked = 0.0
        self._use(Device(self._unit))
        self._reopening = Reopening(self._unit)
        self._not_shown = ""
        self._shown = self._shown_names()
        self._last_shown: tuple[Parameter, ...] = ()
        self._counts: Mapping[str, int] = {}
        self._form: PixelFormat | None = None
        self._prepared: Device | None = None
        """The camera that was set up."""
        self._gain: float | None = None
        """Gain that the camera has taken for the prepared series."""
        self._values: Mapping[str, Value] = {p.name: p.default for p in SETTINGS if p.writable}

    def limits(self) -> Mapping[str, Limits]:
        """See `Unit`; those of the region depend on its corner."""
        width, height = self._device.sensor
        left, top = int(self._values["AOILeft"]), int(self._values["AOITop"])
        return {
            "ExposureTime": self._device.exposure,
            "Gain": Limits(None, self._device.gain.maximum),
            "AOILeft": Limits(0, width - 1),
            "AOITop": Limits(0, height - 1),
            "AOIWidth": Limits(0, width - left),
            "AOIHeight": Limits(0, height - top),
        }

    def readout_time(self) -> float:
        """See `Unit`; what the camera's greatest frame rate leaves beside the exposure."""
        return self._device.readout

    def apply(self, values: Mapping[str, Value]) -> None:
        """See `Unit`; written to the camera by `prepare`."""
        self._values = dict(values)

    def check(self, settings: Settings) -> FrameFormat:
        """See `Unit`."""
        if settings.n_frames_per_trigger > 1 and settings.trigger_mode is not TriggerMode.INTERNAL:
            raise CameraError("each trigger exposes one frame; set nFramesPerTrigger to 1")
        if settings.trigger_mode is TriggerMode.EXTERNAL_MULTI:
            self._device.line(str(settings.camera["TriggerSource"]))
        form, view = self._form_of(settings), self._view_of(settings)
        dtype = form.dtype(big_endian=self._device.big_endian)
        size = view.width * view.height * (1 if form.bits == 8 else 2)
        return FrameFormat(shape=(view.height, view.width), dtype=dtype, frame_bytes=size)

    def prepare(self, settings: Settings) -> FrameFormat:
        """See `Unit`; opens the camera again if it was unplugged."""
        self._device.ask()
        self._open_again(BACK_WITHIN)
        self._refuse_if_lost()
        if lost := self._left.sentence(self._device.name):
            raise CameraError(lost)
        frames = self.check(settings)
        self._form = self._form_of(settings)
        if self._device.set_up(settings, self._form, self._view_of(settings)):
            self._ids.disturb()
        self._payload = self._device.payload()
        expected = self._form.sent_bytes(math.prod(frames.shape))
        if self._payload != expected:
            raise CameraError(
                f"a frame has {self._payload} bytes as sent, and {expected} would be its pixels; switch off "
                "what the camera adds to frames or rows, or choose another PixelFormat or an even AOIWidth"
            )
        self._values = dict(settings.camera)
        self._prepared = self._device
        internal = settings.trigger_mode is TriggerMode.INTERNAL
        self.index_source = IndexSource.HARDWARE_COUNTER if internal else IndexSource.ARRIVAL
        return frames

    def as_prepared(self, settings: Settings) -> Settings:
        """See `Unit`; a gain below the least of the camera is that."""
        asked, own = dict(settings.camera), self._device.taken(settings.trigger_mode)
        self._gain = own.gain
        if own.gain is not None and not float(asked["Gain"]) < own.gain == self._device.gain.minimum:
            asked["Gain"] = own.gain
        if own.packet_size is not None and asked["PacketSize"]:
            asked["PacketSize"] = own.packet_size
        if own.packet_delay is not None:
            asked["PacketDelay"] = own.packet_delay
        latency = settings.latency_time
        if own.period is not None:
            wanted = settings.exposure_time + max(latency, self._device.readout)
            if not math.isclose(own.period, wanted, rel_tol=1e-6):
                latency = max(0.0, own.period - own.exposure)
        return msgspec.structs.replace(
            settings, exposure_time=own.exposure, latency_time=latency, camera=asked
        )

    def describe(self) -> Mapping[str, object]:
        """See `Unit`."""
        described: dict[str, object] = {
            "description": f"{self._device.vendor} {self._device.model}",
            "serial_number": self._device.serial,
            "gain_setting": f"{self._values['Gain'] if self._gain is None else self._gain:g}",
            "frame_id_start": self._ids.start.value,
        }
        if self._form is not None:
            described |= {
                "pixel_format": self._form.name,
                "bit_depth_readout": self._form.bits,
                "saturation_value": self._form.saturation,
            }
        if size := self._pixel_size():
            described |= {"x_pixel_size": size[0], "y_pixel_size": size[1]}
        if self._shown:
            described["features"] = {name: self._features.get(name).value for name in self._shown}
        return described

    def read(self, name: str) -> Value:
        """See `Unit`."""
        if name in COUNTS:
            return self._counts.get(name, 0)
        if not self._is_there():  # each question would be waited for, for seconds
            raise CameraError("the camera does not answer")
        if name == "SensorTemperature":
            return self._device.temperature()
        if name in self._shown:
            return self._shown_value(name)
        return super().read(name)

    def trouble(self) -> str:
        """See `Unit`; opens a lost camera again between series."""
        try:
            if not self._taking:
                if not self._is_there():
                    self._device.ask(0.0)  # it may be back at the next call
                self._open_again(0.0)
            self._refuse_if_lost()
        except CameraError as error:
            return _capital(str(error))
        return _capital(self._left.sentence(self._device.name))

    def remark(self) -> str:
        """See `Unit`."""
        return self._not_shown

    def shown(self) -> tuple[Parameter, ...]:
        """See `Unit`: the features in the property ShownFeatures, the last known ones of a lost camera."""
        if self._is_there():
            self._last_shown = tuple(self._shown_parameter(name) for name in self._shown)
        return self._last_shown

    def list_features(self) -> Sequence[Feature]:
        """See `HasFeatures`."""
        return self._features_now().list()

    def get_feature(self, name: str) -> Feature:
        """See `HasFeatures`."""
        return self._features_now().get(name)

    def set_feature(self, name: str, value: Value) -> Feature:
        """See `HasFeatures`."""
        made = self._features_now().set(name, value)
        self._left.have_been_set(name, self._features)
        self._ids.disturb()
        if self._ids.kind != self._device.ids:  # such as GevGVSPExtendedIDMode
            self._ids = FrameIds(self._device.ids)
        return made

    def acquire(self, acquisition: Acquisition) -> Iterator[Exposure]:
        """See `Camera`."""
        if self._form is None:
            raise CameraError("acquire before prepare")
        if self._prepared is not self._device:
            raise CameraError(f"camera {self._device.name} was switched off and on since Arm; call Arm again")
        self._taking = True
        try:
            with Frames(self._device, self._ids, acquisition, self._form, self._payload) as frames:
                self._counts = frames.counts
                yield from frames.take()
        finally:
            self._taking = False

    def close(self) -> None:
        """See `Unit`."""
        self._device.close()
        self._reopening.close()

    def _use(self, device: Device) -> None:
        self._device = device
        self._ids = FrameIds(self._device.ids)
        self._features = Features(self._device)

    def _open_again(self, patience: float) -> None:
        """Open a camera that is lost for good, if it is there again within so many seconds.

        Raises:
            CameraError: it is not.
        """
        if not self._device.has_closed(patience):
            raise self._silent()
        if self._device.gone:
            self._device.close()
            self._use(self._reopening.device(patience))
            self._left.compare(self._features)

    def _is_there(self) -> bool:
        """Return whether the camera answers; in a series `Frames` asks it."""
        now = time.monotonic()
        if not (self._taking or self._device.lost) and now - self._asked >= FRESH:
            self._device.ask()
            self._asked = now
        return not self._device.lost

    def _features_now(self) -> Features:
        self._device.ask()
        self._refuse_if_lost()
        return self._features

    def _refuse_if_lost(self) -> None:
        """Raise if the camera does not answer: each call would take seconds."""
        if self._device.lost:
            raise self._silent()

    def _silent(self) -> CameraError:
        return CameraError(f"camera {self._device.name} does not answer; see its cable and power")

    def _shown_names(self) -> Sequence[str]:
        """Return the names in the property ShownFeatures that can be attributes; see `shown` and `remark`."""
        names = names_of(str(self._unit["ShownFeatures"]))
        whys = {name: self._why_not_shown(name) for name in names}
        said = [f"{name} {why}" for name, why in whys.items() if why]
        if said:
            self._not_shown = f"Of the property ShownFeatures, {'; '.join(said)}: left out"
            log.warning("camera %s: %s", self._device.name, self._not_shown)
        return [name for name, why in whys.items() if not why]

    def _why_not_shown(self, name: str) -> str:
        if name.lower() in {parameter.name.lower() for parameter in (*STANDARD, *SETTINGS, *UNIT)}:
            return "is the name of another attribute"
        try:
            value = self._features.get(name).value
        except CameraError as error:
            return f"cannot be found ({error})"
        return "has no value that can be read" if value is None else ""

    def _shown_parameter(self, name: str) -> Parameter:
        feature = self._features.get(name)
        return Parameter(
            name=name, default=self._shown_value(name), doc=_sentence(feature), unit=feature.unit,
            limits=feature.limits, choices=feature.choices,
            writable=feature.writable and not feature.set_by,
        )  # fmt: skip

    def _shown_value(self, name: str) -> Value:
        value = self._features.get(name).value
        if value is None:
            raise CameraError(f"{name} cannot be read")
        return value

    def _pixel_size(self) -> tuple[float, float] | None:
        given = float(self._unit["PixelSize"])
        return (given, given) if given else self._device.pixel_size()

    def _form_of(self, settings: Settings) -> PixelFormat:
        return taken(str(settings.camera["PixelFormat"]), self._device.formats)

    def _view_of(self, settings: Settings) -> View:
        left, top, width, height = (
            int(settings.camera[f"AOI{name}"]) for name in ("Left", "Top", "Width", "Height")
        )
        columns, rows = self._device.sensor
        return View(left, top, width or columns - left, height or rows - top)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(feature: Feature) -> str:
    return f"{(feature.doc or f'{feature.kind} of the camera').rstrip('.')}."
