"""The REST interface: paths and their calls, JSON in both directions, errors as SIMPLON answers them.

Paths: SIMPLON API 1.8, "General Usage"; the lists `keys` are as fastcs-eiger reads them. Paths under
`/simulator` are the simulator's own.
"""

from __future__ import annotations

import base64
import json
import logging
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import numpy as np

from penstock.codecs import bslz4
from penstock.streamer.simplon.box import Box, Refused
from penstock.streamer.simplon.faults import Faults
from penstock.streamer.simplon.keys import UNLISTED
from penstock.streamer.simplon.settings import now
from penstock.streamer.triggers import Edge

log = logging.getLogger(__name__)

JSON, TIFF = "application/json", "application/tiff"
CHANGE_STATES = ("na", "idle", "error")
"""States in which a detector's configuration can be set."""


class Server(ThreadingHTTPServer):
    """A server with one thread per connection, since calls block."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    """fastcs-eiger reads all keys at once, each over a connection of its own."""

    def __init__(
        self, address: tuple[str, int], box: Box, api: str, power: Callable[[bool], None] | None = None
    ) -> None:
        self.box, self.api, self.power = box, api, power
        self._connections: set[socket.socket] = set()
        super().__init__(address, Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def drop_connections(self) -> None:
        """Close the clients' connections, as a power failure does."""
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log broken connections only for debugging: they are the client's doing."""
        log.debug("connection of %s broke off", client_address, exc_info=True)


class Failure(Exception):
    """An HTTP status and its sentence."""


