"""What a model needs of a device: `link.TangoDevice` is the real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.gui.model.attributes.attribute import Attribute, Value


class DeviceRefused(Exception):
    """The device, or Tango, refused a call; the sentence is the device's own."""


@dataclass(frozen=True, kw_only=True)
class Greeting:
    """A device that has just been reached, as it was then."""

    attributes: Sequence[Attribute]
    """In panel order."""
    receiver_url: str
    """Its property ReceiverUrl, of a pipeline's device PipelineUrl; "" where none is set."""
    control_url: str = ""
    """Its property ControlUrl; "" where none is set, and of other devices than detectors."""
    values: Mapping[str, Value | None] = field(default_factory=dict)
    """Values of every attribute, State and Status too; `None`: without a valid value."""


class Listener(Protocol):
    """Receives the device's changes, in the device's own threads."""

    def reached(self, greeting: Greeting) -> None:
        """The device has been reached; `greeting` is what it said."""

    def said(self, values: Mapping[str, Value | None]) -> None:
        """Attributes as they are now, State and Status too; `None`: without a valid value."""

    def configured(self, attribute: Attribute) -> None:
        """The configuration of an attribute, such as its limits, has changed."""

    def away(self, why: str) -> None:
        """It cannot be reached, and why, in a sentence; said again whenever the reason changes."""


class Device(Protocol):
    """Follows a device until it is stopped, even if the device disappears and returns."""

    def start(self, listener: Listener) -> None:
        """Begin to follow."""

    def stop(self) -> None:
        """Release the device; returns within a second or two."""

    def write(self, name: str, value: Value) -> Value | None:
        """Write an attribute and read it back in the same call.

        Raises:
            DeviceRefused: and why.
        """

    def command(self, name: str) -> str:
        """Call a command that takes nothing; what it answers, "" for nothing.

        Raises:
            DeviceRefused: and why.
        """
