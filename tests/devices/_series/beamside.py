"""A streamer and a receiver that do what a test says, under a clock that the test moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from penstock.devices._series.streamer_process import CALL_LIMIT
from penstock.receiver.client import ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import Connection, Counts, Series, SeriesCheck, SeriesCheckResult, Status
from penstock.stins.messages import IndexSource
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import (
    Checked,
    Description,
    Prepared,
    StreamerRefused,
    StreamerStatus,
    StreamerUnavailable,
)


class HeldClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class StandInReceiver:
    """A receiver's HTTP client; `state` and `counts` are the test's."""

    url = "http://stand-in"

    def __init__(self, clock: HeldClock) -> None:
        self._clock = clock
        self.state = "idle"
        self.error = ""
        self.series: Series | None = None
        self.counts = Counts()
        self.connections = 1
        self.silent_seconds = 0
        self.stalled = 0.0
        self.latest_frame: int | None = None
        self.away = False
        self.refused = False
        """Whether nobody listens at its address while it is away."""
        self.deaf = False
        """Takes no start message."""
        self.refuses = ""
        """Why it takes none."""
        self.stops: list[str] = []
        self.checks: list[SeriesCheck] = []
        self.takes = 0.0
        """Seconds for the answer to a check."""
        self.check_refuses: ReceiverRefused | None = None
        self.free_bytes: int | None = None
        self.stores: list[int] = []
        """Shape that its transforms make of frames, as float32; empty: none do."""
        self.expected: UserPart | None = None
        self.expected_for: list[float] = []
        """For how long each series was to be expected."""
        self.forgotten: list[str] = []

    def expect(self, part: UserPart, seconds: float = 0.0) -> SeriesCheckResult:
        self._answer()
        if self.check_refuses is not None:
            raise self.check_refuses
        self.expected = part
        self.expected_for.append(seconds)
        return SeriesCheckResult(filename=part.filename, free_bytes=None, connections=self.connections)

    def forget(self, arm: str) -> Status:
        self._answer()
        self.forgotten.append(arm)
        if self.expected is not None and self.expected.arm == arm:
            self.expected = None
        return self.snapshot()

    def first_frame(self) -> None:
        """The first frame of the expected series arrives."""
        assert self.expected is not None
        self.begin(self.expected.arm, self.expected.frames or 0)
        self.expected = None

    def stop_at_end(self, series: str, reason: str, *, failed: bool = False) -> None:
        self._answer()

    def check(self, series: SeriesCheck) -> SeriesCheckResult:
        self._answer()
        self.checks.append(series)
        self._clock.now += self.takes
        if self.check_refuses is not None:
            raise self.check_refuses
        shape, dtype = (self.stores, "float32") if self.stores else (series.shape or [], series.dtype or "")
        return SeriesCheckResult(
            filename=series.filename or None, free_bytes=self.free_bytes, connections=self.connections,
            shape=shape, dtype=dtype,
        )  # fmt: skip

    def status(self, seen: int | None = None, wait: float = 0.0) -> Status:
        self._answer()
        self._clock.now += wait  # nothing changes while it is waited for
        return self.snapshot()

    def stop(self, reason: str, *, failed: bool = False) -> None:
        assert failed, "the device stops its receiver only where something went wrong"
        self._answer()
        self.stops.append(reason)

    def snapshot(self) -> Status:
        return Status(
            state=self.state, error=self.error, series=self.series, counts=self.counts,  # type: ignore[arg-type]
            connections=[
                Connection(
                    endpoint="tcp://stand-in:9999", connections=self.connections,
                    silent_seconds=self.silent_seconds,
                )
            ],
            stalled=self.stalled, refused=self.refuses, latest_frame=self.latest_frame,
            expected="" if self.expected is None else self.expected.arm,
        )  # fmt: skip

    def begin(self, series: str, planned: int) -> None:
        if self.deaf:
            return
        if self.refuses:
            reason = f"not taken: {self.refuses}"
            self.series = Series(
                id=series, filename=None, active=False, complete=False, reason=reason, taken=False
            )
            self.state, self.counts = "idle", Counts(planned=planned or None)
            return
        self.state = "running"
        self.series = Series(
            id=series, filename="/data/x.h5", active=True, shape=self.stores or [2, 2],
            dtype="float32" if self.stores else "uint16", dataset="entry/instrument/stand-in/data",
        )  # fmt: skip
        self.counts = Counts(planned=planned or None, pending=planned)

    def take(self, frames: int) -> None:
        counts = self.counts
        self.counts = replace(
            counts, received=counts.received + frames, stored=counts.stored + frames,
            pending=counts.pending - frames,
        )  # fmt: skip

    def end(self, reason: str = "") -> None:
        assert self.series is not None
        self.state = "idle"
        self.series = replace(self.series, active=False, complete=not reason, reason=reason)
        self.counts = replace(self.counts, not_triggered=self.counts.pending, pending=0)

    def _answer(self) -> None:
        if self.away:
            raise ReceiverUnavailable("receiver at http://stand-in does not answer within 0.5 s")


class StandInStreamer:
    """A streamer's client."""

    control = "tcp://stand-in:9998"

    def __init__(self, receiver: StandInReceiver) -> None:
        self._receiver = receiver
        self._callback: Callable[[StreamerStatus | None], None] = lambda status: None
        self.now = StreamerStatus(state="idle", peers=1)
        self.calls: list[str] = []
        self.refuses: dict[str, Exception] = {}
        self.sets_up_in = 0.0
        """Seconds that the camera needs to be prepared."""
        self.frame_bytes = 8
        """0: the camera does not say before it is prepared."""
        self.shape: tuple[int, ...] = (2, 2)
        self.series = 0
        self.end_reasons: list[str] = []
        """Why it was stopped."""

    def describe(self) -> Description:
        return Description(
            camera="StandIn", parameters=(), trigger_modes=tuple(TriggerMode), limits={}, values={},
            readout_time=0.001, index_source=IndexSource.HARDWARE_COUNTER, data_endpoint="tcp://stand-in:9999",
            streamer_pid=1,
        )  # fmt: skip

    def status(self) -> StreamerStatus:
        return self.now

    def subscribe(self, callback: Callable[[StreamerStatus | None], None], stale_after: float = 2.0) -> None:
        self._callback = callback
        callback(self.now)

    def say(self, **changes: Any) -> None:
        """A snapshot goes out."""
        self.now = StreamerStatus(
            **{name: getattr(self.now, name) for name in self.now.__struct_fields__} | changes
        )
        self._callback(self.now)

    def fall_silent(self) -> None:
        self._callback(None)

    def check(self, settings: Settings) -> Checked:
        self._call("check")
        known = {"shape": self.shape, "dtype": "uint16"} if self.frame_bytes else {}
        return Checked(frames=settings.frames, frame_bytes=self.frame_bytes, **known)  # type: ignore[arg-type]

    def prepare(self, settings: Settings, patience: float = 0.0) -> Prepared:
        self._call("prepare")
        if self.sets_up_in > max(patience, CALL_LIMIT):
            raise StreamerUnavailable("no answer to prepare")
        self.series += 1
        self.say(
            state="prepared",
            series=f"series-{self.series}",
            planned=settings.planned or 0,
            acquired=0,
            end_sent=False,
        )
        return Prepared(
            series=self.now.series, shape=(2, 2), dtype="uint16", compression="none", frame_bytes=8,
            frames=settings.frames, index_source=IndexSource.HARDWARE_COUNTER,
        )  # fmt: skip

    def announce(self) -> None:
        self._call("announce")
        self.say(state="announced")
        self._receiver.begin(self.now.series, self.now.planned)

    def start(self) -> None:
        self.say(state="acquiring")
        self._call("start")
        self.say(armed=True)

    def trigger(self) -> None:
        self._call("trigger")

    def stop(self, cause: str = "") -> None:
        self._call("stop")
        self.end_reasons.append(cause)

    def abort(self, cause: str = "") -> None:
        self._call("abort")

    def cancel(self) -> None:
        self._call("cancel")
        self.say(state="idle")

    def reset(self) -> None:
        self._call("reset")
        self.say(state="idle")

    @staticmethod
    def fresh() -> StreamerStatus:
        """Of a streamer that has just been started."""
        return StreamerStatus(state="idle", peers=1)

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name in self.refuses:
            raise self.refuses[name]


