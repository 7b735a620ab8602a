"""The binding of libaravis 0.8: only what is used, and every GError as a `CameraError`.

Prototypes: the public headers `arvcamera.h`, `arvstream.h`, `arvbuffer.h`, `arvsystem.h`, `arvgvdevice.h`,
`arvgvstream.h` of Aravis 0.8.26.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import socket
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from penstock.streamer.camera.loading import load_library
from penstock.streamer.camera.unit import CameraError

FILE = "libaravis-0.8.so.0"
REMEDY = "install Debian's libaravis-0.8-0, or PyPI's aravis-python with Debian's libusb-1.0-0"
LEAST_VERSION = (0, 8, 26)
INTERFACES = ("GigEVision", "USB3Vision")
"""Names of the interfaces that are searched; others (GenTL, V4L2, a fake one) are switched off."""
OUR_PACKET_SIZE = 0
"""ARV_GV_PACKET_SIZE_ADJUSTMENT_NEVER (arvgvdevice.h:50): a new stream keeps the size that was set."""
NO_PACKET_SOCKET = 1
"""ARV_GV_STREAM_OPTION_PACKET_SOCKET_DISABLED (arvgvstream.h:49): in a privileged process Aravis would read a
packet socket, and take for frames what that has caught, from any program, before its filter is set."""
USB_SYNC = 0
"""ARV_UV_USB_MODE_SYNC (arvenums.h), the default of 0.8.26. The other mode, that of later versions (0.8.31),
remembers memory by the address of its ArvBuffer, also of one that is gone: the next one there would be filled
in the memory of the first. And it counts an underrun whenever it finds no further buffer, although all are
being filled (arvuvstream.c, `arv_uv_stream_thread_async`)."""
ON = 1
"""ARV_RANGE_CHECK_POLICY_ENABLE, ARV_ACCESS_CHECK_POLICY_ENABLE (arvgc.h): both are off otherwise."""
RESEND_NEVER, RESEND_ALWAYS = 0, 1
"""ARV_GV_STREAM_PACKET_RESEND_NEVER, _ALWAYS (arvgvstream.h)."""
SOCKET_BUFFER = 64 * 2**20
"""Bytes of the socket's buffer that are asked for; the kernel gives net.core.rmem_max at most."""
TIMED_OUT = 5
"""ARV_DEVICE_ERROR_TIMEOUT (arvdevice.h)."""
CONTINUOUS = 0
"""ARV_ACQUISITION_MODE_CONTINUOUS (arvenums.h)."""
SUCCESS = 0
"""ARV_BUFFER_STATUS_SUCCESS (arvbuffer.h:46)."""
STATUS = {
    1: "cleared", 2: "timed out", 3: "packets are missing", 4: "a packet has a wrong id",
    5: "it does not fit into its buffer", 6: "unfinished", 7: "aborted",
}  # fmt: skip
"""Words for the statuses of buffers without a whole frame (arvbuffer.h:45-55)."""


class _GError(ctypes.Structure):
    _fields_ = (("domain", ctypes.c_uint32), ("code", c_int), ("message", c_char_p))


_STRINGS, _NUMBER = POINTER(c_char_p), POINTER(c_uint)

