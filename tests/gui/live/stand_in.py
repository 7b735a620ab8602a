"""A receiver's HTTP face, whose status and frames the test sets: for states that are hard to bring about."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import numpy as np

from penstock.receiver.http.pictures import Validity, cut
from penstock.receiver.models import Series, Status, View
from penstock.receiver.validity.pixels import PixelRule


class StandIn:
    """Answers on one port; `down` and `up` are its death and its restart."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._server: ThreadingHTTPServer | None = None
        self._port = 0
        self.requests: list[str] = []
        self._forget()
        self.up()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def status(self) -> Status:
        return self._status

    def up(self) -> None:
        """Start, with nothing remembered but the port."""
        self._forget()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stand_in._answer(self)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_port
        threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="stand-in", daemon=True
        ).start()

    def down(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def say(self, **changes: Any) -> None:
        """Change the status."""
        with self._changed:
            self._status = replace(self._status, version=self._status.version + 1, **changes)
            self._changed.notify_all()

    def run(self, **changes: Any) -> None:
        """Begin a series."""
        series = Series(id="5f0c", filename="/data/visitors/20250001/raw/scan-0007_sim-1.h5", active=True)
        self.say(state="running", series=series, **changes)

    def frame(self, array: np.ndarray, index: int, saturation: float | None = None, **known: Any) -> None:
        """A new frame; `known` stands in its header, such as `channels` and `modules`."""
        with self._changed:
            self._frame = (array, index, saturation)
            self._known = known
            self._frame_version += 2
        self.say(latest_frame=index)

    def _forget(self) -> None:
        self._status = Status(state="idle", detector="sim-1", version=1)
        self._frame: tuple[np.ndarray, int, float | None] | None = None
        self._known: dict[str, Any] = {}
        self._frame_version = 0
        self.geometry: dict[str, Any] = {}
        """What the start message said of detector and beam."""
        self.scan: dict[str, Any] = {}
        """What its metadata say of the scan."""
        self.transforms: list[dict[str, Any]] = []
        """What its configuration says it does to each frame."""
        self.mask: np.ndarray | None = None
        """Its pixel mask, uint32."""

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        self.requests.append(request.path)
        url = urlsplit(request.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == "/status":
            seen, wait = query.get("seen"), float(query.get("wait", 0))
            with self._changed:
                if seen is not None:
                    self._changed.wait_for(lambda: self._status.version != int(seen), wait)
                self._send(request, 200, msgspec.json.encode(self._status))
        elif url.path == "/last_frame":
            self._send_frame(request, query)
        elif url.path == "/geometry":
            self._send(request, 200, msgspec.json.encode({"series": "5f0c", **self.geometry}))
        elif url.path == "/scan":
            self._send(request, 200, msgspec.json.encode({"series": "5f0c", **self.scan}))
        elif url.path == "/config":
            self._send(request, 200, msgspec.json.encode({"sim-1": {"transforms": self.transforms}}))
        elif url.path == "/mask":
            self._send_mask(request)
        elif url.path.startswith("/frame/"):
            body = {"kind": "not_kept", "message": "frames are not kept in a live series"}
            self._send(request, 404, msgspec.json.encode(body))
        else:
            self._send(request, 500, b"broken")

    def _send_mask(self, request: BaseHTTPRequestHandler) -> None:
        if self.mask is None:
            body = {"kind": "no_mask", "message": "the start message has no mask: all pixels count"}
            self._send(request, 404, msgspec.json.encode(body))
            return
        head = {"shape": self.mask.shape, "dtype": "uint32", "series": "5f0c"}
        headers = {"X-Penstock-Mask": msgspec.json.encode(head).decode()}
        self._send(request, 200, self.mask.astype(np.uint32).tobytes(), headers)

    def _send_frame(self, request: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        seen, channel, step = query.get("seen"), query.get("channel"), int(query.get("downsample", 1))
        place = [int(each) for each in query.get("rectangle", "").split(",") if each]
        with self._changed:
            frame, version, known = self._frame, self._frame_version, self._known
        if frame is None or seen == str(version):
            self._send(request, 304 if seen is not None else 404, b"")
            return
        array, index, saturation = frame
        channels = known.get("channels", ())
        if channel is not None and channel not in channels:
            body = {"kind": "no_such_view", "message": f"channel {channel}: leave it out"}
            self._send(request, 409, msgspec.json.encode(body))
            return
        if channel is not None:
            array = array[channels.index(channel)]
        if known.get("interpretation", "image") == "image":
            x, y, width, height = place or (0, 0, array.shape[-1], array.shape[-2])
            array = array[..., y : y + height, x : x + width]
            rule = PixelRule(saturation, known.get("underload"))
            array = cut(array, View(downsample=step, method="max_valid"), validity=Validity(rule))
        head = {
            "shape": array.shape, "dtype": array.dtype.name, "frame": index, "trigger": index,
            "series": "5f0c", "version": version, "downsample": step,
            "method": "max_valid" if step > 1 else "nth", **known,
        }  # fmt: skip
        if saturation is not None:
            head["saturation"] = saturation
        self._send(request, 200, array.tobytes(), {"X-Penstock-Frame": msgspec.json.encode(head).decode()})

    @staticmethod
    def _send(
        request: BaseHTTPRequestHandler, code: int, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        request.send_response(code)
        for key, value in (headers or {}).items():
            request.send_header(key, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if code != 304:
            request.wfile.write(body)


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """A receiver's face, from here to the end of the block."""
    server = StandIn()
    try:
        yield server
    finally:
        server.down()
