"""The client of a light streamer on a PILATUS3's control unit: blocking, for any thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.streamer.remote import light_protocol as protocol
from penstock.streamer.remote.light_protocol import LightDescription, LightStatus
from penstock.streamer.remote.request_client import RequestClient, StreamerRefused, StreamerUnavailable

__all__ = ["LightClient", "LightDescription", "LightRefused", "LightStatus", "LightUnavailable"]


class LightUnavailable(StreamerUnavailable):
    """No answer in time: the light streamer is not running, not reachable, or of another version."""


class LightRefused(StreamerRefused):
    """The light streamer refused the request; `kind` is for programs, `message` for people."""


class LightClient:
    """A client of one light streamer; its methods may be called from several threads at the same time.

    Args:
        control: the light streamer's control endpoint, such as "tcp://pilatus:9998".
        timeout: seconds that each call waits for its answer.

    Every method raises:
        LightUnavailable: no answer in time.
        LightRefused: refused, nothing changed.
    """

    def __init__(self, control: str, timeout: float = 2.0) -> None:
        self.control = control
        self._requests = RequestClient(control, timeout, "light streamer", LightUnavailable, LightRefused)

    def describe(self) -> LightDescription:
        """Return what runs on the control unit.

        Raises:
            LightUnavailable: also if its version is not that of this client.
        """
        found = self._requests.ask(protocol.Describe(id=self._id()), LightDescription)
        if found.version.partition(".")[0] != str(protocol.VERSION):
            raise LightUnavailable(
                f"the light streamer at {self.control} has version {found.version}; {protocol.VERSION} is "
                f"needed: copy this Penstock's streamer/light_streamer.py to {found.host}"
            )
        return found

    def status(self) -> LightStatus:
        """Return a snapshot."""
        return self._requests.ask(protocol.Status(id=self._id()), LightStatus)

    def begin(
        self,
        series: str,
        prefix: str,
        header: Mapping[str, Any],
        metadata: Mapping[str, Any],
        *,
        image: Mapping[str, Any],
        planned: int = 0,
        first: int = 0,
        frames_per_trigger: int = 1,
        receiver_away: int = 0,
    ) -> LightStatus:
        """Remove files of earlier series, and send the start message; arguments as in
        `light_protocol.Begin`.

        It takes up to 0.7 s if the receiver is busy.
        """
        begin = protocol.Begin(
            id=self._id(), series=series, prefix=prefix, header=header, metadata=metadata, image=image,
            planned=planned, first=first, frames_per_trigger=frames_per_trigger, receiver_away=receiver_away,
        )  # fmt: skip
        return self._requests.ask(begin, LightStatus)

    def finish(
        self, series: str, reason: str = "complete", message: str = "", *, triggered: int | None = None
    ) -> LightStatus:
        """Let the series end once all its frames are sent; return at once.

        Args:
            reason: "complete", "stop" or "fault".
            message: one sentence for the file.
            triggered: frames that were triggered; missing ones are waited for, and counted as lost then.
        """
        finish = protocol.Finish(
            id=self._id(), series=series, reason=reason, message=message, triggered=triggered
        )
        return self._requests.ask(finish, LightStatus)

    def abort(self, series: str, message: str = "") -> LightStatus:
        """End the series as soon as the files of what waits are removed; return at once."""
        return self._requests.ask(protocol.Abort(id=self._id(), series=series, message=message), LightStatus)

    def cancel(self, series: str, message: str = "") -> LightStatus:
        """End a series of which no file has appeared."""
        return self._requests.ask(protocol.Cancel(id=self._id(), series=series, message=message), LightStatus)

    def reset(self) -> LightStatus:
        """Leave the state fault, and remove files of earlier series; a running series is aborted."""
        return self._requests.ask(protocol.Reset(id=self._id()), LightStatus)

    def shutdown(self) -> None:
        """End the process; a running series ends as a fault."""
        self._requests.ask(protocol.Shutdown(id=self._id()), LightStatus)

    def close(self) -> None:
        """End the calls under way, and close the sockets."""
        self._requests.close()
        self._requests.destroy()

    def _id(self) -> int:
        return self._requests.next_id()