# Result and arguments after the object; with "!" the last argument, a GError**, is added and examined.
_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "arv_get_major_version": (c_uint, ()),
    "arv_get_minor_version": (c_uint, ()),
    "arv_get_micro_version": (c_uint, ()),
    "arv_get_n_interfaces": (c_uint, ()),
    "arv_get_interface_id": (c_char_p, (c_uint,)),
    "arv_disable_interface": (None, (c_char_p,)),
    "arv_update_device_list": (None, ()),
    "arv_get_n_devices": (c_uint, ()),
    "arv_get_device_id": (c_char_p, (c_uint,)),
    "arv_get_device_address": (c_char_p, (c_uint,)),
    "arv_get_device_serial_nbr": (c_char_p, (c_uint,)),
    "arv_camera_new!": (c_void_p, (c_char_p,)),
    "arv_camera_get_device": (c_void_p, (c_void_p,)),
    "arv_camera_set_range_check_policy": (None, (c_void_p, c_int)),
    "arv_camera_set_access_check_policy": (None, (c_void_p, c_int)),
    "arv_camera_get_vendor_name!": (c_char_p, (c_void_p,)),
    "arv_camera_get_model_name!": (c_char_p, (c_void_p,)),
    "arv_camera_get_device_serial_number!": (c_char_p, (c_void_p,)),
    "arv_camera_get_sensor_size!": (None, (c_void_p, POINTER(c_int), POINTER(c_int))),
    "arv_camera_get_region!": (None, (c_void_p, *[POINTER(c_int)] * 4)),
    "arv_camera_set_region!": (None, (c_void_p, c_int, c_int, c_int, c_int)),
    "arv_camera_get_pixel_format_as_string!": (c_char_p, (c_void_p,)),
    "arv_camera_set_pixel_format_from_string!": (None, (c_void_p, c_char_p)),
    "arv_camera_dup_available_pixel_formats_as_strings!": (_STRINGS, (c_void_p, _NUMBER)),
    "arv_camera_dup_available_trigger_sources!": (_STRINGS, (c_void_p, _NUMBER)),
    "arv_camera_set_acquisition_mode!": (None, (c_void_p, c_int)),
    "arv_camera_start_acquisition!": (None, (c_void_p,)),
    "arv_camera_stop_acquisition!": (None, (c_void_p,)),
    "arv_camera_is_frame_rate_available!": (c_int, (c_void_p,)),
    "arv_camera_set_frame_rate!": (None, (c_void_p, c_double)),
    "arv_camera_get_frame_rate!": (c_double, (c_void_p,)),
    "arv_camera_get_frame_rate_bounds!": (None, (c_void_p, POINTER(c_double), POINTER(c_double))),
    "arv_camera_clear_triggers!": (None, (c_void_p,)),
    "arv_camera_set_trigger!": (None, (c_void_p, c_char_p)),
    "arv_camera_software_trigger!": (None, (c_void_p,)),
    "arv_camera_set_exposure_time!": (None, (c_void_p, c_double)),
    "arv_camera_get_exposure_time!": (c_double, (c_void_p,)),
    "arv_camera_get_exposure_time_bounds!": (None, (c_void_p, POINTER(c_double), POINTER(c_double))),
    "arv_camera_is_gain_available!": (c_int, (c_void_p,)),
    "arv_camera_set_gain!": (None, (c_void_p, c_double)),
    "arv_camera_get_gain!": (c_double, (c_void_p,)),
    "arv_camera_get_gain_bounds!": (None, (c_void_p, POINTER(c_double), POINTER(c_double))),
    "arv_camera_are_chunks_available!": (c_int, (c_void_p,)),
    "arv_camera_set_chunk_mode!": (None, (c_void_p, c_int)),
    "arv_camera_get_payload!": (c_uint, (c_void_p,)),
    "arv_camera_is_feature_available!": (c_int, (c_void_p, c_char_p)),
    "arv_camera_execute_command!": (None, (c_void_p, c_char_p)),
    "arv_camera_get_boolean!": (c_int, (c_void_p, c_char_p)),
    "arv_camera_set_boolean!": (None, (c_void_p, c_char_p, c_int)),
    "arv_camera_get_integer!": (c_int64, (c_void_p, c_char_p)),
    "arv_camera_set_integer!": (None, (c_void_p, c_char_p, c_int64)),
    "arv_camera_get_integer_bounds!": (None, (c_void_p, c_char_p, POINTER(c_int64), POINTER(c_int64))),
    "arv_camera_get_float!": (c_double, (c_void_p, c_char_p)),
    "arv_camera_set_float!": (None, (c_void_p, c_char_p, c_double)),
    "arv_camera_get_float_bounds!": (None, (c_void_p, c_char_p, POINTER(c_double), POINTER(c_double))),
    "arv_camera_get_string!": (c_char_p, (c_void_p, c_char_p)),
    "arv_camera_set_string!": (None, (c_void_p, c_char_p, c_char_p)),
    "arv_camera_dup_available_enumerations_as_strings!": (_STRINGS, (c_void_p, c_char_p, _NUMBER)),
    "arv_camera_is_gv_device": (c_int, (c_void_p,)),
    "arv_camera_gv_set_packet_size!": (None, (c_void_p, c_int)),
    "arv_camera_gv_get_packet_size!": (c_uint, (c_void_p,)),
    "arv_camera_gv_auto_packet_size!": (c_uint, (c_void_p,)),
    "arv_camera_gv_set_packet_size_adjustment": (None, (c_void_p, c_int)),
    "arv_camera_gv_set_stream_options": (None, (c_void_p, c_int)),
    "arv_camera_gv_set_packet_delay!": (None, (c_void_p, c_int64)),
    "arv_camera_gv_get_packet_delay!": (c_int64, (c_void_p,)),
    "arv_camera_is_uv_device": (c_int, (c_void_p,)),
    "arv_camera_uv_set_usb_mode": (None, (c_void_p, c_int)),
    "arv_camera_create_stream!": (c_void_p, (c_void_p, c_void_p, c_void_p)),
    "arv_gv_stream_get_port": (ctypes.c_uint16, (c_void_p,)),
    "arv_device_get_genicam_xml": (c_void_p, (c_void_p, POINTER(c_size_t))),
    "arv_device_get_feature_access_mode": (c_int, (c_void_p, c_char_p)),
    "arv_device_read_register!": (c_int, (c_void_p, c_uint64, POINTER(ctypes.c_uint32))),
    "arv_gv_device_is_controller": (c_int, (c_void_p,)),
    "arv_device_error_quark": (ctypes.c_uint32, ()),
    "arv_buffer_new": (c_void_p, (c_size_t, c_void_p)),
    "arv_buffer_get_status": (c_int, (c_void_p,)),
    "arv_buffer_get_frame_id": (c_uint64, (c_void_p,)),
    "arv_buffer_get_timestamp": (c_uint64, (c_void_p,)),
    "arv_stream_push_buffer": (None, (c_void_p, c_void_p)),
    "arv_stream_timeout_pop_buffer": (c_void_p, (c_void_p, c_uint64)),
    "arv_stream_get_info_uint64_by_name": (c_uint64, (c_void_p, c_char_p)),
    "g_object_set": (None, (c_void_p, c_char_p, c_int, c_char_p)),
    "g_object_unref": (None, (c_void_p,)),
    "g_free": (None, (c_void_p,)),
    "g_error_free": (None, (c_void_p,)),
}


