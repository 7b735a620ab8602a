"""Access to the features of a camera's own, in the states in which there is one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from penstock.devices._series.control import SeriesControl
from penstock.devices._series.machine.states import ACTIVE, SeriesState
from penstock.devices._series.refusals import ArmRefused
from penstock.streamer.camera.settings import Value
from penstock.streamer.remote.client import Description, Feature

READ_WITHIN = 2.0
"""Seconds within which the streamer's status has a value that was set: it reads all once per second."""
ValueT = TypeVar("ValueT")


class FeatureAccess:
    """The features of one device's camera.

    Args:
        control: control of its series.
        changed: called with the camera's description after a feature was set: limits may have changed.
    """

    def __init__(self, control: SeriesControl, changed: Callable[[Description], None]) -> None:
        self._control = control
        self._changed = changed
        self._just_set: dict[str, tuple[Value, float]] = {}
        """What the camera has made of a value, and until when that is newer than what was read."""

    def list(self) -> list[Feature]:
        """Return all features.

        Raises:
            ArmRefused: a series is running, or there is no streamer; likewise `get`.
            StreamerRefused: the camera refuses; likewise the other methods.
        """
        self._refuse_in_series()
        return self._control.streamer.list_features()

    def get(self, name: str) -> Feature:
        """Return one feature."""
        self._refuse_in_series()
        return self._control.streamer.get_feature(name)

    def set(self, name: str, value: Value) -> Feature:
        """Set one feature, or execute a command; return what the camera has made of it.

        Raises:
            ArmRefused: the state is not ON.
        """
        self._refuse_in_series()
        if self._control.view.state is not SeriesState.IDLE:
            sentence = self._control.view.sentence
            raise ArmRefused("not_idle", f"{name} can be set only in the state ON; now: {sentence}")
        streamer = self._control.streamer
        feature = streamer.set_feature(name, value)
        if feature.value is not None:
            self._just_set[name] = feature.value, time.monotonic() + READ_WITHIN
        self._changed(streamer.describe())
        return feature

    def newest(self, name: str, read: ValueT) -> Value | ValueT:
        """Return the value of a feature: what was set just now, or else what the streamer has read."""
        just_set, until = self._just_set.get(name, (read, 0.0))
        return just_set if time.monotonic() < until else read

    def _refuse_in_series(self) -> None:
        view = self._control.view
        if view.state in ACTIVE:
            raise ArmRefused(
                "running",
                "features of the camera can be read and set when no series is running; call Stop or wait for "
                f"State ON; now: {view.sentence}",
            )
