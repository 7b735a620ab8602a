"""An address at which no receiver can ever be is refused at once, by every command that asks one."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from penstock.cli._arguments.targets import receiver_url
from penstock.cli.main import main
from penstock.stins.errors import UserError

COMMANDS = ("view", "status", "stop", "reset")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("address", "words"),
    [
        (
            "ftp://127.0.0.1:5000",
            "a receiver is reached over HTTP; give an address, such as http://127.0.0.1:5000",
        ),
        ("http://127.0.0.1:99999", "ports are numbers from 1 to 65535; give an address, such as http://"),
        ("http://", "it has no host; give an address, such as http://"),
    ],
)
def test_it_ends_with_2_and_what_is_wrong_with_it(
    command: str, address: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, address]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f'penstock {command}: "{address}": {words}')


def test_a_password_is_refused_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "http://me:secret@127.0.0.1:5000"]) == 2
    said = capsys.readouterr().err
    assert '"http://127.0.0.1:5000": a receiver takes no user and no password' in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:9999", "://127.0.0.1", "http:///status", "http://:5000", ":5000", "http://a b:5000",
     "http://[::1", "http://a..b", "http://h:0", "http://h:-1", "http://h:http", "h:65536", "http://h:5000x"],
)  # fmt: skip
def test_no_other_that_cannot_be_is_asked(address: str) -> None:
    with pytest.raises(UserError, match="such as http://127.0.0.1:5000"):
        receiver_url(address, None)


@pytest.mark.parametrize(
    "address",
    ["http://h", "https://h:65535", "HTTP://h:1", "http://[::1]:5000", "http://h:5000/behind/a/proxy/",
     "http://messgerät:5000"],
)  # fmt: skip
def test_what_may_be_one_is_taken_as_it_is(address: str) -> None:
    assert receiver_url(address, None) == address


class _OtherServer(BaseHTTPRequestHandler):
    """Some web server, as `python3 -m http.server` is one."""

    def do_GET(self) -> None:
        self.send_error(404)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.parametrize("command", ["status", "stop", "reset"])
def test_another_web_server_is_not_taken_for_a_receiver(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _OtherServer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        assert main([command, url]) == 2
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    said = capsys.readouterr().err
    assert said.startswith(f"penstock {command}: receiver at {url} answered ")
    assert said.endswith("with HTTP 404; is this the address that `penstock receiver` printed?\n")