class StandInBox(StandInStreamer):
    """The client of the streamer of a detector that streams by itself; its calls wait for the test."""

    def __init__(self, receiver: StandInReceiver) -> None:
        super().__init__(receiver)
        self.energy = 8000.0
        self.holds: dict[str, threading.Event] = {}
        """Calls that take until the event is set."""
        self.refuses_late: dict[str, Exception] = {}
        """What is raised once they are let go."""
        self.now = self.fresh()

    def describe(self) -> Description:
        return msgspec.structs.replace(super().describe(), own_stream=True, values={"Energy": self.energy})

    def prepare(self, settings: Settings, patience: float = 0.0) -> Prepared:
        self._wait("prepare")
        prepared = super().prepare(settings)
        self.say(acquired=None)
        return prepared

    def announce(self) -> None:
        raise AssertionError("there is nothing to announce")

    def start(self, patience: float = 0.0) -> None:
        self.say(state="acquiring")
        self._wait("start")
        if self.now.state != "acquiring":
            raise StreamerRefused("camera", "the detector was aborted")
        self._call("start")
        self._receiver.begin(self.now.series, self.now.planned)
        self.say(armed=True)

    def set(self, values: Mapping[str, Any], patience: float = 0.0) -> Description:
        self.say(state="configuring", message="the detector takes Energy")
        try:
            self._wait("set")
            self._call("set")
            self.energy = values["Energy"]
        finally:
            self.say(state="idle", message="")
        return self.describe()

    def stop(self, cause: str = "") -> None:
        super().stop(cause)
        self._let_go()

    def abort(self, cause: str = "") -> None:
        super().abort(cause)
        if self.now.state == "acquiring":
            self.say(state="idle")
        self._let_go()

    def reset(self, patience: float = 0.0) -> None:
        self._call("reset")
        self.say(state="configuring", message="the detector is initialised")
        self._wait("reset")
        self.say(state="idle", message="")

    def _wait(self, call: str) -> None:
        if call in self.holds:
            assert self.holds[call].wait(10.0), f"{call} was never let go"
        if call in self.refuses_late:
            raise self.refuses_late[call]

    def _let_go(self) -> None:
        if "start" in self.holds:
            self.holds["start"].set()

    @staticmethod
    def fresh() -> StreamerStatus:
        return StreamerStatus(state="idle", peers=None, acquired=None)


