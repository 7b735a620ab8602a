"""The parameters of one camera: last settings, last readings, and its description."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping
from threading import Lock

from penstock.streamer.camera.checks import check_values
from penstock.streamer.camera.clock import Clock
from penstock.streamer.camera.driver import Description
from penstock.streamer.camera.own_stream import BoxLost, StreamingDetector
from penstock.streamer.camera.settings import Parameter, Value
from penstock.streamer.camera.unit import NotAsked, Unit

log = logging.getLogger(__name__)

READ_EVERY = 1.0
"""Seconds between two readings of temperatures and the like, in every state."""
READINGS_HOLD = 5.0
"""Seconds after which a reading is no longer shown if it could not be repeated."""


class Parameters:
    """The parameters of an open camera.

    Methods are called by the camera's thread only; any thread may read `readings` and `description`, which
    are replaced as a whole.

    Args:
        camera: the camera, which is only read here.
        data_endpoint: endpoint of its frames, for the description.
        clock: clock for the age of readings.
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
        self._shown: tuple[Parameter, ...] = ()
        self._lock = Lock()
        """Held while the camera is read."""
        self._read_at = -math.inf
        self.trouble = ""
        """What the camera says of itself; see `Unit.trouble`."""
        if not isinstance(camera, StreamingDetector):  # its box has not been reached yet
            self._shown = camera.shown()
            self._values = {p.name: p.default for p in camera.parameters if p.writable}
            self.read()
        self.description = self._describe()
        """The camera's description with its last settings."""

    @property
    def readings(self) -> dict[str, Value]:
        """Values of read-only parameters that could be read in the last seconds."""
        old = self._clock.monotonic() - self._read_at > READINGS_HOLD
        return {} if old else self._readings

    def merged(self, values: Mapping[str, object]) -> dict[str, Value]:
        """Return all writable parameters, with these values replacing earlier ones.

        Raises:
            Refused: one of the values is not possible.
        """
        return self._values | check_values(values, self._camera.parameters, self.description.limits)

    def have_been_set(self, values: dict[str, Value]) -> None:
        """Take values that the camera has accepted; its limits may have changed."""
        self._values = values
        self.description = self._describe()

    def refresh_description(self) -> None:
        """Describe and read the camera again, after something was set that is none of its parameters."""
        self.description = self._describe()
        self.read()

    def refresh(self) -> float:
        """Read if it is due; return when the next reading is due."""
        if self._clock.monotonic() - self._read_at >= READ_EVERY:
            self.read()
        return self._read_at + READ_EVERY

    def read(self) -> None:
        """Read the read-only parameters; those that fail are left out."""
        with self._lock:
            self._read()

    def _read(self) -> None:
        readings: dict[str, Value] = {}
        for parameter in (*self._camera.parameters, *self._shown):
            if not parameter.writable or parameter in self._shown:
                try:
                    readings[parameter.name] = self._camera.read(parameter.name)
                except NotAsked:
                    continue
                except Exception as error:  # a missing temperature ends no series
                    if parameter.name not in self._failed:  # log it once, for models that lack the reading
                        log.warning("%s: %s cannot be read: %s", self._name, parameter.name, error)
                    self._failed.add(parameter.name)
                    if isinstance(error, BoxLost):
                        break  # the others would wait as long; the watcher decides whether the box is lost
                else:
                    self._failed.discard(parameter.name)
        before = self.readings, self.trouble
        self._readings, self._read_at = readings, self._clock.monotonic()
        self.trouble = self._camera.trouble()
        if (readings, self.trouble) != before:
            self._changed()

    def read_again(self, name: str) -> None:
        """Read one read-only parameter at once: it follows from a setting."""
        with self._lock:
            try:
                self._readings = self._readings | {name: self._camera.read(name)}
            except Exception as error:  # it is read with the others soon
                log.debug("%s: %s cannot be read: %s", self._name, name, error)
        self._changed()

    def _describe(self) -> Description:
        camera = self._camera
        self._shown = camera.shown()
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
            shown=self._shown,
            own_stream=isinstance(camera, StreamingDetector),
        )
