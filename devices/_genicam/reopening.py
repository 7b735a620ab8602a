"""A lost camera is opened again in a thread: one that is still away would be waited for, for seconds."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from threading import Thread

from penstock.devices._genicam.device import Device
from penstock.streamer.camera.settings import Value
from penstock.streamer.camera.unit import CameraError

log = logging.getLogger(__name__)


class Reopening:
    """Opens one camera again.

    Args:
        unit: properties of the unit.
    """

    def __init__(self, unit: Mapping[str, Value]) -> None:
        self._unit = unit
        self._thread: Thread | None = None
        self._opened: Device | None = None
        self._error: CameraError | None = None
        """Why it could not be opened when this was tried last."""

    def device(self, patience: float) -> Device:
        """Return the camera, opened.

        Args:
            patience: seconds to wait for it; opening it takes a fifth of one.

        Raises:
            CameraError: it is away, or has not answered yet; a later call asks again.
        """
        if self._thread is None or (not self._thread.is_alive() and self._opened is None):
            self._thread = Thread(target=self._open, name="camera is opened again", daemon=True)
            self._thread.start()
        self._thread.join(patience)
        if self._thread.is_alive() or self._opened is None:
            name = name_of(self._unit)
            raise self._error or CameraError(f"camera {name} does not answer; see its cable and power")
        opened, self._opened, self._error = self._opened, None, None
        return opened

    def close(self) -> None:
        """Give free a camera that was opened, and that nobody has asked for since."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _open(self) -> None:
        try:
            self._opened = Device(self._unit)
        except CameraError as error:
            self._error = error
        except Exception as error:  # nobody else would see how this thread ended
            log.exception("camera %s could not be opened again", name_of(self._unit))
            self._error = CameraError(
                f"camera {name_of(self._unit)} could not be opened again: {type(error).__name__}: {error}"
            )


def name_of(unit: Mapping[str, Value]) -> str:
    """Return the address of a camera, or else its serial number."""
    return str(unit["Address"] or unit["SerialNumber"])
