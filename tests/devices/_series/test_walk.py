"""A seeded walk of the machine and of the control that it replaces, side by side, event by event."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.devices._series import arm_call, arm_steps
from penstock.devices._series import control as present
from penstock.receiver.client import ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import Counts, Series
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.remote.client import StreamerRefused, StreamerUnavailable
from tests.devices._series.beamside import (
    HeldClock,
    StandInBox,
    StandInLink,
    StandInQuietBox,
    StandInReceiver,
    StandInStreamer,
)
from tests.devices._series.former import arm_box
from tests.devices._series.former import configuring as former_configuring
from tests.devices._series.former import control as former
from tests.devices._series.test_control import settings

EVENTS = 10_000
KINDS: dict[str, type[StandInStreamer]] = {
    "streamer": StandInStreamer,
    "box": StandInBox,
    "quiet": StandInQuietBox,
}
STATES = ("idle", "prepared", "announced", "arming", "acquiring", "ending", "fault", "configuring")


class Receiver(StandInReceiver):
    """It notes what it is told of the end, and an answer takes a moment."""

    def __init__(self, clock: HeldClock) -> None:
        super().__init__(clock)
        self.takes = 0.4
        self.told: list[Any] = []
        self.waits_for = ""

    def stop_at_end(self, series: str, reason: str, *, failed: bool = False) -> None:
        self.told.append((series, reason, failed, self.away))
        super().stop_at_end(series, reason, failed=failed)

    def snapshot(self) -> Any:
        status = super().snapshot()
        status = replace(status, waits_for=self.waits_for)
        return replace(status, connections=[]) if self.waits_for else status


class Side:
    """One of both, with stand-ins of its own."""

    def __init__(self, kind: str, module: Any, limits: dict[str, float], remote: bool) -> None:
        self.clock = HeldClock()
        self.receiver = Receiver(self.clock)
        self.streamer: Any = KINDS[kind](self.receiver)
        self.link = StandInLink(self.streamer)
        self.link.restartable = not remote
        self.two = False
        """Whether two threads of arming were let go at once, whose calls have no order."""
        self.answers: list[Any] = []
        self.read: list[Any] = []
        self.control: Any = module.SeriesControl(
            self.link, self.receiver, clock=self.clock,
            connected=lambda _, description: self.read.append(dict(description.values)),
            prepared=lambda prepared: self.read.append(prepared.series),
            armed_limit=lambda: limits["armed"], trigger_limit=lambda: limits["trigger"],
        )  # fmt: skip

    def call(self, command: Callable[[Side], Any]) -> None:
        try:
            self.answers.append(repr(command(self)))
        except Exception as error:
            self.answers.append((type(error).__name__, getattr(error, "kind", ""), str(error)))

    def observe(self) -> None:
        silence = ReceiverUnavailable("receiver away", refused=self.receiver.refused)
        self.control.record.on_receiver(silence if self.receiver.away else self.receiver.snapshot())

    def account(self) -> dict[str, Any]:
        """Everything that can be seen from outside."""
        receiver, streamer, view = self.receiver, self.streamer, self.control.view
        entered = [timeless(each) for each in self.control.record.entered()]
        return {
            "view": timeless(view), "entered": entered, "answers": self.answers[-2:], "read": self.read[-5:],
            "calls": sorted(streamer.calls) if self.two else streamer.calls[-10:], "number of calls": len(streamer.calls), "clock": self.clock.now,
            "reasons": streamer.end_reasons[-3:], "stops": receiver.stops[-3:],
            "number of stops": len(receiver.stops), "told": receiver.told[-3:],
            "number told": len(receiver.told), "forgotten": len(receiver.forgotten),
            "checks": len(receiver.checks), "expected": receiver.expected_for[-2:],
            "opened": self.link.opened, "streamer": streamer.now,
        }  # fmt: skip


def timeless(view: Any) -> Any:
    if not view.last_series:
        return view
    last = json.loads(view.last_series)
    for name in ("started", "ended"):
        last[name] = bool(last[name])
    return replace(view, last_series=json.dumps(last))


def settle(held: bool) -> None:
    """Wait for the threads of arming, or until they wait for the walk."""
    end = time.monotonic() + 20
    while any(each.name in ("arming", "configuring") for each in threading.enumerate()):
        if held:
            time.sleep(0.02)
            return
        if time.monotonic() > end:
            import faulthandler

            faulthandler.dump_traceback(all_threads=True)
        assert time.monotonic() < end, "a thread does not end"
        time.sleep(0.0005)


class Walk:
    """The next event, for both sides."""

    def __init__(self, seed: int, kind: str) -> None:
        self.random = random.Random(seed)
        self.kind = kind
        self.held: list[list[threading.Event]] = []
        self.seen: dict[str, int] = {}
        self.limits = {"armed": 0.0, "trigger": 0.0}
        remote = self.random.random() < 0.3
        self.sides = [Side(kind, module, self.limits, remote) for module in (former, present)]

    def event(self) -> str:
        name = self.random.choices(list(OPERATIONS), [weight for weight, _ in OPERATIONS.values()])[0]
        self.seen[name] = self.seen.get(name, 0) + 1
        OPERATIONS[name][1](self)
        settle(bool(self.held))
        return name

    def both(self, command: Callable[[Side], Any]) -> None:
        for side in self.sides:
            side.call(command)
            settle(bool(self.held))

    def tick(self) -> None:
        seconds, seen = self.random.choice((0.05, 0.1, 0.4, 0.7, 2.0, 4.0, 31.0)), self.random.random() < 0.8

        def later(side: Side) -> None:
            side.clock.now += seconds
            if seen:
                side.observe()
            side.control.step()

        self.both(later)

    def say(self) -> None:
        state = self.sides[0].streamer.now.state
        options: list[dict[str, Any]] = [
            {"state": self.random.choice(STATES)},
            {"state": "idle", "end_sent": True},
            {"state": "fault"},
            {"armed": True},
            {"peers": self.random.choice((0, 1, 2, None))},
            {"message": self.random.choice(("", "hot", "Call Reset of the box."))},
            {"warning": self.random.choice(("", "it is warm"))},
            {"ring_used": 6, "ring_total": 10},
            {"ring_used": 0},
            {"ended_by": self.random.choice(("", "a dead tube"))},
            {"ended_early": self.random.choice((None, True, False))},
            {"triggered": self.random.randrange(5), "ready_for_trigger": True},
            {"sent": self.random.randrange(9), "acquired": self.random.randrange(9)},
            {"series": self.random.choice(("", "somebody else's"))},
            {"state": state, "readings": {"T": 1.0}},
        ]
        change = self.random.choice(options)
        self.both(lambda side: side.streamer.say(**change))

    def frame(self) -> None:
        def taken(side: Side) -> None:
            counts, receiver = side.receiver.counts, side.receiver
            if receiver.state == "running" and counts.pending > 0:
                receiver.take(1)
                receiver.latest_frame = receiver.counts.received - 1
                now = side.streamer.now
                side.streamer.say(acquired=(now.acquired or 0) + 1, sent=now.sent + 1)

        self.both(taken)

    def receiver(self) -> None:
        choice, number = self.random.randrange(16), self.random.randrange(3)
        series = Series(id="before", filename="/data/b.h5", active=bool(number), unconfirmed=number == 2)

        def change(side: Side) -> None:
            receiver = side.receiver
            if choice == 0 and receiver.series is not None:
                receiver.end(("", "3 of 3 frames: fine", "it was ended")[number])
            elif choice == 1:
                receiver.away, receiver.refused = not receiver.away, number == 1
            elif choice == 2:
                receiver.state, receiver.error = ("error", "disk full") if number else ("idle", "")
            elif choice == 3:
                receiver.connections = number
            elif choice == 4:
                receiver.silent_seconds = number * 3
            elif choice == 5:
                receiver.stalled = number * 2.0
            elif choice == 6:
                receiver.series, receiver.state, receiver.counts = None, "idle", Counts()
            elif choice == 7:
                receiver.series, receiver.state = series, ("running" if series.active else "idle")
            elif choice == 8:
                receiver.deaf = number == 0
            elif choice == 9:
                receiver.refuses = "no space" if number == 0 else ""
            elif choice == 10:
                refusal = ReceiverRefused("no_space", "the disk is full")
                receiver.check_refuses = refusal if number == 0 else None
            elif choice == 11:
                receiver.waits_for = "It waits for the one before." if number == 0 else ""
            elif choice == 12:
                receiver.expected = None
            elif choice == 13 and receiver.expected is not None:
                receiver.first_frame()
            elif choice >= 14 and receiver.series is not None and receiver.series.active:
                receiver.end()

        self.both(change)

    def good(self) -> None:
        """Everything is well again."""

        def well(side: Side) -> None:
            receiver = side.receiver
            receiver.away = receiver.refused = receiver.deaf = False
            receiver.refuses, receiver.waits_for, receiver.check_refuses = "", "", None
            receiver.connections, receiver.silent_seconds, receiver.stalled = 1, 0, 0.0
            if receiver.state == "error":
                receiver.state, receiver.error = "idle", ""
            if receiver.state == "running" and receiver.series is not None:
                receiver.end()
            side.streamer.refuses.clear()
            side.streamer.say(
                state="idle",
                peers=None if self.kind != "streamer" else 1,
                warning="",
                message="",
                armed=False,
            )
            side.observe()
            side.control.step()
            side.control.reset()
            side.control.step()

        self.let_go()
        self.both(well)

    def refuse(self) -> None:
        call = self.random.choice(
            ("prepare", "announce", "start", "trigger", "abort", "reset", "check", "set")
        )
        errors = (
            None, StreamerRefused("camera", "the hardware says no"), StreamerUnavailable("no answer"),
            StreamerRefused("busy", "it is busy"),
        )  # fmt: skip
        error = self.random.choice(errors)

        def change(side: Side) -> None:
            side.streamer.refuses.pop(call, None)
            if error is not None:
                side.streamer.refuses[call] = error

        self.both(change)

    def arm(self) -> None:
        mode = self.random.choice((TriggerMode.SOFTWARE, TriggerMode.INTERNAL, TriggerMode.EXTERNAL))
        frames = self.random.choice((1, 3, 3, 0))
        chosen = settings(frames, mode, save_raw=self.random.random() < 0.8)
        by = self.random.choice(("", "ascan"))
        if any(each.name == "arming" for each in threading.enumerate()):
            self.let_go()  # the threads of two Arms have no order
        self.both(lambda side: side.control.arm(chosen, by))

    def hold(self) -> None:
        if self.kind == "streamer" or self.held:
            return
        call, pair = self.random.choice(("prepare", "start", "set", "reset")), []
        for side in self.sides:
            side.streamer.holds[call] = threading.Event()
            pair.append(side.streamer.holds[call])
        self.held.append(pair)

    def let_go(self) -> None:
        held, self.held = self.held, []
        for side in self.sides:
            arming = [each for each in threading.enumerate() if each.name in ("arming", "configuring")]
            side.two = side.two or len(arming) > 2
        for pair in held:
            for each in pair:
                each.set()
        settle(False)
        for side in self.sides:
            if self.kind != "streamer":
                side.streamer.holds.clear()

    def limit(self) -> None:
        name = self.random.choice(list(self.limits))
        self.limits[name] = self.random.choice((0.0, 3.0, 20.0))

    def die(self) -> None:
        self.both(lambda side: setattr(side.link, "death", "the streamer was ended by signal 9"))

    def set_box(self) -> None:
        energy = self.random.choice((9000.0, 12000.0))
        if self.kind != "streamer":
            self.both(lambda side: getattr(side.control, "box", side.control).set({"Energy": energy}))

    def opening(self) -> None:
        fails, found = self.random.random() < 0.3, self.random.choice(STATES)
        status = None
        if self.random.random() < 0.3:
            fresh = self.sides[0].streamer.fresh()
            status = type(fresh)(**{n: getattr(fresh, n) for n in fresh.__struct_fields__} | {"state": found})

        def change(side: Side) -> None:
            side.link.cannot_open = "no such port" if fails else None
            side.link.fresh_status = status

        self.both(change)


OPERATIONS: dict[str, tuple[float, Callable[[Walk], None]]] = {
    "tick": (30, Walk.tick),
    "say": (12, Walk.say),
    "frame": (14, Walk.frame),
    "receiver": (7, Walk.receiver),
    "good": (5, Walk.good),
    "refuse": (2, Walk.refuse),
    "arm": (9, Walk.arm),
    "stop": (2, lambda walk: walk.both(lambda side: side.control.stop())),
    "stop for a cause": (1, lambda walk: walk.both(lambda side: side.control.stop("it was time"))),
    "abort": (1.5, lambda walk: walk.both(lambda side: side.control.abort())),
    "abort by Init": (0.5, lambda walk: walk.both(lambda side: side.control.abort("Init"))),
    "process ends": (0.5, lambda walk: walk.both(lambda side: side.control.announce_end("its end"))),
    "reset": (3, lambda walk: walk.both(lambda side: side.control.reset())),
    "trigger": (5, lambda walk: walk.both(lambda side: side.control.trigger())),
    "check": (2, lambda walk: walk.both(lambda side: side.control.check(settings(3), 0.1))),
    "measure": (1, lambda walk: walk.both(lambda side: side.control.measure(lambda: settings(3)))),
    "silent": (1, lambda walk: walk.both(lambda side: side.streamer.fall_silent())),
    "die": (0.5, Walk.die),
    "set": (2, Walk.set_box),
    "hold": (2, Walk.hold),
    "let go": (4, Walk.let_go),
    "limit": (1, Walk.limit),
    "opening": (1, Walk.opening),
    "given up": (0.5, lambda walk: walk.both(lambda side: bool(side.control.record.given_up("gone")))),
    "remember": (0.3, lambda walk: walk.both(lambda side: side.control.record.remember("", "as it was"))),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [232, 270, *range(400, 410)])
def test_both_do_the_same(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arm_call, "ARM_LIMIT", 0.03)
    monkeypatch.setattr(arm_box, "ARM_LIMIT", 0.03)
    for module in (arm_steps, arm_box):
        monkeypatch.setattr(module, "DISARM_LIMIT", 0.004)
        monkeypatch.setattr(module, "POLL", 0.001)
    monkeypatch.setattr(present, "WAIT", 0.03)
    monkeypatch.setattr(former_configuring, "WAIT", 0.03)
    for module in ("penstock.devices._series", "tests.devices._series.former"):
        monkeypatch.setattr(f"{module}.arming.POLL", 0.0)
    walk = Walk(seed, kind)
    done: list[str] = []
    visited: Counter[str] = Counter()
    sentences: Counter[str] = Counter()
    for _ in range(EVENTS // 8):
        done.append(walk.event())
        one, other = (side.account() for side in walk.sides)
        if other != one:
            for key in one:
                if one[key] != other[key]:
                    print(key, "FORMER", one[key])
                    print(key, "NOW   ", other[key])
        assert other == one, f"after {len(done)}: {done[-12:]}"
        visited[str(walk.sides[1].control.view.state)] += 1
        sentences[walk.sides[1].control.view.sentence[:50]] += 1
    walk.let_go()
    print(kind, seed, dict(visited), len(sentences))
    for each in sentences.most_common(60):
        print("   ", each)
    assert len(visited) >= 6, visited
