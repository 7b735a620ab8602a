"""One detector behind a panel: follows the device, keeps what the user has typed, calls the commands."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import msgspec

from penstock.gui.model.actions import AT_ONCE, Action, why_not
from penstock.gui.model.attributes.attribute import (
    Attribute,
    BadText,
    Value,
    is_value,
    label,
    parse_typed,
    typed_problem,
    with_labels,
)
from penstock.gui.model.files import next_file
from penstock.gui.model.files.next_file import FileName, NextFile
from penstock.gui.model.files.place import Place, Places
from penstock.gui.model.files.place import client as place_client
from penstock.gui.model.log import Kind, Log
from penstock.gui.model.preset import Applied, Preset, apply
from penstock.gui.model.series import losses
from penstock.gui.model.series.account import losses_so_far
from penstock.gui.model.series.losses import Losses, Lost
from penstock.gui.model.series.outcome import is_this_process
from penstock.gui.model.tango.answers import read_check, read_last_series
from penstock.gui.model.tango.calls import SETTLE, Calls, CheckTimes, Later
from penstock.gui.model.tango.device import Device, DeviceRefused, Greeting
from penstock.gui.model.view import DetectorView, Edit, Presence
from penstock.receiver.client import ReceiverClient, ReceiverUnavailable

_log = logging.getLogger(__name__)

LOSSES_EVERY = 5.0
"""Seconds between two lines about losses of a running series."""
FILE = "DestinationFilename"


class Receiver(next_file.Receiver, losses.Receiver, Protocol):
    """The part of `ReceiverClient` that is used here."""


class DetectorModel:
    """See the module; every method may be called from any thread, and none waits for the device.

    Args:
        name: of the device.
        device: how it is reached.
        receiver: makes the client of the receiver at an address.
        now: s since 1970.
    """

    def __init__(
        self, name: str, device: Device, receiver: Callable[[str], Receiver] = ReceiverClient,
        now: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self.name = name
        self.log = Log("/".join(name.split("/")[-3:]))
        self._device = device
        self._receiver = receiver
        self._now = now
        self._lock = threading.RLock()
        self._view = DetectorView(name=name, since=now())
        self._changed: list[Callable[[], None]] = []
        self._one_write = threading.Lock()
        """Held from an edit to the device's answer: Arm waits for what Enter has begun to write."""
        self._calls = Calls(name, self._on_error)
        self._check_times = CheckTimes(self.ask_check, self._schedule_check)
        self._own: set[str] = set()
        """SeriesId of what this panel has armed."""
        self._arming = False
        """Arm was called here: the next SeriesId is ours."""
        self._states_received = 0
        self._state_heard = self._view.state
        """What the last event said; `_look_at_state` may have put a newer one on show."""
        self._started = False
        self._stopped = False
        self._file = NextFile()
        hasty = place_client if receiver is ReceiverClient else receiver
        self._places = Places(hasty, self._found_place)
        self._losses = Losses(hasty, self._calls.begin, self._found_lost)
        self._place_soon = Later(SETTLE, lambda: self._calls.begin(self._look_at_place))
        self._losses_logged, self._losses_at = 0, 0.0

    # -- following -----------------------------------------------------------------------------

    def on_change(self, call: Callable[[], None]) -> None:
        """Have `call` called after each change, from any thread: it must only take note."""
        self._changed.append(call)

    def start(self) -> bool:
        """Begin to follow the device; whether this call did it, and not an earlier one."""
        with self._lock:
            begun, self._started = not self._started, True
        if begun:
            self._device.start(self)
        return begun

    def stop(self) -> None:
        """Release the device; its series continues. All threads end within a second or two."""
        with self._lock:
            self._stopped = True
            self._check_times.stop()
        self._losses.stop()
        self._device.stop()
        self._calls.stop()

    def view(self) -> DetectorView:
        """Return what is to be shown now."""
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

    def edit(self, name: str, text: str, problem: str = "") -> None:
        """The user types; nothing is written yet, and no event overwrites it.

        Args:
            name: of the attribute.
            text: what is to be written.
            problem: why it cannot be, where the one who calls knows.
        """
        with self._lock:
            attribute = self._view.attributes.get(name)
            edit: Edit | None = Edit(text, problem or self._problem(attribute, text), lasting=bool(problem))
            if attribute is not None and not problem and is_value(attribute, text, self._view.values):
                edit = None  # typed back to what the device has
            self._view = self._view.with_edit(name, edit)
        if name == FILE:
            self._schedule_place()
        self._notify()

    def discard(self, name: str) -> None:
        """Forget what was typed; the device's value is shown again."""
        with self._lock:
            self._view = self._view.with_edit(name, None)
        if name == FILE:
            self._schedule_place()
        self._notify()

    def write(self, name: str) -> None:
        """Write what was typed (Enter); the edit stays, with the reason, where it is refused."""
        self._calls.begin(lambda: self._write_edit(name))

    def write_all(self) -> None:
        """Write all that was typed; what is refused stays, with the reason."""
        self._calls.begin(lambda: [self._write_edit(name) for name in self.view().edits])

    def discard_all(self) -> None:
        """Forget all that was typed."""
        self._change(edits={})
        self._schedule_place()

    def load(self, name: str, preset: Preset) -> Applied:
        """Type what a preset says, where the device has another value; nothing is written yet.

        Args:
            name: of the preset, for the log.
            preset: the settings.
        """
        applied = apply(preset, self.view())
        for setting in applied.same:
            self.discard(setting)
        for setting, text in applied.edits.items():
            self.edit(setting, text)
        self.log.add(Kind.DONE, f"Preset {name}: {applied.sentence()}. {applied.details()}")
        return applied

    def set(self, name: str, text: str) -> None:
        """Type and write at once: for choices and switches."""
        self.edit(name, text)
        self.write(name)

    def do(self, action: Action) -> None:
        """Call a command; Arm and Live write what is pending first. While one runs, another does nothing."""
        with self._lock:
            if self.view().allowed[action]:
                return
            if action not in AT_ONCE:
                self._view = replace(self._view, busy=action, notice="")
        self._notify()
        self._calls.begin(lambda: self._do(action))

    def ask_check(self) -> None:
        """Ask the device what Arm would say now."""
        self._calls.begin(self._ask_check)

    def file_name(self) -> FileName:
        """Folder, template and number of the next file: as typed, or as the device has them."""
        with self._lock:
            edit = self._view.edits.get(FILE)
            path = edit.text if edit is not None else str(self._view.values.get(FILE) or "")
            return self._file.name_of(path)

    def edit_file(self, name: FileName) -> None:
        """The user names the next file: `edit` of DestinationFilename in three parts."""
        with self._lock:
            path = self._file.take(name)
        self.edit(FILE, path)

    def next_free_number(self) -> None:
        """Write the next number for which there is no file yet into DestinationFilename."""
        self._calls.begin(self._next_free_number)

    def say(self, why: str) -> None:
        """Show why something that the user wanted is not possible, as for a refused command."""
        self._refused(why)

    def answer(self, place: Place, *, create: bool) -> None:
        """The user says whether the folder of `DetectorView.asks` is to be created; if so, Arm goes on."""
        with self._lock:
            if self._view.asks != place:
                return
            self._view = replace(self._view, asks=None)
        if create:
            self._places.agree(place.folder)
            self.do(Action.ARM)
        else:
            self._refused(f"Arm was not called. {place.sentence()}")

    def set_counts_up(self, on: bool) -> None:
        """Return whether the number in the file's name goes up with each series of this panel."""
        self._change(counts_up=on)

    # -- Listener --------------------------------------------------------------------------------

    def reached(self, greeting: Greeting) -> None:
        """See `device.Listener`."""
        self.log.add(Kind.STATE, "The device answers.")
        attributes = {attribute.name: attribute for attribute in greeting.attributes}
        with self._lock:
            edits = self._view.edits
            kept = {name: edit for name, edit in edits.items() if name in attributes}
            self._view = replace(
                self._view, receiver_url=greeting.receiver_url, control_url=greeting.control_url,
                attributes=attributes, edits=kept,
            )  # fmt: skip
        for name in edits.keys() - kept.keys():
            text, words = edits[name].text, label(name)
            self.log.add(Kind.TROUBLE, f"{words} {text}: not written, the device has no {words} any more.")
        self._take(greeting.values)
        # Only now may anything be done: everything is known.
        self._change(presence=Presence.HERE, waits_for="", since=0.0)
        self._schedule_check()

    def said(self, values: Mapping[str, Value | None]) -> None:
        """See `device.Listener`."""
        self._take(values)

    def _take(self, values: Mapping[str, Value | None], received: int | None = None) -> None:
        """Put values into the view, where no State has been received since the `received`-th."""
        with self._lock:
            if received not in (None, self._states_received):
                return
            before = self._view
            after = replace(before, values={**before.values, **values})
            if "State" in values:
                self._states_received += 1
                state = str(values["State"])
                if state != before.state:
                    after = replace(after, restarted=False)
                    if before.state == "FAULT":  # in which Arm is refused for that alone
                        after = replace(after, check=None)
                after = replace(after, state=state)
            if "Status" in values:
                after = replace(after, status=str(values["Status"]))
            if "LastSeries" in values:
                after = replace(after, last=_read(read_last_series, str(values["LastSeries"] or "")))
            series = values.get("SeriesId")
            if self._arming and series and series != before.values.get("SeriesId"):
                self._own.add(str(series))
                self._arming = False
            own = str(after.values.get("SeriesId")) in self._own or is_this_process(after.armed_by)
            after = replace(after, own=own)
            self._view = after
            if received is None and "State" in values:
                if before.state == after.state:  # on show already, but not yet noted
                    before = replace(before, state=self._state_heard)
                self._state_heard = after.state
        if received is None:  # else its event is on the way, with the words that go with it
            self._on_values(before, after, values)
        self._notify()

    def configured(self, attribute: Attribute) -> None:
        """See `device.Listener`."""
        with self._lock:
            attributes = {**self._view.attributes, attribute.name: attribute}
            self._view = replace(self._view, attributes=attributes)
        self._notify()

    def away(self, why: str) -> None:
        """See `device.Listener`."""
        with self._lock:
            self._arming = False
            before = self._view
            presence = Presence.WAITED_FOR if before.presence is Presence.WAITED_FOR else Presence.AWAY
            since = self._now() if before.here else before.since
            self._view = replace(
                before, presence=presence, waits_for=why, since=since, check=None, busy=None, asks=None,
                place=None,
            )  # fmt: skip
        if before.waits_for != why:
            self.log.add(Kind.TROUBLE, why)
        self._notify()

    # -- in the threads of the calls ---------------------------------------------------------------

    def _on_error(self, error: Exception) -> None:
        self._refused(f"The panel had an internal error ({error!r}); please report this with its log.")

    def _write_edit(self, name: str) -> bool:
        """Write what was typed; whether the device has it now."""
        with self._one_write:
            with self._lock:
                edit, attribute = self._view.edits.get(name), self._view.attributes.get(name)
                if edit is None or attribute is None:
                    return edit is None
                if edit.problem and not edit.lasting:  # limits may have changed
                    edit = replace(edit, problem=self._problem(attribute, edit.text))
                if edit.problem:
                    self._view = self._view.with_edit(name, edit)
                    return False
                before = self._view.values.get(name)
                self._view = self._view.with_edit(name, replace(edit, writing=True))
            self._notify()
            return self._write(attribute, edit.text, before)

    def _write(self, attribute: Attribute, text: str, before: Value | None) -> bool:
        name = attribute.name
        try:
            given = parse_typed(attribute, text)
            value = self._device.write(name, given)
        except (DeviceRefused, BadText) as error:
            why = self._in_labels(str(error))
            self.log.add(Kind.TROUBLE, f"{attribute.label} {text}: refused. {why}")
            with self._lock:
                self._view = self._view.with_edit(name, Edit(text, why))
            self._notify()
            return False
        self.log.add(Kind.DONE, attribute.change(before, given, value))
        with self._lock:
            now = self._view.edits.get(name)
            if now is not None and now.text == text:
                self._view = self._view.with_edit(name, None)
            if self._view.values.get(name) == before:  # else an event was faster, and is newer
                self._view = replace(self._view, values={**self._view.values, name: value})
        self._schedule_check()
        self._notify()
        return True

    def _do(self, action: Action) -> None:
        begins = action in (Action.ARM, Action.LIVE)
        try:
            if begins and not self._write_all(action):
                return
            if action is Action.ARM and self._asks_first():
                return
            with self._lock:
                self._arming = self._arming or begins
                if action is Action.ARM:
                    self._file.arm(self._view.values.get(FILE))
            self._device.command(action.value)
            self._look_at_state()
            with self._lock:
                restarted = self._view.restarted or action is Action.RESTART_RECEIVER
                self._view = replace(self._view, restarted=restarted)
        except DeviceRefused as error:
            with self._lock:
                self._arming = self._arming and not begins
            why = self._in_labels(str(error))
            self.log.add(Kind.TROUBLE, f"{action}: refused. {why}")
            self._refused(why)
        else:
            self.log.add(Kind.DONE, f"{action}")
        finally:
            if action not in AT_ONCE:
                with self._lock:
                    self._view = replace(self._view, busy=None)
            self._schedule_check()
            self._notify()

    def _look_at_state(self) -> None:
        """Read the State at once: until its event arrives, the buttons would stay as before the command."""
        with self._lock:
            received = self._states_received
        self._take({"State": self._device.command("State")}, received)  # what an event says since is newer

    def _write_all(self, action: Action) -> bool:
        for name in self.view().edits:
            if not self._write_edit(name):
                edit = self.view().edits.get(name)
                why = edit.problem if edit is not None else "it was cancelled meanwhile"
                which = "" if why.startswith(label(name)) else f"{label(name)}: "
                self._refused(f"{action} was not called: {which}{why}")
                return False
        return True

    def _asks_first(self) -> bool:
        """Have the user asked whether the file's folder is meant, if it does not exist; whether that was
        necessary."""
        place = self._look_at_place(hurried=True) if self.view().values.get("SaveRaw") is not False else None
        if not self._places.is_doubtful(place):
            return False
        with self._lock:
            self._view = replace(self._view, asks=place)
        return True

    def _look_at_place(self, *, hurried: bool = False) -> Place | None:
        """Ask the receiver about the path that is typed or set; see `Places.look`."""
        view = self.view()
        edit = view.edits.get(FILE)
        path = "" if edit is not None and edit.problem else view.text(FILE)
        known = FILE in view.edits or view.values.get(FILE)
        return self._places.look(
            view.receiver_url, path if known else "",
            overwrite=bool(view.values.get("DestinationFileOverwritable")), hurried=hurried,
        )  # fmt: skip

    def _found_place(self, place: Place | None) -> None:
        self._change(place=place)

    def _schedule_place(self) -> None:
        with self._lock:
            if not self._stopped and self._view.receiver_url:
                self._place_soon.soon()

    def _refused(self, why: str) -> None:
        self._change(notice=why)

    def _next_free_number(self) -> None:
        url = self.view().receiver_url
        try:
            if not url:
                raise next_file.NoNumber("the device names no receiver (property ReceiverUrl)")
            name = next_file.next_free(self._receiver(url), self.file_name())
        except (next_file.NoNumber, ReceiverUnavailable) as error:
            self._refused(f"No next number: {error}")
        else:
            self.edit_file(name)
            self.write(FILE)

    # -- Check -------------------------------------------------------------------------------------

    def _schedule_check(self) -> None:
        with self._lock:
            if self._stopped or not self._view.here or self._view.running:
                self._check_times.not_now()
            else:
                self._check_times.soon()
                self._schedule_place()

    def _ask_check(self) -> None:
        try:
            check = _read(read_check, self._device.command("Check"))
            if check is not None:
                check = replace(check, sentence=self._in_labels(check.sentence))
        except DeviceRefused as error:
            _log.info("%s: Check: %s", self.name, error)
            check = None
        with self._lock:
            before = self._view.check
            mended = check is not None and check.ok and before is not None and not before.ok
            self._view = replace(self._view, check=check, notice="" if mended else self._view.notice)
            if check is not None and not self._stopped:
                self._check_times.answered(check)
        self._notify()

    # -- what an event means -------------------------------------------------------------------------

    def _on_values(
        self, before: DetectorView, after: DetectorView, values: Mapping[str, Value | None]
    ) -> None:
        """Put into the log what has changed, and do what follows from it."""
        settings = False
        for name, value in values.items():
            attribute = after.attributes.get(name)
            if attribute is None or attribute.group not in ("series", "camera") or not attribute.writable:
                continue
            settings = settings or before.values.get(name) != value
            written_here = name in after.edits and after.edits[name].writing
            if name in before.values and before.values[name] != value and not written_here:
                self.log.add(Kind.CHANGED, f"{attribute.label} is now {attribute.with_unit(value)}")
        self._note_losses(after)
        self._follow_losses(after)
        if after.last != before.last and after.last is not None and "LastSeries" in before.values:
            self.log.add(Kind.SERIES, after.last.verdict)
        if after.state != before.state:
            kind = Kind.TROUBLE if after.state == "FAULT" else Kind.STATE
            self.log.add(kind, f"{after.state}: {after.status.strip()}")
            if after.state == "ON" and before.running:
                self._calls.begin(self._count_up)
        # It has no value while the receiver does not answer.
        receiver = (before.values.get("ReceiverQueue") is None) != (after.values.get("ReceiverQueue") is None)
        if settings or receiver or after.state != before.state:
            self._schedule_check()

    def _note_losses(self, view: DetectorView) -> None:
        """Log what a running series has lost, at once and then from time to time."""
        lost = view.account.lost if view.running else 0
        with self._lock:
            if lost <= self._losses_logged:
                self._losses_logged = min(lost, self._losses_logged)  # 0 with the next series
                return
            if self._losses_logged and self._now() - self._losses_at < LOSSES_EVERY:
                return
            self._losses_logged, self._losses_at = lost, self._now()
        self.log.add(Kind.TROUBLE, losses_so_far(view.account))

    def _follow_losses(self, view: DetectorView) -> None:
        """Ask where the losses of the series on show are, unless the device has said it."""
        series, lost = str(view.values.get("SeriesId") or ""), view.account.lost
        lost = 0 if view.knows_all_lost else lost
        self._losses.follow(view.receiver_url, series, lost, running=view.running)

    def _found_lost(self, lost: Lost) -> None:
        self._change(found_lost=lost)

    def _count_up(self) -> None:
        """The series of this panel has its file: the next one gets the next number."""
        with self._lock:
            view = self._view
            done = view.last is not None and view.last.series in self._own and bool(view.last.file)
            if not (done and view.counts_up and self._file.is_used(view.values.get(FILE))):
                return
            if FILE in view.edits:
                return  # the user has other plans
        name = self.file_name()
        if name.numbered:
            self.edit_file(name.next())
            self.write(FILE)

    def _in_labels(self, sentence: str) -> str:
        """Return what the device says, in the words of the forms."""
        return with_labels(sentence, self.view().attributes)

    def _problem(self, attribute: Attribute | None, text: str) -> str:
        if attribute is None:
            return ""
        if attribute.name == FILE and (problem := self._file.problem(text)):
            return problem
        return typed_problem(attribute, text)

    def _change(self, **changes: Any) -> None:
        with self._lock:
            self._view = replace(self._view, **changes)
        self._notify()

    def _notify(self) -> None:
        for call in self._changed:
            call()


def _read(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except msgspec.MsgspecError as error:
        _log.warning("the answer of the device cannot be read (%s): %.200s", error, text)
        return None
