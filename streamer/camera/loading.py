"""Import of camera files and SDKs, which may be missing."""

from __future__ import annotations

import ctypes
import importlib
import pkgutil
import socket
from types import ModuleType
from typing import Any

from penstock.stins.errors import UserError
from penstock.streamer.camera.unit import CameraError, Unit

CAMERAS = "penstock.devices"
"""Package of the camera files: the class `Zebra` is in the module `zebra`."""


class CameraFileError(UserError):
    """A camera's file exists, but cannot be imported; the sentence says where and why."""


def load_sdk(module: str, remedy: str) -> Any:
    """Import the Python module of an SDK; call it in a camera's `__init__`, not at the top of its file.

    Args:
        module: name of the module, such as "zebra_sdk".
        remedy: what to do if it is missing, such as "install Acme SDK 3.2 and its Python package".

    Raises:
        CameraError: the module or a shared library cannot be loaded; the sentence names the module and this
            host, and ends with the remedy.
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:
        raise CameraError(
            f"the SDK's module {module} cannot be imported on {socket.gethostname()} ({error}); {remedy}"
        ) from error


def load_library(file: str, remedy: str) -> ctypes.CDLL:
    """Load the shared library of an SDK; call it in a camera's `__init__`, not at the top of its file.

    Args:
        file: its path, or its name for the dynamic loader, such as "libzebra.so.3".
        remedy: what to do if it is missing, such as "install Acme SDK 3.2".

    Raises:
        CameraError: it cannot be loaded; the sentence names the file and this host, and ends with the remedy.
    """
    try:
        return ctypes.CDLL(file)
    except OSError as error:
        raise CameraError(
            f"the SDK's library {file} cannot be loaded on {socket.gethostname()} ({error}); {remedy}"
        ) from error


def load_camera_file(module: str) -> ModuleType:
    """Import the module of a camera.

    Raises:
        ModuleNotFoundError: there is no module of that name.
        CameraFileError: importing the module failed.
    """
    try:
        return importlib.import_module(module)
    except Exception as error:  # a camera's file may raise anything
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise
        raise CameraFileError(
            f"{module} cannot be imported on {socket.gethostname()}: {type(error).__name__}: {error}; "
            "mend it, and if it needs an SDK, let it load that when a unit is opened (load_sdk)"
        ) from error


def camera_files() -> list[str]:
    """Return the names of the modules of all cameras."""
    path = importlib.import_module(CAMERAS).__path__
    return sorted(found.name for found in pkgutil.iter_modules(path) if not found.name.startswith("_"))


def camera_in(module: ModuleType) -> type[Unit] | None:
    """Return the camera's class in its module: the one with the module's name, ignoring case."""
    # Here, since they need NumPy, and a process that only loads an SDK does not.
    from penstock.streamer.camera.contract import Camera
    from penstock.streamer.camera.own_stream import StreamingDetector

    name = module.__name__.rpartition(".")[2]
    for value in vars(module).values():
        if not isinstance(value, type) or value.__name__.lower() != name:
            continue
        if issubclass(value, Camera | StreamingDetector):
            return value
    return None


def camera_names() -> list[str]:
    """Return the names of all cameras; the module's name if it cannot be imported on this host."""
    names = []
    for file in camera_files():
        try:
            found = camera_in(load_camera_file(f"{CAMERAS}.{file}"))
        except CameraFileError:
            found = None
        names.append(found.__name__ if found else file)
    return names
