"""A control unit on a desk: keys, states and commands of SIMPLON by a table, no frames.

For what a driver makes of answers, whatever they are; how boxes behave is tried with simulators.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DEADLINE = 10.0


def keys(api: str) -> dict[str, Any]:
    """Keys of a detector of 40 x 30 pixels; of 1.8.0 with two thresholds, of 1.6.0 with one."""
    common: dict[str, Any] = {
        "detector/config/description": "Desk EIGER", "detector/config/detector_number": "E-1",
        "detector/config/x_pixel_size": 75e-6, "detector/config/y_pixel_size": 75e-6,
        "detector/config/detector_readout_time": 1e-5, "detector/config/photon_energy": 12400.0,
        "detector/config/wavelength": 0.99987, "detector/config/threshold_energy": 6200.0,
        "detector/config/flatfield_correction_applied": True, "detector/config/compression": "bslz4",
        "detector/config/countrate_correction_applied": True, "detector/config/pixel_mask_applied": True,
        "detector/config/virtual_pixel_correction_applied": True, "detector/config/auto_summation": True,
        "detector/config/roi_mode": "disabled", "detector/config/beam_center_x": 0.0,
        "detector/config/beam_center_y": 0.0, "detector/config/detector_distance": 0.0,
        "detector/config/trigger_mode": "ints", "detector/config/nimages": 1, "detector/config/ntrigger": 1,
        "detector/config/count_time": 0.5, "detector/config/frame_time": 1.0,
        "detector/config/bit_depth_image": 32, "detector/config/x_pixels_in_detector": 40,
        "detector/config/y_pixels_in_detector": 30,
        "filewriter/config/mode": "disabled", "filewriter/config/name_pattern": "series_$id",
        "filewriter/config/nimages_per_file": 1000, "monitor/config/mode": "disabled",
        "stream/config/mode": "disabled", "stream/config/header_detail": "basic",
        "stream/config/header_appendix": "", "stream/status/state": "ready", "stream/status/dropped": 3,
        "monitor/status/state": "normal", "filewriter/status/state": "ready", "detector/status/error": [],
    }  # fmt: skip
    if api == "1.6.0":
        return common | {
            "detector/status/board_000/th0_temp": 24.5, "detector/status/board_000/th0_humidity": 11.0,
            "detector/status/module_000/hv": 198.0,
            "filewriter/files/": ["series_7_master.h5", "series_7_data_000001.h5", "series_6_master.h5"],
        }  # fmt: skip
    return common | {
        "stream/config/format": "legacy", "detector/config/threshold/1/energy": 6200.0,
        "detector/config/threshold/2/energy": 9000.0, "detector/config/threshold/1/mode": "enabled",
        "detector/config/threshold/2/mode": "disabled",
        "detector/config/threshold/difference/mode": "disabled",
        "detector/config/extg_mode": "double", "detector/config/nexpi": 1,
        "detector/config/ntriggers_skipped": 3, "detector/config/counting_mode": "normal",
        "detector/config/trigger_start_delay": 0.0, "detector/config/omega_start": 0.0,
        "detector/config/omega_increment": 0.0,
        "detector/command/keys": ["arm", "disarm", "hv_reset", "initialize", "trigger"],
        "detector/status/temperature": 22.5, "detector/status/humidity": 3.0,
        "detector/status/high_voltage/state": "READY",
        "filewriter/status/files": ["series_7_master.h5", "series_7_data_000001.h5", "series_6_master.h5"],
    }  # fmt: skip


class Desk(ThreadingHTTPServer):
    """See the module. `makes` turns what is written into what the box has; `fails` answers with an error."""

    daemon_threads = True

    def __init__(self, api: str, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.api = api
        self.keys = keys(api)
        self.entries: dict[str, dict[str, Any]] = {}
        """What a key says beside its value: min, max, allowed_values."""
        self.state = "idle"
        self.makes: dict[str, Callable[[Any], Any]] = {}
        self.moves: dict[str, dict[str, Callable[[Any], Any]]] = {
            "detector/config/photon_energy": {"detector/config/threshold/1/energy": lambda value: value / 2},
            "detector/config/frame_time": {"detector/config/count_time": lambda value: value - 1e-5},
        }
        """Keys that a key moves, named in the answer to its PUT."""
        self.answers: Callable[[list[str]], object] = lambda changed: changed
        """The answer to a PUT, from the keys that have changed."""
        self.fails: dict[str, tuple[int, str]] = {}
        self.puts: list[tuple[str, Any]] = []
        self.holds: dict[str, threading.Event] = {}
        self.held = threading.Event()
        self.appendix_when_armed = ""
        self.sequence = 6
        self.connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Desk:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for event in self.holds.values():
            event.set()
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(DEADLINE)

    def get(self, path: str) -> object | None:
        if path == "version":
            return {"value": self.api}
        if path == "detector/status/state":
            return {"value": self.state}
        if path not in self.keys or self.state == "na":
            return None
        return {"value": self.keys[path]} | self.entries.get(path, {})

    def put(self, path: str, value: Any) -> object:
        self.puts.append((path, value))
        if "/command/" in path:
            return self.command(path.rpartition("/")[2])
        changed = {path: self.makes.get(path, lambda made: made)(value)}
        changed |= {
            other: move(value) for other, move in self.moves.get(path, {}).items() if other in self.keys
        }
        self.keys |= changed
        return self.answers([key.split("/config/")[1] for key in changed])

    def command(self, name: str) -> object:
        if name in self.holds:
            self.held.set()
            self.holds[name].wait(DEADLINE)
        if name == "arm":
            self.appendix_when_armed = self.keys["stream/config/header_appendix"]
            self.sequence += 1
        self.state = {"arm": "ready", "trigger": "idle", "cancel": "ready"}.get(name, "idle")
        return {"sequence id": self.sequence}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body go out in two pieces: each answer would take 40 ms
    server: Desk

    def setup(self) -> None:
        self.server.connections.append(self.request)
        super().setup()

    def do_GET(self) -> None:
        path = self._path()
        self._answer(*(self.server.fails.get(path) or _status_of(self.server.get(path))))

    def do_PUT(self) -> None:
        path = self._path()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if path in self.server.fails:
            self._answer(*self.server.fails[path])
        elif "/command/" not in path and path not in self.server.keys:
            self._answer(404, "Parameter does not exist")
        else:
            self._answer(200, self.server.put(path, json.loads(body)["value"] if body else None))

    def _path(self) -> str:
        head = f"/api/{self.server.api}/"
        if self.path == "/detector/api/version":
            return "version"
        return self.path[1:].replace(head, "/", 1) if head in self.path else "nothing"

    def _answer(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _status_of(content: object | None) -> tuple[int, object]:
    return (404, "Parameter does not exist") if content is None else (200, content)
