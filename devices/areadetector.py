"""Any detector with an areaDetector IOC, through its records and its PVA plugin, over pvAccess.

Sources: ADCore 3.14, `ADBase.template`, `NDArrayBase.template`, `NDPluginPva.cpp`; EPICS Normative Types.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from penstock.devices._areadetector import payload
from penstock.devices._areadetector.arrays import Arrays
from penstock.devices._areadetector.ioc import FIRST_SECONDS, INVALID, Ioc
from penstock.devices._areadetector.parameters import SETTINGS, UNIT
from penstock.devices._areadetector.shown_records import ShownRecords, shown_value
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.contract import Acquisition, Camera, Exposure
from penstock.streamer.camera.features import Feature, HasFeatures
from penstock.streamer.camera.settings import STANDARD, Limits, Parameter, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat

DTYPES = {
    "Int8": "int8", "UInt8": "uint8", "Int16": "int16", "UInt16": "uint16", "Int32": "int32",
    "UInt32": "uint32", "Int64": "int64", "UInt64": "uint64", "Float32": "float32", "Float64": "float64",
}  # fmt: skip
OLDEST = (3, 3, 1)
"""The first ADCore that serves its records over pvAccess."""
MODES = {
    TriggerMode.INTERNAL: "ModeInternal", TriggerMode.EXTERNAL: "ModeExternal",
    TriggerMode.EXTERNAL_MULTI: "ModeExternalMulti", TriggerMode.SOFTWARE: "ModeSoftware",
}  # fmt: skip
"""The property that names the driver's choice."""
WRITTEN = {
    "AOILeft": "MinX", "AOITop": "MinY", "BinningX": "BinX", "BinningY": "BinY", "Gain": "Gain",
    "TargetSensorTemperature": "Temperature",
}  # fmt: skip
"""The record of each setting that is written as it is."""
REGION = {
    "MinX": "left", "MinY": "top", "SizeX": "width", "SizeY": "height", "BinX": "binning_x",
    "BinY": "binning_y",
}  # fmt: skip
"""Names in the file of what is read out of the sensor, by the record."""
USED = (
    "ADCoreVersion_RBV", "MaxSizeX_RBV", "MaxSizeY_RBV", "AcquireTime", "AcquireTime_RBV", "AcquirePeriod",
    "AcquirePeriod_RBV", "NumImages", "NumImages_RBV", "ImageMode", "TriggerMode", "Acquire",
    "ArrayCallbacks", "ArrayCounter_RBV", "ArraySizeX_RBV", "ArraySizeY_RBV", "DataType_RBV",
    "ColorMode_RBV", "MinX", "MinY", "SizeX", "SizeY", "BinX", "BinY", "MinX_RBV", "MinY_RBV", "SizeX_RBV",
    "SizeY_RBV", "BinX_RBV", "BinY_RBV", "Gain", "Gain_RBV", "Temperature", "Temperature_RBV",
)  # fmt: skip
"""Records without which no series can be taken."""
WATCHED = ("AcquirePeriod", "TriggerMode", "Gain", "MinX", "MinY", "SizeX", "SizeY", "BinX", "BinY")
"""Records that nobody else may set in a series, beside exposure, images and counter."""
SERVER = r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+):[0-9]{1,5}"
MOST_IMAGES = 2**31 - 1
CONNECT_EVERY = 2.0
"""Seconds between two new connections to an IOC that does not answer."""
READ = {"SensorTemperature": "TemperatureActual", "ArrayCounter": "ArrayCounter_RBV"}


