"""One life of a device object, from `init_device` to `delete_device`, and what the next one takes over.

Init, DevRestart and RestartServer end a device object and make the next one in the same process. A series
that is running then ends as by Abort. A thread follows it until its file is closed; the next object, which is
in State INIT meanwhile, takes over LastSeries and a sentence for Status.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import tango

from penstock.devices._series.control import SeriesControl
from penstock.devices._series.machine.last_series import PROCESS_END
from penstock.devices._series.machine.states import ACTIVE
from penstock.devices._series.record import SeriesRecord
from penstock.devices._tango.publisher import Publisher

log = logging.getLogger(__name__)

CLOSED_WITHIN = 10.0
"""Seconds within which the receiver must have closed the file; the next object waits no longer for it."""
PUBLISHED_WITHIN = 3.0
"""Seconds for the last round of the publisher. One that is starting a streamer takes longer, has
no series, and ends that streamer as soon as it has started."""
PACE = 0.03
"""Seconds between two looks at a series that ends."""

_lives: dict[str, Life] = {}
"""The newest life of each device of this process, by its name in small letters."""


class Closes(Protocol):
    """Whatever has connections."""

    def close(self) -> None:
        """Close them."""


def ended_by(device: str) -> str:
    """Return what ends the device object now: a command's name, or "" for the end of the process."""
    server = tango.Util.instance()
    if server.is_svr_shutting_down():
        return ""
    if server.is_svr_starting():
        return "RestartServer"
    return "DevRestart" if server.is_device_restarting(device) else "Init"


class Life:
    """The life of one device object; see the module.

    Args:
        device: name of the device.
    """

    def __init__(self, device: str) -> None:
        self._former = _lives.get(device.lower())
        _lives[device.lower()] = self
        self._lasts = True
        self._over = threading.Event()
        self._last_series = self._note = ""

    def guarded(self, callback: Callable[..., Any]) -> Callable[..., None]:
        """Return the callback, which is not called once this life has ended: Init keeps the same object."""

        def call(*arguments: Any) -> None:
            if self._lasts:
                callback(*arguments)

        return call

    def may_connect(self, record: SeriesRecord) -> bool:
        """Return whether the streamer may be opened: the life before is over. Take over what it has left.

        Args:
            record: record of this life's series.
        """
        former = self._former
        if former is None:
            return True
        over = former._over.is_set()  # before its last words are read
        record.remember(former._last_series, former._note)
        if over:
            self._former = None
        return over

    def end(self, how: str, control: SeriesControl, publisher: Publisher, closing: Sequence[Closes]) -> None:
        """End the life; return at once, unless the process ends too.

        Args:
            how: what ends it; see `ended_by`.
            control: control of its series.
            publisher: the thread that calls the control's `step`.
            closing: what is closed at the end, in this order.
        """
        self._lasts = False
        publisher.stop()
        if not how:  # threads would not outlive this call
            control.announce_end(PROCESS_END)
            self._close(control, closing)
            return
        view = control.view
        self._last_series, self._note = view.last_series, view.note
        active = view.state in ACTIVE
        if active:
            where = f"; the receiver closes {view.filename}" if view.filename else ""
            self._note = f"{how} is ending the series{where}."
            control.abort(how)
        arguments = (how, active, control, publisher, closing)
        threading.Thread(target=self._finish, args=arguments, name=f"after {how}", daemon=True).start()

    def _finish(
        self, how: str, active: bool, control: SeriesControl, publisher: Publisher, closing: Sequence[Closes]
    ) -> None:
        try:
            if not active:
                control.close()  # a streamer that is being started ends as soon as it has
            publisher.join(PUBLISHED_WITHIN)
            if active:
                self._follow(how, control)
            else:
                self._inherit(control.record)
        except Exception:
            log.exception("internal error while a series was ended by %s", how)
        finally:
            self._close(control, closing)

    def _follow(self, how: str, control: SeriesControl) -> None:
        """Wait for the end of the series, and note it."""
        limit = time.monotonic() + CLOSED_WITHIN
        while control.view.state in ACTIVE and time.monotonic() < limit:
            control.step()
            time.sleep(PACE)
        if control.view.state in ACTIVE:
            summary = control.record.given_up(
                f"ended by {how}; the receiver has not closed the file within {CLOSED_WITHIN:g} s"
            )
        else:
            summary = control.view.last_series
        if summary and json.loads(summary)["series"] == control.view.series:
            self._last_series, self._note = summary, f"Last series: {json.loads(summary)['verdict']}"
        else:
            self._note = f"{how} has ended the last Arm before the detector took triggers."

    def _inherit(self, record: SeriesRecord) -> None:
        """Wait for the life before, of which this one has not taken everything over."""
        if self._former is None:
            return
        self._former._over.wait()
        self.may_connect(record)
        self._last_series, self._note = record.view.last_series, record.view.note

    def _close(self, control: SeriesControl, closing: Sequence[Closes]) -> None:
        try:
            control.close()
            for each in closing:
                each.close()
        finally:
            self._over.set()
