"""A GigE Vision camera without hardware: the fake one inside libaravis, in a process of its own.

    python -m penstock.devices._genicam.fake_camera
    python -m penstock.devices._genicam.fake_camera --serial GV02 --lost 0.001
    ip netns exec camera python -m penstock.devices._genicam.fake_camera --address 192.0.2.7

It prints a line of JSON when it answers, and ends with SIGTERM, or with the process that has started it. The
port of GigE Vision's control channel is fixed (3956), so one such camera runs on a computer, or in a network
namespace, at a time; with `--wait` it waits for the other one to end.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint32, c_void_p

from penstock.devices._genicam.aravis import aravis_library
from penstock.streamer.camera.unit import CameraError

ADDRESS = "127.0.0.1"
PORT = 3956
"""UDP port of the control channel ("GigE Vision" 1.2, section 10)."""
ENDING = {signal.SIGINT, signal.SIGTERM}
LOOK = 1.0
"""Seconds between two looks at the process that has started it."""
RETRY = 0.2
"""Seconds between two attempts to have the port."""
G_TYPE_DOUBLE = 15 << 2
"""GLib's gtype.h: fundamental types are shifted by two bits."""
PROTOTYPES = {
    "arv_gv_fake_camera_new_full": (c_void_p, (c_char_p, c_char_p, c_char_p)),
    "arv_gv_fake_camera_is_running": (c_int, (c_void_p,)),
    "arv_gv_fake_camera_get_fake_camera": (c_void_p, (c_void_p,)),
    "arv_fake_camera_read_register": (c_int, (c_void_p, c_uint32, POINTER(c_uint32))),
    "arv_fake_camera_write_register": (c_int, (c_void_p, c_uint32, c_uint32)),
    "arv_fake_camera_set_fill_pattern": (None, (c_void_p, c_void_p, c_void_p)),
    "arv_buffer_get_data": (c_void_p, (c_void_p, POINTER(c_size_t))),
    "g_object_set_property": (None, (c_void_p, c_char_p, c_void_p)),
    "g_object_unref": (None, (c_void_p,)),
    "g_value_init": (c_void_p, (c_void_p, c_size_t)),
    "g_value_set_double": (None, (c_void_p, c_double)),
}


TAKEN = (
    f"port {PORT} of {{address}} is taken: another fake camera is running on this computer; end it, or --wait"
)
AWAY = "{address} is not an address of this computer; `ip addr` lists those that it has"


class PortTaken(Exception):
    """Another program has the port of the control channel."""


class NoAddress(Exception):
    """This computer does not have the address."""


def _alone(address: str) -> socket.socket:
    """Return a socket that no other fake camera can have: the library itself shares its port.

    Raises:
        PortTaken: there is another one.
        NoAddress: the address is not one of this computer.
    """
    guard = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        guard.bind("\0penstock fake GigE Vision camera")  # in no file system, and gone with this process
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((address, PORT))
    except OSError as error:
        guard.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise NoAddress(AWAY.format(address=address)) from error
        raise PortTaken(TAKEN.format(address=address)) from error
    return guard


class FakeCamera:
    """The fake camera, which answers as long as this object exists.

    Args:
        serial: its serial number.
        xml: file of another GenICam description of its registers, "" for its own.
        address: where it answers, one of this computer.

    Raises:
        PortTaken: there is another one on this computer.
        NoAddress: the address is not one of this computer.
        CameraError: the library is missing.
    """

    def __init__(self, serial: str = "GV01", xml: str = "", address: str = ADDRESS) -> None:
        self._guard = _alone(address)
        self.lib = aravis_library()
        for name, (result, arguments) in PROTOTYPES.items():
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments
        self._camera = self.lib.arv_gv_fake_camera_new_full(
            address.encode(), serial.encode(), xml.encode() if xml else None
        )
        if not self.lib.arv_gv_fake_camera_is_running(self._camera):
            raise PortTaken(TAKEN.format(address=address))
        self.registers = self.lib.arv_gv_fake_camera_get_fake_camera(self._camera)

    def lose(self, ratio: float) -> None:
        """Send a share of the packets (0 to 1) to nowhere from now on, at random."""
        value = ctypes.create_string_buffer(24)  # a GValue
        self.lib.g_value_init(value, G_TYPE_DOUBLE)
        self.lib.g_value_set_double(value, ratio)
        self.lib.g_object_set_property(self._camera, b"gvsp-lost-ratio", value)

    def read(self, address: int) -> int:
        """Return the value of a register."""
        value = c_uint32()
        self.lib.arv_fake_camera_read_register(self.registers, address, ctypes.byref(value))
        return value.value

    def write(self, address: int, value: int) -> None:
        """Set a register."""
        self.lib.arv_fake_camera_write_register(self.registers, address, value)


def wait_for_port(
    patience: float,
    serial: str = "GV01",
    xml: str = "",
    address: str = ADDRESS,
    sleep: Callable[[float], None] = time.sleep,
) -> FakeCamera:
    """Return a fake camera as soon as the port is free.

    Args:
        patience: seconds to wait for it.
        serial, xml, address: see `FakeCamera`.
        sleep: waits for so many seconds.

    Raises:
        PortTaken: it is not free after so many seconds.
        NoAddress: the address is not one of this computer.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return FakeCamera(serial, xml, address)
        except PortTaken:
            if time.monotonic() >= deadline:
                raise
            sleep(RETRY)


def main() -> int:
    """Run it until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(
        prog="python -m penstock.devices._genicam.fake_camera", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--serial", default="GV01", help="serial number (%(default)s)")
    parser.add_argument("--address", default=ADDRESS, help="one of this computer's (%(default)s)")
    parser.add_argument(
        "--lost", type=float, default=0.0, metavar="RATIO", help="packets that are lost, 0 to 1"
    )
    parser.add_argument(
        "--wait", type=float, default=0.0, metavar="SECONDS", help="wait so long for another one to end"
    )
    args = parser.parse_args()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    parent = os.getppid()

    def sleep(seconds: float) -> None:
        caught = signal.sigtimedwait(ENDING, seconds)
        # After SIGSTOP and SIGCONT it returns a signal 0 (CPython, signalmodule.c).
        if (caught is not None and caught.si_signo in ENDING) or os.getppid() != parent:
            sys.exit(0)

    try:
        camera = wait_for_port(args.wait, args.serial, address=args.address, sleep=sleep)
    except (PortTaken, NoAddress, CameraError) as error:
        print(error, file=sys.stderr)
        return 1
    camera.lose(args.lost)
    print(json.dumps({"address": args.address, "serial": args.serial}), flush=True)
    while True:
        sleep(LOOK)


if __name__ == "__main__":
    sys.exit(main())
