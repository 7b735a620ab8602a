"""The interface of engines for the remote server: of a camera, or of a detector that streams by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Protocol, TypeVar

from penstock.streamer.features import HasFeatures
from penstock.streamer.protocol import Checked, Description, Prepared, StreamerStatus
from penstock.streamer.settings import Settings

T = TypeVar("T")


class Driver(Protocol):
    """An engine. Commands return at once, with a result or a `Future` of it; each may raise `Refused`."""

    def describe(self) -> Description:
        """Return the detector's description with its last settings."""

    def set(self, values: Mapping[str, object]) -> Future[Description]:
        """Set the detector's own parameters."""

    def check(self, settings: Settings) -> Future[Checked]:
        """Check everything that can be checked without the hardware; change nothing."""

    def with_features(self, work: Callable[[HasFeatures], T], *, changes: bool = False) -> Future[T]:
        """Let `work` use the features of the detector.

        Args:
            work: is called between series, by the thread that makes all calls of the detector.
            changes: True if it sets one.
        """

    def prepare(self, settings: Settings) -> Future[Prepared]:
        """Set the hardware up for a series; nothing is sent."""

    def announce(self) -> Future[None]:
        """Send the start message, if the streamer sends it."""

    def start(self) -> Future[None]:
        """Arm the hardware; done when triggers are taken."""

    def trigger(self) -> None:
        """Give a software trigger."""

    def stop(self, cause: str = "") -> Future[None]:
        """End the series after the running frame."""

    def abort(self, cause: str = "") -> Future[None]:
        """End the series at once."""

    def cancel(self) -> Future[None]:
        """Discard a series that has not been started."""

    def reset(self) -> Future[None] | None:
        """Leave the state fault."""

    def status(self) -> StreamerStatus:
        """Return a snapshot of the status."""

    def close(self) -> None:
        """End a running series, and release the hardware."""
