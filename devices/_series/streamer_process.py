"""The streamer that belongs to a detector device: a child process, or one on another host.

Both are used through the same `StreamerClient`; the only difference is who starts and ends the process.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from typing import Protocol

from penstock.hosts.child import (
    PYTHON,
    Child,
    ProcessFailed,
    is_taken,
    next_free_port,
    ready_line,
)
from penstock.stins.addresses import bare
from penstock.streamer.camera.settings import Value
from penstock.streamer.remote.client import StreamerClient, StreamerUnavailable
from penstock.streamer.remote.process import ReadyLine

log = logging.getLogger(__name__)

CALL_LIMIT = 1.0
"""Seconds for one call of the streamer: a Tango command must return within the client's time-out."""


class StreamerLink(Protocol):
    """The link of a device to its streamer."""

    restartable: bool
    """True if `open` replaces a hanging streamer with a new process."""

    def open(self) -> StreamerClient:
        """Start or reach the streamer; an earlier connection is closed.

        Raises:
            StreamerUnavailable: the streamer does not start or does not answer; the sentence says why.
        """

    def died(self) -> str | None:
        """Return a sentence about how the process ended; `None` while it lives, or if unknown."""

    def close(self) -> None:
        """Close the link: a child is ended (its series with an end message), a remote streamer stays."""


class ChildStreamer:
    """A streamer as a child process of the device; it ends by itself when the device's process dies.

    Args:
        camera: class name of the camera.
        properties: the camera's properties.
        data: address to bind the data socket to; "" if no frames pass through the streamer.
        options: further command line options, such as "--hwm": "8".
        device: name of the device, for messages.
    """

    restartable = True
    START_LIMIT = 20.0
    """Seconds within which it must be ready, including opening the hardware."""

    def __init__(
        self,
        camera: str,
        properties: Mapping[str, Value],
        data: str,
        options: Mapping[str, str] | None = None,
        *,
        device: str,
    ) -> None:
        self._name = f"streamer of {camera}"
        self._device = device
        self._data = data
        self._argv = [
            *PYTHON, "-m", "penstock.streamer.remote.process", camera,
            "--properties", json.dumps(dict(properties)),
            "--control", "tcp://127.0.0.1:0", "--with-parent", *(("--data", data) if data else ()),
        ]  # fmt: skip
        for option, value in (options or {}).items():
            self._argv += [option, value]
        self._lock = threading.Lock()
        self._closed = False
        self._child: Child[ReadyLine] | None = None
        self._client: StreamerClient | None = None

    def open(self) -> StreamerClient:
        """Start the streamer; see `StreamerLink`."""
        self._release()
        try:
            child = Child(
                self._name, self._argv, ready_line(ReadyLine), deadline=self.START_LIMIT, lifeline=True,
                relay=lambda line: log.info("%s: %s", self._name, line),
            )  # fmt: skip
        except ProcessFailed as error:
            raise StreamerUnavailable(self._port_taken() or str(error)) from error
        with self._lock:
            if not self._closed:
                self._child = child
                self._client = StreamerClient(child.answer.control, timeout=CALL_LIMIT)
                return self._client
        # Init was called while the child was starting: nobody else would end the child.
        child.stop()
        raise StreamerUnavailable(f"the {self._name} was closed while it was starting")

    def died(self) -> str | None:
        """See `StreamerLink`."""
        child = self._child
        return child.ended() if child is not None else None

    def close(self) -> None:
        """See `StreamerLink`."""
        self._closed = True
        self._release()

    def _port_taken(self) -> str:
        """Return a sentence about what to set if another program has the port; "" if none has."""
        address, _, port = self._data.removeprefix("tcp://").rpartition(":")
        host = bare(address)
        if not port or not int(port) or not is_taken(host, int(port)):
            return ""
        free, device = next_free_port(host, int(port)), self._device
        return (
            f"port {port} of {host}, from which frames are sent, is taken by the streamer of another device "
            f"or by another program; set the property DataPort of {device} to a free port, such as {free}, "
            f'in Jive or with tango.Database().put_device_property("{device}", {{"DataPort": ["{free}"]}}), '
            f"have the receiver's source.endpoints name the same port, and call Init"
        )

    def _release(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            child, self._child = self._child, None
        if client is not None:
            client.close()
        if child is not None:
            child.stop(patience=3.0)


class RemoteStreamer:
    """A streamer that was started on the control unit, reached at its control address."""

    restartable = False

    def __init__(self, control: str) -> None:
        self._control = control
        self._client: StreamerClient | None = None

    def open(self) -> StreamerClient:
        """Reach the streamer; see `StreamerLink`."""
        self.close()
        client = StreamerClient(self._control, timeout=CALL_LIMIT)
        try:
            client.status()
        except StreamerUnavailable:
            client.close()
            raise
        self._client = client
        return client

    def died(self) -> str | None:
        """See `StreamerLink`; unknown for a remote process, whose snapshots stop."""
        return None

    def close(self) -> None:
        """See `StreamerLink`."""
        if self._client is not None:
            self._client.close()
            self._client = None
