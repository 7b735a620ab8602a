"""One open camera: what it is, what it can, and how a series is set up in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import c_int
from dataclasses import dataclass
from functools import partial
from math import ceil
from threading import Thread
from typing import Any, NamedTuple

from penstock.devices._genicam import aravis as binding
from penstock.devices._genicam import priority, triggers
from penstock.devices._genicam.aravis import Aravis, PacketCare, Stream, pair
from penstock.devices._genicam.frame_ids import GIGE, GIGE_EXTENDED, USB3, Kind
from penstock.devices._genicam.parameters import AUTO
from penstock.devices._genicam.pixel_formats import PixelFormat
from penstock.streamer.camera.settings import Limits, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError

PACKET_SIZE_REGISTER = 0x0D04
"""SCPS0, packet size of stream channel 0 ("GigE Vision" 1.2, section 28.42)."""
BIG_ENDIAN_PIXELS = 0x20000000
"""Its bit "pixel_endianess", bit 2 counted from the most significant one."""
ARAVIS_FAKE = ("Aravis", "Fake")
"""The fake camera of Aravis says little endian, and sends Mono16 as big endian (arvfakecamera.c)."""
ANSWER = 0.75
"""Seconds within which a camera answers a question; the library waits for some seconds."""
SAFE_PACKET_SIZE = 1400
"""Bytes of a packet that every network takes: for cameras that cannot send packets to try."""
CONTROL, OURS = 0x0A00, 0b11
"""Bootstrap register CCP of "GigE Vision" 1.2; its bits while a program has exclusive access, or control."""
CLOSING = 10.0
"""Seconds: more than the library waits for the answers of a lost camera, two times three."""
PACKET_OVERHEAD = 36
"""ARV_GVSP_PACKET_PROTOCOL_OVERHEAD (arvgvspprivate.h): the headers of IP, UDP and GVSP."""
EXTENDED_IDS = "GevGVSPExtendedIDMode"
TEMPERATURE = "DeviceTemperature"
RATE_SWITCHES = (b"AcquisitionFrameRateEnable", b"AcquisitionFrameRateEnabled")
"""Switches of the frame rate in SFNC 2, and in older cameras."""
PIXEL_SIZE = "SensorPixelWidth", "SensorPixelHeight"
"""Width and height of a pixel, in um."""
AUTOMATIC = (b"ExposureAuto", b"GainAuto")
"""Automatic controls that would change what was set."""


@dataclass(frozen=True)
class View:
    """The region that is read out, in pixels."""

    left: int
    top: int
    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.width} x {self.height} at ({self.left}, {self.top})"


class Taken(NamedTuple):
    """What a camera has made of the settings of a series."""

    exposure: float
    """Exposure time in seconds."""
    period: float | None
    """Seconds from one frame to the next; `None` where triggers say it, or if the camera has no rate."""
    gain: float | None
    """Gain in the camera's own unit; `None` if it has none."""
    packet_size: int | None
    """Packet size in bytes; `None` if it is no GigE Vision camera."""
    packet_delay: float | None
    """Delay between packets in seconds; `None` likewise."""


