"""The supported cameras: one public module of `penstock.devices` each, its class named as the server.

`Simulator` is the class `Simulator` in the module `penstock.devices.simulator`: the module's name
is the class name in lower case.
"""

from __future__ import annotations

import pkgutil

from penstock import devices
from penstock.streamer.camera import Camera
from penstock.streamer.loading import CameraFileError, load_camera_file


class UnknownCamera(Exception):
    """There is no such camera; the sentence lists those that there are."""


def camera_class(name: str) -> type[Camera]:
    """Class of a camera by its name, in any case of letters.

    Raises:
        UnknownCamera: no module, or no class in it, has that name.
        CameraFileError: the module is there, but cannot be imported.
    """
    if name.lower() not in _modules():
        raise UnknownCamera(f'there is no camera "{name}"; known are {", ".join(camera_names())}')
    module = load_camera_file(f"{devices.__name__}.{name.lower()}")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Camera) and value.__name__.lower() == name.lower():
            return value
    raise UnknownCamera(f"{module.__name__} has no Camera class named like the module")


def camera_names() -> list[str]:
    """Names of all cameras; the module's name where it cannot be imported on this host."""
    names = []
    for module in _modules():
        try:
            names.append(camera_class(module).__name__)
        except (CameraFileError, UnknownCamera):
            names.append(module)
    return names


def _modules() -> list[str]:
    return sorted(
        found.name for found in pkgutil.iter_modules(devices.__path__) if not found.name.startswith("_")
    )
