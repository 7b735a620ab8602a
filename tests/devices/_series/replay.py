"""Replays records of the control that the machine has replaced: same inputs, same calls, same views."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from penstock.devices._series.control import SeriesControl
from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.refusals import ArmRefused
from penstock.receiver.client import ReceiverRefused, ReceiverUnavailable
from penstock.streamer.remote.client import StreamerRefused, StreamerUnavailable
from tests.devices._series.test_walk import timeless

Entry = tuple[float, int, str, str, str, Any]
PATIENCE = 8.0
LATE = 4
"""Most looks of the watchdog after which both show the same."""


class Differs(Exception):
    """The control does something else than the recorded one."""


class Unpickler(pickle.Unpickler):
    """It knows where what was recorded lies now."""

    def find_class(self, module: str, name: str) -> Any:
        room = "penstock.devices._series."
        moved = module.removeprefix(room) in ("limits", "view", "states")
        return super().find_class(module.replace(room, f"{room}machine.") if moved else module, name)


def load(path: Path) -> list[Entry]:
    entries: list[Entry] = []
    with path.open("rb") as file:
        while True:
            try:
                entries.append(Unpickler(file).load())
            except EOFError:
                return entries


def error_of(recorded: tuple[Any, ...]) -> Exception:
    _, _, name, kind, text, refused = recorded
    if name == "ArmRefused":
        return ArmRefused(kind, text)
    if name in ("ReceiverRefused", "StreamerRefused"):
        return (ReceiverRefused if name[0] == "R" else StreamerRefused)(kind, text)
    if name == "ReceiverUnavailable":
        return ReceiverUnavailable(text, refused=bool(refused))
    if name == "StreamerUnavailable":
        return StreamerUnavailable(text)
    error = type(name, (Exception,), {})(text)
    error.kind = kind
    return error


CALLBACK = {"in": ((), {}), "out": ("value", None)}
"""What stands for the device's own work, whose calls are left out."""


class Call:
    """A call that waits for its recorded answer."""

    def __init__(self, name: str, args: tuple[Any, ...]) -> None:
        self.name = name
        self.args = args
        self.thread = threading.current_thread()
        self.answered = threading.Event()
        self.answer: Any = None


