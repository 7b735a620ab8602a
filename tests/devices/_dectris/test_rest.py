"""The client of a control unit's REST interface, against a real socket that answers what a test wants."""

from __future__ import annotations

import errno
import math
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from urllib3.exceptions import ReadTimeoutError

from penstock.devices._dectris.rest import CONNECT, Entry, NoSuchKey, Simplon
from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.unit import CameraError

DEADLINE = 10.0
STATE = "/detector/api/1.8.0/status/state"


class Server(ThreadingHTTPServer):
    """Answers each path with a status and a body; what it lacks with 404. `held` requests get none."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.locations: dict[str, str] = {}
        """Where a path is redirected to."""
        self.held = ""
        self.holding, self.release = threading.Event(), threading.Event()
        self.bodies: list[bytes] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self.bodies = self.server.bodies
        self.bodies.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        if self.path == self.server.held:
            self.server.holding.set()
            self.server.release.wait(DEADLINE)
        status, body = self.server.answers.get(self.path, (404, b'"no such path"'))
        if self.path in self.server.locations:
            status, body = 301, b"<html>moved</html>"
        self.send_response(status)
        if self.path in self.server.locations:
            self.send_header("Location", self.server.locations[self.path])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()
    thread.join(DEADLINE)


@pytest.fixture
def simplon(server: Server) -> Iterator[Simplon]:
    simplon = Simplon("127.0.0.1", server.server_port)
    simplon.version = "1.8.0"
    yield simplon
    simplon.close()


@pytest.mark.parametrize("version", ["1.6.0", "1.8.0"])
def test_the_control_unit_says_which_version_it_speaks(
    server: Server, simplon: Simplon, version: str
) -> None:
    server.answers["/detector/api/version"] = (200, b'{"value": "%s"}' % version.encode())
    assert simplon.find_version() == version


@pytest.mark.parametrize("version", ["1.6.0", "1.8.0"])
def test_one_that_does_not_say_it_is_asked_for_its_state(
    server: Server, simplon: Simplon, version: str
) -> None:
    server.answers[f"/detector/api/{version}/status/state"] = (200, b'{"value": "idle"}')
    assert simplon.find_version() == version


def test_a_version_that_is_named_is_used_whatever_the_control_unit_says(
    server: Server, simplon: Simplon
) -> None:
    server.answers["/detector/api/version"] = (200, b'{"value": "1.9.0"}')
    server.answers[STATE] = (200, b'{"value": "idle"}')
    assert simplon.find_version("1.8.0") == "1.8.0"


def test_a_version_that_is_named_and_is_none_names_the_property(simplon: Simplon) -> None:
    with pytest.raises(CameraError, match=r"ApiVersion is 1\.8, which .* does not speak: .*HTTP 404.*Clear"):
        simplon.find_version("1.8")


def test_another_version_is_refused_by_name(server: Server, simplon: Simplon) -> None:
    server.answers["/detector/api/version"] = (200, b'{"value": "1.2.0"}')
    with pytest.raises(CameraError, match=r"speaks SIMPLON 1.2.0; supported are 1.8.0 and 1.6.0"):
        simplon.find_version()


def test_something_else_at_the_address_is_no_control_unit(simplon: Simplon) -> None:
    with pytest.raises(CameraError, match="not as a DECTRIS control unit.*Host and Port"):
        simplon.find_version()


def test_a_refusal_names_address_key_value_and_the_boxs_own_words(server: Server, simplon: Simplon) -> None:
    server.answers["/detector/api/1.8.0/config/count_time"] = (400, b'"count_time  out of\\n range"')
    with pytest.raises(CameraError) as refused:
        simplon.put("detector/config/count_time", 1e9)
    said = str(refused.value)
    assert simplon.address in said and "config/count_time = 1000000000.0" in said
    assert 'HTTP 400: "count_time' in said and "range" in said


def test_an_error_of_the_server_says_what_to_do(server: Server, simplon: Simplon) -> None:
    server.answers["/detector/api/1.8.0/command/arm"] = (500, b"DAQ crashed")
    with pytest.raises(CameraError, match=r'PUT .*command/arm \(HTTP 500: "DAQ crashed"\).*web page'):
        simplon.command("arm", DEADLINE)


def test_a_key_that_it_lacks_is_told_from_other_refusals(simplon: Simplon) -> None:
    with pytest.raises(NoSuchKey, match="no such key or command: GET .*threshold/4/energy"):
        simplon.get("detector/config/threshold/4/energy")


def test_an_answer_that_cannot_be_understood_is_a_sentence(server: Server, simplon: Simplon) -> None:
    server.answers[STATE] = (200, b"<html>nginx</html>")
    with pytest.raises(CameraError, match=r"does not answer GET .* in JSON"):
        simplon.get("detector/status/state")


@pytest.mark.parametrize("unknown", ["null", '""', '"low"', "true", "[1]", "NaN", "1e999", "9" * 400])
def test_limits_that_are_unknown_are_no_limits(server: Server, simplon: Simplon, unknown: str) -> None:
    answer = f'{{"value": 5, "min": {unknown}, "max": {unknown}, "allowed_values": {unknown}}}'
    server.answers[STATE] = (200, answer.replace("[1]", '{"a": 1}').encode())
    assert simplon.get("detector/status/state") == Entry(value=5)


@pytest.mark.parametrize("path", ["/detector/api/version", "/detector/api/1.8.0/status/state"])
def test_a_redirect_at_the_version_says_where_it_leads(server: Server, simplon: Simplon, path: str) -> None:
    server.locations[path] = f"https://dcu.example{path}"
    with pytest.raises(CameraError) as refused:
        simplon.find_version()
    assert str(refused.value).startswith(
        f"{simplon.address} redirects GET {path[1:]} to https://dcu.example{path}; "
        "set the properties Host and Port to the control unit itself"
    )


def test_nobody_at_the_address_is_a_lost_box() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        simplon = Simplon("127.0.0.1", free.getsockname()[1])
        with pytest.raises(BoxLost, match="cannot be reached .*Connection refused.*switched on"):
            simplon.find_version()


def test_a_network_that_swallows_packets_is_noticed_within_the_time_to_connect() -> None:
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for other in (first, second):  # they fill the queue of a server that accepts nobody
            other.setblocking(False)
            other.connect_ex(deaf.getsockname())
        simplon = Simplon("127.0.0.1", deaf.getsockname()[1])
        began = time.monotonic()
        with pytest.raises(BoxLost, match=r"cannot be reached \(no answer\)"):
            simplon.find_version()
        assert time.monotonic() - began < 2 * CONNECT


def test_a_command_that_takes_too_long_names_its_time(server: Server, simplon: Simplon) -> None:
    server.held = "/detector/api/1.8.0/command/arm"
    with pytest.raises(BoxLost, match=r"did not answer PUT detector/api/1.8.0/command/arm within 0.2 s"):
        simplon.command("arm", 0.2)


def probe_due(port: int) -> float:
    """Seconds until the kernel probes the connection to this port; infinite where it does not.

    proc(5), /proc/net/tcp: "tr" is 2 where a keep-alive timer runs, "tm->when" its jiffies, 100 to a second.
    """
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, _, remote, state, _, timer = line.split()[:6]
        kind, _, left = timer.partition(":")
        if (int(remote.partition(":")[2], 16), state, kind) == (port, "01", "02"):
            return int(left, 16) / 100
    return math.inf


def test_a_call_that_takes_minutes_is_probed_so_that_a_power_cut_ends_it(
    server: Server, simplon: Simplon
) -> None:
    server.held = "/detector/api/1.8.0/command/arm"
    server.answers[server.held] = (200, b"{}")
    arm = threading.Thread(target=simplon.command, args=("arm", DEADLINE))
    arm.start()
    assert server.holding.wait(DEADLINE)
    assert probe_due(server.server_port) <= 4.0
    server.release.set()
    arm.join(DEADLINE)


def test_probes_that_nobody_answers_are_told_from_a_time_that_is_up(
    simplon: Simplon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def request(*_: object, **__: object) -> None:
        raise ReadTimeoutError(simplon._pool, "/", "") from TimeoutError(
            errno.ETIMEDOUT, "Connection timed out"
        )

    monkeypatch.setattr(simplon._pool, "request", request)
    with pytest.raises(BoxLost, match=r"broke off PUT .*command/arm \(Connection timed out\)"):
        simplon.command("arm", 120.0)


def test_a_box_that_hangs_up_is_said(
    simplon: Simplon, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Handler, "do_PUT", lambda handler: handler.connection.shutdown(socket.SHUT_RDWR))
    with pytest.raises(BoxLost, match=r"broke off PUT .*command/arm \(it closed the connection\)"):
        simplon.command("arm", DEADLINE)


def test_an_idle_connection_that_is_closed_as_it_is_asked_is_no_lost_box(
    simplon: Simplon, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers[STATE] = (200, b'{"value": "idle"}')
    closed: list[str] = []
    answer = Handler.do_GET

    def close_or_answer(handler: Handler) -> None:
        if closed:
            answer(handler)
        else:
            closed.append(handler.path)
            handler.connection.shutdown(socket.SHUT_RDWR)

    monkeypatch.setattr(Handler, "do_GET", close_or_answer)
    assert simplon.get("detector/status/state").value == "idle"
    assert closed == [STATE]


def test_an_ipv6_address_is_written_in_brackets() -> None:
    assert Simplon("fd00::5", 8080).address == "http://[fd00::5]:8080"
    assert Simplon("fd00::5", 80).address == "http://[fd00::5]"


def test_an_abort_does_not_wait_behind_a_trigger(server: Server, simplon: Simplon) -> None:
    server.held = "/detector/api/1.8.0/command/trigger"
    for name in ("trigger", "abort"):
        server.answers[f"/detector/api/1.8.0/command/{name}"] = (200, b'{"sequence id": 1}')
    trigger = threading.Thread(target=simplon.command, args=("trigger", DEADLINE))
    trigger.start()
    assert server.holding.wait(DEADLINE)
    assert simplon.command("abort", DEADLINE) == {"sequence id": 1}
    assert trigger.is_alive()
    server.release.set()
    trigger.join(DEADLINE)
    assert not trigger.is_alive()


def test_a_put_answers_with_the_keys_that_it_changed(server: Server, simplon: Simplon) -> None:
    server.answers["/detector/api/1.8.0/config/count_time"] = (200, b'["count_time", "frame_time"]')
    assert simplon.put("detector/config/count_time", 0.5) == ("count_time", "frame_time")
    assert server.bodies[-1] == b'{"value": 0.5}'


@pytest.mark.parametrize("answer", [b"", b"null", b"[]", b"{}"])
def test_an_answer_that_names_no_key_says_nothing_of_what_has_changed(
    server: Server, simplon: Simplon, answer: bytes
) -> None:
    server.answers["/detector/api/1.8.0/config/count_time"] = (200, answer)
    assert simplon.put("detector/config/count_time", 0.5) is None
