"""`penstock view` where no receiver is: the terminal says so too, once, and a picture is given up in the end.

The command runs as a process of its own, without a screen.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.gui.live.stand_in import StandIn

DEADLINE = 30.0
"""Seconds after which a test gives up."""
SOON = 5.0
"""Seconds after the window has come within which the terminal is told: four are for a busy machine."""


class View:
    """A running `penstock view`."""

    def __init__(self, url: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [str(Path(sys.executable).parent / "penstock"), "view", url, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        )
        self._text = {"out": b"", "err": b""}
        self._streams = selectors.DefaultSelector()
        for name, stream in (("out", self.process.stdout), ("err", self.process.stderr)):
            assert stream is not None
            self._streams.register(stream, selectors.EVENT_READ, name)

    @property
    def said(self) -> list[str]:
        """Its own lines on standard error; Qt has others there."""
        lines = self._text["err"].decode().splitlines(keepends=True)
        return [line.strip() for line in lines if line.startswith("penstock") and line.endswith("\n")]

    @property
    def is_shown(self) -> bool:
        """Whether the window has come."""
        return b"watching" in self._text["out"]

    def until(self, fulfilled: Callable[[], bool], seconds: float = DEADLINE) -> None:
        """Read what it says until then."""
        due = time.monotonic() + seconds
        while not fulfilled():
            assert time.monotonic() < due, f"not within {seconds:g} s; it said {self._text}"
            for key, _ in self._streams.select(0.02):
                self._text[key.data] += os.read(key.fd, 65536)

    def end(self) -> int:
        """Its exit status, once it has ended by itself."""
        try:
            out, err = self.process.communicate(timeout=DEADLINE)
        finally:
            self.close()
        self._text["out"] += out
        self._text["err"] += err
        return self.process.returncode

    def interrupt(self) -> int:
        """Ctrl+C; returns its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def close(self) -> None:
        """End it, whatever it does."""
        self._streams.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@contextmanager
def view(url: str, *options: str) -> Iterator[View]:
    running = View(url, *options)
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def nobody() -> str:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


@pytest.fixture
def mute() -> Iterator[str]:
    """The address of somebody who takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


class Foreign:
    """A web server that is no receiver, and counts how often it was asked."""

    def __init__(self) -> None:
        self.requests = 0
        foreign = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                foreign.requests += 1
                self.send_error(404)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def foreign() -> Iterator[Foreign]:
    made = Foreign()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_the_terminal_is_told_at_once_that_nobody_listens(nobody: str) -> None:
    with view(nobody) as running:
        running.until(lambda: running.is_shown)
        running.until(lambda: bool(running.said), SOON)
        assert running.interrupt() == 0
    assert running.said == [
        f"penstock view: waits for a receiver: receiver at {nobody} does not answer (nobody listens there); "
        "is `penstock receiver` running, and is this the address that it printed?"
    ]


@pytest.mark.slow
def test_somebody_who_says_nothing_is_told_of_too(mute: str) -> None:
    with view(mute) as running:
        running.until(lambda: running.is_shown)
        running.until(lambda: bool(running.said), SOON)
    assert running.said == [
        f"penstock view: waits for a receiver: nobody has answered yet at {mute}; is this the address that "
        "`penstock receiver` printed, and that `penstock status` reaches?"
    ]


@pytest.mark.slow
def test_it_is_told_once_however_often_it_asks_again(foreign: Foreign) -> None:
    with view(foreign.url) as running:
        running.until(lambda: foreign.requests >= 4)
        assert running.interrupt() == 0
    (sentence,) = running.said
    assert f"waits for a receiver: receiver at {foreign.url} answered GET /status with HTTP 404" in sentence
    assert "is this the address that `penstock receiver` printed" in sentence


@pytest.mark.slow
def test_a_receiver_that_goes_away_later_is_the_windows_affair(receiver: StandIn) -> None:
    with view(receiver.url) as running:
        running.until(lambda: len(receiver.requests) >= 2)
        receiver.down()
        with socket.create_server(("127.0.0.1", int(receiver.url.rpartition(":")[2]))) as nobody:
            nobody.settimeout(DEADLINE)
            nobody.accept()[0].close()  # it has asked, and got no answer
        before = len(receiver.requests)
        receiver.up()
        running.until(lambda: len(receiver.requests) > before)
        assert running.interrupt() == 0
    assert running.said == []


@pytest.mark.slow
def test_a_picture_is_given_up_at_the_deadline(nobody: str, tmp_path: Path) -> None:
    picture = tmp_path / "window.png"
    with view(nobody, "--screenshot", str(picture), "--deadline", "1") as running:
        assert running.end() == 2
    first, last = running.said
    assert first.startswith("penstock view: waits for a receiver")
    assert last == (
        f"penstock view: no picture in 1 s: receiver at {nobody} does not answer (nobody listens there); "
        "is `penstock receiver` running, and is this the address that it printed?"
    )
    assert not picture.exists()


@pytest.mark.slow
def test_the_window_itself_may_be_the_picture(nobody: str, tmp_path: Path) -> None:
    picture = tmp_path / "window.png"
    with view(nobody, "--screenshot", str(picture), "--after-frames", "0") as running:
        assert running.end() == 0
    assert picture.exists()


def test_an_address_that_can_never_be_one_opens_no_window(tmp_path: Path) -> None:
    with view("http://127.0.0.1:99999", "--screenshot", str(tmp_path / "window.png")) as running:
        assert running.end() == 2
    assert not running.is_shown
    assert running.said == [
        'penstock view: "http://127.0.0.1:99999": ports are numbers from 1 to 65535; give an address, '
        "such as http://127.0.0.1:5000"
    ]
