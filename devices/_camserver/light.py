"""The light streamer beside camserver, as a part of the detector: its errors are those of a box."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import Any, TypeVar

from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.remote.light_client import (
    LightClient,
    LightRefused,
    LightStatus,
    LightUnavailable,
)

T = TypeVar("T")

BUSY = ("acquiring", "ending")
"""States in which a series is under way."""
SETTLED_WITHIN, LOOK_EVERY = 5.0, 0.02
"""Seconds in which an aborted series ends (`ABORT_PATIENCE` of the light streamer), and between two looks."""
REMOVED_WITHIN = 30.0
"""Seconds in which a full RAM disk is emptied: its files are removed before an aborted series has ended."""


class Light:
    """One light streamer; any thread may use it.

    Args:
        address: HOST:PORT of its requests.

    Every method but `close` raises:
        BoxLost: it does not answer.
        CameraError: it refuses; the sentence is its own.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._client = LightClient(f"tcp://{address}")

    def folder(self, given: str) -> str:
        """Return the folder into which camserver has to write.

        Args:
            given: the property ImageFolder; "" if it is not set.

        Raises:
            CameraError: the property names another one.
        """
        folder = self._call(self._client.describe).folder
        if given and given.rstrip("/") != folder:
            raise CameraError(
                f"the light streamer at {self.address} watches {folder}, and the property ImageFolder is "
                f"{given}; set it to the same, or leave it empty"
            )
        return folder

    def status(self) -> LightStatus:
        """Return a snapshot."""
        return self._call(self._client.status)

    def begin(self, series: str, prefix: str, header: dict[str, Any], **more: Any) -> None:
        """Send the start message; `more` as in `LightClient.begin`."""
        metadata = more.pop("metadata")
        self._call(lambda: self._client.begin(series, prefix, header, metadata, **more))

    def finish(self, series: str, reason: str, message: str, triggered: int | None) -> None:
        """Send what is in the folder, then the end message; return at once."""
        self._call(lambda: self._client.finish(series, reason, message, triggered=triggered))

    def abort(self, series: str, message: str) -> None:
        """Drop what waits, and send the end message."""
        self._call(lambda: self._client.abort(series, message))

    def reset(self) -> None:
        """End whatever series is under way, and remove files of earlier ones; return when it has ended."""
        self._call(self._client.reset)
        self.settle(REMOVED_WITHIN)

    def settle(self, within: float = SETTLED_WITHIN) -> None:
        """Wait for the end of a series that was aborted or finished: its end message may wait for a receiver.

        Args:
            within: seconds.

        Raises:
            CameraError: it does not end.
        """
        end = time.monotonic() + within
        while (status := self.status()).state in BUSY:
            if time.monotonic() > end:
                raise CameraError(
                    f"the light streamer at {self.address} is still {status.state} after "
                    f"{within:g} s ({status.message}); see its log on the control unit"
                )
            Event().wait(LOOK_EVERY)

    def close(self) -> None:
        """Close the sockets."""
        self._client.close()

    def _call(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except LightUnavailable as error:
            raise BoxLost(
                f"{error}; start the light streamer on the control unit, and check the property "
                "LightStreamer (call Init after a change); then call Reset"
            ) from error
        except LightRefused as error:
            raise CameraError(f"the light streamer at {self.address} refuses: {error.message}") from error