class Handler(BaseHTTPRequestHandler):
    """The requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # head and body in one segment: otherwise the second waits for an acknowledgement
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        """Read a key or a list of keys."""
        self._answer(self._get)

    def do_PUT(self) -> None:
        """Set a key, or execute a command."""
        self._answer(self._put)

    def do_POST(self) -> None:
        """Execute a command of the simulator itself."""
        self._answer(self._put)

    def log_message(self, format: str, *args: Any) -> None:
        """Log one line per request."""
        log.debug("%s %s", self.address_string(), format % args)

    def _answer(self, call: Callable[[list[str], Any], Any]) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = [part for part in self.path.partition("?")[0].split("/") if part]
        status, kind = 200, JSON
        try:
            plain = "/".join([*path[:1], *path[3:]])
            if wrong := self.server.box.faults.errors.get(plain):
                raise Failure(wrong, f"fault on request: {plain}")
            value = json.loads(body) if body else None
            answer = call(path, value)
            kind = TIFF if isinstance(answer, bytes) else JSON
            payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        except Failure as error:
            status, kind, payload = error.args[0], "text/plain", str(error.args[1]).encode()
        except KeyError as error:
            status, kind, payload = 404, "text/plain", f"no such key: {error}".encode()
        except PermissionError as error:
            status, kind, payload = 403, "text/plain", str(error).encode()
        except (ValueError, TypeError, Refused, msgspec.ValidationError) as error:
            status, kind, payload = 400, "text/plain", str(error).encode()
        if self.command != "GET" or status != 200:
            log.info(
                "%s %s %.80s -> %d %.200s", self.command, self.path, body.decode("latin-1"), status, payload
            )
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def _get(self, path: list[str], _: Any) -> Any:
        box = self.server.box
        if path == ["simulator", "faults"]:
            return msgspec.to_builtins(box.faults)
        subsystem, section, name = self._split(path)
        if section == "version":
            return {"value": self.server.api, "value_type": "string"}
        if (subsystem, section) == ("monitor", "images"):
            return self._image()
        if section == "command":
            return sorted(
                ("initialize", "arm", "disarm", "trigger", "cancel", "abort", "status_update", "hv_reset")
            )
        if subsystem == "filewriter" and section == "files":
            return box.settings.get("filewriter", "status", "files")
        with box.settings.lock:
            found = box.settings.of[subsystem, section]
            tables = box.settings.tables if (subsystem, section) == ("detector", "config") else {}
            if name in ("", "keys"):
                return sorted({*found, *tables} - UNLISTED.get((subsystem, section), set()))
            if name in tables:
                return _encoded(tables[name])
            if name == "time":
                found[name].value = now()
            return found[name].answer()

    def _put(self, path: list[str], body: Any) -> Any:
        box = self.server.box
        if path[:1] == ["simulator"]:
            return self._simulator(path[1:], body)
        subsystem, section, name = self._split(path)
        value = body.get("value") if isinstance(body, dict) else None
        if section == "command":
            if subsystem == "detector":
                return box.command(name, value)
            if name in ("initialize", "clear"):
                return {}
            raise KeyError(name)
        if section != "config":
            raise PermissionError(f"{'/'.join(path)} is read-only")
        if subsystem == "detector" and box.settings.state not in CHANGE_STATES:
            raise Failure(403, f"the configuration cannot be set in state {box.settings.state}")
        if value is None:
            raise ValueError('the body must be {"value": …}')
        begun = time.monotonic()
        while time.monotonic() - begun < box.faults.slow_put:  # it may be changed meanwhile
            time.sleep(0.01)
        if isinstance(value, dict):
            value = _decoded(value)
        changed = set(box.settings.put(subsystem, name, value))
        if subsystem == "detector":
            more, box.faults.changed = box.faults.changed, {}
            for other, changed_value in more.items():
                changed |= set(box.settings.put("detector", other, changed_value))
        return sorted(changed)

    def _split(self, path: list[str]) -> tuple[str, str, str]:
        """Return subsystem, section and key.

        Raises:
            Failure: another version, as a real control unit refuses it.
            KeyError: no such path.
        """
        if len(path) < 3 or path[1] != "api":
            raise KeyError(self.path)
        if path[2] == "version":
            return path[0], "version", ""
        if path[2] != self.server.api:
            raise Failure(400, f"Incompatible version {path[2]}; this is {self.server.api}")
        if len(path) < 4:
            raise KeyError(self.path)
        return path[0], path[3], "/".join(path[4:])

    def _simulator(self, path: list[str], body: Any) -> Any:
        box = self.server.box
        match path:
            case ["faults"]:
                box.faults = msgspec.convert(body or {}, Faults)
                return msgspec.to_builtins(box.faults)
            case ["trigger"]:
                edge = Edge(counter=0, moment=time.monotonic(), gate=float((body or {}).get("gate", 0.0)))
                return {"taken": box.edge(edge)}
            case ["arm"]:
                return box.command("arm")
            case ["power"]:
                if not isinstance(body, dict) or not isinstance(body.get("on"), bool):
                    raise ValueError('the body must be {"on": true} or {"on": false}')
                if self.server.power is None:
                    raise KeyError("the power can only be switched at the simulator's own port")
                self.server.power(body["on"])
                return {}
        raise KeyError(self.path)

    def _image(self) -> bytes:
        """Return the latest image as TIFF; if there is none, 408, as of a real box after its time-out."""
        from fabio.tifimage import TifImage

        picture = self.server.box.latest
        if picture is None:
            raise Failure(408, "no image in the monitor's buffer")
        pixels = picture.shape[0] * picture.shape[1]
        kind = np.dtype(picture.dtype)
        plain = (
            bslz4.decompress(picture.blobs[0], pixels, kind)
            if picture.compression == "bslz4" else np.frombuffer(picture.blobs[0], kind)
        )  # fmt: skip
        image = plain.reshape(picture.shape)
        with tempfile.NamedTemporaryFile(suffix=".tif") as file:
            TifImage(data=image).write(file.name)
            return file.read()


def _encoded(table: np.ndarray) -> dict[str, Any]:
    """Return an array in SIMPLON's form, `darray`: base64 of little-endian pixels (Lima-camera-eiger)."""
    data = base64.b64encode(table.astype(table.dtype.newbyteorder("<")).tobytes()).decode()
    value = {
        "__darray__": [1, 0, 0], "type": table.dtype.newbyteorder("<").str, "shape": list(table.shape)[::-1],
        "filters": ["base64"], "data": data,
    }  # fmt: skip
    return {"value": value, "value_type": "darray", "access_mode": "rw"}


def _decoded(value: dict[str, Any]) -> np.ndarray:
    try:
        data = np.frombuffer(base64.b64decode(value["data"]), np.dtype(value["type"]))
        return data.reshape(value["shape"][::-1])
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a darray: {error}") from error