class StandInQuietBox(StandInBox):
    """A box whose stream has no start message."""

    def prepare(self, settings: Settings, patience: float = 0.0) -> Prepared:
        prepared = super().prepare(settings, patience)
        self.say(acquired=0)
        part = UserPart(arm=prepared.series, filename=settings.filename, frames=settings.frames)
        return msgspec.structs.replace(prepared, expected=part)

    def start(self, patience: float = 0.0) -> None:
        deaf, self._receiver.deaf = self._receiver.deaf, True
        super().start(patience)
        self._receiver.deaf = deaf

    def idle(self) -> None:
        """It has come to rest."""
        self.say(state="idle", end_sent=True)


class StandInLink:
    """Hands the streamer out; `death` is how the test lets its process die."""

    def __init__(self, streamer: StandInStreamer) -> None:
        self._streamer = streamer
        self.restartable = True
        self.death: str | None = None
        self.opened = 0
        self.cannot_open: str | None = None
        self.fresh_status: StreamerStatus | None = None
        """As the streamer is found."""

    def open(self) -> StandInStreamer:
        if self.cannot_open is not None:
            raise StreamerUnavailable(self.cannot_open)
        self.opened += 1
        self.death = None
        self._streamer.now = self.fresh_status or self._streamer.fresh()
        return self._streamer

    def died(self) -> str | None:
        return self.death

    def close(self) -> None:
        return None


def refused(kind: str = "camera", message: str = "the hardware says no") -> StreamerRefused:
    return StreamerRefused(kind, message)
