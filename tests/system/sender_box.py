"""A detector's own box for tests, over sockets: control by XML-RPC, frames by DECTRIS stream V1.

The box lives in the test's process, so that a test can hold its calls, switch it off, or arm it as somebody
else would; the detector's class lives in the streamer's.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping
from http.client import HTTPException
from socketserver import ThreadingMixIn
from typing import Any
from xmlrpc.client import Fault, ServerProxy
from xmlrpc.server import SimpleXMLRPCRequestHandler, SimpleXMLRPCServer

import msgspec
import numpy as np
import zmq

from penstock.hosts.child import free_port
from penstock.stins.messages import IndexSource
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import BoxLost, BoxState, Progress, StreamingDetector
from penstock.streamer.camera.settings import Limits, Parameter, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat

ROWS, COLUMNS = 6, 10
TICK = 2.0**-17
"""Of its clock, in seconds: it rounds exposures."""
HELD = 20.0
"""Seconds after which a held call is let go, whatever the test does."""


class SenderBox(StreamingDetector):
    """The detector whose box this is."""

    properties = (
        Parameter(name="BoxUrl", default="", doc="Control address."),
        Parameter(name="StreamEndpoint", default="", doc="Where it sends frames."),
    )
    parameters = (
        Parameter(name="Energy", default=1.0, unit="eV", doc="Photon energy.", memorized=True),
        Parameter(name="Humidity", default=0.0, unit="%", doc="Inside the box.", writable=False),
    )
    trigger_modes = (TriggerMode.SOFTWARE, TriggerMode.INTERNAL, TriggerMode.EXTERNAL_MULTI)
    index_source = IndexSource.HARDWARE_COUNTER

    def __init__(self, properties: Mapping[str, Value]) -> None:
        self._url = str(properties["BoxUrl"])
        self._endpoint = str(properties["StreamEndpoint"])
        self._energy: float | None = None

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            with ServerProxy(self._url, allow_none=True) as proxy:
                return getattr(proxy, name)(*arguments)
        except Fault as fault:
            raise CameraError(fault.faultString.partition(":")[2]) from fault
        except (OSError, HTTPException) as error:
            raise BoxLost(f"the box at {self._url} does not answer; is it switched on?") from error

    def connect(self) -> Progress:
        self._read_back()
        return self.progress()

    def values(self) -> Mapping[str, Value]:
        return {} if self._energy is None else {"Energy": self._energy}

    def limits(self) -> Mapping[str, Limits]:
        return {"Energy": Limits(5000.0, 40000.0)}

    def readout_time(self) -> float:
        return 1e-5

    def stream_endpoint(self) -> str:
        return self._endpoint

    def stream_source(self) -> str:
        return "dectris-v1"

    def apply(self, values: Mapping[str, Value]) -> None:
        try:
            self._call("apply", dict(values))
        finally:
            self._read_back()

    def prepare(self, settings: Settings) -> FrameFormat:
        self._call(
            "prepare", settings.n_triggers, settings.n_frames_per_trigger, settings.exposure_time,
            settings.trigger_mode.value,
        )  # fmt: skip
        return FrameFormat(shape=(ROWS, COLUMNS), dtype="uint16", frame_bytes=2 * ROWS * COLUMNS)

    def as_prepared(self, settings: Settings) -> Settings:
        return msgspec.structs.replace(settings, exposure_time=self._call("exposure"))

    def arm(self, user: UserPart) -> None:
        self._call("arm", user.encode())

    def trigger(self) -> None:
        self._call("trigger")

    def stop(self) -> None:
        self._call("end")

    def abort(self) -> None:
        self._call("end")

    def progress(self) -> Progress:
        state, acquired = self._call("progress")
        return Progress(state=BoxState(state), acquired=acquired)

    def reset(self) -> None:
        self._call("reset")

    def read(self, name: str) -> Value:
        return float(self._call("humidity"))

    def _read_back(self) -> None:
        self._energy = float(self._call("energy"))


class _Handler(SimpleXMLRPCRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingMixIn, SimpleXMLRPCServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True


class Box:
    """The box itself."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._context = zmq.Context()
        self.stream = f"tcp://127.0.0.1:{free_port()}"
        self._push = self._bind()
        self._control = free_port()
        self.url = f"http://127.0.0.1:{self._control}"
        self._server: _Server | None = None
        self.set_energy = 12400.0
        self.counts = False
        """Whether it has a counter of frames."""
        self.holds: dict[str, threading.Event] = {}
        """Calls that take until the event is set."""
        self.errors: dict[str, str] = {}
        """What a call is refused with."""
        self.mute = False
        """It sends no start message."""
        self.calls: list[str] = []
        self.user = ""
        self._state = "idle"
        self._series = 0
        self._plan: tuple[int, int, float, str] = (1, 1, 0.001, "INTERNAL")
        self._sent = 0
        self.power(on=True)

    @property
    def state(self) -> str:
        """What it is doing."""
        return self._state

    def power(self, *, on: bool) -> None:
        """Switch it on or off; what it was doing is lost."""
        if on:
            self._server = _Server(("127.0.0.1", self._control), _Handler, allow_none=True, logRequests=False)
            for name in ("apply", "prepare", "arm", "trigger", "end", "progress", "reset"):
                self._server.register_function(self._served(name), name)
            self._server.register_function(lambda: 31.5, "humidity")
            self._server.register_function(lambda: self.set_energy, "energy")
            self._server.register_function(lambda: self._plan[2], "exposure")
            threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        elif self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            self._state = "idle"

    def close(self) -> None:
        for event in self.holds.values():
            event.set()
        self.power(on=False)
        self._context.destroy(0)

    def plug(self, *, in_: bool) -> None:
        """Plug the stream's network in, or pull it out."""
        with self._lock:
            self._push.close(0)
            if in_:
                self._push = self._bind()

    def _bind(self) -> zmq.Socket[bytes]:
        push = self._context.socket(zmq.PUSH)
        push.setsockopt(zmq.SNDTIMEO, 1000)
        push.setsockopt(zmq.LINGER, 0)
        push.bind(self.stream)
        return push

    def arm_by_somebody_else(self) -> None:
        self._arm("")

    def edge(self) -> None:
        """A hardware trigger."""
        self._take(1)

    def _served(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if name in self.holds:
                self.holds[name].wait(HELD)
            if name in self.errors:
                raise ValueError(self.errors[name])
            return getattr(self, f"_{name}")(*arguments)

        return call

    def _apply(self, values: dict[str, float]) -> None:
        self.set_energy = values["Energy"]

    def _prepare(self, triggers: int, frames: int, exposure: float, mode: str) -> None:
        ticks = max(1, round(exposure / TICK))
        self._plan = triggers, frames, ticks * TICK, mode

    def _arm(self, user: str) -> None:
        with self._lock:
            if self._state != "idle":
                raise ValueError(f"the box is {self._state}")
            self._state, self._sent, self.user = "armed", 0, user
            self._series += 1
            triggers, frames, _, mode = self._plan
            config = {"nimages": frames, "ntrigger": triggers, "trigger_mode": "ints", "mode": mode}
            if not self.mute:
                self._send(
                    {"htype": "dheader-1.0", "series": self._series, "header_detail": "basic"},
                    config, user.encode(),
                )  # fmt: skip

    def _trigger(self) -> None:
        self._take(self._plan[0] if self._plan[3] == "INTERNAL" else 1)

    def _take(self, triggers: int) -> None:
        """Blocks for as long as the frames take, as the real ones do."""
        series = self._series
        for _ in range(triggers * self._plan[1]):
            time.sleep(self._plan[2])  # the exposure
            with self._lock:
                if self._state != "armed" or series != self._series:
                    return
                frame = np.full((ROWS, COLUMNS), self._sent, "<u2")
                self._send(
                    {"htype": "dimage-1.0", "series": series, "frame": self._sent, "hash": ""},
                    {"htype": "dimage_d-1.0", "shape": [COLUMNS, ROWS], "type": "uint16", "encoding": "<",
                     "size": frame.nbytes},
                    frame.tobytes(),
                    {"htype": "dconfig-1.0", "start_time": 0, "stop_time": 1, "real_time": 1},
                )  # fmt: skip
                self._sent += 1
                if self._sent == self._plan[0] * self._plan[1]:
                    self._end()

    def _end(self) -> None:
        with self._lock:
            if self._state == "armed":
                self._state = "idle"
                self._send({"htype": "dseries_end-1.0", "series": self._series})

    def _progress(self) -> tuple[str, int | None]:
        return self._state, self._sent if self.counts else None

    def _reset(self) -> None:
        self._end()
        self._state = "idle"

    def _send(self, *parts: Any) -> None:
        with contextlib.suppress(zmq.Again):  # nobody takes it: lost, as a real box loses it
            self._push.send_multipart([p if isinstance(p, bytes) else json.dumps(p).encode() for p in parts])
