"""How the library receives the frames of a camera, by the camera's interface."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any, cast

from penstock.devices._genicam.aravis import (
    NO_PACKET_SOCKET,
    SOCKET_BUFFER,
    USB_SYNC,
    Aravis,
    Stream,
    configure_transport,
)

CAMERA = 1


class RecordingLibrary:
    """Records what is set, for a camera of one interface."""

    def __init__(self, interface: str) -> None:
        self._interface = interface
        self.set: dict[str, int] = {}

    def camera_is_gv_device(self, camera: int) -> int:
        return int(self._interface == "GigEVision")

    def camera_is_uv_device(self, camera: int) -> int:
        return int(self._interface == "USB3Vision")

    def __getattr__(self, name: str) -> Any:
        return lambda camera, value: self.set.__setitem__(name, value)


def test_a_usb3_camera_is_read_in_the_mode_that_forgets_returned_buffers() -> None:
    library = RecordingLibrary("USB3Vision")
    configure_transport(cast(Aravis, library), CAMERA)
    assert library.set == {"camera_uv_set_usb_mode": USB_SYNC}


def test_a_gige_camera_is_read_from_its_own_socket_only() -> None:
    library = RecordingLibrary("GigEVision")
    configure_transport(cast(Aravis, library), CAMERA)
    assert library.set["camera_gv_set_stream_options"] == NO_PACKET_SOCKET
    assert "camera_uv_set_usb_mode" not in library.set


def test_the_socket_of_a_gige_camera_has_its_buffer_before_the_first_packet() -> None:
    def buffer_of(found: socket.socket) -> int:
        return found.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

    with socket.socket(type=socket.SOCK_DGRAM) as own, socket.socket(type=socket.SOCK_DGRAM) as other:
        for each in (own, other):
            each.bind(("127.0.0.1", 0))
        before, open_files = buffer_of(other), set(os.listdir("/proc/self/fd"))

        class Library:
            def camera_is_gv_device(self, camera: int) -> int:
                return 1

            def gv_stream_get_port(self, stream: int) -> int:
                return int(own.getsockname()[1])

            def __getattr__(self, name: str) -> Any:
                return lambda *arguments: 1

        Stream(cast(Aravis, Library()), CAMERA)

        most = int(Path("/proc/sys/net/core/rmem_max").read_text())
        assert buffer_of(own) == 2 * min(SOCKET_BUFFER, most)  # the kernel doubles it
        assert buffer_of(other) == before
        assert set(os.listdir("/proc/self/fd")) == open_files