class Found(NamedTuple):
    """A camera that answers."""

    ident: str
    """The library's name of it: vendor, model and serial number."""
    serial: str
    address: str


class Aravis:
    """The loaded library; each function without the prefix `arv_` is a method.

    Raises:
        CameraError: it is missing or too old; from a method, the text of its GError.
    """

    def __init__(self) -> None:
        self._library = aravis_library()
        for prototype, (result, arguments) in _PROTOTYPES.items():
            name = prototype.removesuffix("!")
            if (function := getattr(self._library, name, None)) is None:
                raise CameraError(f"{FILE} has no {name}: it is older than 0.8.26; {REMEDY}")
            function.restype = result
            function.argtypes = [*arguments, *([POINTER(POINTER(_GError))] if name != prototype else [])]
            method = name.removeprefix("arv_")
            setattr(self, method, self._checked(function) if name != prototype else function)
        version = self.get_major_version(), self.get_minor_version(), self.get_micro_version()
        if version < LEAST_VERSION:
            raise CameraError(f"{FILE} is {'.'.join(map(str, version))}, at least 0.8.26 is needed; {REMEDY}")
        for number in range(self.get_n_interfaces()):
            if (interface := self.get_interface_id(number)).decode() not in INTERFACES:
                self.disable_interface(interface)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no prototype of {name} in _PROTOTYPES")

    def _checked(self, function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            error = POINTER(_GError)()
            result = function(*arguments, byref(error))
            if error:
                text, code = error.contents.message.decode(errors="replace"), error.contents.code
                silent = code == TIMED_OUT and error.contents.domain == self.device_error_quark()
                self.g_error_free(error)
                raise CameraError(
                    f"the camera does not answer ({text}); see its cable and power" if silent else text
                )
            return result

        return call

    def found(self) -> list[Found]:
        """Search for cameras, which takes a second or two."""
        self.update_device_list()
        ask = self.get_device_id, self.get_device_serial_nbr, self.get_device_address
        return [
            Found(*((text(number) or b"").decode(errors="replace") for text in ask))
            for number in range(self.get_n_devices())
        ]

    def found_in_words(self) -> str:
        """Return the cameras that answer, for a sentence."""
        return ", ".join(f"{each.ident} ({each.address})" for each in self.found()) or "none"

    def id_of(self, serial: str) -> str:
        """Return the library's name of the camera with a serial number.

        Raises:
            CameraError: there is none.
        """
        found = (each.ident for each in self.found() if serial in (each.serial, each.ident))
        if (ident := next(found, None)) is None:
            raise CameraError("no camera with this serial number answers")
        return ident

    def strings(self, function: Any, *arguments: Any) -> tuple[str, ...]:
        """Return the result of a function that returns an array of texts and their number."""
        number = c_uint()
        texts = function(*arguments, byref(number))
        try:
            return tuple(texts[n].decode() for n in range(number.value))
        finally:
            self.g_free(texts)


def aravis_library() -> ctypes.CDLL:
    """Load the library.

    Raises:
        CameraError: it is missing.
    """
    return load_library(_file(), REMEDY)


def _file() -> str:
    """Return the file of PyPI's aravis-python if it is installed, else the name for the dynamic loader."""
    package = importlib.util.find_spec("aravis")
    for folder in (package.submodule_search_locations or ()) if package else ():
        if (carried := Path(folder, "lib", FILE)).is_file():
            return str(carried)
    return FILE


@dataclass(frozen=True)
class Filled:
    """One buffer that came back from a stream."""

    address: int
    """Address of its memory."""
    handle: int
    """Handle for `Stream.give_back`."""
    status: int
    frame_id: int
    """Id of a whole frame; that of another one may be an old one."""
    timestamp: float | None
    """Camera's clock in seconds; `None` if it has none."""

    @property
    def whole(self) -> bool:
        """True if it has a whole frame."""
        return self.status == SUCCESS


class PacketCare(NamedTuple):
    """What the library does about packets of a GigE Vision camera that do not arrive (arvgvstream.c)."""

    resend: bool = True
    """True if they are asked for again."""
    timeout: float = 0.02
    """Seconds after which they are."""
    retention: float = 0.2
    """Seconds after the last packet of a frame, after which it is given up."""


class Stream:
    """The frames of one acquisition: buffers of ours, which a thread of the library fills in turn.

    Args:
        lib: the library.
        camera: an ArvCamera.
        care: of a GigE Vision camera; by default as the library does it.

    Raises:
        CameraError: the camera does not answer.
    """

    def __init__(self, lib: Aravis, camera: int, care: PacketCare | None = None) -> None:
        self._lib = lib
        self._stream = self._lib.camera_create_stream(camera, None, None)
        if lib.camera_is_gv_device(camera):
            if care is not None:
                resend = RESEND_ALWAYS if care.resend else RESEND_NEVER
                lib.g_object_set(self._stream, b"packet-resend", resend, None)
                lib.g_object_set(self._stream, b"packet-timeout", round(care.timeout * 1e6), None)
                lib.g_object_set(self._stream, b"frame-retention", round(care.retention * 1e6), None)
            lib.g_object_set(self._stream, b"socket-buffer-size", SOCKET_BUFFER, None)
            _make_room(lib.gv_stream_get_port(self._stream))
        self._addresses: dict[int, int] = {}
        self._owners: list[object] = []

    def lend(self, address: int, nbytes: int, owner: object = None) -> None:
        """Let the library fill this memory, until it is popped or the stream is closed.

        Args:
            address: of the memory.
            nbytes: its size.
            owner: lives as long as the stream; `None` if the caller sees to it.
        """
        if owner is not None:
            self._owners.append(owner)
        handle = self._lib.buffer_new(nbytes, address)
        self._addresses[handle] = address
        self._lib.stream_push_buffer(self._stream, handle)

    def pop(self, timeout: float) -> Filled | None:
        """Wait at most so many seconds for a buffer, whole or not."""
        handle = self._lib.stream_timeout_pop_buffer(self._stream, max(0, int(timeout * 1e6)))
        if handle is None:
            return None
        stamp = self._lib.buffer_get_timestamp(handle)
        return Filled(
            address=self._addresses[handle], handle=handle, status=self._lib.buffer_get_status(handle),
            frame_id=self._lib.buffer_get_frame_id(handle), timestamp=stamp / 1e9 if stamp else None,
        )  # fmt: skip

    def give_back(self, filled: Filled) -> None:
        """Let the library fill the same memory again."""
        self._lib.stream_push_buffer(self._stream, filled.handle)

    def forget(self, filled: Filled) -> None:
        """The memory is no longer the library's."""
        del self._addresses[filled.handle]
        self._lib.g_object_unref(filled.handle)

    def count(self, name: str) -> int:
        """Return a counter of the stream, such as "n_underruns"; 0 if this kind of stream has none."""
        return int(self._lib.stream_get_info_uint64_by_name(self._stream, name.encode()))

    def close(self) -> None:
        """End the library's thread; it has let go of every buffer when this returns."""
        self._lib.g_object_unref(self._stream)


def _make_room(port: int) -> None:
    """Give a stream's socket its buffer at once: the library does so with the first packet that it reads, and
    what has come by then on a busy host may be more than the kernel gives a socket."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # it is closed meanwhile
            if not os.readlink(descriptor).startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(descriptor.name))) as found:
                is_udp = (found.family, found.type) == (socket.AF_INET, socket.SOCK_DGRAM)
                if is_udp and found.getsockname()[1] == port:
                    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER)


def configure_transport(lib: Aravis, camera: int) -> None:
    """Choose how the library receives frames, for all streams of this camera."""
    if lib.camera_is_gv_device(camera):
        lib.camera_gv_set_packet_size_adjustment(camera, OUR_PACKET_SIZE)
        lib.camera_gv_set_stream_options(camera, NO_PACKET_SOCKET)
    elif lib.camera_is_uv_device(camera):
        lib.camera_uv_set_usb_mode(camera, USB_SYNC)


def pair(function: Any, *arguments: Any, kind: Any = c_double) -> tuple[Any, Any]:
    """Return the two numbers that a function puts into its last two arguments, such as bounds."""
    low, high = kind(), kind()
    function(*arguments, byref(low), byref(high))
    return low.value, high.value


def region(lib: Aravis, camera: int) -> tuple[int, int, int, int]:
    """Return left, top, width and height of the region, in pixels."""
    numbers = [c_int() for _ in range(4)]
    lib.camera_get_region(camera, *map(byref, numbers))
    left, top, width, height = (number.value for number in numbers)
    return left, top, width, height


def register(lib: Aravis, device: int, address: int) -> int:
    """Return the value of a 32 bit register."""
    value = ctypes.c_uint32()
    lib.device_read_register(device, address, byref(value))
    return value.value


def xml(lib: Aravis, device: int) -> bytes:
    """Return the camera's own description, its GenICam XML."""
    size = c_size_t()
    address = lib.device_get_genicam_xml(device, byref(size))
    return ctypes.string_at(address, size.value)
