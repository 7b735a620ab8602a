"""A REST client and a PULL socket of a simulated control unit."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest
import zmq

from penstock.receiver.sources.dectris_v1 import DectrisV1Source
from penstock.receiver.sources.dectris_v2 import DectrisV2Source
from penstock.streamer.simulated.simplon.control_unit import ControlUnit

SENSOR = (32, 48)


class Client:
    """REST client and PULL socket of one box."""

    def __init__(self, box: ControlUnit, api: str = "1.8.0") -> None:
        self.box, self.api = box, api
        self._context = zmq.Context()
        self.socket = self._context.socket(zmq.PULL)
        self.socket.set(zmq.RCVTIMEO, 10_000)
        self.socket.connect(box.stream_endpoint)
        assert box.wait_receivers(1, 10)
        self.call("PUT", "detector/command/initialize")

    def call(self, method: str, path: str, value: Any = None) -> Any:
        subsystem, _, rest = path.partition("/")
        url = f"http://127.0.0.1:{self.box.http_port}/{subsystem}/api/{self.api}/{rest}"
        body = None if value is None else json.dumps({"value": value}).encode()
        with urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=10) as answer:
            return json.load(answer)

    def put(self, key: str, value: Any) -> list[str]:
        return list(self.call("PUT", f"detector/config/{key}", value))

    def get(self, path: str) -> Any:
        return self.call("GET", path)["value"]

    def status_of(self, method: str, path: str, value: Any = None) -> int:
        with pytest.raises(urllib.error.HTTPError) as refused:
            self.call(method, path, value)
        refused.value.close()
        return refused.value.code

    def receive(self, messages: int) -> list[list[bytes]]:
        return [self.socket.recv_multipart() for _ in range(messages)]

    def close(self) -> None:
        self.socket.close(0)
        self._context.term()


def decoded(client: Client, messages: list[list[bytes]]) -> list[Any]:
    legacy = client.api == "1.6.0" or client.get("stream/config/format") == "legacy"
    source = DectrisV1Source() if legacy else DectrisV2Source()
    return [source.decode(parts) for parts in messages]
