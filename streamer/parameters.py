"""The parameters of one camera: as they were set last, as they were read last, and what is said of them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping

from penstock.streamer.camera import Camera
from penstock.streamer.checks import check_values
from penstock.streamer.protocol import Description
from penstock.streamer.settings import Value

log = logging.getLogger(__name__)


class Parameters:
    """What the parameters of an open camera are.

    Only the camera's thread calls it; `readings` and `description` are replaced as a whole, for any thread to
    look at.

    Args:
        camera: asked, never set.
        data_endpoint: where its frames go; stands in the description.
        changed: called after every change of `readings`.
    """

    def __init__(self, camera: Camera, data_endpoint: str, changed: Callable[[], None]) -> None:
        self._camera = camera
        self._name = type(camera).__name__
        self._data_endpoint = data_endpoint
        self._changed = changed
        self._values: dict[str, Value] = {p.name: p.default for p in camera.parameters if p.writable}
        self.readings: dict[str, Value] = {}
        """What can only be read, as far as it could."""
        self.read()
        self.description = self._describe()
        """The camera as it was set last."""

    def merged(self, values: Mapping[str, object]) -> dict[str, Value]:
        """All that can be set, with these in place of what was set before.

        Raises:
            Refused: one of them is not possible.
        """
        return self._values | check_values(values, self._camera.parameters, self.description.limits)

    def have_been_set(self, values: dict[str, Value]) -> None:
        """The camera has taken these; its limits may be others now."""
        self._values = values
        self.description = self._describe()

    def read(self) -> None:
        """Read what can only be read; what fails is left out."""
        readings: dict[str, Value] = {}
        for parameter in self._camera.parameters:
            if not parameter.writable:
                try:
                    readings[parameter.name] = self._camera.read(parameter.name)
                except Exception as error:  # a missing temperature ends no series
                    log.warning("%s: %s cannot be read: %s", self._name, parameter.name, error)
        if readings != self.readings:
            self.readings = readings
            self._changed()

    def _describe(self) -> Description:
        camera = self._camera
        return Description(
            camera=self._name,
            parameters=camera.parameters,
            trigger_modes=camera.trigger_modes,
            limits=dict(camera.limits()),
            values=dict(self._values),
            readout_time=camera.readout_time(),
            index_source=camera.index_source,
            data_endpoint=self._data_endpoint,
            streamer_pid=os.getpid(),
        )
