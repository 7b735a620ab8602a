"""Features: the settings of one camera that its model does not declare, since each camera has its own.

A unit that has them derives from `HasFeatures` beside `Camera`; its Tango device then has the commands
ListFeatures, GetFeature and SetFeature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from penstock.streamer.camera.settings import Limits, Value

KINDS = ("integer", "float", "boolean", "string", "enumeration", "command")


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """One feature as the camera has it now."""

    name: str
    kind: str
    """One of `KINDS`."""
    value: Value | None = None
    """`None` if it cannot be read now, or is a command."""
    writable: bool = False
    set_by: str = ""
    """The attribute that sets it in its place, or what else does; "" if `set_feature` does."""
    unit: str = ""
    limits: Limits = Limits()
    choices: tuple[str, ...] = ()
    doc: str = ""
    group: str = ""
    """Category in the camera's own description."""


class HasFeatures(ABC):
    """A unit with features of its own. Methods are called between series, by the thread of `prepare`."""

    @abstractmethod
    def list_features(self) -> Sequence[Feature]:
        """Return all features that the camera has now, in its own order."""

    @abstractmethod
    def get_feature(self, name: str) -> Feature:
        """Return one feature.

        Raises:
            CameraError: the camera has no such feature.
        """

    @abstractmethod
    def set_feature(self, name: str, value: Value) -> Feature:
        """Set a feature, or execute a command; return what the camera has made of it.

        Args:
            name: its name.
            value: of its type, or as text; "" for a command.

        Raises:
            CameraError: there is no such feature, an attribute sets it, or the camera refuses the value.
        """
