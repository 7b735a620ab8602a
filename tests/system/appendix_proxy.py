"""A go-between for simulated EIGERs that do not send their `header_appendix`: it does so for them.

HTTP passes through unchanged; the appendix that was there when arm came is the last part of the start message
(stream V1), or its `user_data` (V2). A message in which the simulator has joined several is taken apart.
"""

from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import cbor2
import zmq

STREAM = "/stream/api/1.8.0/config/header_appendix"
ARM = "/detector/api/1.8.0/command/arm"
V2_TAG = 55799


class AppendixProxy(ThreadingHTTPServer):
    """See the module; `http_port` and `stream_port` are for the device and the receiver."""

    daemon_threads = True

    def __init__(self, http_port: int, stream_port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.unit_port = http_port
        self.http_port = self.server_port
        self.written = ""
        self.armed: list[str] = []
        self.starts = self.images = 0
        """Messages of these kinds that have come."""
        self._context = zmq.Context()
        self._pull, self._push = self._context.socket(zmq.PULL), self._context.socket(zmq.PUSH)
        self._pull.connect(f"tcp://127.0.0.1:{stream_port}")
        self.stream_port = self._push.bind_to_random_port("tcp://127.0.0.1")
        self._stop = threading.Event()
        self._workers = [
            threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True),
            threading.Thread(target=self._forward, daemon=True),
        ]

    def __enter__(self) -> AppendixProxy:
        for thread in self._workers:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.shutdown()
        self.server_close()
        for thread in self._workers:
            thread.join(10.0)
        self._pull.close(0)
        self._push.close(0)
        self._context.term()

    def _forward(self) -> None:
        while not self._stop.is_set():
            if self._pull.poll(100):
                for message in _taken_apart(self._pull.recv_multipart()):
                    self._push.send_multipart(self._with_appendix(message))

    def _with_appendix(self, message: list[bytes]) -> list[bytes]:
        if _v1(message[0], "dheader-"):
            self.starts += 1
            return [*message, self.armed.pop(0).encode()]
        if message[0][:1] == b"{" or len(message) > 1:
            self.images += _v1(message[0], "dimage-")
            return message
        content: Any = cbor2.loads(message[0])
        if isinstance(content, cbor2.CBORTag):
            content = content.value
        if content.get("type") != "start":
            self.images += content.get("type") == "image"
            return message
        self.starts += 1
        # The rest stays as it is, byte for byte: only the map grows by one pair.
        return [_grown(message[0], "user_data", self.armed.pop(0))]


def _grown(encoded: bytes, key: str, value: str) -> bytes:
    """An encoded map, behind its tag, with one pair more."""
    head = cbor2.dumps(cbor2.CBORTag(V2_TAG, None))[:3]
    at = len(head) if encoded.startswith(head) else 0
    pairs, size = encoded[at] & 0x1F, 1
    if pairs == 24:
        pairs, size = encoded[at + 1], 2
    assert encoded[at] >> 5 == 5 and pairs < 255, "a map of fewer than 255 pairs"
    return (
        encoded[:at] + bytes([0xB8, pairs + 1]) + encoded[at + size :] + cbor2.dumps(key) + cbor2.dumps(value)
    )


def _taken_apart(parts: list[bytes]) -> list[list[bytes]]:
    """Messages that were joined: V1 begins each with a part of its own kind, V2 has one part each."""
    if parts[0][:1] != b"{":
        return [[part] for part in parts]
    messages: list[list[bytes]] = []
    for part in parts:
        if any(_v1(part, kind) for kind in ("dheader-", "dimage-", "dseries_end-")):
            messages.append([])
        messages[-1].append(part)
    return messages


def _v1(part: bytes, kind: str) -> bool:
    if part[:1] != b"{" or len(part) > 100_000:
        return False
    try:
        return str(json.loads(part).get("htype", "")).startswith(kind)
    except ValueError:
        return False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: AppendixProxy

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.command == "PUT" and self.path == STREAM:
            self.server.written = json.loads(body)["value"]
        if self.path == ARM:
            self.server.armed.append(self.server.written)
        behind = http.client.HTTPConnection("127.0.0.1", self.server.unit_port)
        headers = {"Content-Type": self.headers.get("Content-Type", "application/json")}
        behind.request(self.command, self.path, body or None, headers)
        answer = behind.getresponse()
        content = answer.read()
        behind.close()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass
