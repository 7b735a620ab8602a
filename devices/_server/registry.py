"""The supported cameras: one public module of `penstock.devices` each, its class named as the server.

`Simulator` is the class `Simulator` in the module `penstock.devices.simulator`: the module's name
is the class name in lower case.
"""

from __future__ import annotations

from penstock.streamer.camera.loading import CAMERAS, camera_files, camera_in, camera_names, load_camera_file
from penstock.streamer.camera.unit import Unit

__all__ = ["UnknownCamera", "camera_class", "camera_names"]


RECEIVER, PIPELINE = SERVICES = ("PenstockReceiver", "PenstockPipeline")
"""Servers, and classes, of the devices of services, which are no cameras."""


class UnknownCamera(Exception):
    """There is no such camera; the sentence lists the existing ones."""


def camera_class(name: str) -> type[Unit]:
    """Return the class of a camera by its name, which is case-insensitive.

    Raises:
        UnknownCamera: no module, or no class in it, has this name.
        CameraFileError: the module exists, but cannot be imported.
    """
    if name.lower() not in camera_files():
        raise UnknownCamera(f'there is no camera "{name}"; there are {", ".join(camera_names())}')
    module = load_camera_file(f"{CAMERAS}.{name.lower()}")
    if (found := camera_in(module)) is None:
        raise UnknownCamera(f"{module.__name__} has no camera class with the name of the module")
    return found