class AreaDetector(Camera, HasFeatures):
    """One detector, found by the prefix of its driver's records."""

    properties = UNIT
    parameters = SETTINGS
    trigger_modes = tuple(MODES)
    index_source = IndexSource.HARDWARE_COUNTER

    def __init__(self, properties: Mapping[str, Value]) -> None:
        """See `Camera`."""
        self._unit = {p.name: p.default for p in UNIT} | dict(properties)
        self._prefix = str(self._unit["DriverPrefix"])
        self._image = str(self._unit["ImageRecord"])
        self._servers = str(self._unit["NameServers"]).split()
        for server in self._servers:
            if not re.fullmatch(SERVER, server):
                raise CameraError(f"NameServers has {server}; give HOST:PORT, such as ioc-1:5075")
        if self._unit["ModeSoftware"] and not self._unit["SoftwareTriggerRecord"]:
            raise CameraError(
                "the property ModeSoftware is set, and SoftwareTriggerRecord is not: name the record that "
                "takes a software trigger"
            )
        self.trigger_modes = tuple(mode for mode, name in MODES.items() if self._unit[name])
        names = [parameter.name for parameter in (*STANDARD, *SETTINGS, *UNIT)]
        self._shown = ShownRecords(str(self._unit["ShownRecords"]), self._prefix, names, USED)
        self._ioc = Ioc(self._servers)
        self._connected_at = time.monotonic()
        self._is_silent = self._is_taking = False
        self._codec = ""
        self._form: FrameFormat | None = None
        self._kept: dict[str, Value] = {}
        self._values: Mapping[str, Value] = {p.name: p.default for p in SETTINGS if p.writable}
        try:
            self._open(FIRST_SECONDS)
            self._shown.require(self._ioc)
        except BaseException:
            self._ioc.close()
            raise

    def limits(self) -> Mapping[str, Limits]:
        """See `Unit`; those of the region depend on its corner."""
        width, height = self._sensor
        left, top = int(self._values["AOILeft"]), int(self._values["AOITop"])
        return {
            "ExposureTime": self._exposure,
            "AOILeft": Limits(0, width - 1),
            "AOITop": Limits(0, height - 1),
            "AOIWidth": Limits(0, max(1, width - left)),  # the corner may be of a larger sensor
            "AOIHeight": Limits(0, max(1, height - top)),
        }

    def readout_time(self) -> float:
        """See `Unit`."""
        return float(self._unit["ReadoutTime"])

    def apply(self, values: Mapping[str, Value]) -> None:
        """See `Unit`; written to the records by `prepare`."""
        self._values = dict(values)

    def check(self, settings: Settings) -> FrameFormat | None:
        """See `Unit`; what the driver makes of the settings is known at Arm only."""
        mode = settings.trigger_mode
        if not self._unit[MODES[mode]]:
            raise CameraError(
                f"set the property {MODES[mode]} to the driver's choice of TriggerMode for {mode}"
            )
        if mode in (TriggerMode.EXTERNAL_MULTI, TriggerMode.SOFTWARE) and settings.n_frames_per_trigger > 1:
            raise CameraError("each trigger takes one frame; set nFramesPerTrigger to 1")
        self._check_region(settings.camera)
        return None

    def prepare(self, settings: Settings) -> FrameFormat:
        """See `Unit`."""
        if settings.frames > MOST_IMAGES:
            raise CameraError(f"a driver takes {MOST_IMAGES:,} images at most, and not {settings.frames:,}")
        if self._ioc.get([self._record("Acquire")], seconds=0.2) == [None]:
            self._connect_anew()
        self._open()
        self.check(settings)
        ioc, record = self._ioc, self._record
        ioc.put_choice(record("Acquire"), 0)
        ioc.choose(record("ImageMode"), "Multiple")
        ioc.choose(record("TriggerMode"), str(self._unit[MODES[settings.trigger_mode]]))
        ioc.choose(record("ArrayCallbacks"), "Enable")
        self._write_region(settings.camera)
        for name in ("Gain", "TargetSensorTemperature"):
            ioc.put(record(WRITTEN[name]), settings.camera[name])
        period = settings.exposure_time + max(settings.latency_time, self.readout_time())
        ioc.put(record("AcquireTime"), settings.exposure_time)
        ioc.put(record("AcquirePeriod"), period)
        ioc.put(record("NumImages"), settings.frames)
        exposure, _, number = ioc.settled(
            {
                record("AcquireTime_RBV"): settings.exposure_time,
                record("AcquirePeriod_RBV"): period,
                record("NumImages_RBV"): settings.frames,
            }
        )
        if number.value != settings.frames:
            raise CameraError(
                f"the driver takes {number.text} images of {settings.frames}; make the series shorter"
            )
        self._form = self._format()
        self._values = dict(settings.camera)
        watched = [record(name) for name in WATCHED]
        self._kept = {record("AcquireTime_RBV"): exposure.value, record("NumImages_RBV"): number.value} | {
            name: each.value for name, each in zip(watched, ioc.require(watched), strict=True)
        }
        return self._form

    def as_prepared(self, settings: Settings) -> Settings:
        """See `Unit`."""
        names = ("AcquireTime_RBV", "AcquirePeriod_RBV", "MinX_RBV", "MinY_RBV", "SizeX_RBV", "SizeY_RBV")
        more = ("BinX_RBV", "BinY_RBV", "Gain_RBV", "Temperature_RBV")
        found = self._ioc.require([self._record(name) for name in (*names, *more)])
        exposure, period, left, top, width, height, bin_x, bin_y, gain, target = (
            each.value for each in found
        )
        taken = dict(settings.camera) | {
            "AOILeft": int(left), "AOITop": int(top), "BinningX": int(bin_x), "BinningY": int(bin_y),
            "Gain": float(gain), "TargetSensorTemperature": float(target),
        }  # fmt: skip
        columns, rows = self._sensor
        if settings.camera["AOIWidth"] or int(width) != columns - int(left):
            taken["AOIWidth"] = int(width)
        if settings.camera["AOIHeight"] or int(height) != rows - int(top):
            taken["AOIHeight"] = int(height)
        wanted, latency = (
            float(exposure) + max(settings.latency_time, self.readout_time()),
            settings.latency_time,
        )
        if settings.trigger_mode is not TriggerMode.INTERNAL:
            pass  # the period is that of the triggers
        elif not math.isclose(float(period), wanted, rel_tol=1e-6):
            latency = max(0.0, float(period) - float(exposure))
        return msgspec.structs.replace(
            settings, exposure_time=float(exposure), latency_time=latency, camera=taken
        )

    def describe(self) -> Mapping[str, object]:
        """See `Unit`."""
        names = ("Manufacturer_RBV", "Model_RBV", "SerialNumber_RBV", "Gain_RBV")
        maker, model, serial, gain = self._ioc.get([self._record(name) for name in names])
        described: dict[str, object] = {
            "description": " ".join(each.text for each in (maker, model) if each is not None),
            "codec": self._codec or payload.PLAIN,
        }
        if serial is not None:
            described["serial_number"] = serial.text
        if gain is not None:
            described["gain_setting"] = gain.text
        region = self._ioc.require([self._record(f"{name}_RBV") for name in REGION])
        described["region"] = dict(zip(REGION.values(), (int(each.value) for each in region), strict=True))
        if size := float(self._unit["PixelSize"]):
            bin_x, bin_y = (int(each.value) for each in region[-2:])
            described |= {"x_pixel_size": size * bin_x, "y_pixel_size": size * bin_y}
        if records := self._shown.values(self._ioc):
            described["records"] = records
        return described

    def read(self, name: str) -> Value:
        """See `Unit`."""
        if name in READ:
            record = self._record(READ[name])
        elif name in self._shown:
            record = self._shown.record(name)
        else:
            return super().read(name)
        if self._is_silent:  # each question would be waited for
            raise CameraError("the IOC does not answer")
        (found,) = self._ioc.get([record], seconds=0.5)
        self._is_silent = found is None
        if found is None:
            raise CameraError(f"no answer from {record}")
        if found.severity >= INVALID:
            raise CameraError(f"{record} is INVALID{f': {found.message}' if found.message else ''}")
        return shown_value(found)

    def trouble(self) -> str:
        """See `Unit`."""
        if self._is_silent:
            if not self._is_taking and time.monotonic() - self._connected_at >= CONNECT_EVERY:
                self._connect_anew()
            (found,) = self._ioc.get([self._record("Acquire")], seconds=0.1)
            self._is_silent = found is None
        return f"The IOC of {self._prefix} does not answer" if self._is_silent else ""

    def shown(self) -> tuple[Parameter, ...]:
        """See `Unit`: the records of the property ShownRecords."""
        return self._shown.parameters(self._ioc)

    def list_features(self) -> Sequence[Feature]:
        """See `HasFeatures`: the same."""
        return self._shown.features(self._ioc)

    def get_feature(self, name: str) -> Feature:
        """See `HasFeatures`."""
        return self._shown.get(self._ioc, name)

    def set_feature(self, name: str, value: Value) -> Feature:
        """See `HasFeatures`; what the driver makes of the value is returned."""
        return self._shown.set(self._ioc, name, value)

    def acquire(self, acquisition: Acquisition) -> Iterator[Exposure]:
        """See `Camera`."""
        if self._form is None:
            raise CameraError("acquire before prepare")
        trigger = ""
        if acquisition.settings.trigger_mode is TriggerMode.SOFTWARE:
            trigger = self._record(str(self._unit["SoftwareTriggerRecord"]))
        self._is_taking = True
        try:
            with Arrays(
                self._ioc, self._prefix, self._image, acquisition, self._form, self._codec, self._kept,
                trigger,
            ) as arrays:  # fmt: skip
                yield from arrays.take()
        finally:
            self._is_taking = False

    def close(self) -> None:
        """See `Unit`."""
        self._ioc.close()

    # -- records -------------------------------------------------------------------------------------

    def _record(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def _connect_anew(self) -> None:
        """Connect again: a new connection is made at once, a lost one only after up to 10 s."""
        self._ioc.close()
        self._ioc, self._connected_at = Ioc(self._servers), time.monotonic()

    def _open(self, seconds: float | None = None) -> None:
        """Look at the driver: version, size of the sensor, limits of the exposure.

        Args:
            seconds: within which it has to answer.

        Raises:
            CameraError: it does not answer, or is too old.
        """
        # All at once, since each record is searched for when it is used first.
        try:
            found = self._ioc.require([self._record(name) for name in USED], seconds=seconds)
        except CameraError as error:
            if self._prefix.endswith(":"):
                raise
            raise CameraError(f"{error} DriverPrefix {self._prefix} does not end with a colon") from error
        version, columns, rows, exposure, *_ = found
        if tuple(map(int, re.findall(r"\d+", version.text)[:3])) < OLDEST:
            raise CameraError(
                f"the IOC of {self._prefix} has ADCore {version.text}; 3.3.1 or later is needed, which "
                "serves its records over pvAccess"
            )
        self._sensor = int(columns.value), int(rows.value)
        self._exposure = exposure.limits
        self._is_silent = False

    def _check_region(self, values: Mapping[str, Value]) -> None:
        """Raise if the region is not within the sensor, which may be another one since it was set."""
        sides = ("columns", "AOILeft", "AOIWidth"), ("rows", "AOITop", "AOIHeight")
        for (what, first, length), pixels in zip(sides, self._sensor, strict=True):
            at, number = int(values[first]), int(values[length])
            has = f"the sensor of the driver has {pixels} {what} now"
            if at >= pixels:
                raise CameraError(f"{first} is {at}, and {has}: set it to {pixels - 1} at most")
            if at + number > pixels:
                raise CameraError(
                    f"{length} is {number} from {first} {at} on, and {has}: set it to {pixels - at} at most, "
                    "or to 0 for the rest"
                )

    def _write_region(self, values: Mapping[str, Value]) -> None:
        columns, rows = self._sensor
        left, top = int(values["AOILeft"]), int(values["AOITop"])
        width = int(values["AOIWidth"]) or columns - left
        height = int(values["AOIHeight"]) or rows - top
        put = self._ioc.put
        put(self._record("BinX"), values["BinningX"])
        put(self._record("BinY"), values["BinningY"])
        # The corner first to 0: no driver takes a size beyond the sensor's end.
        for corner, size, at, length in (("MinX", "SizeX", left, width), ("MinY", "SizeY", top, height)):
            put(self._record(corner), 0)
            put(self._record(size), length)
            put(self._record(corner), at)
        self._ioc.settled(
            {
                self._record("SizeX_RBV"): width, self._record("SizeY_RBV"): height,
                self._record("MinX_RBV"): left, self._record("MinY_RBV"): top,
            }
        )  # fmt: skip

    def _format(self) -> FrameFormat:
        """Return the format of the frames, and keep the codec.

        Raises:
            CameraError: frames of this kind are not taken.
        """
        names = ("ArraySizeX_RBV", "ArraySizeY_RBV", "DataType_RBV", "ColorMode_RBV")
        columns, rows, kind, color = self._ioc.require([self._record(name) for name in names])
        if color.text != "Mono":
            raise CameraError(f"the driver's ColorMode is {color.text}; only Mono is taken")
        if kind.text not in DTYPES:
            raise CameraError(f"the driver's DataType is {kind.text}, which no file can have")
        shape, dtype = (int(rows.value), int(columns.value)), DTYPES[kind.text]
        codec = self._ioc.codec(self._image)
        compression = payload.compression_of(codec)
        self._codec = codec
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        if compression != payload.PLAIN:  # what cannot be compressed grows by less than a hundredth
            nbytes += nbytes // 100 + 1024
        return FrameFormat(shape=shape, dtype=dtype, compression=compression, frame_bytes=nbytes)
