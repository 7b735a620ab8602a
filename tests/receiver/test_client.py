"""The client: every call answers or raises a sentence within its time."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import SeriesCheck

CALLS: dict[str, Callable[[ReceiverClient], object]] = {
    "status": lambda client: client.status(),
    "long poll": lambda client: client.status(seen=1, wait=0.1),
    "check": lambda client: client.check(SeriesCheck(filename="")),
    "stop": lambda client: client.stop("why"),
    "reset": lambda client: client.reset(),
    "last_frame": lambda client: client.last_frame(),
    "frame": lambda client: client.frame(3, wait=0.1),
    "picture": lambda client: client.picture(wait=0.1),
    "downsample": lambda client: client.downsample(),
    "set_downsample": lambda client: client.set_downsample(2),
}


class Answers:
    """A server that gives the same answer to everything."""

    def __init__(
        self, status: int, body: bytes, delay: threading.Event | None = None, **headers: str
    ) -> None:
        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                if delay is not None:
                    delay.wait(10.0)
                with contextlib.suppress(BrokenPipeError):  # the client has given up
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    for name, value in headers.items():
                        self.send_header(name.replace("_", "-"), value)
                    self.end_headers()
                    self.wfile.write(body)

            do_GET = do_POST = _answer

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10.0)


@pytest.fixture
def answers() -> Iterator[Callable[..., ReceiverClient]]:
    """A client of a server that gives this answer."""
    servers: list[Answers] = []

    def serve(
        status: int, body: bytes, delay: threading.Event | None = None, **headers: str
    ) -> ReceiverClient:
        servers.append(Answers(status, body, delay, **headers))
        return ReceiverClient(servers[-1].url, timeout=1.0)

    yield serve
    for server in servers:
        server.close()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_where_nobody_listens_the_receiver_is_unavailable(call: Callable[[ReceiverClient], object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ReceiverUnavailable, match=f"127.0.0.1:{port} does not answer .* `penstock receiver`"):
        call(ReceiverClient(f"http://127.0.0.1:{port}", timeout=0.5))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_where_somebody_listens_and_never_answers_the_time_is_bounded(
    call: Callable[[ReceiverClient], object],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = ReceiverClient(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.2)
        began = time.monotonic()
        with pytest.raises(ReceiverUnavailable, match=r"within 0\.2 s"):
            call(client)
        assert time.monotonic() - began < 2.0


def test_a_host_that_is_no_name_is_unavailable() -> None:
    with pytest.raises(ReceiverUnavailable):
        ReceiverClient("http://no-such-host.invalid:5000", timeout=1.0).status()


@pytest.mark.parametrize("call", [CALLS["status"], CALLS["check"], CALLS["downsample"], CALLS["last_frame"]])
@pytest.mark.parametrize("body", [b"<html>It works!</html>", b"[]", b'{"value": "x"}', b"\xff\xfe", b""])
def test_a_foreign_server_is_not_taken_for_a_receiver(
    call: Callable[[ReceiverClient], object], body: bytes, answers: Callable[..., ReceiverClient]
) -> None:
    with pytest.raises(ReceiverUnavailable, match="not as a Penstock receiver .* is the address right"):
        call(answers(200, body))


@pytest.mark.parametrize(
    "header",
    [
        "it works", "[]", "{}", '{"dtype": "uint16"}', '{"dtype": "picture", "shape": [1]}',
        '{"dtype": "uint16", "shape": [100000, 50000], "frame": 0}',
        '{"dtype": "uint16", "shape": [1], "frame": "first"}',
    ],
)  # fmt: skip
def test_a_frame_that_is_not_what_its_header_says_is_refused(
    header: str, answers: Callable[..., ReceiverClient]
) -> None:
    client = answers(200, b"\0\0", X_Penstock_Frame=header)
    with pytest.raises(ReceiverUnavailable, match="header X-Penstock-Frame"):
        client.last_frame()


def test_a_refusal_keeps_its_kind_and_its_sentence(answers: Callable[..., ReceiverClient]) -> None:
    client = answers(409, b'{"kind": "busy", "message": "it is busy"}')
    with pytest.raises(ReceiverRefused, match="^it is busy$") as caught:
        client.check(SeriesCheck(filename=""))
    assert caught.value.kind == "busy"


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_an_error_without_a_refusal_says_what_was_asked_and_answered(
    status: int, answers: Callable[..., ReceiverClient]
) -> None:
    with pytest.raises(
        ReceiverRefused, match=f"answered GET /status with HTTP {status}; is this the address"
    ) as caught:
        answers(status, b"<html>").status()
    assert caught.value.kind == "http_error"


def test_a_server_that_hangs_in_its_answer_does_not_hang_the_client(
    answers: Callable[..., ReceiverClient],
) -> None:
    release = threading.Event()
    client = answers(200, b"{}", release)
    began = time.monotonic()
    try:
        with pytest.raises(ReceiverUnavailable):
            client.status()
        assert time.monotonic() - began < 5.0
    finally:
        release.set()


def test_a_closed_client_leaves_no_connection_not_even_of_a_call_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BaseHTTPRequestHandler, "protocol_version", "HTTP/1.1")  # so that they are kept
    delay = threading.Event()
    with contextlib.closing(Answers(200, b"{}", delay, X="1")) as server:
        client = ReceiverClient(server.url, timeout=10.0)
        call = threading.Thread(target=client.reset)
        call.start()
        _until(lambda: _connections_to(server.url) == 1)
        client.close()
        delay.set()
        call.join()
        _until(lambda: _connections_to(server.url) == 0)
        with pytest.raises(ReceiverUnavailable, match="was closed"):
            client.reset()
        assert _connections_to(server.url) == 0


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def _connections_to(url: str) -> int:
    """Connections that this process has made to the server and not closed."""
    port = f":{int(url.rpartition(':')[2]):04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[2].endswith(port) and line[3] in ("01", "08") for line in lines)
