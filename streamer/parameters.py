"""The parameters of one camera: as they were set last, as they were read last, and what is said of them."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping

from penstock.streamer.checks import check_values
from penstock.streamer.clock import Clock
from penstock.streamer.own_stream.contract import BoxLost, StreamingDetector
from penstock.streamer.protocol import Description
from penstock.streamer.settings import Value
from penstock.streamer.unit import Unit

log = logging.getLogger(__name__)

READ_EVERY = 1.0
"""Seconds between two readings of temperatures and the like, in every state."""
READINGS_HOLD = 5.0
"""Seconds after which a reading is not shown any more, since the camera could not be asked again."""


class Parameters:
    """What the parameters of an open camera are.

    Only the camera's thread calls it; any thread looks at `readings` and `description`, which are replaced as
    a whole.

    Args:
        camera: asked, never set.
        data_endpoint: where its frames come from; stands in the description.
        clock: says how old readings are.
        changed: called after every change of `readings`.
    """

    def __init__(self, camera: Unit, data_endpoint: str, clock: Clock, changed: Callable[[], None]) -> None:
        self._camera = camera
        self._name = type(camera).__name__
        self._data_endpoint = data_endpoint
        self._clock = clock
        self._changed = changed
        self._values: dict[str, Value] = {}
        self._readings: dict[str, Value] = {}
        self._failed: set[str] = set()
        self._read_at = -math.inf
        if not isinstance(camera, StreamingDetector):  # whose box has not been reached yet
            self._values = {p.name: p.default for p in camera.parameters if p.writable}
            self.read()
        self.description = self._describe()
        """The camera as it was set last."""

    @property
    def readings(self) -> dict[str, Value]:
        """What can only be read, as far as it could be in the last seconds."""
        old = self._clock.monotonic() - self._read_at > READINGS_HOLD
        return {} if old else self._readings

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

    def refresh(self) -> float:
        """Read when it is time to; the moment of the next time."""
        if self._clock.monotonic() - self._read_at >= READ_EVERY:
            self.read()
        return self._read_at + READ_EVERY

    def read(self) -> None:
        """Read what can only be read; what fails is left out."""
        readings: dict[str, Value] = {}
        for parameter in self._camera.parameters:
            if not parameter.writable:
                try:
                    readings[parameter.name] = self._camera.read(parameter.name)
                except Exception as error:  # a missing temperature ends no series
                    if parameter.name not in self._failed:  # a model that lacks it would fill the log
                        log.warning("%s: %s cannot be read: %s", self._name, parameter.name, error)
                    self._failed.add(parameter.name)
                    if isinstance(error, BoxLost):
                        break  # each of the others would wait as long; whether it is lost, others judge
                else:
                    self._failed.discard(parameter.name)
        before = self.readings
        self._readings, self._read_at = readings, self._clock.monotonic()
        if readings != before:
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
            own_stream=isinstance(camera, StreamingDetector),
        )
