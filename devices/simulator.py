"""A simulated detector: no hardware, every trigger mode, realistic frames, and faults on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.devices._simulated import faults, scene
from penstock.devices._simulated.parameters import SETTINGS, UNIT, Cooler
from penstock.devices._simulated.scene import Scene, View
from penstock.devices._simulated.timing import shots
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.contract import Acquisition, Camera, Exposure
from penstock.streamer.camera.settings import Limits, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat
from penstock.streamer.simulated.triggers import TriggerInput


class Simulator(Camera):
    """A simulated detector."""

    properties = UNIT
    parameters = SETTINGS
    trigger_modes = tuple(TriggerMode)
    index_source = IndexSource.HARDWARE_COUNTER

    def __init__(self, properties: Mapping[str, Value]) -> None:
        """See `Camera`."""
        self._unit = {p.name: p.default for p in self.properties} | dict(properties)
        self._counts_edges = bool(self._unit["TriggerCounter"])
        if not self._counts_edges:
            self.index_source = IndexSource.ARRIVAL
        if self._number("MaxExposure") < self._number("MinExposure"):
            raise CameraError("the property MaxExposure is below MinExposure; correct them")
        host, port = str(self._unit["TriggerHost"]), int(self._number("TriggerPort"))
        try:
            self._triggers = TriggerInput(host, port)
        except OSError as error:
            raise CameraError(
                f"trigger input {host}:{port}: {error.strerror}; choose another TriggerPort"
            ) from error
        self._set: dict[str, Value] = {p.name: p.default for p in self.parameters}
        self._cooler = Cooler()
        self._faults = faults.Faults()
        self._scene: Scene | None = None

    def limits(self) -> Mapping[str, Limits]:
        """See `Camera`; the AOI's limits depend on its corner."""
        width, height = int(self._number("SensorWidth")), int(self._number("SensorHeight"))
        left, top = int(self._set["AOILeft"]), int(self._set["AOITop"])
        return {
            "ExposureTime": Limits(self._number("MinExposure"), self._number("MaxExposure")),
            "AOILeft": Limits(0, width - 1),
            "AOITop": Limits(0, height - 1),
            "AOIWidth": Limits(0, width - left),
            "AOIHeight": Limits(0, height - top),
        }

    def readout_time(self) -> float:
        """See `Camera`."""
        return self._number("ReadoutTime")

    def apply(self, values: Mapping[str, Value]) -> None:
        """See `Camera`."""
        faults.parse(str(values["Faults"]))
        self._cooler.aim(float(values["TargetSensorTemperature"]))
        self._set.update(values)

    def check(self, settings: Settings) -> FrameFormat | None:
        """See `Camera`; the frame size of a recording is known once it is loaded."""
        self._refuse_impossible(settings)
        view = self._view(settings)
        if self._scene is not None and self._scene.view == view:
            return self._scene.format
        return scene.format_of(view)

    def prepare(self, settings: Settings) -> FrameFormat:
        """See `Camera`."""
        self._refuse_impossible(settings)
        self.apply(settings.camera)
        self._faults = faults.parse(str(self._set["Faults"]))
        if self._faults.fail_prepare:
            raise CameraError("the hardware refuses the settings (fault on request)")
        self.loses_end = self._faults.lose_end
        view = self._view(settings)
        if self._scene is None or self._scene.view != view:
            self._scene = Scene(view)
        return self._scene.format

    def describe(self) -> Mapping[str, object]:
        """See `Camera`; NeXus names, SI units, energies in eV."""
        size = self._unit["PixelSize"]
        return {
            "description": self._unit["CameraModel"], "serial_number": self._unit["SerialNumber"],
            "x_pixel_size": size, "y_pixel_size": size, "detector_readout_time": self.readout_time(),
            "incident_energy": self._set["Energy"], "threshold_energy": self._set["Threshold"],
        }  # fmt: skip

    def read(self, name: str) -> Value:
        """See `Camera`."""
        if name == "SensorTemperature":
            return round(self._cooler.temperature(), 1)
        if name == "TriggerAddress":
            return "{}:{}".format(*self._triggers.address)
        return super().read(name)

    def acquire(self, acquisition: Acquisition) -> Iterator[Exposure]:
        """See `Camera`."""
        if self._scene is None:
            raise CameraError("acquire before prepare")
        self._triggers.arm(acquisition.wake)
        if not acquisition.wait_until(acquisition.now() + self._faults.slow_arm):
            return
        acquisition.ready()
        given = 0
        for shot in shots(acquisition, self._triggers, self.readout_time(), self._counts_edges):
            if self._faults.commit(shot.index, acquisition):
                index = shot.index if self._counts_edges else given
                given += 1
                nbytes = self._scene.fill(acquisition.buffer(), index)
                yield Exposure(index=index, nbytes=nbytes, timestamp_hw=shot.moment, exposure_time=shot.gate)

    def close(self) -> None:
        """See `Camera`."""
        self._triggers.close()

    def _refuse_impossible(self, settings: Settings) -> None:
        if settings.trigger_mode is TriggerMode.EXTERNAL_MULTI_GATE and settings.n_frames_per_trigger > 1:
            raise CameraError("each gate exposes one frame; set nFramesPerTrigger to 1")
        faults.parse(str(settings.camera["Faults"]))

    def _view(self, settings: Settings) -> View:
        values = settings.camera
        rows, cols, modules = (int(self._number(name)) for name in ("SensorHeight", "SensorWidth", "Modules"))
        left, top, width, height = (int(values[f"AOI{name}"]) for name in ("Left", "Top", "Width", "Height"))
        return View(
            pattern=str(values["Pattern"]),
            recording=str(values["Recording"]),
            shape=(modules, rows, cols) if modules > 1 else (rows, cols),
            dtype=str(self._unit["PixelType"]),
            photons=float(values["PhotonFlux"]) * settings.exposure_time,
            area=(left, top, width, height),
            compression=str(values["Compression"]),
        )

    def _number(self, name: str) -> float:
        return float(self._unit[name])
