"""One detector behind a panel: follows the device, keeps what the user has typed, calls the commands."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import msgspec

from penstock.gui.model import file_name
from penstock.gui.model.actions import AT_ONCE, Action, why_not
from penstock.gui.model.answers import read_check, read_last_series
from penstock.gui.model.attribute import Attribute, BadText, Value
from penstock.gui.model.device import Device, DeviceRefused, Greeting
from penstock.gui.model.file_name import FileName
from penstock.gui.model.log import Kind, Log
from penstock.gui.model.view import DetectorView, Edit, Presence

_log = logging.getLogger(__name__)

CALLS = 4
"""Calls of the device at the same time: Abort must overtake an Arm that is still waited for."""
SETTLE = 0.2
"""Seconds after a change of the settings before `Check` is asked for: changes come in groups."""
FILE = "DestinationFilename"


class DetectorModel:
    """See the module; every method may be called from any thread, and none waits for the device.

    Args:
        name: of the device.
        device: how it is reached.
        now: s since 1970.
    """

    def __init__(self, name: str, device: Device, now: Callable[[], float] = time.time) -> None:
        self.name = name
        self.log = Log(name)
        self._device = device
        self._now = now
        self._lock = threading.RLock()
        self._view = DetectorView(name=name, since=now())
        self._changed: list[Callable[[], None]] = []
        self._calls = ThreadPoolExecutor(CALLS, thread_name_prefix=f"penstock-panel {name}")
        self._own: set[str] = set()
        """SeriesId of what this panel has armed."""
        self._arming = False
        self._check_timer: threading.Timer | None = None
        self._stopped = False

    # -- following -----------------------------------------------------------------------------

    def on_change(self, call: Callable[[], None]) -> None:
        """Have `call` called after each change, from any thread: it must only take note."""
        self._changed.append(call)

    def start(self) -> None:
        """Begin to follow the device."""
        self._device.start(self)

    def stop(self) -> None:
        """Let go of the device; its series goes on. Ends every thread, within a second or two."""
        with self._lock:
            self._stopped = True
            if self._check_timer is not None:
                self._check_timer.cancel()
        self._device.stop()
        self._calls.shutdown(wait=True, cancel_futures=True)

    def view(self) -> DetectorView:
        """What is to be shown now."""
        with self._lock:
            view = self._view
        values = view.values
        allowed = {
            action: why_not(
                action, here=view.here, state=view.state, mode=str(values.get("TriggerMode") or ""),
                ready=bool(values.get("ReadyForSwTrigger")), busy=view.busy,
            )
            for action in Action
        }  # fmt: skip
        return replace(view, allowed=allowed)

    # -- what the user does ----------------------------------------------------------------------

    def edit(self, name: str, text: str) -> None:
        """The user types; nothing is written yet, and no event overwrites it."""
        with self._lock:
            edits = dict(self._view.edits)
            attribute = self._view.attributes.get(name)
            if attribute is not None and text == attribute.show(self._view.values.get(name)):
                edits.pop(name, None)  # typed back to what the device has
            else:
                edits[name] = Edit(text, _problem(attribute, text))
            self._view = replace(self._view, edits=edits)
        self._tell()

    def discard(self, name: str) -> None:
        """Forget what was typed; the device's value is shown again."""
        with self._lock:
            edits = {each: edit for each, edit in self._view.edits.items() if each != name}
            self._view = replace(self._view, edits=edits)
        self._tell()

    def write(self, name: str) -> None:
        """Write what was typed (Enter); the edit stays, with the reason, where it is refused."""
        self._call(lambda: self._write_edit(name))

    def set(self, name: str, text: str) -> None:
        """Type and write at once: for choices and switches."""
        self.edit(name, text)
        self.write(name)

    def do(self, action: Action) -> None:
        """Call a command; Arm and Live write what is pending first. A second call while it runs does nothing."""
        with self._lock:
            if self.view().allowed[action]:
                return
            if action not in AT_ONCE:
                self._view = replace(self._view, busy=action, notice="")
        self._tell()
        self._call(lambda: self._do(action))

    def ask_check(self) -> None:
        """Ask the device what Arm would say now."""
        self._call(self._ask_check)

    def file_name(self) -> FileName:
        """Folder, template and number of the next file, as the device's DestinationFilename says."""
        return file_name.parse(str(self.view().values.get(FILE) or ""))

    def set_counts_up(self, on: bool) -> None:
        """Whether the number in the file's name goes up with each series of this panel."""
        with self._lock:
            self._view = replace(self._view, counts_up=on)
        self._tell()

    # -- Listener --------------------------------------------------------------------------------

    def reached(self, greeting: Greeting) -> None:
        """See `device.Listener`."""
        with self._lock:
            self._view = replace(
                self._view, presence=Presence.HERE, waits_for="", since=0.0, receiver_url=greeting.receiver_url,
                attributes={attribute.name: attribute for attribute in greeting.attributes},
            )  # fmt: skip
        self.log.add(Kind.STATE, "The device answers.")
        self._tell()

    def said(self, values: Mapping[str, Value | None]) -> None:
        """See `device.Listener`."""
        with self._lock:
            before = self._view
            after = replace(before, values={**before.values, **values})
            if "State" in values:
                after = replace(after, state=str(values["State"]))
            if "Status" in values:
                after = replace(after, status=str(values["Status"]))
            if "LastSeries" in values:
                after = replace(after, last=_read(read_last_series, str(values["LastSeries"] or "")))
            if values.get("SeriesId") and self._arming:
                self._own.add(str(values["SeriesId"]))
            after = replace(after, own=str(after.values.get("SeriesId")) in self._own)
            self._view = after
        self._note(before, after, values)
        self._tell()

    def configured(self, attribute: Attribute) -> None:
        """See `device.Listener`."""
        with self._lock:
            attributes = {**self._view.attributes, attribute.name: attribute}
            self._view = replace(self._view, attributes=attributes)
        self._tell()

    def away(self, why: str) -> None:
        """See `device.Listener`."""
        with self._lock:
            before = self._view
            presence = Presence.WAITED_FOR if before.presence is Presence.WAITED_FOR else Presence.AWAY
            since = self._now() if before.here else before.since
            self._view = replace(before, presence=presence, waits_for=why, since=since, check=None, busy=None)
        if before.waits_for != why:
            self.log.add(Kind.TROUBLE, why)
        self._tell()
