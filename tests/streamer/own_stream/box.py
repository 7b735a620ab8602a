"""A stand-in for a detector that streams by itself: a box in memory that sends STINS over its own socket.

Loaded by a streamer's process as `tests.streamer.own_stream.box:Box`. What goes wrong is asked for by name in
`Faults`, a parameter as any other, or in `box.faults` where it lives in the test's own process.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping

import numpy as np
import zmq

from penstock.stins import codec
from penstock.stins.messages import Header, Image, IndexSource, SeriesEnd
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import BoxLost, BoxState, Progress, StreamingDetector
from penstock.streamer.camera.settings import Limits, Parameter, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, FrameFormat
from penstock.streamer.simulated.triggers import TriggerInput

SHAPE, DTYPE = (3, 4), "uint16"
PATIENCE = 20.0
"""Seconds after which nothing in it waits any more."""


class Memory:
    """The box: what is on the other side of its network."""

    def __init__(self, port: int) -> None:
        self.context = zmq.Context()
        self.push = self.context.socket(zmq.PUSH)
        self.push.setsockopt(zmq.LINGER, 0)
        self.push.setsockopt(zmq.SNDTIMEO, 1000)
        self.push.bind(f"tcp://127.0.0.1:{port}")
        self.endpoint: str = self.push.getsockopt_string(zmq.LAST_ENDPOINT)
        self.state = BoxState.IDLE
        self.message = ""
        self.values: dict[str, Value] = {"Energy": 8000.0, "Threshold": 4000.0, "Faults": ""}
        self.user: UserPart | None = None
        self.users: list[UserPart | None] = []
        """Of each start message that went out."""
        self.settings: Settings | None = None
        self.shape = SHAPE
        self.series: str | None = ""
        self.sent = self.armings = 0
        self.counts_frames = True
        self.go = threading.Event()
        """Set: what was asked to be slow or to hang goes on."""
        self.ending = threading.Event()
        self.finishing = self.exposing = False
        """Stop was called: the frame that is being exposed, if one is, is the last."""
        self.lock = threading.RLock()

    def send_start(self) -> None:
        user, settings = self.user, self.settings
        self.users.append(user)
        self.armings += 1
        self.sent = 0
        self.ending.clear()
        self.finishing = self.exposing = False
        self.state = BoxState.ARMED
        planned = settings.frames if settings else None
        if user is not None and user.frames == 0:
            planned = None  # until Stop: its own number means nothing
        header = Header(
            filename="" if user is None else user.filename,
            series=f"box-{self.armings}" if user is None else user.arm,
            frames=planned, shape=self.shape, type=DTYPE, compression="none",
            overwrite=user.overwrite if user else False,
            trigger_mode=user.trigger_mode if user else None, frame_time=user.frame_time if user else None,
            index_source=user.index_source if user else None,
        )  # fmt: skip
        self.series = header.series
        self._send(codec.encode_start(header, user.metadata if user else None))

    def send_frame(self) -> None:
        image = Image(shape=self.shape, type=DTYPE, compression="none", frame=self.sent, series=self.series)
        pixels = np.full(self.shape, self.sent % 251, DTYPE)
        self._send([codec.encode_image(image), pixels.tobytes()])
        self.sent += 1

    def _send(self, parts: list[bytes]) -> None:
        """As a box does it: what nobody takes is dropped, after a moment."""
        with contextlib.suppress(zmq.Again):
            self.push.send_multipart(parts)

    def send_end(self) -> None:
        if self.state is BoxState.ARMED:
            self._send(codec.encode_end(SeriesEnd(series=self.series)))
            self.state = BoxState.IDLE


class Box(StreamingDetector):
    """The stand-in; `Faults` is a list of words, separated by blanks:

    slow-set, slow-arm, slow-prepare, slow-reset (wait for `box.go`, or 3.5 s where the parameter asks),
    fail-set, fail-prepare, fail-arm, fail-trigger, hang-arm, lose-end,
    lost (no answer), uninitialised, broken.
    """

    properties = (
        Parameter(name="StreamPort", default=0, doc="Of its stream; 0: any free one."),
        Parameter(name="FoundArmed", default=False, doc="Somebody else has armed it before."),
        Parameter(name="CountsFrames", default=True, doc="It has a counter of frames."),
    )
    parameters = (
        Parameter(name="Energy", default=12000.0, unit="eV", limits=Limits(1000.0, 1e5), doc="Of photons."),
        Parameter(name="Threshold", default=6000.0, unit="eV", doc="Half of Energy, unless it is set."),
        Parameter(name="Faults", default="", doc="What shall go wrong."),
        Parameter(name="Temperature", default=0.0, writable=False, unit="degC", doc="Of the box."),
        Parameter(name="TriggerAddress", default="", writable=False, doc="Of its trigger input."),
    )
    trigger_modes = (
        TriggerMode.INTERNAL, TriggerMode.SOFTWARE, TriggerMode.EXTERNAL, TriggerMode.EXTERNAL_MULTI,
    )  # fmt: skip
    index_source = IndexSource.HARDWARE_COUNTER

    def __init__(self, properties: Mapping[str, Value]) -> None:
        given = {parameter.name: parameter.default for parameter in self.properties} | dict(properties)
        self.box = Memory(int(given["StreamPort"]))
        self.box.counts_frames = bool(given["CountsFrames"])
        if given["FoundArmed"]:
            self.box.state, self.box.series = BoxState.ARMED, "somebody else's"
        self.faults: set[str] = set()
        self._edges = TriggerInput("127.0.0.1", 0)
        self._edges_wait = threading.Event()

    # What it says

    def connect(self) -> Progress:
        self._reach()
        return self.progress()

    def stream_endpoint(self) -> str:
        return self.box.endpoint

    def limits(self) -> Mapping[str, Limits]:
        return {
            "ExposureTime": Limits(1e-4, 100.0),
            "Threshold": Limits(500.0, float(self.box.values["Energy"])),
        }

    def readout_time(self) -> float:
        return 1e-4

    def values(self) -> Mapping[str, Value]:
        return dict(self.box.values)

    def read(self, name: str) -> Value:
        self._reach()
        if name == "TriggerAddress":
            return "{}:{}".format(*self._edges.address)
        return 31.5

    def check(self, settings: Settings) -> FrameFormat | None:
        return self._format()

    def progress(self) -> Progress:
        self._reach()
        for fault, state in (("uninitialised", BoxState.UNINITIALISED), ("broken", BoxState.ERROR)):
            if fault in self._wrong():
                return Progress(state=state, message="a fault on request")
        acquired = self.box.sent if self.box.counts_frames else None
        return Progress(state=self.box.state, acquired=acquired)

    # What it does

    def apply(self, values: Mapping[str, Value]) -> None:
        self._reach()
        self._take_time("slow-set")
        if "fail-set" in self._wrong() and "Faults" not in values:
            raise CameraError("the energy cannot be reached")
        if "Energy" in values:
            self.box.values["Threshold"] = float(values["Energy"]) / 2
        self.box.values.update(values)

    def prepare(self, settings: Settings) -> FrameFormat:
        self._reach()
        self.box.values.update(settings.camera)
        self._take_time("slow-prepare")
        if "fail-prepare" in self._wrong():
            raise CameraError("count_time is 0.1 s in the box, 0.2 s was asked for")
        self.box.settings = settings
        return self._format()

    def arm(self, user: UserPart) -> None:
        self._reach()
        box = self.box
        box.user = user
        try:
            self._take_time("slow-arm")
            if "hang-arm" in self._wrong():
                box.go.wait(PATIENCE)
            if box.state is BoxState.ARMED:
                raise CameraError("the box is armed already")
            if "fail-arm" in self._wrong():
                raise CameraError("the box does not arm (500)")
            with box.lock:
                box.send_start()
        finally:
            box.user = None
        settings = box.settings
        assert settings is not None
        if settings.trigger_mode in (TriggerMode.EXTERNAL, TriggerMode.EXTERNAL_MULTI):
            self._edges_wait.clear()
            self._edges.arm(self._edges_wait.set)
            threading.Thread(target=self._follow_edges, args=(settings, box.armings), daemon=True).start()

    def trigger(self) -> None:
        self._reach()
        if "fail-trigger" in self._wrong():
            raise CameraError("the box does not take the trigger (500)")
        settings = self.box.settings
        assert settings is not None
        internal = settings.trigger_mode is TriggerMode.INTERNAL
        self._take(settings.frames if internal else settings.n_frames_per_trigger, settings)

    def stop(self) -> None:
        self._reach()
        with self.box.lock:
            self.box.finishing = True
            if not self.box.exposing:
                self._end()

    def abort(self) -> None:
        self._reach()
        self.box.go.set()
        self._end()

    def _end(self) -> None:
        self.box.ending.set()
        with self.box.lock:
            self.box.send_end()

    def reset(self) -> None:
        self._reach()
        self._take_time("slow-reset")
        for fault in ("uninitialised", "broken"):
            self.faults.discard(fault)
        self.box.values["Faults"] = ""
        self._end()

    def close(self) -> None:
        self.box.ending.set()
        self.box.go.set()
        self._edges.close()
        with self.box.lock:
            self.box.context.destroy(0)

    # Parts

    def _take(self, frames: int, settings: Settings) -> None:
        box = self.box
        arming = box.armings

        def ended() -> bool:
            return box.ending.is_set() or box.armings != arming

        for number in range(frames):
            if number and settings.latency_time:
                box.ending.wait(settings.latency_time)
            with box.lock:
                if box.finishing or ended():
                    return
                box.exposing = True
            box.ending.wait(settings.exposure_time)
            with box.lock:
                if box.armings == arming:
                    box.exposing = False
                if ended():
                    return
                box.send_frame()
                if box.finishing:
                    self._end()
                elif box.sent == settings.frames and "lose-end" not in self._wrong():
                    box.send_end()

    def _follow_edges(self, settings: Settings, arming: int) -> None:
        per_edge = settings.n_frames_per_trigger
        if settings.trigger_mode is TriggerMode.EXTERNAL:
            per_edge = settings.frames

        def own() -> bool:
            going = not self.box.ending.is_set() and self.box.armings == arming
            return going and self.box.sent < settings.frames

        while own():
            self._edges_wait.wait(0.05)
            self._edges_wait.clear()
            while own() and self._edges.pending:
                self._edges.take()
                self._take(per_edge, settings)

    def _reach(self) -> None:
        if "lost" in self._wrong():
            raise BoxLost(
                "the box at 127.0.0.1 does not answer; is it switched on, and its network connected?"
            )

    def _take_time(self, fault: str) -> None:
        if fault in self._wrong():
            self.box.go.wait(PATIENCE if fault in self.faults else 3.5)

    def _wrong(self) -> set[str]:
        return self.faults | set(str(self.box.values["Faults"]).split())

    def _format(self) -> FrameFormat:
        return FrameFormat(shape=self.box.shape, dtype=DTYPE, frame_bytes=int(np.prod(self.box.shape)) * 2)
