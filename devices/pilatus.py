"""DECTRIS PILATUS3, through camserver on its control unit, and the light streamer beside it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.codecs import bslz4
from penstock.devices._camserver import modes
from penstock.devices._camserver import parameters as keys
from penstock.devices._camserver.client import IDLE, Camserver
from penstock.devices._camserver.configuring import Counting, Space, configure
from penstock.devices._camserver.light import BUSY, Light
from penstock.devices._camserver.modes import Plan
from penstock.devices._camserver.readings import Readings
from penstock.devices._camserver.series import Series
from penstock.devices._dectris.host import host_of
from penstock.stins.addresses import host_port
from penstock.stins.messages import IndexSource
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import BoxState, Progress, StreamingDetector
from penstock.streamer.camera.settings import Limits, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat

PIXEL = 172e-6
"""Edge of a pixel in m (pyFAI `detectors/_dectris.py`, class `Pilatus`)."""
DTYPE, ITEM = "int32", 4
"""Type of pixels, and its bytes ([um] 7.2 p. 23: 20 bits of 32, with sign)."""
ROUNDED = 1.5e-7
"""Most seconds by which exposure and period together are rounded."""
EV = 0.5
"""Difference in eV up to which two energies are the same: camserver keeps whole ones."""
LEAST_EXPOSURE = 100e-9
"""Seconds that camserver takes ([cs] `ExpTime`)."""


class Pilatus(StreamingDetector):
    """One control unit with camserver and light streamer, and the detector behind it."""

    properties = keys.PROPERTIES
    parameters = keys.PARAMETERS
    trigger_modes = tuple(TriggerMode)
    counts_frames = True
    index_source = IndexSource.HARDWARE_COUNTER  # of the last prepared series, from modes.index_source

    def __init__(self, properties: Mapping[str, Value]) -> None:
        """See `StreamingDetector`; uses no network."""
        unit = {p.name: p.default for p in self.properties} | dict(properties)
        host = host_of(str(unit["Host"]), "the port of camserver")
        self._endpoint = f"tcp://{host_port(host, int(unit['StreamPort']))}"
        self._given_folder = str(unit["ImageFolder"])
        self._shape = self._given_shape = keys.shape_of(str(unit["SensorShape"]))
        self._camserver = Camserver(host, int(unit["Port"]))
        self._light = Light(keys.light_address(str(unit["LightStreamer"]), host))
        self._readings = Readings(self._camserver, lambda: self._series is None)
        self._space = Space(float(unit["BytesPerPixel"]))
        self._counting = Counting()
        self._trimmed: dict[str, Value] = {}
        self._local = {p.name: p.default for p in keys.LOCAL}
        self._series: Series | None = None
        self._plan: Plan | None = None
        self._folder = ""
        """Folder into which camserver writes the prepared series, in its own words."""
        self._taken = (0.0, 0.0)
        """Exposure and period of the prepared series as camserver has them."""

    def connect(self) -> Progress:
        """See `StreamingDetector`."""
        self._camserver.connect()
        self._learn()
        return self._resting(self._readings.setup.state)

    def stream_endpoint(self) -> str:
        """See `StreamingDetector`."""
        return self._endpoint

    def values(self) -> Mapping[str, Value]:
        """See `StreamingDetector`; a threshold that was never set is left out."""
        return self._trimmed | self._local

    def limits(self) -> Mapping[str, Limits]:
        """See `Unit`."""
        return {"ExposureTime": Limits(LEAST_EXPOSURE, None)}

    def most_frames(self) -> int:
        """See `Unit`: as many as fit on the RAM disk, as far as is known."""
        free = self._readings.free_bytes
        fit = self._space.fitting(free, self._shape) if free and self._shape else 0
        return max(1, min(fit or modes.MOST_IMAGES, modes.MOST_IMAGES))

    def frames_until_stop(self) -> int:
        """See `StreamingDetector`: as many as fit now."""
        self._camserver.set("ImgPath", self._light.folder(self._given_folder))
        self._readings.free()
        return self.most_frames()

    def readout_time(self) -> float:
        """See `Unit`."""
        return modes.READOUT

    def describe(self) -> Mapping[str, object]:
        """See `Unit`."""
        setup = self._readings.setup
        known = {
            "description": f"DECTRIS {setup.name}" if setup.name else "DECTRIS PILATUS3",
            "serial_number": setup.serial, "software_version": self._readings.version,
            "x_pixel_size": PIXEL, "y_pixel_size": PIXEL, "detector_readout_time": modes.READOUT,
            "underload_value": 0,  # gaps are -1, and bad pixels -2
            **self._counting.describe(),
            "incident_energy": self._trimmed.get(keys.ENERGY),
            "threshold_energy": self._trimmed.get(keys.THRESHOLD),
        }  # fmt: skip
        return {name: value for name, value in known.items() if value not in ("", None)}

    def apply(self, values: Mapping[str, Value]) -> None:
        """See `StreamingDetector`; energy and threshold trim the detector, the others are for the next
        series."""
        energy, threshold = (
            float(values[name]) if name in values else None for name in (keys.ENERGY, keys.THRESHOLD)
        )
        if energy is not None or threshold is not None:
            self._camserver.trim(energy, threshold)
            self._learn_trimmed()
        self._local |= {name: values[name] for name in self._local if name in values}

    def check(self, settings: Settings) -> FrameFormat | None:
        """See `Unit`."""
        modes.plan(settings)
        return self._format() if self._shape else None

    def prepare(self, settings: Settings) -> FrameFormat:
        """See `Unit`; also asks whether the images fit on the RAM disk."""
        plan = modes.plan(settings)
        self._refuse_unless_idle()
        self._local = {p.name: settings.camera.get(p.name, p.default) for p in keys.LOCAL}
        self._learn_trimmed()  # somebody may have trimmed it at camserver's window
        trimmed = {p.name: settings.camera[p.name] for p in keys.TRIMMED if p.name in settings.camera}
        if any(
            abs(float(value) - float(self._trimmed.get(name, 0.0))) > EV for name, value in trimmed.items()
        ):
            self.apply(trimmed)
        if keys.THRESHOLD not in self._trimmed:
            raise CameraError(
                f"{self._camserver.address} has no threshold; set Energy or Threshold, then call Arm"
            )
        shape = self._shape or (0, 0)
        answer = self._camserver.set("ImgPath", self._light.folder(self._given_folder))
        self._folder = answer.text.rstrip("/") if answer.text.startswith("/") else ""
        self._space.refuse(plan, self._readings.free(), shape, self._camserver.address)
        self._taken = configure(self._camserver, plan, self._local, shape)
        self._counting.ask(self._camserver)
        self._plan = plan
        self.index_source = modes.index_source(plan.mode)
        return self._format()

    def as_prepared(self, settings: Settings) -> Settings:
        """See `StreamingDetector`; camserver rounds times to 100 ns."""
        (exposure, period), latency = self._taken, settings.latency_time
        if abs(period - exposure - max(latency, modes.READOUT)) > ROUNDED:
            latency = round(max(0.0, period - exposure), 7)
        return msgspec.structs.replace(settings, exposure_time=exposure, latency_time=latency)

    def read(self, name: str) -> Value:
        """See `Unit`."""
        return self._readings.read(name)

    def arm(self, user: UserPart) -> None:
        """See `StreamingDetector`; the light streamer gets the user part, and nobody else."""
        self._refuse_unless_idle()
        if self._plan is None:
            raise CameraError("no series is prepared")
        series = Series(self._camserver, self._light, self._plan, user, self._format(), self._folder)
        series.begin()
        self._series = series

    def trigger(self) -> None:
        """See `StreamingDetector`."""
        if (series := self._series) is not None:
            series.trigger()

    def stop(self) -> None:
        """See `StreamingDetector`."""
        if (series := self._series) is not None:
            series.stop()

    def abort(self) -> None:
        """See `StreamingDetector`; an exposure of somebody else is left alone."""
        if (series := self._series) is not None:
            series.abort()

    def progress(self) -> Progress:
        """See `StreamingDetector`; while no series of ours runs, camserver is asked now and then."""
        if (series := self._series) is None:
            return self._resting(self._readings.state().state)
        progress = series.progress()
        self._space.see(series.largest)
        if progress.state is BoxState.IDLE and self._series is series:
            self._readings.look_again()
            self._counting.see(series.image_header)
            self._series = None
        return progress

    def dropped(self) -> int | None:
        """See `StreamingDetector`."""
        return sum(self._light.status().lost.values())

    def reset(self) -> None:
        """See `StreamingDetector`: kills whatever is exposed, and ends the light streamer's series."""
        series, self._series = self._series, None
        if series is not None:
            series.abort()
        self._camserver.kill()
        self._light.reset()
        self._learn()

    def close(self) -> None:
        """See `Unit`."""
        self._camserver.close()
        self._light.close()

    def _learn(self) -> None:
        """Ask everything that a series, or a panel, needs to know."""
        self._readings.learn()
        said = self._camserver.image_format()
        if said and self._given_shape and said != self._given_shape:
            given, has = ("x".join(map(str, shape)) for shape in (self._given_shape, said))
            raise CameraError(
                f"the property SensorShape is {given}, and the images of {self._camserver.address} have "
                f"{has} rows x columns; set that, or leave it empty"
            )
        self._shape = self._given_shape or said
        if self._shape is None:
            raise CameraError(
                f"{self._camserver.address} does not say the size of its images; set the property SensorShape"
            )
        self._learn_trimmed()
        self._light.folder(self._given_folder)

    def _learn_trimmed(self) -> None:
        found = {keys.ENERGY: self._camserver.energy(), keys.THRESHOLD: self._camserver.threshold()}
        self._trimmed = {name: value for name, value in found.items() if value is not None}

    def _resting(self, state: str) -> Progress:
        """Return the state while no series of ours runs, from camserver's own."""
        self._camserver.check()
        if state not in (IDLE, ""):
            return Progress(state=BoxState.ARMED)
        if self._light.status().state in BUSY:
            return Progress(state=BoxState.ARMED)
        return Progress(state=BoxState.IDLE)

    def _refuse_unless_idle(self) -> None:
        state = self._camserver.setup().state
        if self._resting(state).state is not BoxState.IDLE:
            what = f"camserver is {state}" if state != IDLE else "the light streamer is sending a series"
            raise CameraError(
                f"{what}, by somebody else at {self._camserver.address}; wait for the end, or "
                "call Reset, which kills it"
            )

    def _format(self) -> FrameFormat:
        rows, columns = self._shape or (0, 0)
        most = bslz4.bound(rows * columns * ITEM, ITEM)
        return FrameFormat(shape=(rows, columns), dtype=DTYPE, compression="cbf", frame_bytes=most)
