"""The server of the REST interface: connections, JSON in both directions, errors as SIMPLON answers them."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from penstock.streamer.simulated.simplon.box import Box, Refused
from penstock.streamer.simulated.simplon.routes import Failure, Routes

log = logging.getLogger(__name__)

JSON, TEXT, TIFF = "application/json", "text/plain", "application/tiff"


class Server(ThreadingHTTPServer):
    """A server with one thread per connection, since calls block."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    """fastcs-eiger reads all keys at once, each over a connection of its own."""

    def __init__(
        self, address: tuple[str, int], box: Box, api: str, power: Callable[[bool], None] | None = None
    ) -> None:
        self.box, self.routes = box, Routes(box, api, power)
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


class Handler(BaseHTTPRequestHandler):
    """The requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # head and body in one segment: otherwise the second waits for an acknowledgement
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        """Read a key, a list of keys, or an image."""
        self._answer(self.server.routes.get)

    def do_HEAD(self) -> None:
        """Ask whether something is there: ADEiger asks for files."""
        self._answer(self.server.routes.get)

    def do_PUT(self) -> None:
        """Set a key, or execute a command."""
        self._answer(self.server.routes.put)

    def do_POST(self) -> None:
        """Execute a command of the simulator itself."""
        self._answer(self.server.routes.put)

    def do_DELETE(self) -> None:
        """Restore the default of a table."""
        self._answer(self.server.routes.delete)

    def log_message(self, format: str, *args: Any) -> None:
        """Log one line per request."""
        log.debug("%s %s", self.address_string(), format % args)

    def _answer(self, call: Callable[[list[str], Any], Any]) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        path = [part for part in url.path.split("/") if part]
        status, kind = 200, JSON
        try:
            plain = "/".join([*path[:1], *path[3:]])
            if wrong := self.server.box.faults.errors.get(plain):
                raise Failure(wrong, f"fault on request: {plain}")
            value = json.loads(body) if body else None
            answer = call(path, parse_qs(url.query) if self.command in ("GET", "HEAD") else value)
            kind = TIFF if isinstance(answer, bytes) else JSON
            payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        except Failure as error:
            status, kind, payload = error.args[0], TEXT, str(error.args[1]).encode()
        except KeyError as error:
            status, kind, payload = 404, TEXT, f"{error} does not exist".encode()
        except PermissionError as error:
            status, kind, payload = 403, TEXT, str(error).encode()
        except (ValueError, TypeError, Refused, msgspec.ValidationError) as error:
            status, kind, payload = 400, TEXT, str(error).encode()
        if self.command not in ("GET", "HEAD") or status != 200:
            log.info(
                "%s %s %.80s -> %d %.200s", self.command, self.path, body.decode("latin-1"), status, payload
            )
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)
