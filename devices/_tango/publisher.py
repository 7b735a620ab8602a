"""The one thread of a device that checks its state and pushes changed values as Tango events."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tango

from penstock.devices._tango import events
from penstock.devices._tango.attributes import Unread
from penstock.devices._tango.tango_text import tango_status, tango_value

log = logging.getLogger(__name__)

PACE = 0.03
"""Least seconds between two rounds: frames come faster than any client reads."""
PERIOD = 0.2
"""Seconds between two rounds without a `wake`: time limits must be checked."""


class Publisher:
    """Calls `step`, then pushes a change event for each value that differs from the last pushed.

    Pushing takes the device's monitor, which a running command holds: so no command may wait for this thread,
    and `stop` does not join it.

    Args:
        device: device whose attributes are pushed.
        step: called in each round, before the values are read.
        values: returns the values by attribute name, without State and Status.
        states: returns the values of each state that the device has entered since the last call, in order, by
            attribute name, State last; a client that waits for RUNNING must see it, however short it was.
        failed: called with an unexpected error of `step` or `values`.
    """

    def __init__(
        self, device: tango.server.Device, *, step: Callable[[], None],
        values: Callable[[], Mapping[str, Any]], failed: Callable[[Exception], None],
        states: Callable[[], Sequence[Mapping[str, Any]]],
    ) -> None:  # fmt: skip
        self._device = device
        self._step = step
        self._values = values
        self._failed = failed
        self._states = states
        self._entered: list[Mapping[str, Any]] = []
        self._pushed: dict[str, Any] = {}
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"publisher of {device.get_name()}", daemon=True
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Request a round soon; from any thread."""
        self._wake.set()

    def stop(self) -> None:
        """Ask the thread to end; it ends after the present round."""
        self._stopped.set()
        self._wake.set()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread; not from a command, whose device it may be waiting for."""
        self._thread.join(seconds)

    def _run(self) -> None:
        with tango.EnsureOmniThread():
            while not self._stopped.wait(PACE):
                self._wake.wait(PERIOD)
                self._wake.clear()
                if self._stopped.is_set():
                    return
                try:
                    self._step()
                    if not self._stopped.is_set():  # else the states are those of the device's next life
                        self._push()
                except tango.DevFailed as error:
                    # The monitor was held longer than Tango waits; the next round pushes the rest.
                    log.warning("%s: event not pushed: %s", self._device.get_name(), error.args[-1].desc)
                except Exception as error:
                    if self._stopped.is_set():
                        return  # the device has released what was in use here
                    log.exception("%s: unexpected error", self._device.get_name())
                    self._failed(error)

    def _push(self) -> None:
        # Kept until they are pushed: after a failure they are tried again, and no State is lost.
        self._entered += self._states()
        values = self._values()  # read after the states, so that the counts are no older
        while len(self._entered) > 1:
            self._push_values(self._entered[0])
            del self._entered[0]
        self._push_values(values)
        # Last: for clients a change of State means that the counts are final.
        for entered in self._entered:
            self._push_values({name: entered[name] for name in ("Status", "State")})
        self._entered.clear()

    def _push_values(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if self._stopped.is_set():
                return
            value = tango_value(value)
            if name in self._pushed and _same(self._pushed[name], value):
                continue
            if name == "State":
                self._device.set_state(value)  # Tango pushes the state that was set, not an argument
                events.push(self._device, name)
            elif name == "Status":
                self._device.set_status(tango_status(value))
                events.push(self._device, name)
            elif isinstance(value, Unread):
                invalid = tango.AttrQuality.ATTR_INVALID
                events.push(self._device, name, value.stands_in, time.time(), invalid)
            else:
                events.push(self._device, name, value)
            self._pushed[name] = value


def _same(before: Any, now: Any) -> bool:
    return bool(before == now or (before != before and now != now))  # NaN equals NaN here