class Client:
    """A client whose calls wait for the replay."""

    def __init__(self, replay: Replay, side: str, **more: Any) -> None:
        self.__dict__.update(more, _replay=replay, _side=side)

    def subscribe(self, callback: Any, *args: Any) -> None:
        """Snapshots are played from the record."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            return self._replay.ask(f"{self._side}.{name}", (args, named))

        return call


class Link:
    def __init__(self, replay: Replay, restartable: bool) -> None:
        self._replay = replay
        self.restartable = restartable

    def open(self) -> Client:
        control = self._replay.ask("link.open", None)
        return Client(self._replay, "streamer", control=control)

    def died(self) -> Any:
        return self._replay.died

    def close(self) -> None:
        """Nothing is open."""


class Replay:
    """One record."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = tidy(entries)
        self.now = entries[0][0]
        self.died: Any = None
        self.limits = {"armed_limit": 0.0, "trigger_limit": 0.0}
        self.settings: Any = None
        self.late = 0
        self.lags: list[str] = []
        self.may = True
        self.remembered: list[Any] = []
        self.beside = False
        self.calls: Queue[Call] = Queue()
        self.waiting: dict[tuple[int, str], Call] = {}
        self.counted = {"in": 0, "told": 0, "call": 0}
        limits, restartable, url = entries[0][5]
        self.control = SeriesControl(
            Link(self, restartable), Client(self, "receiver", url=url), clock=lambda: self.now,  # type: ignore[arg-type]
            limits=limits or WatchdogLimits(), may_connect=self.may_connect,
            connected=lambda streamer, description: self.ask("callback.connected", ((), {})),
            prepared=lambda prepared: self.ask("callback.prepared", ((), {})),
            armed_limit=lambda: self.limits["armed_limit"],
            trigger_limit=lambda: self.limits["trigger_limit"],
        )  # fmt: skip

    def ask(self, name: str, args: Any) -> Any:
        call = Call(name, args)
        self.calls.put(call)
        if not call.answered.wait(60.0):
            raise AssertionError(f"nobody answers {name}")
        if call.answer[0] == "raises":
            raise error_of(call.answer)
        return call.answer[1]

    def play(self) -> None:
        beside = False
        running: dict[int, tuple[threading.Thread, list[Any]]] = {}
        for at, (moment, thread, _, kind, name, payload) in enumerate(self.entries):
            self.now = max(self.now, moment)
            if kind in self.counted:
                self.counted[kind] += 1
            if kind == "in":
                self.prepare(at, thread)
                beside = self.beside = self.beside or bool(running)
                outcome: list[Any] = []
                runner = threading.Thread(
                    target=self.command, args=(name, payload, outcome), name=f"{name} {at}", daemon=True
                )
                runner.start()
                running[thread] = (runner, outcome)
                self.settle(runner)
            elif kind == "out":
                runner, outcome = running.pop(thread)
                runner.join(PATIENCE)
                if runner.is_alive():
                    raise Differs(f"{at}: {name} does not return; {self.pending()}")
                if not running:
                    beside, self.beside = self.beside, False
                if name in ("check", "measure") and (running or beside):
                    continue  # another command may have come first
                if outcome[0] != self.result(payload):
                    raise Differs(f"{at}: {name} answers {outcome[0]}, once {self.result(payload)}")
            elif kind == "call":
                call = self.next_call(
                    at, name, shown(payload), running[thread][0] if thread in running else None
                )
                self.waiting[thread, name] = call
            elif kind == "return":
                call = self.waiting.pop((thread, name))
                call.answer = payload
                if name in (
                    "receiver.check",
                    "streamer.status",
                ):  # a pause may follow
                    self.now = max(self.now, self.next_moment(at, thread))
                call.answered.set()
                self.settle(running[thread][0] if thread in running else None)
            elif kind == "told":
                getattr(self.control.record, name)(*payload)
            elif kind == "view" and not running and not self.waiting:
                self.compare(at, name, timeless(payload))

    def compare(self, at: int, name: str, once: Any) -> None:
        """Compare the views; where a moment decides, the next ones count."""
        now, then = vars(timeless(self.control.view)), vars(once)
        changed = {each: (now[each], then[each]) for each in then if now[each] != then[each]}
        if not changed:
            self.late = 0
        elif name == "step" or not self.late:
            self.late += 1
            if self.late > LATE:
                raise Differs(f"{at}: after {name}, now and once: {changed}")
            self.lags.append(f"{at}: after {name}, now and once: {changed}")

    def next_moment(self, at: int, thread: int) -> float:
        """Return the time of the thread's next entry."""
        return next((each[0] for each in self.entries[at + 1 :] if each[1] == thread), self.now)

    def settle(self, runner: threading.Thread | None) -> None:
        """Wait until a thread waits for an answer, or is over; what only waits for time is left to do so."""
        end = time.monotonic() + 0.05
        while self.calls.empty() and time.monotonic() < end and (runner is None or runner.is_alive()):
            time.sleep(0.0002)

    def prepare(self, at: int, thread: int) -> None:
        """What is asked for within the command without a call."""
        self.remembered = []
        for _, other, _, kind, name, payload in self.entries[at + 1 :]:
            if other != thread:
                continue
            if kind == "out":
                return
            if kind == "died":
                self.died = payload
            elif kind == "limit":
                self.limits[name] = payload
            elif kind == "may":
                self.may = payload
            elif kind == "remember":
                self.remembered.append(payload)
            elif kind == "settings":
                self.settings = payload

    def may_connect(self, record: Any) -> bool:
        for words in self.remembered:
            record.remember(*words)
        return self.may

    def command(self, name: str, payload: Any, outcome: list[Any]) -> None:
        args, named = payload
        if name == "measure":
            args = (self.settings_of,)
        try:
            outcome.append(("value", getattr(self.control, name)(*args, **named)))
        except Exception as error:
            outcome.append(("raises", getattr(error, "kind", None), str(error)))

    def settings_of(self) -> Any:
        if self.settings[0] == "raises":
            from penstock.devices._series.settings import ValueRefused

            raise ValueRefused(self.settings[4])
        return self.settings[1]

    def result(self, payload: tuple[Any, ...]) -> Any:
        return ("raises", payload[3], payload[4]) if payload[0] == "raises" else payload

    def next_call(self, at: int, name: str, args: str, runner: Any) -> Call:
        kept: list[Call] = []
        try:
            while True:
                call = self.calls.get(timeout=PATIENCE)
                its = call.thread is runner or (
                    runner is None and call.thread.name in ("arming", "configuring")
                )
                if its and (call.name, shown(call.args)) == (name, args):
                    return call
                kept.append(call)
        except Empty:
            calls = [f"{each.name}{shown(each.args)}" for each in kept]
            raise Differs(f"{at}: {name}{args} is not called, but {calls}") from None
        finally:
            for call in kept:
                self.calls.put(call)

    def pending(self) -> list[str]:
        return [call.name for call in self.calls.queue]


def shown(args: Any) -> str:
    """Return the arguments; how long a query may wait depends on the clock."""
    if args is None:
        return ""
    values, named = args
    return repr((values, {name: value for name, value in named.items() if name != "wait"}))


def tidy(entries: list[Entry]) -> list[Entry]:
    """Leave out what the device itself asks, in callbacks and beside the control."""
    inside: dict[int, int] = {}
    commands: set[int] = set()
    kept: list[Entry] = []
    for entry in entries:
        _, thread, label, kind, _, payload = entry
        if kind == "callback":
            inside[thread] = inside.get(thread, 0) + (1 if payload == "in" else -1)
            entry = (
                *entry[:3],
                "call" if payload == "in" else "return",
                f"callback.{entry[4]}",
                CALLBACK[payload],
            )
            kind = entry[3]
        elif inside.get(thread):
            continue
        if kind == "in":
            commands.add(thread)
        elif kind == "out":
            commands.discard(thread)
        elif kind in ("call", "return") and thread not in commands and label not in ("arming", "configuring"):
            continue
        kept.append(entry)
    return kept
