"""The HTTP server against clients that begin a request and never end it."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from penstock.receiver.client import ReceiverClient
from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.http import server
from penstock.service import server as service_server
from tests.receiver.conftest import Shared

PARTS = {
    "half a head": b"GET /status HT",
    "half a body": b"POST /stop HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{",
    "nothing": b"",
    "half a second request": b"GET /received_frames HTTP/1.1\r\nHost: x\r\n\r\nGET /sta",
}


def connect(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10.0)


def test_others_are_answered_while_three_hundred_requests_are_never_ended(shared: Shared) -> None:
    receiver = shared.receiver
    held = [connect(receiver.client.url) for _ in range(300)]
    try:
        for number, one in enumerate(held):
            one.sendall(list(PARTS.values())[number % 4])
        for _ in range(5):
            assert receiver.client.status().state == "idle"
    finally:
        for one in held:
            one.close()


def test_a_body_that_is_said_to_be_too_large_is_refused_before_it_comes(shared: Shared) -> None:
    receiver = shared.receiver
    for length in (b"99999999999", b"9" * 19, b"9" * 20):  # of more digits the server itself refuses
        with connect(receiver.client.url) as one:
            one.sendall(
                b"POST /series/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: " + length + b"\r\n\r\n"
            )
            assert one.recv(4096).startswith(b"HTTP/1.1 413 "), length


async def _is_closed(part: bytes, url: str) -> bool:
    reader, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
    writer.write(part)
    await writer.drain()
    try:
        await asyncio.wait_for(reader.read(), 10.0)
    except TimeoutError:
        return False
    finally:
        writer.close()
    return True


@pytest.mark.slow
def test_a_request_that_is_never_ended_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_server, "REQUEST_SECONDS", 0.3)
    config = ReceiverConfig(source=SourceConfig(endpoints=("tcp://127.0.0.1:1",)), data_root=str(tmp_path))
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    async def run() -> None:
        ready = asyncio.Event()
        serving = server.make("sim-1", config, ready.set)
        task = asyncio.create_task(serving.serve(sockets=[listener]))
        await asyncio.wait_for(ready.wait(), 20.0)
        closed = await asyncio.gather(*(_is_closed(part, url) for part in PARTS.values()))
        assert dict(zip(PARTS, closed, strict=True)) == dict.fromkeys(PARTS, True)
        # A request that waits for its answer is complete: it may take longer.
        client = ReceiverClient(url, timeout=5.0)
        status = await asyncio.to_thread(client.status)
        await asyncio.to_thread(client.status, seen=status.version, wait=1.0)
        serving.should_exit = True
        await task

    asyncio.run(run())
