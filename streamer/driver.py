"""What the remote interface drives: the engine of a camera, or that of a detector that streams by itself."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Protocol

from penstock.streamer.protocol import Checked, Description, Prepared, StreamerStatus
from penstock.streamer.settings import Settings


class Driver(Protocol):
    """Commands return at once: with their result, or with a `Future` of it. Each may raise `Refused`."""

    def describe(self) -> Description:
        """The detector as it was set last."""

    def set(self, values: Mapping[str, object]) -> Future[Description]:
        """Set parameters of the detector's own."""

    def check(self, settings: Settings) -> Future[Checked]:
        """Check everything that can be without the hardware, and change nothing."""

    def prepare(self, settings: Settings) -> Future[Prepared]:
        """Set the hardware up for a series; nothing is sent."""

    def announce(self) -> Future[None]:
        """Send the start message, where the streamer sends it."""

    def start(self) -> Future[None]:
        """Arm the hardware; done when triggers are taken."""

    def trigger(self) -> None:
        """One software trigger."""

    def stop(self, cause: str = "") -> Future[None]:
        """Finish the frame and end."""

    def abort(self, cause: str = "") -> Future[None]:
        """End at once."""

    def cancel(self) -> Future[None]:
        """Forget a series that has not been started."""

    def reset(self) -> Future[None] | None:
        """Leave fault."""

    def status(self) -> StreamerStatus:
        """Snapshot."""

    def close(self) -> None:
        """End a running series, and let go of the hardware."""
