"""What is pushed, in which order, and that nothing is lost where Tango refuses a push."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import tango

from penstock.devices._tango.publisher import Publisher

DEADLINE = 10.0
ON, RUNNING = tango.DevState.ON, tango.DevState.RUNNING


class Device:
    """Takes what is pushed; refuses one push, as Tango does while a command takes long."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.events: list[tuple[str, Any]] = []
        self.ons = threading.Semaphore(0)
        self._pushed: dict[str, Any] = {}

    def get_name(self) -> str:
        return "lab/stand-in/1"

    def set_state(self, state: tango.DevState) -> None:
        self._pushed["State"] = state

    def set_status(self, status: str) -> None:
        self._pushed["Status"] = status

    def push_change_event(self, name: str, *values: Any) -> None:
        if name == self.refuses:
            self.refuses = ""
            tango.Except.throw_exception("API_CommandTimedOut", "Not able to acquire the monitor", "here")
        self.events.append((name, values[0] if values else self._pushed[name]))
        if self.events[-1] == ("State", ON):
            self.ons.release()

    def push_archive_event(self, name: str, *values: Any) -> None:
        """Tango decides which of them are sent."""


def entered(state: tango.DevState, last: str) -> Mapping[str, Any]:
    return {"LastSeries": last, "Status": f"now {state}", "State": state}


def pushed(device: Device) -> list[tuple[str, Any]]:
    """What is pushed until State is ON."""
    first, second = "the first", "the second"
    rounds = [[entered(RUNNING, ""), entered(ON, first), entered(RUNNING, first), entered(ON, second)]]
    publisher = Publisher(
        device, step=lambda: None, values=lambda: {"nFrames": 7, "LastSeries": "the second"},
        failed=lambda error: None, states=lambda: rounds.pop() if rounds else [],
    )  # type: ignore[arg-type]  # fmt: skip
    publisher.start()
    for _ in range(2):
        assert device.ons.acquire(timeout=DEADLINE)
    publisher.stop()
    return device.events


def test_what_ended_a_series_comes_before_the_state_that_follows_however_short_the_next_one_is() -> None:
    assert pushed(Device()) == [
        ("LastSeries", ""), ("Status", "now RUNNING"), ("State", RUNNING),
        ("LastSeries", "the first"), ("Status", "now ON"), ("State", ON),
        ("Status", "now RUNNING"), ("State", RUNNING),
        ("nFrames", 7), ("LastSeries", "the second"), ("Status", "now ON"), ("State", ON),
    ]  # fmt: skip


def test_a_state_whose_push_fails_is_pushed_in_the_next_round() -> None:
    for refused in ("LastSeries", "State", "nFrames"):
        events = pushed(Device(refuses=refused))
        states = [value for name, value in events if name == "State"]
        assert states == [RUNNING, ON, RUNNING, ON], refused
        assert ("nFrames", 7) in events and events[-1] == ("State", ON)