class Device:
    """An open camera, which this process controls.

    Args:
        unit: properties of the unit.

    Raises:
        CameraError: no such camera, or another program has it; the library is missing.
    """

    def __init__(self, unit: Mapping[str, Value]) -> None:
        self.lib = lib = Aravis()
        self.name = str(unit["Address"]) or str(unit["SerialNumber"])
        """Its address, or else its serial number, for sentences too."""
        self._written: tuple[object, object] | None = None
        """The settings of the last series, and what the camera made of them; `None` if it may have others."""
        self._silent = False
        """True from a question until the camera answers one."""
        self._question: Thread | None = None
        self._runs = False
        """True from the start of a series until the camera was stopped."""
        self._closing: Thread | None = None
        """Closes the stream of a lost camera."""
        self._was_off = False
        """True if the camera answers, but does not know any more that this process controls it."""
        self._camera: int | None = self._open(by_address=bool(unit["Address"]))
        self.handle: int = lib.camera_get_device(self.camera)
        """The ArvDevice."""
        try:
            self.is_gige = bool(lib.camera_is_gv_device(self.camera))
            self._refuse_if_taken()
            lib.camera_set_range_check_policy(self.camera, binding.ON)
            lib.camera_set_access_check_policy(self.camera, binding.ON)
            binding.configure_transport(lib, self.camera)
            # Its last client may have ended in a series: it would send on to that, with settings locked.
            self._optional(self.stop, None)
            self.vendor, self.model, self.serial = (
                (ask(self.camera) or b"").decode(errors="replace")
                for ask in (
                    lib.camera_get_vendor_name,
                    lib.camera_get_model_name,
                    lib.camera_get_device_serial_number,
                )
            )
            self._refuse_other_serial(str(unit["SerialNumber"]))
            self.big_endian = self._is_big_endian(str(unit["ByteOrder"]))
            self._id_bits = str(unit["FrameIdBits"])
            self._packet_care = PacketCare(
                resend=bool(unit["PacketResend"]), timeout=float(unit["PacketTimeout"]),
                retention=float(unit["FrameRetention"]),
            )  # fmt: skip
            self._packets: tuple[int, float] | None = None
            self._set_packets(0, 0.0)  # finding the largest takes too long for Arm
            self._free_rate()
            self.learn()
        except CameraError:
            self.close()
            raise

    def learn(self) -> None:
        """Read what the camera can with its present settings."""
        lib, camera = self.lib, self.camera
        self._written = None  # somebody has changed something
        self.ids = self._kind_of_ids(self._id_bits)
        self.formats = lib.strings(lib.camera_dup_available_pixel_formats_as_strings, camera)
        self.sources: tuple[str, ...] = self._optional(
            lambda: lib.strings(lib.camera_dup_available_trigger_sources, camera), ()
        )
        self.sensor = self._sensor()
        low, high = pair(lib.camera_get_exposure_time_bounds, camera)
        self.exposure = Limits(low / 1e6, high / 1e6)
        self.gain = Limits()
        if lib.camera_is_gain_available(camera):
            self.gain = Limits(*pair(lib.camera_get_gain_bounds, camera))
        self.has_frame_rate = bool(lib.camera_is_frame_rate_available(camera))
        self.readout = self._readout()

    @property
    def camera(self) -> int:
        """The ArvCamera.

        Raises:
            CameraError: it was closed, since it did not answer any more.
        """
        if self._camera is None:
            raise CameraError(f"camera {self.name} is not open; see its cable and power, then call Arm again")
        return self._camera

    @property
    def has_heartbeat(self) -> bool:
        """True if the library asks it all the time, in a thread of its own."""
        return self.is_gige

    @property
    def gone(self) -> bool:
        """True if it has to be opened again."""
        if self._camera is None or self._was_off:
            return True
        return not self.lib.gv_device_is_controller(self.handle) if self.is_gige else self._silent

    @property
    def lost(self) -> bool:
        """True if it no longer answers, as the library's heartbeat, or `ask`, has found: each call would take
        seconds."""
        return self._silent or self.gone

    def ask(self, patience: float = ANSWER) -> None:
        """Ask whether the camera is there, and wait so many seconds for an answer; `lost` says it then."""
        if self._camera is None or (self.is_gige and self.gone):
            return
        if self._question is None or not self._question.is_alive():
            self._silent = True
            self._question = Thread(target=self._hear, name="camera is asked", daemon=True)
            self._question.start()
        self._question.join(patience)

    def _hear(self) -> None:
        try:
            self.payload()
            # Switched off and on, it answers, but takes no settings; the heartbeat needs a while to see.
            self._was_off = self.is_gige and not binding.register(self.lib, self.handle, CONTROL) & OURS
        except CameraError:
            return
        self._silent = False

    def set_up(self, settings: Settings, form: PixelFormat, view: View) -> bool:
        """Write the settings of a series.

        Nothing is written if the camera has still what it made of the same settings: see `frame_ids`.

        Returns:
            Whether something was written.

        Raises:
            CameraError: the camera refuses one, or makes something else of it.
        """
        lib, camera = self.lib, self.camera
        if self._runs:  # it did not answer at the end of the last series
            self.stop()
        asked = (
            settings.exposure_time,
            settings.latency_time,
            settings.trigger_mode,
            settings.camera,
            form,
            view,
        )
        if self._written is not None and self._written == (asked, self._made(settings.trigger_mode)):
            return False
        self._written = None
        if lib.camera_are_chunks_available(camera):
            lib.camera_set_chunk_mode(camera, 0)
        lib.camera_set_acquisition_mode(camera, binding.CONTINUOUS)
        for feature in AUTOMATIC:
            there = lib.camera_is_feature_available(camera, feature)
            if there and lib.camera_get_string(camera, feature) != b"Off":
                lib.camera_set_string(camera, feature, b"Off")
        lib.camera_set_pixel_format_from_string(camera, form.name.encode())
        lib.camera_set_region(camera, view.left, view.top, view.width, view.height)
        if (got := View(*binding.region(lib, camera))) != view:
            raise CameraError(f"the camera makes a region of {got} of {view}; choose that, or another AOI")
        triggers.set_up(lib, camera, self._source(settings))
        self._free_rate()
        lib.camera_set_exposure_time(camera, settings.exposure_time * 1e6)
        if self.gain.maximum is not None:
            lib.camera_set_gain(camera, max(float(settings.camera["Gain"]), self.gain.minimum or 0.0))
        self._set_packets(int(settings.camera["PacketSize"]), float(settings.camera["PacketDelay"]))
        self.readout = self._readout()
        if settings.trigger_mode is TriggerMode.INTERNAL:
            self._set_period(settings)
        self._written = asked, self._made(settings.trigger_mode)
        return True

    def _made(self, mode: TriggerMode) -> object:
        """Return what the camera has of what `set_up` writes, as far as it is read back."""
        form = self.lib.camera_get_pixel_format_as_string(self.camera)
        return self.taken(mode), form, binding.region(self.lib, self.camera)

    def taken(self, mode: TriggerMode) -> Taken:
        """Read back what `set_up` has written."""
        lib, camera = self.lib, self.camera
        period = None
        if mode is TriggerMode.INTERNAL and self.has_frame_rate:
            rate = lib.camera_get_frame_rate(camera)
            period = 1.0 / rate if rate > 0.0 else None
        gain = None if self.gain.maximum is None else float(lib.camera_get_gain(camera))
        size = delay = None
        if self.is_gige:
            size, delay = self.packet_size(), lib.camera_gv_get_packet_delay(camera) / 1e9
        return Taken(lib.camera_get_exposure_time(camera) / 1e6, period, gain, size, delay)

    def payload(self) -> int:
        """Return the bytes of a frame as sent."""
        return int(self.lib.camera_get_payload(self.camera))

    def packets_per_frame(self) -> int:
        """Return the packets of a frame, with leader and trailer; 1 for USB3 Vision."""
        return 2 + ceil(self.payload() / (self.packet_size() - PACKET_OVERHEAD)) if self.is_gige else 1

    def packet_size(self) -> int:
        """Return the bytes of a packet of a GigE Vision camera, IP header included."""
        return int(self.lib.camera_gv_get_packet_size(self.camera))

    @property
    def frame_retention(self) -> float:
        """Seconds after which a frame without all packets is given up."""
        return self._packet_care.retention

    def stream(self) -> Stream:
        """Return a new stream of frames."""
        before = priority.receiving()
        stream = Stream(self.lib, self.camera, self._packet_care if self.is_gige else None)
        priority.raise_for(priority.receiving() - before, self.name)
        return stream

    def close_stream(self, stream: Stream) -> None:
        """End a stream; the library waits for a camera that is lost, for seconds, but nobody else does."""
        if self.lost:
            self._closing = Thread(target=stream.close, name="stream is closed", daemon=True)
            self._closing.start()
        else:
            stream.close()

    def has_closed(self, patience: float) -> bool:
        """Return whether the library has let go of the buffers of the last series, within so many seconds."""
        if self._closing is not None:
            self._closing.join(patience)
        return self._closing is None or not self._closing.is_alive()

    def start(self) -> None:
        """Begin to take frames, or triggers."""
        self._runs = True
        self.lib.camera_start_acquisition(self.camera)

    def stop(self) -> None:
        """End it."""
        self.lib.camera_stop_acquisition(self.camera)
        self._runs = False

    def trigger(self) -> None:
        """Give a software trigger."""
        self.lib.camera_software_trigger(self.camera)

    def temperature(self) -> float:
        """Return the temperature of the sensor, in degC.

        Raises:
            CameraError: the camera has none.
        """
        return float(self.lib.camera_get_float(self.camera, TEMPERATURE.encode()))

    def pixel_size(self) -> tuple[float, float] | None:
        """Return the width and height of a pixel, in m; `None` if the camera does not say them."""
        names = [name.encode() for name in PIXEL_SIZE]
        if not all(self.lib.camera_is_feature_available(self.camera, name) for name in names):
            return None
        width, height = (float(self.lib.camera_get_float(self.camera, name)) * 1e-6 for name in names)
        return width, height

    def close(self) -> None:
        """Give the camera free; without effect if it is closed."""
        is_away = self.lost and not (self._was_off and not self._silent)
        camera, self._camera = self._camera, None
        if camera is None:
            return
        self.has_closed(CLOSING)  # since buffers are given free behind this
        end = Thread(target=self._release, args=(camera,), name="camera is closed", daemon=True)
        end.start()
        if not is_away:  # or it would be waited for, for seconds
            end.join()

    def _release(self, camera: int) -> None:
        if self._question is not None:
            self._question.join()
        self.lib.g_object_unref(camera)

    # Opening ------------------------------------------------------------------------------------

    def _open(self, *, by_address: bool) -> int:
        if not self.name:
            raise CameraError(
                "the properties SerialNumber and Address are both empty; set one of them. Cameras that "
                f"answer: {self.lib.found_in_words()}"
            )
        try:
            name = self.name if by_address else self.lib.id_of(self.name)
            return int(self.lib.camera_new(name.encode()))
        except CameraError as error:
            raise CameraError(
                f"camera {self.name} cannot be opened ({error}); is it switched on, on a network of this "
                f"host, and free? Cameras that answer: {self.lib.found_in_words()}"
            ) from error

    def _refuse_if_taken(self) -> None:
        if self.lost:
            raise CameraError(
                f"camera {self.name} is controlled by another program, perhaps on another host, and a camera "
                "has one controller; end that program, then call Reset"
            )

    def _refuse_other_serial(self, wanted: str) -> None:
        if wanted and self.name != wanted and self.serial != wanted:
            raise CameraError(
                f"the camera at {self.name} has the serial number {self.serial}, not {wanted}; correct the "
                "property Address or SerialNumber"
            )

    def _is_big_endian(self, said: str) -> bool:
        if said != AUTO or not self.is_gige:
            return said == "big"
        if (self.vendor, self.model) == ARAVIS_FAKE:
            return True
        return bool(binding.register(self.lib, self.handle, PACKET_SIZE_REGISTER) & BIG_ENDIAN_PIXELS)

    def _kind_of_ids(self, bits: str) -> Kind:
        if not self.is_gige:
            return USB3
        extended = False
        if self.lib.camera_is_feature_available(self.camera, EXTENDED_IDS.encode()):
            extended = self.lib.camera_get_string(self.camera, EXTENDED_IDS.encode()) == b"On"
        return GIGE_EXTENDED if (extended if bits == AUTO else bits == "64") else GIGE

    # Settings -----------------------------------------------------------------------------------

    def _sensor(self) -> tuple[int, int]:
        """Return the largest width and height: with binning they are less than the sensor's."""
        width, height = pair(self.lib.camera_get_sensor_size, self.camera, kind=c_int)
        return self._integer("WidthMax", width), self._integer("HeightMax", height)

    def _integer(self, feature: str, otherwise: int) -> int:
        has = self.lib.camera_is_feature_available(self.camera, feature.encode())
        return int(self.lib.camera_get_integer(self.camera, feature.encode())) if has else otherwise

    def _source(self, settings: Settings) -> bytes | None:
        if settings.trigger_mode is TriggerMode.INTERNAL:
            return None
        if settings.trigger_mode is TriggerMode.SOFTWARE:
            return b"Software"
        return self.line(str(settings.camera["TriggerSource"])).encode()

    def line(self, source: str) -> str:
        """Return the input of external triggers.

        Args:
            source: as set; "" for the first line.

        Raises:
            CameraError: the camera has no such input.
        """
        lines: list[str] = [each for each in self.sources if each != "Software"]
        if source in lines:
            return source
        first = next((each for each in lines if each.startswith("Line")), None)
        if source or first is None:
            raise CameraError(
                f"this camera has no TriggerSource {source or 'that is a line'}; it has "
                f"{', '.join(self.sources) or 'none'}"
            )
        return first

    def _readout(self) -> float:
        """Return the least dead time in seconds, with the present exposure."""
        if not self.has_frame_rate:
            return 0.0
        fastest = pair(self.lib.camera_get_frame_rate_bounds, self.camera)[1]
        exposure = self.lib.camera_get_exposure_time(self.camera) / 1e6
        return max(0.0, 1.0 / fastest - exposure) if fastest > 0.0 else 0.0

    def _free_rate(self) -> None:
        """Let the frame rate be the camera's own: a rate that was set before limits exposures."""
        for switch in RATE_SWITCHES:
            if self.lib.camera_is_feature_available(self.camera, switch):
                self._optional(partial(self.lib.camera_set_boolean, self.camera, switch, 0), None)

    def _set_period(self, settings: Settings) -> None:
        period = settings.exposure_time + max(settings.latency_time, self.readout)
        if not self.has_frame_rate:
            if settings.latency_time > 0.0:
                raise CameraError("this camera's frame rate cannot be set; set LatencyTime to 0")
            return
        slowest, fastest = pair(self.lib.camera_get_frame_rate_bounds, self.camera)
        rate = min(1.0 / period, fastest)
        if rate < slowest * (1.0 - 1e-6):
            raise CameraError(
                f"a FrameTime of {period:g} s is above the longest of this camera, {1.0 / slowest:g} s; "
                "shorten LatencyTime or ExposureTime, or use software triggers"
            )
        self.lib.camera_set_frame_rate(self.camera, max(rate, slowest))

    def _set_packets(self, size: int, delay: float) -> None:
        """Set the size of packets, which a camera keeps for its next client, and the delay between them."""
        if not self.is_gige or self._packets == (size, delay):
            return
        self._packets = None
        self.lib.camera_gv_set_packet_size(self.camera, size or SAFE_PACKET_SIZE)
        if not size:
            self.lib.camera_gv_auto_packet_size(self.camera)
        try:
            self.lib.camera_gv_set_packet_delay(self.camera, round(delay * 1e9))
        except CameraError as error:
            raise CameraError(f"PacketDelay {delay:g} s cannot be set ({error}); choose another") from error
        self._packets = size, delay

    @staticmethod
    def _optional(ask: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return ask()
        except CameraError:
            return otherwise
