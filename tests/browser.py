"""Chromium without a screen, driven over a pipe: what a page shows, and what it asks for."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
"""Debian's package chromium."""
DEADLINE = 30.0
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


class Browser:
    """One page of one Chromium, which finds no other host than this one.

    Args:
        folder: for its profile.
    """

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # Chromium wants the descriptors 3 and 4; copies above them do not overwrite each other on the way.
        copies = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (theirs_in, theirs_out)]
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", 'exec 3<&"$0" 4>&"$1"; exec "${@:2}"', *map(str, copies), *command],
            pass_fds=copies, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (theirs_in, theirs_out, *copies):
            os.close(end)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.requested: list[str] = []
        """Every URL that the page has asked for, whether or not there was an answer."""
        pages = self._call("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")
        self._call("Network.enable")

    def open(self, url: str) -> None:
        """Go to a page."""
        self._call("Page.navigate", url=url)

    def show_as(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """Set the size of the window, in CSS pixels, and what the user likes."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript gives in the page."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until an expression of JavaScript is true."""
        due = time.monotonic() + DEADLINE
        step = "new Promise((done) => requestAnimationFrame(done))"
        while not self.value(f"{step}.then(() => Boolean({condition}))"):
            assert time.monotonic() < due, f"{condition} in vain\n{self.text()}\n{self.requested}"

    def shows(self, *texts: str) -> None:
        """Wait until all of these are to be read."""
        self.wait(" && ".join(f"document.body.innerText.includes({json.dumps(text)})" for text in texts))

    def text(self) -> str:
        """What is to be read on the page."""
        return str(self.value("document.body.innerText"))

    def picture(self, file: Path, *, whole: bool = False) -> None:
        """Save what is seen, or the whole page, as PNG."""
        found = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        """End it."""
        os.close(self._out)
        os.close(self._in)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                return dict(answer["result"])
            if answer.get("method") == "Network.requestWillBeSent":
                self.requested.append(answer["params"]["request"]["url"])
        raise AssertionError("Chromium has ended")

    def _messages(self) -> Iterator[dict[str, Any]]:
        due = time.monotonic() + DEADLINE
        while True:
            while b"\0" in self._buffer:
                message, _, self._buffer = self._buffer.partition(b"\0")
                yield json.loads(message)
            with selectors.DefaultSelector() as selector:
                selector.register(self._in, selectors.EVENT_READ)
                assert selector.select(max(0.0, due - time.monotonic())), "Chromium does not answer"
            chunk = os.read(self._in, 2**20)
            if not chunk:
                return
            self._buffer += chunk
