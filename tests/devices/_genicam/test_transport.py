"""How the library receives the frames of a camera, by the camera's interface."""

from __future__ import annotations

from typing import Any, cast

from penstock.devices._genicam.aravis import NO_PACKET_SOCKET, USB_SYNC, Aravis, configure_transport

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
