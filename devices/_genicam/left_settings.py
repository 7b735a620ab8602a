"""What was set by SetFeature, and a camera has lost that was switched off and on.

Arm sets what the attributes of every camera claim. What SetFeature has set nobody sets again: a series
without it is refused, since a binning that has gone is seen in no picture.
"""

from __future__ import annotations

from penstock.devices._genicam.features import Features
from penstock.streamer.camera.settings import Value
from penstock.streamer.camera.unit import CameraError


class LeftSettings:
    """The features of one camera that this process has set."""

    def __init__(self) -> None:
        self._values: dict[str, Value | None] = {}
        """Values as they were read after the last one was set: one may change another."""
        self._lost: dict[str, str] = {}
        """Features that have another value since, in words."""

    def have_been_set(self, name: str, features: Features) -> None:
        """Note a feature that was set, or a command, after which all may be different."""
        self._lost.pop(name, None)
        names = dict.fromkeys((*self._values, name))
        self._values = {each: _value(features, each) for each in names if each not in self._lost}

    def compare(self, features: Features) -> None:
        """Find those that a camera has lost which has been opened again."""
        for name, was in self._values.items():
            now = _value(features, name)
            if was is not None and now != was:
                self._lost[name] = f"{name} was {was}, is {'not there' if now is None else now}"
        self._values = {name: was for name, was in self._values.items() if name not in self._lost}

    def sentence(self, camera: str) -> str:
        """Return what is lost, and what to do; "" if nothing is.

        Args:
            camera: its name.
        """
        if not self._lost:
            return ""
        return (
            f"camera {camera} was switched off and has lost settings: {', '.join(self._lost.values())}; set "
            "again what you need, or the value that it has now, by SetFeature or the attribute"
        )


def _value(features: Features, name: str) -> Value | None:
    try:
        return features.get(name).value
    except CameraError:
        return None
